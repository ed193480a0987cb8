# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Unpacks recorded files (NAME.xz) for tests that read plain text; removes from the output what is
no longer there.
Usage: unpack.py SOURCE_DIRECTORY OUTPUT_DIRECTORY STAMP"""
import lzma
import pathlib
import sys

source, output, stamp = map(pathlib.Path, sys.argv[1:])
output.mkdir(parents=True, exist_ok=True)
packed = {path.name.removesuffix(".xz"): path for path in sorted(source.glob("*.xz"))}
for old in output.iterdir():
    if old.name not in packed:
        old.unlink()
for name, path in packed.items():
    target = output / name
    if not target.exists() or target.stat().st_mtime < path.stat().st_mtime:
        target.write_bytes(lzma.decompress(path.read_bytes()))
stamp.write_text(f"{len(packed)} files\n", encoding="utf-8")
