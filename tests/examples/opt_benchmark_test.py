# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/opt_benchmark.sh: what it says without a GPU, and its table, of a tiny model on ranks of
the CPU."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "examples/opt_benchmark.sh"


class OptBenchmark(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-opt-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_script(self, *arguments, **environment):
        return subprocess.run(["bash", SCRIPT, *arguments, "--output", self.directory / "out"],
                              capture_output=True, text=True, timeout=280,
                              env={**os.environ, "OMP_NUM_THREADS": "1", **environment})

    def test_without_a_gpu_it_says_what_can_be_done(self):
        # `nvidia-smi` that knows of no GPU, as in a container without one.
        (self.directory / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
        (self.directory / "nvidia-smi").chmod(0o755)
        result = self.run_script(PATH=f"{self.directory}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn("no NVIDIA GPU", result.stderr)
        self.assertIn("--cpu", result.stderr)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
    def test_on_ranks_of_the_cpu_it_prints_a_row_for_every_strategy_and_number_of_ranks(self):
        result = self.run_script("--cpu", "--hardware", "cpu", "--steps", "3", "--gpus", "1 2")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        rows = [line.split()
                for line in result.stdout[result.stdout.index("corresponds to") :].splitlines()[1:]]
        self.assertEqual([(row[0], row[1], row[2]) for row in rows], [
            (strategy, plan, ranks)
            for strategy, plan in (("torch_ddp", "ddp"), ("torch_ddp_fp16", "zero"),
                                   ("low_level_zero", "zero"), ("gemini", "gemini"))
            for ranks in ("1", "2")
        ])
        for row in rows:
            self.assertTrue(all(float(value) > 0 for value in row[3:7]), row)
            self.assertGreater(float(row[8]), 5)
        # The same numbers under every plan of one dtype.
        losses = {(row[1], row[2]): row[8] for row in rows}
        self.assertEqual(losses["zero", "2"], losses["gemini", "2"])


if __name__ == "__main__":
    unittest.main()
