# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Kill -9 at random moments of a run, inside checkpoint writes, and while the disk is full; resume;
finish: the exported weights are, byte for byte, those of a run that nobody disturbed. Half of the
runs write a checkpoint after every step. The others write one after every fourth, and their steps
overlap: streams run beside each other, and updates beside the forward pass of the next step.

A number as argument, `meson test cli-kill --test-args 50`, is how many random kills there are;
every fifth is of a run whose disk fills up before."""
import collections
import concurrent.futures
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import unittest

from harness import clean_environment
from training import TrainTest

STEPS = 60
RANDOM_KILLS = 10
KILLS_IN_WRITES = 2
TIMES_FULL = 5  # one kill in so many finds the disk full


class Kill(TrainTest):
    def launch(self, name, resume, overlap=False):
        exports = ["--export", f"{name}.safetensors", "--force"]
        words = ["--resume", name, *exports] if resume else self.flags(
            steps=STEPS,
            checkpoint_every=4 if overlap else 1,
            clip_norm=1.0,
            output=name,
            export=f"{name}.safetensors",
            lr_schedule="cosine",
            warmup_steps=5,
        )
        lanes = {"ELIXIR_CPU_LANES": "1"} if overlap else {}
        return subprocess.Popen(
            [self.binary, "-q", *map(str, words)],
            cwd=self.directory,
            env=clean_environment(OMP_NUM_THREADS="1", **lanes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def finish(self, process):
        _, error = process.communicate(timeout=240)
        self.assertEqual(process.returncode, 0, error.decode())

    def kill(self, process):
        """Kills it; its exit code, or minus the signal, and its standard error."""
        process.send_signal(signal.SIGKILL)
        _, error = process.communicate(timeout=60)
        return process.returncode, error.decode()

    def wait(self, process, seconds):
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass

    def resume_and_finish(self, name, overlap=False):
        # Killed before config.json was there, nothing was begun: the same command starts the run.
        begun = (self.directory / name / "config.json").exists()
        self.finish(self.launch(name, begun, overlap))
        return (self.directory / f"{name}.safetensors").read_bytes()

    def seconds_of_steps(self, name):
        lines = (self.directory / name / "metrics.jsonl").read_text().splitlines()
        first, last = (json.loads(line)["time_ns"] for line in (lines[0], lines[-1]))
        return 1e-9 * (last - first)

    def state_of(self, name, code):
        """What a run was doing when it was killed."""
        if code == 0:
            return "at its end"
        metrics = self.directory / name / "metrics.jsonl"
        if not metrics.exists() or not metrics.stat().st_size:
            return "starting"
        checkpoints = os.listdir(self.directory / name / "checkpoints")
        return "writing a checkpoint" if any(e.startswith(".") for e in checkpoints) else "training"

    def random_kill(self, number, duration):
        """Most kills come after the start, which takes longer than the steps."""
        name, overlap, chosen = f"random-{number}", number % 2 == 1, random.Random(number)
        process = self.launch(name, resume=False, overlap=overlap)
        if chosen.random() < 0.8:
            metrics = self.directory / name / "metrics.jsonl"
            while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
                time.sleep(0.002)
            duration = self.steps_duration[overlap]
        self.wait(process, chosen.uniform(0, duration))
        code, _ = self.kill(process)
        self.states[self.state_of(name, code),
                    "overlapping steps" if overlap else "step by step"] += 1
        return self.resume_and_finish(name, overlap)

    def kill_with_a_full_disk(self, number, duration, largest_bytes):
        """No file may grow beyond a random size from a random moment on, as on a disk that fills
        up; the run is killed a little later, unless it has found out by then and said so. Twice,
        the second time as the run is resumed."""
        name = f"full-{number}"
        chosen = random.Random(f"full {number}")
        for resume in (False, True):
            begun = (self.directory / name / "config.json").exists()
            process = self.launch(name, resume=resume and begun)
            self.wait(process, chosen.uniform(0, duration))
            room = chosen.randrange(largest_bytes)
            try:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, room))
            except ProcessLookupError:
                pass  # it has finished
            self.wait(process, chosen.choice((0, 0.01, 0.03, 0.3)))
            code, error = self.kill(process)
            self.assertIn(code, (0, 4, -signal.SIGKILL), error)
            if code == 4:
                self.assertIn("error[EX0702]", error)
            self.ends.append(code)
        return self.resume_and_finish(name)

    def kill_in_write(self, number):
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
            self.hit.append(any(e.startswith(".") for e in os.listdir(directory)))
        return self.resume_and_finish(name)

    def test_every_killed_run_resumes_to_the_same_bits(self):
        begin = time.monotonic()
        self.finish(self.launch("undisturbed", resume=False))
        duration = time.monotonic() - begin
        self.finish(self.launch("overlapping", resume=False, overlap=True))
        self.steps_duration = [self.seconds_of_steps(name)
                               for name in ("undisturbed", "overlapping")]
        expected = (self.directory / "undisturbed.safetensors").read_bytes()
        largest = max(p.stat().st_size
                      for p in (self.directory / "undisturbed/checkpoints").glob("*/*"))
        self.assertEqual((self.directory / "overlapping.safetensors").read_bytes(), expected)
        self.hit, self.ends, self.states = [], [], collections.Counter()
        full = RANDOM_KILLS // TIMES_FULL
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(self.random_kill, n, duration) for n in range(RANDOM_KILLS - full)]
            jobs += [pool.submit(self.kill_with_a_full_disk, n, duration, largest)
                     for n in range(full)]
            results = [job.result() for job in jobs]
        results += [self.kill_in_write(n) for n in range(KILLS_IN_WRITES)]
        self.assertEqual([result == expected for result in results],
                         [True] * (RANDOM_KILLS + KILLS_IN_WRITES))
        self.assertTrue(any(self.hit), "no kill fell into a checkpoint write")
        print(
            f"{len(results)} killed runs resumed to the same bits; ends with a full disk: "
            f"{self.ends}", file=sys.stderr)
        for (state, kind), count in sorted(self.states.items()):
            print(f"random kills while {state}, {kind}: {count}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[-1].isdigit():
        RANDOM_KILLS = int(sys.argv.pop())
    unittest.main()
