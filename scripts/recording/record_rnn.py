#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Records what cuDNN's recurrent layers take on this machine's GPU: packed weights, reserve space
and workspace of `_cudnn_rnn` in training, for layers of many shapes. lib/operators/cudnn_rnn.h says
the same without a GPU; tests/operators/cudnn_rnn_recorded_test.cc compares it with every file in
tests/data/recurrent_layers.

Usage: record_rnn.py OUT.json [--random COUNT SEED]
  One line for each shape: mode, dtype, layers, directions, steps, batch, input and hidden width,
  projection, dropout, then what was measured: weight_elements, reserve_bytes, workspace_bytes (the
  call's workspace, then the last hidden state, which is dropped). Shapes are a grid or drawn at
  random.
"""
import itertools
import json
import pathlib
import random
import sys

import torch

MODES = {"relu": (0, torch.nn.RNN), "tanh": (1, torch.nn.RNN), "lstm": (2, torch.nn.LSTM),
         "gru": (3, torch.nn.GRU)}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def shapes():
    base = {"mode": "lstm", "dtype": "float32", "layers": 2, "directions": 1, "steps": 32,
            "batch": 8, "input": 64, "hidden": 128, "projection": 0, "dropout": 0.1}
    varied = {"layers": [1, 2, 3, 4], "directions": [1, 2], "steps": [1, 2, 16, 128, 500],
              "batch": [1, 7, 8, 32, 100], "input": [16, 100, 128, 512],
              "hidden": [16, 100, 256, 512, 1024, 1500], "dropout": [0.0, 0.5]}
    seen = set()
    for mode, dtype in itertools.product(MODES, DTYPES):
        for key, values in [("mode", [mode]), *varied.items()]:
            for value in values:
                for second, others in [("batch", [8]),
                                       *([("hidden", [64, 1024]), ("layers", [1, 3])]
                                         if key != "hidden" else [])]:
                    for other in others:
                        shape = {**base, "mode": mode, "dtype": dtype, key: value,
                                 second: other if second != key else value}
                        if tuple(shape.items()) not in seen:
                            seen.add(tuple(shape.items()))
                            yield shape
    for projection, layers, directions in itertools.product((16, 64), (1, 2), (1, 2)):
        yield {**base, "projection": projection, "layers": layers, "directions": directions}


def random_shapes(count, seed):
    """Shapes between those of the grid, all dimensions at once."""
    draw = random.Random(seed)
    for _ in range(count):
        mode = draw.choice(list(MODES))
        hidden = 4 * round(2 ** draw.uniform(2, 8.5))
        projects = mode == "lstm" and draw.random() < 0.1
        yield {"mode": mode, "dtype": draw.choice(list(DTYPES)), "layers": draw.randint(1, 4),
               "directions": draw.choice([1, 1, 2]), "steps": round(2 ** draw.uniform(0, 9.5)),
               "batch": round(2 ** draw.uniform(0, 7)), "input": 4 * round(2 ** draw.uniform(2, 8)),
               "hidden": hidden, "projection": 4 * draw.randint(1, hidden // 4 - 1)
               if projects else 0, "dropout": draw.choice([0.0, 0.1])}


def record(shape):
    number, kind = MODES[shape["mode"]]
    extra = {"nonlinearity": shape["mode"]} if kind is torch.nn.RNN else {}
    if shape["projection"]:
        extra["proj_size"] = shape["projection"]
    dtype = DTYPES[shape["dtype"]]
    layer = kind(shape["input"], shape["hidden"], shape["layers"],
                 dropout=shape["dropout"] if shape["layers"] > 1 else 0.0,
                 bidirectional=shape["directions"] == 2, **extra).to(dtype)
    # Not torch.nn's own call: that would pack the weights beforehand.
    weights = [torch.nn.Parameter(weight.detach().cuda()) for weight in layer._flat_weights]
    states = shape["layers"] * shape["directions"]
    h = torch.zeros(states, shape["batch"], shape["projection"] or shape["hidden"], dtype=dtype,
                    device="cuda")
    c = (torch.zeros(states, shape["batch"], shape["hidden"], dtype=dtype, device="cuda")
         if shape["mode"] == "lstm" else None)
    x = torch.zeros(shape["steps"], shape["batch"], shape["input"], dtype=dtype, device="cuda")
    state = torch._cudnn_init_dropout_state(shape["dropout"], True, 0, dtype=torch.uint8,
                                            device="cuda") if shape["dropout"] else None
    torch.cuda.memory._record_memory_history(enabled=None)
    torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=100_000)
    _, _, _, reserve, packed = torch._cudnn_rnn(x, weights, 5 if shape["projection"] else 4, None,
                                                h, c, number, shape["hidden"], shape["projection"],
                                                shape["layers"], False, shape["dropout"], True,
                                                shape["directions"] == 2, [], state)
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    live, ended = {}, []
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_requested" and event["addr"] in live:
            ended.append(live.pop(event["addr"]))
    return {**shape, "weight_elements": packed.numel(), "reserve_bytes": reserve.numel(),
            "workspace_bytes": ended}


def main():
    drawn = len(sys.argv) == 5 and sys.argv[2] == "--random"
    if len(sys.argv) != 2 and not drawn:
        print(__doc__, file=sys.stderr)
        return 2
    rows = []
    for shape in random_shapes(int(sys.argv[3]), int(sys.argv[4])) if drawn else shapes():
        try:
            rows.append(record(shape))
        except RuntimeError as error:
            rows.append({**shape, "error": str(error).splitlines()[0]})
    document = {"device": torch.cuda.get_device_name(), "libtorch": torch.__version__,
                "cudnn": torch.backends.cudnn.version(), "rows": rows}
    lines = ",\n".join(json.dumps(row) for row in rows)
    head = json.dumps({key: value for key, value in document.items() if key != "rows"})
    pathlib.Path(sys.argv[1]).write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n',
                                         encoding="utf-8")
    print(f"{len(rows)} shapes, {sum('error' in row for row in rows)} refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
