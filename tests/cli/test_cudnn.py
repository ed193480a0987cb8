# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-cudnn as the tools start it, and elixir-profile with it: with cuDNN, with broken input,
with a helper that crashes. No GPU is needed."""
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
        return self.envelope("--description", description,
                             stdin="\n".join(queries).encode())["document"]


class HelperCommon(CommonBehaviour, Helper):
    pass


class Answers(Helper):
    def test_one_for_each_query_in_order(self):
        document = self.ask(DEPTHWISE, STEM, DEPTHWISE)
        self.assertEqual([answer["query"] for answer in document["answers"]],
                         [DEPTHWISE, STEM, DEPTHWISE])
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
        stdin = f"{STEM}\n\nfwd bf16 nchw x=1\n".encode()
        said = self.fails(2, "EX0209", "--description", H200, stdin=stdin,
                          mentions=["x=1", "stdin", "3"])
        self.assertNotIn("--description", said)

    def test_a_description_that_is_none(self):
        description = json.loads(H200.read_text(encoding="utf-8"))
        for name, code, text in (
            ("empty", "EX0205", ""),
            ("text", "EX0205", "no GPU"),
            ("other", "EX0209", '{"gpu": "H200"}'),
            ("none", "EX0209", json.dumps({**description, "multiProcessorCount": 0})),
            ("half", "EX0209", json.dumps({**description, "maxThreadsPerSM": 0.5})),
        ):
            (self.directory / name).write_text(text, encoding="utf-8")
            self.fails(2, code, "--description", name, stdin=STEM.encode(), mentions=name)

    def test_a_description_that_is_not_there(self):
        self.fails(2, "EX0201", "--description", "missing.json", stdin=STEM.encode(),
                   mentions="missing.json")

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
        document, warnings = self.profile("--target", "cuda:sm_75")
        self.assertIsNone(document["workspaces"])
        self.assertIn("no GPU of cuda:sm_75 is described", "".join(warnings))

    def test_refuse_the_description_of_another_gpu(self):
        (self.directory / "gpus").mkdir()
        path = self.directory / "gpus/sm_90.json"
        environment = clean_environment(ELIXIR_PROFILES=str(self.directory))
        for text, said in (
            ('{"gpu": "H200"}', "no description of a GPU"),
            ((ROOT / "profiles/gpus/sm_80.json").read_text(encoding="utf-8"), "/deviceVer"),
        ):
            path.write_text(text, encoding="utf-8")
            self.fails(2, "EX0209", self.model, "-o", "x", env=environment,
                       mentions=["gpus/sm_90.json", said])

    def with_helper(self, script):
        """The profile and the warnings when `script` stands in for elixir-cudnn."""
        binary = pathlib.Path(os.environ["ELIXIR_PROFILE"])
        copy = self.shared / "elixir-profile"
        if not copy.exists():
            shutil.copy2(binary, copy)
            (self.shared / "elixir-capture").symlink_to(binary.parent / "elixir-capture")
        libraries = ":".join([str(binary.parents[1]), os.environ.get("LD_LIBRARY_PATH", "")])
        helper = self.shared / "elixir-cudnn"
        helper.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        helper.chmod(0o755)
        os.environ["ELIXIR_COPY"] = str(copy)
        self.tool = "ELIXIR_COPY"
        document, warnings = self.profile(env=clean_environment(LD_LIBRARY_PATH=libraries))
        self.tool = "ELIXIR_PROFILE"
        return document, "".join(warnings)

    def test_outlive_a_helper_that_crashes_or_talks_nonsense(self):
        for script, said in (
            ("kill -SEGV $$", "was ended by SIGSEGV"),
            ("kill -ABRT $$", "was ended by SIGABRT"),
            ("exit 3", "ended with exit code 3"),
            ("echo '{}'", "gave no answer that can be read"),
            ("echo '[[['", "gave no answer that can be read"),
            ("exit 0", "gave no answer that can be read"),
            ("exec sleep 60", "cuDNN did not answer in 10"),
        ):
            document, warnings = self.with_helper(script)
            self.assertIsNone(document["workspaces"])
            self.assertIn(said, warnings)
            self.assertNotIn("parse error", warnings)
            self.assertIn("nets whose convolutions were guessed were off by up to 9.6 %", warnings)
            self.assertNotIn("89 %", warnings)

    def test_take_only_bytes_that_a_workspace_can_have(self):
        queries = [f"{pass_} fp32 nchw x=3,3,37,37 w=24,3,3,3 s=1,1 p=0,0 d=1,1 g=1"
                   for pass_ in ("fwd", "wgrad")]

        def answered(*answers):
            list_ = [f'{{"query": "{query}", {answer}}}' for query, answer in zip(queries, answers)]
            list_.append('{"query": "never asked", "bytes": 1}')
            text = ('{"library": "cuDNN 9.19.0", "description": {"deviceName": "X"}, '
                    '"answers": [%s]}' % ", ".join(list_))
            return self.with_helper(f"echo '{{\"document\": {text}}}'")

        for bad in ("-1", "9223372036854775808", "4611686018427387904", "1e30", "1.5", '"8"',
                    "null"):
            document, warnings = answered('"bytes": 4096', f'"bytes": {bad}')
            self.assertEqual(document["workspaces"]["queries"],
                             [{"query": queries[0], "bytes": 4096}], bad)
            self.assertIn("answered 1 of 2 passes; the rest are estimates", warnings)
        document, warnings = answered('"failure": "none"', '"failure": "none"')
        self.assertIsNone(document["workspaces"])
        self.assertIn("cuDNN 9.19.0 with a description of X answered none of 2 questions", warnings)
        self.assertEqual(document["memory"]["certainty"],
                         self.profile("--cudnn", "none")[0]["memory"]["certainty"])


if __name__ == "__main__":
    unittest.main()
