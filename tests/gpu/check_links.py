#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Compares the link figures of a hardware document with torch on the same machine: pinned copies of
1 GiB between events.

Usage: check_links.py hardware.json [MORE.json …]. Several documents are compared with each other as
well (repeatability). Fails when anything differs by more than 2 %."""
import json
import pathlib
import statistics
import sys

import torch

LIMIT = 0.02
BYTES = 1 << 30
COPIES = 4


def torch_rate(upward):
    """Bytes per second of pinned copies, median of 15 samples of four in a row."""
    host = torch.empty(BYTES, dtype=torch.uint8, pin_memory=True)
    device = torch.empty(BYTES, dtype=torch.uint8, device="cuda")
    source, target = (host, device) if upward else (device, host)
    rates = []
    for sample in range(17):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(COPIES):
            target.copy_(source, non_blocking=True)
        end.record()
        torch.cuda.synchronize()
        if sample >= 2:
            rates.append(COPIES * BYTES / (start.elapsed_time(end) * 1e-3))
    return statistics.median(rates)


def main():
    documents = [json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
                 for path in sys.argv[1:]]
    if not documents:
        sys.exit(__doc__)
    worst = 0.0
    for key, upward in (("host_to_device", True), ("device_to_host", False)):
        rate = torch_rate(upward)
        ours = [next(r for r in d["links"][key] if r["gpus"] == 1)["bytes_per_s"]["median"]
                for d in documents]
        against_torch = max(abs(o / rate - 1) for o in ours)
        among_us = max(ours) / min(ours) - 1
        worst = max(worst, against_torch, among_us)
        print(
            f"{key}: torch {rate / 1e9:.2f} GB/s, elixir-bench "
            f"{', '.join(f'{o / 1e9:.2f}' for o in ours)}; "
            f"against torch {against_torch:.2%}, among runs {among_us:.2%}"
        )
    sys.exit(0 if worst <= LIMIT else f"more than {LIMIT:.0%} apart")


if __name__ == "__main__":
    main()
