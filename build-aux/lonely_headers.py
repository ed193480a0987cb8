# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Reads paths of headers, one a line, and prints those that no source of their own proves to compile alone.

A source that includes its header before anything else (foo.cc begins with `#include "area/foo.h"`) does not build unless
the header compiles alone, so that the build has checked it. Usage: lonely_headers.py SOURCE_ROOT < PATHS"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def is_proven(root, header):
    """Whether the source beside `header` includes it first; its path there is relative to lib/ or to the root."""
    source = (root / header).with_suffix(".cc")
    if not source.exists():
        return False
    first = INCLUDE.search(source.read_text(encoding="utf-8"))
    return first is not None and first.group(1) in (header, header.removeprefix("lib/"))


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1])
    for line in sys.stdin:
        if not is_proven(tree, line.strip()):
            print(line.strip())
