# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints `N passed, N failed[, N skipped]` from the results that `meson test` left; exits 1 when a test failed or none
ran. Test cases are counted where a test says how many it has (GoogleTest), else the test as one.
Usage: count_results.py MESON_LOGS"""
import collections
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

BAD = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}

logs = pathlib.Path(sys.argv[1])
with open(logs / "testlog.json", encoding="utf-8") as lines:
    tests = [json.loads(line) for line in lines if line.strip()]

# Meson names the suites of a GoogleTest program `project.test name.Suite`; every other test is one case of its own name.
names = {test["name"] for test in tests}
cases = collections.Counter()
counted, failed_tests = set(), set()
junit = logs / "testlog.junit.xml"
for suite in ElementTree.parse(junit).getroot().iter("testsuite") if junit.exists() else ():
    owner = next((name for name in names if f".{name}." in suite.get("name", "")), None)
    for case in suite.iter("testcase") if owner else ():
        counted.add(owner)
        if case.find("failure") is not None or case.find("error") is not None:
            cases["failed"] += 1
            failed_tests.add(owner)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            cases["skipped"] += 1
        else:
            cases["passed"] += 1

for test in tests:
    if test["name"] in counted:
        # A program that was ended from outside, or failed after its cases had passed, counts once more.
        if test["result"] in BAD and test["name"] not in failed_tests:
            cases["failed"] += 1
    elif test["result"] in BAD:
        cases["failed"] += 1
    else:
        cases["skipped" if test["result"] == "SKIP" else "passed"] += 1

print(f"{cases['passed']} passed, {cases['failed']} failed" + (f", {cases['skipped']} skipped" if cases["skipped"] else ""))
sys.exit(1 if cases["failed"] or not cases["passed"] else 0)
