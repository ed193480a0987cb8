#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Errors of whole models against fp64, eager LibTorch's beside those of arithmetic `fused`: exports
models with random weights and without dropout, runs build/benchmarks/gradient_errors on each, and
prints the table of docs/measured/fusion.md.

  benchmarks/gradient_errors.py build/benchmarks/gradient_errors
  benchmarks/gradient_errors.py build/benchmarks/gradient_errors --device cuda --size base

A ratio is the fused error over eager's, ± its standard error over batches. The worst gradient is
the parameter with the largest ratio; `above` counts the parameters with a ratio above 1.05.
"""
import argparse
import contextlib
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST = 1.05  # a ratio that is promised
# Vocabularies that are no multiple of 8, so that a GPU aligns products. Those of `base` are their
# tokenizers' (Llama's with a padding token added). name: (configuration, range of integer inputs,
# batch, tokens)
SMALL_CLASSES, SMALL_VOCABULARY = 1029, 4099
SIZES = {
    "small": {
        "gpt2": ({"model_type": "gpt2", "n_embd": 256, "n_layer": 4, "n_head": 4,
                  "vocab_size": SMALL_VOCABULARY, "n_positions": 64,
                  "activation_function": "gelu_pytorch_tanh"}, SMALL_VOCABULARY, 4, 64),
        "opt": ({"model_type": "opt", "hidden_size": 256, "num_hidden_layers": 4,
                 "num_attention_heads": 4, "ffn_dim": 1024, "word_embed_proj_dim": 256,
                 "vocab_size": SMALL_VOCABULARY, "max_position_embeddings": 64}, SMALL_VOCABULARY,
                4, 64),
        "llama": ({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 4,
                   "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 704,
                   "vocab_size": SMALL_VOCABULARY, "max_position_embeddings": 64}, SMALL_VOCABULARY,
                  4, 64),
        "bert": ({"model_type": "bert", "hidden_size": 256, "num_hidden_layers": 4,
                  "num_attention_heads": 4, "intermediate_size": 1024,
                  "vocab_size": SMALL_VOCABULARY, "max_position_embeddings": 64},
                 SMALL_VOCABULARY, 4, 64),
        "t5": ({"model_type": "t5", "d_model": 256, "num_layers": 2, "num_heads": 4, "d_ff": 1024,
                "d_kv": 64, "decoder_start_token_id": 0, "pad_token_id": 0,
                "vocab_size": SMALL_VOCABULARY}, SMALL_VOCABULARY, 4, 64),
        "vit": ({"model_type": "vit", "hidden_size": 256, "num_hidden_layers": 4,
                 "num_attention_heads": 4, "intermediate_size": 1024, "image_size": 64,
                 "patch_size": 8, "num_labels": SMALL_CLASSES},
                SMALL_CLASSES, 8, None),
        "resnet": ({"model_type": "resnet", "layers": [1, 1, 1, 1], "num_classes": SMALL_CLASSES,
                    "image_size": 64},
                   SMALL_CLASSES, 8, None),
    },
    "base": {
        "gpt2": ("gpt2", 50257, 8, 256),
        "opt-125m": ({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12,
                      "num_attention_heads": 12, "ffn_dim": 3072, "word_embed_proj_dim": 768,
                      "vocab_size": 50265, "max_position_embeddings": 2048},
                     50265, 8, 256),
        "llama": ({"model_type": "llama", "hidden_size": 768, "num_hidden_layers": 12,
                   "num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 2048,
                   "vocab_size": 32001, "max_position_embeddings": 2048}, 32001, 8, 256),
        "bert-base": ("bert-base", 30522, 8, 256),
        "t5-small": ({"model_type": "t5", "d_model": 512, "num_layers": 6, "num_heads": 8,
                      "d_ff": 2048, "d_kv": 64, "decoder_start_token_id": 0, "pad_token_id": 0,
                      "vocab_size": 32100}, 32100, 8, 256),
        "vit-b": ("vit-b", 1000, 8, None),
        "resnet50": ("resnet50", 1000, 8, None),
    },
}


def load_exporter():
    spec = importlib.util.spec_from_file_location("export_hf", ROOT / "examples/export_hf.py")
    exporter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exporter)
    return exporter


def export(exporter, model, dtype, directory):
    settings, _, batch, tokens = model
    if isinstance(settings, dict):
        config = directory / "config.json"
        config.write_text(json.dumps(settings), encoding="utf-8")
        settings = str(config)
    path = directory / "model.pt"
    sys.argv = ["export_hf.py", settings, str(path), "--force", "--seed", "1", "--dropout", "0",
                "--dtype", dtype, "--batch", str(batch)]
    if tokens:
        sys.argv += ["--sequence", str(tokens)]
    with contextlib.redirect_stdout(io.StringIO()):
        status = exporter.main()
    if status:
        sys.exit(f"gradient_errors.py: export_hf.py failed ({status})")
    return path


def measure(arguments, path, label_range):
    command = [arguments.program, path, "--json", "--device", arguments.device, "--range",
               str(label_range), "--batches", str(arguments.batches), "--arithmetic",
               arguments.arithmetic]
    if arguments.align_all:
        command.append("--align-all")
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode:
        sys.exit(f"gradient_errors.py: {arguments.program} failed ({result.returncode})")
    return json.loads(result.stdout)


def ratio(value):
    return f"{value['ratio']:.3f} ± {value['ratio_standard_error']:.3f}"


def row(name, dtype, measured):
    """One row: errors are relative, the RMS error over the RMS of the exact values."""
    cells = [name, dtype, str(measured["aligned_products"])]
    for value in (measured["loss"], measured["all_gradients"]):
        cells += [f"{value[key] / value['rms']:.2e}"
                  for key in ("eager_rms_error", "fused_rms_error")] + [ratio(value)]
    worst = max(measured["gradients"], key=lambda each: each["ratio"])
    above = sum(each["ratio"] > MOST for each in measured["gradients"])
    cells += [f"{ratio(worst)} `{worst['name']}`", f"{above} of {len(measured['gradients'])}"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the built benchmark gradient_errors")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--size", choices=tuple(SIZES), default="small")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--dtypes", nargs="+", choices=("float32", "bfloat16"),
                        default=["float32", "bfloat16"])
    parser.add_argument("--batches", type=int, default=32,
                        help="random batches for each model (default 32)")
    parser.add_argument("--arithmetic", choices=("fused", "fused-elementwise"), default="fused",
                        help="which is compared with eager (default fused)")
    parser.add_argument("--align-all", action="store_true",
                        help="align every product that can be, on the CPU too")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="write every parameter's errors there too")
    arguments = parser.parse_args()
    models = SIZES[arguments.size]
    unknown = set(arguments.models or ()) - set(models)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}: there are {', '.join(models)}")
    exporter = load_exporter()
    found = {}
    print(
        "| model | dtype | aligned | loss, eager | fused | ratio | gradients, eager | fused | "
        "ratio | worst gradient | above |")
    print("| --- | --- | ---: | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="gradient-errors-") as directory:
        for name in arguments.models or models:
            for dtype in arguments.dtypes:
                path = export(exporter, models[name], dtype, pathlib.Path(directory))
                measured = measure(arguments, path, models[name][1])
                found[f"{name} {dtype}"] = measured
                print(row(name, {"float32": "fp32", "bfloat16": "bf16"}[dtype], measured),
                      flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
