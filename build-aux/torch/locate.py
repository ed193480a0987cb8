# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Prints where the torch wheel of this Python lies: torch directory, runtime library path, CUDA,
NCCL and cuDNN wheels.

Imports nothing of torch itself, so that configuring stays fast.
"""
import importlib.util
import os
import sys

EXPECTED = "2.11.0"

spec = importlib.util.find_spec("torch")
if spec is None or not spec.submodule_search_locations:
    sys.exit(
        f"no torch in {sys.executable}: run ./examples/setup.sh, or choose a Python with -Dpython=")
torch_dir = spec.submodule_search_locations[0]
with open(os.path.join(torch_dir, "version.py"), encoding="utf-8") as file:
    version = next(line for line in file
                   if line.startswith("__version__")).split("=")[1].strip().strip("'\"")
if version.split("+")[0] != EXPECTED:
    sys.exit(f"torch {version} in {sys.executable}: Elixir is built against {EXPECTED}")
site = os.path.dirname(torch_dir)


def wheel(name):
    path = os.path.join(site, "nvidia", name)
    return path if os.path.isdir(path) else ""


paths = [os.path.join(torch_dir, "lib")]
for name in ("cu13", "cudnn", "nccl", "nvshmem", "cusparselt"):
    if wheel(name):
        paths.append(os.path.join(wheel(name), "lib"))
print(torch_dir)
print(":".join(paths))
print(wheel("cu13"))
print(wheel("nccl"))
print(wheel("cudnn"))
print(version.split("+")[0])
