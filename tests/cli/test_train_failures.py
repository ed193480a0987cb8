# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train: what it does with bad input, numbers that are not finite, and a run that is
disturbed."""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import time
import unittest

from harness import schema
from training import ROWS, TOKENS, TrainTest, lines_in, save_traced, tiny_model, tool


class InputsBeforeOutputs(TrainTest):
    def test_what_is_no_model_or_plan_says_so_whatever_lies_where_the_run_is_to_go(self):
        (self.directory / "run").mkdir()
        (self.directory / "run/config.json").write_text("{}", encoding="utf-8")
        (self.directory / "notes.pt").write_text("no model", encoding="utf-8")
        self.fails(2, "EX0203", *self.flags(), mentions="run")
        self.fails(2, "EX0301", *self.flags(model=self.directory / "notes.pt"), mentions="notes.pt")
        self.fails(2, "EX0205", *self.flags(plan=self.directory / "notes.pt"), mentions="notes.pt")


class BadInput(TrainTest):
    def test_missing_flags(self):
        self.fails(2, "EX0103", mentions="--plan")
        self.fails(2, "EX0103", *self.flags(data=None), mentions="--data")

    def test_contradictions_with_the_plan(self):
        for flag, value in (("optimizer", "none"), ("precision", "bf16"),
                            ("accumulation_steps", 3)):
            self.fails(2, "EX0104", *self.flags(**{flag: value}), mentions="contradicts the plan")

    def test_data_shorter_than_a_batch(self):
        (self.directory / "short.txt").write_bytes(b"x" * (ROWS * TOKENS - 1))
        self.fails(2, "EX0501", *self.flags(data="short.txt"), mentions=["31", "32"])

    def test_tokens_outside_the_vocabulary(self):
        (self.directory / "t.u16").write_bytes(struct.pack("<500H",
                                                           *([7] * 300 + [256] + [7] * 199)))
        self.fails(2, "EX0502", *self.flags(data="t.u16"),
                   mentions=["token 256", "600", "wte.weight"])

    def test_data_of_unknown_or_wrong_format(self):
        (self.directory / "data.bin").write_bytes(b"x" * 1000)
        self.fails(2, "EX0503", *self.flags(data="data.bin"), mentions="--data-format")
        self.succeeds(*self.flags(data="data.bin", data_format="bytes", steps=1))
        self.fails(2, "EX0201", *self.flags(data="absent.txt", output="other"))

    def test_samples_that_do_not_fit_the_inputs(self):
        import torch
        from safetensors.torch import save_file

        save_file({"ids": torch.zeros(9, TOKENS, dtype=torch.int64)},
                  str(self.directory / "a.safetensors"))
        self.fails(2, "EX0503", *self.flags(data="a.safetensors"), mentions=["input_ids", "ids"])
        save_file({"input_ids": torch.zeros(9, 5, dtype=torch.int64)},
                  str(self.directory / "a.safetensors"))
        self.fails(2, "EX0503", *self.flags(data="a.safetensors"), mentions=["[9, 5]", "[16]"])

    def test_plan_of_another_program(self):
        save_traced(tiny_model(layers=2), self.directory / "other.pt")
        self.fails(2, "EX0401", *self.flags(model="other.pt"), mentions="elixir-profile")
        self.fails(2, "EX0401", *self.flags(batch=3), mentions="--batch")

    def test_edits_that_lead_to_another_program(self):
        edits = json.loads((self.shared / "blocks.json").read_text())["edits"]
        fewer = [{**edits[0], "storages": edits[0]["storages"][: len(edits[0]["storages"]) // 2]}]
        for changes, words in (
            ({"edits": fewer}, "lead to another program"),
            ({"edited_fingerprint": "a" * 64}, "fingerprint in the plan: aaaa"),
            ({"edits": [{**edits[0], "storages": [1 << 30]}]}, "storage 1073741824"),
        ):
            self.fails(2, "EX0402", *self.flags(self.plan("blocks", **changes)),
                       mentions=[words, "changed-plan.json: /edits"])
        self.fails(2, "EX0209",
                   *self.flags(self.plan("blocks", edits=[{"edit": "fuse", "storages": []}])),
                   mentions="/edits/0/edit")
        twice = {"edits": [{"edit": "fuse-loss"}] * 2, "arithmetic": "fused"}
        self.fails(2, "EX0402", *self.flags(self.plan("fused", **twice)),
                   mentions=["edit 1 fuses a loss", "nll_loss_forward"])
        self.fails(2, "EX0209", *self.flags(self.plan("fused", arithmetic="as-eager")),
                   mentions="/arithmetic")

    def test_machine_smaller_than_the_plan(self):
        plan = self.plan(budgets__host_memory_bytes=1 << 50)
        self.fails(3, "EX0602", *self.flags(plan), mentions="--host-memory")

    def test_a_cpu_of_another_instruction_set(self):
        plan = self.plan(hardware__instruction_set="avx")
        self.fails(3, "EX0603", *self.flags(plan), mentions=["cpu:avx,", "--target cpu:"])

    def test_a_machine_with_fewer_cores_than_the_plans(self):
        plan = self.plan(hardware__cpu_threads=100_000)
        error = self.succeeds(*self.flags(plan), "--dry-run").err
        self.assertIn("the plan is for 100000 threads", error)
        self.assertIn("search again", error)
        self.assertNotIn("threads on the CPU",
                         self.succeeds(*self.flags(self.plan()), "--dry-run").err)

    def test_a_plan_before_the_instruction_set_was_named(self):
        path = self.plan()
        plan = json.loads(path.read_text())
        self.assertIsNotNone(plan["hardware"].pop("instruction_set"))
        # Such a plan names the program of target `cpu`: it is read, and runs where that program is
        # captured.
        profile = json.loads((self.shared / "profile.json").read_text())
        self.assertEqual(profile["target"].split(":")[0], "cpu")
        path.write_text(json.dumps(plan))
        self.fails(2, "EX0401", *self.flags(path), mentions="another program")

    def test_no_gpu(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        self.fails(3, "EX0601", *self.flags(device="cuda"))
        plan = self.plan(hardware__device_kind="cuda", hardware__sm=90,
                         hardware__instruction_set=None)
        self.fails(3, "EX0601", *self.flags(plan))
        self.fails(3, "EX0603", *self.flags(plan, device="cpu"))

    def test_existing_and_unwritable_outputs(self):
        (self.directory / "run").mkdir()
        (self.directory / "run/notes.txt").write_text("mine")
        error = self.fails(2, "EX0203", *self.flags(), mentions="--force")
        self.assertNotIn("--resume", error)  # there is no run to go on with
        self.fails(2, "EX0204", *self.flags(output="run/notes.txt/deeper"))
        self.fails(2, "EX0204", *self.flags(output="/proc/run"))
        (self.directory / "out.safetensors").write_text("mine")
        self.fails(2, "EX0203", *self.flags(output="other", export="out.safetensors"))
        self.fails(2, "EX0102", *self.flags(output="other", export="out.bin"))
        self.succeeds(*self.flags(steps=1), "--force")
        self.assertEqual((self.directory / "run/notes.txt").read_text(), "mine")

    def test_force_destroys_nothing_that_the_run_reads(self):
        inputs = self.directory / "in"
        inputs.mkdir()
        for name in ("model.pt", "tight.json", "text.txt"):
            shutil.copy(self.shared / name, inputs)
        run = self.flags(inputs / "tight.json", model=inputs / "model.pt", data=inputs)
        self.succeeds(*run, "--export", inputs / "first.safetensors")
        # The lock names the process that holds it.
        before = {p: p.read_bytes() for p in self.directory.rglob("*") if p.is_file()
                  and p.name != "lock"}
        weights = next((self.directory / "run/checkpoints").iterdir()) / "model.safetensors"
        self.fails(2, "EX0104", *run, "--weights", weights, "--force",
                   mentions=["-o would remove", "checkpoints", "--weights reads"])
        self.fails(2, "EX0104", *run, "--export", "in/../in/model.pt", "--force",
                   mentions="--model reads")
        self.fails(2, "EX0104", *run, "--export", "run/summary.json", "--force",
                   mentions="run/summary.json")
        (self.directory / "link.safetensors").symlink_to(inputs / "first.safetensors")
        sampled = self.flags(inputs / "tight.json", model=inputs / "model.pt", data=inputs,
                             data_format="safetensors")
        self.fails(2, "EX0104", *sampled, "--export", "link.safetensors", "--force",
                   mentions="--data reads")
        (inputs / "index.json").write_text(
            json.dumps({"weight_map": {"wte.weight": "first.safetensors"}}))
        text_alone = self.flags(inputs / "tight.json", model=inputs / "model.pt",
                                data=inputs / "text.txt")
        self.fails(2, "EX0104", *text_alone, "--weights", inputs / "index.json", "--init",
                   "--export", inputs / "first.safetensors", "--force", mentions="--weights reads")
        self.fails(2, "EX0104", "--resume", "run", "--export", inputs / "model.pt", "--force",
                   mentions="the resumed run reads")
        self.assertEqual({path: path.read_bytes() for path in before}, before)

    def test_hostile_models_and_plans(self):
        (self.directory / "bad.pt").write_bytes(b"not an archive" * 100)
        self.fails(2, "EX0301", *self.flags(model="bad.pt"))
        whole = (self.shared / "model.pt").read_bytes()
        (self.directory / "cut.pt").write_bytes(whole[: len(whole) // 2])
        self.fails(2, "EX0302", *self.flags(model="cut.pt"))
        (self.directory / "plan.json").write_text('{"schema": "elixir.plan", ')
        self.fails(2, "EX0205", *self.flags(self.directory / "plan.json"))
        self.fails(2, "EX0208", *self.flags(self.plan(unheard_of=1)))

    def test_resume_needs_a_run_and_keeps_its_choices(self):
        self.fails(2, "EX0201", "--resume", "absent")
        self.succeeds(*self.flags(steps=2))
        self.fails(2, "EX0104", "--resume", "run", "--seed", 9, mentions="--seed")
        self.fails(2, "EX0104", "--resume", "run", "-o", "other")
        for damaged in ("model.safetensors", "state.json"):
            path = self.directory / "run/checkpoints/step-0000000002" / damaged
            path.write_bytes(path.read_bytes()[:-20])
            self.fails(2, "EX0212", "--resume", "run")

    def test_full_disk_stops_the_run_and_keeps_the_older_checkpoint(self):
        self.succeeds(*self.flags(steps=2))

        def small_files():
            # model.safetensors has more
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

        before = sorted((self.directory / "run/checkpoints").iterdir())
        result = self.run_tool("--resume", "run", "--steps", 4, preexec_fn=small_files)
        self.assertEqual(result.code, 4, result.err)
        self.assertIn("error[EX0702]", result.err)
        self.assertEqual(sorted((self.directory / "run/checkpoints").iterdir()), before)
        self.succeeds("--resume", "run", "--steps", 4)

    def test_an_export_without_room_keeps_what_was_trained(self):
        def small_files():
            # Enough for a checkpoint's files; the model has to be larger than each of them.
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        for name in ("out.safetensors", "out.pt"):
            with self.subTest(name=name):
                self.succeeds(*self.flags(steps=2, checkpoint_every=0, output=f"whole-{name}"),
                              "--export", f"whole.{name}")
                limit = os.path.getsize(self.directory / f"whole.{name}") - 1
                result = self.run_tool(*self.flags(steps=2, checkpoint_every=0,
                                                   output=f"run-{name}"), "--export", name,
                                       preexec_fn=small_files)
                self.assertEqual(result.code, 4, result.err)
                self.assertIn("error[EX0702]", result.err)
                self.assertEqual(
                    [each for each in os.listdir(self.directory) if each.startswith(name)], [])
                summary = json.loads((self.directory / f"run-{name}/summary.json").read_text())
                self.assertEqual((summary["steps_done"], summary["export"]), (2, None))
                if summary["checkpoint_step"] is None:
                    self.assertIn("no checkpoint either", result.err)
                else:
                    self.assertIn("the checkpoint of step 2 stays", result.err)
                    self.succeeds("--resume", f"run-{name}", "--export", name)
                    self.assertEqual((self.directory / name).stat().st_size, limit + 1)

    def test_a_path_that_config_cannot_hold_is_refused(self):
        name = os.fsencode(self.directory) + b"/d\xff.txt"
        shutil.copy(self.shared / "text.txt", name)
        self.fails(2, "EX0102", *self.flags(data=os.fsdecode(name)), mentions="UTF-8")
        self.assertFalse((self.directory / "run").exists())


class NotFinite(TrainTest):
    """A gradient or an update that is not finite, while the loss is: nothing of that step is
    saved."""

    def odd_model(self, term):
        """Flags of a run of a model with one more term in its loss, made from a parameter `scale`
        of zeros."""
        import torch

        class Odd(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.tiny = tiny_model()
                self.scale = torch.nn.Parameter(torch.zeros(3))

            def forward(self, input_ids):
                return self.tiny(input_ids) + term(self.scale)

        save_traced(Odd().train(), self.directory / "odd.pt")
        tool("ELIXIR_PROFILE", "odd.pt", "--target", "cpu", "-o", "odd.profile.json",
             cwd=self.directory)
        tool(
            "ELIXIR_SEARCH", "--profile", "odd.profile.json", "--hardware",
            self.shared / "hardware.json", "--gpu-memory", "256MiB", "--host-memory", "1GiB", "-o",
            "odd.plan.json", cwd=self.directory,
        )
        return {"plan": self.directory / "odd.plan.json", "model": "odd.pt"}

    def set_learning_rate(self, run, rate):
        path = self.directory / run / "config.json"
        config = json.loads(path.read_text())
        config["options"]["lr"] = rate
        path.write_text(json.dumps(config))

    def stops(self, *arguments):
        """Standard error of a run that ends by EX0706."""
        result = self.run_tool(*arguments)
        self.assertEqual(result.code, 4, result.err)
        self.assertIn("error[EX0706]", result.err)
        return result.err

    def test_an_update_that_is_not_finite_keeps_the_last_good_checkpoint(self):
        for clip_norm in (0, 1):
            run, flags = f"run-{clip_norm}", {"clip_norm": clip_norm, "checkpoint_every": 1,
                                              "keep": 1}
            whole = self.exported(*self.flags(steps=4, output=f"whole-{clip_norm}", **flags),
                                  name=f"{clip_norm}.safetensors")
            self.succeeds(*self.flags(steps=2, output=run, **flags))
            self.set_learning_rate(run, 1e38)
            error = self.stops("--resume", run, "--steps", 4, "--export", "bad.safetensors")
            self.assertRegex(error, r"the update of `\S+` in step 3 is not finite")
            self.assertIn("the checkpoint of step 2 stays in", error)
            self.assertFalse((self.directory / "bad.safetensors").exists())
            self.assertEqual([p.name for p in (self.directory / run / "checkpoints").iterdir()],
                             ["step-0000000002"])
            self.assertEqual([line["step"] for line in self.metrics(run)], [1, 2])
            self.set_learning_rate(run, 0.01)
            self.assertEqual(self.exported("--resume", run, "--steps", 4,
                                           name=f"{clip_norm}-again.safetensors"), whole)

    def test_from_the_first_step(self):
        error = self.stops(*self.flags(steps=50, lr=1e38, clip_norm=0, checkpoint_every=1, keep=1,
                                       export="bad.safetensors"))
        self.assertIn("in step 1 is not finite", error)
        self.assertNotIn("stays in", error)
        self.assertFalse((self.directory / "bad.safetensors").exists())
        self.assertEqual(list((self.directory / "run/checkpoints").iterdir()), [])

    def test_a_gradient_that_is_not_finite_is_named(self):
        odd = self.odd_model(lambda scale: scale.sum().sqrt())
        for clip_norm in (0, 1):
            error = self.stops(*self.flags(**odd, clip_norm=clip_norm, output=f"run-{clip_norm}"))
            self.assertIn("the gradient of `scale` in step 1 is not finite", error)
            self.assertIn("3 of its 3 elements", error)

    def test_squares_that_overflow_are_no_clip_factor_of_zero(self):
        odd = self.odd_model(lambda scale: (scale * 1e25).sum())
        error = self.stops(*self.flags(**odd, clip_norm=1, output="clips"))
        self.assertIn("the gradient norm of step 1 is not finite: squares overflow", error)
        self.assertIn("the gradient of `scale` reaches 1e+25", error)
        self.assertIn("the update of `scale`",
                      self.stops(*self.flags(**odd, clip_norm=0, output="free")))


class LiveRun(TrainTest):
    """What happens to a run while it goes on."""

    def start_run(self, **flags):
        """A run that goes on until it is stopped, after its first steps."""
        process = self.start(*self.flags(**{"steps": 1_000_000, **flags}))
        metrics = self.directory / "run/metrics.jsonl"
        deadline = time.monotonic() + 60
        while lines_in(metrics) < 5 and time.monotonic() < deadline:
            self.assertIsNone(process.poll(), "the run ended by itself")
            time.sleep(0.005)
        return process

    def ended(self, process, code):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return err.decode()

    def test_has_one_owner(self):
        process = self.start_run()
        before = self.metrics()
        self.fails(2, "EX0214", *self.flags(), "--force", mentions=f"process {process.pid} on ")
        self.fails(2, "EX0214", "--resume", "run")
        self.assertEqual(self.metrics()[: len(before)], before)
        self.succeeds("--resume", "run", "--dry-run")
        process.send_signal(signal.SIGTERM)
        self.assertIn("writing the checkpoint of step", self.ended(process, 143))
        done = len(self.metrics())
        self.succeeds("--resume", "run", "--steps", done + 1)
        lines = self.metrics()
        self.assertEqual([line["step"] for line in lines], list(range(1, done + 2)))
        ids = {line["run_id"] for line in lines}
        for name in ("config.json", "summary.json", f"checkpoints/step-{done + 1:010}/state.json"):
            ids.add(json.loads((self.directory / "run" / name).read_text())["run_id"])
        self.assertEqual(len(ids), 1)

    def test_a_second_signal_ends_it_at_once(self):
        process = self.start_run()
        # so that both arrive before it can do anything about the first
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
        self.assertIn(process.returncode, (130, 143))
        self.assertEqual(list((self.directory / "run/checkpoints").glob("step-*")), [])
        self.succeeds("--resume", "run", "--steps", 2)

    def test_a_directory_that_goes_is_noticed_at_once(self):
        process = self.start_run()
        (self.directory / "run").rename(self.directory / "gone")
        error = self.ended(process, 4)
        self.assertIn("error[EX0703]", error)
        self.assertIn("`run` was removed", error)
        self.assertNotIn("--resume", error)
        process = self.start_run()
        (self.directory / "run/checkpoints").rmdir()
        (self.directory / "run/checkpoints").write_text("a plain file")
        self.assertIn("error[EX0703]", self.ended(process, 4))
        self.fails(2, "EX0204", "--resume", "run", mentions="checkpoints")

    def test_data_that_shrinks_is_a_diagnostic(self):
        shutil.copy(self.shared / "text.txt", self.directory / "text.txt")
        process = self.start_run(data="text.txt", checkpoint_every=1, keep=1)
        os.truncate(self.directory / "text.txt", 10)
        error = self.ended(process, 4)
        self.assertIn("error[EX0703]", error)
        self.assertIn("another process has cut it", error)
        self.assertIn("stays in", error)
        done = len(self.metrics())
        self.assertTrue((self.directory / f"run/checkpoints/step-{done:010}/state.json").exists())
        shutil.copy(self.shared / "text.txt", self.directory / "text.txt")
        self.succeeds("--resume", "run", "--steps", done + 1)

    def test_files_of_two_runs_are_not_taken_for_one(self):
        for run in ("one", "two"):
            self.succeeds(*self.flags(steps=2, output=run))
        shutil.copytree(self.directory / "two/checkpoints/step-0000000002",
                        self.directory / "one/checkpoints/step-0000000003")
        self.fails(2, "EX0215", "--resume", "one")
        shutil.rmtree(self.directory / "one/checkpoints/step-0000000003")
        own = (self.directory / "one/metrics.jsonl").read_bytes()
        with open(self.directory / "one/metrics.jsonl", "ab") as file:
            file.write((self.directory / "two/metrics.jsonl").read_bytes())
        self.fails(2, "EX0215", "--resume", "one", mentions="metrics.jsonl")
        (self.directory / "one/metrics.jsonl").write_bytes(own)
        self.succeeds("--resume", "one", "--steps", 3)


if __name__ == "__main__":
    unittest.main()
