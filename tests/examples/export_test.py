# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/export_hf.py: what it writes loads, computes a loss, keeps attention fast and carries
its initialisation."""
import importlib.util
import io
import contextlib
import json
import math
import operator
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPORTER = ROOT / "examples/export_hf.py"

if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers", "torchvision")):
    print("transformers or torchvision is not in this Python")
    sys.exit(77)

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

sys.path.insert(0, str(EXPORTER.parent))
import export_hf  # noqa: E402

TEXT = ("gpt2-tiny", "opt-tiny", "llama-tiny", "mixtral-tiny", "bert-tiny", "t5-tiny")
TINY = TEXT + ("vit-tiny", "resnet-tiny")
CAUSAL = ("gpt2-tiny", "opt-tiny", "llama-tiny", "mixtral-tiny")
SEQUENCE = 96


class Watch(TorchDispatchMode):
    """Notes the attention calls and the largest boolean result."""

    def __init__(self):
        super().__init__()
        self.attention, self.largest_bool = [], 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if "scaled_dot_product" in str(function):
            self.attention.append((str(function), args, kwargs or {}))
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.bool:
                self.largest_bool = max(self.largest_bool, tensor.numel())
        return result


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.files = {}

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def export(self, name, *flags):
        """Exports once for each set of flags; returns the path."""
        key = (name, *flags)
        if key not in self.files:
            path = os.path.join(self.directory.name, f"{len(self.files)}.pt")
            argv = sys.argv
            sys.argv = ["export_hf.py", name, path, *flags]
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(export_hf.main(), 0)
            finally:
                sys.argv = argv
            self.files[key] = path
        return self.files[key]

    def tiny(self, name, *flags):
        return self.export(name, "--batch", "2",
                           *(("--sequence", str(SEQUENCE)) if name in TEXT else ()), *flags)

    def load(self, path):
        extra = {"initialization.json": ""}
        module = torch.jit.load(path, _extra_files=extra)
        return module, json.loads(extra["initialization.json"])

    def inputs(self, name, module, dtype=torch.float32):
        names = [value.debugName().split(".")[0] for value in module.graph.inputs()][1:]
        torch.manual_seed(1)
        made = []
        for argument in names:
            if argument == "pixel_values":
                size = 32 if name == "vit-tiny" else 64
                made.append(torch.randn(2, 3, size, size).to(dtype))
            elif name in TEXT:
                made.append(torch.randint(512, (2, SEQUENCE)))
            else:
                made.append(torch.randint(10, (2,)))
        return made

    def run_cli(self, *arguments):
        return subprocess.run([sys.executable, EXPORTER, *arguments], capture_output=True,
                              text=True)

    def exported(self, config, *flags):
        """The exit code for a model of this configuration, and all that is printed."""
        path = pathlib.Path(self.directory.name, "config.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        argv, printed = sys.argv, io.StringIO()
        sys.argv = ["export_hf.py", str(path), str(path.with_name("of-config.pt")), "--force",
                    *flags]
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                code = export_hf.main()
        finally:
            sys.argv = argv
        return code, printed.getvalue()

    def test_every_family_gives_a_finite_scalar_loss_in_each_dtype(self):
        for name in TINY:
            for dtype in ("float32", "bfloat16"):
                with self.subTest(name=name, dtype=dtype):
                    module, _ = self.load(self.tiny(name, "--dtype", dtype))
                    for parameter in module.parameters():
                        self.assertEqual(parameter.dtype, getattr(torch, dtype))
                    loss = module(*self.inputs(name, module, getattr(torch, dtype)))
                    self.assertEqual(loss.shape, ())
                    classes = 512 if name in TEXT else 10
                    # T5 starts without scaled logits: its first loss is far above that of a uniform
                    # guess.
                    self.assertLess(abs(loss.item() - math.log(classes)),
                                    40 if name == "t5-tiny" else 2)
                    loss.backward()
                    self.assertTrue(
                        all(p.grad is not None for p in module.parameters() if p.requires_grad))

    def test_attention_has_a_causal_flag_or_no_mask(self):
        for name in TEXT + ("vit-tiny",):
            if name == "t5-tiny":
                continue
            with self.subTest(name=name):
                module, _ = self.load(self.tiny(name, "--dropout", "0"))
                nodes = [n for n in module.inlined_graph.nodes()
                         if n.kind() == "aten::scaled_dot_product_attention"]
                self.assertEqual(len(nodes), 2)
                for node in nodes:
                    mask, causal = list(node.inputs())[3], list(node.inputs())[5]
                    self.assertEqual(mask.type().kind(), "NoneType")
                    self.assertEqual(causal.toIValue(), name in CAUSAL)
                with Watch() as watch:
                    module(*self.inputs(name, module))
                self.assertLess(watch.largest_bool, SEQUENCE * SEQUENCE, "a materialised mask")

    def test_experts_are_grouped_products(self):
        for flags in (("--meta",), ("--dtype", "bfloat16")):
            module, _ = self.load(self.tiny("mixtral-tiny", *flags))
            kinds = [node.kind() for node in module.inlined_graph.nodes()]
            self.assertEqual(kinds.count("aten::_grouped_mm"), 4, flags)  # two of each layer

    def test_t5_has_a_dense_bias_in_self_attention_and_none_in_cross_attention(self):
        module, _ = self.load(self.tiny("t5-tiny", "--dropout", "0"))
        with torch.no_grad(), Watch() as watch:
            module(*self.inputs("t5-tiny", module))
        masks = [kwargs.get("attn_mask")
                 for function, _, kwargs in watch.attention if "flash" in function]
        self.assertEqual(len(masks), 6)  # two layers: encoder, decoder, cross-attention
        self.assertEqual(sum(mask is None for mask in masks), 2)
        for mask in masks:
            if mask is not None:
                self.assertEqual(mask.shape, (1, 4, SEQUENCE, SEQUENCE))
                self.assertEqual(mask.stride(-1), 1)
        causal = [mask for mask in masks if mask is not None and mask[0, 0, 0, -1] < -1e30]
        self.assertEqual(len(causal), 2, "the decoder's")

    def test_the_loss_is_that_of_transformers_own_attention(self):
        import transformers
        for name in TEXT:
            with self.subTest(name=name):
                module, _ = self.load(self.tiny(name, "--dropout", "0"))
                inputs = self.inputs(name, module)
                settings = dict(export_hf.MODELS[name])
                config = transformers.AutoConfig.for_model(**settings)
                for key, value in config.to_dict().items():
                    if ("dropout" in key or key.endswith("pdrop")) and isinstance(value, float):
                        setattr(config, key, 0.0)
                model = getattr(transformers, export_hf.CLASSES[settings["model_type"]])(config)
                # buffers that it does not save
                absent = model.load_state_dict(module.state_dict(), strict=False)
                self.assertFalse(absent.missing_keys)
                self.assertFalse(set(absent.unexpected_keys)
                                 & {n for n, _ in module.named_parameters()})
                labels = inputs[1] if len(inputs) > 1 else inputs[0]
                expected = model(input_ids=inputs[0], labels=labels).loss
                torch.testing.assert_close(module(*inputs), expected, rtol=1e-5, atol=1e-5)

    def test_meta_files_are_small_keep_buffers_and_have_the_graph_of_real_ones(self):
        for name in TINY:
            with self.subTest(name=name):
                real, real_recipes = self.load(self.tiny(name))
                path = self.tiny(name, "--meta")
                meta, meta_recipes = self.load(path)
                self.assertLess(os.path.getsize(path), 400_000)
                self.assertEqual(real_recipes, meta_recipes)
                self.assertTrue(all(p.device.type == "meta" for p in meta.parameters()))
                buffers = dict(meta.named_buffers())
                self.assertEqual(set(buffers), {n for n, _ in real.named_buffers()})
                for buffer_name, expected in real.named_buffers():
                    torch.testing.assert_close(buffers[buffer_name], expected, rtol=0, atol=0)
                self.assertEqual(meta.code, real.code)
                self.assertNotIn('value="meta"', str(meta.inlined_graph))
                self.assertEqual([(n, p.shape, p.dtype) for n, p in meta.named_parameters()],
                                 [(n, p.shape, p.dtype) for n, p in real.named_parameters()])

    def test_attention_that_the_fused_operator_does_not_have_is_refused(self):
        small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
                 "max_position_embeddings": 256}
        sliding = {**small, "model_type": "mistral", "architectures": ["MistralForCausalLM"],
                   "sliding_window": 64}
        capped = {**small, "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"],
                  "head_dim": 8}
        for config, flags, why in ((sliding, ("--sequence", "128"), "sliding_window 64"),
                                   (sliding, ("--sequence", "64"), None),
                                   (capped, ("--sequence", "32"), "softcap")):
            with self.subTest(model=config["model_type"], flags=flags):
                code, printed = self.exported(config, *flags)
                self.assertEqual(code, 2 if why else 0, printed)
                self.assertIn(why or "", printed)

    def test_robertas_positions_begin_behind_the_paddings(self):
        config = {"model_type": "roberta", "architectures": ["RobertaForMaskedLM"],
                  "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                  "num_attention_heads": 4, "vocab_size": 100, "max_position_embeddings": 66,
                  "pad_token_id": 1}
        self.assertIn("input_ids int64[1,64]", self.exported(config)[1])
        self.assertIn("longer than the model's 64 positions",
                      self.exported(config, "--sequence", "65")[1])

    def test_ties_survive_with_and_without_weights(self):
        for flags in ((), ("--meta",)):
            for name, first, second in (("gpt2-tiny", "transformer.wte", "lm_head"),
                                        ("t5-tiny", "shared", "decoder.embed_tokens")):
                with self.subTest(name=name, flags=flags):
                    module, _ = self.load(self.tiny(name, *flags))
                    self.assertIs(operator.attrgetter(first)(module).weight,
                                  operator.attrgetter(second)(module).weight)

    def test_recipes_describe_the_weights_that_were_drawn(self):
        for name in TINY:
            with self.subTest(name=name):
                module, document = self.load(self.tiny(name))
                self.assertEqual((document["schema"], document["schema_version"]),
                                 ("elixir.initialization", "1.0"))
                self.assertEqual(set(document), {"schema", "schema_version", "parameters"})
                recipes = {entry["name"]: entry for entry in document["parameters"]}
                for parameter_name, parameter in module.named_parameters():
                    recipe, values = recipes[parameter_name], parameter.detach().double()
                    if recipe["kind"] == "constant":
                        self.assertTrue((values == recipe["value"]).all(), parameter_name)
                        continue
                    if recipe["kind"] == "uniform":
                        mean = (recipe["low"] + recipe["high"]) / 2
                        deviation = (recipe["high"] - recipe["low"]) / math.sqrt(12)
                        self.assertGreaterEqual(values.min().item(), recipe["low"] - 1e-6)
                        self.assertLessEqual(values.max().item(), recipe["high"] + 1e-6)
                    else:
                        mean, deviation = recipe["mean"], recipe["std"]
                    error = deviation / math.sqrt(values.numel())
                    self.assertLess(abs(values.mean().item() - mean), 5 * error, parameter_name)
                    self.assertLess(abs(values.std().item() - deviation), 5 * error, parameter_name)
                self.assertEqual(len(recipes), len(list(module.named_parameters())))

    def test_scaled_projections_are_in_the_recipe(self):
        recipes = {e["name"]: e for e in self.load(self.tiny("gpt2-tiny"))[1]["parameters"]}
        self.assertAlmostEqual(recipes["transformer.h.0.mlp.c_proj.weight"]["std"],
                               0.02 / math.sqrt(4))

    def test_the_seed_decides_the_weights(self):
        first, _ = self.load(self.tiny("gpt2-tiny"))
        other, _ = self.load(self.tiny("gpt2-tiny", "--seed", "1"))
        again, _ = self.load(self.tiny("gpt2-tiny", "--seed", "0"))
        self.assertTrue(torch.equal(first.transformer.wte.weight, again.transformer.wte.weight))
        self.assertFalse(torch.equal(first.transformer.wte.weight, other.transformer.wte.weight))

    def test_the_largest_models_export_on_meta_with_their_published_size(self):
        for name, parameters in (("OPT-175B", 174_604_468_224), ("gpt2-4b", 3_782_697_984)):
            with self.subTest(name=name):
                path = self.export(name, "--meta", "--dtype", "BF16")
                self.assertLess(os.path.getsize(path), 5_000_000)
                module, _ = self.load(path)
                self.assertEqual(sum(p.numel() for p in module.parameters()), parameters)

    def test_a_configuration_file_is_accepted(self):
        path = os.path.join(self.directory.name, "config.json")
        pathlib.Path(path).write_text(json.dumps({
            "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox", "hidden_size": 64,
            "vocab_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4,
            "intermediate_size": 128, "max_position_embeddings": 64}))
        module, _ = self.load(self.export(path))
        self.assertEqual(module(torch.randint(128, (1, 64))).shape, ())

    def test_experts_whose_rows_are_not_aligned_are_batched_and_repeated_by_a_number(self):
        path = os.path.join(self.directory.name, "experts.json")
        pathlib.Path(path).write_text(json.dumps({
            "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 64,
            "vocab_size": 128, "num_hidden_layers": 1, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 64,
            "moe_intermediate_size": 30, "num_experts": 8, "num_experts_per_tok": 2,
            "max_position_embeddings": 64}))
        module, _ = self.load(self.export(path, "--batch", "2", "--sequence", "16"))
        self.assertEqual(module(torch.randint(128, (2, 16))).shape, ())
        calls = [node.schema() for node in module.inlined_graph.nodes()
                 if node.kind() == "aten::repeat_interleave"]
        self.assertTrue(calls)  # a tensor of repeats would stay on the CPU
        self.assertTrue(all("SymInt repeats" in schema for schema in calls), calls)

    def test_wrong_usage_exits_2_and_says_what_would_be_right(self):
        existing = os.path.join(self.directory.name, "existing.pt")
        pathlib.Path(existing).write_text("keep me")
        output = os.path.join(self.directory.name, "new.pt")
        broken = os.path.join(self.directory.name, "broken.json")
        pathlib.Path(broken).write_text("{")
        for arguments, expected in (
                (["gtp2", output], "did you mean gpt2"),
                (["gpt2-tiny", existing], "use --force"),
                (["gpt2-tiny", output, "--dtype", "int8"], "use float32, bfloat16 or float16"),
                (["gpt2-tiny", output, "--sequence", "100000"],
                 "longer than the model's 256 positions"),
                (["resnet50", output, "--sequence", "10"], "for text models"),
                (["gpt2-tiny", output, "--dropout", "1.5"], "not in [0, 1)"),
                (["gpt2-tiny", os.path.join(self.directory.name, "no/such/out.pt")],
                 "is not a directory"),
                ([broken, output], "broken.json"),
                (["gpt2-tiny"], "OUT.pt"),
        ):
            with self.subTest(arguments=arguments):
                result = self.run_cli(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(expected, result.stderr)
                self.assertNotIn("Traceback", result.stderr)
                self.assertFalse(os.path.exists(output))
        self.assertEqual(pathlib.Path(existing).read_text(), "keep me")


if __name__ == "__main__":
    unittest.main()
