# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-profile as a user runs it: its document, its answers to bad input, and the libraries it
maps."""
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import ROOT, CommonBehaviour, ToolTest, clean_environment, schema
from training import ROWS, TOKENS, save_traced, tiny_model


class ProfileTest(ToolTest):
    tool = "ELIXIR_PROFILE"
    shared = None

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="elixir-profile-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.model = cls.shared / "tiny.pt"
        save_traced(tiny_model(), cls.model)

    def profile(self, *arguments):
        return self.envelope(self.model, "--target", "cpu", *arguments)["document"]


class Common(CommonBehaviour, ProfileTest):
    pass


class Targets(ProfileTest):
    def fingerprint(self, target, **environment):
        return self.envelope(
            self.model, "--target", target, "-o", "x", "--force",
            env=clean_environment(**environment)
        )["document"]["fingerprint"]

    def test_cpu_is_this_machines_by_name(self):
        self.profile("-o", "here")
        target = json.loads((self.directory / "here").read_text(encoding="utf-8"))["target"]
        self.assertRegex(target, "^cpu:[a-z0-9_]+$")
        self.fingerprint("cpu", ONEDNN_MAX_CPU_ISA="SSE41")
        self.assertEqual(json.loads((self.directory / "x").read_text(encoding="utf-8"))["target"],
                         "cpu:sse41")

    def test_a_cpu_that_is_named_gives_the_same_program_everywhere(self):
        here = self.fingerprint("cpu:avx512_core_bf16")
        self.assertEqual(here, self.fingerprint("cpu:avx512_core_bf16", ONEDNN_MAX_CPU_ISA="SSE41"))
        self.assertNotEqual(here, self.fingerprint("cpu:avx2"))

    def test_unknown_cpus_and_gpus_are_refused(self):
        self.fails(2, "EX0102", self.model, "--target", "cpu:avx3", mentions="avx512_core_bf16")
        for target in ("cuda:sm_70", "cuda:sm_99"):
            self.fails(2, "EX0312", self.model, "--target", target,
                       mentions=[target, "cuda:sm_75", "cuda:sm_120"])

    def test_gpus_that_nobody_recorded_are_modelled(self):
        said = "follows LibTorch's sources: recorded on sm_90 only"
        for target in ("cuda:sm_80", "cuda:sm_120"):
            result = self.succeeds(self.model, "--target", target, "-o", "x", "--force",
                                   "--gpu-memory", "24GiB")
            self.assertIn(said, result.out)
            self.assertNotIn(said, result.err, "it would be there twice")
            self.assertRegex(result.err,
                             r"warning: the scratch memory of \d+ calls is modelled; why, .* below "
                             r"the peaks\n")
            self.assertRegex(result.out, r"\nallocated +[\d.,]+  modelled: \d+ of \d+ calls")
            self.assertRegex(result.out, r"\nreserved +[\d.,]+  modelled: ")
            self.assertRegex(result.out, r"peak reserved [\d.]+ MiB \(modelled\) leaves")
        self.assertNotIn(said, self.succeeds(self.model, "--target", "cuda:sm_90", "-o", "x",
                                             "--force").out)

    def test_gpus_that_nobody_recorded_are_modelled_wherever_a_label_is(self):
        import torch

        class Elementwise(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(16))

            def forward(self, x):
                return torch.exp(x * self.weight).sum()

        # Every call of it is exact by LibTorch's source.
        torch.jit.trace(Elementwise(), torch.randn(4, 16)).save(str(self.directory / "exp.pt"))
        for target, label in (("cuda:sm_90", "exact"), ("cuda:sm_80", "modelled")):
            answer = self.envelope("exp.pt", "--target", target, "-o", "x", "--force",
                                   "--gpu-memory", "24GiB")["document"]
            certainty = answer["memory"]["certainty"]
            self.assertEqual(certainty["modelled_calls"] == 0, label == "exact")
            self.assertEqual(answer["gpu_memory"]["largest_batch"]["certainty"].replace(
                "measured", "exact"), label)
            self.assertEqual(answer["gpu_memory"]["certainty"].replace("measured", "exact"), label)
            table = self.succeeds("exp.pt", "--target", target, "--batch", "2,4", "--force").out
            self.assertRegex(table, rf"\n +2 .* {label}(; how far off it may be is not known)?\n")

    def test_a_table_of_other_libraries_is_modelled_and_one_of_another_gpu_refused(self):
        import torch

        table = json.loads((ROOT / "profiles/workspaces/sm_90.json").read_text(encoding="utf-8"))
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 24, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.Linear(24 * 35 * 35, 1))

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                return self.net(x).sum()

        torch.jit.trace(Net(), torch.zeros(3, 3, 37, 37),
                        check_trace=False).save(str(self.directory / "net.pt"))
        queries = ("fwd fp32 nchw x=3,3,37,37 w=24,3,3,3 s=1,1 p=0,0 d=1,1 g=1",
                   "wgrad fp32 nchw x=3,3,37,37 w=24,3,3,3 s=1,1 p=0,0 d=1,1 g=1")
        table["queries"] = [{"query": query, "bytes": 4096} for query in queries]
        (self.directory / "workspaces").mkdir()
        path = self.directory / "workspaces/sm_90.json"
        environment = clean_environment(ELIXIR_PROFILES=str(self.directory))

        def profile(**changes):
            path.write_text(json.dumps({**table, **changes}), encoding="utf-8")
            return self.envelope("net.pt", "-o", "x", "--force", env=environment)

        same = profile()["document"]["memory"]["certainty"]
        self.assertEqual(same["measured_calls"], 2)
        result = profile(libraries="LibTorch 2.10.0+cu128, cuDNN 9.10")
        certainty = result["document"]["memory"]["certainty"]
        self.assertEqual((certainty["measured_calls"], certainty["modelled_calls"]),
                         (0, same["modelled_calls"] + 2))
        for text in (" ".join(certainty["reasons"]), json.dumps(result["diagnostics"])):
            self.assertIn(
                "recorded with LibTorch 2.10.0+cu128, cuDNN 9.10, and the prediction is for "
                "LibTorch 2.11.0", text)
        path.write_text(json.dumps({**table, "target": "cuda:sm_80"}), encoding="utf-8")
        self.fails(2, "EX0209", "net.pt", "-o", "x", "--force", mentions=["/target", "cuda:sm_80"],
                   env=environment)


class Documents(ProfileTest):
    def test_profile_is_written_where_one_works_and_is_valid(self):
        document = self.profile()
        self.assertEqual(self.files(), ["tiny.profile.json"])
        profile = json.loads((self.directory / "tiny.profile.json").read_text(encoding="utf-8"))
        schema("profile").validate(profile)
        self.assertEqual(document["fingerprint"], profile["model"]["fingerprint"])
        self.assertEqual(document["memory"], profile["memory"])
        self.assertEqual([i["tensor"]["sizes"] for i in profile["inputs"]], [[ROWS, TOKENS]])
        tied = [p for p in profile["model"]["parameters"] if len(p["names"]) > 1]
        self.assertEqual([sorted(p["names"]) for p in tied], [["head.weight", "wte.weight"]])

    def test_same_inputs_same_bytes_apart_from_meta(self):
        texts = []
        for name in ("a", "b"):
            self.profile("-o", name)
            profile = json.loads((self.directory / name).read_text(encoding="utf-8"))
            del profile["meta"]
            texts.append(json.dumps(profile))
        self.assertEqual(texts[0], texts[1])

    def test_batch_replaces_the_first_dimension_and_changes_the_fingerprint(self):
        small = self.profile("-o", "small")
        large = self.profile("--batch", "8", "-o", "large")
        profile = json.loads((self.directory / "large").read_text(encoding="utf-8"))
        self.assertEqual([i["tensor"]["sizes"] for i in profile["inputs"]], [[8, TOKENS]])
        self.assertNotEqual(small["fingerprint"], large["fingerprint"])
        self.assertGreater(large["memory"]["activations_peak_bytes"],
                           small["memory"]["activations_peak_bytes"])

    def test_the_screen_goes_to_stdout_and_names_the_file(self):
        result = self.succeeds(self.model, "--target", "cpu")
        self.assertIn("tiny.profile.json", result.out)


class Signals(ProfileTest):
    def test_a_model_that_never_ends_ends_within_two_seconds(self):
        import torch

        class Endless(torch.nn.Module):
            def forward(self, x):
                while True:
                    x = x + 1.0
                return x.sum()

        torch.jit.script(Endless()).save(str(self.directory / "endless.pt"))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.start("endless.pt", "--target", "cpu", "--input", "x:float32[2]")
            time.sleep(3)  # inside the model; a signal before is no other answer
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=5), code)
            self.assertEqual(self.files(), ["endless.pt"])


class Inputs(ProfileTest):
    def test_a_model_that_is_not_there_may_be_another(self):
        shutil.copy(self.model, self.directory / "tiny.pt")
        self.fails(2, "EX0201", "tinny.pt",
                   mentions=["cannot open the model", "did you mean `tiny.pt`?"])

    def test_a_batch_beyond_any_memory_names_its_flag(self):
        self.fails(2, "EX0303", self.model, "--target", "cpu", "--batch", "9999999999999999",
                   mentions="with --batch or --input")


class Reports(ProfileTest):
    def test_page_and_snapshot_are_written_beside_the_profile(self):
        document = self.profile("--html", "tiny.html", "--snapshot", "tiny.pickle")
        self.assertEqual(self.files(), ["tiny.html", "tiny.pickle", "tiny.profile.json"])
        self.assertEqual((document["html"], document["snapshot"]), ("tiny.html", "tiny.pickle"))
        page = (self.directory / "tiny.html").read_text(encoding="utf-8")
        self.assertIn("<title>tiny.pt", page)
        self.assertIn("blocks.1", page)
        self.assertIn(document["fingerprint"], page)
        with open(self.directory / "tiny.pickle", "rb") as file:
            snapshot = pickle.load(file)
        modules = {e["frames"][0]["filename"] for e in snapshot["device_traces"][0]
                   if e["action"] == "alloc"}
        self.assertLessEqual({"blocks.0", "blocks.1", "blocks.2", "norm"}, modules)

    def test_without_the_flags_there_are_none(self):
        document = self.profile()
        self.assertEqual((document["html"], document["snapshot"], document["gpu_memory"]),
                         (None, None, None))

    def test_the_same_page_every_time(self):
        for name in ("a.html", "b.html"):
            self.profile("--html", name, "--force")
        self.assertEqual((self.directory / "a.html").read_bytes(),
                         (self.directory / "b.html").read_bytes())

    def test_outputs_are_checked_before_the_work(self):
        (self.directory / "old.html").write_bytes(b"old")
        self.fails(2, "EX0203", self.model, "--html", "old.html", mentions="--force")
        self.fails(2, "EX0204", self.model, "--snapshot", "no/such/place")
        self.fails(2, "EX0104", self.model, "--html", "x", "--snapshot", "x", mentions="same file")
        self.fails(2, "EX0104", self.model, "--html", "tiny.profile.json")
        self.assertEqual((self.directory / "old.html").read_bytes(), b"old")
        for flag in ("--html", "--snapshot"):
            self.fails(2, "EX0203", self.model, flag, "old.html",
                       mentions=f"choose another name with {flag}")
            self.fails(2, "EX0204", self.model, flag, "/proc/x", mentions="/proc/x")
        self.assertEqual(self.files(), ["old.html"])


class Fits(ProfileTest):
    def answer(self, *arguments, code):
        return self.envelope(self.model, "--target", "cpu", "--force", *arguments,
                             code=code)["document"]

    def test_yes_and_no_to_the_byte(self):
        peak = self.profile("--force")["memory"]["peak_allocated_bytes"]
        exactly = self.answer("--gpu-memory", peak, code=0)["gpu_memory"]
        self.assertEqual((exactly["fits"], exactly["margin_bytes"], exactly["compared"]),
                         (True, 0, "allocated"))
        less = self.answer("--gpu-memory", peak - 1, code=1)["gpu_memory"]
        self.assertEqual((less["fits"], less["margin_bytes"], less["peak_bytes"]),
                         (False, -1, peak))
        result = self.run_tool(self.model, "--target", "cpu", "--force", "--gpu-memory", "1GiB")
        self.assertRegex(result.out, r"fits 1\.00 GiB: peak allocated [\d.]+ KiB leaves")
        self.assertIn("the process takes more", result.out)

    def test_the_largest_batch_is_the_last_that_fits(self):
        limit = self.answer("--batch", "11", code=0)["memory"]["peak_allocated_bytes"] + 100
        for start in ("1", "2", "11", "40"):
            code = 1 if start == "40" else 0
            found = self.answer("--batch", start, "--gpu-memory", limit,
                                code=code)["gpu_memory"]["largest_batch"]
            self.assertEqual(found["batch"], 11)
            self.assertEqual(found["peak_bytes"], limit - 100)
            following = self.answer("--batch", "12", code=0)["memory"]["peak_allocated_bytes"]
            self.assertEqual(found["next_peak_bytes"], following)

    def test_nothing_fits(self):
        found = self.answer("--gpu-memory", "1KiB", code=1)["gpu_memory"]["largest_batch"]
        self.assertEqual((found["batch"], found["next_peak_bytes"]), (0, None))
        result = self.succeeds(self.model, "--target", "cpu", "--force", "--gpu-memory", "1KiB",
                               code=1)
        self.assertIn("does not fit 1.00 KiB", result.out)
        self.assertIn("largest batch: none; a batch of 1 takes", result.out)

    def test_a_graph_with_a_fixed_batch_is_answered_for_that_batch(self):
        import torch

        class Fixed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(8, 8)

            def forward(self, x):
                return self.layer(x).view(3, 8).sum()

        torch.jit.trace(Fixed(), torch.zeros(3, 8),
                        check_trace=False).save(str(self.directory / "fixed.pt"))
        document = self.envelope("fixed.pt", "--target", "cpu", "--gpu-memory", "1GiB")["document"]
        self.assertTrue(document["gpu_memory"]["fits"])
        self.assertIsNone(document["gpu_memory"]["largest_batch"])
        result = self.succeeds("fixed.pt", "--target", "cpu", "--gpu-memory", "1GiB", "--force")
        self.assertIn("largest batch: not known (the model rejects other batch sizes", result.out)


class Sweeps(ProfileTest):
    def test_a_row_and_a_profile_for_each_size(self):
        result = self.succeeds(self.model, "--target", "cpu", "--batch", "1,2,8")
        names = [f"tiny.b{n}.profile.json" for n in (1, 2, 8)]
        self.assertEqual(self.files(), sorted(names))
        rows = re.findall(r"^ +(\d+) +([\d.,]+) +([\d.,]+) +- +- +of tensors$", result.out,
                          re.MULTILINE)
        self.assertEqual([row[0] for row in rows], ["1", "2", "8"])
        peaks = []
        for name, (batch, _, allocated) in zip(names, rows):
            profile = json.loads((self.directory / name).read_text(encoding="utf-8"))
            schema("profile").validate(profile)
            self.assertEqual(profile["inputs"][0]["tensor"]["sizes"], [int(batch), TOKENS])
            peaks.append(profile["memory"]["peak_allocated_bytes"])
            self.assertAlmostEqual(float(allocated.replace(",", "")), peaks[-1] / 1024, delta=0.051)
        self.assertEqual(peaks, sorted(set(peaks)))

    def test_the_profiles_are_those_of_single_runs(self):
        document = self.profile("--batch", "3,5")
        single = self.profile("--batch", "5", "-o", "five.json")
        five = document["batches"][1]
        self.assertEqual((five["batch"], five["fingerprint"], five["memory"]),
                         (5, single["fingerprint"], single["memory"]))
        self.assertIsNone(five["fits"])
        self.assertIsNone(document["gpu_memory"])

    def test_says_which_fit(self):
        peaks = [b["memory"]["peak_allocated_bytes"]
                 for b in self.profile("--batch", "2,4,6")["batches"]]
        arguments = (self.model, "--target", "cpu", "--batch", "2,4,6", "--force", "--gpu-memory")
        document = self.envelope(*arguments, peaks[1], code=1)["document"]
        self.assertEqual([b["fits"] for b in document["batches"]], [True, True, False])
        self.assertEqual(document["gpu_memory"]["largest_batch"]["batch"], 4)
        self.assertEqual(document["gpu_memory"]["peak_bytes"], peaks[2])
        self.assertTrue(
            all(b["fits"] for b in self.envelope(*arguments, peaks[2])["document"]["batches"]))

    def test_the_verdict_names_its_batch(self):
        peaks = [b["memory"]["peak_allocated_bytes"]
                 for b in self.profile("--batch", "2,4")["batches"]]
        arguments = (self.model, "--target", "cpu", "--batch", "4,2", "--force", "--gpu-memory")
        said = self.succeeds(*arguments, peaks[0], code=1).out
        self.assertRegex(
            said, r"\na batch of 4, which takes most, does not fit .*\n(.*\n)?largest batch: 2 ")
        self.assertIn("\na batch of 4, which takes most, fits ",
                      self.succeeds(*arguments, "1GiB").out)
        self.assertEqual(self.envelope(*arguments, "1GiB")["document"]["gpu_memory"]["batch"], 4)
        self.assertIn("of several batches, not all do",
                      " ".join(self.succeeds("--help").out.split()))

    def test_each_reason_is_said_once_with_its_batches(self):
        import torch

        class Pools(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(8, 8)

            def forward(self, x):
                if x.shape[0] > 2:  # a sort is modelled
                    x = torch.sort(x, -1)[0]
                return self.layer(x).pow(2).sum()

        torch.jit.script(Pools()).save(str(self.directory / "pools.pt"))
        arguments = ("pools.pt", "--input", "x:float32[2,8]", "--target", "cuda:sm_90", "--batch")
        err = self.succeeds(*arguments, "2,3,4", "--force").err
        self.assertEqual(err.count("aten::sort: no such call was recorded"), 1, err)
        self.assertIn("batches of 3 and 4: scratch memory is modelled: aten::sort", err)
        self.assertIn("a batch of 4: scratch memory is modelled: aten::sort",
                      self.succeeds(*arguments, "2,4", "--force").err)

    def test_one_file_cannot_hold_several(self):
        for flag in ("-o", "--html", "--snapshot"):
            self.fails(2, "EX0104", self.model, "--batch", "1,2", flag, "x", mentions=flag)
        self.fails(2, "EX0102", self.model, "--batch", "2,2", mentions="twice")

    def test_existing_profiles_are_refused_before_the_work(self):
        (self.directory / "tiny.b2.profile.json").write_bytes(b"old")
        self.fails(2, "EX0203", self.model, "--batch", "1,2", mentions="tiny.b2.profile.json")


class Labels(ProfileTest):
    """The tiny model has calls that were recorded alone; a sort was never recorded."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import torch

        class Sorts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(8, 8)

            def forward(self, x):
                return self.layer(torch.sort(x, -1)[0]).pow(2).sum()

        cls.sorts = cls.shared / "sorts.pt"
        torch.jit.trace(Sorts(), (torch.randn(4, 8),)).save(str(cls.sorts))

    def labels(self, model, target):
        document = self.envelope(model, "--target", target, "-o", "x", "--force")["document"]
        return document["memory"]["certainty"]

    def test_each_call_has_a_label_in_the_document(self):
        labels = self.labels(self.sorts, "cuda:sm_90")
        sort = {"name": "aten::sort", "calls": 1, "known_bytes": 0,
                "modules": [{"path": "", "calls": 1}]}
        self.assertEqual(labels["modelled_operators"], [sort])
        self.assertEqual(set(labels["may_be_off"].values()), {None})
        self.assertEqual((labels["modelled_calls"], labels["modelled_bytes_at_peak"]), (1, 0))
        profile = json.loads((self.directory / "x").read_text(encoding="utf-8"))
        schema("profile").validate(profile)
        self.assertEqual(profile["memory"]["certainty"], labels)
        self.assertEqual(labels["exact_calls"] + labels["modelled_calls"],
                         len(profile["operators"]))
        self.assertIsNone(self.labels(self.sorts, "cpu"))

    def test_evidence_is_of_one_gpu(self):
        recorded, other = (self.labels(self.model, target)
                           for target in ("cuda:sm_90", "cuda:sm_80"))
        self.assertLess(recorded["modelled_calls"], other["modelled_calls"])

    def test_every_peak_on_the_screen_says_its_label(self):
        result = self.run_tool(self.sorts, "--batch", "2,4", "--gpu-memory", "24GiB")
        self.assertRegex(result.out,
                         r"\n +2 .* modelled; how far off it may be is not known +[\d.,]+\n +4 .* "
                         r"modelled; ")
        self.assertRegex(result.out, r"peak process [\d.]+ MiB \(modelled\) leaves")
        self.assertRegex(result.out, r"largest batch: [\d,]+ \([\d.]+ GiB, modelled; ")
        self.assertEqual(result.err.count(
            "all batches: scratch memory is modelled: aten::sort: no such call was recorded"), 1)
        document = self.envelope(self.sorts, "--gpu-memory", "24GiB")["document"]["gpu_memory"]
        self.assertEqual((document["certainty"], document["largest_batch"]["certainty"]),
                         ("modelled", "modelled"))
        screen = self.run_tool(self.sorts, "--force").out
        self.assertRegex(screen,
                         r"\nallocated +[\d.,]+  modelled: one of \d+ calls holds 0 B of it; how "
                         r"far off it may be is not known\n")
        self.assertRegex(screen, r"\nreserved +[\d.,]+  modelled: ")
        self.assertRegex(screen, r"\nprocess +[\d.,]+  modelled: ")
        self.assertIn("\n  aten::sort: no such call was recorded, and the peak may be more\n",
                      screen)
        page = self.directory / "page.html"
        self.succeeds(self.sorts, "--force", "--html", page)
        self.assertEqual(page.read_text(encoding="utf-8").count("<small>modelled: "), 3)


