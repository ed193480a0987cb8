#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""What a measured step could not be shorter than, and which of these bounds is the largest.

  benchmarks/step_bounds.py hw.json RUN_DIR [RUN_DIR ...]

RUN_DIR is a run of elixir-train on a GPU (trace.json, summary.json), hw.json the hardware document
of that machine. Bounds:
  compute   the operators, norms and updates of the GPU's compute stream, back to back, as measured
  to GPU    bytes to the device over the rate of that direction alone; to host likewise
  memory    all bytes that cores and copies move in the host's memory, over the most that AdamW and
            both directions moved at once (`contention`)
  order     backward, then the longer of the updates (their bytes in the host's memory over the same
            rate) and the next forward pass, because nothing is updated before the gradient norm
            is known
"""
import json
import sys
from pathlib import Path

COMPUTE, DEVICE_UPDATE, TO_DEVICE, TO_HOST, CPU = 0, 1, 2, 3, 5  # streams, by thread id in a trace
BYTES_OF_ADAM = 28  # a parameter, bf16, with fp32 moments and a separate master


def median(figure):
    return figure["median"]


def rates(hardware):
    """Bytes a second: to the device, to the host, and in the host's memory with all three users at
    once."""
    to_device = median(hardware["links"]["host_to_device"][0]["bytes_per_s"])
    to_host = median(hardware["links"]["device_to_host"][0]["bytes_per_s"])
    adam = [median(r["params_per_s"]) for r in hardware["adam"]["cpu"] if r["dtype"] == "bf16"
            and r["ranks"] == 1][0]
    slowdown = {(c["work"], c["beside"]): median(c["slowdown"]) for c in hardware["contention"]}
    together = (adam * BYTES_OF_ADAM / slowdown["adam_cpu", "host_to_device+device_to_host"]
                + to_device / slowdown["host_to_device", "device_to_host+adam_cpu"]
                + to_host / slowdown["device_to_host", "host_to_device+adam_cpu"])
    return to_device, to_host, max(together, adam * BYTES_OF_ADAM)


def bounds(trace, to_device_rate, to_host_rate, memory_rate):
    """Seconds, by name."""
    tasks = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e["pid"] == 1]  # measured

    def seconds(*kinds):
        return sum(t["dur"] for t in tasks if t["tid"] == COMPUTE
                   and t["name"].split()[0] in kinds) / 1e6

    def moved(streams, kinds=None):
        return sum(t["args"]["bytes"] for t in tasks if t["tid"] in streams
                   and (kinds is None or t["cat"] in kinds)
                   and not (t["tid"] == DEVICE_UPDATE and t["cat"] == "update"))

    forward, backward = seconds("forward"), seconds("backward")
    others = seconds("gradient_norm", "store_gradient", "clip", "update", "compute", "evict")
    copies = (DEVICE_UPDATE, TO_DEVICE, TO_HOST)
    of_updates = ("update", "load_state", "store_state", "move_gradients", "move_parameters")
    updates = moved((*copies, CPU), of_updates) / memory_rate
    return {
        "compute": forward + backward + others,
        "to GPU": moved((DEVICE_UPDATE, TO_DEVICE)) / to_device_rate,
        "to host": moved((TO_HOST,)) / to_host_rate,
        "memory": moved((*copies, CPU)) / memory_rate,
        "order": backward + others + max(updates, forward),
    }


def main():
    if len(sys.argv) < 3 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    to_device_rate, to_host_rate, memory_rate = rates(json.loads(Path(sys.argv[1]).read_text()))
    print(f"rates in GB/s: to GPU {to_device_rate / 1e9:.1f}, to host {to_host_rate / 1e9:.1f}, "
          f"host memory {memory_rate / 1e9:.0f}")
    print("| run | step | compute | to GPU | to host | memory | order | binds | step / bound |")
    print("| --- " * 9 + "|")
    for name in sys.argv[2:]:
        run = Path(name)
        step = json.loads((run / "summary.json").read_text())["measured"]["step_ns"] / 1e9
        of = bounds(json.loads((run / "trace.json").read_text()), to_device_rate, to_host_rate,
                    memory_rate)
        binds = max(of, key=of.get)
        cells = " | ".join(f"{1e3 * seconds:.0f} ms" for seconds in (step, *of.values()))
        print(f"| {run.name} | {cells} | {binds} | {step / of[binds]:.2f} |")


if __name__ == "__main__":
    main()
