#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Groups of norms and elementwise operators beside LibTorch's own operators: an RMS norm, SwiGLU
and a layer norm, forward and the gradient of the input, in bf16. For each: eager, fused, and the
time in which the GPU could read and write the fused operator's bytes, at the rate of a large copy
measured beside it.

  benchmarks/fused_groups.py build/libelixir.so --rows 8192 --width 4096

Steps are texts of lib/operators/fused_program.h, as the edit writes them.
"""
import argparse
import statistics

import torch

BF16, FP32 = 15, 6  # c10::ScalarType
EPS = 1e-6


def fused(inputs, steps, stored, rows, width):
    """`stored`: (step, dtype, one a row)."""
    strides = [stride for _, _, per_row in stored for stride in ((1, 0) if per_row else (width, 1))]
    return torch.ops.elixir.fused(inputs, [], [rows, width], steps, [s for s, _, _ in stored],
                                  [d for _, d, _ in stored], strides)


def rms_norm(x, weight):
    """Hugging Face's, with what its backward needs."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
    normal = (wide * scale).to(x.dtype)
    return weight * normal, wide, scale, normal


def rms_norm_backward(gradient, weight, wide, scale):
    """As autograd records it."""
    g = (gradient * weight).float()
    of_scale = (g * wide).sum(-1, keepdim=True)
    of_mean = (-0.5 * of_scale * scale.pow(3)).expand(wide.shape) / wide.shape[-1]
    return (g * scale).add_(of_mean * (2.0 * wide.pow(1.0))).to(gradient.dtype)


def cases(rows, width):
    def make(dtype=torch.bfloat16):
        return torch.randn(rows, width, device="cuda").to(dtype)

    x, up, gradient = make(), make(), make()
    weight = torch.randn(width, device="cuda").bfloat16()
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
    _, mean, deviation = torch.native_layer_norm(x, [width], weight, weight, EPS)
    norm = (
        f"input 0;mul 0 0;sum 1;constant {width};div 2 3;constant {EPS};add 4 5;rsqrt 6;mul 0 "
        f"7;input 1;mul 9 8")
    norm_back = (
        "input 0;input 1;mul 0 1;input 2;mul 2 3;sum 4;constant -0.5;mul 5 6;input 3;mul 8 8;mul 9 "
        "8;mul 7 10;"
        f"constant {width};div 11 12;constant 2;mul 3 14;mul 13 15;mul 2 8;add 17 16")
    layer = (
        f"input 0;constant {width};sum 0;div 2 1;sub 0 3;mul 4 4;sum 5;div 6 1;constant {EPS};add "
        f"7 8;rsqrt 9;"
        "mul 4 10;input 1;mul 11 12;add 13 12")
    layer_back = ("input 0;input 1;mul 0 1;input 2;input 4;input 3;sub 3 4;mul 6 5;"
                  f"constant {width};sum 2;div 9 8;mul 2 7;sum 11;div 12 8;sub 2 10;mul 7 13;sub "
                  f"14 15;mul 16 5")
    add_layer = (
        f"input 0;input 1;add 0 1;constant {width};sum 2;div 4 3;sub 2 5;mul 6 6;sum 7;div 8 "
        f"3;constant {EPS};"
        "add 9 10;rsqrt 11;mul 6 12;input 2;mul 13 14;add 15 14")
    silu = "input 0;neg 0;exp 1;constant 1;add 2 3;div 0 4;input 1;mul 5 6"
    silu_back = (
        "input 0;input 1;input 2;neg 1;exp 3;constant 1;add 4 5;div 5 6;mul 1 7;mul 0 8;mul 0 "
        "2;mul 10 7;"
        "sub 5 7;mul 1 12;add 5 13;mul 11 14")
    none = [True, False, False]

    def add_layer_norm():
        total = x + up
        return total, *torch.native_layer_norm(total, [width], weight, weight, EPS)

    def layer_norm_backward():
        return torch.ops.aten.native_layer_norm_backward(
            gradient, x, [width], mean, deviation, weight, weight, none)[0]

    def silu_backward():
        of_up = gradient * torch.nn.functional.silu(x)
        return of_up, torch.ops.aten.silu_backward(gradient * up, x)

    yield ("RMS norm", lambda: rms_norm(x, weight), [x, weight], norm,
           [(10, BF16, False), (0, FP32, False), (7, FP32, True), (8, BF16, False)])
    yield ("RMS norm, backward", lambda: (rms_norm_backward(gradient, weight, wide, scale), ),
           [gradient, weight, wide, scale], norm_back, [(18, BF16, False)])
    yield ("SwiGLU", lambda: (torch.nn.functional.silu(x) * up, ), [x, up], silu,
           [(7, BF16, False)])
    yield ("SwiGLU, backward", silu_backward, [gradient, x, up], silu_back,
           [(9, BF16, False), (15, BF16, False)])
    yield ("layer norm", lambda: torch.native_layer_norm(x, [width], weight, weight, EPS),
           [x, weight], layer, [(14, BF16, False), (3, FP32, True), (10, FP32, True)])
    yield ("layer norm, backward", lambda: (layer_norm_backward(), ),
           [gradient, weight, x, deviation, mean], layer_back, [(17, BF16, False)])
    yield ("add, layer norm", add_layer_norm, [x, up, weight], add_layer,
           [(2, BF16, False), (16, BF16, False), (5, FP32, True), (12, FP32, True)])
    yield ("layer norm, backward, add", lambda: (layer_norm_backward() + up, ),
           [gradient, weight, x, deviation, mean, up], layer_back + ";input 5;add 17 18",
           [(19, BF16, False)])


def milliseconds(call, repeats):
    call()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(10):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return statistics.median(times)


def bytes_of(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    torch.ops.load_library(options.library)
    torch.manual_seed(1)
    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    # bytes per ms
    rate = 2 * source.numel() / milliseconds(lambda: target.copy_(source), options.repeats)
    del source, target
    print(
        f"{torch.cuda.get_device_name()}, {options.rows} x {options.width}, copies at "
        f"{rate / 1e9:.2f} TB/s")
    print("| operators | eager | fused | bound by bytes | largest difference |")
    for name, eager, inputs, steps, stored in cases(options.rows, options.width):
        def ours(inputs=inputs, steps=steps, stored=stored):
            return fused(inputs, steps, stored, options.rows, options.width)

        results = ours()
        theirs = eager()
        difference = max((a.float() - b.float()).abs().max().item() / b.float().abs().max().item()
                         for a, b in zip(results, theirs))
        bound = bytes_of([*inputs, *results]) / rate
        print(
            f"| {name} | {milliseconds(eager, options.repeats):.3f} ms | "
            f"{milliseconds(ours, options.repeats):.3f} ms "
            f"| {bound:.3f} ms | {difference:.1e} |", flush=True)


if __name__ == "__main__":
    main()
