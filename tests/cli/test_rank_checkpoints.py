# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Checkpoints of elixir-train with several ranks on the CPU, of a model of which each rank holds a
part: restored by any number of ranks, damaged, and with a rank that cannot write or is killed
meanwhile."""
import functools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import unittest

from harness import schema
from test_ranks import parameters, ranks_of
from training import TrainTest, save_traced, shared_directory, text, tiny_model, tool

WORLDS = (1, 2, 3, 4)


@functools.lru_cache(maxsize=None)
def wide_directory():
    """A model of 570,000 parameters; world-N.json for N ranks, alone-N.json for one with N
    micro-batches."""
    wide = pathlib.Path(tempfile.mkdtemp(prefix="elixir-ranks-"))
    unittest.addModuleCleanup(shutil.rmtree, wide, ignore_errors=True)
    shutil.copy(shared_directory() / "hardware.json", wide)
    (wide / "text.txt").write_bytes(text(1, 4000))
    save_traced(tiny_model(vocabulary=4096, hidden=128), wide / "model.pt")
    tool("ELIXIR_PROFILE", "model.pt", "--target", "cpu", "-o", "profile.json", cwd=wide)
    search = ["--profile", "profile.json", "--hardware", "hardware.json", "--host-memory", "4GiB",
              "--gpu-memory", "1GiB", "--arithmetic", "as-eager"]
    for ranks in WORLDS:
        tool("ELIXIR_SEARCH", *search, "--gpus", ranks, "-o", f"world-{ranks}.json", cwd=wide)
        tool("ELIXIR_SEARCH", *search, "--accumulation-steps", ranks, "-o", f"alone-{ranks}.json",
             cwd=wide)
    return wide


class RankCheckpointTest(TrainTest):
    @classmethod
    def setUpClass(cls):
        cls.shared = wide_directory()

    def checkpoint(self, run="run", step=None):
        """The newest one, or that of a step."""
        all_ = sorted((self.directory / run / "checkpoints").glob("step-*"))
        return all_[-1] if step is None else self.directory / run / f"checkpoints/step-{step:010}"


class Restored(RankCheckpointTest):
    def test_by_any_number_of_ranks_with_the_same_bits(self):
        for first in WORLDS:
            saved = self.exported(*self.flags(f"world-{first}", steps=2, output=f"of-{first}"),
                                  name=f"of-{first}.safetensors")
            for then in WORLDS:
                run = f"{first}-by-{then}"
                shutil.copytree(self.directory / f"of-{first}", self.directory / run)
                words = ["--resume", run, "--steps", 2, "--plan",
                         self.shared / f"world-{then}.json"]
                self.assertEqual(self.exported(*words, name=f"{run}.safetensors"), saved, run)

    def test_by_as_many_ranks_as_if_nothing_had_happened(self):
        for world in (3, 4):  # test_ranks.py has two
            plan = f"world-{world}"
            whole = self.exported(*self.flags(plan, steps=5, output=f"whole-{world}"),
                                  name=f"w{world}.safetensors")
            self.succeeds(*self.flags(plan, steps=3, output=f"parts-{world}"))
            parts = self.exported("--resume", f"parts-{world}", "--steps", 5,
                                  name=f"p{world}.safetensors")
            self.assertEqual(parts, whole, world)

    def test_the_state_of_the_optimizer_goes_on_too(self):
        whole = self.exported(*self.flags("alone-4", steps=4, output="whole"),
                              name="whole.safetensors")
        for first, then in (("world-4", "alone-4"), ("alone-4", "world-4")):
            self.succeeds(*self.flags(first, steps=2, output=f"from-{first}"))
            words = ["--resume", f"from-{first}", "--steps", 4, "--plan",
                     self.shared / f"{then}.json"]
            parts = self.exported(*words, name=f"from-{first}.safetensors")
            self.assertEqual(parameters(parts), parameters(whole), (first, then))

    def test_by_a_program_of_another_batch(self):
        profile = self.directory / "profile.json"
        tool("ELIXIR_PROFILE", self.shared / "model.pt", "--target", "cpu", "--batch", 3, "-o",
             profile, cwd=self.directory)
        search = ["--profile", profile, "--hardware", self.shared / "hardware.json",
                  "--host-memory", "4GiB", "--gpu-memory", "1GiB", "--arithmetic", "as-eager",
                  "--gpus", 3]
        tool("ELIXIR_SEARCH", *search, "-o", "plan.json", cwd=self.directory)
        saved = self.exported(*self.flags("world-2", steps=2), name="saved.safetensors")
        words = ["--resume", "run", "--steps", 2, "--plan", "plan.json", "--batch", 3]
        self.assertEqual(self.exported(*words, name="again.safetensors"), saved)
        result = self.succeeds("--resume", "run", "--steps", 3, "--force")
        self.assertIn("with the same parameters: its steps differ from here on", result.err)
        self.assertEqual(self.metrics()[-1]["step"], 3)

    def test_not_by_a_model_of_other_shapes(self):
        self.succeeds(*self.flags("world-2", steps=1))
        save_traced(tiny_model(vocabulary=4096, hidden=96), self.directory / "model.pt")
        tool("ELIXIR_PROFILE", "model.pt", "--target", "cpu", "-o", "profile.json",
             cwd=self.directory)
        search = ["--profile", "profile.json", "--hardware", self.shared / "hardware.json",
                  "--host-memory", "4GiB", "--gpu-memory", "1GiB", "--arithmetic", "as-eager",
                  "--gpus", 2]
        tool("ELIXIR_SEARCH", *search, "-o", "plan.json", cwd=self.directory)
        words = ["--resume", "run", "--plan", "plan.json", "--model", "model.pt"]
        self.fails(2, "EX0401", *words, mentions="has another dtype or shape in the checkpoint")


class Files(RankCheckpointTest):
    def test_each_rank_has_a_part_and_state_json_the_index(self):
        self.succeeds(*self.flags("world-3", steps=1))
        state = json.loads((self.checkpoint() / "state.json").read_text())
        schema("checkpoint").validate(state)
        names = [f"rank-{rank}-of-3.safetensors" for rank in range(3)]
        self.assertEqual([file["name"] for file in state["files"]], names)
        self.assertEqual(sorted(path.name for path in self.checkpoint().iterdir()),
                         sorted([*names, "state.json"]))
        self.assertEqual(
            {piece["rank"] for tensor in state["tensors"] for piece in tensor["pieces"]}, {0, 1, 2})
        self.succeeds(*self.flags("world-1", steps=1, output="alone"))
        alone = json.loads((self.checkpoint("alone") / "state.json").read_text())
        schema("checkpoint").validate(alone)
        self.assertIsNone(alone["tensors"])

    def test_a_missing_or_cut_file_of_a_rank_is_named(self):
        def cut(path):
            path.write_bytes(path.read_bytes()[:-1])

        for damage, says in ((pathlib.Path.unlink, "is missing"), (cut, "its checkpoint wrote")):
            shutil.rmtree(self.directory / "run", ignore_errors=True)
            self.succeeds(*self.flags("world-2", steps=2, checkpoint_every=1))
            damage(self.checkpoint() / "rank-1-of-2.safetensors")
            result = self.succeeds("--resume", "run", "--dry-run")
            self.assertIn("damaged checkpoint not used: step-0000000002", result.err)
            self.assertIn("resuming after step 1", result.err)
            damage(self.checkpoint(step=1) / "rank-1-of-2.safetensors")
            file = "step-0000000001/rank-1-of-2.safetensors` "
            self.assertIn(says, self.fails(2, "EX0212", "--resume", "run", mentions=file))


class Disturbed(RankCheckpointTest):
    def start_run(self, **extra):
        process = self.start(*self.flags("world-3", **extra))
        deadline = time.monotonic() + 60
        while (not list((self.directory / "run").glob("checkpoints/step-*"))
               and time.monotonic() < deadline):
            self.assertIsNone(process.poll(), "the run ended by itself")
            time.sleep(0.005)
        return process, ranks_of(process)

    def test_a_rank_without_room_is_named_and_the_last_checkpoint_stays(self):
        process, others = self.start_run(steps=1_000_000, checkpoint_every=10)
        resource.prlimit(others[1], resource.RLIMIT_FSIZE, (100, 100))
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, error)
        self.assertRegex(error.decode(), r"error\[EX0702\]: rank 2 of 3 on \S+: no room to write ")
        self.assertIn(b"the checkpoint of step", error)
        self.assertEqual(list((self.directory / "run/checkpoints").glob(".*")), [])
        done = int(self.checkpoint().name.rsplit("-", 1)[1])
        self.succeeds("--resume", "run", "--steps", done + 1)

    def test_a_rank_that_is_killed_while_all_write_leaves_the_last_checkpoint(self):
        steps, hits = 40, 0
        calm = self.exported(*self.flags("world-3", steps=steps, output="calm"),
                             name="calm.safetensors")
        for kill in range(4):
            with self.subTest(kill=kill):
                shutil.rmtree(self.directory / "run", ignore_errors=True)
                chosen = random.Random(kill)
                process, others = self.start_run(steps=steps, checkpoint_every=1)
                checkpoints, seen = self.directory / "run/checkpoints", set()
                skip = chosen.randint(1, 8)
                while process.poll() is None and len(seen) < skip:
                    seen |= {name for name in os.listdir(checkpoints)
                             if name.startswith(".unfinished-")}
                time.sleep(chosen.uniform(0, 0.004))
                os.kill([process.pid, *others][kill % 3], signal.SIGKILL)
                process.communicate(timeout=60)
                hits += any(name.startswith(".unfinished-") for name in os.listdir(checkpoints))
                export = ["--export", "out.safetensors", "--force"]
                self.succeeds("--resume", "run", *export)
                self.assertEqual((self.directory / "out.safetensors").read_bytes(), calm)
                self.assertEqual(list(checkpoints.glob(".*")), [])
        print(f"{hits} of 4 kills fell into a checkpoint's write", file=sys.stderr)
        self.assertGreater(hits, 0)


if __name__ == "__main__":
    unittest.main()