class OptimizerForms(ProfileTest):
    def test_a_form_is_in_the_document_and_on_the_screen(self):
        result = self.succeeds(self.model, "--optimizer-form", "torch-fused", "-o", "x")
        self.assertIn("optimizer adamw (torch-fused)", result.out)
        profile = json.loads((self.directory / "x").read_text(encoding="utf-8"))
        schema("profile").validate(profile)
        self.assertEqual((profile["schema_version"], profile["optimizer_form"]),
                         ("1.6", "torch-fused"))
        self.succeeds(self.model, "-o", "y")
        elixir = json.loads((self.directory / "y").read_text(encoding="utf-8"))
        self.assertEqual(profile["memory"]["certainty"]["exact_calls"],
                         elixir["memory"]["certainty"]["exact_calls"] + 1)

    def test_updates_that_cannot_run_are_refused(self):
        import torch

        class Turns(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.phase = torch.nn.Parameter(torch.ones(16, dtype=torch.complex64))

            def forward(self, x):
                return torch.view_as_real(self.phase * x).square().sum()

        torch.jit.trace(Turns(), torch.randn(4, 16)).save(str(self.directory / "turns.pt"))
        for optimizer, form in (("adafactor", "torch-loop"), ("adamw", "torch-fused"),
                                ("sgd-momentum", "torch-fused")):
            arguments = ("--optimizer", optimizer, "--optimizer-form", form)
            self.fails(2, "EX0104", "turns.pt", *arguments, mentions=["complex", "phase"])
        labels = self.envelope("turns.pt", "--optimizer-form",
                               "torch-foreach")["document"]["memory"]["certainty"]
        self.assertIn("torch.optim's update", [op["name"] for op in labels["modelled_operators"]])

    def test_the_peak_may_be_in_the_update(self):
        import torch

        layers = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))

        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                return self.layers(x).sum()

        wide = self.directory / "wide.pt"
        torch.jit.trace(Loss(), (torch.randn(1, 512),)).save(str(wide))
        result = self.succeeds(wide, "--optimizer-form", "torch-foreach", "--html", "page.html")
        self.assertIn("reached while the optimizer updates parameters", result.out)
        self.assertIn("the optimizer's update", result.out)
        self.assertIn("while the optimizer updates parameters",
                      (self.directory / "page.html").read_text(encoding="utf-8"))

    def test_momentum_is_predicted_but_not_planned(self):
        self.fails(2, "EX0104", self.model, "--optimizer", "sgd-momentum",
                   mentions="--optimizer-form torch-foreach")
        plain, momentum = (
            self.envelope(self.model, "--optimizer", name, "--optimizer-form", "torch-foreach",
                          "-o", "x", "--force")
            ["document"]["memory"]["optimizer_bytes"] for name in ("sgd", "sgd-momentum"))
        self.assertEqual(plain, 0)
        self.assertGreater(momentum, 0)

    def test_adafactor_is_predicted_but_not_planned(self):
        self.fails(2, "EX0104", self.model, "--optimizer", "adafactor",
                   mentions="--optimizer-form torch-loop")
        self.fails(2, "EX0104", self.model, "--optimizer", "adafactor", "--optimizer-form",
                   "torch-fused", mentions="torch-loop")
        memory = self.envelope(self.model, "--target", "cuda:sm_90", "--optimizer", "adafactor",
                               "--optimizer-form", "torch-loop", "-o", "x")["document"]["memory"]
        self.assertGreater(memory["optimizer_bytes"], 0)
        self.assertLess(memory["optimizer_bytes"], memory["parameters_bytes"],
                        "a row and a column of each matrix")
        self.assertNotIn("torch.optim's update",
                         [op["name"] for op in memory["certainty"]["modelled_operators"]])

    def test_rmsprop_and_adagrad_are_predicted_but_not_planned(self):
        for name, torch_name in (("rmsprop", "RMSprop"), ("adagrad", "Adagrad")):
            self.fails(2, "EX0104", self.model, "--optimizer", name,
                       mentions=f"torch.optim.{torch_name}: --optimizer-form torch-foreach")
            self.fails(2, "EX0104", self.model, "--optimizer", name, "--optimizer-form",
                       "torch-fused", mentions=f"torch.optim.{torch_name} has no fused form")
            memory = self.envelope(self.model, "--target", "cuda:sm_90", "--optimizer", name,
                                   "--optimizer-form", "torch-loop", "-o", "x",
                                   "--force")["document"]["memory"]
            self.assertGreaterEqual(memory["optimizer_bytes"], memory["parameters_bytes"])
            self.assertNotIn("torch.optim's update",
                             [op["name"] for op in memory["certainty"]["modelled_operators"]])

    def test_clipping_is_counted_for_torch_alone(self):
        self.fails(2, "EX0104", self.model, "--clip-norm", "1",
                   mentions="--optimizer-form torch-foreach")
        error = self.fails(2, "EX0104", self.model, "--optimizer", "none", "--optimizer-form",
                           "torch-foreach", "--clip-norm", "1",
                           mentions="with --optimizer none there is none")
        self.assertNotIn("for torch.optim", error)
        result = self.succeeds(self.model, "--optimizer-form", "torch-fused", "--clip-norm", "1",
                               "-o", "x")
        self.assertIn("optimizer adamw (torch-fused, clip_grad_norm_)", result.out)
        profile = json.loads((self.directory / "x").read_text(encoding="utf-8"))
        schema("profile").validate(profile)
        self.assertTrue(profile["clips_gradients"])
        self.succeeds(self.model, "--clip-norm", "0", "-o", "y")
        self.assertFalse(
            json.loads((self.directory / "y").read_text(encoding="utf-8"))["clips_gradients"])


