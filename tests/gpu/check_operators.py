#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Holds the sum of operator times of a hardware document against the GPU time of real steps, as
torch's profiler (CUPTI) sees them.

Usage: check_operators.py LIST_COSTS MODELS_DIR HARDWARE.json NAME… [--unseen NAME…]
  LIST_COSTS    build-gpu/tests/hardware/list_costs
  MODELS_DIR    what tests/accuracy/export_models.py wrote, with NAME.profile.json of each model
                beside NAME.pt
  NAME          models whose calls `elixir-bench --operators` measured: within 3 %
  --unseen      models whose calls it did not: within 10 %, by the cost function alone
Fails when one is further off, or when an unseen model's calls were measured after all."""
import argparse
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys

import torch

MEASURED_LIMIT, UNSEEN_LIMIT = 0.03, 0.10
STEPS, WARM_UP = 5, 3


def measure_script():
    path = pathlib.Path(__file__).resolve().parents[1] / "accuracy" / "measure.py"
    spec = importlib.util.spec_from_file_location("measure", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def real_ns(directory, description):
    """Median over steps of the time that kernels, copies and fills of forward and backward took on
    the GPU."""
    torch._C._jit_set_profiling_mode(False)
    module = measure_script().load(directory / description["file"])
    inputs = []
    for spec in description["inputs"]:
        dtype = getattr(torch, spec["dtype"])
        inputs.append(torch.randint(spec["below"], spec["sizes"]).cuda()
                      if dtype == torch.int64 else torch.rand(spec["sizes"]).to(dtype).cuda())

    def step():
        output = module(*inputs)
        loss = output[0] if isinstance(output, tuple) else output
        loss.backward()
        for parameter in module.parameters():
            parameter.grad = None
        torch.cuda.synchronize()

    times = []
    with torch.jit.optimized_execution(False):
        for _ in range(WARM_UP):
            step()
        for _ in range(STEPS):
            with torch.profiler.profile(
                    activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
                step()
            times.append(sum(event.time_range.elapsed_us() * 1e3 for event in profiler.events()
                             if event.device_type == torch.autograd.DeviceType.CUDA))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list_costs", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("hardware", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--unseen", nargs="*", default=[])
    arguments = parser.parse_args()
    descriptions = {pathlib.Path(d["file"]).stem: d
                    for d in json.loads((arguments.models / "models.json").read_text())}
    failed = False
    for name in arguments.names + arguments.unseen:
        unseen = name in arguments.unseen
        costs = json.loads(subprocess.run(
            [arguments.list_costs, arguments.models / f"{name}.profile.json", arguments.hardware],
            check=True, capture_output=True, text=True).stdout)
        predicted = sum(kind["time_ns"] for kind in costs.values())
        real = real_ns(arguments.models, descriptions[name])
        off = predicted / real - 1
        limit = UNSEEN_LIMIT if unseen else MEASURED_LIMIT
        was_seen = costs["interpolated"]["calls"] + costs["roofline"]["calls"] == 0
        failed |= abs(off) > limit or unseen == was_seen
        calls = ", ".join(f"{kind} {value['calls']} calls {value['time_ns'] * 1e-6:.3f} ms"
                          for kind, value in costs.items())
        print(
            f"{name:24s} {'unseen' if unseen else 'measured':9s} predicted {predicted * 1e-6:8.3f} "
            f"ms, real {real * 1e-6:8.3f} ms, "
            f"{100 * off:+.2f} % (limit {100 * limit:.0f} %); {calls}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
