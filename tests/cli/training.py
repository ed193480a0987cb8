# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""What the tests of elixir-train share: a tiny model with tied weights, dropout and running
statistics, text, and plans for it, made by the real tools."""
import atexit
import fcntl
import functools
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from harness import ToolTest, clean_environment

ROWS, TOKENS = 2, 16


def tiny_model(vocabulary=256, hidden=24, layers=3, device="cpu"):
    import torch

    class Block(torch.nn.Linear):
        def forward(self, x):
            return x + torch.nn.functional.dropout(torch.nn.functional.gelu(super().forward(x)),
                                                   0.1, self.training)

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.wte = torch.nn.Embedding(vocabulary, hidden)
            self.blocks = torch.nn.ModuleList(Block(hidden, hidden) for _ in range(layers))
            self.running = torch.nn.BatchNorm1d(hidden)
            self.norm = torch.nn.LayerNorm(hidden)
            self.head = torch.nn.Linear(hidden, vocabulary, bias=False)
            self.head.weight = self.wte.weight

        def forward(self, input_ids):
            x = self.wte(input_ids)
            for block in self.blocks:
                x = block(x)
            x = self.running(x.reshape(-1, x.shape[-1])).reshape(x.shape)
            logits = self.head(self.norm(x))
            return torch.nn.functional.cross_entropy(
                logits[:, :-1].reshape(-1, logits.shape[-1]), input_ids[:, 1:].reshape(-1)
            )

    torch.manual_seed(1)
    with torch.device(device):
        return Tiny().train()


def save_traced(model, path):
    import torch

    ids = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
    device = next(model.parameters()).device
    torch.jit.trace(model, ids.to(device), check_trace=False).save(str(path))


def lines_in(path):
    """How many a file has that another process writes, or removes: 0 where there is none."""
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def text(seed, words):
    chosen = random.Random(seed)
    vocabulary = ["".join(chosen.choices("abcdefgh", k=chosen.randint(2, 5))) for _ in range(40)]
    return " ".join(chosen.choices(vocabulary, k=words)).encode()


def envelope(name, *arguments, cwd, code=0):
    """Runs another tool of the pipeline; what it prints under --json: document and diagnostics."""
    process = subprocess.run(
        [os.environ[name], "--json", *map(str, arguments)],
        cwd=cwd, env=clean_environment(OMP_NUM_THREADS="1"), capture_output=True, timeout=120,
    )
    if process.returncode != code:
        raise AssertionError(f"{name} {arguments}: {process.returncode}\n{process.stderr.decode()}")
    return json.loads(process.stdout)


def tool(name, *arguments, cwd, code=0):
    """Its JSON document."""
    return envelope(name, *arguments, cwd=cwd, code=code)["document"]


@functools.lru_cache(maxsize=None)
def shared_directory():
    """Model, text, this machine's figures and plans: roomy.json (everything on the device),
    tight.json (under the smallest device budget that any plan fits), elementwise.json and
    blocks.json (roomy, with activations recomputed), fused.json and fused-tight.json (with a fused
    loss; the others are as eager). A copy for this process. The original is made by the real tools
    and kept beside the build until one of them is another: five tests need it, and two may begin at
    once."""
    root = pathlib.Path(os.environ["ELIXIR_SHARED_TRAINING"])
    made_by = [pathlib.Path(os.environ[name]) for name
               in ("ELIXIR_PROFILE", "ELIXIR_BENCH", "ELIXIR_SEARCH")] + [pathlib.Path(__file__)]
    made_by += pathlib.Path(os.environ["ELIXIR_LIBRARIES"]).glob("libelixir*.so")
    state = json.dumps([[str(path), path.stat().st_mtime_ns] for path in sorted(made_by)])
    root.mkdir(parents=True, exist_ok=True)
    with open(root / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        original, stamp = root / "files", root / "made-by.json"
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != state:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(original, ignore_errors=True)
            original.mkdir()
            make_shared(original)
            stamp.write_text(state, encoding="utf-8")
        shared = pathlib.Path(tempfile.mkdtemp(prefix="elixir-train-"))
        atexit.register(shutil.rmtree, shared, ignore_errors=True)
        return shutil.copytree(original, shared, dirs_exist_ok=True)


def make_shared(shared):
    (shared / "text.txt").write_bytes(text(1, 4000))
    (shared / "held-out.txt").write_bytes(text(1, 4400)[-1500:])
    save_traced(tiny_model(), shared / "model.pt")
    tool("ELIXIR_PROFILE", "model.pt", "--target", "cpu", "-o", "profile.json", cwd=shared)
    # The operators' workspaces are part of the device's peak: they are measured, not guessed.
    tool("ELIXIR_BENCH", "--quick", "--device", "cpu", "--operators", "profile.json", "-o",
         "hardware.json", cwd=shared)
    fused = ["--profile", "profile.json", "--hardware", "hardware.json", "--host-memory", "1GiB"]
    search = [*fused, "--arithmetic", "as-eager"]
    tool("ELIXIR_SEARCH", *search, "--gpu-memory", "256MiB", "-o", "roomy.json", cwd=shared)
    no = tool("ELIXIR_SEARCH", *search, "--gpu-memory", "1024B", "-o", "none.json", cwd=shared,
              code=1)
    least = no["minimum_gpu_memory_bytes"]
    tool("ELIXIR_SEARCH", *search, "--gpu-memory", f"{least}B", "-o", "tight.json", cwd=shared)
    for choice in ("elementwise", "blocks"):
        words = ["--gpu-memory", "256MiB", "--recompute", choice, "-o", f"{choice}.json"]
        tool("ELIXIR_SEARCH", *search, *words, cwd=shared)
    tool("ELIXIR_SEARCH", *fused, "--gpu-memory", "256MiB", "-o", "fused.json", cwd=shared)
    no = tool("ELIXIR_SEARCH", *fused, "--gpu-memory", "1024B", "-o", "none.json", cwd=shared,
              code=1)
    least = no["minimum_gpu_memory_bytes"]
    tool("ELIXIR_SEARCH", *fused, "--gpu-memory", f"{least}B", "-o", "fused-tight.json", cwd=shared)


class TrainTest(ToolTest):
    """Runs elixir-train on the tiny model; `self.shared` is shared_directory()."""

    tool = "ELIXIR_TRAIN"
    shared = None

    @classmethod
    def setUpClass(cls):
        cls.shared = shared_directory()

    def plan(self, name="tight", **changes):
        """A copy of a plan in the test's directory, with members replaced
        ("budgets.host_memory_bytes")."""
        document = json.loads((self.shared / f"{name}.json").read_text())
        for path, value in changes.items():
            *parents, last = path.split("__")
            record = document
            for key in parents:
                record = record[key]
            record[last] = value
        path = self.directory / "changed-plan.json"
        path.write_text(json.dumps(document))
        return path

    def flags(self, plan="tight", **extra):
        """Command line of a short run; keyword arguments become flags, a list one for each,
        None none."""
        values = {
            "plan": self.shared / f"{plan}.json" if isinstance(plan, str) else plan,
            "model": self.shared / "model.pt",
            "data": self.shared / "text.txt",
            "steps": 5,
            "lr": 0.01,
            "output": "run",
        }
        values.update(extra)
        words = []
        for name, value in values.items():
            if value is None or value is False:
                continue
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}"] + ([] if each is True else [each])
        return words

    # One thread: the same bits hold for one thread count only.
    def run_tool(self, *arguments, env=None, **options):
        return super().run_tool(*arguments, env=env or clean_environment(OMP_NUM_THREADS="1"),
                                **options)

    def start(self, *arguments, env=None):
        return super().start(*arguments, env=env or clean_environment(OMP_NUM_THREADS="1"))

    def metrics(self, run="run"):
        lines = (self.directory / run / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def exported(self, *arguments, name="out.safetensors", **options):
        """Bytes of the model that a successful run exports."""
        self.succeeds(*arguments, "--export", name, **options)
        return (self.directory / name).read_bytes()


if __name__ == "__main__":
    unittest.main()
