# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Exports the runtime tests' models into a directory. Usage: export_models.py EXPORTER.py
DIRECTORY"""
import importlib.util
import json
import pathlib
import sys

MODELS = ["gpt2-tiny", "opt-tiny", "llama-tiny", "mixtral-tiny", "bert-tiny", "t5-tiny", "vit-tiny",
          "resnet-tiny"]
SEQUENCES = {"gpt2-tiny", "opt-tiny", "llama-tiny", "mixtral-tiny", "bert-tiny", "t5-tiny"}

# 12 layers and few tokens: the state is large beside everything that must be on the device.
DEEP = {"model_type": "gpt2", "n_embd": 128, "n_layer": 12, "n_head": 4, "vocab_size": 512,
        "n_positions": 64}
# Each of four ranks gets some of the elements: shards are multiples of 65,536.
WIDE = {"model_type": "gpt2", "n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 2048,
        "n_positions": 64}
# A vocabulary that is no multiple of 8, and a last layer with bias.
ODD = {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
       "intermediate_size": 256, "vocab_size": 1029, "max_position_embeddings": 256}
# To compare with fp64: dropout would draw other numbers there.
SMALL = {"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 512,
         "n_positions": 64}
# For a thousand trainings.
SMALLEST = {"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 32,
            "n_positions": 8}
NO_DROPOUT = ["--batch", "2", "--sequence", "32", "--dropout", "0"]

# Forms of cross entropy on the logits of a small network: `y` (float), `t` (classes), `m` (a mask
# of rows).
LOSSES = {
    "smooth": "F.cross_entropy(y, t, label_smoothing=0.1, ignore_index=3)",
    "smooth-sum": "F.cross_entropy(y, t, label_smoothing=0.3, reduction='sum')",
    "weights": "F.cross_entropy(y, t, self.weights, ignore_index=3)",
    "smooth-weights": "F.cross_entropy(y, t, self.weights, label_smoothing=0.1, ignore_index=3)",
    # The mean in fp32: in 16 bits its own rounding hides the errors of the rows.
    "masked": "(F.cross_entropy(y, t, reduction='none').float() * m).sum() / m.sum()",
    "smooth-masked":
        "(F.cross_entropy(y, t, self.weights, label_smoothing=0.2, reduction='none').float() * "
        "m).sum() / m.sum()",
}


def export_convnet(path):
    """A chain of single layers: no block repeats. Batch statistics, an operator in place,
    dropout."""
    import torch
    from torch import nn

    def layer(inputs, outputs, stride):
        return [nn.Conv2d(inputs, outputs, 3, stride, 1), nn.BatchNorm2d(outputs),
                nn.ReLU(inplace=True)]

    class ConvNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.chain = nn.Sequential(*layer(3, 8, 1), *layer(8, 12, 2), nn.Dropout(0.1),
                                       *layer(12, 12, 1), *layer(12, 16, 2), *layer(16, 16, 1),
                                       nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))

        def forward(self, image, label):
            return nn.functional.cross_entropy(self.chain(image), label)

    torch.manual_seed(1)
    inputs = (torch.randn(4, 3, 16, 16), torch.randint(10, (4,)))
    torch.jit.save(torch.jit.trace(ConvNet().train(), inputs, check_trace=False), path)


def export_rotary(path):
    """Products of complex numbers, whose gradients are conjugate views; random noise that backward
    reads; a mean whose gradient is one number for a row; a loss divided by a number that tracing
    makes a tensor."""
    import torch
    from torch import nn

    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.query, self.head = nn.Embedding(32, 16), nn.Linear(
                16, 16), nn.Linear(16, 32)
            self.noise, self.drop = nn.RReLU(), nn.Dropout(0.1)
            self.bias = nn.Parameter(torch.randn(4, 8, 1))
            self.register_buffer("angles", torch.rand(8, 8))

        def forward(self, tokens, labels):
            query = torch.view_as_complex(self.query(self.embedding(tokens)).reshape(4, 8, 8, 2))
            turned = torch.view_as_real(query * torch.polar(torch.ones_like(self.angles),
                                                            self.angles)).flatten(2)
            hidden = self.drop(self.noise(turned))
            logits = self.head(hidden).flatten(0, 1)
            loss = nn.functional.cross_entropy(logits, labels.flatten(),
                                               reduction="sum") / tokens.size(0)
            return loss + (torch.sigmoid(hidden) + self.bias).mean()

    torch.manual_seed(1)
    inputs = (torch.randint(32, (4, 8)), torch.randint(32, (4, 8)))
    torch.jit.save(torch.jit.trace(Rotary().train(), inputs, check_trace=False), path)


def export_loss(name, expression, dtype, path):
    """A module of code of its own, because tracing wants the source of forward()."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(24, 40), torch.nn.Linear(40, 53)
            self.register_buffer("weights", 0.5 + torch.rand(53))

    scope = {"F": torch.nn.functional, "torch": torch}
    exec(
        f"def forward(self, x, t, m):\n    y = self.last(torch.tanh(self.first(x)))\n"
        f"    m = m.abs().float()\n    return {expression}", scope)
    Network.forward = scope["forward"]
    torch.manual_seed(1)
    module = Network().to(dtype)
    inputs = (torch.randn(32, 24, dtype=dtype), torch.randint(53, (32,)),
              torch.rand(32, dtype=dtype))
    torch.jit.save(torch.jit.trace(module, inputs), path)


exporter, directory = sys.argv[1], pathlib.Path(sys.argv[2])
spec = importlib.util.spec_from_file_location("export_hf", exporter)
export_hf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(export_hf)
for name in MODELS:
    for dtype in ["float32", "bfloat16"]:
        suffix = "-bf16" if dtype == "bfloat16" else ""
        sys.argv = ["export_hf.py", name, str(directory / f"{name}{suffix}.pt"), "--force",
                    "--seed", "1", "--batch", "2", "--dtype", dtype]
        if name in SEQUENCES:
            sys.argv += ["--sequence", "32"]
        if export_hf.main() != 0:
            sys.exit(1)
for name, model, flags in (("gpt2-smallest", SMALLEST, ["--batch", "1", "--sequence", "8"]),
                           ("gpt2-deep", DEEP, ["--batch", "1", "--sequence", "16"]),
                           ("gpt2-wide-bf16", WIDE,
                            ["--batch", "1", "--sequence", "16", "--dtype", "bfloat16"]),
                           ("bert-odd-bf16", ODD,
                            ["--batch", "2", "--sequence", "32", "--dtype", "bfloat16"]),
                           ("gpt2-no-dropout", SMALL, NO_DROPOUT),
                           ("gpt2-no-dropout-bf16", SMALL, [*NO_DROPOUT, "--dtype", "bfloat16"]),
                           ("bert-no-dropout", ODD, NO_DROPOUT),
                           ("bert-no-dropout-bf16", ODD, [*NO_DROPOUT, "--dtype", "bfloat16"])):
    config = directory / f"{name}.json"
    config.write_text(json.dumps(model), encoding="utf-8")
    sys.argv = ["export_hf.py", str(config), str(directory / f"{name}.pt"), "--force", "--seed",
                "1", *flags]
    if export_hf.main() != 0:
        sys.exit(1)
import torch

for name, expression in LOSSES.items():
    export_loss(name, expression, torch.float32, directory / f"loss-{name}.pt")
    export_loss(name, expression, torch.bfloat16, directory / f"loss-{name}-bf16.pt")
export_convnet(directory / "convnet.pt")
export_rotary(directory / "rotary.pt")
