# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Kill -9 at uniformly random moments of a run that writes a checkpoint after every step, and inside checkpoint writes;
resume; finish: the exported weights are, byte for byte, those of a run that nobody disturbed."""
import concurrent.futures
import os
import random
import signal
import subprocess
import time
import unittest

from harness import clean_environment
from training import TrainTest

STEPS = 60
RANDOM_KILLS = 10
KILLS_IN_WRITES = 2


class Kill(TrainTest):
    def launch(self, name, resume):
        words = ["--resume", name] if resume else self.flags(
            steps=STEPS, checkpoint_every=1, output=name, export=f"{name}.safetensors", lr_schedule="cosine", warmup_steps=5
        )
        return subprocess.Popen(
            [self.binary, "-q", *map(str, words)],
            cwd=self.directory,
            env=clean_environment(OMP_NUM_THREADS="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def finish(self, process):
        _, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, error.decode())

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)

    def resume_and_finish(self, name):
        # Killed before config.json was there, nothing was begun: the same command starts the run.
        begun = (self.directory / name / "config.json").exists()
        self.finish(self.launch(name, resume=begun))
        return (self.directory / f"{name}.safetensors").read_bytes()

    def test_ten_of_ten_random_kills_and_kills_inside_checkpoint_writes(self):
        begin = time.monotonic()
        self.finish(self.launch("undisturbed", resume=False))
        duration = time.monotonic() - begin
        expected = (self.directory / "undisturbed.safetensors").read_bytes()
        moments = [random.Random(seed).uniform(0, duration) for seed in range(RANDOM_KILLS)]

        def random_kill(number):
            process = self.launch(f"random-{number}", resume=False)
            try:
                process.wait(timeout=moments[number])
            except subprocess.TimeoutExpired:
                pass
            self.kill(process)
            return self.resume_and_finish(f"random-{number}")

        def kill_in_write(number):
            """Kills while a checkpoint is being written, twice in one run."""
            name = f"write-{number}"
            chosen = random.Random(number)
            for resume in (False, True):
                process = self.launch(name, resume)
                directory = self.directory / name / "checkpoints"
                skip = chosen.randint(1, 10)
                seen = set()
                while process.poll() is None and len(seen) < skip:
                    try:
                        seen |= {e for e in os.listdir(directory) if e.startswith(".unfinished-")}
                    except FileNotFoundError:
                        time.sleep(0.01)
                self.kill(process)
                left = [e for e in os.listdir(directory) if e.startswith(".")]
                hit.append(bool(left))
            return self.resume_and_finish(name)

        hit = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(random_kill, range(RANDOM_KILLS))) + list(pool.map(kill_in_write, range(KILLS_IN_WRITES)))
        self.assertEqual([result == expected for result in results], [True] * (RANDOM_KILLS + KILLS_IN_WRITES))
        self.assertTrue(any(hit), "no kill fell into a checkpoint write")


if __name__ == "__main__":
    unittest.main()
