# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train with several ranks on the CPU: the bits of one process, checkpoints for any number
of ranks, and what happens when a rank is killed or stopped."""
import functools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

from training import TrainTest, lines_in, shared_directory, tool


@functools.lru_cache(maxsize=None)
def plans():
    """roomy-N.json and tight-N.json for N ranks, replicas-N.json for N that hold two replicas of
    everything, alone-N.json for one with N micro-batches, and once-roomy.json and once-tight.json
    for two that add up gradients once a step."""
    shared = shared_directory()
    search = ["--profile", "profile.json", "--hardware", "hardware.json", "--host-memory", "4GiB",
              "--arithmetic", "as-eager"]
    for ranks in (2, 3):
        several = [*search, "--gpus", ranks]
        tool("ELIXIR_SEARCH", *several, "--gpu-memory", "256MiB", "-o", f"roomy-{ranks}.json",
             cwd=shared)
        no = tool("ELIXIR_SEARCH", *several, "--gpu-memory", "1024B", "-o", "none.json", cwd=shared,
                  code=1)
        least = f"{no['minimum_gpu_memory_bytes']}B"
        tool("ELIXIR_SEARCH", *several, "--gpu-memory", least, "-o", f"tight-{ranks}.json",
             cwd=shared)
        alone = [*search, "--accumulation-steps", ranks, "--gpu-memory", "256MiB"]
        tool("ELIXIR_SEARCH", *alone, "-o", f"alone-{ranks}.json", cwd=shared)
    once = [*search, "--gpus", 2, "--accumulation-steps", 3, "--reduce-per", "step"]
    tool("ELIXIR_SEARCH", *once, "--gpu-memory", "256MiB", "-o", "once-roomy.json", cwd=shared)
    no = tool("ELIXIR_SEARCH", *once, "--gpu-memory", "1024B", "-o", "none.json", cwd=shared,
              code=1)
    tool("ELIXIR_SEARCH", *once, "--gpu-memory", f"{no['minimum_gpu_memory_bytes']}B", "-o",
         "once-tight.json", cwd=shared)
    for ranks in (2, 4):
        several = [*search, "--gpus", ranks, "--gpu-memory", "256MiB"]
        tool("ELIXIR_SEARCH", *several, "--replicas", 2, "-o", f"replicas-{ranks}.json", cwd=shared)
    tool("ELIXIR_SEARCH", *several, "-o", "roomy-4.json", cwd=shared)


def parameters(exported):
    """The tensors of a safetensors file, without the running statistics, which are those of rank
    0's micro-batches."""
    length = int.from_bytes(exported[:8], "little")
    header = json.loads(exported[8 : 8 + length])
    data = exported[8 + length :]
    return {
        name: data[slice(*entry["data_offsets"])]
        for name, entry in header.items()
        if name != "__metadata__" and not name.startswith("running.")
        or name in ("running.weight", "running.bias")
    }


