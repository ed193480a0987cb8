# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train: what it writes and says, that placement, interruption and resuming change no bit, and what it does with
bad input."""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import time
import unittest

from harness import ROOT, CommonBehaviour, clean_environment, schema
from training import ROWS, TOKENS, TrainTest, lines_in, save_traced, tiny_model, tool


class Runs(CommonBehaviour, TrainTest):
    def test_trains_and_leaves_a_run_directory(self):
        result = self.succeeds(*self.flags(steps=40, eval_data=self.shared / "held-out.txt", eval_every=20))
        self.assertRegex(result.out.splitlines()[-1], r"\Aheld-out loss \d+\.\d{4} nats/byte\Z")
        self.assertIn("predicted", result.out)
        run = self.directory / "run"
        for name in ("config", "summary"):
            schema(name).validate(json.loads((run / f"{name}.json").read_text()))
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual(summary["ended"], "finished")
        self.assertLess(summary["held_out_loss"], summary["first_held_out_loss"] - 1)
        lines = self.metrics()
        for line in lines:
            schema("metrics").validate(line)
        self.assertEqual([line["step"] for line in lines], list(range(1, 41)))
        self.assertEqual([line["step"] for line in lines if line["held_out_loss"] is not None], [20, 40])
        self.assertLess(lines[-1]["loss"], lines[0]["loss"] - 1)
        (checkpoint,) = (run / "checkpoints").iterdir()
        self.assertEqual(checkpoint.name, "step-0000000040")
        schema("checkpoint").validate(json.loads((checkpoint / "state.json").read_text()))

    def test_measured_memory_and_traffic_are_the_predicted_ones(self):
        for plan in ("roomy", "tight"):
            self.succeeds(*self.flags(plan, output=plan))
            summary = json.loads((self.directory / plan / "summary.json").read_text())
            for figure in ("peak_device_bytes", "host_bytes", "traffic"):
                self.assertEqual(summary["measured"][figure], summary["predicted"][figure], (plan, figure))
            budget = json.loads((self.shared / f"{plan}.json").read_text())["budgets"]["gpu_memory_bytes"]
            self.assertLessEqual(summary["measured"]["peak_device_bytes"], budget)
        self.assertGreater(summary["measured"]["traffic"]["fetches"], 0)
        self.assertGreater(summary["measured"]["traffic"]["evictions"], 0)

    def test_evaluation_is_part_of_the_predicted_memory(self):
        extra = {"eval_data": self.shared / "held-out.txt", "eval_every": 2, "hardware": self.shared / "hardware.json"}
        self.succeeds(*self.flags("tight", **extra))
        summary = json.loads((self.directory / "run/summary.json").read_text())
        for figure in ("peak_device_bytes", "host_bytes"):
            self.assertEqual(summary["measured"][figure], summary["predicted"][figure], figure)

    def test_what_does_not_fit_is_refused_before_anything_is_written(self):
        needed = json.loads((self.shared / "tight.json").read_text())["predicted"]["host_bytes"]
        plan = self.plan(budgets__host_memory_bytes=needed - 1)
        result = self.run_tool("--json", *self.flags(plan))
        self.assertEqual(result.code, 1, result.err)
        document = json.loads(result.out)["document"]
        self.assertEqual((document["binding_limit"], document["needed_by"]), ("host_memory", "training"))
        self.assertEqual((document["shortfall_bytes"], document["minimum_host_memory_bytes"]), (1, needed))
        self.assertTrue(document["remedies"])
        self.assertFalse((self.directory / "run").exists())

    def test_trace_shows_the_same_tasks_predicted_and_measured(self):
        self.succeeds(*self.flags(hardware=self.shared / "hardware.json"))
        events = json.loads((self.directory / "run/trace.json").read_text())["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(sorted(names.values()), ["measured rank 0", "predicted"])
        tasks = [[(e["name"], e["tid"]) for e in events if e["ph"] == "X" and e["pid"] == pid] for pid in sorted(names)]
        self.assertEqual(tasks[0], tasks[1])
        self.assertGreater(len(tasks[0]), 10)
        self.assertTrue(all(e["dur"] >= 0 for e in events if e["ph"] == "X"))

    def test_elixir_bench_learns_from_a_trace(self):
        self.succeeds(*self.flags("tight"))
        profile = self.shared / "profile.json"
        # A machine that is twice as fast as it seemed, by its own figures.
        hardware = json.loads((self.shared / "hardware.json").read_text())
        for call in hardware["operators"]:
            call["time_ns"]["median"] /= 2
        (self.directory / "fast.json").write_text(json.dumps(hardware))
        flags = ["--run", "run", "--profile", profile, "--into", "fast.json"]
        plan = ["--plan", self.shared / "tight.json"]
        learned = tool("ELIXIR_BENCH", *flags, *plan, "-o", "learned.json", cwd=self.directory)
        schema("hardware").validate(learned)
        self.assertEqual(json.loads((self.directory / "learned.json").read_text()), learned)
        (note,) = [n["note"] for n in learned["noticed"] if n["measurement"] == "run"]
        self.assertIn("timed step of run: operators of backward +", note)
        before = {call["key"]: call["time_ns"]["median"] for call in hardware["operators"]}
        slower = [c for c in learned["operators"] if c["time_ns"]["median"] > before[c["key"]]]
        self.assertGreater(len(slower), 5)
        step_ns = {}
        for name in ("fast", "learned"):
            found = tool(
                "ELIXIR_SEARCH", "--profile", profile, "--hardware", f"{name}.json", "-o", f"{name}.plan.json",
                cwd=self.directory,
            )  # fmt: skip
            step_ns[name] = found["predicted"]["step_ns"]
        self.assertGreater(step_ns["learned"], step_ns["fast"])
        for code, wrong in (
            (2, ["--run", "run", *plan, "--profile", profile]),
            (2, flags),
            (2, [*flags, *plan, "--only", "launch"]),
            (2, [*flags, "--plan", self.shared / "roomy.json"]),
            (2, ["--run", "nowhere", *flags[2:], *plan]),
        ):
            tool("ELIXIR_BENCH", *wrong, "-o", "no.json", cwd=self.directory, code=code)
        self.assertFalse((self.directory / "no.json").exists())

    def test_the_critical_path_of_the_cpu_device_is_every_task(self):
        self.succeeds(*self.flags(hardware=self.shared / "hardware.json"))
        summary = json.loads((self.directory / "run/summary.json").read_text())
        schema("summary").validate(summary)
        # One step of five is timed, so that its busy times are no medians.
        for stream in summary["measured"]["streams"]:
            self.assertEqual(stream["critical_ns"], stream["busy_ns"], stream["stream"])
        self.assertGreaterEqual(summary["measured"]["critical_idle_ns"], 0)
        predicted = summary["predicted"]
        total_ns = sum(stream["critical_ns"] for stream in predicted["streams"])
        self.assertAlmostEqual(total_ns, predicted["step_ns"], delta=len(predicted["streams"]))

    def test_the_critical_path_leaves_out_what_runs_beside_it(self):
        lanes = clean_environment(OMP_NUM_THREADS="1", ELIXIR_CPU_LANES="1")
        result = self.succeeds(*self.flags(), env=lanes)
        self.assertRegex(result.out, r"\ncritical path, measured: [a-z-]+ \d+ %")
        self.assertRegex(result.out, r"\nbusy times are those of one step, which took [\d.]+ .?s\n")
        summary = json.loads((self.directory / "run/summary.json").read_text())
        measured = summary["measured"]
        for stream in measured["streams"]:
            self.assertLessEqual(stream["critical_ns"], stream["busy_ns"] + 1, stream["stream"])
        self.assertGreater(sum(stream["critical_ns"] for stream in measured["streams"]), 0)
        self.assertGreaterEqual(measured["critical_idle_ns"], 0)

    def test_json_prints_the_summary(self):
        document = self.envelope(*self.flags())["document"]
        schema("summary").validate(document)
        self.assertEqual(document["steps_done"], 5)
        self.assertGreater(document["tokens_per_s"], 0)
        self.assertGreater(document["model_flop_per_s"], 0)

    def test_dry_run_says_what_it_would_do_and_writes_nothing(self):
        result = self.succeeds(*self.flags(), "--dry-run")
        for word in ("model", "plan", "budgets", "data", "predicted", "evictions"):
            self.assertIn(word, result.out)
        self.assertNotRegex(result.out, r"\b1 (chunks|blocks)\b")
        self.assertEqual(self.files(), [])
        document = self.envelope(*self.flags(), "--dry-run")["document"]
        schema("summary").validate(document)
        self.assertEqual(document["ended"], "dry-run")
        self.assertIsNone(document["measured"])

    def test_default_run_directory_is_named_after_the_model(self):
        self.succeeds(*self.flags(output=None, steps=1))
        self.assertTrue((self.directory / "model.run/config.json").exists())

    def test_samples_from_safetensors_train_too(self):
        import torch
        from safetensors.torch import save_file

        ids = torch.randint(0, 256, (50, TOKENS), generator=torch.Generator().manual_seed(0))
        save_file({"input_ids": ids}, str(self.directory / "rows.safetensors"))
        result = self.succeeds(*self.flags(data="rows.safetensors", eval_data="rows.safetensors"))
        self.assertRegex(result.out.splitlines()[-1], r"\Aheld-out loss \d+\.\d{4}\Z")


class Numbers(TrainTest):
    """Placement, interruption and resuming change no bit."""

    def test_every_plan_gives_the_same_weights(self):
        roomy = self.exported(*self.flags("roomy", output="a"), name="a.safetensors")
        tight = self.exported(*self.flags("tight", output="b"), name="b.safetensors")
        self.assertEqual(roomy, tight)
        self.assertNotEqual(roomy, self.exported(*self.flags("tight", output="c", seed=1), name="c.safetensors"))

    def test_recomputed_activations_give_the_same_weights(self):
        kept = self.exported(*self.flags("roomy", output="kept"), name="kept.safetensors")
        for choice in ("elementwise", "blocks"):
            edits = json.loads((self.shared / f"{choice}.json").read_text())["edits"]
            again = self.exported(*self.flags(choice, output=choice), name=f"{choice}.safetensors")
            self.assertEqual(kept, again, choice)
            shown = self.succeeds(*self.flags(choice, output="shown"), "--dry-run").out
            self.assertIn(f"{len(edits[0]['storages'])} activations are made again in backward", shown)

    def test_without_clipping_gradients_take_turns_with_the_same_bits(self):
        search = ["--profile", self.shared / "profile.json", "--hardware", self.shared / "hardware.json", "--host-memory", "1GiB",
                  "--arithmetic", "as-eager", "--clip-norm", 0, "-o"]
        tool("ELIXIR_SEARCH", *search, "turns.json", "--gpu-memory", "256MiB", cwd=self.directory)
        no = tool("ELIXIR_SEARCH", *search, "none.json", "--gpu-memory", "1024B", cwd=self.directory, code=1)
        tool("ELIXIR_SEARCH", *search, "host.json", "--gpu-memory", f"{no['minimum_gpu_memory_bytes']}B", cwd=self.directory)
        kept = self.exported(*self.flags("roomy", output="kept", clip_norm=0), name="kept.safetensors")
        for name in ("turns", "host"):
            plan = self.directory / f"{name}.json"
            turns = self.exported(*self.flags(plan, output=name, clip_norm=0), name=f"{name}.safetensors")
            self.assertEqual(turns, kept, name)
            self.fails(2, "EX0104", *self.flags(plan), mentions=["--clip-norm 1", "--clip-norm 0"])
        # Which plan is the fastest depends on what was measured. In one of a single chunk there are no turns.
        peaks = [json.loads(path.read_text())["predicted"]["peak_allocated_bytes"]
                 for path in (self.directory / "turns.json", self.shared / "roomy.json")]
        self.assertLessEqual(*peaks)

    def test_a_fused_loss_gives_the_same_weights_under_every_plan(self):
        plans = {name: json.loads((self.shared / f"{name}.json").read_text()) for name in ("roomy", "fused", "fused-tight")}
        self.assertEqual([plan["arithmetic"] for plan in plans.values()], ["as-eager", "fused", "fused"])
        peaks = {name: plan["predicted"]["peak_allocated_bytes"] for name, plan in plans.items()}
        self.assertLess(peaks["fused"], peaks["roomy"])
        self.assertLess(peaks["fused-tight"], peaks["fused"])
        fused = self.exported(*self.flags("fused", output="fused"), name="fused.safetensors")
        self.assertEqual(fused, self.exported(*self.flags("fused-tight", output="tight"), name="tight.safetensors"))
        eager = self.exported(*self.flags("roomy", output="eager"), name="eager.safetensors")
        self.assertNotEqual(fused, eager)  # other roundings
        losses = [[line["loss"] for line in self.metrics(name)] for name in ("fused", "eager")]
        for one, other in zip(*losses, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-4 * other)
        self.assertIn("arithmetic fused", self.succeeds(*self.flags("fused", output="shown"), "--dry-run").out)
        # Where only a fused loss fits, the answer says so.
        least = plans["fused-tight"]["budgets"]["gpu_memory_bytes"]
        no = tool("ELIXIR_SEARCH", "--profile", "profile.json", "--hardware", "hardware.json", "--host-memory", "1GiB",
                  "--gpu-memory", f"{least}B", "--arithmetic", "as-eager", cwd=self.shared, code=1)
        self.assertIn("--arithmetic fused (finds a plan in these budgets)", no["remedies"])

    def test_a_run_in_two_parts_equals_one_run(self):
        whole = self.exported(*self.flags(steps=7, output="whole"), name="whole.safetensors")
        lines = [line["loss"] for line in self.metrics("whole")]
        self.succeeds(*self.flags(steps=4, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 7, name="parts.safetensors")
        self.assertEqual(whole, parts)
        self.assertEqual([line["loss"] for line in self.metrics("parts")], lines)

    def test_a_run_may_go_on_under_another_plan(self):
        whole = self.exported(*self.flags("roomy", steps=6, output="whole"), name="whole.safetensors")
        self.succeeds(*self.flags("tight", steps=3, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 6, "--plan", self.shared / "roomy.json", name="p.safetensors")
        self.assertEqual(whole, parts)

    def test_resuming_a_finished_run_exports_again(self):
        first = self.exported(*self.flags(), name="out.safetensors")
        self.succeeds("--resume", "run")
        self.assertEqual((self.directory / "out.safetensors").read_bytes(), first)

    def test_metrics_are_cut_back_to_the_checkpoint(self):
        self.succeeds(*self.flags(steps=6, checkpoint_every=4))
        shutil.rmtree(self.directory / "run/checkpoints/step-0000000006")
        with open(self.directory / "run/metrics.jsonl", "a") as file:
            file.write('{"step": 7, "lo')
        self.succeeds("--resume", "run")
        self.assertEqual([line["step"] for line in self.metrics()], [1, 2, 3, 4, 5, 6])

    def test_keep_counts_checkpoints(self):
        self.succeeds(*self.flags(steps=6, checkpoint_every=1, keep=3))
        names = sorted(p.name for p in (self.directory / "run/checkpoints").iterdir())
        self.assertEqual(names, ["step-0000000004", "step-0000000005", "step-0000000006"])

    def test_interrupt_writes_a_checkpoint_and_ends_with_130(self):
        whole = self.exported(*self.flags(steps=3000, output="whole"), name="whole.safetensors")
        process = self.start(*self.flags(steps=3000))
        metrics = self.directory / "run/metrics.jsonl"
        deadline = time.monotonic() + 60
        while lines_in(metrics) < 5 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(b"--resume run", err)
        self.assertIn(b"writing the checkpoint of step", err)
        (checkpoint,) = (self.directory / "run/checkpoints").iterdir()
        done = json.loads((checkpoint / "state.json").read_text())["step"]
        self.assertEqual(done, len(self.metrics()))
        self.assertLess(done, 3000)
        self.assertEqual(json.loads((self.directory / "run/summary.json").read_text())["ended"], "interrupted")
        self.assertEqual(self.exported("--resume", "run", name="resumed.safetensors"), whole)

    def test_damaged_checkpoint_falls_back_to_the_older_one(self):
        whole = self.exported(*self.flags(steps=6, checkpoint_every=2), name="whole.safetensors")
        newest = self.directory / "run/checkpoints/step-0000000006/model.safetensors"
        damaged = bytearray(newest.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        newest.write_bytes(damaged)
        result = self.succeeds("--resume", "run", "--export", "again.safetensors")
        self.assertIn("step-0000000006", result.err)
        self.assertIn("damaged", result.err)
        self.assertEqual((self.directory / "again.safetensors").read_bytes(), whole)


class Labels(TrainTest):
    """What a token stream puts into labels is said, and doubted when it makes the task trivial."""

    WARNING = "the model will learn to repeat its input"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import torch

        class Unshifted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.wte = torch.nn.Embedding(256, 24)
                self.head = torch.nn.Linear(24, 256)

            def forward(self, input_ids, labels):
                logits = self.head(self.wte(input_ids))
                return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

        # The recipe of the documentation, on the same layers.
        text = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
        snippet = text.split("```python\n")[1].split("```")[0].split("\ntraced")[0]
        recipe = {"torch": torch}
        exec(snippet, recipe)
        layers = torch.nn.Sequential(torch.nn.Embedding(256, 24), torch.nn.Linear(24, 256))
        torch.manual_seed(1)
        for name, model in (("unshifted", Unshifted()), ("recipe", recipe["WithLoss"](layers))):
            ids = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
            traced = torch.jit.trace(model.train(), (ids, ids.clone()), check_trace=False)
            traced.save(str(cls.shared / f"{name}.pt"))
            tool("ELIXIR_PROFILE", f"{name}.pt", "--target", "cpu", cwd=cls.shared)
            tool("ELIXIR_SEARCH", "--profile", f"{name}.profile.json", "--hardware", "hardware.json", "--host-memory",
                 "1GiB", "--gpu-memory", "256MiB", "-o", f"{name}.json", cwd=cls.shared)

    def labelled(self, model, **extra):
        return self.flags(model, model=self.shared / f"{model}.pt", **extra)

    def test_labels_equal_to_the_inputs_are_doubted_before_the_first_step(self):
        result = self.succeeds(*self.labelled("unshifted"), "--dry-run")
        self.assertIn("labels     `labels`: the same tokens as `input_ids`, which the loss reads unshifted", result.out)
        self.assertIn(self.WARNING, result.err)
        self.assertIn("--labels next", result.err)

    def test_next_shifts_them(self):
        result = self.succeeds(*self.labelled("unshifted", labels="next"), "--dry-run")
        self.assertIn("labels     `labels`: the token after each one of `input_ids`\n", result.out)
        self.assertNotIn("warning", result.err)
        config = self.succeeds(*self.labelled("unshifted", labels="next", steps=2))
        self.assertEqual(json.loads((self.directory / "run/config.json").read_text())["options"]["labels"], "next")
        self.fails(2, "EX0104", "--resume", "run", "--labels", "same", mentions="--labels")

    def test_the_documented_recipe_shifts_them_itself(self):
        result = self.succeeds(*self.labelled("recipe"), "--dry-run")
        self.assertIn("the same tokens as `input_ids`; the model shifts them\n", result.out)
        self.assertNotIn("warning", result.err)
        twice = self.succeeds(*self.labelled("recipe", labels="next"), "--dry-run")
        self.assertIn("shifted twice", twice.err)

    def test_a_loss_that_is_too_good_is_doubted_once(self):
        result = self.succeeds(*self.labelled("unshifted", steps=400, lr=0.05))
        self.assertEqual(result.err.count("implausibly low"), 1)
        honest = self.succeeds(*self.labelled("unshifted", labels="next", steps=400, lr=0.05, output="honest"))
        self.assertNotIn("implausibly low", honest.err)
        self.assertGreater(self.metrics("honest")[-1]["loss"], 1)

    def test_which_input_the_loss_takes_for_the_label_is_said(self):
        import torch

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Embedding(256, 24), torch.nn.Linear(24, 256))

            def forward(self, input_ids, labels):
                return self.layers(input_ids)

        ids = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
        torch.jit.trace(Logits(), (ids, ids.clone())).save(str(self.directory / "logits.pt"))
        tool("ELIXIR_PROFILE", "logits.pt", "--target", "cpu", "--loss", "cross-entropy", cwd=self.directory)
        tool("ELIXIR_SEARCH", "--profile", "logits.profile.json", "--hardware", self.shared / "hardware.json",
             "--host-memory", "1GiB", "--gpu-memory", "256MiB", "-o", "logits.json", cwd=self.directory)
        result = self.succeeds(*self.flags(plan=self.directory / "logits.json", model="logits.pt", loss="cross-entropy"),
                               "--dry-run")
        self.assertIn("loss: cross-entropy of the output and input `labels`, the last of 2: it is the label\n", result.out)

    def test_next_needs_a_label(self):
        self.fails(2, "EX0503", *self.flags(labels="next"), mentions="no input of the model is a label")
        self.succeeds(*self.flags(), "--dry-run")


class InputsBeforeOutputs(TrainTest):
    def test_what_is_no_model_or_plan_says_so_whatever_lies_where_the_run_is_to_go(self):
        (self.directory / "run").mkdir()
        (self.directory / "run/config.json").write_text("{}", encoding="utf-8")
        (self.directory / "notes.pt").write_text("no model", encoding="utf-8")
        self.fails(2, "EX0203", *self.flags(), mentions="run")
        self.fails(2, "EX0301", *self.flags(model=self.directory / "notes.pt"), mentions="notes.pt")
        self.fails(2, "EX0205", *self.flags(plan=self.directory / "notes.pt"), mentions="notes.pt")


class Log(TrainTest):
    def lines(self, error):
        return [line for line in error.splitlines() if line.startswith("info: step ")]

    def test_a_line_has_rate_norm_speed_and_memory(self):
        result = self.succeeds(*self.flags(steps=6, log_every=2))
        lines = self.lines(result.err)
        self.assertEqual([line.split()[2] for line in lines], ["2/6", "4/6", "6/6"])
        for line in lines:
            self.assertRegex(line, r"loss \d+\.\d{4}  lr 0\.01  grad norm [\d.]+  [\d.,]+ .?s  [\d.,]+( k| M)? tokens/s  "
                                   r"[\d.]+ [MGT]FLOP/s  device peak [\d.]+ .iB\Z")
        self.assertGreater(self.metrics()[0]["model_flop_per_s"], 0)
        self.assertEqual(self.lines(self.succeeds(*self.flags(output="quiet", log_every=0)).err), [])

    def test_a_held_out_loss_is_told_when_it_is_new(self):
        result = self.succeeds(*self.flags(steps=6, log_every=1, eval_data=self.shared / "held-out.txt", eval_every=3))
        self.assertEqual([line.split()[2] for line in self.lines(result.err) if "held-out" in line], ["3/6", "6/6"])

    def test_the_header_explains_labels_and_sampling(self):
        result = self.succeeds(*self.flags(steps=2))
        self.assertIn("labels     made from the inputs by the model, which shifts them", result.err)
        self.assertRegex(result.err, r"sampling   each row begins at a random token, with replacement: no epochs; 2 steps")

    def test_a_finished_run_says_so_and_keeps_its_summary(self):
        self.succeeds(*self.flags(steps=3))
        before = (self.directory / "run/summary.json").read_bytes()
        result = self.succeeds("--resume", "run")
        self.assertIn("this run is finished: all its 3 steps are done; --steps N trains on", result.err)
        self.assertEqual((self.directory / "run/summary.json").read_bytes(), before)


class Weights(TrainTest):
    def test_exports_load_elsewhere_under_the_original_names(self):
        import torch
        from safetensors.torch import load_file

        self.succeeds(*self.flags(), "--export", "out.safetensors")
        self.succeeds(*self.flags(output="again"), "--export", "out.pt")
        tensors = load_file(str(self.directory / "out.safetensors"))
        original = tiny_model()
        parameters = dict(original.named_parameters())
        self.assertTrue(set(parameters) <= set(tensors), set(parameters) - set(tensors))
        self.assertNotIn("head.weight", tensors)
        traced = torch.jit.load(str(self.shared / "model.pt")).state_dict()  # tracing counted a batch too
        counted = int(tensors["running.num_batches_tracked"] - traced["running.num_batches_tracked"])
        self.assertEqual(counted, 5)
        module = torch.jit.load(str(self.directory / "out.pt"))
        state = module.state_dict()
        for name, value in tensors.items():
            self.assertTrue(torch.equal(state[name], value), name)
        self.assertTrue(torch.equal(state["head.weight"], tensors["wte.weight"]))
        self.assertFalse(torch.equal(state["wte.weight"], parameters["wte.weight"]))
        self.assertTrue(torch.isfinite(module(torch.zeros(ROWS, TOKENS, dtype=torch.int64))))
        # The export is a model like any other, with its weights tied.
        tool("ELIXIR_PROFILE", "out.pt", "--target", "cpu", "-o", "out.profile.json", cwd=self.directory)
        profile = json.loads((self.directory / "out.profile.json").read_text())
        self.assertIn(["head.weight", "wte.weight"], [sorted(each["names"]) for each in profile["model"]["parameters"]])

    def test_exported_weights_can_start_another_run(self):
        trained = self.exported(*self.flags(), name="first.safetensors")
        again = self.exported(*self.flags(output="two", steps=1, lr=1e-30, weight_decay=0, weights="first.safetensors"), name="second.safetensors")
        from safetensors.torch import load

        first, second = load(trained), load(again)
        for name in first:
            if not name.startswith("running.") or name in ("running.weight", "running.bias"):
                self.assertTrue(bool((first[name] == second[name]).all()), name)

    def test_init_depends_on_the_seed_and_says_the_recipe(self):
        result = self.succeeds(*self.flags(output="a", init=True), "--export", "a.safetensors")
        self.assertIn("norm weights 1, biases 0, the rest normal", result.err)
        self.succeeds(*self.flags("roomy", output="b", init=True), "--export", "b.safetensors")
        self.succeeds(*self.flags(output="c", init=True, seed=2), "--export", "c.safetensors")
        a, b, c = ((self.directory / f"{name}.safetensors").read_bytes() for name in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_missing_and_unexpected_names_are_listed(self):
        import torch
        from safetensors.torch import save_file

        tensors = {name: p.detach().clone() for name, p in tiny_model().named_parameters()}
        tensors["norm.gain"] = tensors.pop("norm.weight")
        save_file(tensors, str(self.directory / "w.safetensors"))
        error = self.fails(2, "EX0310", *self.flags(weights="w.safetensors"))
        self.assertIn("missing: `norm.weight`", error)
        self.assertIn("unexpected: `norm.gain`", error)
        tensors["norm.weight"] = torch.ones(3)
        save_file(tensors, str(self.directory / "w.safetensors"))
        self.fails(2, "EX0310", *self.flags(weights="w.safetensors"), mentions="[3]")

    def test_damaged_weights_are_refused(self):
        (self.directory / "w.safetensors").write_bytes(b"\x10\x00\x00\x00\x00\x00\x00\x00{}")
        self.fails(2, "EX0211", *self.flags(weights="w.safetensors"), mentions="w.safetensors")

    def test_a_buffer_without_data_is_named(self):
        model = tiny_model()
        model.running = model.running.to("meta")
        import torch

        traced = torch.jit.trace(tiny_model(), torch.zeros(ROWS, TOKENS, dtype=torch.int64), check_trace=False)
        traced.running.running_mean = torch.empty(24, device="meta")
        traced.save(str(self.directory / "meta.pt"))
        self.fails(2, "EX0309", *self.flags(model="meta.pt"), mentions="running.running_mean")


class Layouts(TrainTest):
    """What models keep in other tensors than one whole storage each."""

    def saved(self, name, build, forward):
        """The traced module, and samples for it, all with the same values; the flags of a run with a plan for it."""
        import torch
        from safetensors.torch import save_file

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                build(self)

        Model.forward = forward
        torch.manual_seed(1)
        samples = torch.randn(32, 8)
        torch.jit.trace(Model().train(), samples[:4], check_trace=False).save(str(self.directory / f"{name}.pt"))
        save_file({"x": samples}, str(self.directory / "x.safetensors"))
        tool("ELIXIR_PROFILE", f"{name}.pt", "--target", "cpu", "-o", f"{name}.profile.json", cwd=self.directory)
        tool("ELIXIR_SEARCH", "--profile", f"{name}.profile.json", "--hardware", self.shared / "hardware.json",
             "--gpu-memory", "256MiB", "--host-memory", "1GiB", "-o", f"{name}.json", cwd=self.directory)
        return {"plan": self.directory / f"{name}.json", "model": f"{name}.pt", "data": "x.safetensors", "steps": 3}

    def trained(self, name, flags):
        from safetensors.torch import load_file

        self.exported(*self.flags(**flags, output=f"{name}-run"), name=f"{name}.out.safetensors")
        return load_file(str(self.directory / f"{name}.out.safetensors"))

    def test_parts_of_a_storage_and_expanded_buffers_train_as_tensors_of_their_own(self):
        import torch

        mask = torch.arange(8.0).repeat(4, 1)

        def plain(module):
            torch.manual_seed(2)
            both = torch.randn(128)
            module.a = torch.nn.Parameter(both[:64].view(8, 8).clone())
            module.b = torch.nn.Parameter(both[64:].view(8, 8).clone())
            module.register_buffer("mask", mask.clone())

        def parts(module):
            plain(module)
            both = torch.cat([module.a.detach().flatten(), module.b.detach().flatten()])
            module.a = torch.nn.Parameter(both[:64].view(8, 8))
            module.b = torch.nn.Parameter(both[64:].view(8, 8))
            module.mask = mask[:1].expand(4, 8)

        def forward(self, x):
            return ((x @ self.a) @ self.b * self.mask).pow(2).mean()

        expected = self.trained("plain", self.saved("plain", plain, forward))
        flags = self.saved("parts", parts, forward)
        found = self.trained("parts", flags)
        self.assertEqual(sorted(found), ["a", "b"])
        for name, value in expected.items():
            self.assertTrue(torch.equal(found[name], value), name)
        self.assertFalse(torch.equal(found["a"], found["b"]))
        self.succeeds(*self.flags(**flags, output=None, resume="parts-run"), "--export", "again.pt")
        again = torch.jit.load(str(self.directory / "again.pt"))
        for name, value in found.items():
            self.assertTrue(torch.equal(getattr(again, name), value), name)
        self.assertTrue(torch.equal(again.mask, mask))

    def test_tensors_without_elements_train_and_resume(self):
        import torch

        def build(module):
            module.linear = torch.nn.Linear(8, 8)
            module.none = torch.nn.Parameter(torch.zeros(0, 4))
            module.register_buffer("neither", torch.zeros(3, 0))

        def forward(self, x):
            return self.linear(x).pow(2).mean() + self.none.sum() + self.neither.sum()

        flags = self.saved("empty", build, forward)
        whole = self.trained("empty", flags)
        self.assertEqual(whole["none"].shape, (0, 4))
        self.succeeds(*self.flags(**{**flags, "steps": 1}, output="half"))
        self.succeeds(*self.flags(**flags, output=None, resume="half"), "--export", "resumed.safetensors")
        self.assertEqual((self.directory / "resumed.safetensors").read_bytes(),
                         (self.directory / "empty.out.safetensors").read_bytes())

    def test_evaluation_leaves_a_buffer_that_forward_changes_to_training(self):
        import torch

        def build(module):
            module.linear = torch.nn.Linear(8, 8)
            module.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return self.linear(x).pow(2).mean() * self.count

        flags = self.saved("counter", build, forward)
        plain = self.trained("counter", flags)
        self.assertEqual(float(plain["count"]), 1 + 3)  # tracing was the first
        evaluated = self.trained("evaluated", {**flags, "eval_data": "x.safetensors", "eval_every": 1})
        for name, value in plain.items():
            self.assertTrue(torch.equal(evaluated[name], value), name)
        losses = [line["held_out_loss"] for line in self.metrics("evaluated-run")]
        self.assertEqual(len([loss for loss in losses if loss is not None]), 3)


class BadInput(TrainTest):
    def test_missing_flags(self):
        self.fails(2, "EX0103", mentions="--plan")
        self.fails(2, "EX0103", *self.flags(data=None), mentions="--data")

    def test_contradictions_with_the_plan(self):
        for flag, value in (("optimizer", "sgd"), ("precision", "bf16"), ("accumulation_steps", 3)):
            self.fails(2, "EX0104", *self.flags(**{flag: value}), mentions="contradicts the plan")

    def test_data_shorter_than_a_batch(self):
        (self.directory / "short.txt").write_bytes(b"x" * (ROWS * TOKENS - 1))
        self.fails(2, "EX0501", *self.flags(data="short.txt"), mentions=["31", "32"])

    def test_tokens_outside_the_vocabulary(self):
        (self.directory / "t.u16").write_bytes(struct.pack("<500H", *([7] * 300 + [256] + [7] * 199)))
        self.fails(2, "EX0502", *self.flags(data="t.u16"), mentions=["token 256", "600", "wte.weight"])

    def test_data_of_unknown_or_wrong_format(self):
        (self.directory / "data.bin").write_bytes(b"x" * 1000)
        self.fails(2, "EX0503", *self.flags(data="data.bin"), mentions="--data-format")
        self.succeeds(*self.flags(data="data.bin", data_format="bytes", steps=1))
        self.fails(2, "EX0201", *self.flags(data="absent.txt", output="other"))

    def test_samples_that_do_not_fit_the_inputs(self):
        import torch
        from safetensors.torch import save_file

        save_file({"ids": torch.zeros(9, TOKENS, dtype=torch.int64)}, str(self.directory / "a.safetensors"))
        self.fails(2, "EX0503", *self.flags(data="a.safetensors"), mentions=["input_ids", "ids"])
        save_file({"input_ids": torch.zeros(9, 5, dtype=torch.int64)}, str(self.directory / "a.safetensors"))
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
            self.fails(2, "EX0402", *self.flags(self.plan("blocks", **changes)), mentions=[words, "changed-plan.json: /edits"])
        self.fails(2, "EX0209", *self.flags(self.plan("blocks", edits=[{"edit": "fuse", "storages": []}])), mentions="/edits/0/edit")
        twice = {"edits": [{"edit": "fuse-loss"}] * 2, "arithmetic": "fused"}
        self.fails(2, "EX0402", *self.flags(self.plan("fused", **twice)), mentions=["edit 1 fuses a loss", "nll_loss_forward"])
        self.fails(2, "EX0209", *self.flags(self.plan("fused", arithmetic="as-eager")), mentions="/arithmetic")

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
        self.assertNotIn("threads on the CPU", self.succeeds(*self.flags(self.plan()), "--dry-run").err)

    def test_a_plan_before_the_instruction_set_was_named(self):
        path = self.plan()
        plan = json.loads(path.read_text())
        self.assertIsNotNone(plan["hardware"].pop("instruction_set"))
        # Such a plan names the program of target `cpu`: it is read, and runs where that program is captured.
        profile = json.loads((self.shared / "profile.json").read_text())
        self.assertEqual(profile["target"].split(":")[0], "cpu")
        path.write_text(json.dumps(plan))
        self.fails(2, "EX0401", *self.flags(path), mentions="another program")

    def test_no_gpu(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("this machine has a GPU")
        self.fails(3, "EX0601", *self.flags(device="cuda"))
        plan = self.plan(hardware__device_kind="cuda", hardware__sm=90, hardware__instruction_set=None)
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
        before = {p: p.read_bytes() for p in self.directory.rglob("*") if p.is_file() and p.name != "lock"}
        weights = next((self.directory / "run/checkpoints").iterdir()) / "model.safetensors"
        self.fails(2, "EX0104", *run, "--weights", weights, "--force",
                   mentions=["-o would remove", "checkpoints", "--weights reads"])
        self.fails(2, "EX0104", *run, "--export", "in/../in/model.pt", "--force", mentions="--model reads")
        self.fails(2, "EX0104", *run, "--export", "run/summary.json", "--force", mentions="run/summary.json")
        (self.directory / "link.safetensors").symlink_to(inputs / "first.safetensors")
        sampled = self.flags(inputs / "tight.json", model=inputs / "model.pt", data=inputs, data_format="safetensors")
        self.fails(2, "EX0104", *sampled, "--export", "link.safetensors", "--force", mentions="--data reads")
        (inputs / "index.json").write_text(json.dumps({"weight_map": {"wte.weight": "first.safetensors"}}))
        text_alone = self.flags(inputs / "tight.json", model=inputs / "model.pt", data=inputs / "text.txt")
        self.fails(2, "EX0104", *text_alone, "--weights", inputs / "index.json", "--init", "--export",
                   inputs / "first.safetensors", "--force", mentions="--weights reads")
        self.fails(2, "EX0104", "--resume", "run", "--export", inputs / "model.pt", "--force", mentions="the resumed run reads")
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
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # model.safetensors has more

        before = sorted((self.directory / "run/checkpoints").iterdir())
        result = self.run_tool("--resume", "run", "--steps", 4, preexec_fn=small_files)
        self.assertEqual(result.code, 4, result.err)
        self.assertIn("error[EX0702]", result.err)
        self.assertEqual(sorted((self.directory / "run/checkpoints").iterdir()), before)
        self.succeeds("--resume", "run", "--steps", 4)


class NotFinite(TrainTest):
    """A gradient or an update that is not finite, while the loss is: nothing of that step is saved."""

    def odd_model(self, term):
        """Flags of a run of a model with one more term in its loss, made from a parameter `scale` of zeros."""
        import torch

        class Odd(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.tiny = tiny_model()
                self.scale = torch.nn.Parameter(torch.zeros(3))

            def forward(self, input_ids):
                return self.tiny(input_ids) + term(self.scale)

        save_traced(Odd().train(), self.directory / "odd.pt")
        tool("ELIXIR_PROFILE", "odd.pt", "--target", "cpu", "-o", "odd.profile.json", cwd=self.directory)
        tool(
            "ELIXIR_SEARCH", "--profile", "odd.profile.json", "--hardware", self.shared / "hardware.json",
            "--gpu-memory", "256MiB", "--host-memory", "1GiB", "-o", "odd.plan.json", cwd=self.directory,
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
            run, flags = f"run-{clip_norm}", {"clip_norm": clip_norm, "checkpoint_every": 1, "keep": 1}
            whole = self.exported(*self.flags(steps=4, output=f"whole-{clip_norm}", **flags), name=f"{clip_norm}.safetensors")
            self.succeeds(*self.flags(steps=2, output=run, **flags))
            self.set_learning_rate(run, 1e38)
            error = self.stops("--resume", run, "--steps", 4, "--export", "bad.safetensors")
            self.assertRegex(error, r"the update of `\S+` in step 3 is not finite")
            self.assertIn("the checkpoint of step 2 stays in", error)
            self.assertFalse((self.directory / "bad.safetensors").exists())
            self.assertEqual([p.name for p in (self.directory / run / "checkpoints").iterdir()], ["step-0000000002"])
            self.assertEqual([line["step"] for line in self.metrics(run)], [1, 2])
            self.set_learning_rate(run, 0.01)
            self.assertEqual(self.exported("--resume", run, "--steps", 4, name=f"{clip_norm}-again.safetensors"), whole)

    def test_from_the_first_step(self):
        error = self.stops(*self.flags(steps=50, lr=1e38, clip_norm=0, checkpoint_every=1, keep=1, export="bad.safetensors"))
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
        self.assertIn("the update of `scale`", self.stops(*self.flags(**odd, clip_norm=0, output="free")))

    def test_fp16_is_refused_without_a_loss_scale(self):
        save_traced(tiny_model().half(), self.directory / "half.pt")
        profiles = {"half.json": ["half.pt"], "asked.json": [self.shared / "model.pt", "--precision", "fp16"]}
        for name, words in profiles.items():
            tool("ELIXIR_PROFILE", *words, "--target", "cpu", "-o", name, cwd=self.directory)
            tool("ELIXIR_SEARCH", "--profile", name, "--hardware", self.shared / "hardware.json", cwd=self.directory, code=2)
        self.assertFalse((self.directory / "plan.json").exists())
        self.fails(2, "EX0311", *self.flags("roomy", model="half.pt"), mentions=["loss scale", "bfloat16"])
        self.fails(2, "EX0311", *self.flags(self.plan("roomy", precision="fp16")), mentions=["loss scale", "--precision bf16"])


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
        process.send_signal(signal.SIGSTOP)  # so that both arrive before it can do anything about the first
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
        shutil.copytree(self.directory / "two/checkpoints/step-0000000002", self.directory / "one/checkpoints/step-0000000003")
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
