# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Every benchmark says how it is used, refuses what it does not know, and measures something small.
Usage: benchmarks_test.py PROGRAM…, all of benchmarks/meson.build"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

PROGRAMS = {pathlib.Path(path).name: path for path in sys.argv[1:]}
MODEL = pathlib.Path(os.environ.get("ELIXIR_TEST_MODELS", "")) / "gpt2-float32.pt"
# Arguments that take least, by program. None: it needs a GPU.
SMALL = {
    "adam_benchmark": ["--device", "cpu", "--parameters", "1", "--threads", "2", "--rounds", "1",
                       "--json"],
    "adam_places_benchmark": ["--size", "1", "--milliseconds", "1", "--rounds", "1", "--json"],
    "arena_benchmark": ["--size", "16", "--threads", "2", "--rounds", "1", "--json"],
    "event_benchmark": None,
    "exchange_benchmark": None,
    "fill_benchmark": ["--elements", "1", "--threads", "2", "--rounds", "1"],
    "gap_benchmark": None,
    "gradient_errors": [MODEL, "--batches", "1", "--range", "8", "--threads", "1", "--json"],
    "job_benchmark": ["--parameters", "1", "--jobs", "2", "--busy", "1", "--rounds", "1", "--json"],
    "places_benchmark": ["--size", "16", "--arenas", "2", "--rounds", "1", "--json"],
    "replay_benchmark": [MODEL, "--runs", "1", "--threads", "1", "--range", "8"],
}
# Where figures stand in the JSON: names of keys, from the outside in; every list is looked through.
FIGURES = {
    "adam_benchmark": ("cases", "bytes_per_s"),
    "adam_places_benchmark": ("rows", "bytes_per_s"),
    "arena_benchmark": ("rows", "median_s"),
    "gradient_errors": ("gradients", "rms"),
    "job_benchmark": ("rows", "params_per_s_overlapping"),
    "places_benchmark": ("rows", "ratio_to_all"),
}


def run(name, *arguments):
    return subprocess.run([PROGRAMS[name], *map(str, arguments)], capture_output=True, text=True,
                          timeout=100)


def figures(document, keys):
    if isinstance(document, list):
        return [figure for item in document for figure in figures(item, keys)]
    return figures(document[keys[0]], keys[1:]) if keys else [document]


class Benchmarks(unittest.TestCase):
    def test_all_are_known_here(self):
        self.assertEqual(sorted(set(PROGRAMS) - set(SMALL)), [])

    def test_help(self):
        for name in PROGRAMS:
            with self.subTest(name):
                done = run(name, "--help")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, rf"(?i)usage: \S*{name} ")

    def test_what_is_unknown_is_refused(self):
        for name in PROGRAMS:
            for wrong in (["--no-such-option", "1"], ["--rounds", "0"], ["--rounds"],
                          ["--device", "tpu"]):
                with self.subTest(name, wrong=wrong):
                    done = run(name, *wrong)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertTrue(done.stderr)

    def test_measures(self):
        for name in PROGRAMS:
            if SMALL[name] is None:
                continue
            with self.subTest(name):
                done = run(name, *SMALL[name])
                self.assertEqual(done.returncode, 0, done.stderr)
                if name in FIGURES:
                    found = figures(json.loads(done.stdout), FIGURES[name])
                    self.assertTrue(found and all(figure > 0 for figure in found), done.stdout)
                else:
                    self.assertRegex(done.stdout, r"\d")

    def test_without_what_they_need(self):
        """A GPU that is not there, and a model."""
        for name in PROGRAMS:
            if SMALL[name] is None:
                done = run(name)
                if done.returncode != 0:
                    with self.subTest(name):
                        self.assertEqual((done.returncode, done.stdout), (4, ""))
                        self.assertTrue(done.stderr.startswith(f"{name}: "), done.stderr)
        for name in ("gradient_errors", "replay_benchmark"):
            if name in PROGRAMS:
                with self.subTest(name):
                    done = run(name, "no-such-model.pt")
                    self.assertEqual(done.returncode, 4)
                    self.assertIn("cannot open the model", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
