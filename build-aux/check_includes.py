# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Fails when an area includes what it may not: LibTorch in the planning half, a lower area from a
higher one, CLI11 outside tools/common. Usage: check_includes.py SOURCE_ROOT [STAMP]"""
import pathlib
import re
import sys

# Each area names all that it may use, as in docs/design/architecture.md.
PROGRAM = {"core", "program"}
OPERATORS = PROGRAM | {"operators"}
SCHEDULE = OPERATORS | {"edit", "memory", "hardware", "plan"}
SEARCH = SCHEDULE | {"schedule"}
CHECK = SEARCH | {"search"}
REPLAY = OPERATORS | {"capture", "kernels"}
RUNTIME = SEARCH | {"capture", "replay", "kernels"}
MAY_USE = {
    "core": set(),
    "process": {"core"},
    "program": {"core"},
    "model": PROGRAM | {"process"},
    "operators": PROGRAM,
    "edit": OPERATORS,
    "memory": OPERATORS,
    "cudnn": OPERATORS,
    "hardware": OPERATORS,
    "plan": PROGRAM,
    "schedule": SCHEDULE,
    "search": SEARCH,
    "check": CHECK,
    "report": CHECK | {"check"},
    "capture": OPERATORS | {"process", "model"},
    "replay": REPLAY,
    "measure": REPLAY | {"hardware", "replay", "kernels"},
    "runtime": RUNTIME,
    "train": RUNTIME | {"runtime", "model"},
}
LIBTORCH = {"capture", "replay", "measure", "runtime", "train"}
TORCH = re.compile(r'#\s*include\s*[<"](torch|ATen|c10|caffe2)/')
OURS = re.compile(r'\s*#\s*include\s*"([a-z_.]+)/')

root = pathlib.Path(sys.argv[1])
errors = []
files = [p for top in ("lib", "kernels", "tools") for p in (root / top).rglob("*")
         if p.suffix in {".h", ".cc", ".cu", ".cuh"}]
if not files:
    errors.append(f"no sources in {root}: nothing would be checked")
for path in sorted(files):
    relative = path.relative_to(root)
    area = relative.parts[1] if relative.parts[0] == "lib" else relative.parts[0]
    if relative.parts[0] == "lib" and area not in MAY_USE:
        errors.append(f"{relative}: {area} is not an area (docs/design/architecture.md)")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{relative}:{number}"
        if TORCH.search(line) and area not in LIBTORCH and area != "tools":
            errors.append(f"{where}: LibTorch is not for {area}")
        if re.search(r"#\s*include\s*<CLI/", line) and relative.parts[:2] != ("tools", "common"):
            errors.append(f"{where}: CLI11 is for tools/common alone")
        used = OURS.match(line)
        if used and used.group(1) == "..":
            errors.append(f"{where}: include by area, not by `..`")
        elif used and area in MAY_USE and used.group(1) != area:
            if used.group(1) in MAY_USE or used.group(1) in {"kernels", "tools"}:
                if used.group(1) not in MAY_USE[area]:
                    errors.append(f"{where}: {area} may not use {used.group(1)}")
if errors:
    sys.exit("\n".join(errors))
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).write_text("ok\n", encoding="utf-8")
