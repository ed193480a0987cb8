#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Seconds from the command until a training run begins its first step: the moment the first line of
metrics.jsonl is there, less that step's own time. Runs one step and removes the run.

    benchmarks/first_step.py build/tools/elixir-train --plan plan.json --model b.pt --data text.txt
    --init --device cuda
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    directory = pathlib.Path(tempfile.mkdtemp(dir="."))
    run = directory / "run"
    metrics = run / "metrics.jsonl"
    begin = time.monotonic()
    process = subprocess.Popen(
        [*sys.argv[1:], "--steps", "1", "--checkpoint-every", "0", "-o", run, "-q"],
        stdin=subprocess.DEVNULL
    )
    try:
        while (process.poll() is None
               and not (metrics.exists() and metrics.read_text().endswith("\n"))):
            time.sleep(0.01)
        written_s = time.monotonic() - begin
        if process.poll() not in (None, 0):
            sys.exit(f"{sys.argv[0]}: the run ended with exit {process.returncode}")
        first = json.loads(metrics.read_text().splitlines()[0])
        step_s = first["step_time_ns"] / 1e9
        print(
            f"first step begun after {written_s - step_s:.2f} s, finished after {written_s:.2f} s")
        process.wait()
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
