#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Records which memory torch.nn's recurrent layers take and free on this machine's GPU in forward,
backward and inference. cuDNN's workspace is part of it, for the algorithm that LibTorch chooses for
the pass (tests/operators/cudnn_rnn_recorded_test.cc).

Usage: record_rnn_passes.py OUT.json COUNT SEED
  One line for each layer drawn at random: mode, dtype, layers, directions, steps, batch, input and
  hidden width, projection, dropout; then, for each pass, the bytes of every block that was
  allocated and freed in it.
"""
import json
import pathlib
import random
import sys

import torch

from record_rnn import DTYPES, MODES


def shapes(count, seed):
    """Every third has widths and batches for which fp16 may take the persistent algorithm."""
    draw = random.Random(seed)
    for i in range(count):
        even = i % 3 == 0
        mode = draw.choice(list(MODES))
        hidden = 128 * draw.randint(1, 9) if even else 4 * round(2 ** draw.uniform(1, 8))
        projects = mode == "lstm" and not even and draw.random() < 0.15
        layers = 1 if even else draw.randint(1, 4)
        yield {"mode": mode, "dtype": "float16" if even else draw.choice([*DTYPES, "float64"]),
               "layers": layers, "directions": 1 if even else draw.choice([1, 2]),
               "steps": round(2 ** draw.uniform(0, 8)),
               "batch": 4 * draw.randint(1, 34) if even else round(2 ** draw.uniform(0, 7)),
               "input": draw.choice([100, 128, 256, 512])
               if even else round(2 ** draw.uniform(2, 9)), "hidden": hidden,
               "projection": draw.randint(1, hidden - 1) if projects else 0,
               "dropout": draw.choice([0.0, 0.1]) if layers > 1 else 0.0}


def temporaries(run):
    """What `run` returns, and the bytes of every block that it allocates and frees."""
    torch.cuda.memory._record_memory_history(enabled=None)
    torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=100_000)
    result = run()
    live, ended = {}, []
    for event in torch.cuda.memory._snapshot()["device_traces"][0]:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_requested" and event["addr"] in live:
            ended.append(live.pop(event["addr"]))
    return result, ended


def record(shape):
    kind = MODES[shape["mode"]][1]
    extra = {"nonlinearity": shape["mode"]} if kind is torch.nn.RNN else {}
    if shape["projection"]:
        extra["proj_size"] = shape["projection"]
    dtype = getattr(torch, shape["dtype"])
    layer = kind(shape["input"], shape["hidden"], shape["layers"], dropout=shape["dropout"],
                 bidirectional=shape["directions"] == 2, **extra)
    layer = layer.to(dtype).cuda()
    x = torch.zeros(shape["steps"], shape["batch"], shape["input"], dtype=dtype, device="cuda",
                    requires_grad=True)
    output, forward = temporaries(lambda: layer(x)[0])
    gradient = torch.zeros_like(output)
    _, backward = temporaries(lambda: output.backward(gradient))
    layer.eval()
    with torch.no_grad():
        _, inference = temporaries(lambda: layer(x))
    return {**shape, "forward": forward, "backward": backward, "inference": inference}


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    rows = [record(shape) for shape in shapes(int(sys.argv[2]), int(sys.argv[3]))]
    document = {"device": torch.cuda.get_device_name(), "libtorch": torch.__version__,
                "cudnn": torch.backends.cudnn.version()}
    lines = ",\n".join(json.dumps(row) for row in rows)
    pathlib.Path(sys.argv[1]).write_text(f'{json.dumps(document)[:-1]}, "rows": [\n{lines}\n]}}\n',
                                         encoding="utf-8")
    print(f"{len(rows)} layers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
