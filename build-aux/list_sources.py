# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints the files of the source tree whose path matches a regular expression, one a line; fails
when there is none.

It walks the tree instead of asking git: a tarball has no git, and git refuses a tree that another
user owns. It leaves out what building and running put there: build folders, Python environments,
runs/ and hidden folders other than .ci.
Usage: list_sources.py SOURCE_ROOT PATTERN"""
import os
import pathlib
import re
import sys

# A folder with one of these holds no sources: Meson's build folder, a Python environment, another
# checkout.
MARKS = ("meson-private", "pyvenv.cfg", ".git")


def sources(root):
    """Paths of all source files, relative to `root`, sorted."""
    found = []
    for folder, folders, files in os.walk(root):
        here = pathlib.Path(folder)
        found += [(here / name).relative_to(root).as_posix() for name in files]
        folders[:] = [
            name
            for name in folders
            if (not name.startswith(".") or name == ".ci")
            and name != "__pycache__"
            and not (here == root and name == "runs")
            and not any((here / name / mark).exists() for mark in MARKS)
        ]
    return sorted(found)


if __name__ == "__main__":
    pattern = re.compile(sys.argv[2])
    chosen = [path for path in sources(pathlib.Path(sys.argv[1])) if pattern.search(path)]
    if not chosen:
        sys.exit(f"no file in {sys.argv[1]} matches {sys.argv[2]}: nothing would be checked")
    print("\n".join(chosen))
