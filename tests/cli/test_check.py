# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-check: verdicts, who is responsible, annotations, JUnit, documents, exit codes; it maps no
LibTorch."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from xml.etree import ElementTree

from harness import CommonBehaviour, ToolTest, clean_environment, schema


class CheckTest(ToolTest):
    tool = "ELIXIR_CHECK"

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="elixir-check-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        subprocess.run([os.environ["WRITE_PROFILES"], cls.shared], check=True)
        cls.gpt = cls.shared / "gpt.profile.json"
        cls.bert = cls.shared / "bert.profile.json"
        cls.cpu = cls.shared / "cpu.profile.json"
        cls.grown = cls.shared / "grown/gpt.profile.json"
        cls.batch = cls.shared / "batch/gpt.profile.json"
        cls.measured = cls.shared / "measured.profile.json"
        cls.modelled = cls.shared / "modelled.profile.json"
        cls.old = cls.shared / "old.profile.json"
        cls.hostile = cls.shared / "hostile.profile.json"
        cls.memory = {path: json.loads(path.read_text(encoding="utf-8"))["memory"]
                      for path in cls.shared.rglob("*.json")}

    def peak(self, path):
        return self.memory[path]["peak_allocated_bytes"]

    def budget(self, name="budget.json", **members):
        document = {"schema": "elixir.budget", "schema_version": "1.0", **members}
        (self.directory / name).write_text(json.dumps(document, indent=2), encoding="utf-8")
        return name

    def checks(self, *arguments, code=0):
        """The result document and its checks by (file name, check)."""
        document = self.envelope(*arguments, code=code)["document"]
        return document, {
            (pathlib.Path(file["file"]).name, check["check"]): check
            for file in document["files"]
            for check in file["checks"]
        }


class Common(CommonBehaviour, CheckTest):
    pass


class Startup(CheckTest):
    def test_no_libtorch_is_mapped(self):
        for arguments in (["--help"], [self.gpt, "--max-process", "1TB"]):
            mapped = self.mapped_libraries(*arguments)
            self.assertTrue(any(name.startswith("libelixir-plan") for name in mapped), mapped)
            self.assertEqual(
                [name for name in mapped if "torch" in name or "c10" in name or "cuda" in name], [])


class Limits(CheckTest):
    def test_exactly_the_limit_passes_and_one_byte_less_fails(self):
        peak = self.peak(self.gpt)
        result = self.succeeds(self.gpt, "--max-peak-allocated", peak)
        self.assertEqual(result.err, "")
        self.assertTrue(result.out.endswith("within budget: 1 check of 1 file\n"), result.out)
        result = self.succeeds(self.gpt, "--max-peak-allocated", peak - 1, code=1)
        self.assertIn("over by 1 bytes", result.out)
        self.assertTrue(result.out.endswith("over budget: 1 of 1 check failed, in 1 of 1 file\n"),
                        result.out)
        self.assertEqual(result.err, "")

    def test_every_flag_limits_its_quantity(self):
        memory = self.memory[self.gpt]
        parameters = json.loads(self.gpt.read_text(encoding="utf-8"))["model"]["parameter_count"]
        for flag, value in {
            "--max-peak-allocated": memory["peak_allocated_bytes"],
            "--max-peak-reserved": memory["peak_reserved_bytes"],
            "--max-process": memory["process_peak_bytes"],
            "--max-activations": memory["activations_peak_bytes"],
            "--max-parameters": parameters,
        }.items():
            document, checks = self.checks(self.gpt, flag, value)
            self.assertEqual([check["value"] for check in checks.values()], [value], flag)
            document, checks = self.checks(self.gpt, flag, value - 1, code=1)
            self.assertEqual([check["overshoot"] for check in checks.values()], [1], flag)
            self.assertEqual(next(iter(checks.values()))["origin"]["flag"], flag)

    def test_several_files_are_all_checked(self):
        between = (self.peak(self.bert) + self.peak(self.gpt)) // 2
        result = self.succeeds(self.gpt, self.bert, self.grown, "--max-peak-allocated", between,
                               code=1)
        self.assertIn("over budget: 2 of 3 checks failed, in 2 of 3 files", result.out)
        document, checks = self.checks(self.gpt, self.bert, "--max-peak-allocated", between, code=1)
        self.assertEqual([file["failed"] for file in document["files"]], [True, False])
        self.assertEqual((document["within"], document["failed"], document["waived"]), (1, 1, 0))

    def test_over_budget_names_the_largest_modules_and_operators(self):
        result = self.succeeds(self.gpt, "--max-peak-allocated", "1MiB", code=1)
        self.assertIn("largest modules, at the peak:", result.out)
        self.assertRegex(result.out, r"MiB  h\.\*\.mlp \(3 alike\)\n")
        self.assertRegex(result.out, r"MiB  aten::mm in h\.\*\.mlp \(3 alike\)\n")
        document = self.envelope(self.gpt, "--max-peak-allocated", "1MiB", code=1)["document"]
        responsible = document["files"][0]["responsible"]
        self.assertEqual([list_["what"] for list_ in responsible], ["modules", "operators"])
        self.assertFalse(responsible[0]["grown"])

    def test_what_a_profile_does_not_have_fails(self):
        for flag in ("--max-peak-reserved", "--max-process"):
            result = self.succeeds(self.cpu, flag, "1TiB", code=1)
            self.assertIn("not known: the profile for target cpu has no", result.out)
        document, checks = self.checks(self.gpt, "--max-step-time", "10s", code=1)
        check = checks[("gpt.profile.json", "max_step_ns")]
        self.assertEqual((check["verdict"], check["value"]), ("not_known", None))
        self.assertIn("check a plan of the same program", check["reason"])

    def test_flags_go_before_the_budget(self):
        budget = self.budget(limits={"max_peak_allocated_bytes": 1, "max_parameters": "1B"})
        document, checks = self.checks(budget, self.gpt, "--max-peak-allocated", "1TB")
        self.assertEqual(checks[("gpt.profile.json", "max_peak_allocated_bytes")]["limit"], 10**12)
        self.assertEqual(checks[("gpt.profile.json", "max_parameters")]["origin"]["pointer"],
                         "/limits/max_parameters")

    def test_same_inputs_same_bytes(self):
        arguments = [self.grown, "--max-process", "1MiB", "--baseline", self.gpt, "--max-increase",
                     "1%", "--force"]
        first, second = (self.run_tool("--json", *arguments, "--junit", name)
                         for name in ("a.xml", "b.xml"))
        self.assertEqual(first.out, second.out)
        self.assertEqual((self.directory / "a.xml").read_bytes(),
                         (self.directory / "b.xml").read_bytes())


