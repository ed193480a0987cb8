#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Asks cuDNN on this machine's GPU which memory recurrent layers take. Runs none of them.
lib/operators/cudnn_rnn.h says the same without a GPU; tests/operators/cudnn_rnn_recorded_test.cc
compares it with the answers in tests/data/recurrent_layers.

Usage: ask_rnn.py OUT.csv.xz COUNT SEED [KEPT]
  COUNT layers drawn at random, every fourth of them in wider ranges, then sweeps: one dimension at
  a time of 200 random layers. KEPT: writes only so many of the answers, drawn at random, and no
  refusals.
  One line for each layer: algorithm (cudnnRNNAlgo_t: 0 standard, 1 persistent, 3 small hidden
  state), mode (cudnnRNNMode_t: relu, tanh, lstm, gru), dtype (cudnnDataType_t), layers, directions,
  steps, batch, input and hidden width, projection (0: none), dropout (0 or 1); then bytes of the
  packed weights, of the workspace and the reserve space in training, and of the workspace in
  inference; or the status of the call that refused it.

The descriptors are those of LibTorch 2.11's RNN.cpp: two biases, padded inputs and outputs,
sequences of equal length.
"""
import ctypes
import lzma
import random
import sys

FLOAT, DOUBLE, HALF, BF16 = 0, 1, 2, 9
DEFAULT_MATH, TENSOR_OP_MATH = 0, 1
STANDARD, PERSISTENT, SMALL = 0, 1, 3
SWEEPS = {"layers": range(1, 9), "directions": (1, 2),
          "steps": (*range(1, 40), *range(40, 700, 13)),
          "batch": (*range(1, 40), *range(40, 300, 7)),
          "input": (*range(1, 40), *range(40, 1400, 37)),
          "hidden": (*range(1, 40), *range(40, 1600, 37)), "projection": (0, *range(1, 40, 3))}
NAMES = ("algorithm", "mode", "dtype", "layers", "directions", "steps", "batch", "input", "hidden",
         "projection", "dropout")


def drawn(draw):
    """Widths are multiples of 8 mostly, and sometimes any number."""
    step = draw.choice((1, 4, 8, 8, 8))
    hidden = step * max(1, round(2 ** draw.uniform(3, 11) / step))
    return {"algorithm": draw.choice((STANDARD, STANDARD, SMALL, SMALL, PERSISTENT)),
            "mode": draw.randrange(4),
            "dtype": draw.choice((FLOAT, FLOAT, HALF, BF16, DOUBLE)),
            "layers": draw.choice((1, 1, 2, 2, 3, 4, 6)),
            "directions": draw.choice((1, 2)), "steps": round(2 ** draw.uniform(0, 9.5)),
            "batch": round(2 ** draw.uniform(0, 8.5)),
            "input": step * max(1, round(2 ** draw.uniform(2, 10.5) / step)), "hidden": hidden,
            "projection": draw.randrange(1, hidden) if hidden > 1 and draw.random() < 0.1 else 0,
            "dropout": draw.randrange(2)}


def drawn_wide(draw):
    """Up to where a layer's weights fill a GPU."""
    mode = draw.randrange(4)
    hidden = round(2 ** draw.uniform(0, 13))
    return {"algorithm": draw.choice((STANDARD, STANDARD, SMALL, PERSISTENT)), "mode": mode,
            "dtype": draw.choice((FLOAT, FLOAT, HALF, BF16, DOUBLE)),
            "layers": draw.choice((1, 1, 2, 2, 3, 5, 8, 12, 24)),
            "directions": draw.choice((1, 2)), "steps": round(2 ** draw.uniform(0, 13)),
            "batch": round(2 ** draw.uniform(0, 12)), "input": round(2 ** draw.uniform(0, 13)),
            "hidden": hidden, "projection": draw.randrange(1, hidden) if mode == 2 and hidden > 1
            and draw.random() < 0.2 else 0, "dropout": draw.randrange(2)}


