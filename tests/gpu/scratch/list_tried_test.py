#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""What an operator must show before list_tried.py names it."""
import unittest

import list_tried


def evidence(name: str, **changes) -> dict:
    return {
        "operator": name,
        "calls": 200,
        "without_scratch": 200,
        "dtypes": {"Float": 150, "BFloat16": 50},
        "layouts": {"contiguous": 200},
        "faults": [],
    } | changes


def document(*operators: dict, machine: str = "GPU", date: str = "2026-01-02") -> dict:
    return {"machine": machine, "date": date, "operators": list(operators)}


def names(*documents: dict) -> list[str]:
    text = list_tried.table(list(documents))
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('    {"')]


class ListTried(unittest.TestCase):
    def test_names_what_never_asked(self):
        text = list_tried.table([document(evidence("aten::cumprod"))])
        self.assertIn('    {"aten::cumprod", 200, "bfloat16 float32"},\n', text)
        self.assertIn('kTriedOn = "GPU, 2026-01-02"', text)

    def test_one_request_is_enough(self):
        self.assertEqual(names(document(evidence("aten::sort", without_scratch=199))), [])

    def test_few_calls_or_one_kind_show_nothing(self):
        self.assertEqual(names(document(evidence("aten::a", calls=199, without_scratch=199))), [])
        self.assertEqual(names(document(evidence("aten::b", dtypes={"Float": 200}))), [])
        layouts = {"contiguous": 100, "strided": 100}
        self.assertEqual(names(document(evidence("aten::c", dtypes={"Float": 200}, layouts=layouts))), ["aten::c"])

    def test_libraries_and_faults_show_nothing(self):
        self.assertEqual(names(document(evidence("aten::_fft_r2c"), evidence("aten::convolution"))), [])
        self.assertEqual(names(document(evidence("aten::roll", faults=["signal 6"]))), [])

    def test_documents_add_up(self):
        half = evidence("aten::roll", calls=100, without_scratch=100)
        self.assertEqual(names(document(half), document(half)), ["aten::roll"])
        asked = evidence("aten::roll", without_scratch=150)
        self.assertEqual(names(document(half), document(half), document(asked)), [])

    def test_other_machines_do_not(self):
        with self.assertRaises(SystemExit):
            names(document(machine="GPU"), document(machine="another GPU"))


if __name__ == "__main__":
    unittest.main()