class Labels(CheckTest):
    def test_every_profile_says_how_certain_its_peaks_are(self):
        out = self.succeeds(self.gpt, self.measured, self.modelled, self.cpu, "--max-parameters",
                            "1B").out
        self.assertIn("  peak allocated is exact, workspaces included\n", out)
        self.assertRegex(out,
                         r"  peak allocated is measured: 2 of \d+ calls take the workspace that a "
                         r"library names")
        said = (
            r"  peak allocated is modelled: 3 of \d+ calls hold 4\.00 KiB of it; how far off it "
            r"may be is not known\n")
        self.assertRegex(out, said)
        self.assertIn("  measured: aten::convolution (2)\n", out)
        self.assertIn("  aten::sort.stable: no such call was recorded, and the peak may be more\n",
                      out)
        self.assertIn("  modelled: aten::sort.stable (2), aten::_fft_r2c\n", out)
        self.assertIn("\n  peaks on a CPU count tensors alone; what kernels take", out)
        document = self.envelope(self.gpt, self.modelled, self.cpu, "--max-parameters",
                                 "1B")["document"]
        labels = [file["certainty"] for file in document["files"]]
        self.assertEqual((labels[0]["modelled_calls"], labels[0]["modelled_operators"]), (0, []))
        self.assertEqual((labels[1]["measured_calls"], labels[1]["modelled_calls"]), (2, 3))
        self.assertIsNone(labels[2])

    def test_require_exact_accepts_neither_measured_nor_modelled_calls(self):
        self.succeeds(self.gpt, "--require", "exact")
        document, checks = self.checks(self.measured, "--require", "exact", code=1)
        self.assertEqual(checks[("measured.profile.json", "max_measured_calls")]["overshoot"], 2)
        self.assertEqual(checks[("measured.profile.json", "max_modelled_calls")]["verdict"],
                         "within")
        result = self.succeeds(self.modelled, "--require", "exact", code=1)
        self.assertIn("largest operators, modelled calls:", result.out)
        self.assertRegex(result.out,
                         r"\n +2  aten::sort\.stable in h\.0\.mlp\n +1  aten::_fft_r2c\n")
        self.assertIn("largest operators, measured calls:", result.out)
        self.assertRegex(result.out, r"\n +2  aten::convolution in h\.0\.mlp\n")

    def test_require_measured_accepts_measured_calls(self):
        self.succeeds(self.gpt, self.measured, "--require", "measured")
        document, checks = self.checks(self.gpt, self.modelled, "--require", "measured", code=1)
        self.assertEqual([file["failed"] for file in document["files"]], [False, True])
        check = checks[("modelled.profile.json", "max_modelled_calls")]
        self.assertEqual((check["value"], check["limit"], check["origin"]["flag"]),
                         (3, 0, "--require"))

    def test_require_modelled_accepts_all(self):
        for path in (self.modelled, self.old, self.cpu):
            self.succeeds(path, "--require", "modelled")
        self.fails(2, "EX0102", self.gpt, "--require", "certain", mentions="exact")

    def test_what_does_not_say_how_certain_it_is_fails(self):
        result = self.succeeds(self.old, "--require", "measured", code=1)
        self.assertIn(
            "the profile does not say how certain its peaks are; make it again with elixir-profile",
            result.out)
        document, checks = self.checks(self.cpu, "--require", "exact", code=1)
        check = checks[("cpu.profile.json", "max_modelled_calls")]
        self.assertEqual((check["verdict"], check["value"]), ("not_known", None))
        self.assertIn("count tensors alone", check["reason"])

    def test_a_budget_limits_modelled_calls_too(self):
        budget = self.budget(limits={"max_modelled_calls": 2})
        document, checks = self.checks(budget, self.modelled, self.gpt, code=1)
        self.assertEqual(checks[("modelled.profile.json", "max_modelled_calls")]["overshoot"], 1)
        self.assertEqual(checks[("gpt.profile.json", "max_modelled_calls")]["verdict"], "within")

    def test_a_budget_may_require_a_label(self):
        budget = self.budget(require="exact",
                             models=[{"files": "modelled*", "require": "modelled",
                                      "limits": {"max_parameters": "1B"}}])
        schema("budget").validate(json.loads((self.directory / budget).read_text(encoding="utf-8")))
        document, checks = self.checks(budget, self.gpt, self.measured, self.modelled, code=1)
        self.assertEqual([file["failed"] for file in document["files"]], [False, True, False])
        check = checks[("measured.profile.json", "max_measured_calls")]
        self.assertEqual((check["verdict"], check["origin"]["pointer"]), ("over", "/require"))
        # A flag goes before it.
        self.succeeds(budget, self.gpt, self.measured, "--require", "measured")
        self.fails(2, "EX0209", self.budget(require="certain"), self.gpt, mentions="/require")

    def test_an_increase_of_everything_leaves_labels_out(self):
        document, checks = self.checks(self.modelled, "--baseline", self.gpt, "--max-increase",
                                       "0%")
        self.assertNotIn(("modelled.profile.json", "max_increase_percent/modelled_calls"), checks)
        budget = self.budget(
            baseline={"path": str(self.gpt),
                      "max_increase_percent": {"modelled_calls": 0, "peak_allocated_bytes": 0}}
        )
        document, checks = self.checks(budget, self.modelled, code=1)
        self.assertEqual(checks[("modelled.profile.json",
                                 "max_increase_percent/modelled_calls")]["overshoot"], 3)

    def test_junit_and_annotations_name_the_calls(self):
        result = self.succeeds(self.modelled, "--require", "exact", "--format", "github", "--junit",
                               "out.xml", code=1)
        self.assertIn("::error", result.out)
        self.assertIn("aten::sort.stable", (self.directory / "out.xml").read_text(encoding="utf-8"))


