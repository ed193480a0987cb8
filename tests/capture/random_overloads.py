# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Random overloads of LibTorch with random arguments on real constants, in scripted models that
elixir-profile reads. Whatever a call does to the process that reads it, elixir-profile must end
with exit code 0 or 2 and say why. Not a test of every build; run it by hand:

    random_overloads.py ELIXIR_PROFILE [--seconds 3600] [--seed 1] [--sandbox auto]

Prints what came of the calls, and every model that ended otherwise."""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import torch

NUMBERS = [-1, 0, 0, 1, 1, 2, 3, 4, 7, 100, 2**31, 2**63 - 1]
TENSORS = ["self.ints", "self.floats", "self.matrix", "self.flags", "self.none"]


def listed(draw, most, values):
    return "[" + ", ".join(str(draw.choice(values)) for _ in range(draw.randint(1, most))) + "]"


def literal(draw, kind):
    """An argument of a schema's type, as TorchScript; None: this type cannot be written."""
    kind = str(kind)
    optional = kind.startswith("Optional[")
    if optional:
        if draw.random() < 0.5:
            return "None"
        kind = kind[len("Optional[") : -1]
    if kind == "Tensor":
        return draw.choice(TENSORS)
    if kind == "List[Tensor]":
        return listed(draw, 3, TENSORS)
    if kind == "int":
        return str(draw.choice(NUMBERS))
    if kind in ("float", "number"):
        return draw.choice(["-1.0", "0.0", "0.5", "1.0", "1e30"])
    if kind == "bool":
        return draw.choice(["True", "False"])
    if kind == "List[int]":
        return listed(draw, 4, NUMBERS)
    if kind == "List[float]":
        return listed(draw, 3, ["0.5", "2.0"])
    if kind == "List[bool]":
        return listed(draw, 3, ["True", "False"])
    return None


def overloads():
    """(name, overload, schema) of every operator of aten."""
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            yield schema


def call_of(draw, schema):
    words = []
    for argument in schema.arguments:
        if argument.has_default_value() and draw.random() < 0.7:
            if argument.kwarg_only:
                continue
        text = literal(draw, argument.type)
        if text is None:
            if argument.has_default_value():
                continue
            return None
        words.append(f"{argument.name}={text}" if argument.kwarg_only else text)
    return f"torch.ops.aten.{schema.name[6:]}({', '.join(words)})"


def save(call, path):
    source = f"""
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 4))
        self.ints = torch.arange(4)
        self.floats = torch.arange(12).float()
        self.matrix = torch.arange(12).float().reshape(3, 4)
        self.flags = torch.tensor([True, False, True, True])
        self.none = torch.zeros(0)
    def forward(self, x):
        print({call})
        return (x @ self.weight).sum()
"""
    import linecache

    name = f"<{path}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {}
    exec(compile(source, name, "exec"), scope)
    torch.jit.script(scope["Net"]()).save(str(path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profile")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sandbox", default="auto")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    schemas = sorted(overloads(), key=str)
    outcomes = collections.Counter()
    bad = []
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.pt"
        while time.monotonic() < end:
            schema = draw.choice(schemas)
            call = call_of(draw, schema)
            if call is None:
                continue
            try:
                save(call, model)
            except Exception:  # TorchScript does not take it
                outcomes["not scriptable"] += 1
                continue
            run = subprocess.run(
                [options.profile, model, "--input", "x:float32[4,4]", "--target", "cpu"]
                + ["--sandbox", options.sandbox, "-o", "out.json", "--force", "-q"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=1200,
            )
            crash = re.search(r"ended the process that reads it by (\w+)", run.stderr)
            outcomes[f"crash {crash.group(1)}" if crash else f"exit {run.returncode}"] += 1
            if run.returncode not in (0, 2) or "error[EX09" in run.stderr:
                bad.append((call, run.returncode, run.stderr))
    print(dict(outcomes))
    for call, code, text in bad:
        print(f"{call}: {code}\n{text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
