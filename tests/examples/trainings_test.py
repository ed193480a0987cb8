# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/trainings.sh: what it says without a GPU, and one of its trainings, a tiny one on the
CPU, by Elixir and by PyTorch."""
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "examples/trainings.sh"


class Trainings(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-trainings-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_script(self, *arguments, **environment):
        return subprocess.run(["bash", SCRIPT, *arguments, "--output", self.directory / "out"],
                              capture_output=True, text=True, timeout=280,
                              env={**os.environ, "OMP_NUM_THREADS": "1", **environment})

    def test_what_cannot_be_done_is_said(self):
        # `nvidia-smi` that knows of no GPU, as in a container without one.
        (self.directory / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
        (self.directory / "nvidia-smi").chmod(0o755)
        result = self.run_script(PATH=f"{self.directory}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("no NVIDIA GPU", result.stderr)
        self.assertIn("--cpu", result.stderr)
        result = self.run_script("--cpu", "--only", "opt")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("no training `opt`", result.stderr)
        self.assertFalse((self.directory / "out").exists())

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_losses_are_those_of_pytorch(self):
        result = self.run_script("--cpu", "--only", "opt-350m", "--steps", "14")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        output = self.directory / "out"
        runs = json.loads((output / "trainings.json").read_text(encoding="utf-8"))
        runs = runs["parts"]["opt-350m"]["runs"]
        for name, most in (("fp16", 1e-3), ("bf16", 1e-2)):  # of roundings to the dtype
            elixir, torch = runs[name]["elixir"], runs[name]["torch"]
            self.assertEqual(len(elixir["loss"]), 14)
            for ours, theirs in zip(elixir["loss"], torch["loss"]):
                self.assertAlmostEqual(ours, theirs, delta=most * theirs)
            for key in ("loss_scale", "skipped_steps"):
                self.assertEqual(elixir[key], torch[key])
        self.assertGreaterEqual(len(runs["fp16"]["elixir"]["skipped_steps"]), 3)
        self.assertIn("</svg>", (output / "opt-350m.svg").read_text(encoding="utf-8"))
        self.assertIn("opt-350m fp16", result.stdout)


if __name__ == "__main__":
    unittest.main()
