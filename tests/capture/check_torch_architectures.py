# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The table in capture/cuda_architectures.cc against the wheel's own word.
Usage: check_torch_architectures.py SOURCE_FILE
Skips (77) where torch is a CPU build."""
import pathlib
import re
import sys

import torch

GPUS = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)

flags = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
if not flags:
    sys.exit(77)
if "compute_" in flags:
    sys.exit(f"this torch has PTX, which runs on later GPUs, too: {flags}")
built = [int(a) for a in re.findall(r"sm_(\d+)", flags)]
runs_on = [gpu for gpu in GPUS if any(gpu // 10 == a // 10 and gpu >= a for a in built)]
source = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
table = [int(a) for a in re.search(r"kRunsOn\{([^}]*)\}", source).group(1).split(",")]
if table != runs_on:
    sys.exit(f"the table has {table}, torch {torch.__version__} ({flags}) runs on {runs_on}")
