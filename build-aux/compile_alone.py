# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Compiles every source of lib/, kernels/ and tools/ by itself, as a build's compile commands say,
and every header that no source of its own proves to compile alone. Nothing is written but the
compiler's errors; exit status 1 if there are any.

A source that includes its header before anything else (foo.cc begins with `#include "area/foo.h"`)
proves the header.
Usage: compile_alone.py ROOT BUILD JOBS < HEADERS"""
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys

OURS = ("lib", "kernels", "tools")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def is_proven(root, header, compiled):
    """Whether the source beside `header`, which is among `compiled`, includes it first; by its path
    from lib/ or the root."""
    source = (root / header).with_suffix(".cc")
    if source not in compiled:
        return False
    first = INCLUDE.search(source.read_text(encoding="utf-8"))
    return first is not None and first.group(1) in (header, header.removeprefix("lib/"))


def syntax_only(entry, source):
    """The compile command of `entry` without its output, for `source` in place of its own."""
    words = shlex.split(entry["command"])
    while words[0].endswith("ccache"):
        words = words[1:]
    kept = []
    skip = False
    for word in words:
        if skip or word in ("-o", "-MF", "-MQ"):
            skip = not skip
        elif word not in ("-MD", "-c", entry["file"]):
            kept.append(word)
    return kept + ["-fsyntax-only", *source]


def commands(root, build, headers):
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(root) and path.relative_to(root).parts[0] in OURS:
            entries.setdefault(path, entry)
    if not entries:
        sys.exit("no compile commands of lib/, kernels/, tools/: nothing would be checked")
    for path, entry in entries.items():
        yield entry["directory"], syntax_only(entry, [str(path)])
    # With the flags of a source of the same folder, else of the most demanding one: LibTorch's and
    # CUDA's.
    fallback = max(entries.values(), key=lambda entry: len(entry["command"]))
    for header in headers:
        if is_proven(root, header, entries):
            continue
        beside = [entry for path, entry in entries.items() if path.parent == (root / header).parent]
        entry = max(beside, key=lambda entry: len(entry["command"]), default=fallback)
        yield entry["directory"], syntax_only(entry, ["-Wno-pragma-once-outside-header", "-x",
                                                      "c++", str(root / header)])


def compile_one(work):
    directory, command = work
    return subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1]).resolve()
    listed = [line.strip() for line in sys.stdin if line.strip()]
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[3])) as pool:
        results = list(pool.map(compile_one,
                                commands(tree, (tree / sys.argv[2]).resolve(), listed)))
    for result in results:
        if result.returncode != 0:
            print(result.stdout)
    sys.exit(any(result.returncode != 0 for result in results))
