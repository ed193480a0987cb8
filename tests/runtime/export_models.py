# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Exports the runtime tests' models into a directory. Usage: export_models.py EXPORTER.py DIRECTORY"""
import importlib.util
import json
import pathlib
import sys

MODELS = ["gpt2-tiny", "opt-tiny", "llama-tiny", "bert-tiny", "t5-tiny", "vit-tiny", "resnet-tiny"]
SEQUENCES = {"gpt2-tiny", "opt-tiny", "llama-tiny", "bert-tiny", "t5-tiny"}

# 12 layers and few tokens: the state is large beside everything that must be on the device.
DEEP = {"model_type": "gpt2", "n_embd": 128, "n_layer": 12, "n_head": 4, "vocab_size": 512, "n_positions": 64}

exporter, directory = sys.argv[1], pathlib.Path(sys.argv[2])
spec = importlib.util.spec_from_file_location("export_hf", exporter)
export_hf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(export_hf)
for name in MODELS:
    for dtype in ["float32", "bfloat16"]:
        suffix = "-bf16" if dtype == "bfloat16" else ""
        sys.argv = ["export_hf.py", name, str(directory / f"{name}{suffix}.pt"), "--force", "--seed", "1",
                    "--batch", "2", "--dtype", dtype]
        if name in SEQUENCES:
            sys.argv += ["--sequence", "32"]
        if export_hf.main() != 0:
            sys.exit(1)
config = directory / "gpt2-deep.json"
config.write_text(json.dumps(DEEP), encoding="utf-8")
sys.argv = ["export_hf.py", str(config), str(directory / "gpt2-deep.pt"), "--force", "--seed", "1", "--batch", "1",
            "--sequence", "16"]
sys.exit(export_hf.main())