class Reserved(ProfileTest):
    def memory(self, *arguments):
        return self.envelope(self.model, "--target", "cuda:sm_90", *arguments,
                             "--force")["document"]["memory"]

    def test_reserved_is_modelled_for_cuda_alone(self):
        cuda = self.memory()
        self.assertGreaterEqual(cuda["peak_reserved_bytes"], cuda["peak_allocated_bytes"])
        self.assertEqual(cuda["peak_reserved_bytes"] % (2 << 20), 0)
        self.assertGreater(cuda["process_peak_bytes"], cuda["peak_reserved_bytes"])
        self.assertIsNone(self.profile("--force")["memory"]["peak_reserved_bytes"])

    def test_nccl_is_part_of_the_process(self):
        alone, two, eight = self.memory(), self.memory("--gpus", "2"), self.memory("--gpus", "8")
        self.assertGreater(two["process_peak_bytes"], alone["process_peak_bytes"])
        self.assertEqual(two["peak_reserved_bytes"], alone["peak_reserved_bytes"])
        self.assertIsNone(eight["process_peak_bytes"])
        self.assertIn("NCCL's with 2 GPUs", self.succeeds(self.model, "--target", "cuda:sm_90",
                                                          "-o", "x", "--gpus", "2").out)
        eight_text = self.succeeds(self.model, "--target", "cuda:sm_90", "-o", "y", "--gpus",
                                   "8").out
        self.assertIn("what NCCL takes has not been measured with 8 GPUs", eight_text)
        self.fails(2, "EX0104", self.model, "--target", "cpu", "--gpus", "2", mentions="--gpus")
        self.fails(2, "EX0104", self.model, "--target", "cuda:sm_90", "--measure", "--gpus", "2",
                   mentions="--gpus")

    def test_reserved_follows_the_allocator_configuration(self):
        default = self.memory()
        expandable = self.memory("--allocator", "expandable_segments:True")
        self.assertNotEqual(default["peak_reserved_bytes"], expandable["peak_reserved_bytes"])
        # Expandable segments split every block, so that none counts more than was asked for.
        self.assertGreaterEqual(default["peak_allocated_bytes"], expandable["peak_allocated_bytes"])

    def test_the_environment_is_not_read(self):
        os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
        self.addCleanup(os.environ.pop, "PYTORCH_ALLOC_CONF")
        self.assertEqual(self.memory(), self.memory("--allocator", ""))

    def test_bad_configurations(self):
        self.fails(2, "EX0106", self.model, "--allocator", "max_split_size:64",
                   mentions="max_split_size_mb")
        self.fails(2, "EX0106", self.model, "--allocator", "backend:cudaMallocAsync",
                   mentions="native")
        self.fails(2, "EX0104", self.model, "--target", "cpu", "--allocator", "",
                   mentions="--allocator")


