# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""lib/core/error.h and docs/errors.md agree: every code has exactly one section, in order, with
what to do; no section is without a code; the group fixes the exit code that the group's heading
states. Usage: check_error_docs.py SOURCE_ROOT"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
header = (root / "lib/core/error.h").read_text(encoding="utf-8")
enum = re.search(r"enum class ErrorCode : int \{(.*?)\n\};", header, re.DOTALL).group(1)
codes = [f"EX{int(number):04}" for number in re.findall(r"^\s*k\w+ = (\d+),", enum, re.MULTILINE)]
text = (root / "docs/errors.md").read_text(encoding="utf-8")
sections = re.findall(r"^## (EX\d{4}) — (.+)\n((?:(?!^##? ).*\n?)*)", text, re.MULTILINE)
documented = [code for code, _, _ in sections]

problems = []
if not codes:
    problems.append("lib/core/error.h: no codes found")
for code in codes:
    if codes.count(code) > 1:
        problems.append(f"lib/core/error.h: {code} is used twice")
    if documented.count(code) != 1:
        problems.append(f"docs/errors.md: {code} has {documented.count(code)} sections, not 1")
problems += [f"docs/errors.md: {code} is no code of lib/core/error.h" for code in documented
             if code not in codes]
if documented != sorted(documented):
    problems.append("docs/errors.md: sections are not in order")
for heading in re.findall(r"^## .*", text, re.MULTILINE):
    if not re.match(r"## EX\d{4} — \S", heading):
        problems.append(f"docs/errors.md: not a code's heading: {heading}")
for code, title, body in sections:
    if "```" not in body:
        problems.append(f"docs/errors.md: {code} shows no example")
    elif f"[{code}]" not in body:
        problems.append(f"docs/errors.md: the example of {code} is of another code")
    if "**What to do.**" not in body:
        problems.append(f"docs/errors.md: {code} does not say what to do")
exits = {"01": 2, "02": 2, "03": 2, "04": 2, "05": 2, "06": 3, "07": 4, "09": 70}
for group, code in exits.items():
    if (any(c[2:4] == group for c in codes)
        and not re.search(rf"^# EX{group}nn — .*\(exit code {code}\)$", text, re.MULTILINE)):
        problems.append(f"docs/errors.md: no heading `# EX{group}nn — … (exit code {code})`")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(codes)} codes")
