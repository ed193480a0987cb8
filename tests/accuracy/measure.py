#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Measures what training steps of exported models really take on this machine's GPU, with
LibTorch's own autograd.

Shares no code with Elixir. Each run is a process of its own: parameters, buffers and inputs on the
GPU, then three times forward, backward and an optimizer's state (two fp32 moments a parameter from
the first step on; an fp32 master before it where parameters are narrower), gradients set to none
after each. The update itself is left out: Elixir's writes in place. With --update, that optimizer
of torch.optim keeps its state and updates instead. Every event of the caching allocator is
recorded.

Usage: measure.py MODELS_DIR OUT.jsonl.xz [--allocator CONF]… [--update NAME:FORM]…
                  [--jobs N] [--limits FILE] [--only GLOB] [--seconds N]
  MODELS_DIR   what export_models.py wrote; one JSON line for each run goes to OUT, sorted by file
               and configuration
  --allocator  text of PYTORCH_ALLOC_CONF (repeatable; default: LibTorch's defaults)
  --update     an optimizer and form of elixir-profile, as adamw:torch-foreach (repeatable); with
               clip_grad_norm_ before it: adamw:torch-foreach:clip
  --limits     JSON record file -> bytes: most that the allocator may reserve, by model file
  --seconds    start no run after that many
"""
import argparse
import fnmatch
import json
import lzma
import math
import os
import pathlib
import random
import sys
import time

import torch

STEPS = 3
ACTIONS = {"alloc": "a", "free_requested": "f", "free_completed": "c", "segment_alloc": "s",
           "segment_free": "x", "segment_map": "m", "segment_unmap": "u", "oom": "o"}


def put_on_gpu(block):
    """Graphs have the device they were traced on written into them."""
    for node in block.nodes():
        for inner in node.blocks():
            put_on_gpu(inner)
        if (node.kind() == "prim::Constant" and node.output().type().kind() == "DeviceObjType"
            and node.hasAttribute("value")):
            node.s_("value", "cuda:0")


def fill(name, parameter):
    if parameter.dim() > 1:
        parameter.normal_(0.0, 0.02)
    elif name.endswith("bias"):
        parameter.zero_()
    else:
        parameter.fill_(1.0)


def load(path):
    module = torch.jit.load(str(path), map_location=None)
    moved = {}
    keep = []
    for owner_name, owner in module.named_modules():
        for name, tensor in list(owner.named_parameters(recurse=False)):
            keep.append(tensor)
            key = tensor.data_ptr() or id(tensor)
            if key not in moved:
                new = torch.nn.Parameter(torch.empty_like(tensor, device="cuda"),
                                         requires_grad=tensor.requires_grad)
                with torch.no_grad():
                    fill(name, new)
                moved[key] = new
            setattr(owner, name, moved[key])
        for method in owner._c._method_names() if hasattr(owner._c, "_method_names") else []:
            put_on_gpu(owner._c._get_method(method).graph)
    for owner_name, owner in module.named_modules():
        for name, buffer in list(owner.named_buffers(recurse=False)):
            setattr(owner, name, buffer.to("cuda"))
    return module


def marks():
    stats = torch.cuda.memory_stats()
    return {key: stats.get(f"{key}.all.{what}", 0) for key, what in ()} | {
        f"{key}_{what}_bytes": stats[f"{key}_bytes.all.{what}"]
        for key in ("allocated", "reserved", "active", "requested") for what in ("current", "peak")}


def compact(trace, base):
    """[action, address from the lowest of its kind, size, stream] of every event."""
    return [[ACTIONS.get(event["action"], event["action"]), event.get("addr", 0) - base,
             event["size"], event["stream"]]
            for event in trace]


FORMS = {"torch-foreach": {"foreach": True}, "torch-fused": {"fused": True},
         "torch-loop": {"foreach": False}}


def optimizer_of(parameters, update):
    name, form, *clips = update.split(":")
    kinds = {"adamw": (torch.optim.AdamW, {}), "adam": (torch.optim.Adam, {}),
             "sgd": (torch.optim.SGD, {}), "sgd-momentum": (torch.optim.SGD, {"momentum": 0.9}),
             "adafactor": (torch.optim.Adafactor, {}), "rmsprop": (torch.optim.RMSprop, {}),
             "adagrad": (torch.optim.Adagrad, {})}
    kind, options = kinds[name]
    trained = [p for p in parameters if p.requires_grad]
    optimizer = kind(trained, lr=1e-3, **options, **FORMS[form])
    return Clipping(optimizer, trained) if clips else optimizer


class Clipping:
    """Clips the norm of all gradients before the update."""

    def __init__(self, optimizer, parameters):
        self.optimizer, self.parameters = optimizer, parameters

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()


class ElixirsState:
    """A master before the first step where parameters are narrow, two moments from it on; the
    update takes no memory."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.masters = [torch.empty_like(p, dtype=torch.float32) for p in parameters
                        if p.element_size() < 4]
        self.moments = []

    def step(self):
        if self.moments:
            return
        for parameter in self.parameters:
            if parameter.grad is not None:
                self.moments += [torch.empty_like(parameter, dtype=torch.float32) for _ in range(2)]


def fraction_for(limit, total):
    """LibTorch multiplies and cuts: the least fraction that leaves the limit whole."""
    fraction = limit / total
    while int(fraction * total) < limit:
        fraction = math.nextafter(fraction, 1.0)
    return fraction