def has_gpu():
    return (shutil.which("nvidia-smi") is not None
            and subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0)


class Measured(ProfileTest):
    def test_without_a_gpu_there_is_nothing_to_measure_on(self):
        if has_gpu():
            self.skipTest("there is a GPU")
        self.fails(3, "EX0601", self.model, "--measure", mentions="no GPU to measure on")
        self.assertNotIn("warning",
                         self.fails(3, "EX0601", self.model, "--measure", "--target", "cuda:sm_80"))

    def test_what_contradicts_itself(self):
        self.fails(2, "EX0104", self.model, "--measure", "--target", "cpu", mentions="--measure")
        self.fails(2, "EX0104", self.model, "--measure", "--batch", "1,2", mentions="--batch")

    def test_an_update_of_torch_is_predicted_alone(self):
        self.fails(2, "EX0104", self.model, "--measure", "--optimizer-form", "torch-foreach",
                   mentions="--optimizer-form")

    def test_a_helper_that_is_not_there(self):
        alone = self.directory / "bin"
        alone.mkdir()
        tool = alone / "elixir-profile"
        shutil.copy(os.environ["ELIXIR_PROFILE"], tool)
        for missing in ("elixir-capture", "elixir-measure-step"):
            result = subprocess.run([tool, self.model, "--measure"], capture_output=True, text=True,
                                    cwd=self.directory,
                                    env={**os.environ,
                                         "LD_LIBRARY_PATH": os.environ["ELIXIR_LIBRARIES"]})
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("EX0604", result.stderr)
            self.assertIn(f"libexec/elixir/{missing}", result.stderr)
            helper = pathlib.Path(os.environ["ELIXIR_PROFILE"]).parent / missing
            (alone / missing).symlink_to(helper)

    def test_a_gpu_takes_what_was_predicted(self):
        if not has_gpu():
            self.skipTest("no GPU")
        measured = self.envelope(self.model, "--measure")["document"]["measured"]
        for how in ("autograd", "replay"):
            self.assertIsNone(measured[how]["parts_at"], how)
            for peak in ("peak_allocated_bytes", "peak_reserved_bytes"):
                self.assertEqual(measured[how]["predicted"][peak], measured[how]["measured"][peak],
                                 how)