class Budgets(CheckTest):
    def test_documents_are_told_apart_by_their_schema_in_any_order(self):
        budget = self.budget(limits={"max_peak_allocated_bytes": "1GiB"})
        for arguments in ([budget, self.gpt, self.bert], [self.gpt, budget, self.bert],
                          [self.gpt, self.bert, budget]):
            self.assertIn("within budget: 2 checks of 2 files", self.succeeds(*arguments).out)

    def test_the_origin_of_a_limit_is_its_line(self):
        budget = self.budget(limits={"max_parameters": 5, "max_peak_allocated_bytes": "1 MiB"})
        document, checks = self.checks(budget, self.gpt, code=1)
        origin = checks[("gpt.profile.json", "max_peak_allocated_bytes")]["origin"]
        self.assertEqual(
            origin,
            {"flag": None, "file": budget, "pointer": "/limits/max_peak_allocated_bytes", "line": 6}
        )

    def test_models_have_limits_of_their_own(self):
        budget = self.budget(
            limits={"max_peak_allocated_bytes": self.peak(self.gpt)},
            models=[{"files": "bert*.profile.json", "limits": {"max_peak_allocated_bytes": 1}}],
        )
        document, checks = self.checks(budget, self.gpt, self.bert, code=1)
        self.assertEqual(checks[("gpt.profile.json", "max_peak_allocated_bytes")]["verdict"],
                         "within")
        self.assertEqual(checks[("bert.profile.json", "max_peak_allocated_bytes")]["verdict"],
                         "over")

    def test_a_glob_that_matches_nothing_is_a_warning(self):
        budget = self.budget(limits={"max_parameters": "1B"},
                             models=[{"files": "brt*.json", "limits": {}}])
        result = self.succeeds(budget, self.bert)
        self.assertIn("no checked file matches `brt*.json`", result.err)
        self.assertIn("/models/0", result.err)

    def test_the_shipped_example_is_valid(self):
        document = json.loads((pathlib.Path(__file__).parents[2] / "examples/github/budget.json")
                              .read_text(encoding="utf-8"))
        schema("budget").validate(document)


