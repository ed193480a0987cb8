# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Random models under random plans: elixir-train gives the losses and the whole state of plain
PyTorch. `test_train_random.py 200 7`: so many models, from this seed on."""

import copy
import random
import sys
import unittest

from reference import ReferenceTest
from training import tool

COUNT, FIRST = 4, 1


class Part:
    """What a random model is made of. Each part keeps (rows, WIDTH)."""

    WIDTH = 6

    @staticmethod
    def all_of(torch):
        nn = torch.nn

        class Linear(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(Part.WIDTH, Part.WIDTH)

            def forward(self, x):
                return torch.tanh(self.layer(x))

        class Frozen(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(Part.WIDTH), requires_grad=False)
                codes = torch.randint(-4, 4, (Part.WIDTH,), dtype=torch.int8)
                self.codes = nn.Parameter(codes, requires_grad=False)

            def forward(self, x):
                return x + self.weight * self.codes.to(x.dtype) * 0.1

        class Unused(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(Part.WIDTH, 3)
                self.register_buffer("note", torch.arange(3))

            def forward(self, x):
                return x

        class Normed(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(Part.WIDTH)

            def forward(self, x):
                return torch.sigmoid(self.norm(x)) + x  # the bias before it has a gradient

        class LayerNormed(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.LayerNorm(Part.WIDTH)

            def forward(self, x):
                return torch.tanh(self.norm(x) + x)

        class Watched(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
                self.register_buffer("most", torch.full((Part.WIDTH,), float("-inf")))
                self.register_buffer("mean", torch.zeros(Part.WIDTH), persistent=False)

            def forward(self, x):
                self.calls.add_(1)
                seen = x.detach()
                self.most.copy_(torch.maximum(self.most, seen.amax(0)))
                self.mean.mul_(0.9).add_(seen.mean(0) * 0.1)
                return x - self.mean

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mask", torch.rand(Part.WIDTH) < 0.7)
                self.register_buffer("scale", torch.rand(()) + 0.5)
                self.register_buffer("order", torch.randperm(Part.WIDTH), persistent=False)

            def forward(self, x):
                return x.masked_fill(~self.mask, 0.0).index_select(1, self.order) * self.scale

        class Scalar(nn.Module):
            def __init__(self):
                super().__init__()
                self.gain = nn.Parameter(torch.tensor(0.5))

            def forward(self, x):
                return x + self.gain * torch.sin(x)

        class Dropped(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(Part.WIDTH, Part.WIDTH, bias=False)
                self.drop = nn.Dropout(0.2)

            def forward(self, x):
                return self.drop(torch.tanh(self.layer(x)))

        return [Linear, Frozen, Unused, Normed, LayerNormed, Watched, Masked, Scalar, Dropped]

    @staticmethod
    def model(draw):
        """(module, samples, whether it can only be traced)"""
        import torch

        torch.manual_seed(draw.randrange(1 << 30))
        parts = Part.all_of(torch)
        chosen = [draw.choice(parts)() for _ in range(draw.randint(2, 6))]
        # A part that is used twice, and one weight under two names.
        again = draw.random() < 0.4
        tied = draw.random() < 0.4
        looks_up = draw.random() < 0.5

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(9, Part.WIDTH)
                self.enter = torch.nn.Linear(Part.WIDTH, Part.WIDTH)
                self.parts = torch.nn.Sequential(*chosen)
                self.head = torch.nn.Linear(Part.WIDTH, 9, bias=False)
                if tied:
                    self.head.weight = self.embed.weight

        class OfTokens(Model):
            def forward(self, ids, labels):
                x = self.parts(self.enter(self.embed(ids)))
                return torch.nn.functional.cross_entropy(self.head(x), labels)

        class OfTokensAgain(Model):
            def forward(self, ids, labels):
                x = self.parts(self.parts(self.enter(self.embed(ids))))
                return torch.nn.functional.cross_entropy(self.head(x), labels)

        class OfNumbers(Model):
            def forward(self, x, y):
                return torch.nn.functional.mse_loss(self.head(self.parts(self.enter(x))), y)

        if looks_up:
            samples = {"ids": torch.randint(0, 9, (20,)), "labels": torch.randint(0, 9, (20,))}
            model = OfTokensAgain() if again else OfTokens()
        else:
            samples = {"x": torch.randn(20, Part.WIDTH), "y": torch.randn(20, 9)}
            model = OfNumbers()
        return model.train(), samples


class RandomModels(ReferenceTest):
    ROWS = 5

    def plan(self, draw, name):
        """A plan of the model in place of the roomy one."""
        search = ["--profile", f"{name}.profile.json", "--hardware", self.shared / "hardware.json",
                  "--host-memory", "2GiB", "--arithmetic", "as-eager", "--strategy",
                  draw.choice(["optimal", "optimal", "minimum-waste", "simple", "elixir"])]
        if draw.random() < 0.5:
            search += ["--recompute", draw.choice(["none", "blocks", "elementwise"])]
        if draw.random() < 0.5:
            search += ["--offload", draw.choice(["none", "all"])]
        if draw.random() < 0.5:
            search += ["--clip-norm", 0]
        none = tool("ELIXIR_SEARCH", *search, "--gpu-memory", "1024B", "-o", "none.json", "--force",
                    cwd=self.directory, code=1)
        least = none["minimum_gpu_memory_bytes"] or (1 << 30)
        memory = draw.choice([least, least + (least >> 3), 1 << 30])
        tool("ELIXIR_SEARCH", *search, "--gpu-memory", f"{memory}B", "-o", f"{name}.json",
             "--force", cwd=self.directory)
        return search

    def test_state_and_losses_are_those_of_pytorch(self):
        for seed in range(FIRST, FIRST + COUNT):
            draw = random.Random(seed)
            model, samples = Part.model(draw)
            with self.subTest(seed=seed, parts=[type(p).__name__ for p in model.parts]):
                self.expect_same_training(f"model-{seed}", copy.deepcopy(model), samples,
                                          script=draw.random() < 0.4,
                                          replan=lambda name: self.plan(draw, name))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[-1].isdigit():
        FIRST = int(sys.argv.pop())
        COUNT = int(sys.argv.pop())
    unittest.main()
