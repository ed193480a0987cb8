# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-search: answers, documents, exit codes; it starts at once and maps no LibTorch."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import ROOT, CommonBehaviour, ToolTest, schema


class SearchTest(ToolTest):
    tool = "ELIXIR_SEARCH"

    @classmethod
    def setUpClass(cls):
        cls.fakes = tempfile.TemporaryDirectory()
        subprocess.run([os.environ["WRITE_FAKES"], cls.fakes.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.fakes.cleanup()

    def fake(self, name):
        return pathlib.Path(self.fakes.name) / name

    def inputs(self, kind="cpu", machine=None):
        return ["--profile", self.fake(f"{kind}.profile.json"), "--hardware",
                self.fake(f"{machine or kind}.json")]

    def plan(self, *arguments, kind="cpu", machine=None, name="plan.json"):
        self.succeeds(*self.inputs(kind, machine), *arguments, "-o", name, "--force")
        document = json.loads((self.directory / name).read_text(encoding="utf-8"))
        schema("plan").validate(document)
        return document

    def minimum(self, *arguments, kind="cpu"):
        return self.envelope(*self.inputs(kind), "--gpu-memory", "1", "--force", *arguments,
                             code=1)["document"]


class Common(CommonBehaviour, SearchTest):
    pass


class Inputs(SearchTest):
    def test_the_plan_replaces_neither_profile_nor_hardware(self):
        for name in ("cpu.profile.json", "cpu.json"):
            (self.directory / name).write_bytes(self.fake(name).read_bytes())
        for output in ("cpu.profile.json", "./cpu.json"):
            self.fails(2, "EX0104", "--profile", "cpu.profile.json", "--hardware", "cpu.json", "-o",
                       output, "--force", mentions="-o would replace")
        for name in ("cpu.profile.json", "cpu.json"):
            self.assertEqual((self.directory / name).read_bytes(), self.fake(name).read_bytes())


class Clipping(SearchTest):
    def test_without_it_gradients_take_less_memory(self):
        # 54 MiB with all gradients at once
        budget = ("--gpu-memory", "49MiB", "--host-memory", "1MiB")
        plan = self.plan(*budget, "--clip-norm", 0)
        self.assertFalse(plan["clips_gradients"])
        self.envelope(*self.inputs(), *budget, "--force", code=1)

    def test_the_plan_and_the_hint_say_so(self):
        result = self.succeeds(*self.inputs(), "--clip-norm", 0)
        self.assertIn("clipping   none (train with --clip-norm 0)", result.out)
        self.assertEqual(self.plan("--clip-norm", 2.5)["chunks"], self.plan()["chunks"])
        self.assertTrue(self.plan()["clips_gradients"])
        self.fails(2, "EX0102", *self.inputs(), "--clip-norm", -1, mentions="--clip-norm")


class Startup(SearchTest):
    def test_no_libtorch_is_mapped(self):
        mapped = self.mapped_libraries(*self.inputs())
        self.assertTrue(any(name.startswith("libelixir-plan") for name in mapped), mapped)
        self.assertEqual(
            [name for name in mapped if "torch" in name or "c10" in name or "cuda" in name], [])


class Found(SearchTest):
    def test_writes_a_plan_and_says_what_it_is(self):
        result = self.succeeds(*self.inputs())
        self.assertIn("plan found", result.out)
        self.assertIn("step time", result.out)
        self.assertIn("predicted", result.out)
        self.assertEqual(self.files(), ["plan.json"])

    def test_a_tight_budget_moves_chunks_and_is_kept(self):
        least = self.minimum()["minimum_gpu_memory_bytes"]
        plan = self.plan("--gpu-memory", least + 2**20)
        self.assertLessEqual(plan["predicted"]["peak_allocated_bytes"], least + 2**20)
        self.assertGreater(plan["predicted"]["traffic"]["host_to_device_bytes"], 2**20)
        self.assertEqual(plan["budgets"]["gpu_memory_bytes"], least + 2**20)

    def test_every_strategy_writes_a_valid_plan(self):
        for strategy in ("optimal", "minimum-waste", "simple", "elixir"):
            for extra in ([], ["--accumulation-steps", "4"], ["--elixir-constants"]):
                plan = self.plan("--strategy", strategy, *extra, kind="cuda")
                if strategy != "optimal":
                    self.assertEqual(plan["strategy"], strategy)

    def test_same_inputs_same_bytes_but_for_meta(self):
        plans = [self.plan("--gpu-memory", "40MiB", name=name) for name in ("a.json", "b.json")]
        for plan in plans:
            plan.pop("meta")
        self.assertEqual(*map(json.dumps, plans))

    def test_on_a_gpu_the_context_is_part_of_the_budget(self):
        least = self.minimum(kind="cuda")["minimum_gpu_memory_bytes"]
        plan = self.plan("--gpu-memory", least, kind="cuda")
        page_table = -(-plan["predicted"]["host_bytes"] // 4096) * 8
        self.assertEqual(plan["budgets"]["gpu_context_bytes"], 512 * 2**20 + page_table)
        self.assertLess(plan["predicted"]["peak_allocated_bytes"], least - 512 * 2**20)

    def test_on_a_gpu_it_says_what_limits_the_step(self):
        least = self.minimum(kind="cuda")["minimum_gpu_memory_bytes"]
        for budget in (least, 80 * 2**30):
            flags = ["--gpu-memory", budget]
            predicted = self.plan(*flags, kind="cuda")["predicted"]
            critical_ns = {time["stream"]: time["critical_ns"] for time in predicted["streams"]}
            busy_ns = {time["stream"]: time["busy_ns"] for time in predicted["streams"]}
            self.assertAlmostEqual(sum(critical_ns.values()), predicted["step_ns"],
                                   delta=len(critical_ns))
            self.assertTrue(all(critical_ns[stream] <= busy_ns[stream] + 1 for stream in busy_ns),
                            (critical_ns, busy_ns))
            largest = max(critical_ns, key=critical_ns.get).replace("_", "-")
            result = self.succeeds(*self.inputs("cuda"), *flags, "-o", "again.json", "--force")
            self.assertRegex(result.out, rf"\nlimited by {largest} \d+ %.*\(the critical path\)\n")
        self.assertNotIn("limited by", self.succeeds(*self.inputs(), "-o", "cpu.json").out)

    def test_json_says_the_same(self):
        document = self.envelope(*self.inputs(), "-o", "p.json")["document"]
        plan = json.loads((self.directory / "p.json").read_text(encoding="utf-8"))
        self.assertEqual(document["plan"], "p.json")
        self.assertEqual(document["predicted"], plan["predicted"])
        self.assertIsNone(document["binding_limit"])

    def test_unmeasured_operators_are_a_warning_and_measured_ones_none(self):
        result = self.succeeds(*self.inputs())
        self.assertIn("not measured", result.err)
        self.assertIn("elixir-bench --operators", result.err)
        result = self.succeeds(*self.inputs(machine="cpu-measured"), "--force", "--no-progress")
        self.assertEqual(result.err, "")
        self.assertIn("all measured", result.out)

    def test_several_budgets_are_a_table_without_a_plan(self):
        least = self.minimum()["minimum_gpu_memory_bytes"]
        budgets = f"{least - 1},{2 * least},{8 * least}"
        result = self.succeeds(*self.inputs(), "--gpu-memory", budgets)
        self.assertIn("no plan: 1 B short of GPU memory", result.out)
        self.assertEqual(len(result.out.splitlines()), 5)
        self.assertEqual(self.files(), [])
        answers = self.envelope(*self.inputs(), "--gpu-memory", budgets)["document"]["budgets"]
        self.assertEqual([answer["binding_limit"] for answer in answers],
                         ["gpu_memory", None, None])
        self.assertLessEqual(answers[2]["predicted"]["step_ns"], answers[1]["predicted"]["step_ns"])
        self.succeeds(*self.inputs(), "--gpu-memory", f"1,{least - 1}", code=1)
        self.fails(2, "EX0104", *self.inputs(), "--gpu-memory", budgets, "-o", "plan.json",
                   mentions="-o")

    def test_a_runner_up_is_never_the_winner_again(self):
        for budget in ("24MiB", "40MiB", "1GiB"):
            document = self.envelope(*self.inputs(), "--gpu-memory", budget, "--force")["document"]
            winner = document["predicted"]
            for other in document["runners_up"]:
                same = (other["step_ns"], other["peak_allocated_bytes"], other["host_bytes"])
                self.assertNotEqual(same, (winner["step_ns"], winner["peak_allocated_bytes"],
                                           winner["host_bytes"]))

    def test_recomputes_what_it_is_told_to(self):
        for choice in ("none", "elementwise", "blocks"):
            document = self.envelope(*self.inputs(), "--recompute", choice, "--force")["document"]
            plan = json.loads((self.directory / document["plan"]).read_text(encoding="utf-8"))
            schema("plan").validate(plan)
            self.assertEqual(document["recompute"], choice)
            self.assertEqual(len(plan["edits"]), 0 if choice == "none" else 1)
            self.assertEqual(plan["edited_fingerprint"] is None, choice == "none")
        result = self.succeeds(*self.inputs(), "--recompute", "blocks", "--force")
        self.assertRegex(result.out,
                         r"recompute  blocks: .* of activations are kept for backward instead of ")
        self.fails(2, "EX0102", *self.inputs(), "--recompute", "everything", mentions="elementwise")

    def test_keeps_activations_on_the_host_where_it_is_told_to(self):
        inputs = [*self.inputs(), "--recompute", "blocks"]
        documents = {}
        for choice in ("none", "all"):
            document = self.envelope(*inputs, "--offload", choice, "--force")["document"]
            plan = json.loads((self.directory / document["plan"]).read_text(encoding="utf-8"))
            schema("plan").validate(plan)
            edits = [edit["edit"] for edit in plan["edits"]]
            self.assertEqual(edits, ["recompute"] if choice == "none" else ["recompute", "offload"])
            documents[choice] = document
        for key in ("offloaded_bytes", "in_gradients_bytes"):
            self.assertEqual(documents["none"][key], 0)
        # Gradients that stay on the device lend their memory.
        self.assertGreater(documents["all"]["in_gradients_bytes"], 0)
        host = {choice: document["predicted"]["host_bytes"]
                for choice, document in documents.items()}
        self.assertGreaterEqual(host["all"] - host["none"], documents["all"]["offloaded_bytes"])
        result = self.succeeds(*inputs, "--offload", "all", "--force")
        self.assertRegex(
            result.out,
            r"offload    of the activations that are kept wait .* on the device where gradients "
            r"come later",
        )
        several = self.envelope(*inputs, "--offload", "all", "--accumulation-steps", "2",
                                "--force")["document"]
        self.assertGreater(several["offloaded_bytes"], 0)
        self.assertEqual(several["in_gradients_bytes"], 0)
        self.assertIn("all but some activations stay on the", result.out)
        self.fails(2, "EX0102", *inputs, "--offload", "some", mentions="none")

    def test_a_program_without_cross_entropy_is_as_eager_without_a_warning(self):
        for more in ([], ["--arithmetic", "fused"], ["--arithmetic", "as-eager"]):
            result = self.succeeds(*self.inputs(), *more, "--force")
            self.assertNotIn("fused", result.err + result.out)
            document = self.envelope(*self.inputs(), *more, "--force")["document"]
            self.assertEqual(document["arithmetic"], "as-eager")
        self.fails(2, "EX0102", *self.inputs(), "--arithmetic", "exact", mentions="as-eager")

    def test_one_block_is_no_blocks(self):
        document = self.envelope(*self.inputs(), "--gpu-memory", "50MiB")["document"]
        texts = " ".join(candidate["description"] for candidate in document["runners_up"])
        self.assertIn("through 1 block,", texts)
        self.assertNotIn("1 blocks", texts)

    def test_golden_plans_are_valid(self):
        golden = sorted((ROOT / "tests/golden").glob("plan-*.json"))
        self.assertTrue(golden)
        for path in golden:
            schema("plan").validate(json.loads(path.read_text(encoding="utf-8")))


class OtherOptimizers(SearchTest):
    def test_a_step_that_elixir_does_not_train_is_not_planned(self):
        document = json.loads(self.fake("cpu.profile.json").read_text(encoding="utf-8"))
        for name in ("sgd-momentum", "adafactor"):
            document.update(optimizer=name, optimizer_form="torch-foreach")
            (self.directory / "other.json").write_text(json.dumps(document), encoding="utf-8")
            self.fails(2, "EX0209", "--profile", "other.json", "--hardware", self.fake("cpu.json"),
                       mentions=[name, "--optimizer adamw"])


    def test_who_updates_in_the_profile_is_ignored_and_that_is_said(self):
        said = "is updated by torch.optim (torch-fused); the plan is for Elixir's adamw"
        document = json.loads(self.fake("cpu.profile.json").read_text(encoding="utf-8"))
        document.update(optimizer="adamw", optimizer_form="torch-fused")
        (self.directory / "torch.json").write_text(json.dumps(document), encoding="utf-8")
        self.assertIn(said, self.succeeds("--profile", "torch.json", "--hardware",
                                          self.fake("cpu.json")).err)
        self.assertNotIn("torch.optim", self.succeeds(*self.inputs(), "--force").err)


class SeveralGpus(SearchTest):
    def gpus(self, *arguments, **expected):
        return self.plan(*arguments, kind="cuda", machine="cuda-pair", **expected)

    def test_a_plan_says_how_many_share_it(self):
        plan = self.gpus("--gpus", "4", "--gpus-per-node", "2", "--reduce-dtype", "parameters")
        self.assertEqual((plan["world"], plan["ranks_per_node"], plan["reduce_dtype"]),
                         (4, 2, "parameters"))
        self.assertGreater(plan["predicted"]["traffic"]["collective_bytes"], 0)
        self.assertIn("collective", {stream["stream"] for stream in plan["predicted"]["streams"]})
        alone = self.gpus()
        self.assertEqual((alone["world"], alone["ranks_per_node"], alone["reduce_dtype"]),
                         (1, 1, None))

    def test_gradients_may_be_exchanged_once_a_step(self):
        inputs = self.inputs("cuda", "cuda-pair")
        flags = ["--gpus", "2", "--accumulation-steps", "8", "--force"]
        each = self.gpus(*flags)
        once = self.gpus(*flags, "--reduce-per", "step")
        self.assertEqual((each["reduce_per"], once["reduce_per"]), ("micro-batch", "step"))
        traffic = [document["predicted"]["traffic"]["collective_bytes"]
                   for document in (each, once)]
        self.assertLess(traffic[1], traffic[0])
        self.assertGreater(once["predicted"]["peak_allocated_bytes"],
                           each["predicted"]["peak_allocated_bytes"])
        self.assertIn("gradients once a step",
                      self.succeeds(*inputs, *flags, "--reduce-per", "step").out)
        self.fails(2, "EX0102", *inputs, *flags, "--reduce-per", "epoch", mentions="micro-batch")

    def test_nccl_may_add_up_gradients(self):
        inputs = self.inputs("cuda", "cuda-pair")
        ordered = self.gpus("--gpus", "2", "--force")
        nccl = self.gpus("--gpus", "2", "--force", "--reduce", "nccl")
        self.assertEqual((ordered["reduce"], nccl["reduce"]), ("ordered", "nccl"))
        self.assertLess(nccl["predicted"]["peak_allocated_bytes"],
                        ordered["predicted"]["peak_allocated_bytes"],
                        "what comes in is one shard")
        screen = self.succeeds(*inputs, "--gpus", "2", "--force", "--reduce", "nccl").out
        self.assertIn("in an order that it chooses", screen)
        self.assertIn("measured; reduce-scatters modelled as all-gathers through NCCL", screen)
        self.fails(2, "EX0102", *inputs, "--gpus", "2", "--force", "--reduce", "gloo",
                   mentions="ordered")
        self.assertIsNone(self.gpus("--force")["reduce"])

    def test_several_replicas_need_more_memory_each(self):
        inputs = self.inputs("cuda", "cuda-pair")
        one = self.envelope(*inputs, "--gpus", "4")["document"]
        two = self.envelope(*inputs, "--gpus", "4", "--replicas", "2", "--force")["document"]
        self.assertGreater(two["predicted"]["peak_allocated_bytes"],
                           one["predicted"]["peak_allocated_bytes"])
        done = self.succeeds(*inputs, "--gpus", "4", "--replicas", "4", "--force")
        self.assertIn("4 GPUs, 4 to a machine, each with every chunk", done.out)
        self.fails(2, "EX0102", *inputs, "--gpus", "4", "--replicas", "3", "--force",
                   mentions="cannot hold 3 replicas")
        self.fails(2, "EX0102", *inputs, "--gpus", "12", "--gpus-per-node", "4", "--replicas", "2",
                   "--force", mentions="--replicas 3")
        self.fails(2, "EX0104", *inputs, "--least-gpus", "--replicas", "2", "--force",
                   mentions="exclude each other")

    def test_the_screen_says_how_the_times_of_collectives_are_known(self):
        inputs = self.inputs("cuda", "cuda-pair")
        done = self.succeeds(*inputs, "--gpus", "2")
        self.assertIn("2 GPUs, 2 to a machine", done.out)
        self.assertIn("times of collectives: measured", done.out)
        done = self.succeeds(*inputs, "--gpus", "4", "--gpus-per-node", "2", "--network", "10GB",
                             "--force")
        self.assertIn("10 GB/s of network", done.out)

    def test_the_least_number_of_gpus_comes_with_the_reason_for_more(self):
        inputs = self.inputs("cuda", "cuda-pair")
        self.fails(2, "EX0104", *inputs, "--least-gpus", "--gpu-memory", "1GiB,2GiB",
                   mentions="one budget")
        document = self.envelope(*inputs, "--least-gpus")["document"]
        self.assertEqual((document["gpus"], document["fewer_gpus"]), (1, []))
        arguments = (*inputs, "--least-gpus", "--gpus", "4", "--gpu-memory", "1")
        document = self.envelope(*arguments, "--force", code=1)["document"]
        self.assertEqual([tried["gpus"] for tried in document["fewer_gpus"]], [1, 2])
        self.assertEqual({tried["binding_limit"] for tried in document["fewer_gpus"]},
                         {"gpu_memory"})
        done = self.run_tool(*arguments, "--force")
        self.assertEqual(done.code, 1)
        self.assertIn("2 GPUs: no plan:", done.out)


class NotFound(SearchTest):
    def test_exactly_the_minimum_is_enough_and_one_byte_less_is_not(self):
        for kind in ("cpu", "cuda"):
            least = self.minimum(kind=kind)["minimum_gpu_memory_bytes"]
            self.plan("--gpu-memory", least, kind=kind)
            (self.directory / "plan.json").unlink()
            document = self.envelope(*self.inputs(kind), "--gpu-memory", least - 1,
                                     code=1)["document"]
            self.assertEqual(document["binding_limit"], "gpu_memory")
            self.assertEqual(document["shortfall_bytes"], 1)
            self.assertTrue(any("--gpu-memory" in text for text in document["remedies"]))
            self.assertEqual(self.files(), [])

    def test_baselines_report_a_minimum_that_works_too(self):
        for strategy in ("simple", "minimum-waste", "elixir"):
            least = self.minimum("--strategy", strategy)["minimum_gpu_memory_bytes"]
            self.plan("--strategy", strategy, "--gpu-memory", least)

    def test_the_host_limit_is_named_when_it_binds(self):
        arguments = [*self.inputs(), "--gpu-memory", "30MiB", "--host-memory", "1"]
        document = self.envelope(*arguments, code=1)["document"]
        self.assertEqual(document["binding_limit"], "host_memory")
        self.assertEqual(document["shortfall_bytes"], document["minimum_host_memory_bytes"] - 1)
        self.plan("--gpu-memory", "30MiB", "--host-memory", document["minimum_host_memory_bytes"])

    def test_the_screen_names_limit_shortfall_and_remedy(self):
        result = self.succeeds(*self.inputs(), "--gpu-memory", "1MiB", code=1)
        self.assertIn("no feasible plan: GPU memory is short of", result.out)
        self.assertIn("= help: --gpu-memory", result.out)
        self.assertRegex(result.out, r"= note: of the least, .* are .*: no plan moves them")
        limit = self.minimum()["minimum_gpu_memory_bytes"] - 2**16
        result = self.succeeds(*self.inputs(), "--gpu-memory", limit, "--no-progress", code=1)
        self.assertRegex(result.out,
                         r"profile with --batch \d+, then search with --accumulation-steps \d+")
        self.assertEqual(result.err, "")


class BadInput(SearchTest):
    def test_required_flags(self):
        self.fails(2, "EX0103", "--hardware", self.fake("cpu.json"), mentions="--profile")

    def test_profile_and_hardware_of_different_kinds(self):
        arguments = ["--profile", self.fake("cpu.profile.json"), "--hardware",
                     self.fake("cuda.json")]
        self.fails(2, "EX0403", *arguments, mentions=["cpu", "--target"])

    def test_a_cpu_of_another_instruction_set(self):
        document = json.loads(self.fake("cpu.json").read_text(encoding="utf-8"))
        document["machine"]["instruction_set"] = "avx2"
        (self.directory / "avx2.json").write_text(json.dumps(document), encoding="utf-8")
        # The profile does not say which CPU it is for: it goes with every one.
        self.succeeds("--profile", self.fake("cpu.profile.json"), "--hardware", "./avx2.json")
        document["machine"]["instruction_set"] = "avx3"
        (self.directory / "avx3.json").write_text(json.dumps(document), encoding="utf-8")
        flags = ("--profile", self.fake("cpu.profile.json"), "--hardware", "./avx3.json", "--force")
        self.fails(2, "EX0209", *flags, mentions="avx512_core")

    def test_gpus_that_cannot_fill_their_machines(self):
        inputs = self.inputs("cuda", "cuda-pair")
        self.fails(2, "EX0102", *inputs, "--gpus", "6", "--gpus-per-node", "4",
                   mentions="divides 6")
        self.fails(2, "EX0102", *inputs, "--gpus", "0")

    def test_several_gpus_of_which_no_gather_was_measured(self):
        self.fails(2, "EX0207", *self.inputs("cuda"), "--gpus", "2", mentions="collectives")

    def test_every_strategy_plans_for_several_gpus(self):
        for strategy in ("optimal", "minimum-waste", "simple", "elixir"):
            with self.subTest(strategy):
                plan = self.plan("--gpus", "2", "--strategy", strategy, kind="cuda",
                                 machine="cuda-pair")
                self.assertEqual(plan["world"], 2)

    def test_unknown_strategy_and_sizes(self):
        self.fails(2, "EX0102", *self.inputs(), "--strategy", "optimum", mentions="optimal")
        self.fails(2, "EX0102", *self.inputs(), "--gpu-memory", "24G")
        self.fails(2, "EX0102", *self.inputs(), "--accumulation-steps", "0")

    def test_missing_files(self):
        self.fails(2, "EX0201", "--profile", "none.json", "--hardware", self.fake("cpu.json"))
        self.fails(2, "EX0201", "--profile", self.fake("cpu.profile.json"), "--hardware", "h999")

    def test_documents_of_another_kind(self):
        self.fails(2, "EX0210", "--profile", self.fake("cpu.json"), "--hardware",
                   self.fake("cpu.json"))
        self.fails(
            2, "EX0210", "--profile", self.fake("cpu.profile.json"), "--hardware",
            self.fake("cpu.profile.json")
        )

    def test_a_machine_without_a_needed_measurement(self):
        document = json.loads(self.fake("cpu.json").read_text(encoding="utf-8"))
        document["adam"]["cpu"] = []
        (self.directory / "slow.json").write_text(json.dumps(document), encoding="utf-8")
        arguments = ["--profile", self.fake("cpu.profile.json"), "--hardware", "./slow.json"]
        self.fails(2, "EX0207", *arguments, mentions="adam")

    def test_an_existing_plan_is_kept(self):
        (self.directory / "plan.json").write_text("mine", encoding="utf-8")
        # said first
        self.fails(2, "EX0201", "--profile", "none.json", "--hardware", self.fake("cpu.json"))
        self.fails(2, "EX0203", *self.inputs())
        self.assertEqual((self.directory / "plan.json").read_text(encoding="utf-8"), "mine")

    def test_an_unwritable_place(self):
        self.fails(2, "EX0204", *self.inputs(), "-o", "nowhere/plan.json")


if __name__ == "__main__":
    unittest.main()