def layers(count, seed):
    draw = random.Random(seed)
    for i in range(count):
        yield drawn_wide(draw) if i % 4 == 3 else drawn(draw)
    for _ in range(200):
        base = drawn(draw)
        for name, values in SWEEPS.items():
            if name == "projection" and base["mode"] != 2:
                continue
            for value in values:
                if name != "projection" or value < base["hidden"]:
                    yield {**base, name: value}


class Cudnn:
    def __init__(self):
        import torch  # loads the library, and makes the context

        torch.zeros(1, device="cuda")
        self.library = ctypes.CDLL("libcudnn.so.9")
        self.handle, self.rnn, self.data = (ctypes.c_void_p() for _ in range(3))
        self.check("cudnnCreate", ctypes.byref(self.handle))
        self.check("cudnnCreateRNNDescriptor", ctypes.byref(self.rnn))
        self.check("cudnnCreateRNNDataDescriptor", ctypes.byref(self.data))
        size = ctypes.c_size_t()
        self.check("cudnnDropoutGetStatesSize", self.handle, ctypes.byref(size))
        states = torch.zeros(size.value, dtype=torch.uint8, device="cuda")
        self.dropouts = []
        for probability in (0.0, 0.1):
            descriptor = ctypes.c_void_p()
            self.check("cudnnCreateDropoutDescriptor", ctypes.byref(descriptor))
            self.check("cudnnSetDropoutDescriptor", descriptor, self.handle,
                       ctypes.c_float(probability), ctypes.c_void_p(states.data_ptr()),
                       ctypes.c_size_t(size.value), ctypes.c_ulonglong(1))
            self.dropouts.append(descriptor)

    def check(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            raise ValueError(f"{function}:{status}")

    def sizes(self, layer):
        dtype = layer["dtype"]
        precision = DOUBLE if dtype == DOUBLE else FLOAT
        math = TENSOR_OP_MATH if dtype == HALF else DEFAULT_MATH
        self.check("cudnnSetRNNDescriptor_v8", self.rnn, layer["algorithm"], layer["mode"], 2,
                   layer["directions"] - 1, 0, dtype, precision, math, layer["input"],
                   layer["hidden"], layer["projection"] or layer["hidden"], layer["layers"],
                   self.dropouts[layer["dropout"]], 1)
        lengths = (ctypes.c_int * layer["batch"])(*[layer["steps"]] * layer["batch"])
        zero = ctypes.c_double(0)
        self.check("cudnnSetRNNDataDescriptor", self.data, dtype, 0, layer["steps"], layer["batch"],
                   layer["input"], lengths, ctypes.byref(zero))
        weights, workspace, reserve, inference = (ctypes.c_size_t() for _ in range(4))
        self.check("cudnnGetRNNWeightSpaceSize", self.handle, self.rnn, ctypes.byref(weights))
        self.check("cudnnGetRNNTempSpaceSizes", self.handle, self.rnn, 1, self.data,
                   ctypes.byref(workspace), ctypes.byref(reserve))
        self.check("cudnnGetRNNTempSpaceSizes", self.handle, self.rnn, 0, self.data,
                   ctypes.byref(inference), None)
        return weights.value, workspace.value, reserve.value, inference.value


def main():
    if len(sys.argv) not in (4, 5):
        print(__doc__, file=sys.stderr)
        return 2
    cudnn = Cudnn()
    lines, refused = [], 0
    for layer in layers(int(sys.argv[2]), int(sys.argv[3])):
        try:
            sizes = cudnn.sizes(layer)
        except ValueError as error:
            refused += 1
            if len(sys.argv) == 5:
                continue
            sizes = (str(error), "", "", "")
        lines.append((*layer.values(), *sizes))
    count = len(lines)
    if len(sys.argv) == 5:
        lines = random.Random(int(sys.argv[3])).sample(lines, int(sys.argv[4]))
    with lzma.open(sys.argv[1], "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as out:
        for line in ((*NAMES, "weight_bytes", "workspace_bytes", "reserve_bytes",
                      "inference_bytes"), *lines):
            print(*line, sep=",", file=out)
    print(f"{count} lines, {len(lines)} kept, {refused} layers refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
