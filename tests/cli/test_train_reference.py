# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train against plain PyTorch: what the model says is what trains."""

import json
import unittest

from reference import ReferenceTest, seed_of, state_of
from training import tool


def with_ignored(labels):
    """The last labels of each row become -100, as every data collator pads them."""
    for row in range(len(labels)):
        labels[row, 2 + row % (labels.shape[1] - 2) :] = -100
    return labels


class Values(ReferenceTest):
    """The data is refused where the model cannot take it, and not where the model changes it
    first."""

    def seq2seq(self, guard):
        """Decoder inputs are the labels shifted right, and `guard` replaces what no embedding has a
        row for."""
        import torch

        class Seq2Seq(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.shared = torch.nn.Embedding(50, 16)
                self.head = torch.nn.Linear(32, 50)

            def forward(self, input_ids, labels):
                memory = self.shared(input_ids).mean(1, keepdim=True)
                begun = labels.new_zeros(labels.shape)
                begun[:, 1:] = labels[:, :-1].clone()
                begun[:, 0] = 0
                x = torch.cat(
                    [self.shared(guard(begun)), memory.expand(-1, labels.shape[1], -1)], -1
                )
                return torch.nn.functional.cross_entropy(
                    self.head(torch.tanh(x)).flatten(0, 1), labels.flatten()
                )

        torch.manual_seed(3)
        return Seq2Seq()

    def samples(self):
        import torch

        torch.manual_seed(4)
        return {
            "input_ids": torch.randint(1, 50, (20, 7)),
            "labels": with_ignored(torch.randint(1, 50, (20, 6))),
        }

    def test_ignored_labels_that_the_model_replaces_before_it_looks_them_up(self):
        import torch

        guards = {
            "masked_fill_": lambda x: x.masked_fill_(x == -100, 0),
            "masked_fill": lambda x: x.masked_fill(x.lt(0), 0),
            "where": lambda x: torch.where(x == -100, torch.zeros_like(x), x),
            "clamp": lambda x: x.clamp(min=0),
            "relu": torch.relu,
            "product": lambda x: x * (x != -100),
            "remainder": lambda x: x % 50,
            "wider": lambda x: (x.float().abs() / 4).long(),
        }
        for name, guard in guards.items():
            with self.subTest(guard=name):
                self.expect_same_training(name, self.seq2seq(guard), self.samples())

    def test_ignored_labels_that_reach_an_embedding_are_refused(self):
        flags = self.saved(
            "bare",
            self.seq2seq(lambda x: x.clone()),
            {k: v.clamp(min=1) for k, v in self.samples().items()},
        )
        from safetensors.torch import save_file

        save_file(self.samples(), str(self.directory / "bare.safetensors"))
        error = self.fails(2, "EX0502", *self.flags(**flags))
        self.assertIn("value -100 of `labels` is outside the vocabulary of 50", error)
        self.assertIn("`shared.weight` has 50 rows", error)

    def test_columns_with_vocabularies_of_their_own(self):
        import torch

        class Table(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.day = torch.nn.Embedding(7, 4)
                self.shop = torch.nn.Embedding(90, 4)
                self.head = torch.nn.Linear(8, 1)

            def forward(self, fields):
                x = torch.cat([self.day(fields[:, 0]), self.shop(fields[:, 1])], -1)
                return (self.head(x)[:, 0] - fields[:, 2].float()).pow(2).mean()

        torch.manual_seed(3)
        fields = torch.stack(
            [
                torch.randint(0, 7, (20,)),
                torch.randint(0, 90, (20,)),
                torch.randint(-500, 500, (20,)),
            ],
            1,
        )
        self.expect_same_training("table", Table(), {"fields": fields})
        fields[4, 0] = 7
        from safetensors.torch import save_file

        save_file({"fields": fields}, str(self.directory / "bad.safetensors"))
        flags = {
            "plan": self.directory / "table.json",
            "model": "table.pt",
            "data": "bad.safetensors",
        }
        self.fails(
            2, "EX0502", *self.flags(**flags, output="bad"), mentions="`day.weight` has 7 rows"
        )


class FrozenParameters(ReferenceTest):
    def test_of_any_dtype_stay_as_they_are(self):
        import torch

        dtypes = (
            torch.float64,
            torch.float16,
            torch.bfloat16,
            torch.int64,
            torch.int32,
            torch.int16,
            torch.int8,
            torch.uint8,
            torch.bool,
        )

        class Quantised(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(8, 8)
                for dtype in dtypes:
                    value = torch.randint(0, 2, (8, 8)).to(dtype)
                    self.register_parameter(
                        f"of_{dtype}".replace("torch.", ""),
                        torch.nn.Parameter(value, requires_grad=False),
                    )

            def forward(self, x):
                for dtype in dtypes:
                    frozen = getattr(self, f"of_{dtype}".replace("torch.", ""))
                    x = x + torch.tanh(x @ frozen.float())
                return self.linear(x).pow(2).mean()

        torch.manual_seed(3)
        self.expect_same_training("quantised", Quantised(), {"x": torch.randn(20, 8)})


class Unused(ReferenceTest):
    """Input that is neither used nor reported would look like a run that works."""

    def tied(self):
        import torch

        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.wte = torch.nn.Embedding(12, 6)
                self.head = torch.nn.Linear(6, 12, bias=False)
                self.head.weight = self.wte.weight

            def forward(self, ids):
                logits = self.head(self.wte(ids))[:, :-1]
                return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

        torch.manual_seed(3)
        return Tied(), {"ids": torch.randint(0, 12, (16, 5))}

    def write(self, name, **tensors):
        from safetensors.torch import save_file

        save_file(tensors, str(self.directory / name))
        return name

    def test_two_values_of_one_tied_tensor_are_refused(self):
        import torch

        model, samples = self.tied()
        flags = self.saved("tied", model, samples)
        weight = torch.randn(12, 6)
        same = self.write(
            "same.safetensors", **{"wte.weight": weight, "head.weight": weight.clone()}
        )
        self.succeeds(*self.flags(**{**flags, "weights": same, "steps": 1}))
        other = self.write("other.safetensors", **{"wte.weight": weight, "head.weight": weight + 1})
        self.fails(
            2,
            "EX0310",
            *self.flags(**{**flags, "weights": other, "output": "b"}),
            mentions="`head.weight`",
        )
        shape = self.write(
            "shape.safetensors", **{"wte.weight": weight, "head.weight": torch.zeros(99, 6)}
        )
        self.fails(
            2,
            "EX0310",
            *self.flags(**{**flags, "weights": shape, "output": "c"}),
            mentions="[99, 6]",
        )
        none = self.write("none.safetensors", **{"encoder.weight": weight})
        self.fails(
            2,
            "EX0310",
            *self.flags(**{**flags, "weights": none, "init": True, "output": "d"}),
            mentions="`encoder.weight`",
        )

    def test_labels_that_the_model_has_no_input_for_are_refused(self):
        model, samples = self.tied()
        flags = self.saved("tied", model, samples)
        data = self.write(
            "d.safetensors", ids=samples["ids"], labels=with_ignored(samples["ids"].clone())
        )
        error = self.fails(2, "EX0503", *self.flags(**{**flags, "data": data}), mentions="`labels`")
        self.assertIn("no input for them", error)

    def test_warnings_of_unused_input_are_kept_when_quiet(self):
        model, samples = self.tied()
        flags = self.saved("tied", model, samples)
        data = self.write("d.safetensors", ids=samples["ids"], weight=samples["ids"].clone())
        result = self.succeeds(
            "-q",
            *self.flags(**{**flags, "data": data, "init": True, "no_decay": "*.LayerNorm.weight"}),
        )
        for said in (
            "no input of the model is named `weight`",
            "--no-decay *.LayerNorm.weight matches no parameter",
            "--init replaces weights that the model file has: 1 of 1",
        ):
            self.assertIn(said, result.err)
        result = self.succeeds("-q", *self.flags(**{**flags, "no_decay": "head.*", "output": "b"}))
        self.assertEqual(result.err, "")

    def test_frozen_parameters_are_not_drawn(self):
        import torch

        class Adapted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.base = torch.nn.Linear(8, 8).requires_grad_(False)
                self.down = torch.nn.Linear(8, 2, bias=False)
                self.up = torch.nn.Linear(2, 8, bias=False)

            def forward(self, x):
                return (self.base(x) + self.up(self.down(x))).pow(2).mean()

        torch.manual_seed(3)
        model = Adapted()
        flags = self.saved("adapted", model, {"x": torch.randn(16, 8)})
        error = self.fails(2, "EX0310", *self.flags(**flags, init=True))
        self.assertIn("2 frozen parameters would be drawn at random", error)
        base = self.write(
            "base.safetensors",
            **{name: value.detach() for name, value in model.named_parameters() if "base" in name},
        )
        self.succeeds(*self.flags(**{**flags, "init": True, "weights": base}))

    def test_scalars_that_do_not_train_are_named(self):
        import torch

        class Parts(torch.nn.Module):
            def __init__(self, returns):
                super().__init__()
                self.body = torch.nn.Linear(6, 8)
                self.returns = returns

            def forward(self, x):
                h = self.body(x)
                return self.returns(h.pow(2).mean(), h.abs().mean())

        def said(name, returns):
            torch.manual_seed(3)
            flags = self.saved(name, Parts(returns), {"x": torch.randn(16, 6)})
            return self.succeeds("-q", *self.flags(**flags)).err

        self.assertIn(
            "scalars that do not train beside its loss: number 2", said("pair", lambda a, b: (a, b))
        )
        self.assertIn("`box`", said("dict", lambda a, b: {"loss": a, "box": b}))
        self.assertEqual(said("sum", lambda a, b: {"loss": a + b, "classifier": a, "box": b}), "")
        self.assertEqual(said("metric", lambda a, b: {"loss": a, "accuracy": b.detach()}), "")


class Blame(ReferenceTest):
    def test_a_loss_without_labels_is_the_data_s_fault(self):
        import torch

        class Classifier(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 5)

            def forward(self, x, labels):
                return 2 * torch.nn.functional.cross_entropy(self.layer(x), labels)

        torch.manual_seed(3)
        samples = {"x": torch.randn(8, 4), "labels": torch.full((8,), -100)}
        flags = self.saved("ignored", Classifier(), samples)
        result = self.run_tool(*self.flags(**flags))
        self.assertEqual(result.code, 4, result.err)
        error = result.err
        self.assertIn("error[EX0704]", error)
        self.assertIn("the loss of step 1 is nan: micro-batch 0 has no labels", error)
        self.assertIn("all targets in `labels` are -100", error)
        self.assertNotIn("learning rate", error)

    def test_plans_train_with_the_beta2_that_their_moments_need(self):
        import json

        import torch

        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 5)

            def forward(self, x):
                return self.layer(x).pow(2).mean()

        torch.manual_seed(3)
        flags = self.saved("bf16", Line(), {"x": torch.randn(8, 4)}, search=("--moments", "bf16"))
        self.succeeds(*self.flags(**flags))
        options = json.loads((self.directory / "bf16-run/config.json").read_text())["options"]
        self.assertEqual(options["betas"], [0.9, 0.95])
        self.succeeds("--resume", "bf16-run", "--steps", 4)
        self.fails(
            2,
            "EX0104",
            *self.flags(**{**flags, "output": "b"}),
            "--betas",
            "0.9,0.999",
            mentions="0.95",
        )

    def test_what_no_optimizer_trains_is_refused_before_a_plan(self):
        from training import envelope

        self.saved("tied", *Unused.tied(self))
        no = envelope(
            "ELIXIR_PROFILE",
            "tied.pt",
            "--target",
            "cpu",
            "--optimizer",
            "sgd",
            "-o",
            "x.json",
            cwd=self.directory,
            code=2,
        )
        self.assertIn("does not train with --optimizer sgd", no["diagnostics"][0]["message"])
        tool(
            "ELIXIR_PROFILE",
            "tied.pt",
            "--target",
            "cpu",
            "--optimizer",
            "sgd",
            "--optimizer-form",
            "torch-foreach",
            "-o",
            "x.json",
            cwd=self.directory,
        )
        no = envelope(
            "ELIXIR_SEARCH",
            "--profile",
            "x.json",
            "--hardware",
            self.shared / "hardware.json",
            cwd=self.directory,
            code=2,
        )
        self.assertIn("sgd, with which Elixir does not train", no["diagnostics"][0]["message"])

    def test_what_a_script_raises_is_shown(self):
        import torch
        from training import envelope

        class Raises(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def forward(self, x):
                assert x.shape[1] == 4, "expected 4 channels: is the input NHWC?"
                if x.dim() != 2:
                    raise ValueError("x must be (rows, features)")
                return self.layer(x).mean()

        torch.jit.script(Raises().train()).save(str(self.directory / "raises.pt"))
        for shape, said in (
            ("2,5", "AssertionError: expected 4 channels: is the input NHWC?"),
            ("2,4,4", "ValueError: x must be (rows, features)"),
        ):
            no = envelope(
                "ELIXIR_PROFILE",
                "raises.pt",
                "--target",
                "cpu",
                "--input",
                f"x:float32[{shape}]",
                "-o",
                "x.json",
                cwd=self.directory,
                code=2,
            )
            self.assertIn(
                "the model rejects its inputs in the root module: " + said,
                no["diagnostics"][0]["message"],
            )

    def test_a_lost_no_grad_is_named(self):
        import torch
        from training import envelope

        class Clamped(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

            def forward(self, x):
                with torch.no_grad():
                    self.layer.weight.clamp_(-1, 1)
                return self.layer(x).pow(2).mean()

        class Normed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 4))

            def forward(self, x):
                return self.layer(x).pow(2).mean()

        for name, model in (("clamped", Clamped()), ("normed", Normed())):
            torch.jit.trace(model.train(), torch.randn(2, 4), check_trace=False).save(
                str(self.directory / f"{name}.pt")
            )
            no = envelope(
                "ELIXIR_PROFILE",
                f"{name}.pt",
                "--target",
                "cpu",
                "-o",
                "x.json",
                cwd=self.directory,
                code=2,
            )
            with self.subTest(model=name):
                self.assertEqual(no["diagnostics"][0]["code"], "EX0311")
                self.assertIn(
                    "torch.jit.trace does not keep torch.no_grad()",
                    no["diagnostics"][0]["notes"][0],
                )


class State(ReferenceTest):
    """What a state_dict has is exported, as it was trained or as it was loaded."""

    def model(self):
        import torch

        class Everything(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("pixel_mean", torch.tensor([0.4, 0.5, 0.6]))
                self.register_buffer("codes", torch.arange(8, dtype=torch.int8))
                self.register_buffer("places", torch.arange(6)[None], persistent=False)
                self.register_buffer("mask", torch.ones(6, 6).tril().bool(), persistent=False)
                self.register_buffer("calls", torch.zeros((), dtype=torch.int32))
                self.register_buffer("drift", torch.zeros(8), persistent=False)
                self.place = torch.nn.Embedding(6, 8)
                self.first = torch.nn.Linear(3, 8)
                self.norm = torch.nn.BatchNorm1d(8)
                self.other = torch.nn.InstanceNorm1d(8, affine=True, track_running_stats=True)
                self.last = torch.nn.Linear(8, 2)

            def forward(self, x, y):
                self.calls.add_(1)
                h = self.first(x - self.pixel_mean) + self.place(self.places)
                self.drift.mul_(0.5).add_(h.detach().mean((0, 1)))
                h = h + self.codes.float() * 0.01 + self.drift * 0.1
                scores = (h @ h.transpose(1, 2)).masked_fill(~self.mask, float("-inf"))
                h = self.norm((torch.softmax(scores, -1) @ h).transpose(1, 2))
                h = torch.tanh(self.other(torch.tanh(h)))
                return torch.nn.functional.mse_loss(self.last(h.mean(2)), y)

        torch.manual_seed(3)
        return Everything().train()

    def samples(self):
        import torch

        torch.manual_seed(4)
        return {"x": torch.randn(16, 6, 3), "y": torch.randn(16, 2)}

    def tensors(self, path):
        from safetensors.torch import load_file

        return load_file(str(self.directory / path))

    def test_all_of_it_and_nothing_else(self):
        import copy

        import torch
        from safetensors.torch import save_file

        model = self.model()
        result, exported = self.expect_same_training("all", copy.deepcopy(model), self.samples())
        self.assertNotIn("buffers", result.out)
        self.model().load_state_dict(exported, strict=True)
        checkpoint = next((self.directory / "all-run" / "checkpoints").glob("step-*"))
        saved = self.tensors(checkpoint / "model.safetensors")
        self.assertEqual(sorted(saved), sorted(exported))
        others = self.tensors(checkpoint / "optimizer.safetensors")
        self.assertEqual([name for name in others if "/" not in name], ["drift"])

        # The other direction, with constants that differ from the traced file's.
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        state["pixel_mean"] = torch.tensor([9.0, 8.0, 7.0])
        save_file(state, str(self.directory / "published.safetensors"))
        loaded = copy.deepcopy(model)
        loaded.load_state_dict(state, strict=True)
        flags = self.saved("published-model", copy.deepcopy(model), self.samples())
        flags.update(weights="published.safetensors")
        self.succeeds(*self.flags(**flags), "--export", "out.safetensors")
        expected = self.by_torch(loaded, self.samples())
        for line, loss in zip(self.metrics("published-model-run"), expected):
            self.assertAlmostEqual(line["loss"], loss, delta=6e-7 * abs(loss))
        got = self.tensors("out.safetensors")
        self.assertEqual(got["pixel_mean"].tolist(), [9.0, 8.0, 7.0])

        # An archive has all buffers, and says still which are persistent.
        self.succeeds("--resume", "published-model-run", "--export", "out.pt")
        extra = {"buffers.json": ""}
        archive = torch.jit.load(str(self.directory / "out.pt"), _extra_files=extra)
        self.assertIn("pixel_mean", json.loads(extra["buffers.json"])["persistent"])
        held = archive.state_dict()
        for name, tensor in loaded.state_dict().items():
            torch.testing.assert_close(held[name], tensor, rtol=3e-6, atol=3e-6)
        torch.testing.assert_close(held["drift"], loaded.drift, rtol=3e-6, atol=3e-6)

    def test_a_resumed_run_goes_on_with_all_of_it(self):
        flags = self.saved("parts", self.model(), self.samples())
        self.succeeds(*self.flags(**flags), "--export", "whole.safetensors")
        self.succeeds(*self.flags(**{**flags, "steps": 2, "output": "two"}))
        self.succeeds("--resume", "two", "--steps", 3, "--export", "parts.out.safetensors")
        self.assertEqual(
            (self.directory / "whole.safetensors").read_bytes(),
            (self.directory / "parts.out.safetensors").read_bytes(),
        )

    def test_without_the_record_all_buffers_are_exported(self):
        model = self.model()
        flags = self.saved("silent", model, self.samples(), extra_files={})
        result = self.succeeds(*self.flags(**flags), "--export", "silent.out.safetensors")
        self.assertIn("with all 12 buffers: the model file does not say", result.out)
        names = {name for name, _ in model.named_parameters()}
        names.update(name for name, _ in model.named_buffers())
        self.assertEqual(set(self.tensors("silent.out.safetensors")), names)

    def test_a_record_of_another_model_is_refused(self):
        import torch
        from training import envelope

        record = {"schema": "elixir.buffers", "schema_version": "1.0", "persistent": ["nobody"]}
        torch.jit.save(self.traced(self.model(), self.samples()),
                       str(self.directory / "other.pt"),
                       _extra_files={"buffers.json": json.dumps(record)})
        no = envelope("ELIXIR_PROFILE", "other.pt", "--target", "cpu", "-o", "x.json",
                      cwd=self.directory, code=2)
        self.assertIn("the model has no buffer `nobody`", no["diagnostics"][0]["message"])

    def test_batch_norm_over_one_value_is_refused(self):
        import torch
        from training import envelope

        class Normed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(6, 8)
                self.norm = torch.nn.BatchNorm1d(8)

            def forward(self, x):
                return self.norm(self.first(x)).pow(2).mean()

        torch.jit.trace(Normed().train(), torch.randn(4, 6), check_trace=False).save(
            str(self.directory / "normed.pt"))
        for target in ("cpu", "cuda:sm_90"):
            no = envelope("ELIXIR_PROFILE", "normed.pt", "--target", target, "--batch", 1,
                          "-o", "x.json", cwd=self.directory, code=2)
            self.assertIn("Expected more than 1 value per channel when training, got input size "
                          "[1, 8]", no["diagnostics"][0]["message"])
        # One value is enough where nothing is estimated.
        torch.jit.trace(Normed().eval(), torch.randn(4, 6), check_trace=False).save(
            str(self.directory / "frozen.pt"))
        envelope("ELIXIR_PROFILE", "frozen.pt", "--target", "cpu", "--batch", 1, "-o", "x.json",
                 cwd=self.directory)

    def test_buffers_that_become_infinite_are_not_saved(self):
        import torch

        class Watches(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.register_buffer("most", torch.full((4,), float("-inf")))
                self.register_buffer("ratio", torch.zeros(4))
                self.register_buffer("calls", torch.zeros(4))

            def forward(self, x):
                y = self.layer(x)
                self.most.copy_(torch.maximum(self.most, y.detach().amax(0)))
                self.calls.add_(1)
                self.ratio.copy_(1 / (self.calls - self.last))
                return y.pow(2).mean()

        model = Watches()
        model.last = 99.0  # never reached
        samples = {"x": torch.randn(20, 4)}
        self.expect_same_training("calm", model, samples)
        model = Watches()
        model.last = 3.0
        flags = self.saved("hot", model, samples)
        result = self.run_tool(
            *self.flags(**flags, checkpoint_every=2), "--export", "hot.out.safetensors"
        )
        self.assertEqual(result.code, 4, result.err)
        self.assertIn("error[EX0706]: buffer `ratio` is not finite after step 3", result.err)
        self.assertFalse((self.directory / "hot.out.safetensors").exists())
        self.assertEqual([path.name for path in (self.directory / "hot-run" /
                                                 "checkpoints").glob("step-*")],
                         ["step-0000000002"])
        self.assertIn("4 of its 4 elements", result.err)


class Average(ReferenceTest):
    """Micro-batches and ranks count by their labels: a step is that of one large batch."""

    ROWS = 1

    def classifier(self, weighted):
        import torch

        class Classifier(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(12, 8)
                self.head = torch.nn.Linear(8, 12)
                weight = torch.rand(12) + 0.5 if weighted else None
                self.loss = torch.nn.CrossEntropyLoss(weight=weight)

            def forward(self, ids, labels):
                logits = self.head(torch.tanh(self.embed(ids)))[:, :-1]
                return self.loss(logits.flatten(0, 1), labels[:, 1:].flatten())

        torch.manual_seed(3)
        return Classifier()

    def samples(self):
        """Two rows of five have no label; the others up to ten."""
        import torch

        torch.manual_seed(5)
        labels = torch.randint(0, 12, (20, 11))
        for row in range(len(labels)):
            labels[row, (1 if row % 5 < 2 else 2 + row % 9) :] = -100
        return {"ids": torch.randint(0, 12, (20, 11)), "labels": labels}

    def plan(self, name, micro_batches, ranks, *flags):
        tool("ELIXIR_SEARCH", "--profile", f"{name}.profile.json", "--hardware",
             self.shared / "hardware.json", "--gpu-memory", "1GiB", "--host-memory", "4GiB",
             "--gpus", ranks, "--accumulation-steps", micro_batches, *flags, "-o",
             f"{micro_batches}-{ranks}.json", "--force", cwd=self.directory)
        return self.directory / f"{micro_batches}-{ranks}.json"

    def test_a_step_is_that_of_one_large_batch(self):
        import copy

        import torch
        from safetensors.torch import load_file

        samples = self.samples()
        models = {weighted: self.classifier(weighted) for weighted in (False, True)}
        saved = {
            weighted: self.saved(f"weighted-{weighted}", copy.deepcopy(model), samples)
            for weighted, model in models.items()
        }
        for micro_batches in (2, 3, 4):
            for ranks in (1, 2, 3):
                weighted = (micro_batches + ranks) % 2 == 0
                arithmetic = "fused" if micro_batches > ranks else "as-eager"
                name = f"weighted-{weighted}"
                flags = dict(saved[weighted])
                flags["plan"] = self.plan(name, micro_batches, ranks, "--arithmetic", arithmetic)
                flags["output"] = f"{name}-{micro_batches}-{ranks}"
                with self.subTest(micro_batches=micro_batches, ranks=ranks):
                    result = self.succeeds(
                        *self.flags(**flags), "--export", f"{flags['output']}.safetensors"
                    )
                    self.assertIn("mean over the labels of all its micro-batches", result.err)
                    whole = copy.deepcopy(models[weighted])
                    expected = self.by_torch(whole, samples, rows_per_step=micro_batches * ranks)
                    for line, loss in zip(self.metrics(flags["output"]), expected):
                        self.assertAlmostEqual(line["loss"], loss, delta=2e-6 * abs(loss))
                    got = load_file(str(self.directory / f"{flags['output']}.safetensors"))
                    for key, value in state_of(whole).items():
                        torch.testing.assert_close(got[key], value, rtol=1e-5, atol=1e-5)

    def test_micro_batches_may_count_alike(self):
        import torch

        model, samples = self.classifier(False), self.samples()
        samples["labels"][samples["labels"][:, 1] == -100, 1] = 3  # each row has a label
        flags = self.saved("alike", model, samples)
        flags["plan"] = self.plan("alike", 2, 1, "--average", "micro-batches")
        result = self.succeeds(*self.flags(**flags))
        self.assertIn("mean over its micro-batches, which count alike", result.err)
        with torch.no_grad():
            rows = [(seed_of(self.SEED, 1, row) * 20) >> 64 for row in range(2)]
            losses = [model(*(x[[row]] for x in samples.values())) for row in rows]
        self.assertAlmostEqual(self.metrics("alike-run")[0]["loss"], float(sum(losses)) / 2, 6)

    def test_a_step_without_labels_has_no_gradient(self):
        """As sum / max(labels, 1)."""
        import copy

        import torch
        from safetensors.torch import load_file

        model, samples = self.classifier(False), self.samples()
        for arithmetic in ("as-eager", "fused"):
            whole = copy.deepcopy(model)
            whole.loss.reduction = "sum"
            flags = self.saved(arithmetic, copy.deepcopy(model), samples,
                               arithmetic=arithmetic)
            flags["steps"] = 8
            self.succeeds(*self.flags(**flags), "--export", f"{arithmetic}.out.safetensors")
            counts = [
                int((samples["labels"][(seed_of(self.SEED, step, 0) * 20) >> 64, 1:] != -100).sum())
                for step in range(1, 9)
            ]
            self.assertTrue(0 in counts and any(counts), counts)
            divisors = iter(counts)
            expected = self.by_torch(whole, samples, 8,
                                     loss_of=lambda loss: loss / max(next(divisors), 1))
            for line, loss in zip(self.metrics(f"{arithmetic}-run"), expected):
                self.assertAlmostEqual(line["loss"], loss, delta=2e-6 * abs(loss))
            got = load_file(str(self.directory / f"{arithmetic}.out.safetensors"))
            for key, value in state_of(whole).items():
                torch.testing.assert_close(got[key], value, rtol=1e-5, atol=1e-5)

    def test_held_out_losses_are_means_over_labels(self):
        import torch
        from safetensors.torch import save_file

        model, samples = self.classifier(False), self.samples()
        save_file(samples, str(self.directory / "held-out.safetensors"))
        labelled = {key: value[[2, 3, 4]] for key, value in samples.items()}
        flags = self.saved("held", model, labelled)
        flags["lr"] = 1e-30
        result = self.succeeds(*self.flags(**flags, eval_data="held-out.safetensors",
                                           eval_batches=20))
        with torch.no_grad():
            loss = float(model(*samples.values()))
        self.assertIn(f"held-out loss {loss:.4f}", result.out + result.err)


class LossScale(ReferenceTest):
    """fp16 with a loss scale, as torch.amp.GradScaler has it: steps that overflow are skipped."""

    STEPS = 12

    def scale(self, initial):
        return f"dynamic:initial={initial},interval=3"

    def model(self, upcasts=True):
        import torch

        class Classifier(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = torch.nn.Embedding(12, 16)
                self.norm = torch.nn.LayerNorm(16)
                self.head = torch.nn.Linear(16, 12)

            def forward(self, ids, labels):
                logits = self.head(self.norm(torch.tanh(self.embed(ids))))
                logits = logits.float() if upcasts else logits
                return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

        torch.manual_seed(3)
        return Classifier()

    def samples(self):
        import torch

        torch.manual_seed(5)
        return {key: torch.randint(0, 12, (20, 11)) for key in ("ids", "labels")}

    def half_by_torch(self, model, samples, scale):
        """fp32 masters and fp16 parameters; (loss, scale, whether it was skipped) of each step."""
        import torch

        torch.set_num_threads(1)
        half = list(model.parameters())
        masters = [torch.nn.Parameter(p.detach().float()) for p in half]
        optimizer = torch.optim.AdamW(masters, lr=self.LR, weight_decay=0, foreach=False)
        good, steps = 0, []
        for step in range(1, self.STEPS + 1):
            rows = [(seed_of(self.SEED, step, row) * 20) >> 64 for row in range(self.ROWS)]
            for parameter in half:
                parameter.grad = None
            loss = model(*(x[rows] for x in samples.values()))
            (loss * scale).backward()
            for master, parameter in zip(masters, half):
                master.grad = parameter.grad.float() / scale
            skipped = not all(torch.isfinite(master.grad).all() for master in masters)
            steps.append((float(loss.detach()), scale, skipped))
            if skipped:
                scale, good = scale / 2, 0
                continue
            optimizer.step()
            with torch.no_grad():
                for master, parameter in zip(masters, half):
                    parameter.copy_(master)
            good += 1
            if good == 3:
                scale, good = scale * 2, 0
        return steps

    def expect_same(self, name, flags, model, samples, initial):
        """`model` is in fp16; `flags` train what has been saved of it under this name."""
        import torch
        from safetensors.torch import load_file

        expected = self.half_by_torch(model, samples, initial)
        self.assertGreaterEqual(sum(skipped for _, _, skipped in expected), 3)
        scales = [scale for _, scale, _ in expected]
        self.assertTrue(any(later > scale for scale, later in zip(scales, scales[1:])))
        flags = {**flags, "steps": self.STEPS, "loss_scale": self.scale(initial)}
        result = self.succeeds(*self.flags(**flags), "--export", f"{name}.out.safetensors")
        self.assertIn(f"loss scale dynamic from {initial}", result.err)
        self.assertIn("skipped: gradients overflow", result.err)
        for line, (loss, scale, skipped) in zip(self.metrics(f"{name}-run"), expected):
            self.assertEqual((line["loss_scale"], line["skipped"]), (scale, skipped))
            self.assertAlmostEqual(line["loss"], loss, delta=1e-3 * abs(loss))
            self.assertEqual(line["grad_norm"] is None, skipped)
        got = load_file(str(self.directory / f"{name}.out.safetensors"))
        for key, value in state_of(model).items():
            self.assertEqual(got[key].dtype, torch.float16)
            torch.testing.assert_close(got[key], value, rtol=4e-3, atol=1e-3)

    def test_fp16_trains_as_in_pytorch(self):
        import copy

        model, samples = self.model(), self.samples()
        flags = self.saved("half", copy.deepcopy(model).half(), samples)
        self.expect_same("half", flags, model.half(), samples, 2**24)

    def test_precision_fp16_trains_as_in_pytorch(self):
        """The loss is fp16, and so a scale of 65,536 infinite."""
        import copy

        model, samples = self.model(upcasts=False), self.samples()
        flags = self.saved("cast", copy.deepcopy(model), samples, ("--precision", "fp16"))
        self.expect_same("cast", flags, model.half(), samples, 2**18)

    def test_placement_resume_and_ranks_change_no_bit(self):
        import copy

        flags = self.saved("half", copy.deepcopy(self.model()).half(), self.samples())
        flags.update(loss_scale=self.scale(2**24), warmup_steps=4)

        def planned(name, *words):
            tool("ELIXIR_SEARCH", "--profile", "half.profile.json", "--hardware",
                 self.shared / "hardware.json", "--gpu-memory", "1GiB", "--host-memory", "4GiB",
                 "--arithmetic", "as-eager", *words, "-o", f"{name}.json", cwd=self.directory)
            return self.directory / f"{name}.json"

        def result(run):
            keys = ("loss", "learning_rate", "loss_scale", "skipped")
            return [[line[key] for key in keys] for line in self.metrics(run)]

        two = planned("two", "--accumulation-steps", 2)
        host = planned("host", "--accumulation-steps", 2, "--optimizer-state", "host")
        ranks = planned("ranks", "--gpus", 2)
        flags.update(plan=two, steps=self.STEPS)
        self.succeeds(*self.flags(**{**flags, "output": "whole"}))
        whole = result("whole")
        self.assertGreaterEqual(sum(line[3] for line in whole), 4)
        # The schedule counts updates: a skipped step has the rate of the one that is made.
        updates = 0
        for line in whole:
            self.assertAlmostEqual(line[1], self.LR * min(1, (updates + 1) / 4))
            updates += not line[3]
        self.succeeds(*self.flags(**{**flags, "output": "offloaded", "plan": host}))
        self.assertEqual(result("offloaded"), whole)
        self.succeeds(*self.flags(**{**flags, "output": "parts", "steps": 5}))
        checkpoint = json.loads(
            (self.directory / "parts/checkpoints/step-0000000005/state.json").read_text())
        self.assertEqual(checkpoint["loss_scale"]["skipped_steps"],
                         sum(line[3] for line in whole[:5]))
        self.succeeds("--resume", "parts", "--steps", self.STEPS, "--plan", ranks)
        self.assertEqual(result("parts"), whole)

    def test_what_does_not_fit_is_refused(self):
        model, samples = self.model(), self.samples()
        flags = self.saved("whole", model, samples)
        for value, mention in (("dynamic:initial=x", "initial is a number"),
                               ("dynamic:speed=2", "`speed` is no part"),
                               ("dynamic:minimum=8,initial=4", "initial, 4, is less than"),
                               ("dynamic:interval=1.5", "interval is a whole number"),
                               ("dynamic:minimum=65536,backoff=1", "backoff of 1"),
                               ("dynamic:initial=4,", "a key=value is missing"),
                               ("1e-300", "a number from 5.96e-08 to 1.27e+30"),
                               ("-1", "neither"), ("dynamics", "follows")):
            self.fails(2, "EX0102", *self.flags(**flags), f"--loss-scale={value}",
                       mentions=[mention])
        self.fails(2, "EX0104", *self.flags(**flags), "--loss-scale", "1024",
                   mentions=["--loss-scale always"])
        # A fixed scale under which gradients overflow ends the run.
        flags = self.saved("half", model.half(), samples)
        result = self.run_tool(*self.flags(**flags), "--loss-scale", "16777216")
        self.assertIn("error[EX0706]", result.err)
        self.assertIn("a loss scale of 16777216, which becomes no smaller", result.err)
        self.assertIn("train with a smaller scale", result.err)
        # A run in which nothing was trained says so.
        result = self.succeeds(*self.flags(**flags), "--loss-scale", "dynamic:initial=1e12",
                               "--force")
        self.assertIn("nothing was trained", result.err)
        self.assertIn("3 of 3 steps were skipped", result.out)
        summary = json.loads((self.directory / "half-run/summary.json").read_text())
        self.assertEqual((summary["skipped_steps"], summary["loss_scale"]), (3, 1.25e11))
        result = self.succeeds("--resume", "half-run", "--steps", 4)
        self.assertIn("loss scale dynamic from 125000000000", result.err)


class Regions(ReferenceTest):
    """Regions of a scripted model act as in PyTorch, or are refused."""

    def test_no_grad_in_a_script_is_carried_out(self):
        import torch

        class Distilled(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.student = torch.nn.Linear(6, 4)
                self.register_buffer("teacher", torch.randn(4, 6))
                self.register_buffer("centre", torch.zeros(4))

            def forward(self, x):
                with torch.no_grad():
                    self.teacher.mul_(0.9).add_(self.student.weight, alpha=0.1)
                    goal = torch.tanh(x @ self.teacher.t()) - self.centre
                    self.centre.mul_(0.5).add_(goal.mean(0))
                return torch.nn.functional.mse_loss(self.student(x), goal)

        torch.manual_seed(3)
        self.expect_same_training("distilled", Distilled(), {"x": torch.randn(20, 6)}, script=True)

    def test_a_buffer_that_comes_to_train_is_named(self):
        import torch
        from training import envelope

        class Averaged(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.register_buffer("average", torch.zeros(4))

            def forward(self, x):
                y = self.layer(x)
                with torch.no_grad():
                    self.average.mul_(0.9).add_(y.mean(0))
                return (y - self.average).pow(2).mean()

        torch.jit.save(self.traced(Averaged(), {"x": torch.randn(3, 4)}),
                       str(self.directory / "averaged.pt"))
        said = envelope("ELIXIR_PROFILE", "averaged.pt", "--target", "cpu", "-o", "x.json",
                        cwd=self.directory)
        self.assertIn("forward writes values with a gradient to `average`: torch.jit.trace does "
                      "not keep torch.no_grad()", said["diagnostics"][0]["message"])

    def test_autocast_in_a_script_is_refused_with_its_line(self):
        import torch
        from training import envelope

        class Casts(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)

        class On(Casts):
            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    y = self.layer(x)
                return y.float().pow(2).mean()

        class Off(Casts):
            def forward(self, x):
                with torch.autocast("cpu", enabled=False):
                    y = self.layer(x)
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    y = y + self.layer(x)
                return y.float().pow(2).mean()

        torch.manual_seed(3)
        self.expect_same_training("off", Off(), {"x": torch.randn(20, 4)}, script=True)
        torch.jit.script(On()).save(str(self.directory / "on.pt"))
        for name, target in (("on", "cpu"), ("off", "cuda:sm_90")):
            no = envelope("ELIXIR_PROFILE", f"{name}.pt", "--target", target, "--input",
                          "x:float32[3,4]", "-o", "x.json", cwd=self.directory, code=2)
            self.assertRegex(no["diagnostics"][0]["message"],
                             r"the model uses torch.autocast \(line \d+ of .*"
                             r"test_train_reference.py\), which capture does not carry out")
            self.assertEqual(no["diagnostics"][0]["code"], "EX0311")


if __name__ == "__main__":
    unittest.main()
