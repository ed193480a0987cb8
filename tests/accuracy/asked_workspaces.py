#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""How often a workspace of cuDNN that is named without a GPU is the one that cuDNN names on a GPU.
Fourteen nets of different families (1-D, 2-D, 3-D, grouped, depthwise, dilated, transposed), with
batches and sizes drawn by a seed; calls that a shipped table holds are left out.

  tests/accuracy/asked_workspaces.py list --seed 1 -o queries.tsv
  cut -f1 queries.tsv | elixir-cudnn --json --quiet \\
    --description profiles/gpus/sm_90.json > without.json
  cut -f1 queries.tsv | elixir-cudnn --json --quiet > with.json  # on a GPU machine
  tests/accuracy/asked_workspaces.py table queries.tsv without.json with.json
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import warnings

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "profiles/workspaces/sm_90.json"
BLOCK = 512


def sequence_net(nn):
    """Dilated convolutions of sequences, as in WaveNet."""
    layers = [nn.Conv1d(1, 64, 7, padding=3)]
    layers += [nn.Conv1d(64, 64, 3, padding=2**i, dilation=2**i) for i in range(8)]
    return nn.Sequential(*layers, nn.Conv1d(64, 256, 1))


def speech_net(nn):
    """Strided convolutions of sequences, as in wav2vec 2.0."""
    sizes = [(1, 512, 10, 5), *[(512, 512, 3, 2)] * 4, *[(512, 512, 2, 2)] * 2]
    return nn.Sequential(*[nn.Conv1d(a, b, k, stride=s) for a, b, k, s in sizes])


def generator(nn):
    """Transposed convolutions, as in DCGAN."""
    sizes = [(128, 512, 4, 1, 0), (512, 256, 4, 2, 1), (256, 128, 4, 2, 1), (128, 64, 4, 2, 1),
             (64, 3, 4, 2, 1)]
    return nn.Sequential(*[nn.ConvTranspose2d(a, b, k, s, p) for a, b, k, s, p in sizes])


def nets():
    import torchvision
    from torch import nn

    def image(name, *sizes, **options):
        return (name, lambda: torchvision.models.get_model(name, weights=None, **options),
                lambda n, s: (n, 3, s, s), sizes)

    def video(name):
        return (name, lambda: torchvision.models.get_model(name, weights=None),
                lambda n, s: (n, 3, s // 16, s, s), (112, 128))

    return [
        image("shufflenet_v2_x1_0", 192, 224, 256),
        image("squeezenet1_1", 192, 224, 256),
        image("mnasnet1_0", 192, 224, 256),
        image("googlenet", 192, 224, 256, init_weights=False),
        image("resnext101_32x8d", 192, 224, 256),
        image("regnet_x_3_2gf", 192, 224, 256),
        image("densenet169", 192, 224, 256),
        image("efficientnet_b1", 240, 256),
        image("deeplabv3_mobilenet_v3_large", 256, 384, weights_backbone=None),
        video("r3d_18"),
        video("r2plus1d_18"),
        ("dilated sequences", lambda: sequence_net(nn), lambda n, s: (n, 1, s), (8000, 16000)),
        ("strided sequences", lambda: speech_net(nn), lambda n, s: (n, 1, s), (16000, 32000)),
        ("transposed", lambda: generator(nn), lambda n, s: (n, 128, s, s), (1, 4)),
    ]


def draw(seed):
    """(net, query) of every convolution."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    dtypes = {torch.float32: "fp32", torch.bfloat16: "bf16"}
    found = {}

    class Listing(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if function is torch.ops.aten.convolution.default:
                add(*args, result)
            return result

    def add(image, weight, _bias, stride, padding, dilation, transposed, _output_padding, groups,
            result):
        last = image.dim() == 4 and any(
            t.is_contiguous(memory_format=torch.channels_last) and not t.is_contiguous()
            for t in (image, weight)
        )
        if not last and groups > 1 and groups == image.shape[1]:
            return  # LibTorch's own kernel
        wide = (result if transposed else image).shape

        def text(sizes, filler=1):
            sizes = list(sizes)
            if image.dim() == 3:
                sizes.insert(len(sizes) - 1, filler)
            return ",".join(map(str, sizes))

        for one in ("fwd", "dgrad", "wgrad"):
            query = (
                f"{one} {dtypes[image.dtype]} {'nhwc' if last else 'nchw'} x={text(wide)} "
                f"w={text(weight.shape)} "
                f"s={text(stride)} p={text(padding, 0)} d={text(dilation)} g={groups}")
            found.setdefault(query, name)

    dice = random.Random(seed)
    for name, build, shape, sizes in nets():
        model = build().to("meta").eval()
        for dtype in dtypes:
            layout = (dice.choice([torch.contiguous_format, torch.channels_last])
                      if len(shape(1, 16)) == 4 else None)
            size, batch = dice.choice(sizes), dice.randint(1, 48)
            model = model.to(dtype)
            inputs = torch.zeros(shape(batch, size), dtype=dtype, device="meta")
            if layout is not None:
                model, inputs = model.to(memory_format=layout), inputs.to(memory_format=layout)
            with torch.no_grad(), Listing():
                model(inputs)
    known = {entry["query"] for entry in json.loads(TABLE.read_text(encoding="utf-8"))["queries"]}
    return {query: name for query, name in found.items() if query not in known}


def blocks(count):
    return -(-count // BLOCK)


def table(queries, without, measured):
    names = dict(line.rstrip("\n").split("\t")
                 for line in queries.read_text(encoding="utf-8").splitlines())
    answers = [
        {a["query"]: a.get("bytes")
         for a in json.loads(path.read_text(encoding="utf-8"))["document"]["answers"]}
        for path in (without, measured)
    ]
    rows = collections.defaultdict(list)
    for query, name in names.items():
        named, real = answers[0].get(query), answers[1].get(query)
        if real is not None:
            rows[name].append((named, real))
    rows["all"] = [pair for pairs in list(rows.values()) for pair in pairs]
    print(
        "| net | calls | equal to the byte | equal in blocks of 512 | within 1 MiB | worst below | "
        "worst above |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, pairs in rows.items():
        def share(of):
            return (
                f"{100 * sum(1 for a, b in pairs if a is not None and of(a, b)) / len(pairs):.1f} "
                f"%")
        differences = [(a or 0) - b for a, b in pairs]
        print(
            f"| {name} | {len(pairs)} | {share(lambda a, b: a == b)} | "
            f"{share(lambda a, b: blocks(a) == blocks(b))} | "
            f"{share(lambda a, b: abs(a - b) < 1 << 20)} | {-min(0, *differences):,} | "
            f"{max(0, *differences):,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list")
    listing.add_argument("--seed", type=int, required=True)
    listing.add_argument("-o", type=pathlib.Path, required=True, help="QUERY TAB NET a line")
    comparing = commands.add_parser("table")
    for name in ("queries", "without", "measured"):
        comparing.add_argument(name, type=pathlib.Path)
    options = parser.parse_args()
    if options.command == "list":
        found = draw(options.seed)
        options.o.write_text("".join(f"{query}\t{name}\n" for query, name in sorted(found.items())),
                             encoding="utf-8")
        print(f"{len(found)} queries", file=sys.stderr)
    else:
        table(options.queries, options.without, options.measured)


if __name__ == "__main__":
    main()