class Baselines(CheckTest):
    def test_growth_is_found_and_blamed(self):
        arguments = [self.grown, "--baseline", self.gpt, "--max-increase", "2%"]
        result = self.succeeds(*arguments, code=1)
        self.assertIn("modules that grew most, at the peak:", result.out)
        self.assertRegex(result.out, r"\+\S+ KiB +0 B +\S+ KiB  h\.3\.mlp\n")
        self.assertRegex(result.out, r"aten::\w+ in h\.3\.\w+\n")
        document, checks = self.checks(*arguments, code=1)
        check = checks[("gpt.profile.json", "max_increase_percent/peak_allocated_bytes")]
        before, now = self.peak(self.gpt), self.peak(self.grown)
        self.assertEqual((check["baseline_value"], check["value"]), (before, now))
        self.assertEqual(check["limit"], before + before * 2 // 100)
        self.assertEqual(check["overshoot"], now - check["limit"])
        self.assertAlmostEqual(check["overshoot_percent"],
                               100 * (now - check["limit"]) / check["limit"])
        self.assertEqual(document["files"][0]["baseline"], str(self.gpt))
        self.assertEqual(
            {name.split("/")[1] for file, name in checks},
            {"peak_allocated_bytes", "peak_reserved_bytes", "process_bytes", "activations_bytes",
             "parameters"},
        )

    def test_within_the_increase_and_shrinking_pass(self):
        self.succeeds(self.grown, "--baseline", self.gpt, "--max-increase", "60%")
        self.succeeds(self.gpt, "--baseline", self.grown, "--max-increase", "0%")
        self.succeeds(self.gpt, "--baseline", self.gpt, "--max-increase", "0%")

    def test_a_directory_has_baselines_by_file_name(self):
        arguments = [self.gpt, self.bert, "--baseline", self.shared / "grown", "--max-increase",
                     "0%"]
        result = self.succeeds(*arguments)
        self.assertIn("waived: there is no baseline of it", result.out)
        self.assertRegex(result.err, "warning: `.*bert.profile.json` has no baseline")
        document, checks = self.checks(*arguments)
        self.assertEqual(checks[("bert.profile.json",
                                 "max_increase_percent/peak_allocated_bytes")]["verdict"], "waived")

    def test_the_budget_names_baselines_relative_to_itself(self):
        (self.directory / "ci").mkdir()
        (self.directory / "ci/main").mkdir()
        shutil.copy(self.gpt, self.directory / "ci/main")
        budget = self.budget("ci/budget.json",
                             baseline={"path": "main", "max_increase_percent": {"parameters": 0}})
        document, checks = self.checks(budget, self.grown, code=1)
        self.assertEqual(list(checks), [("gpt.profile.json", "max_increase_percent/parameters")])
        self.assertEqual(document["files"][0]["responsible"][0]["share"], "parameters")
        self.assertEqual(document["files"][0]["responsible"][0]["entries"][0]["name"], "h.3.mlp")

    def test_another_batch_is_a_warning(self):
        result = self.succeeds(self.batch, "--baseline", self.gpt, "--max-increase", "1%", code=1)
        self.assertIn("tokens int64[64], adamw before; tokens int64[128], adamw now", result.err)

    def test_other_answers_of_cudnn_are_a_warning(self):
        arguments = (self.shared / "asked.profile.json", "--baseline", self.gpt, "--max-increase",
                     "1%")
        err = self.succeeds(*arguments).err
        self.assertIn(
            "workspaces of convolutions from different sources: nobody was asked before; cuDNN "
            "9.19.0 now", err)
        self.assertNotIn("different sources", self.succeeds(self.gpt, *arguments[1:]).err)

    def test_limits_with_a_baseline_blame_growth(self):
        result = self.succeeds(self.grown, "--max-peak-allocated", "1MiB", "--baseline", self.gpt,
                               code=1)
        self.assertIn("modules that grew most", result.out)

    def test_baselines_that_do_not_go_with_their_document(self):
        increase = ["--max-increase", "2%"]
        self.fails(2, "EX0403", self.gpt, "--baseline", self.cpu, *increase,
                   mentions=["cpu", "cuda:sm_90"])
        self.fails(2, "EX0104", self.gpt, self.bert, "--baseline", self.hostile, *increase,
                   mentions="directory")
        self.fails(2, "EX0201", self.gpt, "--baseline", "none.json", *increase)
        budget = self.budget(limits={})
        self.fails(2, "EX0210", self.gpt, "--baseline", budget, *increase,
                   mentions="cannot be a baseline")


class Plans(CheckTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.search = cls.shared / "search"
        cls.search.mkdir()
        subprocess.run([os.environ["WRITE_FAKES"], cls.search], check=True)
        cls.profile = cls.search / "cpu.profile.json"
        cls.plan = cls.search / "plan.json"
        cls.small = cls.search / "small.plan.json"
        for path, more in ((cls.plan, []), (cls.small, ["--gpu-memory", "30MiB"])):
            subprocess.run(
                [os.environ["ELIXIR_SEARCH"], "--profile", cls.profile, "--hardware",
                 cls.search / "cpu.json", "-q", "-o", path, *more],
                check=True, stdout=subprocess.DEVNULL,
            )
        cls.predicted = json.loads(cls.plan.read_text(encoding="utf-8"))["predicted"]

    def test_step_time_and_memory_of_a_plan(self):
        step = self.predicted["step_ns"]
        limits = ["--max-peak-allocated", self.predicted["peak_allocated_bytes"]]
        limits += ["--max-host-memory", self.predicted["host_bytes"]]
        self.succeeds(self.plan, *limits, "--max-step-time", f"{step}ns")
        result = self.succeeds(self.plan, *limits, "--max-step-time", f"{step - 1}ns", code=1)
        self.assertIn("over by 1 ns", result.out)
        self.assertIn("largest streams, busy:", result.out)
        self.assertRegex(result.out, r" compute\n")

    def test_profile_and_plan_answer_for_each_other(self):
        limits = ["--max-step-time", "1h", "--max-parameters", "1B", "--max-peak-allocated", "1GiB"]
        result = self.succeeds(self.profile, self.plan, *limits)
        self.assertIn("waived: a plan of the same program answers it", result.out)
        self.assertIn("within budget: 4 checks of 2 files, 2 waived", result.out)
        # The plan of another program answers nothing.
        document, checks = self.checks(self.cpu, self.plan, "--max-step-time", "1h", code=1)
        self.assertEqual(checks[("cpu.profile.json", "max_step_ns")]["verdict"], "not_known")

    def test_a_plan_against_an_older_plan(self):
        arguments = [self.small, "--baseline", self.plan, "--max-increase", "0%"]
        document, checks = self.checks(*arguments, code=1)
        self.assertEqual(checks[("small.plan.json", "max_increase_percent/step_ns")]["verdict"],
                         "over")
        self.assertEqual(checks[("small.plan.json",
                                 "max_increase_percent/peak_allocated_bytes")]["verdict"], "within")
        self.assertIn("streams", [list_["what"] for list_ in document["files"][0]["responsible"]])

    def test_a_baseline_of_the_other_kind(self):
        self.fails(2, "EX0210", self.plan, "--baseline", self.profile, "--max-increase", "2%",
                   mentions="is a profile")
        # It is the profile's, then, and the plan has none.
        result = self.succeeds(self.profile, self.plan, "--baseline", self.profile,
                               "--max-increase", "2%")
        self.assertIn("has no baseline", result.err)


class Junit(CheckTest):
    def parsed(self, *arguments, code):
        self.succeeds(*arguments, "--junit", "out.xml", "--force", code=code)
        return ElementTree.parse(self.directory / "out.xml").getroot()

    def test_one_case_for_each_file_and_limit(self):
        between = (self.peak(self.bert) + self.peak(self.gpt)) // 2
        root = self.parsed(self.gpt, self.bert, "--max-peak-allocated", between, "--max-parameters",
                           "1B", code=1)
        self.assertEqual(root.tag, "testsuites")
        self.assertEqual(
            {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")},
            {"tests": "4", "failures": "1", "errors": "0", "skipped": "0"},
        )
        self.assertEqual([suite.get("name") for suite in root], [str(self.gpt), str(self.bert)])
        cases = list(root.iter("testcase"))
        self.assertEqual([case.get("name") for case in cases],
                         ["max_peak_allocated_bytes", "max_parameters"] * 2)
        failures = list(root.iter("failure"))
        self.assertEqual(len(failures), 1)
        self.assertRegex(failures[0].get("message"),
                         r"peak allocated: over by [\d,]+ bytes \(\S+ %\)")
        self.assertIn("largest modules, at the peak:", failures[0].text)
        self.assertIn("h.*.mlp (3 alike)", failures[0].text)

    def test_not_known_is_a_failure_and_waived_is_skipped(self):
        root = self.parsed(self.cpu, "--max-process", "1TiB", code=1)
        self.assertEqual(next(root.iter("failure")).get("type"), "not_known")
        arguments = [self.bert, "--baseline", self.shared / "grown", "--max-increase", "1%"]
        root = self.parsed(*arguments, code=0)
        self.assertIn("no baseline", next(root.iter("skipped")).get("message"))

    def test_hostile_names_are_only_text(self):
        name = 'a&b<c>"d\'\x1b]]>.profile.json'
        shutil.copy(self.hostile, self.directory / name)
        root = self.parsed(name, "--max-peak-allocated", "1MiB", code=1)
        self.assertEqual(root[0].get("name"), name.replace("\x1b", "\\x1b"))
        self.assertIn("::error::<&\"'>]]>\\x1b[31m%0A,:|`*", next(root.iter("failure")).text)
        self.assertEqual(len(list(root.iter())), 4)

    def test_existing_files_need_force_and_bad_places_are_found_first(self):
        limit = ["--max-parameters", "1B"]
        (self.directory / "out.xml").write_text("mine", encoding="utf-8")
        self.fails(2, "EX0203", self.gpt, *limit, "--junit", "out.xml", mentions="--force")
        self.assertEqual((self.directory / "out.xml").read_text(encoding="utf-8"), "mine")
        self.fails(2, "EX0204", "no-such-profile.json", *limit, "--junit", "nowhere/out.xml",
                   mentions="nowhere")
        self.fails(2, "EX0204", self.gpt, *limit, "--junit", "/proc/out.xml")
        self.fails(2, "EX0204", self.gpt, *limit, "--junit", ".")
        self.fails(4, "EX0702", self.gpt, *limit, "--junit", "/dev/full")

    def test_it_replaces_no_input(self):
        limit = ["--max-parameters", "1B", "--force"]
        for name in ("gpt.profile.json", "main/gpt.profile.json"):
            (self.directory / name).parent.mkdir(exist_ok=True)
            shutil.copy(self.gpt, self.directory / name)
        budget = self.budget(limits={"max_parameters": "1B"},
                             baseline={"path": "main", "max_increase_percent": "2%"})
        before = {path: path.read_bytes() for path in self.directory.rglob("*.json")}
        self.fails(2, "EX0104", "gpt.profile.json", *limit, "--junit", "./gpt.profile.json",
                   mentions="--junit would replace")
        for output in (budget, "main/gpt.profile.json"):
            self.fails(2, "EX0104", "gpt.profile.json", budget, "--force", "--junit", output,
                       mentions="--junit would replace")
        baseline = ["--baseline", "main", "--max-increase", "2%"]
        self.fails(2, "EX0104", "gpt.profile.json", *limit, *baseline, "--junit",
                   "main/gpt.profile.json", mentions="the baseline reads")
        self.assertEqual({path: path.read_bytes() for path in before}, before)

    def test_it_is_written_with_json_too(self):
        self.envelope(self.gpt, "--max-parameters", "1", "--junit", "out.xml", code=1)
        ElementTree.parse(self.directory / "out.xml")


class Github(CheckTest):
    COMMAND = re.compile(r"^::(error|warning) ((?:\w+=[^,:\n]*,?)*)::(.*)$")

    @staticmethod
    def unescaped(text):
        for escape, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"),
                                  ("%25", "%")):
            text = text.replace(escape, character)
        return text

    def annotations(self, text):
        """The commands that a runner would carry out: none between stop-commands and its token."""
        found, token = [], None
        for line in text.split("\n"):
            line = line.lstrip()
            if token is not None:
                if line == f"::{token}::":
                    token = None
            elif line.startswith("::stop-commands::"):
                token = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                match = self.COMMAND.match(line)
                self.assertTrue(match, line)
                properties = dict(part.split("=", 1) for part in match[2].split(","))
                found.append((match[1], {k: self.unescaped(v) for k, v in properties.items()},
                              self.unescaped(match[3])))
        self.assertIsNone(token, "commands stay stopped")
        return found

    def github(self, *arguments, code, **variables):
        return self.succeeds(*arguments, "--format", "github", code=code,
                             env=clean_environment(**variables)).out

    def test_a_failure_is_an_annotation_at_the_limit(self):
        budget = self.budget(limits={"max_peak_allocated_bytes": "1MiB"})
        found = self.annotations(self.github(budget, self.gpt, code=1))
        self.assertEqual(len(found), 1)
        level, properties, message = found[0]
        self.assertEqual(level, "error")
        self.assertEqual((properties["file"], properties["line"]), (budget, "5"))
        self.assertEqual(properties["title"], f"{self.gpt}: peak allocated is over budget")
        self.assertRegex(
            message, r"over by [\d,]+ bytes \(\S+ %\)\nlargest modules, at the peak: h\.\*\.mlp ")

    def test_a_flags_failure_is_at_the_checked_file(self):
        found = self.annotations(self.github(self.gpt, "--max-peak-allocated", "1MiB", code=1))
        self.assertEqual([(level, p["file"], "line" in p) for level, p, _ in found],
                         [("error", str(self.gpt), False)])

    def test_within_budget_has_no_annotation_but_the_text(self):
        text = self.github(self.gpt, "--max-parameters", "1B", code=0)
        self.assertEqual(self.annotations(text), [])
        self.assertIn("within budget: 1 check of 1 file", text)

    def test_hostile_names_are_no_commands(self):
        name = "a,b:c%0A\n::error::owned\r.profile.json"
        shutil.copy(self.hostile, self.directory / name)
        text = self.github(name, "--max-peak-allocated", "1MiB", code=1)
        self.assertNotIn("\r", text)
        self.assertNotIn("\x1b", text)
        found = self.annotations(text)
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0][1]["file"], name)
        self.assertIn("::error::<&", found[0][2])

    def test_more_than_github_shows_are_grouped(self):
        budget = self.budget(limits={f"max_{key}": 1 for key in (
            "peak_allocated_bytes", "peak_reserved_bytes", "process_bytes", "activations_bytes",
            "parameters")})
        files = [self.gpt, self.bert, self.grown]
        found = self.annotations(self.github(budget, *files, code=1))
        self.assertEqual(len(found), 10)
        self.assertEqual(found[-1][1]["title"], "6 more")
        self.assertEqual(len(found[-1][2].splitlines()), 6)

    def test_the_step_summary_is_appended(self):
        summary = self.directory / "summary.md"
        summary.write_text("before\n", encoding="utf-8")
        self.github(self.gpt, "--max-peak-allocated", "1MiB", code=1,
                    GITHUB_STEP_SUMMARY=str(summary))
        text = summary.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("before\n### elixir-check: over budget"), text)
        self.assertIn("| ❌ | peak allocated |", text)
        self.succeeds(self.gpt, "--max-peak-allocated", "1MiB", code=1,
                      env=clean_environment(GITHUB_STEP_SUMMARY=str(summary)))
        self.assertEqual(summary.read_text(encoding="utf-8"), text)

    def test_an_unwritable_step_summary_is_a_warning(self):
        result = self.succeeds(self.gpt, "--max-parameters", "1B", "--format", "github",
                               env=clean_environment(GITHUB_STEP_SUMMARY="/nowhere/summary.md"))
        self.assertIn("warning: cannot write the step summary", result.err)

    def test_json_and_format_exclude_each_other(self):
        arguments = [self.gpt, "--max-parameters", "1", "--format", "github"]
        document = self.envelope(*arguments, code=2)
        self.assertEqual([d["code"] for d in document["diagnostics"]], ["EX0104"])