class Recomputation(ProfileTest):
    def test_an_h200_has_bytes_and_modelled_times(self):
        # Its layers have most of the activations; those of self.model have less than the logits.
        model = self.directory / "eight.pt"
        save_traced(tiny_model(vocabulary=32, layers=8), model)
        saved = self.envelope(model, "--target", "cuda:sm_90")["document"]["recomputation"]
        self.assertEqual((saved["blocks"], saved["hardware"]), (8, "h200"))
        self.assertGreater(saved["modelled_operators_ns"], 0)
        choices = {point["choice"]: point for point in saved["points"]}
        self.assertLessEqual({"elementwise", "blocks"}, set(choices))
        for point in saved["points"]:
            self.assertEqual(point["saved_bytes"],
                             saved["nothing"]["kept_bytes"] - point["kept_bytes"])
            self.assertGreater(point["saved_bytes"], 0)
            self.assertAlmostEqual(
                point["modelled_percent"],
                100 * point["modelled_recompute_ns"] / saved["modelled_operators_ns"]
            )
        kept = [point["kept_bytes"] for point in saved["points"]]
        self.assertEqual(kept, sorted(kept, reverse=True))
        out = self.succeeds(model, "--target", "cuda:sm_90", "--force").out
        self.assertRegex(out, r"\nrecomputing +saved +time, modelled +kept +peak allocated\n")
        self.assertRegex(out, r"\nnorms and elementwise +-[\d.]+ +\+[\d.]+ ")
        self.assertIn("time: modelled with the figures of h200", out)

    def test_other_targets_have_bytes_and_no_times(self):
        for target in ("cpu:avx2", "cuda:sm_80"):
            saved = self.envelope(self.model, "--target", target,
                                  "--force")["document"]["recomputation"]
            self.assertEqual((saved["hardware"], saved["modelled_operators_ns"]), (None, None))
            self.assertTrue(saved["points"])
            for point in saved["points"]:
                self.assertEqual((point["modelled_recompute_ns"], point["modelled_percent"]),
                                 (None, None))
            out = self.succeeds(self.model, "--target", target, "--force").out
            self.assertIn(f"time: not known, no figures of {target} are shipped", out)

    def test_where_no_layer_repeats_forward_is_cut_into_blocks(self):
        save_traced(tiny_model(layers=1), self.directory / "one.pt")
        saved = self.envelope("one.pt", "--target", "cuda:sm_90")["document"]["recomputation"]
        self.assertGreater(saved["blocks"], 1)
        self.assertTrue(saved["points"])
        out = self.succeeds("one.pt", "--target", "cuda:sm_90", "--force").out
        self.assertIn(f"in {saved['blocks']} blocks; at least ", out)


