#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Plain PyTorch beside elixir-train: the same TorchScript file, first weights, rows, learning rates
and loss scale, operator by operator, with everything on the device.

  examples/trainings/torch_training.py --model fp16.pt --weights fp16.safetensors \\
      --data train.txt --steps 300 --loss-scale dynamic:initial=16777216 -o torch-fp16

Flags mean what they mean for elixir-train. A model in half precision has masters in fp32. The
directory gets metrics.jsonl and summary.json.
"""
import argparse
import functools
import json
import pathlib
import statistics
import sys
import time

from rows import ByteRows, LearningRate

GROWTH_INTERVAL = 2000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="MODEL.pt")
    parser.add_argument("--weights", metavar="FILE", help="first weights (.safetensors)")
    parser.add_argument("--data", required=True, metavar="FILE", help="bytes, each a token")
    parser.add_argument("--batch", type=int, required=True, help="rows of a step")
    parser.add_argument("--sequence", type=int, required=True, help="tokens of a row")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--lr-schedule", default="constant",
                        choices=("constant", "linear", "cosine"))
    parser.add_argument("--warmup-steps", type=int, default=0)
    parser.add_argument("--betas", default="0.9,0.999")
    parser.add_argument("--eps", type=float, default=1e-8)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--clip-norm", type=float, default=1.0)
    parser.add_argument("--loss-scale", default="dynamic", metavar="dynamic[:initial=X]",
                        help="for a model in fp16 (default: dynamic, from 65536)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    kind, _, initial = arguments.loss_scale.partition(":initial=")
    if kind != "dynamic":
        parser.error("--loss-scale is dynamic or dynamic:initial=X")
    arguments.initial_scale = float(initial or 65536)
    arguments.betas = tuple(float(beta) for beta in arguments.betas.split(","))
    return arguments


def move_constants(model, device):
    """Tracing writes `cpu` into the graph wherever a tensor is made. Must come before the first
    call."""
    def visit(block):
        for node in block.nodes():
            for inner in node.blocks():
                visit(inner)
            if (node.kind() == "prim::Constant"
                and node.output().type().kind() == "DeviceObjType"):
                node.s_("value", device)

    for module in model.modules():
        try:
            graph = module.graph
        except (AttributeError, RuntimeError):
            continue  # without a forward of its own
        visit(graph)


def put(model, name, tensor):
    """Sets the parameter or buffer of this name."""
    *owners, leaf = name.split(".")
    setattr(functools.reduce(getattr, owners, model), leaf, tensor)


def load(path, weights, device):
    """The module of the file on `device`. Tied parameters stay one tensor."""
    import torch
    model = torch.jit.load(path, map_location="cpu")
    values = {}
    if weights:
        from safetensors.torch import load_file
        values = load_file(weights)
    made, first_names = {}, {}
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        first = first_names.setdefault(id(parameter), name)
        if first not in made:
            value = values.get(first, parameter)
            made[first] = torch.nn.Parameter(value.detach().to(device, parameter.dtype),
                                             requires_grad=parameter.requires_grad)
        put(model, name, made[first])
    for name, buffer in list(model.named_buffers(remove_duplicate=False)):
        put(model, name, buffer.to(device))
    move_constants(model, device)
    return model, [value for value in made.values() if value.requires_grad]


class Training:
    """Parameters, masters, AdamW and the loss scale."""

    def __init__(self, arguments, model, parameters):
        import torch
        self.model, self.parameters, self.clip_norm = model, parameters, arguments.clip_norm
        self.half = parameters[0].dtype != torch.float32
        self.masters = ([torch.nn.Parameter(p.detach().float()) for p in parameters]
                        if self.half else parameters)
        self.scale = (arguments.initial_scale if parameters[0].dtype == torch.float16 else None)
        self.good_steps = 0
        self.updates = 0
        self.rate = LearningRate(arguments.lr, arguments.lr_schedule, arguments.warmup_steps,
                                 arguments.steps)
        self.optimizer = torch.optim.AdamW(
            self.masters, lr=arguments.lr, betas=arguments.betas, eps=arguments.eps,
            weight_decay=arguments.weight_decay,
            fused=parameters[0].device.type == "cuda")

    def step(self, batch):
        """One step; its line of metrics.jsonl."""
        import torch
        rate = self.rate.at(self.updates + 1)
        # Operator by operator: neither fused, nor differentiated as a graph.
        with torch.jit.optimized_execution(False):
            loss = self.model(batch)
        (loss if self.scale is None else loss * self.scale).backward()
        for parameter, master in zip(self.parameters, self.masters):
            if self.half:
                master.grad, parameter.grad = parameter.grad.float(), None
            if self.scale is not None:
                master.grad.div_(self.scale)
        gradients = [master.grad for master in self.masters]
        norm = torch.nn.utils.get_total_norm(gradients)
        skipped = self.scale is not None and not bool(torch.isfinite(norm))
        line = {"loss": loss.item(), "learning_rate": rate, "loss_scale": self.scale,
                "skipped": skipped, "grad_norm": None if skipped else norm.item()}
        if skipped:
            self.scale = max(1.0, self.scale / 2)
            self.good_steps = 0
        else:
            if self.clip_norm > 0:
                torch.nn.utils.clip_grads_with_norm_(self.masters, self.clip_norm, norm)
            self.optimizer.param_groups[0]["lr"] = rate
            self.optimizer.step()
            if self.half:
                with torch.no_grad():
                    torch._foreach_copy_(self.parameters, self.masters)
            self.updates += 1
            self.good_steps += 1
            if self.scale is not None and self.good_steps == GROWTH_INTERVAL:
                self.scale *= 2
                self.good_steps = 0
        self.optimizer.zero_grad(set_to_none=True)
        return line


def main():
    arguments = parse_arguments()
    import torch
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_training.py: this PyTorch sees no GPU")
    cuda = arguments.device == "cuda"
    device = "cuda:0" if cuda else "cpu"
    rows = ByteRows(arguments.data, arguments.sequence)
    model, parameters = load(arguments.model, arguments.weights, device)
    training = Training(arguments, model, parameters)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "summary.json").unlink(missing_ok=True)
    lines = []
    with (arguments.output / "metrics.jsonl").open("w", encoding="utf-8") as metrics:
        for step in range(1, arguments.steps + 1):
            if cuda:
                torch.cuda.synchronize()
            start = time.perf_counter_ns()
            batch = rows.batch(arguments.seed, step, range(arguments.batch)).to(device)
            line = {"step": step, **training.step(batch)}
            if cuda:
                torch.cuda.synchronize()
            line["step_time_ns"] = time.perf_counter_ns() - start
            lines.append(line)
            metrics.write(json.dumps(line) + "\n")
            metrics.flush()
    times = [line["step_time_ns"] for line in lines]
    summary = {
        "torch": torch.__version__, "device": torch.cuda.get_device_name() if cuda else "cpu",
        "dtype": str(parameters[0].dtype)[6:], "steps": len(lines),
        "parameters": sum(parameter.numel() for parameter in parameters),
        "first_loss": lines[0]["loss"], "last_loss": lines[-1]["loss"],
        "step_ns": int(statistics.median(times[1:] or times)),
        # What the caching allocator has given out, at most.
        "peak_device_bytes": torch.cuda.max_memory_allocated() if cuda else None,
    }
    (arguments.output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n",
                                                   encoding="utf-8")
    print(f"    PyTorch: loss {summary['first_loss']:.4f} to {summary['last_loss']:.4f}, "
          f"{summary['step_ns'] / 1e6:.1f} ms a step")


if __name__ == "__main__":
    main()
