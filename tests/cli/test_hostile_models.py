# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Models that reach out of their box: each meets a diagnostic or gets an honest profile, with and
without a sandbox. No signal reaches the user, no file appears, nothing waits for ever."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import torch
from torch import nn

from harness import ToolTest


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))
        self.index = torch.arange(4)
        self.many = torch.arange(20000)
        self.numbers = torch.arange(4).float()


class Leak(Base):
    """Tells an address of the process by the sizes of tensors."""

    def forward(self, x):
        beyond = torch.ops.aten._reshape_alias(self.index, [1 << 20], [1])
        words = torch.take(beyond, self.many)
        addresses = (words > (1 << 46)) & (words < (1 << 47))
        largest = int((words * addresses.long()).max().item())
        return (x @ self.weight).sum() + torch.zeros([largest % 65536 + 1]).sum()


class Poke(Base):
    """Overwrites 160 KB of the heap."""

    def forward(self, x):
        beyond = torch.ops.aten._reshape_alias(self.index, [1 << 20], [1])
        beyond.index_fill_(0, self.many, 0x4141414141414141)
        return (x @ self.weight).sum() + torch.zeros([4]).sum()


class Copy(Base):
    def forward(self, x):
        beyond = torch.ops.aten._reshape_alias_copy(self.numbers, [1 << 26], [1])
        return (x @ self.weight).sum() + float(beyond[0].item())


class Indices(Base):
    def forward(self, x):
        found = torch.ops.aten._convert_indices_from_csr_to_coo(
            self.index * 0 + (1 << 30), self.index, out_int32=False, transpose=False
        )
        return (x @ self.weight).sum() + found.sum()


class ReadsFile(Base):
    def forward(self, x):
        secret = torch.from_file("/etc/passwd", False, 8, dtype=torch.uint8)
        return (x @ self.weight).sum() + float(secret.sum().item())


class SavesFile(Base):
    def forward(self, x):
        torch.save(self.numbers, "pwned")
        return (x @ self.weight).sum()


class ReachesBeyondStepData(Base):
    def forward(self, x):
        beyond = torch.ops.aten._reshape_alias(x, [1 << 22], [1])
        return (x @ self.weight).sum() + beyond.mul(0.0).sum()


class WritesBeyondStepData(Base):
    def forward(self, x):
        beyond = torch.ops.aten._reshape_alias(x.clone(), [1 << 24], [1])
        beyond.fill_(1.5)
        return (x @ self.weight).sum() + beyond.sum() * 0.0


class Divides(Base):
    def forward(self, x):
        return (x @ self.weight).sum() + torch.zeros([1 // (x.size(0) - 4)]).sum()


class Recurses(Base):
    def forward(self, x):
        return self.again(x)

    def again(self, x):
        return (x @ self.weight).sum()


class Endless(Base):
    def forward(self, x):
        n = 0
        while n >= 0:
            n += 1
        return (x @ self.weight).sum()


class Hoards(Base):
    def forward(self, x):
        kept = [torch.tensor(0)]
        for i in range(1 << 34):
            kept.append(self.many + i)
        return (x @ self.weight).sum() + kept[-1].sum()


class GrowsText(Base):
    def forward(self, x):
        text = "A text of some letters."
        for i in range(44):
            text = text + text
        return (x @ self.weight).sum() + float(len(text))


class Prints(Base):
    def forward(self, x):
        print("\x1b]0;evil\x07")
        return (x @ self.weight).sum()


class Raises(Base):
    def forward(self, x):
        raise RuntimeError("\x1b[31mevil\x1b]8;;http://evil\x07click")
        return (x @ self.weight).sum()


class Forks(Base):
    def forward(self, x):
        task = torch.jit.fork(torch.sum, x)
        return (x @ self.weight).sum() + torch.jit.wait(task)


class Honest(Base):
    def forward(self, x):
        return (x @ self.weight).sum()


INPUT = ("--input", "x:float32[4,4]", "--target", "cpu")
REFUSED = {
    Leak: "_reshape_alias",
    Poke: "_reshape_alias",
    Copy: "_reshape_alias_copy",
    Indices: "_convert_indices_from_csr_to_coo",
    ReadsFile: "from_file",
    SavesFile: "aten::save",
    ReachesBeyondStepData: "beyond its storage",
    WritesBeyondStepData: "beyond its storage",
    Divides: "zero",
    Raises: "evil",
}


class HostileModels(ToolTest):
    tool = "ELIXIR_PROFILE"

    @classmethod
    def setUpClass(cls):
        cls.models = pathlib.Path(tempfile.mkdtemp(prefix="elixir-hostile-"))
        cls.addClassCleanup(shutil.rmtree, cls.models, ignore_errors=True)
        for kind in (*REFUSED, Recurses, Endless, Hoards, GrowsText, Prints, Forks, Honest):
            torch.jit.script(kind()).save(str(cls.models / f"{kind.__name__}.pt"))

    def path(self, kind):
        return self.models / f"{kind.__name__}.pt"

    def check_clean(self, result):
        self.assertNotIn("\x1b", result.out + result.err)
        self.assertFalse((self.directory / "pwned").exists())

    def test_each_is_refused_by_name(self):
        for sandbox in ("auto", "none"):
            for kind, says in REFUSED.items():
                with self.subTest(kind.__name__, sandbox=sandbox):
                    result = self.run_tool(self.path(kind), *INPUT, "--sandbox", sandbox)
                    self.assertEqual(result.code, 2, result.err)
                    self.assertIn(says, result.err)
                    self.check_clean(result)
                    self.assertFalse(list(self.directory.glob("*.json")))

    def test_what_only_looks_bad_is_profiled_like_an_honest_model(self):
        honest = self.envelope(self.path(Honest), *INPUT, "-o", "honest")["document"]
        for kind in (Prints, Forks, Recurses):
            with self.subTest(kind.__name__):
                result = self.run_tool(self.path(kind), *INPUT, "-o", kind.__name__)
                self.assertEqual(result.code, 0, result.err)
                self.check_clean(result)
        found = json.loads((self.directory / "Prints").read_text(encoding="utf-8"))
        self.assertEqual(found["model"]["fingerprint"], honest["fingerprint"])

    def test_time_and_memory_are_bounded(self):
        result = self.run_tool(self.path(Endless), *INPUT, "--model-time", "1")
        self.assertEqual(result.code, 2, result.err)
        self.assertIn("more than 1 s of processor time", result.err)
        for kind in (Hoards, GrowsText):
            with self.subTest(kind.__name__):
                result = self.run_tool(self.path(kind), *INPUT, "--model-memory", "256MiB")
                self.assertEqual(result.code, 2, result.err)
                self.assertIn("--model-memory", result.err)

    def test_a_sandbox_that_is_required_is_there_or_the_tool_says_so(self):
        result = self.run_tool(self.path(Honest), *INPUT, "--sandbox", "require")
        if result.code == 3:
            self.assertIn("EX0604", result.err)
            self.skipTest("this kernel cannot restrict a process")
        self.assertEqual(result.code, 0, result.err)
        self.assertNotIn("sandbox", result.err)

    def test_the_process_alone_loads_libtorch(self):
        linked = subprocess.run(["ldd", self.binary], capture_output=True, text=True, check=True)
        self.assertNotIn("libtorch", linked.stdout)
        self.assertIn("libelixir-plan", linked.stdout)


if __name__ == "__main__":
    unittest.main()