def run(model, directory, configuration, limit, update):
    torch.cuda.memory._set_allocator_settings(configuration) if configuration else None
    torch.cuda.init()
    total = torch.cuda.mem_get_info()[1]
    if limit:
        torch.cuda.set_per_process_memory_fraction(fraction_for(limit, total))
    torch._C._jit_set_profiling_mode(False)
    result = {"file": model["file"], "allocator": configuration, "update": update,
              "limit_bytes": limit, "device_bytes": total, "device": torch.cuda.get_device_name(),
              "torch": torch.__version__, "steps": []}
    torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=5_000_000)
    progress = "load"
    try:
        module = load(directory / model["file"])
        result["loaded"] = marks()
        parameters, seen = [], set()
        for parameter in module.parameters():
            if parameter.data_ptr() not in seen:
                seen.add(parameter.data_ptr())
                parameters.append(parameter)
        inputs = []
        for spec in model["inputs"]:
            dtype = getattr(torch, spec["dtype"])
            inputs.append(torch.randint(spec["below"], spec["sizes"]).cuda() if dtype == torch.int64
                          else torch.rand(spec["sizes"]).to(dtype).cuda())
        optimizer = optimizer_of(parameters, update) if update else ElixirsState(parameters)
        result["ready"] = marks()
        with torch.jit.optimized_execution(False):
            for step in range(STEPS):
                progress = f"step {step + 1}"
                torch.cuda.reset_peak_memory_stats()
                output = module(*inputs)
                loss = output[0] if isinstance(output, tuple) else output
                after_forward = marks()
                loss.backward()
                after_backward = marks()
                torch.cuda.reset_peak_memory_stats()
                optimizer.step()
                torch.cuda.synchronize()
                update_marks = marks()
                end = {key: max(update_marks[key], after_backward[key])
                       if "peak" in key else update_marks[key] for key in update_marks}
                result["steps"].append({"forward": after_forward, "backward": after_backward,
                                        "update": update_marks, "end": end,
                                        "loss": str(loss.item())})
                del output, loss
                for parameter in parameters:
                    parameter.grad = None
        result["outcome"] = "ok"
    except torch.OutOfMemoryError as error:
        result["outcome"] = f"out of memory in {progress}"
    # a run that fails is a result too; TorchScript gives errors of its operators another type
    except Exception as error:
        text = str(error)
        memory = "CUDA out of memory" in text
        result["outcome"] = (f"out of memory in {progress}"
                             if memory else f"{type(error).__name__} in {progress}: {text[-300:]}")
    free, _ = torch.cuda.mem_get_info()
    result["process_bytes_if_alone"] = total - free
    result["retries"] = torch.cuda.memory_stats().get("num_alloc_retries", 0)
    snapshot = torch.cuda.memory._snapshot()
    trace = snapshot["device_traces"][0]
    addresses = [event["addr"] for event in trace
                 if event["action"] in ("segment_alloc", "segment_map")]
    base = min(addresses) if addresses else 0
    result["base"] = base
    result["segments"] = [[s["address"] - base, s["total_size"], s["segment_type"], s["stream"],
                           s.get("is_expandable", False),
                           [[b["size"], b["state"], b.get("requested_size", 0)]
                            for b in s["blocks"]]] for s in snapshot["segments"]]
    if not limit:
        result["trace"] = compact(trace, base)
    return result


def child(job, directory, path):
    model, configuration, limit, update = job
    if configuration:
        os.environ["PYTORCH_ALLOC_CONF"] = configuration
    code = 1
    try:
        result = run(model, directory, configuration, limit, update)
        path.write_text(json.dumps(result, separators=(",", ":")), encoding="utf-8")
        code = 0
    except BaseException as error:  # noqa: B036 the parent sees only the exit code
        path.write_text(json.dumps({"file": model["file"], "allocator": configuration,
                                    "update": update, "limit_bytes": limit,
                                    "outcome": f"{type(error).__name__}: {str(error)[:300]}"}),
                        encoding="utf-8")
    finally:
        sys.stdout.flush()
        os._exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--allocator", action="append", default=[])
    parser.add_argument("--update", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limits", type=pathlib.Path)
    parser.add_argument("--only", default="*")
    parser.add_argument("--seconds", type=float, default=3600)
    arguments = parser.parse_args()
    models = [m for m in json.loads((arguments.models / "models.json").read_text())
              if fnmatch.fnmatch(m["file"], arguments.only)]
    limits = json.loads(arguments.limits.read_text()) if arguments.limits else {}
    jobs = [(model, configuration, limits.get(model["file"]), update)
            for configuration in arguments.allocator or [""]
            for update in arguments.update or [""] for model in models]
    # large models are neighbours in the list; together they would fill the GPU
    random.Random(1).shuffle(jobs)
    work = arguments.out.with_suffix(".parts")
    work.mkdir(parents=True, exist_ok=True)
    started, running, parts = time.monotonic(), {}, []
    for number, job in enumerate(jobs):
        if time.monotonic() - started > arguments.seconds:
            print(f"out of time: {len(jobs) - number} runs not made", file=sys.stderr)
            break
        while len(running) >= arguments.jobs:
            pid, status = os.wait()
            running.pop(pid, None)
        part = work / f"{number}.json"
        parts.append(part)
        pid = os.fork()
        if pid == 0:
            child(job, arguments.models, part)
        running[pid] = part
    while running:
        pid, status = os.wait()
        running.pop(pid, None)
    results = [json.loads(part.read_text()) for part in parts if part.exists()]
    results.sort(key=lambda r: (r["file"], r["allocator"], r["update"]))
    with lzma.open(arguments.out, "wt", preset=1) as out:
        for result in results:
            out.write(json.dumps(result, separators=(",", ":")) + "\n")
    for result in results:
        last = result["steps"][-1]["end"] if result.get("steps") else {}
        print(
            f"{result['file']:28s} {result['allocator'] + result['update']:32s} allocated "
            f"{last.get('allocated_peak_bytes', 0):>14,d} "
            f"reserved {last.get('reserved_peak_bytes', 0):>14,d}  {result['outcome']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
