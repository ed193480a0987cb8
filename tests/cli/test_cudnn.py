# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-cudnn as the tools start it, and elixir-profile with it: with cuDNN, with broken input, with a helper that crashes.
No GPU is needed."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest

from harness import ROOT, CommonBehaviour, ToolTest, clean_environment, schema

STEM = "fwd bf16 nchw x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1"
DEPTHWISE = "wgrad fp32 nhwc x=16,192,28,28 w=192,1,7,7 s=1,1 p=3,3 d=1,1 g=192"
H200 = ROOT / "profiles/gpus/sm_90.json"


class Helper(ToolTest):
    tool = "ELIXIR_CUDNN"

    def ask(self, *queries, description=H200):
        return self.envelope("--description", description, stdin="\n".join(queries).encode())["document"]


class HelperCommon(CommonBehaviour, Helper):
    pass


class Answers(Helper):
    def test_one_for_each_query_in_order(self):
        document = self.ask(DEPTHWISE, STEM, DEPTHWISE)
        self.assertEqual([answer["query"] for answer in document["answers"]], [DEPTHWISE, STEM, DEPTHWISE])
        self.assertEqual(document["answers"][0], document["answers"][2])
        self.assertEqual(document["description"]["deviceName"], "NVIDIA H200")
        self.assertRegex(document["library"], r"^cuDNN 9\.\d+\.\d+$")

    def test_are_those_that_were_recorded_on_an_h200(self):
        depthwise, stem = self.ask(DEPTHWISE, STEM)["answers"]
        self.assertEqual(depthwise["bytes"], 96947263)
        self.assertEqual(stem["bytes"], 192)

    def test_nothing_asked_nothing_answered(self):
        self.assertEqual(self.ask()["answers"], [])


class BadInput(Helper):
    def test_a_query_that_is_none(self):
        self.fails(2, "EX0102", "--description", H200, stdin=b"fwd bf16 nchw x=1\n", mentions="x=1")

    def test_a_description_that_is_none(self):
        for name, text in (("empty", ""), ("text", "no GPU"), ("other", '{"gpu": "H200"}')):
            (self.directory / name).write_text(text, encoding="utf-8")
            self.fails(2, "EX0209", "--description", name, stdin=STEM.encode(), mentions="does not accept")

    def test_a_description_that_is_not_there(self):
        self.fails(2, "EX0201", "--description", "missing.json", stdin=STEM.encode(), mentions="missing.json")

    @unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU")
    def test_no_gpu(self):
        self.fails(3, "EX0601", stdin=STEM.encode(), mentions="cuDNN")


class Profiles(ToolTest):
    """Small images, so that no shipped table has their convolutions."""

    tool = "ELIXIR_PROFILE"

    @classmethod
    def setUpClass(cls):
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.convolution = torch.nn.Conv2d(3, 24, 3)

            def forward(self, images):
                return self.convolution(images).square().mean()

        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="elixir-cudnn-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.model = cls.shared / "net.pt"
        torch.jit.trace(Net(), torch.zeros(3, 3, 37, 37), check_trace=False).save(str(cls.model))

    def profile(self, *arguments, **options):
        result = self.envelope(self.model, "-o", "net.json", "--force", *arguments, **options)
        document = json.loads((self.directory / "net.json").read_text(encoding="utf-8"))
        schema("profile").validate(document)
        return document, [diagnostic["message"] for diagnostic in result["diagnostics"]]

    def test_keep_the_answers_and_their_source(self):
        asked, warnings = self.profile()
        queries = {entry["query"]: entry["bytes"] for entry in asked["workspaces"]["queries"]}
        self.assertEqual(len(queries), 2)  # the result and the gradient of the filter
        self.assertIn("fwd fp32 nchw x=3,3,37,37 w=24,3,3,3 s=1,1 p=0,0 d=1,1 g=1", queries)
        self.assertFalse(asked["workspaces"]["measured"])
        self.assertRegex(asked["workspaces"]["source"], "cuDNN .* NVIDIA H200")
        self.assertIn("modelled", "".join(warnings))
        unasked, _ = self.profile("--cudnn", "none")
        self.assertIsNone(unasked["workspaces"])
        self.assertEqual(asked["model"]["fingerprint"], unasked["model"]["fingerprint"])

    def test_say_when_cudnn_was_not_asked(self):
        (self.directory / "gpus").mkdir()
        (self.directory / "gpus/sm_90.json").write_text('{"gpu": "H200"}', encoding="utf-8")
        document, warnings = self.profile(env=clean_environment(ELIXIR_PROFILES=str(self.directory)))
        self.assertIsNone(document["workspaces"])
        self.assertIn("does not accept this description", "".join(warnings))
        document, warnings = self.profile("--target", "cuda:sm_75")
        self.assertIn("no GPU of cuda:sm_75 is described", "".join(warnings))

    def test_outlive_a_helper_that_crashes_or_talks_nonsense(self):
        tools = pathlib.Path(self.binary).parent
        copy = self.shared / "elixir-profile"
        shutil.copy2(self.binary, copy)
        libraries = ":".join([str(tools.parent), os.environ.get("LD_LIBRARY_PATH", "")])
        environment = clean_environment(LD_LIBRARY_PATH=libraries)
        os.environ["ELIXIR_COPY"] = str(copy)
        self.tool = "ELIXIR_COPY"
        helper = self.shared / "elixir-cudnn"
        for script, said in (("kill -SEGV $$", "exit code 139"), ("echo '{}'", "no answer"), ("exit 0", "no answer")):
            helper.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            helper.chmod(0o755)
            document, warnings = self.profile(env=environment)
            self.assertIsNone(document["workspaces"])
            self.assertIn(said, "".join(warnings))


if __name__ == "__main__":
    unittest.main()
