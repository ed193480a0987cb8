# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""A run on two GPUs whose ranks are killed or stopped at random times: the others name the rank
within its time and end with exit code 4, and the run goes on with the bits of one that nothing
happened to, on two GPUs and on one. $ELIXIR_HURTS: so many times (5). Uses nothing of tests/cli
that needs jsonschema: a GPU machine may lack it."""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from ports import free_port

TIMES = int(os.environ.get("ELIXIR_HURTS", "5"))
STEPS = 60
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_", "SLURM_",
             "TORCHELASTIC_")


def gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                                capture_output=True,
                                text=True, timeout=30)
    except FileNotFoundError:
        return []
    return listed.stdout.split() if listed.returncode == 0 else []


class HurtRanks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        found = gpus()
        if len(found) < 2:
            raise unittest.SkipTest("there are not two GPUs")
        directory = tempfile.TemporaryDirectory(prefix="elixir-hurt-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        cls.model = pathlib.Path(os.environ["ELIXIR_TEST_MODELS"]) / "gpt2-no-dropout-bf16.pt"
        texts = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))[:40]
        (cls.directory / "text.txt").write_bytes(b"\n".join(text.read_bytes() for text in texts))
        target = f"cuda:sm_{found[0].replace('.', '')}"
        cls.tool("ELIXIR_PROFILE", cls.model, "--target", target, "--mode", "train", "-o",
                 "profile.json")
        search = ["--profile", "profile.json", "--hardware", "h200-x2", "--host-memory", "8GiB",
                  "--gpu-memory", "8GiB"]
        cls.tool("ELIXIR_SEARCH", *search, "--gpus", 2, "-o", "two.json")
        cls.tool("ELIXIR_SEARCH", *search, "--accumulation-steps", 2, "-o", "one.json")

    @classmethod
    def environment(cls, **variables):
        clean = {name: value
                 for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
        return clean | {name: str(value) for name, value in variables.items()}

    @classmethod
    def tool(cls, variable, *flags):
        done = subprocess.run([os.environ[variable], *map(str, flags)], cwd=cls.directory,
                              env=cls.environment(), capture_output=True, text=True, timeout=200)
        if done.returncode != 0:
            raise AssertionError(f"{variable} {flags}: exit code {done.returncode}\n{done.stderr}")

    @classmethod
    def flags(cls, plan, name):
        return ["--plan", plan, "--model", cls.model, "--data", "text.txt", "--mode", "train",
                "--device", "cuda", "--deterministic", "--steps", STEPS, "--checkpoint-every", 5,
                "-o", name]

    def exported(self, name, *flags):
        self.tool("ELIXIR_TRAIN", *flags, "--export", f"{name}.safetensors", "-q")
        return (self.directory / f"{name}.safetensors").read_bytes()

    def start_ranks(self, name):
        port, ranks = free_port(), []
        for rank in range(2):
            said = tempfile.TemporaryFile()
            self.addCleanup(said.close)
            process = subprocess.Popen(
                [os.environ["ELIXIR_TRAIN"], *map(str, self.flags("two.json", name))],
                cwd=self.directory,
                env=self.environment(RANK=rank, WORLD_SIZE=2, LOCAL_RANK=rank, LOCAL_WORLD_SIZE=2,
                                     MASTER_ADDR="localhost", MASTER_PORT=port,
                                     ELIXIR_CONNECT_SECONDS="10"),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
            process.said = said
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            ranks.append(process)
        return ranks

    def hurt_run(self, name, how, victim, after_s):
        """The rank that nothing was done to ends by itself and names the other, unless it was done
        before."""
        ranks = self.start_ranks(name)
        time.sleep(after_s)
        ranks[victim].send_signal(how)
        began = time.monotonic()
        try:
            code = ranks[1 - victim].wait(40)
        except subprocess.TimeoutExpired:
            ranks[1 - victim].said.seek(0)
            self.fail(
                f"{how.name} of rank {victim} after {after_s:.1f} s: rank {1 - victim} is still "
                f"there. It said:\n"
                + ranks[1 - victim].said.read().decode())
        took_s = time.monotonic() - began
        ranks[1 - victim].said.seek(0)
        said = ranks[1 - victim].said.read().decode()
        if code != 0:
            self.assertIn(code, (3, 4), said)
            self.assertEqual(said.count("error["), 1, said)
            self.assertRegex(said, rf"\brank {victim}\b|nobody answers", said)
            self.assertLess(took_s, 13, said)
        lost = re.search(r"rank \d lost rank \d of 2: .*", said)
        print(
            f"{name}: {how.name} of rank {victim} after {after_s:.1f} s: exit code {code} within "
            f"{took_s:.1f} s; "
            f"{lost.group() if lost else 'no step was lost'}", flush=True)
        ranks[victim].kill()
        ranks[victim].wait(30)

    def test_runs_go_on_with_the_same_bits(self):
        chosen = random.Random(TIMES)
        calm = self.exported("calm", *self.flags("two.json", "calm"))
        began = time.monotonic()
        for process in self.start_ranks("timed"):
            self.assertEqual(process.wait(120), 0)
        calm_s = time.monotonic() - began
        for number in range(TIMES):
            name = f"hurt-{number}"
            with self.subTest(number):
                self.hurt_run(name, (signal.SIGKILL, signal.SIGSTOP)[number % 2],
                              chosen.randrange(2), chosen.uniform(0.3, 0.85) * calm_s)
                again = self.flags("two.json", name) + ["--force"]
                if (self.directory / name / "config.json").exists():
                    again = ["--resume", name] + (["--plan", "one.json"] if number % 3 == 2 else [])
                self.assertEqual(self.exported(name, *again), calm)


if __name__ == "__main__":
    sys.exit(unittest.main())
