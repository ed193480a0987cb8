#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""A linear layer and its cross entropy, forward and backward, side by side in one process: time,
memory beyond inputs and gradients, and errors against fp64.

  benchmarks/linear_loss.py build/libelixir.so --rows 8192 --width 3072 --classes 50257

eager   what Hugging Face's models do: bf16 logits, converted to fp32 for the loss
fused   what plans of arithmetic `fused` run: aligned products, and a loss that turns its logits
        into their gradient
liger   LigerFusedLinearCrossEntropyLoss, where liger_kernel can be imported
"""
import argparse
import statistics

import torch
import torch.nn.functional as F

MEAN = 1
IGNORED = -100
FLOAT32 = 6  # c10::ScalarType
ALIGNED = 8  # elements of 16 bits in 16 bytes


def eager(x, weight, targets):
    """Returns the loss, and the gradients of x and weight."""
    x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
    loss = F.cross_entropy(F.linear(x, weight).float(), targets)
    loss.backward()
    return loss.detach(), x.grad, weight.grad


def fused(x, weight, targets):
    ops = torch.ops.elixir
    padded = (weight.shape[0] + ALIGNED - 1) // ALIGNED * ALIGNED
    logits = ops.mm(x, weight.t(), padded)
    loss, total, rows = ops.cross_entropy(logits, targets, None, MEAN, IGNORED, 0.0, FLOAT32)
    ops.cross_entropy_backward_(logits, torch.ones_like(loss), targets, None, MEAN, IGNORED, 0.0,
                                total, rows)
    of_weight = ops.mm(logits.t(), x, weight.shape[1])
    return loss, ops.mm(logits, weight, weight.shape[1]), of_weight


def liger():
    from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

    criterion = LigerFusedLinearCrossEntropyLoss()

    def step(x, weight, targets):
        x, weight = x.detach().requires_grad_(), weight.detach().requires_grad_()
        loss = criterion(weight, x, targets)
        loss.backward()
        return loss.detach(), x.grad, weight.grad

    return step


def measure(step, x, weight, targets, repeats):
    """Median milliseconds, and the most bytes beyond inputs and gradients."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times, most_bytes = [], 0
    for _ in range(repeats + 2):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        start.record()
        results = step(x, weight, targets)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
        gradients = sum(each.untyped_storage().nbytes() for each in results)
        most_bytes = torch.cuda.max_memory_allocated() - before - gradients
        del results
    return statistics.median(times[2:]), most_bytes


def errors(step, x, weight, targets):
    """Of the loss, relative; of each gradient, root mean square over that of the gradient."""
    exact = eager_of_doubles(x, weight, targets)
    found = step(x, weight, targets)
    of_loss = abs(found[0].item() - exact[0].item()) / exact[0].item()
    return [of_loss] + [
        ((mine.double() - theirs).square().mean() / theirs.square().mean()).sqrt().item()
        for mine, theirs in zip(found[1:], exact[1:])
    ]


def eager_of_doubles(x, weight, targets):
    x, weight = x.double().requires_grad_(), weight.double().requires_grad_()
    loss = F.cross_entropy(F.linear(x, weight), targets)
    loss.backward()
    return loss.detach(), x.grad, weight.grad


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libelixir.so")
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--width", type=int, default=3072)
    parser.add_argument("--classes", type=int, default=50257)
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    torch.ops.load_library(arguments.library)
    torch.manual_seed(1)
    x = torch.randn(arguments.rows, arguments.width, device="cuda").bfloat16()
    weight = (torch.randn(arguments.classes, arguments.width, device="cuda")
              / arguments.width**0.5).bfloat16()
    targets = torch.randint(0, arguments.classes, (arguments.rows,), device="cuda")
    steps = {"eager": eager, "fused": fused}
    try:
        steps["liger"] = liger()
    except ImportError as error:
        print(f"liger: {error}")
    print(
        f"{arguments.rows} x {arguments.width} x {arguments.classes}, bf16, "
        f"{torch.cuda.get_device_name()}")
    print(f"{'':6} {'ms':>8} {'GiB beyond':>11} {'loss error':>11} {'of x':>10} {'of weight':>10}")
    few = min(512, arguments.rows)
    for name, step in steps.items():
        ms, most_bytes = measure(step, x, weight, targets, arguments.repeats)
        of_loss, of_x, of_weight = errors(step, x[:few], weight, targets[:few])
        print(
            f"{name:6} {ms:8.2f} {most_bytes / 2**30:11.3f} {of_loss:11.2e} {of_x:10.3e} "
            f"{of_weight:10.3e}")


if __name__ == "__main__":
    main()