class BadInput(CheckTest):
    LIMIT = ["--max-parameters", "1B"]

    def written(self, name, text):
        (self.directory / name).write_text(text, encoding="utf-8")
        return name

    def test_nothing_to_check(self):
        self.fails(2, "EX0103", mentions="FILE")
        self.fails(2, "EX0103", self.budget(limits={"max_parameters": 1}),
                   mentions="no profile or plan")

    def test_no_limits_at_all(self):
        self.fails(2, "EX0103", self.gpt, mentions=["no limit", "--max-peak-allocated"])
        self.fails(2, "EX0103", self.gpt, self.budget(limits={}), mentions="no limit for")
        self.fails(2, "EX0103", self.gpt, "--baseline", self.gpt, mentions="no limit")
        budget = self.budget(models=[{"files": "bert*", "limits": {"max_parameters": "1B"}}])
        self.fails(2, "EX0103", self.bert, self.gpt, budget, mentions="gpt.profile.json")

    def test_an_increase_without_a_baseline(self):
        self.fails(2, "EX0103", self.gpt, "--max-increase", "2%", mentions="--baseline")
        budget = self.budget(baseline={"max_increase_percent": 2})
        self.fails(2, "EX0103", self.gpt, budget, mentions="no baseline for")

    def test_unknown_keys_and_units(self):
        budget = self.budget(limits={"max_peak_alocated_bytes": 1})
        error = self.fails(2, "EX0208", budget, self.gpt,
                           mentions="did you mean `max_peak_allocated_bytes`?")
        self.assertIn("--> budget.json: /limits/max_peak_alocated_bytes (line 5)", error)
        budget = self.budget(limits={"max_process_bytes": "20G"})
        error = self.fails(2, "EX0209", budget, self.gpt, mentions="20GiB (1024) or 20GB (1000)")
        self.assertIn("--> budget.json: /limits/max_process_bytes (line 5)", error)
        budget = self.budget(limits={"max_step_ns": "3 fortnights"})
        self.fails(2, "EX0209", budget, self.gpt, mentions="ns us ms s min h")

    def test_flags_with_wrong_values(self):
        self.fails(2, "EX0102", self.gpt, "--max-process", "20G",
                   mentions="20GiB (1024) or 20GB (1000)")
        self.fails(2, "EX0102", self.gpt, "--max-step-time", "250", mentions="250ms")
        self.fails(2, "EX0102", self.gpt, "--max-parameters", "1G", mentions="1.3B")
        self.fails(2, "EX0102", self.gpt, *self.LIMIT, "--baseline", self.gpt, "--max-increase",
                   "2", mentions="2%")
        self.fails(2, "EX0102", self.gpt, *self.LIMIT, "--format", "gitlab", mentions="`github`")
        self.fails(2, "EX0101", self.gpt, "--max-peak", "1")

    def test_documents_of_other_kinds(self):
        other = self.written("hardware.json",
                             '{"schema": "elixir.hardware", "schema_version": "1.0"}')
        self.fails(2, "EX0210", other, *self.LIMIT, mentions=["elixir.hardware", "(line 1)"])
        self.fails(2, "EX0210", self.written("x.json", '{"a": 1}'), *self.LIMIT,
                   mentions="no `schema`")
        self.fails(2, "EX0210", self.written("x.json", "[1]"), *self.LIMIT)
        self.fails(2, "EX0210", self.written("x.json", '{"schema": 3}'), *self.LIMIT)
        later = self.gpt.read_text(encoding="utf-8").replace('"schema_version": "1.',
                                                             '"schema_version": "2.', 1)
        self.fails(2, "EX0210", self.written("x.json", later), *self.LIMIT, mentions="version `2.")

    def test_damaged_documents(self):
        text = self.gpt.read_text(encoding="utf-8")
        self.fails(2, "EX0205", self.written("x.json", text[: len(text) // 2]), *self.LIMIT,
                   mentions="x.json")
        self.fails(2, "EX0205", self.written("x.json", ""), *self.LIMIT)
        self.fails(2, "EX0205", self.written("x.json", "not JSON"), *self.LIMIT)
        changed = text.replace('"parameter_count": ', '"parameter_count": 1', 1)
        self.fails(2, "EX0209", self.written("x.json", changed), *self.LIMIT,
                   mentions="/model/parameter_count")
        huge = re.sub(r'"id":0,"bytes":\d+', '"id":0,"bytes":9223372036854775807', text, count=1)
        self.fails(2, "EX0209", self.written("x.json", huge), *self.LIMIT,
                   mentions="larger than any memory")
        huge = re.sub(r'"peak_allocated_bytes": \d+', '"peak_allocated_bytes": 9223372036854775807',
                      text, count=1)
        self.fails(2, "EX0209", self.written("x.json", huge), *self.LIMIT,
                   mentions="more than any memory")
        # One damaged file among good ones.
        self.fails(2, "EX0205", self.gpt, self.written("x.json", "{"), *self.LIMIT,
                   mentions="x.json")

    def test_missing_files_and_directories(self):
        self.fails(2, "EX0201", "gpt.profile.json", *self.LIMIT)
        self.fails(2, "EX0202", self.directory, *self.LIMIT)

    def test_what_is_given_twice(self):
        self.fails(2, "EX0104", self.gpt, self.gpt, *self.LIMIT, mentions="twice")
        first, second = self.budget("a.json",
                                    limits={"max_parameters": 1}), self.budget("b.json", limits={})
        self.fails(2, "EX0104", self.gpt, first, second, mentions="both budgets")


if __name__ == "__main__":
    unittest.main()
