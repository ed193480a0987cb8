# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Exports tiny models to TorchScript for tests, each with a wrapper that returns its loss, dropout
on, fixed seed.

Usage: make_models.py OUT_DIR [NAME…] [--dtype float32|bfloat16|float16|all]
Writes OUT_DIR/NAME-DTYPE.pt. Needs torch, and transformers and torchvision for the models that come
from them.
"""
import argparse
import os
import pathlib
import sys
import warnings
from typing import List

warnings.filterwarnings("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch  # noqa: E402
from torch import nn  # noqa: E402

import attention_models  # noqa: E402
import layer_models  # noqa: E402
import network_models  # noqa: E402

BATCH, SEQUENCE, VOCABULARY = 2, 32, 96


class CausalLoss(nn.Module):
    """Next-token cross-entropy of a language model without mask arguments."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        logits = self.model(input_ids=input_ids, use_cache=False).logits
        return nn.functional.cross_entropy(logits[:, :-1].reshape(-1, logits.size(-1)),
                                           input_ids[:, 1:].reshape(-1))


class LabelLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, inputs, labels):
        output = self.model(inputs)
        logits = output if isinstance(output, torch.Tensor) else output.logits
        return nn.functional.cross_entropy(logits, labels)


def tokens():
    return torch.randint(VOCABULARY, (BATCH, SEQUENCE))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=64, n_layer=2, n_head=4)
    return CausalLoss(GPT2LMHeadModel(config)), (tokens(),)


def opt():
    from transformers import OPTConfig, OPTForCausalLM
    config = OPTConfig(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, ffn_dim=128,
                       num_attention_heads=4, max_position_embeddings=64, word_embed_proj_dim=64)
    return CausalLoss(OPTForCausalLM(config)), (tokens(),)


def llama(attention):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=128,
                         num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=64, attn_implementation=attention)
    return CausalLoss(LlamaForCausalLM(config)), (tokens(),)


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2,
                        num_attention_heads=4, intermediate_size=128, max_position_embeddings=64,
                        num_labels=3)
    return LabelLoss(BertForSequenceClassification(config)), (tokens(), torch.randint(3, (BATCH,)))


class T5Loss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, labels):
        return self.model(input_ids=input_ids, labels=labels, use_cache=False).loss


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    config = T5Config(vocab_size=VOCABULARY, d_model=64, d_kv=16, d_ff=128, num_layers=2,
                      num_heads=4, decoder_start_token_id=0)
    return T5Loss(T5ForConditionalGeneration(config)), (tokens(), tokens())


def vit():
    from transformers import ViTConfig, ViTForImageClassification
    config = ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                       intermediate_size=128, image_size=32, patch_size=8, num_labels=3,
                       hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1)
    return LabelLoss(ViTForImageClassification(config)), (torch.randn(BATCH, 3, 32, 32),
                                                          torch.randint(3, (BATCH,)))


def resnet50():
    from torchvision.models import resnet50 as make
    return LabelLoss(make(num_classes=10, width_per_group=8)), (torch.randn(BATCH, 3, 64, 64),
                                                                torch.randint(10, (BATCH,)))


