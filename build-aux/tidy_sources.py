# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints the sources of one half that a build compiles, one a line; of a unity build, the files that include them.

Fails when the build compiles nothing of lib/, kernels/ and tools/. Usage: tidy_sources.py ROOT BUILD planning|libtorch"""
import json
import pathlib
import sys

HALVES = ("planning", "libtorch")
OURS = ("lib", "kernels", "tools")
UNITY_FOLDERS = {"libelixir-plan.so.p", "libelixir-capture.so.p", "libelixir.so.p", "tools", "libelixir-kernels.a.p"}


def sources(root, build):
    """The sources of each half."""
    halves = {half: [] for half in HALVES}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(build):
            ours = path.relative_to(build).parts[0] in UNITY_FOLDERS
        else:
            ours = path.is_relative_to(root) and path.relative_to(root).parts[0] in OURS
        if ours:
            halves["libtorch" if "torch/include" in entry["command"] else "planning"].append(path)
    return halves


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1]).resolve()
    found = sources(tree, (tree / sys.argv[2]).resolve())
    if not any(found.values()):
        sys.exit("no compile commands of lib/, kernels/, tools/: nothing would be checked")
    print(*found[sys.argv[3]], sep="\n")
