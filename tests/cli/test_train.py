# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train: what it writes and says, and that placement, interruption and resuming change no
bit."""
import json
import shutil
import signal
import time
import unittest

from harness import CommonBehaviour, clean_environment, schema
from training import TOKENS, TrainTest, envelope, lines_in, tool


class Runs(CommonBehaviour, TrainTest):
    def test_trains_and_leaves_a_run_directory(self):
        result = self.succeeds(*self.flags(steps=40, eval_data=self.shared / "held-out.txt",
                                           eval_every=20))
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
        self.assertEqual([line["step"] for line in lines if line["held_out_loss"] is not None],
                         [20, 40])
        self.assertLess(lines[-1]["loss"], lines[0]["loss"] - 1)
        (checkpoint,) = (run / "checkpoints").iterdir()
        self.assertEqual(checkpoint.name, "step-0000000040")
        schema("checkpoint").validate(json.loads((checkpoint / "state.json").read_text()))

    def test_measured_memory_and_traffic_are_the_predicted_ones(self):
        for plan in ("roomy", "tight"):
            self.succeeds(*self.flags(plan, output=plan))
            summary = json.loads((self.directory / plan / "summary.json").read_text())
            for figure in ("peak_device_bytes", "host_bytes", "traffic"):
                self.assertEqual(summary["measured"][figure], summary["predicted"][figure],
                                 (plan, figure))
            budget = json.loads(
                (self.shared / f"{plan}.json").read_text())["budgets"]["gpu_memory_bytes"]
            self.assertLessEqual(summary["measured"]["peak_device_bytes"], budget)
        self.assertGreater(summary["measured"]["traffic"]["fetches"], 0)
        self.assertGreater(summary["measured"]["traffic"]["evictions"], 0)

    def test_evaluation_is_part_of_the_predicted_memory(self):
        extra = {"eval_data": self.shared / "held-out.txt", "eval_every": 2,
                 "hardware": self.shared / "hardware.json"}
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
        self.assertEqual((document["binding_limit"], document["needed_by"]),
                         ("host_memory", "training"))
        self.assertEqual((document["shortfall_bytes"], document["minimum_host_memory_bytes"]),
                         (1, needed))
        self.assertTrue(document["remedies"])
        self.assertFalse((self.directory / "run").exists())

    def test_trace_shows_the_same_tasks_predicted_and_measured(self):
        self.succeeds(*self.flags(hardware=self.shared / "hardware.json"))
        events = json.loads((self.directory / "run/trace.json").read_text())["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual(sorted(names.values()), ["measured rank 0", "predicted"])
        tasks = [[(e["name"], e["tid"]) for e in events if e["ph"] == "X" and e["pid"] == pid]
                 for pid in sorted(names)]
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
                "ELIXIR_SEARCH", "--profile", profile, "--hardware", f"{name}.json", "-o",
                f"{name}.plan.json", cwd=self.directory,
            )
            step_ns[name] = found["predicted"]["step_ns"]
        self.assertGreater(step_ns["learned"], step_ns["fast"])
        # What no work explains is named, in per cent of the step.
        summary = json.loads((self.directory / "run/summary.json").read_text())
        for factor, expected in ((0.1, []),
                                 (1000, ["100 % of the measured step is in none of these"])):
            longer = {**summary["measured"],
                      "step_ns": round(factor * summary["measured"]["step_ns"])}
            (self.directory / "run/summary.json").write_text(
                json.dumps({**summary, "measured": longer}))
            warnings = envelope("ELIXIR_BENCH", *flags, *plan, "-o", "again.json", "--force",
                                cwd=self.directory)["diagnostics"]
            self.assertEqual([w["message"].split(":")[0] for w in warnings], expected)
        (self.directory / "run/summary.json").unlink()
        tool("ELIXIR_BENCH", *flags, *plan, "-o", "again.json", "--force", cwd=self.directory)
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
        self.assertRegex(result.out, r"\nbusy times are from one step, which took [\d.]+ .?s\n")
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
        self.assertNotEqual(roomy, self.exported(*self.flags("tight", output="c", seed=1),
                                                 name="c.safetensors"))

    def test_recomputed_activations_give_the_same_weights(self):
        kept = self.exported(*self.flags("roomy", output="kept"), name="kept.safetensors")
        for choice in ("elementwise", "blocks"):
            edits = json.loads((self.shared / f"{choice}.json").read_text())["edits"]
            again = self.exported(*self.flags(choice, output=choice), name=f"{choice}.safetensors")
            self.assertEqual(kept, again, choice)
            shown = self.succeeds(*self.flags(choice, output="shown"), "--dry-run").out
            self.assertIn(f"{len(edits[0]['storages'])} activations are made again in backward",
                          shown)

    def test_without_clipping_gradients_take_turns_with_the_same_bits(self):
        search = ["--profile", self.shared / "profile.json", "--hardware",
                  self.shared / "hardware.json", "--host-memory", "1GiB", "--arithmetic",
                  "as-eager", "--clip-norm", 0, "-o"]
        tool("ELIXIR_SEARCH", *search, "turns.json", "--gpu-memory", "256MiB", cwd=self.directory)
        no = tool("ELIXIR_SEARCH", *search, "none.json", "--gpu-memory", "1024B",
                  cwd=self.directory, code=1)
        tool("ELIXIR_SEARCH", *search, "host.json", "--gpu-memory",
             f"{no['minimum_gpu_memory_bytes']}B", cwd=self.directory)
        kept = self.exported(*self.flags("roomy", output="kept", clip_norm=0),
                             name="kept.safetensors")
        for name in ("turns", "host"):
            plan = self.directory / f"{name}.json"
            turns = self.exported(*self.flags(plan, output=name, clip_norm=0),
                                  name=f"{name}.safetensors")
            self.assertEqual(turns, kept, name)
            self.fails(2, "EX0104", *self.flags(plan), mentions=["--clip-norm 1", "--clip-norm 0"])
        # Which plan is the fastest depends on what was measured. In one of a single chunk there are
        # no turns.
        peaks = [json.loads(path.read_text())["predicted"]["peak_allocated_bytes"]
                 for path in (self.directory / "turns.json", self.shared / "roomy.json")]
        self.assertLessEqual(*peaks)

    def test_a_fused_loss_gives_the_same_weights_under_every_plan(self):
        plans = {name: json.loads((self.shared / f"{name}.json").read_text())
                 for name in ("roomy", "fused", "fused-tight")}
        self.assertEqual([plan["arithmetic"] for plan in plans.values()],
                         ["as-eager", "fused", "fused"])
        peaks = {name: plan["predicted"]["peak_allocated_bytes"] for name, plan in plans.items()}
        self.assertLess(peaks["fused"], peaks["roomy"])
        self.assertLess(peaks["fused-tight"], peaks["fused"])
        fused = self.exported(*self.flags("fused", output="fused"), name="fused.safetensors")
        self.assertEqual(fused, self.exported(*self.flags("fused-tight", output="tight"),
                                              name="tight.safetensors"))
        eager = self.exported(*self.flags("roomy", output="eager"), name="eager.safetensors")
        self.assertNotEqual(fused, eager)  # other roundings
        losses = [[line["loss"] for line in self.metrics(name)] for name in ("fused", "eager")]
        for one, other in zip(*losses, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-4 * other)
        self.assertIn("arithmetic fused",
                      self.succeeds(*self.flags("fused", output="shown"), "--dry-run").out)
        # Where only a fused loss fits, the answer says so.
        least = plans["fused-tight"]["budgets"]["gpu_memory_bytes"]
        no = tool("ELIXIR_SEARCH", "--profile", "profile.json", "--hardware", "hardware.json",
                  "--host-memory", "1GiB", "--gpu-memory", f"{least}B", "--arithmetic", "as-eager",
                  cwd=self.shared, code=1)
        self.assertIn("--arithmetic fused (finds a plan in these budgets)", no["remedies"])

    def test_a_run_in_two_parts_equals_one_run(self):
        whole = self.exported(*self.flags(steps=7, output="whole"), name="whole.safetensors")
        lines = [line["loss"] for line in self.metrics("whole")]
        self.succeeds(*self.flags(steps=4, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 7, name="parts.safetensors")
        self.assertEqual(whole, parts)
        self.assertEqual([line["loss"] for line in self.metrics("parts")], lines)

    def test_a_run_may_go_on_under_another_plan(self):
        whole = self.exported(*self.flags("roomy", steps=6, output="whole"),
                              name="whole.safetensors")
        self.succeeds(*self.flags("tight", steps=3, output="parts"))
        parts = self.exported("--resume", "parts", "--steps", 6, "--plan",
                              self.shared / "roomy.json", name="p.safetensors")
        self.assertEqual(whole, parts)

    def test_resuming_a_finished_run_exports_again(self):
        first = self.exported(*self.flags(), name="out.safetensors")
        self.assertEqual(self.exported("--resume", "run", "--force", name="out.safetensors"), first)

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
        self.assertEqual(json.loads((self.directory / "run/summary.json").read_text())["ended"],
                         "interrupted")
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


class Log(TrainTest):
    def lines(self, error):
        return [line for line in error.splitlines() if line.startswith("info: step ")]

    def test_a_line_has_rate_norm_speed_and_memory(self):
        result = self.succeeds(*self.flags(steps=6, log_every=2))
        lines = self.lines(result.err)
        self.assertEqual([line.split()[2] for line in lines], ["2/6", "4/6", "6/6"])
        for line in lines:
            self.assertRegex(line,
                             r"loss \d+\.\d{4}  lr 0\.01  grad norm [\d.]+  [\d.,]+ .?s  [\d.,]+( "
                             r"k| M)? tokens/s  "
                             r"[\d.]+ [MGT]FLOP/s  device peak [\d.]+ .iB\Z")
        self.assertGreater(self.metrics()[0]["model_flop_per_s"], 0)
        self.assertEqual(self.lines(self.succeeds(*self.flags(output="quiet", log_every=0)).err),
                         [])

    def test_a_held_out_loss_is_told_when_it_is_new(self):
        result = self.succeeds(*self.flags(steps=6, log_every=1,
                                           eval_data=self.shared / "held-out.txt", eval_every=3))
        self.assertEqual([line.split()[2] for line in self.lines(result.err) if "held-out" in line],
                         ["3/6", "6/6"])

    def test_the_header_explains_labels_and_sampling(self):
        result = self.succeeds(*self.flags(steps=2))
        self.assertIn("labels     made from the inputs by the model, which shifts them", result.err)
        self.assertRegex(result.err,
                         r"sampling   each row begins at a random token, with replacement: no "
                         r"epochs; 2 steps")

    def test_a_finished_run_says_so_and_keeps_its_summary(self):
        self.succeeds(*self.flags(steps=3))
        before = (self.directory / "run/summary.json").read_bytes()
        result = self.succeeds("--resume", "run")
        self.assertIn("this run is finished: all its 3 steps are done; --steps N trains on",
                      result.err)
        self.assertEqual((self.directory / "run/summary.json").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
