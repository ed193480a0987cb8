# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train: labels, weights, and models that keep tensors in unusual ways."""
import json
import unittest

from harness import ROOT
from training import ROWS, TOKENS, TrainTest, tiny_model, tool


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
            tool("ELIXIR_SEARCH", "--profile", f"{name}.profile.json", "--hardware",
                 "hardware.json", "--host-memory", "1GiB", "--gpu-memory", "256MiB", "-o",
                 f"{name}.json", cwd=cls.shared)

    def labelled(self, model, **extra):
        return self.flags(model, model=self.shared / f"{model}.pt", **extra)

    def test_labels_equal_to_the_inputs_are_doubted_before_the_first_step(self):
        result = self.succeeds(*self.labelled("unshifted"), "--dry-run")
        self.assertIn(
            "labels     `labels`: the same tokens as `input_ids`, which the loss reads unshifted",
            result.out)
        self.assertIn(self.WARNING, result.err)
        self.assertIn("--labels next", result.err)

    def test_next_shifts_them(self):
        result = self.succeeds(*self.labelled("unshifted", labels="next"), "--dry-run")
        self.assertIn("labels     `labels`: the token after each one of `input_ids`\n", result.out)
        self.assertNotIn("warning", result.err)
        config = self.succeeds(*self.labelled("unshifted", labels="next", steps=2))
        self.assertEqual(json.loads(
            (self.directory / "run/config.json").read_text())["options"]["labels"], "next")
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
        honest = self.succeeds(*self.labelled("unshifted", labels="next", steps=400, lr=0.05,
                                              output="honest"))
        self.assertNotIn("implausibly low", honest.err)
        self.assertGreater(self.metrics("honest")[-1]["loss"], 1)

    def test_which_input_the_loss_takes_for_the_label_is_said(self):
        import torch

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Embedding(256, 24),
                                                  torch.nn.Linear(24, 256))

            def forward(self, input_ids, labels):
                return self.layers(input_ids)

        ids = torch.zeros(ROWS, TOKENS, dtype=torch.int64)
        torch.jit.trace(Logits(), (ids, ids.clone())).save(str(self.directory / "logits.pt"))
        tool("ELIXIR_PROFILE", "logits.pt", "--target", "cpu", "--loss", "cross-entropy",
             cwd=self.directory)
        tool("ELIXIR_SEARCH", "--profile", "logits.profile.json", "--hardware",
             self.shared / "hardware.json", "--host-memory", "1GiB", "--gpu-memory", "256MiB", "-o",
             "logits.json", cwd=self.directory)
        result = self.succeeds(*self.flags(plan=self.directory / "logits.json", model="logits.pt",
                                           loss="cross-entropy"),
                               "--dry-run")
        self.assertIn(
            "loss: cross-entropy of the output and input `labels`, the last of 2: it is the label\n"
            "", result.out)

    def test_next_needs_a_label(self):
        self.fails(2, "EX0503", *self.flags(labels="next"),
                   mentions="no input of the model is a label")
        self.succeeds(*self.flags(), "--dry-run")


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
        # tracing counted a batch too
        traced = torch.jit.load(str(self.shared / "model.pt")).state_dict()
        counted = int(tensors["running.num_batches_tracked"]
                      - traced["running.num_batches_tracked"])
        self.assertEqual(counted, 5)
        module = torch.jit.load(str(self.directory / "out.pt"))
        state = module.state_dict()
        for name, value in tensors.items():
            self.assertTrue(torch.equal(state[name], value), name)
        self.assertTrue(torch.equal(state["head.weight"], tensors["wte.weight"]))
        self.assertFalse(torch.equal(state["wte.weight"], parameters["wte.weight"]))
        self.assertTrue(torch.isfinite(module(torch.zeros(ROWS, TOKENS, dtype=torch.int64))))
        # The export is a model like any other, with its weights tied.
        tool("ELIXIR_PROFILE", "out.pt", "--target", "cpu", "-o", "out.profile.json",
             cwd=self.directory)
        profile = json.loads((self.directory / "out.profile.json").read_text())
        self.assertIn(["head.weight", "wte.weight"],
                      [sorted(each["names"]) for each in profile["model"]["parameters"]])

    def test_exported_weights_can_start_another_run(self):
        trained = self.exported(*self.flags(), name="first.safetensors")
        again = self.exported(*self.flags(output="two", steps=1, lr=1e-30, weight_decay=0,
                                          weights="first.safetensors"), name="second.safetensors")
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

        traced = torch.jit.trace(tiny_model(), torch.zeros(ROWS, TOKENS, dtype=torch.int64),
                                 check_trace=False)
        traced.running.running_mean = torch.empty(24, device="meta")
        traced.save(str(self.directory / "meta.pt"))
        self.fails(2, "EX0309", *self.flags(model="meta.pt"), mentions="running.running_mean")


class Layouts(TrainTest):
    """What models keep in other tensors than one whole storage each."""

    def saved(self, name, build, forward):
        """The traced module, and samples for it, all with the same values; the flags of a run with
        a plan for it."""
        import torch
        from safetensors.torch import save_file

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                build(self)

        Model.forward = forward
        torch.manual_seed(1)
        samples = torch.randn(32, 8)
        torch.jit.trace(Model().train(), samples[:4],
                        check_trace=False).save(str(self.directory / f"{name}.pt"))
        save_file({"x": samples}, str(self.directory / "x.safetensors"))
        tool("ELIXIR_PROFILE", f"{name}.pt", "--target", "cpu", "-o", f"{name}.profile.json",
             cwd=self.directory)
        tool("ELIXIR_SEARCH", "--profile", f"{name}.profile.json", "--hardware",
             self.shared / "hardware.json", "--gpu-memory", "256MiB", "--host-memory", "1GiB", "-o",
             f"{name}.json", cwd=self.directory)
        return {"plan": self.directory / f"{name}.json", "model": f"{name}.pt",
                "data": "x.safetensors", "steps": 3}

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
        self.assertEqual(sorted(found), ["a", "b", "mask"])
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
        self.succeeds(*self.flags(**flags, output=None, resume="half"), "--export",
                      "resumed.safetensors")
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
        evaluated = self.trained("evaluated",
                                 {**flags, "eval_data": "x.safetensors", "eval_every": 1})
        for name, value in plain.items():
            self.assertTrue(torch.equal(evaluated[name], value), name)
        losses = [line["held_out_loss"] for line in self.metrics("evaluated-run")]
        self.assertEqual(len([loss for loss in losses if loss is not None]), 3)

    def test_a_held_out_loss_that_is_no_number_ends_no_run(self):
        import torch
        from safetensors.torch import save_file

        def build(module):
            module.linear = torch.nn.Linear(8, 8)

        flags = self.saved("linear", build, lambda self, x: self.linear(x).pow(2).mean())
        save_file({"x": torch.full((8, 8), float("nan"))}, str(self.directory / "nan.safetensors"))
        result = self.succeeds(*self.flags(**flags, eval_data="nan.safetensors", eval_every=1,
                                           output="run"))
        self.assertIn("held-out loss nan", result.out)
        self.assertTrue(all(line["held_out_loss"] is None for line in self.metrics("run")))
        summary = json.loads((self.directory / "run/summary.json").read_text())
        self.assertIsNone(summary["held_out_loss"])
        self.assertEqual(summary["ended"], "finished")


if __name__ == "__main__":
    unittest.main()
