#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Exports a Hugging Face or torchvision model to TorchScript, as Elixir's tools read it. Downloads
nothing.

The exported forward returns the training loss. Parameter names are the model's own, so published
weights fit (`elixir-train --weights`). What matters for memory and speed is kept out of the graph:
attention gets a causal flag or no mask at all, where tracing transformers would materialise one of
sequence x sequence.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import warnings

EPILOGUE = """\
models:
{models}
  A CONFIG.json is a Hugging Face configuration with its `model_type` (and `architectures`).

examples:
  examples/export_hf.py gpt2 gpt2.pt --batch 8 --sequence 1024
  examples/export_hf.py opt-175b opt-175b.pt --meta --dtype bfloat16    (seconds and a few MB: \
no weights)
  examples/export_hf.py my-config.json my-model.pt --dropout 0 --seed 1
  then: elixir-profile gpt2.pt
"""


def opt(hidden, layers, heads, **more):
    return {"model_type": "opt", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "ffn_dim": 4 * hidden, "word_embed_proj_dim": hidden,
            "vocab_size": 50272, "max_position_embeddings": 2048, **more}


def gpt2(hidden, layers, heads, **more):
    # The configuration's default, gelu_new, is the same function in eight operators, which keep 2.5
    # times the memory.
    return {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads,
            "activation_function": "gelu_pytorch_tanh", **more}


def gpt2_benchmark(hidden, layers, heads):
    """A model of Elixir's benchmark: as published, without dropout."""
    return gpt2(hidden, layers, heads, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)


def llama(hidden, layers, heads, key_value_heads, intermediate, vocabulary, positions, theta,
          **more):
    return {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": key_value_heads,
            "intermediate_size": intermediate, "vocab_size": vocabulary,
            "max_position_embeddings": positions,
            "rope_parameters": {"rope_type": "default", "rope_theta": theta}, **more}


def mixtral(hidden, layers, heads, key_value_heads, intermediate, vocabulary, **more):
    return {"model_type": "mixtral", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": key_value_heads,
            "intermediate_size": intermediate, "vocab_size": vocabulary,
            "max_position_embeddings": 32768,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
            "num_local_experts": 8, "num_experts_per_tok": 2, **more}


