# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Models of every kind of attention: positions, masks, grouping, widths, and torch.nn's own
transformer."""
import math

import torch
from torch import nn
from torch.nn import functional as F

BATCH, SEQUENCE, WIDTH, HEADS = 2, 16, 64, 4


def rotated(x, base=10000.0):
    """Rotary positions on (batch, head, sequence, width)."""
    half = x.size(-1) // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angle = torch.outer(torch.arange(x.size(-2), dtype=torch.float32), frequency)
    cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


class Attention(nn.Module):
    """One attention layer; `kind` says what positions and mask it has."""

    def __init__(self, kind, width=WIDTH, heads=HEADS, groups=None, dropout=0.0):
        super().__init__()
        self.kind, self.heads, self.groups, self.dropout = kind, heads, groups or heads, dropout
        head_width = width // heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * self.groups * head_width, bias=False)
        self.output = nn.Linear(width, width)
        if kind == "relative":
            self.positions = nn.Embedding(2 * SEQUENCE, heads)
        if kind == "normed":
            self.query_norm, self.key_norm = nn.RMSNorm(head_width), nn.RMSNorm(head_width)
        if kind == "temperature":
            self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def mask(self, queries, keys, dtype):
        distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
        if self.kind == "relative":  # learned, as T5: wants a gradient
            return self.positions(distance + SEQUENCE).permute(2, 0, 1).unsqueeze(0)
        if self.kind == "alibi":
            slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1) / self.heads)
            bias = slopes[:, None, None] * distance.clamp(max=0)
            return bias.masked_fill(distance > 0, -math.inf).unsqueeze(0).to(dtype)
        if self.kind == "window":  # boolean, broadcast over batch and heads
            return ((distance <= 0) & (distance > -5))[None, None]
        if self.kind == "padding":
            return (torch.arange(keys) < keys - 3)[None, None, None,
                                                   :].expand(BATCH, 1, queries, keys)
        return None

    def forward(self, x, memory=None):
        source = x if memory is None else memory
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key, value = self.key_value(source).unflatten(-1, (2, self.groups, -1)).permute(
            2, 0, 3, 1, 4).unbind(0)
        if self.kind == "rotary":
            query, key = rotated(query), rotated(key)
        if self.kind == "normed":
            query, key = self.query_norm(query), self.key_norm(key)
        if self.kind == "temperature":
            query = F.normalize(query, dim=-1) * self.temperature
            key = F.normalize(key, dim=-1)
        mixed = F.scaled_dot_product_attention(
            query, key, value, attn_mask=self.mask(query.size(2), key.size(2), x.dtype),
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=self.kind in ("causal", "rotary"),
            scale=0.5 if self.kind == "scaled" else None, enable_gqa=self.groups != self.heads)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Attentions(nn.Module):
    """A residual stack of every kind of self-attention, then cross-attention."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Attention(kind) for kind
                                     in ("plain", "causal", "rotary", "relative", "alibi", "window",
                                         "padding", "normed", "temperature", "scaled")])
        self.layers.append(Attention("causal", groups=2))
        self.layers.append(Attention("causal", dropout=0.1))
        self.layers.append(Attention("window", dropout=0.1))
        self.cross = nn.ModuleList([Attention("plain"), Attention("padding"),
                                    Attention("plain", dropout=0.1)])

    def forward(self, x, memory):
        for layer in self.layers:
            x = x + layer(x)
        for layer in self.cross:
            x = x + layer(x, memory)
        return x.pow(2).mean()


def attentions():
    return Attentions(), (torch.randn(BATCH, SEQUENCE, WIDTH), torch.randn(BATCH, 24, WIDTH))


class WideHeads(nn.Module):
    """Head widths beyond 128, widths that are no multiple of 8, and a single key: where fused
    kernels refuse or change."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([
            Attention("causal", width=320, heads=2),  # 160
            Attention("plain", width=320, heads=5),  # 64
            Attention("plain", width=320, heads=2, dropout=0.1),
            Attention("window", width=320, heads=2),
            Attention("causal", width=320, heads=32),  # 10
            Attention("plain", width=320, heads=32),
            Attention("causal", width=320, heads=2, groups=1),
        ])
        self.single = Attention("plain", width=320, heads=5)
        self.single_wide = Attention("plain", width=320, heads=2)

    def forward(self, x, memory):
        for layer in self.layers:
            x = x + layer(x)
        x = x + self.single(x, memory[:, :1]) + self.single_wide(x, memory[:, :1])
        return x.pow(2).mean()


def wide_heads():
    return WideHeads(), (torch.randn(BATCH, SEQUENCE, 320), torch.randn(BATCH, 4, 320))


class AttentionShapes(nn.Module):
    """Shapes that fused kernels take or leave: values narrower than queries and keys, one mask a
    head, keys that the batch shares."""

    def __init__(self):
        super().__init__()
        self.query_key = nn.Linear(WIDTH, 2 * HEADS * 32)
        self.value = nn.Linear(WIDTH, HEADS * 16)
        self.output = nn.Linear(HEADS * 16, WIDTH)

    def forward(self, x):
        for causal in (False, True):
            query, key = self.query_key(x).unflatten(-1, (2, HEADS, -1)).permute(
                2, 0, 3, 1, 4).unbind(0)
            value = self.value(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
            x = x + self.output(mixed.transpose(1, 2).flatten(2))
        mask = torch.arange(HEADS * SEQUENCE * SEQUENCE).view(HEADS, SEQUENCE,
                                                              SEQUENCE).remainder(5) > 0
        for masked in (mask, mask.to(x.dtype)):
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=masked)
            x = x + self.output(mixed.transpose(1, 2).flatten(2))
        mixed = F.scaled_dot_product_attention(query, key[:1], value[:1])
        return (x + self.output(mixed.transpose(1, 2).flatten(2))).pow(2).mean()


def attention_shapes():
    return AttentionShapes(), (torch.randn(BATCH, SEQUENCE, WIDTH),)


class Transformer(nn.Module):
    """torch.nn's encoder-decoder with its masks, and its multi-head attention with weights, own
    widths and added keys."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(32, WIDTH, padding_idx=0)
        self.transformer = nn.Transformer(WIDTH, HEADS, num_encoder_layers=1, num_decoder_layers=1,
                                          dim_feedforward=96, dropout=0.1, activation="gelu",
                                          batch_first=True, norm_first=True)
        self.weighted = nn.MultiheadAttention(WIDTH, HEADS, dropout=0.1, batch_first=True)
        self.other = nn.MultiheadAttention(WIDTH, HEADS, kdim=48, vdim=40, add_bias_kv=True,
                                           add_zero_attn=True)
        self.memory_key, self.memory_value = nn.Linear(WIDTH, 48), nn.Linear(WIDTH, 40)
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.size(1),
                                                                dtype=self.head.weight.dtype)
        hidden = self.transformer(self.embedding(source), self.embedding(target), tgt_mask=causal,
                                  tgt_is_causal=True)
        mixed, weights = self.weighted(hidden, hidden, hidden, need_weights=True)
        turned = hidden.transpose(0, 1)
        other, _ = self.other(turned, self.memory_key(turned), self.memory_value(turned),
                              need_weights=False)
        logits = self.head(hidden + mixed + other.transpose(0, 1))
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(),
                               ignore_index=0) + weights.mean()


def transformer():
    return Transformer(), (torch.randint(32, (BATCH, 12)), torch.randint(32, (BATCH, SEQUENCE)))


MODELS = {
    "attentions": attentions,
    "wide-heads": wide_heads,
    "attention-shapes": attention_shapes,
    "transformer": transformer,
}
