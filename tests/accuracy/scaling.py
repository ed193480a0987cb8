#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Time and memory of elixir-profile by number of layers: decoders of GPT-2's shape without weights,
exported here.

Usage: scaling.py ELIXIR_PROFILE [--layers 12,24,48,96,192] [--runs 5]
  Prints a table: operators, median seconds (whole process, start included), peak resident memory,
  and what a thousand more operators than in the row above took.
  Run it on an idle machine, in a Python that examples/export_hf.py runs in.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command):
    """Seconds and peak resident bytes of one process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", type=pathlib.Path)
    parser.add_argument("--layers", default="12,24,48,96,192")
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print(
        "| layers | operators | seconds | resident, MiB | ms for 1,000 more | MiB for 1,000 more |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    before = None
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for layers in map(int, arguments.layers.split(",")):
            config, model = work / "config.json", work / f"gpt2-{layers}.pt"
            profile = work / f"{layers}.profile.json"
            config.write_text(json.dumps({"model_type": "gpt2",
                                          "architectures": ["GPT2LMHeadModel"], "n_layer": layers}))
            subprocess.run([sys.executable, ROOT / "examples/export_hf.py", config, model,
                            "--meta"], check=True, stdout=subprocess.DEVNULL)
            runs = [run([arguments.profile, model, "-o", profile, "--force", "--quiet"])
                    for _ in range(arguments.runs)]
            seconds = statistics.median(first for first, _ in runs)
            resident = statistics.median(second for _, second in runs) / 2**20
            operators = len(json.loads(profile.read_text())["operators"])
            more = ("", "")
            if before:
                added = (operators - before[0]) / 1000
                more = (f"{1e3 * (seconds - before[1]) / added:.0f}",
                        f"{(resident - before[2]) / added:.1f}")
            before = operators, seconds, resident
            print(
                f"| {layers} | {operators:,} | {seconds:.2f} | {resident:,.0f} | {more[0]} | "
                f"{more[1]} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