class Compare(ProfileTest):
    def compared(self, model, *arguments):
        return self.envelope(model, "--target", "cpu", "--force", "--compare", "old.json",
                             *arguments)["document"]["comparison"]

    def setUp(self):
        super().setUp()
        self.assertIsNone(self.profile("-o", "old.json")["comparison"])

    def test_nothing_changed(self):
        comparison = self.compared(self.model)
        self.assertTrue(comparison["same_program"])
        self.assertEqual((comparison["modules"], comparison["operators"]), ([], []))
        self.assertIn("the programs are the same",
                      self.succeeds(self.model, "--target", "cpu", "-o", "x", "--compare",
                                    "old.json").out)

    def test_an_added_layer_is_new_and_accounts_for_the_growth(self):
        save_traced(tiny_model(layers=4), self.directory / "grown.pt")
        comparison = self.compared("grown.pt")
        before = json.loads((self.directory / "old.json").read_text(encoding="utf-8"))
        now = json.loads((self.directory / "grown.profile.json").read_text(encoding="utf-8"))
        self.assertEqual(
            comparison["peak_allocated_bytes"],
            {side: p["memory"]["peak_allocated_bytes"]
             for side, p in (("before", before), ("now", now))},
        )
        new = [module["module"] for module in comparison["modules"] if module["presence"] == "new"]
        self.assertEqual(new, ["blocks.3"])
        growth = sum(m["at_peak_bytes"]["now"] - m["at_peak_bytes"]["before"]
                     for m in comparison["modules"])
        self.assertEqual(growth, comparison["peak_allocated_bytes"]["now"]
                         - comparison["peak_allocated_bytes"]["before"])
        added = [op for op in comparison["operators"] if op["presence"] == "new"]
        self.assertIn(("blocks.3", "forward"), {(op["module"], op["phase"]) for op in added})
        text = self.succeeds("grown.pt", "--target", "cpu", "-o", "x", "--compare", "old.json").out
        self.assertRegex(text, r"modules that differ: \d+ \(.*1 new, 0 gone[,)]")
        self.assertIn("blocks.3", text)

    def test_another_batch_says_so(self):
        text = self.succeeds(self.model, "--target", "cpu", "--batch", "8", "-o", "x", "--compare",
                             "old.json").out
        self.assertIn(
            f"inputs: input_ids int64[{ROWS},{TOKENS}] before, input_ids int64[8,{TOKENS}] now",
            text)
        comparison = self.compared(self.model, "--batch", "8")
        resized = [op for op in comparison["operators"] if op["calls_resized"]]
        self.assertTrue(resized)
        self.assertEqual({op["presence"] for op in resized}, {"both"})

    def test_neither_model_nor_older_profile_is_replaced(self):
        (self.directory / "copy.pt").write_bytes(pathlib.Path(self.model).read_bytes())
        before = (self.directory / "copy.pt").read_bytes()
        for flag in ("-o", "--html", "--snapshot"):
            self.fails(2, "EX0104", "copy.pt", flag, "./copy.pt", "--force",
                       mentions=f"{flag} would replace")
            self.fails(2, "EX0104", "copy.pt", "--compare", "old.json", flag, "old.json", "--force",
                       mentions="--compare")
        self.assertEqual((self.directory / "copy.pt").read_bytes(), before)
        self.fails(2, "EX0104", "copy.pt", "-o", "x", "--html", "y", "--snapshot", "./y",
                   mentions="same file")
        (self.directory / "copy.b2.profile.json").symlink_to("copy.pt")
        self.fails(2, "EX0104", "copy.pt", "--batch", "2,4", "--force",
                   mentions="--batch would replace")

    def test_what_is_no_profile(self):
        (self.directory / "bad.json").write_text("{}", encoding="utf-8")
        self.fails(2, "EX0210", self.model, "--target", "cpu", "--compare", "bad.json",
                   mentions="bad.json")
        self.fails(2, "EX0201", self.model, "--target", "cpu", "--compare", "none.json")
        self.fails(2, "EX0104", self.model, "--target", "cpu", "--batch", "1,2", "--compare",
                   "old.json")


