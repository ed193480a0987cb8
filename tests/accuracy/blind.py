#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Models that no rule of memory was fitted on, drawn from the zoos by a seed: first predicted, then
recorded on a GPU.

  tests/accuracy/blind.py draw models --seed 1  # exports, and models/NAME.profile.json of each
  tests/accuracy/measure.py models measured.jsonl.xz  # on the GPU machine
  tests/accuracy/blind.py table models measured.jsonl.xz  # a Markdown table

`draw` takes twelve convolution nets of timm, three recurrent nets, two language models with experts
and three others of transformers, with random batches and sizes of images, in fp32 or bf16. A family
that cannot be exported is drawn again. What is predicted once is not predicted again: later rules
are judged by another seed.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import warnings

import make_table

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parents[2]
# modules of timm with models in measured-h200.json
FITTED = ("resnet", "convnext", "vision_transformer", "_registry")
# Their names say that they are transformers.
NOT_CONVOLUTIONAL = ("vit", "former", "swin", "beit", "eva", "deit", "cait", "transformer", "mixer",
                     "xcit", "hiera", "naflex", "sam", "tnt", "volo", "pit", "twins", "nest",
                     "coat")
PARAMETERS = 120_000_000  # at most
GIB = 24  # predicted, at most


class Drawn:
    """One model, its inputs and their ranges."""

    def __init__(self, name, module, inputs, ranges):
        self.name, self.module, self.inputs, self.ranges = name, module, inputs, ranges


def convolutional(zoo, chosen):
    import timm
    import torch

    modules = [name for name in timm.list_modules() if timm.list_models(module=name)
               and name not in FITTED
               and not any(part in name for part in NOT_CONVOLUTIONAL)]
    name = chosen.choice(timm.list_models(module=chosen.choice(modules)))
    batch, size = chosen.randrange(2, 25), 32 * chosen.randrange(4, 9)
    model = timm.create_model(name, pretrained=False)
    inputs = (torch.rand(batch, 3, size, size), torch.zeros(batch, dtype=torch.int64))
    return Drawn(f"{name}-b{batch}-{size}", zoo.WithLoss(model, (), False), inputs, (0, 1000))


def recurrent(zoo, chosen):
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self, kind, width, hidden, layers, both):
            super().__init__()
            self.embedding = nn.Embedding(1000, width)
            self.layers = getattr(nn, kind)(width, hidden, layers, batch_first=True,
                                            bidirectional=both)
            self.head = nn.Linear(hidden * (2 if both else 1), 10)

        def forward(self, tokens):
            return self.head(self.layers(self.embedding(tokens))[0][:, -1])

    kind, both = chosen.choice(("LSTM", "GRU")), chosen.random() < 0.5
    width, hidden, layers = (8 * chosen.randrange(4, 64), 8 * chosen.randrange(4, 128),
                             chosen.randrange(1, 4))
    batch, tokens = chosen.randrange(2, 65), chosen.randrange(8, 200)
    name = f"{kind.lower()}-{width}-{hidden}-{layers}{'-both' if both else ''}-b{batch}-{tokens}"
    inputs = (torch.zeros(batch, tokens, dtype=torch.int64), torch.zeros(batch, dtype=torch.int64))
    return Drawn(name, zoo.WithLoss(Recurrent(kind, width, hidden, layers, both), (), False),
                 inputs, (1000, 10))


def of_transformers(zoo, chosen, experts):
    zoo.BATCH, zoo.TOKENS = chosen.randrange(2, 17), 16 * chosen.randrange(2, 8)
    families = [each for each in zoo.transformers_models()
                if ("moe" in each[0] or "mixtral" in each[0]) == experts]
    family, _, build = chosen.choice(families)
    module, inputs = build()
    return Drawn(f"{family}-b{zoo.BATCH}", module, inputs,
                 tuple(100 if each.dim() == 2 else 10 for each in inputs))


