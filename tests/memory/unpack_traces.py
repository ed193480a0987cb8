# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Unpacks recorded allocator traces (NAME.trace.xz) for tests that read plain text.
Usage: unpack_traces.py SOURCE_DIRECTORY OUTPUT_DIRECTORY STAMP"""
import lzma
import pathlib
import sys

source, output, stamp = map(pathlib.Path, sys.argv[1:])
output.mkdir(parents=True, exist_ok=True)
wanted = {}
for packed in sorted(source.glob("*.trace.xz")):
    wanted[packed.name.removesuffix(".xz")] = lzma.decompress(packed.read_bytes())
for old in output.glob("*.trace"):
    if old.name not in wanted:
        old.unlink()
for name, text in wanted.items():
    (output / name).write_bytes(text)
stamp.write_text(f"{len(wanted)} traces\n", encoding="utf-8")
