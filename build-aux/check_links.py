# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Links between Markdown files lead to a file of the tree, and to a heading where they name one.

Usage: check_links.py ROOT < paths

Paths are of the Markdown files, one a line. Links that leave the tree for the web are not
followed."""
import functools
import pathlib
import re
import sys
import urllib.parse


def without_code(text):
    return re.sub(r"^```.*?^```[^\n]*$", lambda block: "\n" * block[0].count("\n"), text,
                  flags=re.M | re.S)


@functools.cache
def anchors(path):
    """As GitHub makes them; a heading that occurs again gets a number."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.*?)(?: +#+)? *$",
                              without_code(path.read_text(encoding="utf-8")), re.M):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {f"{anchor}-{n}" if n else anchor
            for anchor, last in found.items() for n in range(last + 1)}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    for path in (root / line for line in sys.stdin.read().split("\n") if line):
        for line, words in enumerate(without_code(path.read_text(encoding="utf-8")).split("\n"), 1):
            for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", words)):
                if re.match(r"[a-z]+:", link):
                    continue
                name, _, anchor = urllib.parse.unquote(link).partition("#")
                target = (path.parent / name).resolve() if name else path
                where = f"{path.relative_to(root)}:{line}"
                if not target.exists():
                    problems.append(f"{where}: no file `{name}`")
                elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                    problems.append(
                        f"{where}: no heading `#{anchor}` in {target.relative_to(root)}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
