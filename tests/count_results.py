# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints `N passed, N failed[, N skipped]` from the results that `meson test` left; exits 1 when a
test failed or none ran. Test cases are counted where a test says how many it has (GoogleTest,
unittest), else the test as one. A test that says that it had none has failed.
Usage: count_results.py MESON_LOGS"""
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# What unittest writes at its end: how many cases it ran, and how many of them it skipped or saw
# fail.
RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
VERDICT = re.compile(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$", re.MULTILINE)
NO_CASES = "[==========] Running 0 tests"  # GoogleTest
BAD = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}

logs = pathlib.Path(sys.argv[1])
with open(logs / "testlog.json", encoding="utf-8") as lines:
    tests = [json.loads(line) for line in lines if line.strip()]

# Meson names the suites of a GoogleTest program `project.test name.Suite`; every other test is one
# case of its own name.
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



def unittest_cases(text):
    """Cases by outcome from what unittest wrote; None when `text` is not unittest's."""
    ran, verdict = RAN.search(text), VERDICT.search(text)
    if not ran or not verdict:
        return None
    details = dict(part.split("=") for part in (verdict[1] or "").split(", ") if part)
    failed = sum(int(details.get(key, 0)) for key in ("failures", "errors", "unexpected successes"))
    skipped = int(details.get("skipped", 0))
    # A class that is skipped or fails as a whole has ran no case; parts of one case may each be
    # skipped.
    return {"failed": failed, "skipped": skipped, "passed": max(0, int(ran[1]) - failed - skipped)}


for test in tests:
    bad = test["result"] in BAD
    if test["name"] in counted:
        # A program that was ended from outside, or failed after its cases had passed, counts once
        # more.
        if bad and test["name"] not in failed_tests:
            cases["failed"] += 1
        continue
    found = unittest_cases(test.get("stderr", "") + "\n" + test.get("stdout", "")) or {}
    cases.update(found)
    if bad and not found.get("failed"):
        cases["failed"] += 1
    elif test["result"] == "SKIP":
        cases["skipped"] += 1
    elif found and not any(found.values()) or NO_CASES in test.get("stdout", ""):
        cases["failed"] += 1
        print(f"{test['name']}: has no cases", file=sys.stderr)
    elif not found:
        cases["passed"] += 1

print(f"{cases['passed']} passed, {cases['failed']} failed"
      + (f", {cases['skipped']} skipped" if cases["skipped"] else ""))
sys.exit(1 if cases["failed"] or not cases["passed"] else 0)