def ranks_of(process):
    """The processes that a run has started."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in children if reads_no_model(child)]


def reads_no_model(process_id):
    """Whether it is not the process that reads the model for a rank."""
    try:
        return pathlib.Path(f"/proc/{process_id}/comm").read_text().strip() != "elixir-capture"
    except FileNotFoundError:
        return False


def is_alive(process_id):
    try:
        return (pathlib.Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0]
                != "Z")
    except FileNotFoundError:
        return False


class RanksTest(TrainTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        plans()

    def start_run(self, plan="tight-3", steps=1_000_000, **extra):
        """A run after its first steps, and its other ranks."""
        process = self.start(*self.flags(plan, steps=steps, checkpoint_every=10, **extra))
        metrics = self.directory / "run/metrics.jsonl"
        deadline = time.monotonic() + 60
        while lines_in(metrics) < 15 and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "the run ended by itself")
            time.sleep(0.005)
        others = ranks_of(process)
        self.assertEqual(len(others), 2)
        return process, others

    def assert_ended(self, others):
        deadline = time.monotonic() + 10
        while any(is_alive(other) for other in others) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual([other for other in others if is_alive(other)], [])


class Bits(RanksTest):
    def test_are_those_of_one_process_with_as_many_micro_batches(self):
        for ranks in (2, 3):
            alone = self.exported(*self.flags(f"alone-{ranks}", output=f"alone{ranks}"),
                                  name=f"a{ranks}.safetensors")
            roomy = self.exported(*self.flags(f"roomy-{ranks}", output=f"roomy{ranks}"),
                                  name=f"r{ranks}.safetensors")
            tight = self.exported(*self.flags(f"tight-{ranks}", output=f"tight{ranks}"),
                                  name=f"t{ranks}.safetensors")
            self.assertEqual(parameters(roomy), parameters(alone))
            self.assertEqual(roomy, tight)
            losses = [[line["loss"] for line in self.metrics(f"{kind}{ranks}")]
                      for kind in ("alone", "roomy", "tight")]
            self.assertEqual(losses[0], losses[1])
            self.assertEqual(losses[0], losses[2])

    def test_are_the_same_with_several_replicas(self):
        for ranks in (2, 4):
            one = self.exported(*self.flags(f"roomy-{ranks}", output=f"one{ranks}"),
                                name=f"o{ranks}.safetensors")
            two = self.exported(*self.flags(f"replicas-{ranks}", output=f"two{ranks}"),
                                name=f"t{ranks}.safetensors")
            self.assertEqual(one, two)
            losses = [[line["loss"] for line in self.metrics(f"{kind}{ranks}")]
                      for kind in ("one", "two")]
            self.assertEqual(losses[0], losses[1])

    def test_are_the_same_when_gradients_are_added_up_once_a_step(self):
        roomy = self.exported(*self.flags("once-roomy", output="roomy"), name="roomy.safetensors")
        tight = self.exported(*self.flags("once-tight", output="tight"), name="tight.safetensors")
        self.assertEqual(roomy, tight)

    def test_replicas_resume_with_the_bits_of_an_uninterrupted_run(self):
        whole = self.exported(*self.flags("replicas-4", steps=7, output="whole"),
                              name="whole.safetensors")
        self.succeeds(*self.flags("replicas-4", steps=4, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 7, name="parts.safetensors")
        self.assertEqual(whole, parts)

    def test_held_out_data_is_evaluated_on_all(self):
        held_out = {"eval_data": self.shared / "held-out.txt", "eval_every": 2}
        self.succeeds(*self.flags("roomy-2", output="roomy", **held_out))
        self.succeeds(*self.flags("tight-2", output="tight", **held_out))
        values = [[line["held_out_loss"] for line in self.metrics(run)]
                  for run in ("roomy", "tight")]
        self.assertEqual(values[0], values[1])
        self.assertIsNotNone(values[0][1])

    def test_a_resumed_run_goes_on_as_if_nothing_had_happened(self):
        whole = self.exported(*self.flags("tight-2", steps=7, output="whole"),
                              name="whole.safetensors")
        self.succeeds(*self.flags("tight-2", steps=4, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 7, name="parts.safetensors")
        self.assertEqual(whole, parts)

    def test_a_checkpoint_goes_on_with_another_number_of_ranks(self):
        whole = self.exported(*self.flags("alone-2", steps=7, output="whole"),
                              name="whole.safetensors")
        for first, then in (("tight-2", "alone-2"), ("alone-2", "roomy-2")):
            run = f"from-{first}"
            self.succeeds(*self.flags(first, steps=4, output=run))
            plan = self.shared / f"{then}.json"
            parts = self.exported("--resume", run, "--steps", 7, "--plan", plan,
                                  name=f"{run}.safetensors")
            self.assertEqual(parameters(parts), parameters(whole))

    def test_what_is_predicted_is_what_runs(self):
        for plan in ("roomy-2", "tight-2"):
            result = self.succeeds(*self.flags(plan, output=plan))
            for words in ("critical path, measured: ", "critical path, rank 1: "):
                self.assertRegex(result.out, words + r"[a-z-]+ \d+ %")
            events = json.loads((self.directory / plan / "trace.json").read_text())["traceEvents"]
            names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
            self.assertEqual(sorted(names.values()), ["measured rank 0", "measured rank 1"])
            slices = [[(e["ts"], e["dur"]) for e in events if e["ph"] == "X" and e["pid"] == pid]
                      for pid in names]
            self.assertEqual(len(slices[0]), len(slices[1]))
            self.assertNotEqual(slices[0], slices[1])
            summary = json.loads((self.directory / plan / "summary.json").read_text())
            for figure in ("peak_device_bytes", "host_bytes", "traffic"):
                self.assertEqual(summary["measured"][figure], summary["predicted"][figure],
                                 (plan, figure))

    def test_elixir_train_predicts_what_the_search_has_predicted(self):
        for plan in ("roomy-2", "tight-3"):
            words = self.flags(plan, hardware=self.shared / "hardware.json", output=plan)
            predicted = self.envelope(*words, "--dry-run")["document"]["predicted"]
            by_search = json.loads((self.shared / f"{plan}.json").read_text())["predicted"]
            self.assertAlmostEqual(predicted["step_ns"], by_search["step_ns"], delta=1, msg=plan)

    def test_a_rank_that_is_stopped_for_a_while_changes_nothing(self):
        steps = 60
        calm = self.exported(*self.flags("tight-3", steps=steps, output="calm"),
                             name="calm.safetensors")
        process, others = self.start_run(steps=steps, export="stopped.safetensors")
        os.kill(others[0], signal.SIGSTOP)
        time.sleep(3)
        self.assertIsNone(process.poll(), "rank 0 waits")
        os.kill(others[0], signal.SIGCONT)
        _, error = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, error)
        self.assertEqual((self.directory / "stopped.safetensors").read_bytes(), calm)


class Failures(RanksTest):
    def test_a_killed_rank_is_named_and_the_last_checkpoint_stays(self):
        for which in (0, 1):
            process, others = self.start_run(output="run", force=which > 0)
            os.kill(others[which], signal.SIGKILL)
            _, error = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 4, error)
            self.assertIn(b"EX0707", error)
            self.assertIn(f"rank {which + 1} was ended by signal 9".encode(), error)
            self.assertIn(b"the checkpoint of step", error)
            self.assert_ended(others)
            newest = max(path.name for path in (self.directory / "run/checkpoints").iterdir())
            self.succeeds("--resume", "run", "--steps", int(newest.rsplit("-", 1)[1]) + 3)

    def test_a_rank_that_hangs_is_named(self):
        process, others = self.start_run()
        os.kill(others[1], signal.SIGSTOP)
        began = time.monotonic()
        _, error = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(process.returncode, 4, error)
        self.assertIn(b"rank 2 of 3: no sign of life for 10 s", error)
        self.assertIn(b"rank 2 still runs, and is ended", error)
        self.assert_ended(others)

    def test_when_rank_0_is_killed_the_others_end(self):
        process, others = self.start_run()
        process.kill()
        process.communicate(timeout=30)
        self.assert_ended(others)

    def test_ctrl_c_ends_all_with_a_checkpoint(self):
        process, others = self.start_run()
        for other in others:  # a terminal sends it to all
            os.kill(other, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, error)
        self.assert_ended(others)
        done = self.metrics()[-1]["step"]
        self.assertTrue((self.directory / f"run/checkpoints/step-{done:010}").is_dir())

    def test_what_a_rank_says_is_told(self):
        # Only the others read this variable; what is in it is not theirs.
        process = subprocess.run(
            [self.binary, *map(str, self.flags("tight-2"))],
            cwd=self.directory, env={**os.environ, "ELIXIR_RANK": "here"}, capture_output=True,
            timeout=60,
        )
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn(b"ELIXIR_RANK", process.stderr)


class KilledAnywhere(RanksTest):
    kills = 2

    def killed_run(self, chosen, name, calm_s):
        """A run of which a rank was killed at a random time; whether it had a directory by then."""
        process = self.start(*self.flags("tight-3", steps=40, checkpoint_every=4, output=name))
        time.sleep(chosen.uniform(0, 1.1 * calm_s))
        others = ranks_of(process) if process.poll() is None else []
        victims = [process.pid, *others]
        victim = chosen.choice(victims)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended meanwhile
        _, error = process.communicate(timeout=60)
        self.assert_ended(others)
        if victim != process.pid and process.returncode != 0:
            self.assertEqual(process.returncode, 4, error)
            self.assertIn(f"rank {victims.index(victim)} was ended by signal 9".encode(), error)
        return (self.directory / name / "config.json").exists()

    def test_runs_go_on_with_the_same_bits(self):
        chosen = random.Random(self.kills)
        began = time.monotonic()
        calm = self.exported(*self.flags("tight-3", steps=40, output="calm"),
                             name="calm.safetensors")
        calm_s = time.monotonic() - began
        for kill in range(self.kills):
            name = f"killed-{kill}"
            with self.subTest(kill=kill):
                if self.killed_run(chosen, name, calm_s):
                    again = ["--resume", name]
                else:
                    again = self.flags("tight-3", steps=40, output=name, force=True)
                self.assertEqual(self.exported(*again, name=f"{name}.safetensors"), calm)


if __name__ == "__main__":
    # meson test cli-ranks --test-args 100: so many kills.
    if len(sys.argv) > 1 and sys.argv[-1].isdigit():
        KilledAnywhere.kills = int(sys.argv.pop())
    unittest.main()