def export(drawn, dtype, path, exporter):
    import torch
    from export_models import drop_weights

    inputs = tuple(each.to(dtype) if each.is_floating_point() else each for each in drawn.inputs)
    module = drawn.module.train().to(dtype)
    if sum(parameter.numel() for parameter in module.parameters()) > PARAMETERS:
        raise ValueError("it is large")
    with exporter.repeats_as_numbers():
        traced = torch.jit.trace(module, inputs, check_trace=False, strict=False)
    drop_weights(traced)
    traced.save(str(path))
    return [{"name": str(i), "dtype": str(each.dtype).split(".")[-1], "sizes": list(each.shape),
             "below": below}
            for i, (each, below) in enumerate(zip(inputs, drawn.ranges))]


def predict(tools, path):
    run = subprocess.run([tools / "elixir-profile", path, "--target", "cuda:sm_90", "--json", "-q",
                          "--force", "-o", path.with_suffix(".profile.json")], capture_output=True,
                         text=True, check=False)
    return None if run.returncode else json.loads(run.stdout)["document"]["memory"]


def draw(arguments):
    import torch

    import zoo
    from export_models import load_exporter

    if not (arguments.tools / "elixir-cudnn").exists():
        sys.exit(
            f"{arguments.tools} has no elixir-cudnn: convolutions would be guessed, not predicted; "
            f"build everything first")
    exporter = load_exporter()
    chosen = random.Random(arguments.seed)
    torch.manual_seed(arguments.seed)
    arguments.models.mkdir(parents=True, exist_ok=True)
    kinds = ([lambda: convolutional(zoo, chosen)] * 12 + [lambda: recurrent(zoo, chosen)] * 3 +
             [lambda: of_transformers(zoo, chosen, True)] * 2
             + [lambda: of_transformers(zoo, chosen, False)] * 3)
    models = []
    for number, kind in enumerate(kinds):
        while len(models) == number:
            dtype = chosen.choice(("float32", "bfloat16"))
            try:
                drawn = kind()
                path = arguments.models / f"{drawn.name}-{dtype}.pt"
                inputs = export(drawn, getattr(torch, dtype), path, exporter)
            except Exception as error:  # noqa: BLE001: whatever a family dislikes
                print(f"drawn again: {error!r:.120}", flush=True)
                continue
            memory = predict(arguments.tools, path)
            if memory is None or memory["peak_allocated_bytes"] > GIB * 2**30:
                print(f"drawn again: {path.name} is {'refused' if memory is None else 'large'}",
                      flush=True)
                path.unlink()
                continue
            models.append({"model": drawn.name, "file": path.name, "dtype": dtype,
                           "inputs": inputs})
            print(f"{path.name}: {memory['peak_allocated_bytes']:,} bytes", flush=True)
            (arguments.models / "models.json").write_text(json.dumps(models, indent=1) + "\n",
                                                          encoding="utf-8")


def table(arguments):
    print(
        "| model, batch, dtype | allocated, measured | difference | reserved, measured | "
        "difference | label |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for run in make_table.short(arguments.measured):
        profile = json.loads((arguments.models / run["file"]).with_suffix(".profile.json")
                             .read_text(encoding="utf-8"))
        memory = profile["memory"]
        modelled = memory["certainty"]["modelled_calls"]
        cells = [run["file"].removesuffix(".pt")]
        for what in ("allocated", "reserved"):
            measured = run[f"peak_{what}_bytes"]
            cells += [make_table.mib(measured),
                      make_table.difference(memory[f"peak_{what}_bytes"], measured)]
        print("| " + " | ".join(
            [*cells, f"{modelled} calls modelled" if modelled else "exact or measured"]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("models", type=pathlib.Path)
    drawing.add_argument("--seed", type=int, required=True)
    drawing.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools")
    drawing.set_defaults(run=draw)
    comparing = commands.add_parser("table")
    comparing.add_argument("models", type=pathlib.Path)
    comparing.add_argument("measured", type=pathlib.Path)
    comparing.set_defaults(run=table)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