def bert(hidden, layers, heads, **more):
    return {"model_type": "bert", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": 4 * hidden, **more}


def t5(model, layers, heads, feed_forward, **more):
    return {"model_type": "t5", "d_model": model, "num_layers": layers, "num_heads": heads,
            "d_ff": feed_forward, "d_kv": 64, "decoder_start_token_id": 0, "pad_token_id": 0,
            **more}


def vit(hidden, layers, heads, **more):
    return {"model_type": "vit", "hidden_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "intermediate_size": 4 * hidden, **more}


# Published hyper-parameters: OPT (Zhang et al. 2022, table 1), GPT-2 (Radford et al. 2019), Llama 2
# and 3 (`llama-7b`, `llama-13b`: 2; `llama-1b`, `llama-8b`, `llama-70b`: 3), BERT, T5, ViT, and the
# GPT-2 sizes of Elixir's benchmark (`gpt2-7b` is not one of them). `*-tiny` are for trying things
# out; `gpt2-small-bytes` is the quickstart's.
MODELS = {
    "opt-125m": opt(768, 12, 12),
    "opt-350m": opt(1024, 24, 16, word_embed_proj_dim=512, do_layer_norm_before=False),
    "opt-1.3b": opt(2048, 24, 32),
    "opt-2.7b": opt(2560, 32, 32),
    "opt-6.7b": opt(4096, 32, 32),
    "opt-13b": opt(5120, 40, 40),
    "opt-30b": opt(7168, 48, 56),
    "opt-66b": opt(9216, 64, 72),
    "opt-175b": opt(12288, 96, 96),
    "opt-tiny": opt(64, 2, 4, vocab_size=512, max_position_embeddings=256),
    "gpt2": gpt2(768, 12, 12),
    "gpt2-medium": gpt2(1024, 24, 16),
    "gpt2-large": gpt2(1280, 36, 20),
    "gpt2-xl": gpt2(1600, 48, 25),
    "gpt2-400m": gpt2_benchmark(1024, 24, 16),
    "gpt2-1b": gpt2_benchmark(1536, 32, 24),
    "gpt2-4b": gpt2_benchmark(3072, 32, 24),
    "gpt2-7b": gpt2_benchmark(4096, 32, 32),
    "gpt2-10b": gpt2_benchmark(4096, 48, 32),
    "gpt2-15b": gpt2_benchmark(8192, 18, 64),
    "gpt2-18b": gpt2_benchmark(6144, 40, 48),
    "gpt2-20b": gpt2_benchmark(8192, 24, 64),
    "gpt2-22b": gpt2_benchmark(8192, 27, 64),
    "gpt2-25b": gpt2_benchmark(8192, 30, 64),
    "gpt2-30b": gpt2_benchmark(8192, 36, 64),
    "gpt2-36b": gpt2_benchmark(8192, 45, 64),
    "gpt2-40b": gpt2_benchmark(8192, 50, 16),
    "gpt2-43b": gpt2_benchmark(8192, 53, 64),
    "gpt2-tiny": gpt2(64, 2, 4, vocab_size=512, n_positions=256),
    "gpt2-small-bytes": gpt2(384, 6, 6, vocab_size=256, n_positions=256, bos_token_id=0,
                             eos_token_id=0),
    "llama-1b": llama(2048, 16, 32, 8, 8192, 128256, 8192, 500000.0, tie_word_embeddings=True),
    "llama-7b": llama(4096, 32, 32, 32, 11008, 32000, 4096, 10000.0),
    "llama-8b": llama(4096, 32, 32, 8, 14336, 128256, 8192, 500000.0),
    "llama-13b": llama(5120, 40, 40, 40, 13824, 32000, 4096, 10000.0),
    "llama-70b": llama(8192, 80, 64, 8, 28672, 128256, 8192, 500000.0),
    "mixtral-8x7b": mixtral(4096, 32, 32, 8, 14336, 32000),
    "mixtral-tiny": mixtral(64, 2, 4, 2, 128, 512, max_position_embeddings=256),
    "llama-tiny": llama(64, 2, 4, 2, 192, 512, 256, 10000.0),
    "bert-base": bert(768, 12, 12),
    "bert-large": bert(1024, 24, 16),
    "bert-tiny": bert(64, 2, 4, vocab_size=512, max_position_embeddings=256),
    "t5-small": t5(512, 6, 8, 2048),
    "t5-base": t5(768, 12, 12, 3072),
    "t5-large": t5(1024, 24, 16, 4096),
    "t5-tiny": t5(64, 2, 4, 128, d_kv=16, vocab_size=512),
    "vit-b": vit(768, 12, 12, num_labels=1000),
    "vit-l": vit(1024, 24, 16, num_labels=1000),
    "vit-tiny": vit(64, 2, 4, image_size=32, patch_size=8, num_labels=10),
    "resnet50": {"model_type": "resnet", "layers": [3, 4, 6, 3], "num_classes": 1000,
                 "image_size": 224},
    "resnet-tiny": {"model_type": "resnet", "layers": [1, 1, 1, 1], "num_classes": 10,
                    "image_size": 64, "width_per_group": 8, "expansion": 1},
}
DTYPES = {"float32": "float32", "fp32": "float32", "bfloat16": "bfloat16", "bf16": "bfloat16",
          "float16": "float16", "fp16": "float16"}
CLASSES = {"opt": "OPTForCausalLM", "gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM",
           "mixtral": "MixtralForCausalLM", "bert": "BertForMaskedLM",
           "t5": "T5ForConditionalGeneration", "vit": "ViTForImageClassification"}
# T5 has relative positions and no longest sequence; it was trained with 512.
DEFAULT_SEQUENCE = {"t5": 512}


ROOT = pathlib.Path(__file__).resolve().parents[1]


class UsageError(Exception):
    """What is wrong, and what would be right."""


class NoTorch(Exception):
    """This Python cannot export, and the project's own is not there or cannot either."""


def find_torch():
    """Goes on under the Python that examples/setup.sh made when this one lacks what exporting
    needs: most systems' python3, which `#!/usr/bin/env python3` finds, has no torch."""
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    own = ROOT / ".venv"
    if (missing and os.access(own / "bin/python3", os.X_OK)
        and pathlib.Path(sys.prefix).resolve() != own.resolve()):
        os.execv(own / "bin/python3", [str(own / "bin/python3"), *sys.argv])
    if missing:
        raise NoTorch(f"{sys.executable} has no {' and no '.join(missing)}")


def parse_arguments():
    families = {}
    for name in MODELS:
        families.setdefault(name.split("-")[0], []).append(name)
    models = "\n".join("  " + " ".join(names) for names in families.values())
    parser = argparse.ArgumentParser(prog="export_hf.py", description=__doc__,
                                     epilog=EPILOGUE.format(models=models),
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("model", metavar="NAME|CONFIG.json",
                        help="a name from the list below (any case), or a file")
    parser.add_argument("output", metavar="OUT.pt", type=pathlib.Path)
    parser.add_argument("--dtype", default="float32", help="float32 (default), bfloat16, float16")
    parser.add_argument("--batch", type=int, default=1, metavar="N",
                        help="samples in the example input (default 1)")
    parser.add_argument("--sequence", type=int, metavar="N",
                        help="tokens of a sample (default: the model's longest)")
    parser.add_argument("--dropout", type=float, metavar="P",
                        help="every dropout probability (default: the configuration's)")
    parser.add_argument("--meta", action="store_true",
                        help="no weights: parameters on meta, buffers with their data")
    parser.add_argument("--seed", type=int, default=0, help="of the random weights (default 0)")
    parser.add_argument("--force", action="store_true", help="replace OUT.pt if it exists")
    arguments = parser.parse_args()
    if arguments.dtype.lower() not in DTYPES:
        raise UsageError(f"unknown dtype `{arguments.dtype}`: use float32, bfloat16 or float16")
    arguments.dtype = DTYPES[arguments.dtype.lower()]
    for flag in ("batch", "sequence"):
        value = getattr(arguments, flag)
        if value is not None and value < (2 if flag == "sequence" else 1):
            raise UsageError(f"--{flag} {value} is too small")
    if arguments.dropout is not None and not 0 <= arguments.dropout < 1:
        raise UsageError(f"--dropout {arguments.dropout} is not in [0, 1)")
    if arguments.output.exists() and not arguments.force:
        raise UsageError(f"{arguments.output} exists: use --force to replace it")
    if not arguments.output.parent.is_dir():
        raise UsageError(f"{arguments.output.parent} is not a directory")
    return arguments


def read_settings(model):
    """The configuration as a record, from a name or a file."""
    if model.lower() in MODELS:
        return dict(MODELS[model.lower()])
    if model.endswith(".json") or os.path.exists(model):
        try:
            settings = json.loads(pathlib.Path(model).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{model}: {error}") from error
        if not isinstance(settings, dict) or not isinstance(settings.get("model_type"), str):
            raise UsageError(f"{model}: a configuration is a record with `model_type`")
        return settings
    import difflib
    close = difflib.get_close_matches(model.lower(), MODELS, n=3)
    raise UsageError(f"unknown model `{model}`"
                     + (f": did you mean {', '.join(close)}?" if close else "; --help lists them"))


class InitRecorder:
    """Notes how each parameter is initialised, by wrapping the functions of torch.nn.init while a
    model is built.

    With `skip`, nothing is drawn: parameters are on meta."""

    def __init__(self, skip):
        self.skip = skip
        # id of the parameter -> [parameter (kept alive: ids must not be used again), recipe]
        self.recipes = {}

    def note(self, tensor, recipe):
        import torch
        if isinstance(tensor, torch.nn.Parameter):
            self.recipes[id(tensor)] = [tensor, recipe]
        # Else one row of an embedding, the padding token: its zeros are not part of the recipe.

    @staticmethod
    def recipe(function, tensor, *args, **kwargs):
        import inspect
        import math
        import torch
        init = torch.nn.init
        bound = inspect.signature(function).bind(tensor, *args, **kwargs)
        bound.apply_defaults()
        a = bound.arguments
        name = function.__name__
        if name == "normal_":
            return {"kind": "normal", "mean": float(a["mean"]), "std": float(a["std"])}
        if name == "trunc_normal_":
            recipe = {"kind": "normal", "mean": float(a["mean"]), "std": float(a["std"])}
            # Bounds are absolute; most models have them a hundred deviations away.
            if min(a["mean"] - a["a"], a["b"] - a["mean"]) < 5 * a["std"]:
                recipe.update(kind="truncated_normal", low=float(a["a"]), high=float(a["b"]))
            return recipe
        if name == "uniform_":
            return {"kind": "uniform", "low": float(a["a"]), "high": float(a["b"])}
        if name in ("constant_", "zeros_", "ones_"):
            return {"kind": "constant",
                    "value": {"zeros_": 0.0, "ones_": 1.0}.get(name, float(a.get("val", 0.0)))}
        if name in ("kaiming_normal_", "kaiming_uniform_"):
            fan = init._calculate_correct_fan(tensor, a["mode"])
            std = init.calculate_gain(a["nonlinearity"], a["a"]) / math.sqrt(fan)
        elif name in ("xavier_normal_", "xavier_uniform_"):
            fan_in, fan_out = init._calculate_fan_in_and_fan_out(tensor)
            std = a["gain"] * math.sqrt(2.0 / (fan_in + fan_out))
        else:
            return None
        if name.endswith("normal_"):
            return {"kind": "normal", "mean": 0.0, "std": std}
        return {"kind": "uniform", "low": -math.sqrt(3.0) * std, "high": math.sqrt(3.0) * std}

    @contextlib.contextmanager
    def recording(self):
        import torch
        from transformers import initialization
        names = ["normal_", "trunc_normal_", "uniform_", "constant_", "zeros_", "ones_",
                 "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_"]
        originals = {name: initialization.TORCH_INIT_FUNCTIONS[name] for name in names}

        def wrap(original):
            def recorded(tensor, *args, **kwargs):
                self.note(tensor, self.recipe(original, tensor, *args, **kwargs))
                if tensor.device.type == "meta":
                    return tensor
                return original(tensor, *args, **kwargs)
            return recorded

        # Parameters go to meta as they are registered, before anything is written to them; buffers
        # keep their data.
        register = torch.nn.Module.register_parameter

        def register_on_meta(module, name, parameter):
            register(module, name, parameter)
            if parameter is not None and parameter.device.type != "meta":
                meta = torch.nn.Parameter(parameter.detach().to("meta"),
                                          requires_grad=parameter.requires_grad)
                meta.__dict__.update(parameter.__dict__)
                module._parameters[name] = meta

        try:
            for name, original in originals.items():
                wrapped = wrap(original)
                initialization.TORCH_INIT_FUNCTIONS[name] = wrapped
                setattr(torch.nn.init, name, wrapped)
            if self.skip:
                torch.nn.Module.register_parameter = register_on_meta
            yield
        finally:
            torch.nn.Module.register_parameter = register
            for name, original in originals.items():
                initialization.TORCH_INIT_FUNCTIONS[name] = original
                setattr(torch.nn.init, name, original)

    def document(self, model):
        """initialization.json (docs/formats/initialization.md), in the model's order; unknown
        parameters are left out."""
        parameters, unknown = [], []
        for name, parameter in model.named_parameters():
            recipe = self.recipes.get(id(parameter), (None, None))[1]
            if recipe:
                parameters.append({"name": name, **recipe})
            else:
                unknown.append(name)
        return {"schema": "elixir.initialization", "schema_version": "1.0",
                "parameters": parameters}, unknown


def attention(module, query, key, value, attention_mask, dropout=0.0, scaling=None, is_causal=None,
              position_bias=None, **more):
    """What transformers calls in place of its own attention: the fused operator with a causal flag
    or no mask.

    Nothing is padded in training batches of equal length, so that no mask is needed; registering no
    mask function makes transformers pass none. T5's relative position bias stays, as a dense
    additive mask (see patch_t5)."""
    import torch
    assert attention_mask is None
    dropped = [name for name in ("softcap", "s_aux") if more.get(name) is not None]
    if (more.get("sliding_window") or key.size(-2)) < key.size(-2):
        dropped.append(f"sliding_window {more['sliding_window']} (shorter than --sequence)")
    if dropped:
        raise UsageError(f"the fused attention of this exporter has no {', '.join(dropped)}")
    position_bias = None if position_bias is NoBias else position_bias
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    groups = {"enable_gqa": True} if getattr(module, "num_key_value_groups", 1) > 1 else {}
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=position_bias, dropout_p=dropout, scale=scaling,
        is_causal=bool(causal) and position_bias is None, **groups)
    return output.transpose(1, 2).contiguous(), None


def patch_t5(model):
    """Position biases are made once a stack, contiguous (fused attention wants a mask whose last
    stride is 1) and, in the decoder, causal; cross-attention has none instead of zeros. Labels are
    shifted without assigning to a slice, which would become a constant on meta that loses its
    value."""
    import torch
    from transformers.models.t5 import modeling_t5

    config = model.config

    def shift_right(labels):
        shifted = torch.nn.functional.pad(labels[:, :-1], (1, 0),
                                          value=config.decoder_start_token_id)
        return shifted.masked_fill(shifted == -100, config.pad_token_id)
    model._shift_right = shift_right

    for module in model.modules():
        if isinstance(module, modeling_t5.T5Attention) and module.has_relative_attention_bias:
            def compute_bias(query_length, key_length, module=module, **kwargs):
                bias = modeling_t5.T5Attention.compute_bias(module, query_length, key_length,
                                                            **kwargs)
                if module.is_decoder:
                    positions = torch.arange(key_length, device=bias.device)
                    bias = bias.masked_fill(positions[None, :] > positions[:, None],
                                            torch.finfo(bias.dtype).min)
                return bias.contiguous()
            module.compute_bias = compute_bias
        elif isinstance(module, modeling_t5.T5LayerCrossAttention):
            inner = module.EncDecAttention

            def forward(*args, inner=inner, position_bias=None, **kwargs):
                output, _, weights = modeling_t5.T5Attention.forward(inner, *args,
                                                                     position_bias=NoBias, **kwargs)
                return output, None, weights
            inner.forward = forward


class NoBias:
    """Stands for the position bias of attention that has none."""


def build(settings, arguments, recorder):
    """The model in training mode, with a forward that returns the loss; its inputs by name; its
    longest sequence."""
    import torch
    import transformers
    dtype = getattr(torch, arguments.dtype)
    kind = settings["model_type"]
    if kind == "resnet" and "layers" in settings:
        from torchvision.models.resnet import Bottleneck, ResNet
        if arguments.sequence:
            raise UsageError("--sequence is for text models")
        block = (type("Bottleneck", (Bottleneck,), {"expansion": settings["expansion"]})
                 if "expansion" in settings else Bottleneck)
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            with recorder.recording():
                model = ResNet(block, settings["layers"], num_classes=settings["num_classes"],
                               width_per_group=settings.get("width_per_group", 64))
        finally:
            torch.set_default_dtype(before)
        logits = model.forward
        model.forward = lambda pixel_values, labels: torch.nn.functional.cross_entropy(
            logits(pixel_values), labels)
        return model.train(), image_inputs(arguments, 3, settings["image_size"],
                                           settings["num_classes"], dtype)

    settings = {key: value for key, value in settings.items()
                if key not in ("architectures", "torch_dtype", "dtype", "transformers_version")}
    try:
        config = transformers.AutoConfig.for_model(**settings)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{arguments.model}: {error}") from error
    class_name = (arguments.architectures or [CLASSES.get(kind)])[0]
    cls = getattr(transformers, class_name or "", None)
    if cls is None:
        raise UsageError(
            f"{arguments.model}: no class for model_type `{kind}`: give `architectures`, for "
            f"example [\"GPT2LMHeadModel\"]")
    for key, value in config.to_dict().items():
        if (arguments.dropout is not None and isinstance(value, (int, float))
            and not isinstance(value, bool) and (
                     "dropout" in key or key.endswith("pdrop"))):
            setattr(config, key, arguments.dropout)
    config.use_cache = False
    transformers.AttentionInterface.register("elixir", attention)
    with recorder.recording():
        model = cls._from_config(config, dtype=dtype, attn_implementation="elixir")
    model.train()
    if kind == "opt":
        if config.layerdrop:
            raise UsageError(
                "layerdrop skips layers at random: such a model has no one step to export")
        # Only this module's own flag: it would draw a number a layer to decide whether to skip it.
        model.model.decoder.training = False
    if kind == "t5":
        patch_t5(model)

    forward = cls.forward
    if hasattr(config, "image_size"):
        if arguments.sequence:
            raise UsageError("--sequence is for text models")
        model.forward = lambda pixel_values, labels: forward(model, pixel_values=pixel_values,
                                                             labels=labels).loss
        return model, image_inputs(arguments, config.num_channels, config.image_size,
                                   config.num_labels, dtype)

    longest = getattr(config, "max_position_embeddings", None) if kind != "t5" else None
    if (longest and any(hasattr(module, "create_position_ids_from_input_ids")
                        for module in model.modules())):
        # as in RoBERTa, the first position is behind the padding's
        longest -= config.pad_token_id + 1
    sequence = arguments.sequence or longest or DEFAULT_SEQUENCE.get(kind, 512)
    if longest and sequence > longest:
        raise UsageError(f"--sequence {sequence} is longer than the model's {longest} positions")
    generator = torch.Generator().manual_seed(arguments.seed)
    tokens = [torch.randint(config.vocab_size, (arguments.batch, sequence), generator=generator)
              for _ in range(2)]
    if kind in ("t5",) or kind == "bert":
        model.forward = lambda input_ids, labels: forward(model, input_ids=input_ids,
                                                          labels=labels).loss
        return model, {"input_ids": tokens[0], "labels": tokens[1]}
    model.forward = lambda input_ids: forward(model, input_ids=input_ids, labels=input_ids).loss
    return model, {"input_ids": tokens[0]}


def image_inputs(arguments, channels, size, classes, dtype):
    import torch
    generator = torch.Generator().manual_seed(arguments.seed)
    return {"pixel_values": torch.randn(arguments.batch, channels, size, size,
                                        generator=generator).to(dtype),
            "labels": torch.randint(classes, (arguments.batch,), generator=generator)}


def trace(model, inputs, on_meta):
    """The traced module, its buffers as before: tracing runs a step, which changes running means.
    With `on_meta` the step computes nothing."""
    import torch
    buffers = {}
    for path, module in model.named_modules():
        for name, buffer in module._buffers.items():
            if buffer is not None:
                buffers[(path, name)] = buffer
                module._buffers[name] = buffer.to("meta") if on_meta else buffer.clone()
    if on_meta:
        inputs = {name: tensor.to("meta") for name, tensor in inputs.items()}
        # for as long as this function runs
        meta_kernels = torch.library.Library("aten", "IMPL", "Meta")
        meta_kernels.impl("_grouped_mm", grouped_mm_on_meta, allow_override=True)
        # PyTorch's own `convolution` on meta neither accepts sizes that are traced nor calls
        # `_convolution`, which a trace keeps.
        flags = torch.backends.cudnn
        meta_kernels.impl("convolution", lambda *operands: torch.ops.aten._convolution(
            *operands, flags.benchmark, flags.deterministic, flags.enabled, flags.allow_tf32),
                          allow_override=True)
        meta_kernels.impl("_convolution", convolution_on_meta, allow_override=True)
    with repeats_as_numbers():
        traced = torch.jit.trace(model, tuple(inputs.values()), check_trace=False)
    for (path, name), data in buffers.items():
        setattr(traced.get_submodule(path), name, data)
    if on_meta:
        for module in traced.modules():
            with contextlib.suppress(AttributeError, RuntimeError):
                rewrite_devices(module.graph)
    return traced


def grouped_experts(module, hidden_states, top_k_index, top_k_weights):
    """What transformers calls in place of its own experts: each expert's rows in one product of
    `grouped_mm`.

    Its default form chooses sizes by the data, which no trace keeps; `batched_mm` copies an
    expert's weights for each of its rows. Here rows are sorted by expert, and the product gets the
    row at which each expert ends, as data. The arithmetic is that of transformers' `grouped_mm`,
    but for the order of sums; the operators are the same on CPU, GPU and meta, and deterministic.
    hidden_states: (tokens, width); top_k_index, top_k_weights: (tokens, chosen)."""
    import torch
    chosen = top_k_index.size(-1)
    experts = top_k_index.reshape(-1)
    order = torch.argsort(experts, stable=True)
    numbers = torch.arange(module.num_experts, device=experts.device)
    ends = (experts.unsqueeze(-1) <= numbers).sum(0, dtype=torch.int32)

    def project(rows, name):
        weights = getattr(module, name)
        weights = weights if module.is_transposed else weights.transpose(-2, -1)
        product = torch.nn.functional.grouped_mm(rows.to(weights.dtype), weights, offs=ends)
        return (product + getattr(module, f"{name}_bias")[experts[order]]
                if module.has_bias else product)

    rows = hidden_states[torch.div(order, chosen, rounding_mode="floor")]
    rows = (module._apply_gate(project(rows, "gate_up_proj"))
            if module.has_gate else module.act_fn(project(rows, "up_proj")))
    rows = project(rows, "down_proj") * top_k_weights.reshape(-1)[order].unsqueeze(-1)
    rows = rows[torch.argsort(order)].view(-1, chosen, hidden_states.size(-1))
    return rows.sum(dim=1).to(hidden_states.dtype)


def grouped_mm_on_meta(left, right, offs=None, bias=None, out_dtype=None):
    """The result of groups of rows by matrices, in any dtype; PyTorch's own has bf16 alone. Its
    rows begin at multiples of 16 bytes."""
    rows, columns = left.size(0), right.size(-1)
    alignment = 16 // left.element_size()
    return left.new_empty_strided((rows, columns), (-(-columns // alignment) * alignment, 1))


def convolution_on_meta(image, weight, bias, stride, padding, dilation, transposed, output_padding,
                        groups, *flags):
    """The result of a convolution over any number of dimensions; sizes as torch.nn.Conv2d and
    ConvTranspose2d give them."""
    def at(values, dimension):
        return values[dimension] if len(values) > 1 else values[0]

    sizes = [image.size(0), weight.size(1) * groups if transposed else weight.size(0)]
    for i in range(image.dim() - 2):
        kernel = at(dilation, i) * (weight.size(2 + i) - 1) + 1
        if transposed:
            sizes.append((image.size(2 + i) - 1) * at(stride, i) - 2 * at(padding, i) + kernel
                         + at(output_padding, i))
        else:
            sizes.append((image.size(2 + i) + 2 * at(padding, i) - kernel) // at(stride, i) + 1)
    return image.new_empty(sizes)


def choose_experts_form(model):
    """Experts as `grouped_experts` has them. Its products read rows of multiples of 16 bytes;
    others are batched."""
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    experts = [module for module in model.modules() if hasattr(module, "_apply_gate")]
    if not experts:
        return
    ALL_EXPERTS_FUNCTIONS.register("grouped_mm", grouped_experts)
    aligned = all(size * weights.element_size() % 16 == 0 for module in experts
                  for weights in module.parameters(recurse=False) if weights.dim() == 3
                  for size in weights.shape[1:])
    owner = next(module for module in model.modules()
                 if hasattr(module, "set_experts_implementation"))
    owner.set_experts_implementation("grouped_mm" if aligned else "batched_mm")


@contextlib.contextmanager
def repeats_as_numbers():
    """For `batched_mm`. A size is a tensor on the CPU while it is traced. As the number of repeats
    of experts' tokens it would stay one, and LibTorch does not run that with the model on a GPU. It
    becomes a number."""
    import torch
    original = torch.Tensor.repeat_interleave

    def repeat(tensor, repeats, *rest, **named):
        if isinstance(repeats, torch.Tensor) and repeats.dim() == 0:
            repeats = int(repeats)
        return original(tensor, repeats, *rest, **named)

    torch.Tensor.repeat_interleave = repeat
    try:
        yield
    finally:
        torch.Tensor.repeat_interleave = original


def rewrite_devices(block):
    """Tracing writes the device into the graph: `meta` becomes `cpu`, as if real tensors had been
    traced."""
    for node in block.nodes():
        for inner in node.blocks():
            rewrite_devices(inner)
        if (node.kind() == "prim::Constant" and node.output().type().kind() == "DeviceObjType"
            and node.s("value") == "meta"):
            node.s_("value", "cpu")


def export(arguments):
    settings = read_settings(arguments.model)
    find_torch()
    arguments.architectures = settings.get("architectures")
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    try:
        import torch
        import transformers
    # ValueError: torch, when a library of CUDA's is not there
    except (ImportError, OSError, ValueError) as error:
        raise NoTorch(f"{sys.executable} cannot load torch and transformers: {error}") from error
    transformers.logging.set_verbosity_error()
    torch.manual_seed(arguments.seed)

    recorder = InitRecorder(skip=arguments.meta)
    model, inputs = build(settings, arguments, recorder)
    initialization, unknown = recorder.document(model)
    choose_experts_form(model)
    count = sum(parameter.numel() for parameter in model.parameters())
    traced = trace(model, inputs, on_meta=arguments.meta)
    for name in unknown:
        print(f"export_hf.py: warning: no initialisation known for `{name}`", file=sys.stderr)

    saved = model.state_dict().keys()
    buffers = {"schema": "elixir.buffers", "schema_version": "1.0",
               "persistent": [name for name, _ in model.named_buffers() if name in saved]}
    extra = {"initialization.json": json.dumps(initialization, indent=1) + "\n",
             "buffers.json": json.dumps(buffers, indent=1) + "\n"}
    # A directory of its own: the file's name becomes part of the archive.
    with tempfile.TemporaryDirectory(dir=arguments.output.parent, prefix=".export-") as directory:
        temporary = os.path.join(directory, arguments.output.name)
        torch.jit.save(traced, temporary, _extra_files=extra)
        os.replace(temporary, arguments.output)

    shapes = ", ".join(f"{name} {str(tensor.dtype)[6:]}[{','.join(map(str, tensor.shape))}]"
                       for name, tensor in inputs.items())
    print(f"{arguments.output}: {count:,} parameters, {arguments.dtype}, {shapes}, "
          f"{arguments.output.stat().st_size / 1e6:.1f} "
          f"MB{' (no weights)' if arguments.meta else ''}")


def main():
    try:
        export(parse_arguments())
    except UsageError as error:
        print(f"export_hf.py: {error}", file=sys.stderr)
        return 2
    except NoTorch as error:
        print(
            f"export_hf.py: {error}\n  = help: run {ROOT}/examples/setup.sh: this script finds the "
            f"Python that it makes\n"
            "  = help: or start it with a Python that has torch 2.11.0 and transformers: PYTHON "
            "export_hf.py …",
            file=sys.stderr)
        return 3
    except OSError as error:
        print(f"export_hf.py: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
