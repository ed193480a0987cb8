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
        "modelled": 200,
        "modelled_as_predicted": 200,
        "other_sizes": 0,
        "other_peak": 0,
        "other_order": 0,
        "largest_elements": 1 << 24,
        "dtypes": {"Float": 150, "BFloat16": 50},
        "layouts": {"contiguous": 150, "strided": 50},
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
        self.assertIn('    {"aten::cumprod", 200, 16777216, "bfloat16 float32"},\n', text)
        self.assertIn('kTriedOn =\n    "GPU, 2026-01-02"', text)

    def test_one_request_is_enough(self):
        self.assertEqual(names(document(evidence("aten::sort", without_scratch=199))), [])

    def test_few_calls_or_one_kind_show_nothing(self):
        self.assertEqual(names(document(evidence("aten::a", calls=199, without_scratch=199))), [])
        one = {"contiguous": 200}
        self.assertEqual(names(document(evidence("aten::b", dtypes={"Float": 200}, layouts=one))),
                         [])
        self.assertEqual(names(document(evidence("aten::c", dtypes={"Float": 200}))), ["aten::c"])

    def test_small_or_contiguous_tensors_show_nothing(self):
        self.assertEqual(names(document(evidence("aten::a", largest_elements=(1 << 20) - 1))), [])
        self.assertEqual(names(document(evidence("aten::b", largest_elements=1 << 20))),
                         ["aten::b"])
        self.assertEqual(
            names(document(evidence("aten::c", layouts={"contiguous": 100, "expanded": 100}))), [])

    def test_results_must_be_as_predicted(self):
        self.assertEqual(names(document(evidence("aten::a", modelled_as_predicted=199))), [])
        self.assertEqual(names(document(evidence("aten::b", modelled=0, modelled_as_predicted=0))),
                         ["aten::b"])
        for count in ("other_sizes", "other_peak", "other_order"):
            self.assertEqual(names(document(evidence("aten::c", **{count: 1}))), [])

    def test_what_the_source_knows_counts_more(self):
        self.assertEqual(names(document(evidence("aten::histc"), evidence("aten::put"))), [])

    def test_libraries_and_faults_show_nothing(self):
        self.assertEqual(names(document(evidence("aten::_fft_r2c"), evidence("aten::convolution"),
                                        evidence("aten::dot"))), [])
        self.assertEqual(names(document(evidence("aten::roll", faults=["signal 6"]))), [])

    def test_documents_add_up(self):
        half = evidence("aten::roll", calls=100, without_scratch=100, modelled=100,
                        modelled_as_predicted=100)
        self.assertEqual(names(document(half), document(half)), ["aten::roll"])
        asked = evidence("aten::roll", without_scratch=150)
        self.assertEqual(names(document(half), document(half), document(asked)), [])

    def test_other_machines_do_not(self):
        with self.assertRaises(SystemExit):
            names(document(machine="GPU"), document(machine="another GPU"))


if __name__ == "__main__":
    unittest.main()
