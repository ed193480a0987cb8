# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-profile as a user runs it: its document, its answers to bad input, and the libraries it maps."""
import json
import pathlib
import shutil
import tempfile
import unittest

from harness import CommonBehaviour, ToolTest, schema
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
        self.assertGreater(large["memory"]["activations_peak_bytes"], small["memory"]["activations_peak_bytes"])

    def test_the_screen_goes_to_stdout_and_names_the_file(self):
        result = self.succeeds(self.model, "--target", "cpu")
        self.assertIn("tiny.profile.json", result.out)


class BadInput(ProfileTest):
    def refuses(self, error, *arguments, mentions=()):
        return self.fails(2, error, *arguments, mentions=mentions)

    def written(self, name, content):
        (self.directory / name).write_bytes(content)
        return name

    def test_files_that_are_no_models(self):
        self.refuses("EX0301", self.written("text.pt", b"hello, this is no model\n"), mentions="text.pt")
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
    def test_does_not_map_cuda(self):
        mapped = self.mapped_libraries(self.model, "--target", "cuda:sm_90", "-o", "out.json")
        self.assertEqual(self.files(), ["out.json"])
        self.assertTrue(any(name.startswith("libtorch_cpu") for name in mapped), mapped)
        self.assertEqual([n for n in mapped if n.startswith(("libtorch_cuda", "libc10_cuda", "libelixir.so"))], [])


if __name__ == "__main__":
    unittest.main()