def convnext():
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt
    blocks = [CNBlockConfig(16, 32, 2), CNBlockConfig(32, None, 2)]
    return LabelLoss(ConvNeXt(blocks, stochastic_depth_prob=0.1, num_classes=10)), (
        torch.randn(BATCH, 3, 64, 64), torch.randint(10, (BATCH,)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.lstm = nn.LSTM(32, 64, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(64, VOCABULARY)

    def forward(self, input_ids):
        hidden, _ = self.lstm(self.embedding(input_ids))
        return nn.functional.cross_entropy(self.head(hidden[:, :-1]).reshape(-1, VOCABULARY),
                                           input_ids[:, 1:].reshape(-1))


def lstm():
    return Lstm(), (tokens(),)


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.dropout(self.down(torch.nn.functional.gelu(self.up(self.norm(x)))))


class ControlFlow(nn.Module):
    """Scripted: two ModuleLists of one class, a loop, branches on shape and on the training
    flag."""

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList([Block(32) for _ in range(2)])
        self.second = nn.ModuleList([Block(32) for _ in range(2)])
        self.head = nn.Linear(32, 4)
        self.register_buffer("scale", torch.ones(32))

    def repeated(self, x: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            x = x * self.scale
        return x

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        for block in self.first:
            x = block(x)
        x = self.repeated(x, 3 if x.size(0) > 1 else 1)
        if self.training:
            for other in self.second:
                x = other(x)
        return torch.nn.functional.cross_entropy(self.head(x), labels)


def control_flow():
    return torch.jit.script(ControlFlow()), (torch.randn(BATCH, 32), torch.randint(4, (BATCH,)))


class Branching(nn.Module):
    """Scripted: a branch on a value of the data; no program describes it."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if bool(y.sum() > 0):
            y = y * 2
        return y.sum()


def branching():
    return torch.jit.script(Branching()), (torch.randn(BATCH, 8),)


def first_value(x: torch.Tensor) -> float:
    values: List[float] = x[0].tolist()
    return values[0]


class ForkedList(nn.Module):
    """Scripted: a list of the data, made in a fork."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.jit.fork(first_value, x)
        return self.linear(x).sum() * torch.jit.wait(first)


def forked_list():
    return torch.jit.script(ForkedList()), (torch.randn(BATCH, 8),)


class ShapeValues(nn.Module):
    """What a trace keeps of sizes: tensors with one number, which decide how often something is
    repeated or sliced."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        hidden = self.linear(x).repeat_interleave(x.size(1) // 4, dim=0)
        return hidden[:, : int(torch.min(torch.tensor(x.shape)))].sum()


def shape_values():
    return ShapeValues(), (torch.randn(3, 8),)


class NoLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x)


def no_loss():
    return NoLoss(), (torch.randn(BATCH, 8),)


class Frozen(nn.Module):
    """A frozen layer, a parameter that is never used, tied weights."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(16, 16)
        self.frozen.requires_grad_(False)
        self.embedding = nn.Embedding(VOCABULARY, 16)
        self.head = nn.Linear(16, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight
        self.unused = nn.Parameter(torch.zeros(5))

    def forward(self, input_ids):
        hidden = self.frozen(self.embedding(input_ids))
        return nn.functional.cross_entropy(self.head(hidden).reshape(-1, VOCABULARY),
                                           input_ids.reshape(-1))


def frozen():
    return Frozen(), (tokens(),)


class Segments(nn.Module):
    def forward(self, weight):
        return torch.segment_reduce(weight, "sum", lengths=torch.tensor([3, 5]), unsafe=True)


class MissingKernels(nn.Module):
    """Operators that no rule covers, in two modules."""

    def __init__(self):
        super().__init__()
        self.inner = Segments()
        self.weight = nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        counts, _ = torch.histogram(x, bins=8)
        return self.inner(self.weight).sum() + counts.sum()


def missing_kernels():
    return MissingKernels(), (torch.rand(BATCH, 8),)


MODELS = {
    "gpt2": gpt2,
    "opt": opt,
    "llama": lambda: llama("sdpa"),
    "llama-eager": lambda: llama("eager"),
    "bert": bert,
    "t5": t5,
    "vit": vit,
    "resnet50": resnet50,
    "convnext": convnext,
    "lstm": lstm,
    "control-flow": control_flow,
    "branching": branching,
    "forked-list": forked_list,
    "shape-values": shape_values,
    "no-loss": no_loss,
    "frozen": frozen,
    "missing-kernels": missing_kernels,
    **attention_models.MODELS,
    **layer_models.MODELS,
    **network_models.MODELS,
}
# Models whose only purpose is one message or one property.
FLOAT32_ONLY = {"branching", "forked-list", "shape-values", "no-loss", "frozen", "missing-kernels"}
DTYPES = ["float32", "bfloat16", "float16"]


def export(name, dtype, path):
    torch.manual_seed(1)
    module, inputs = MODELS[name]()
    module.train()
    module.to(dtype)
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    if not isinstance(module, torch.jit.ScriptModule):
        module = torch.jit.trace(module, inputs, check_trace=False)
    temporary = path.with_suffix(".tmp")
    module.save(str(temporary))
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out_dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*", choices=[[], *MODELS])
    parser.add_argument("--dtype", choices=[*DTYPES, "all"], default="all")
    parser.add_argument("--stamp", type=pathlib.Path, help="written when all models are")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    dtypes = DTYPES if arguments.dtype == "all" else [arguments.dtype]
    for name in arguments.names or MODELS:
        for dtype in dtypes:
            if dtype == "float32" or name not in FLOAT32_ONLY:
                export(name, getattr(torch, dtype), arguments.out_dir / f"{name}-{dtype}.pt")
    if arguments.stamp:
        arguments.stamp.write_text("ok\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
