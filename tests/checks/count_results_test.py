# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""tests/count_results.py counts what was skipped as skipped and what did not run as failed, and
tests that read recorded data fail without it. Usage: count_results_test.py TEST_PROGRAM…, each of
which reads recorded data"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT = pathlib.Path(__file__).resolve().parents[1] / "count_results.py"
PROGRAMS = sys.argv[1:]


def unittest_text(ran, verdict):
    return f"test_a (x.A) ... ok\n{'-' * 70}\nRan {ran} tests in 0.125s\n\n{verdict}\n"


class CountResults(unittest.TestCase):
    def count(self, *tests, junit=""):
        """(exit code, last line) for tests of (result, stderr, stdout)."""
        with tempfile.TemporaryDirectory() as directory:
            lines = [json.dumps({"name": f"elixir / t{i}", "result": result, "stderr": err,
                                 "stdout": out})
                     for i, (result, err, out) in enumerate(tests)]
            pathlib.Path(directory, "testlog.json").write_text("\n".join(lines), encoding="utf-8")
            if junit:
                pathlib.Path(directory, "testlog.junit.xml").write_text(junit, encoding="utf-8")
            result = subprocess.run([sys.executable, COUNT, directory], capture_output=True,
                                    text=True)
        return result.returncode, result.stdout.splitlines()[-1]

    def test_cases_of_unittest_are_counted_and_skips_are_no_passes(self):
        self.assertEqual(self.count(("OK", unittest_text(7, "OK (skipped=3)"), "")),
                         (0, "4 passed, 0 failed, 3 skipped"))
        self.assertEqual(self.count(("OK", unittest_text(7, "OK"), "")), (0, "7 passed, 0 failed"))
        self.assertEqual(self.count(("OK", unittest_text(1, "OK (expected failures=1)"), "")),
                         (0, "1 passed, 0 failed"))
        self.assertEqual(
            self.count(("FAIL", unittest_text(7, "FAILED (failures=1, errors=2, skipped=1)"), "")),
            (1, "3 passed, 3 failed, 1 skipped"))

    def test_whatever_skipped_everything_has_passed_nothing(self):
        self.assertEqual(self.count(("OK", unittest_text(2, "OK (skipped=2)"), "")),
                         (1, "0 passed, 0 failed, 2 skipped"))
        self.assertEqual(self.count(("SKIP", "", "no GPU"), ("OK", "", "")),
                         (0, "1 passed, 0 failed, 1 skipped"))

    def test_no_cases_are_a_failure(self):
        self.assertEqual(self.count(("OK", unittest_text(0, "OK"), "")), (1, "0 passed, 1 failed"))
        none = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"
        self.assertEqual(self.count(("OK", "", none), ("OK", "", "fine")),
                         (1, "1 passed, 1 failed"))

    def test_a_test_that_was_ended_counts_as_failed(self):
        self.assertEqual(self.count(("TIMEOUT", "", ""), ("OK", "", "")), (1, "1 passed, 1 failed"))
        self.assertEqual(self.count(("ERROR", unittest_text(3, "OK"), "")),
                         (1, "3 passed, 1 failed"))

    def test_cases_of_googletest_are_counted(self):
        junit = """<testsuites><testsuite name="elixir.elixir / t0.Suite">
            <testcase name="a" status="run"/>
            <testcase name="b" status="run"><skipped/></testcase>
            <testcase name="c" status="run"><failure/></testcase>
            </testsuite></testsuites>"""
        self.assertEqual(self.count(("FAIL", "", ""), junit=junit),
                         (1, "1 passed, 1 failed, 1 skipped"))

    def test_nothing_at_all_is_a_failure(self):
        self.assertEqual(self.count(), (1, "0 passed, 0 failed"))


class RecordedData(unittest.TestCase):
    def test_tests_that_read_it_fail_without_it(self):
        self.assertTrue(PROGRAMS)
        with tempfile.TemporaryDirectory() as empty:
            for program in PROGRAMS:
                for place in (None, empty, "/no/such/folder"):
                    variables = ("ELIXIR_PROGRAMS", "ELIXIR_TRACES", "ELIXIR_RECORDED_LAYERS",
                                 "ELIXIR_SCHEMAS")
                    environment = {k: v for k, v in os.environ.items() if k not in variables}
                    environment.update({name: place for name in variables if place})
                    with self.subTest(program=pathlib.Path(program).name, place=place):
                        result = subprocess.run([program], env=environment, capture_output=True,
                                                text=True)
                        self.assertNotEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
