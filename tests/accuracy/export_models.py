#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Exports the models of the accuracy suite, without weights, each at two batch sizes, in fp32 and
bf16.

Usage: export_models.py OUT_DIR [--only NAME…] [--list]
Writes OUT_DIR/NAME-bBATCH-DTYPE.pt and OUT_DIR/models.json: file, input shapes and ranges of each,
for programs that feed the model without knowing it (tests/accuracy/measure.py).
"""
import argparse
import importlib.util
import json
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Name -> what export_hf.py is asked for, and two batch sizes.
FROM_EXPORTER = {
    "opt-125m": (["opt-125m", "--sequence", "1024"], (1, 4)),
    "opt-350m": (["opt-350m", "--sequence", "1024"], (1, 4)),
    "gpt2": (["gpt2", "--sequence", "1024"], (1, 4)),
    "gpt2-medium": (["gpt2-medium", "--sequence", "1024"], (1, 4)),
    "llama-1b": (["llama-1b", "--sequence", "1024"], (1, 2)),
    "bert-base": (["bert-base", "--sequence", "512"], (2, 8)),
    "t5-base": (["t5-base", "--sequence", "512"], (1, 4)),
    "vit-b": (["vit-b"], (4, 16)),
    "resnet50": (["resnet50"], (8, 32)),
}


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        from torchvision.models import convnext_tiny
        self.model = convnext_tiny(weights=None)

    def forward(self, pixel_values, labels):
        return functional.cross_entropy(self.model(pixel_values), labels)

    @staticmethod
    def inputs(batch, dtype):
        return {"pixel_values": (dtype, [batch, 3, 224, 224], 0),
                "labels": (torch.int64, [batch], 1000)}


class DoubleConvolution(nn.Sequential):
    def __init__(self, before, after):
        super().__init__(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.GroupNorm(8, after),
                         nn.SiLU(), nn.Conv2d(after, after, 3, padding=1, bias=False),
                         nn.GroupNorm(8, after), nn.SiLU())


class Unet(nn.Module):
    """Ronneberger et al. 2015 with group norms, 64 to 512 channels, transposed convolutions
    upwards."""

    def __init__(self, widths=(64, 128, 256, 512), classes=21):
        super().__init__()
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in zip((3,) + widths, widths))
        self.lift = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2)
                                  for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(DoubleConvolution(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, pixel_values, labels):
        kept = []
        x = pixel_values
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else functional.max_pool2d(x, 2))
            kept.append(x)
        for i in reversed(range(len(self.up))):
            x = self.up[i](torch.cat([kept[i], self.lift[i](x)], dim=1))
        return functional.cross_entropy(self.head(x), labels)

    @staticmethod
    def inputs(batch, dtype):
        return {"pixel_values": (dtype, [batch, 3, 256, 256], 0),
                "labels": (torch.int64, [batch, 256, 256], 21)}


class Lstm(nn.Module):
    """A word-level language model: two layers of 1,024."""

    def __init__(self, vocabulary=20000, width=1024):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids):
        hidden, _ = self.lstm(self.embedding(input_ids))
        return functional.cross_entropy(self.head(hidden[:, :-1]).reshape(-1, self.vocabulary),
                                        input_ids[:, 1:].reshape(-1))

    @staticmethod
    def inputs(batch, _):
        return {"input_ids": (torch.int64, [batch, 128], 20000)}


class Recommender(nn.Module):
    """DLRM (Naumov et al. 2019): embedding bags, a bottom and a top network, pairwise
    interactions."""

    TABLES, ROWS, WIDTH, BAG = 8, 200000, 64, 4

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(self.ROWS, self.WIDTH, mode="sum")
                                  for _ in range(self.TABLES))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, self.WIDTH), nn.ReLU())
        pairs = (self.TABLES + 1) * self.TABLES // 2
        self.top = nn.Sequential(nn.Linear(self.WIDTH + pairs, 512), nn.ReLU(), nn.Linear(512, 256),
                                 nn.ReLU(), nn.Linear(256, 1))
        left, right = torch.tril_indices(self.TABLES + 1, self.TABLES + 1, -1)
        self.register_buffer("pairs", left * (self.TABLES + 1) + right)

    def forward(self, dense, categories, labels):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [bag(categories[:, i]) for i, bag in enumerate(self.bags)],
                              dim=1)
        products = torch.bmm(vectors,
                             vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        logits = self.top(torch.cat([x, products], dim=1)).squeeze(1)
        return functional.binary_cross_entropy_with_logits(logits, labels)

    @classmethod
    def inputs(cls, batch, dtype):
        return {"dense": (dtype, [batch, 13], 0),
                "categories": (torch.int64, [batch, cls.TABLES, cls.BAG], cls.ROWS),
                "labels": (dtype, [batch], 0)}


class Experts(nn.Module):
    """Switch-style feed-forward (Fedus et al. 2021): each token to its two best of eight experts,
    fixed capacity."""

    def __init__(self, width, hidden, experts=8, chosen=2, slack=1.25):
        super().__init__()
        self.experts, self.chosen, self.slack = experts, chosen, slack
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts, width, hidden))
        self.down = nn.Parameter(torch.empty(experts, hidden, width))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        capacity = int(self.slack * self.chosen * tokens.size(0) / self.experts)
        weights, experts = torch.topk(self.router(tokens).softmax(-1), self.chosen, dim=-1)
        chosen = (experts.unsqueeze(-1) == torch.arange(self.experts, device=x.device)).to(x.dtype)
        place = chosen.flatten(0, 1).float().cumsum(0).view_as(chosen).to(torch.int64) - 1
        slots = ((place.unsqueeze(-1) == torch.arange(capacity, device=x.device)).to(x.dtype)
                 * chosen.unsqueeze(-1))
        combine = torch.einsum("tk,tkec->tec", weights, slots)
        dispatch = slots.sum(1)
        inside = torch.einsum("tec,tw->ecw", dispatch, tokens)
        outside = torch.bmm(functional.gelu(torch.bmm(inside, self.up)), self.down)
        return torch.einsum("tec,ecw->tw", combine, outside).view_as(x)


class MixtureBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.experts = Experts(width, 4 * width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads,
                                                width // self.heads).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.experts(self.between(x))


class Mixture(nn.Module):
    def __init__(self, vocabulary=32000, width=512, layers=6, heads=8):
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(MixtureBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids):
        x = self.embedding(input_ids)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits[:, :-1].reshape(-1, self.vocabulary),
                                        input_ids[:, 1:].reshape(-1))

    @staticmethod
    def inputs(batch, _):
        return {"input_ids": (torch.int64, [batch, 512], 32000)}


OWN = {
    "convnext-t": (ConvNext, (4, 16)),
    "unet": (Unet, (1, 4)),
    "lstm": (Lstm, (8, 32)),
    "dlrm": (Recommender, (512, 2048)),
    "moe": (Mixture, (1, 4)),
}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
RANGES = {"bert-base": 30522, "t5-base": 32128, "gpt2": 50257, "gpt2-medium": 50257,
          "opt-125m": 50272, "opt-350m": 50272, "llama-1b": 128256, "vit-b": 1000, "resnet50": 1000}


def load_exporter():
    spec = importlib.util.spec_from_file_location("export_hf", ROOT / "examples/export_hf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drop_weights(module):
    """Replaces every parameter by one on meta; parameters that are one stay one."""
    replaced = {}
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            # A traced module makes new Python objects each time; the storage tells which are the
            # same.
            key = (parameter.data_ptr(), parameter.shape)
            if key not in replaced:
                replaced[key] = torch.nn.Parameter(parameter.detach().to("meta"),
                                                   requires_grad=parameter.requires_grad)
            setattr(part, name, replaced[key])


def export_own(exporter, name, batch, dtype, path):
    make, _ = OWN[name]
    inputs = make.inputs(batch, dtype)
    tensors = {key: torch.empty(sizes, dtype=kind, device="meta")
               for key, (kind, sizes, _) in inputs.items()}
    module = make().train().to(dtype)
    drop_weights(module)
    exporter.trace(module, tensors, on_meta=True).save(str(path))
    return [{"name": key, "dtype": str(kind).split(".")[-1], "sizes": sizes, "below": below}
            for key, (kind, sizes, below) in inputs.items()]


def export_published(exporter, arguments, batch, dtype, path):
    """`arguments`: those of export_hf.py, the model first."""
    name = arguments[0]
    sys.argv = ["export_hf.py", arguments[0], str(path), *arguments[1:], "--meta", "--force",
                "--batch", str(batch), "--dtype",
                "bfloat16" if dtype == torch.bfloat16 else "float32"]
    if exporter.main() != 0:
        sys.exit(1)
    floating = str(dtype).split(".")[-1]
    sequence = int(arguments[2]) if "--sequence" in arguments else 0
    if sequence:
        keys = ["input_ids", "labels"] if name in ("bert-base", "t5-base") else ["input_ids"]
        return [{"name": key, "dtype": "int64", "sizes": [batch, sequence], "below": RANGES[name]}
                for key in keys]
    return [{"name": "pixel_values", "dtype": floating, "sizes": [batch, 3, 224, 224], "below": 0},
            {"name": "labels", "dtype": "int64", "sizes": [batch], "below": RANGES[name]}]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", nargs="+", choices=[*FROM_EXPORTER, *OWN], metavar="NAME")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join([*FROM_EXPORTER, *OWN]))
        return 0
    if not arguments.out_dir:
        parser.error("OUT_DIR is missing")
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    exporter = load_exporter()
    torch.manual_seed(1)
    models = []
    for name in arguments.only or [*FROM_EXPORTER, *OWN]:
        for batch in (FROM_EXPORTER.get(name) or OWN[name])[1]:
            for label, dtype in DTYPES.items():
                file = f"{name}-b{batch}-{label}.pt"
                path = arguments.out_dir / file
                inputs = (export_published(exporter, FROM_EXPORTER[name][0], batch, dtype, path)
                          if name in FROM_EXPORTER
                          else export_own(exporter, name, batch, dtype, path))
                models.append({"model": name, "batch": batch, "dtype": label, "file": file,
                               "inputs": inputs})
                print(file, flush=True)
    listing = arguments.out_dir / "models.json"
    if arguments.only and listing.exists():
        new = {model["file"] for model in models}
        models = [model for model in json.loads(listing.read_text(encoding="utf-8"))
                  if model["file"] not in new] + models
    listing.write_text(json.dumps(models, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