class BadInput(ProfileTest):
    def refuses(self, error, *arguments, mentions=()):
        return self.fails(2, error, *arguments, mentions=mentions)

    def written(self, name, content):
        (self.directory / name).write_bytes(content)
        return name

    def test_files_that_are_no_models(self):
        self.refuses("EX0301", self.written("text.pt", b"hello, this is no model\n"),
                     mentions="text.pt")
        self.refuses("EX0301", self.written("empty.pt", b""))
        self.refuses("EX0301", self.written("plan.json", b"{}"))

    def test_a_state_dict_is_no_model(self):
        import torch

        torch.save({"weight": torch.zeros(2)}, self.directory / "weights.pt")
        self.refuses("EX0301", "weights.pt", mentions="state dict")

    def test_truncated_archives(self):
        content = self.model.read_bytes()
        for size in (len(content) // 2, len(content) - 10, 40):
            self.refuses("EX0302", self.written("cut.pt", content[:size]), mentions="cut.pt")

    def test_missing_model(self):
        self.refuses("EX0201", "nothing.pt", mentions="nothing.pt")
        self.fails(2, "EX0103", mentions="MODEL.pt")

    def test_bad_flags(self):
        self.refuses("EX0102", self.model, "--target", "gpu", mentions="cuda:sm_90")
        self.refuses("EX0102", self.model, "--optimizer", "adamx", mentions="`adamw`")
        self.refuses("EX0102", self.model, "--batch", "0")
        self.refuses("EX0303", self.model, "--input", "input_ids", mentions="NAME:DTYPE")
        self.refuses("EX0303", self.model, "--input", "input_idz:int64[2,16]", mentions="input_ids")
        self.refuses("EX0105", self.model, "another.pt", mentions="another.pt")

    def test_existing_and_impossible_outputs(self):
        self.written("tiny.profile.json", b"old")
        self.refuses("EX0203", self.model, mentions="--force")
        self.refuses("EX0204", self.model, "-o", "no/such/file")
        self.assertEqual((self.directory / "tiny.profile.json").read_bytes(), b"old")

    def test_full_disk(self):
        self.fails(4, "EX0702", self.model, "--target", "cpu", "-o", "/dev/full")


class Libraries(ProfileTest):
    def test_maps_no_libtorch(self):
        mapped = self.mapped_libraries(self.model, "--target", "cuda:sm_90", "-o", "out.json")
        self.assertEqual(self.files(), ["out.json"])
        self.assertTrue(any(name.startswith("libelixir-plan") for name in mapped), mapped)
        self.assertEqual([n for n in mapped
                          if n.startswith(("libtorch", "libc10", "libelixir.so"))], [])


if __name__ == "__main__":
    unittest.main()
