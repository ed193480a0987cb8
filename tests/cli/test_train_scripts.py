# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train with scripted modules: they act as in PyTorch, or are refused; an exported archive
is the trained module."""

import unittest
from typing import Dict, List

import torch
from reference import ReferenceTest
from torch import nn
from torch.nn import functional
from training import envelope


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 6)


class InList(Base):
    kept: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = [torch.zeros(4, 6)]

    def forward(self, x, y):
        out = self.a(x) + self.kept[0]
        self.kept[0] = out.detach()
        return functional.mse_loss(out, y)


class Appended(Base):
    kept: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, x, y):
        out = self.a(x)
        self.kept.append(out.detach())
        return functional.mse_loss(out * float(len(self.kept)), y)


class InDict(Base):
    kept: Dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = {}

    def forward(self, x, y):
        out = self.a(x)
        if "last" in self.kept:
            out = out + self.kept["last"]
        self.kept["last"] = out.detach()
        return functional.mse_loss(out, y)


class Numbers(Base):
    kept: List[float]

    def __init__(self):
        super().__init__()
        self.kept = [1.0]

    def forward(self, x, y):
        self.kept[0] *= 1.5
        return functional.mse_loss(self.a(x) * self.kept[0], y)


class Held(nn.Module):
    kept: torch.Tensor

    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(4, 6)

    def forward(self, x):
        return x + self.kept


class TwoOfOneClass(Base):
    def __init__(self):
        super().__init__()
        self.one, self.two = Held(), Held()

    def forward(self, x, y):
        self.one.kept = x
        out = self.two(self.a(self.one(x)))
        self.two.kept = out.detach()
        return functional.mse_loss(out, y)


class InOneBranch(Base):
    kept: torch.Tensor

    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(4, 6)

    def forward(self, x, y):
        if x.size(0) != 4:
            self.kept = torch.zeros_like(x)
        out = self.a(x) + self.kept
        self.kept = out.detach()
        return functional.mse_loss(out, y)


class NamedAsBatchNorms(Base):
    num_batches_tracked: int

    def __init__(self):
        super().__init__()
        self.num_batches_tracked = 0

    def forward(self, x, y):
        self.num_batches_tracked += 1
        return functional.mse_loss(self.a(x) * float(self.num_batches_tracked), y)


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x + self.kept
        self.kept = out.detach()
        return out


class ByInterface(Base):
    layer: Layer

    def __init__(self):
        super().__init__()
        self.layer = Keeps()

    def forward(self, x, y):
        return functional.mse_loss(self.layer.forward(self.a(x)), y)


class AssignsBuffer(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 6))

    def forward(self, x, y):
        out = self.a(x)
        self.kept = out.detach()
        return functional.mse_loss(out, y)


class Scratch(Base):
    """An attribute that every step assigns before it reads it, in both branches."""

    kept: torch.Tensor

    def __init__(self):
        super().__init__()
        self.kept = torch.zeros(4, 6)

    def forward(self, x, y):
        if x.size(0) == 4:
            self.kept = self.a(x)
        else:
            self.kept = self.a(x) * 2
        return functional.mse_loss(self.kept, y)


class AsksForDevices(Base):
    def forward(self, x, y):
        out = self.a(x)
        if x.device.type == "cpu" and x.device == torch.device("cpu"):
            out = out * 3
        if self.a.weight.is_cpu and not x.is_cuda and not out.is_meta:
            out = out * 2
        return functional.mse_loss(out + torch.zeros(6, device=x.device), y)


class AsksForCuda(Base):
    def forward(self, x, y):
        out = self.a(x)
        if x.is_cuda and x.device.type == "cuda":
            out = torch.erfinv(out)
        return functional.mse_loss(out, y)


class Seeds(Base):
    def forward(self, x, y):
        torch.manual_seed(7)
        return functional.mse_loss(functional.dropout(self.a(x), 0.5, True), y)


class Viewed(Base):
    def __init__(self):
        super().__init__()
        self.w = self.a.weight.detach()

    def forward(self, x, y):
        return functional.mse_loss(torch.tanh(self.a(x)) @ self.w, y)


class Overlapping(Base):
    def __init__(self):
        super().__init__()
        base = torch.ones(10)
        self.register_buffer("front", base[:6])
        self.register_buffer("back", base[4:])

    def forward(self, x, y):
        self.front.mul_(0.9)
        return functional.mse_loss(self.a(x) * self.back, y)


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.layer = cell(6, 6, batch_first=True)

    def forward(self, x, y):
        return functional.mse_loss(self.layer(x.unsqueeze(0))[0].squeeze(0), y)


class Scripts(ReferenceTest):
    ROWS = 4
    INPUTS = ("--input", "x:float32[4,6]", "--input", "y:float32[4,6]")

    def setUp(self):
        super().setUp()
        torch.manual_seed(3)
        self.samples = {"x": torch.randn(16, 6), "y": torch.randn(16, 6)}

    def profiled(self, model, target="cpu", code=0):
        torch.jit.save(torch.jit.script(model), str(self.directory / "script.pt"))
        return envelope("ELIXIR_PROFILE", "script.pt", "--target", target, *self.INPUTS, "-o",
                        "x.json", "--force", cwd=self.directory, code=code)

    def test_state_that_no_buffer_keeps_is_refused(self):
        for model, attribute in (
            (InList(), "kept"),
            (Appended(), "kept"),
            (InDict(), "kept"),
            (Numbers(), "kept"),
            (TwoOfOneClass(), "kept"),
            (InOneBranch(), "kept"),
            (NamedAsBatchNorms(), "num_batches_tracked"),
            (ByInterface(), "kept"),
            (AssignsBuffer(), "kept"),
        ):
            with self.subTest(model=type(model).__name__):
                no = self.profiled(model, code=2)["diagnostics"][0]
                self.assertEqual(no["code"], "EX0311")
                self.assertRegex(no["message"], f"forward (assigns|changes).* `{attribute}`")

    def test_what_a_step_assigns_before_it_reads_it_trains(self):
        self.expect_same_training("scratch", Scratch(), self.samples, script=True)

    def test_devices_are_those_of_the_target(self):
        self.expect_same_training("devices", AsksForDevices(), self.samples, script=True)
        for target, asks in (("cpu", False), ("cuda:sm_90", True)):
            operators = self.profiled(AsksForCuda(), target)["document"]
            profile = (self.directory / "x.json").read_text()
            self.assertEqual("aten::erfinv" in profile, asks, operators)

    def test_a_seed_of_its_own_is_refused(self):
        no = self.profiled(Seeds(), code=2)["diagnostics"][0]
        self.assertIn("aten::manual_seed", no["message"])

    def test_an_exported_archive_is_the_trained_module(self):
        """Also where lists, attributes and other buffers hold the same memory."""
        first = [x[:4] for x in self.samples.values()]
        for name, model in (
            ("viewed", Viewed()),
            ("overlapping", Overlapping()),
            ("lstm", Recurrent(nn.LSTM)),
            ("gru", Recurrent(nn.GRU)),
        ):
            with self.subTest(model=name):
                flags = self.saved(name, model, self.samples, script=True)
                self.succeeds(*self.flags(**flags), "--export", f"{name}.out.pt")
                trained = torch.jit.load(str(self.directory / f"{name}.pt"))
                self.by_torch(trained, self.samples)
                torch.jit.save(trained, str(self.directory / "torch.pt"))
                expected = torch.jit.load(str(self.directory / "torch.pt"))
                exported = torch.jit.load(str(self.directory / f"{name}.out.pt"))
                for _ in range(2):  # the second shows what the first has changed
                    self.assertAlmostEqual(float(exported(*first).detach()),
                                           float(expected(*first).detach()), delta=3e-6)
                # And a model like any other.
                envelope("ELIXIR_PROFILE", f"{name}.out.pt", "--target", "cpu", *self.INPUTS,
                         "-o", "again.json", "--force", cwd=self.directory)

    def test_lazy_bits_are_refused(self):
        class Lazy(Base):
            def __init__(self, lazy):
                super().__init__()
                self.register_buffer("lazy", lazy)

            def forward(self, x, y):
                out = self.a(x) + torch.view_as_real(self.lazy.resolve_conj())[:, 0]
                return functional.mse_loss(out, y)

        value = torch.randn(6, dtype=torch.complex64)
        no = self.profiled(Lazy(value.conj()), code=2)["diagnostics"][0]
        self.assertEqual(no["code"], "EX0311")
        self.assertIn("buffer `lazy` is a lazy conjugate of its memory", no["message"])

    def test_a_loss_of_two_shapes_is_refused(self):
        class Logits(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(6, 1)

            def forward(self, x, y):
                return self.a(x)

        torch.jit.trace(Logits(), (torch.randn(4, 6), torch.randn(4)), check_trace=False).save(
            str(self.directory / "logits.pt"))
        no = envelope("ELIXIR_PROFILE", "logits.pt", "--target", "cpu", "--loss", "mse", "-o",
                      "x.json", cwd=self.directory, code=2)
        self.assertIn("--loss mse: the output is Float [4, 1], the last input is Float [4]",
                      no["diagnostics"][0]["message"])


if __name__ == "__main__":
    unittest.main()
