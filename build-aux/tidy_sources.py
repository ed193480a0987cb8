# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints what clang-tidy is to read of one half: the sources of lib/, kernels/ and tools/ that a
build compiles, one a line. In a unity build those are the files that include some of them.

Fails when there are none at all. Usage: tidy_sources.py ROOT BUILD planning|libtorch"""
import json
import pathlib
import re
import sys

HALVES = ("planning", "libtorch")
OURS = ("lib", "kernels", "tools")
INCLUDE = re.compile(r'^#include[<"]([^">]+)[">]', re.MULTILINE)


def is_ours(root, build, path):
    if not path.is_relative_to(build):
        return path.is_relative_to(root) and path.relative_to(root).parts[0] in OURS
    if "-unity" not in path.name or not path.exists():
        return False
    # Paths in it are relative to the build folder.
    included = (pathlib.Path(build, name).resolve()
                for name in INCLUDE.findall(path.read_text(encoding="utf-8")))
    return any(is_ours(root, build, source) for source in included
               if not source.is_relative_to(build))


def sources(root, build):
    """The sources of each half."""
    halves = {half: [] for half in HALVES}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if is_ours(root, build, path):
            halves["libtorch" if "torch/include" in entry["command"] else "planning"].append(path)
    return halves


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1]).resolve()
    found = sources(tree, (tree / sys.argv[2]).resolve())
    if not any(found.values()):
        sys.exit("no compile commands of lib/, kernels/, tools/: nothing would be checked")
    print(*found[sys.argv[3]], sep="\n")
