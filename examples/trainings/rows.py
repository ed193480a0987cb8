# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The rows that elixir-train draws, for PyTorch: row `row` of step `step` depends on (seed, step,
row) alone, as lib/train/data/dataset.h says.

  ByteRows("train.txt", tokens=512).batch(seed=0, step=1, rows=range(8))
"""
import pathlib

MASK = (1 << 64) - 1


def mix64(z):
    """SplitMix64, as in lib/runtime/micro_batch_seed.h."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def seed_of(seed, step, row):
    """What row `row` of step `step` depends on. Steps count from 1."""
    return mix64(mix64(mix64(seed) ^ step) ^ row)


def drawn_start(seed, step, row, starts):
    """Where row `row` of step `step` begins, below `starts`."""
    return (seed_of(seed, step, row) * starts) >> 64


class ByteRows:
    """A file of bytes, each a token. A row begins anywhere."""

    def __init__(self, path, tokens):
        import torch
        data = bytearray(pathlib.Path(path).read_bytes())
        self.data = torch.frombuffer(data, dtype=torch.uint8)
        self.tokens = tokens

    def batch(self, seed, step, rows):
        import torch
        starts = len(self.data) - self.tokens + 1
        first = [drawn_start(seed, step, row, starts) for row in rows]
        return torch.stack([self.data[i:i + self.tokens] for i in first]).long()


class SampleRows:
    """A .safetensors file of samples. A row is any of them."""

    def __init__(self, path):
        from safetensors.torch import load_file
        self.samples = load_file(path)

    def __len__(self):
        return len(next(iter(self.samples.values())))

    def batch(self, seed, step, rows):
        chosen = [drawn_start(seed, step, row, len(self)) for row in rows]
        return {name: values[chosen].long() for name, values in self.samples.items()}


class LearningRate:
    """lib/train/run/learning_rate.h: a linear warm-up, then a schedule. `update` counts from 1, and
    skipped steps are no updates."""

    def __init__(self, base, schedule, warmup, steps):
        self.base, self.schedule, self.warmup, self.steps = base, schedule, warmup, steps

    def at(self, update):
        import math
        k = update - 1
        if k < self.warmup:
            return self.base * (k + 1) / self.warmup
        if self.schedule == "constant":
            return self.base
        p = min(1.0, (k - self.warmup) / max(1, self.steps - self.warmup))
        if self.schedule == "linear":
            return self.base * (1.0 - p)
        return self.base * (1.0 + math.cos(math.pi * p)) / 2.0
