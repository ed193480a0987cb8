#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The fused cross entropy beside LibTorch's, from logits to their gradient, side by side in one
process: time, memory beyond the logits, and the error of loss and gradient against fp64.

  benchmarks/fused_loss.py build/libelixir.so --device cuda --rows 8192 --classes 50257

Eager is what Hugging Face's models do: logits in bf16 are converted to fp32 first.
"""
import argparse
import statistics
import time

import torch
import torch.nn.functional as F

IGNORED = -100
MEAN = 1
FLOAT32 = 6  # c10::ScalarType


def eager(logits, targets):
    """Returns the loss and a function that makes the gradient."""
    leaf = logits.detach().requires_grad_()
    loss = F.cross_entropy(leaf.float(), targets, ignore_index=IGNORED)

    def backward():
        loss.backward()
        return leaf.grad

    return loss, backward


def fused(logits, targets):
    loss, weight, rows = torch.ops.elixir.cross_entropy(logits, targets, None, MEAN, IGNORED, 0.0,
                                                        FLOAT32)

    def backward():
        one = torch.ones_like(loss)
        return torch.ops.elixir.cross_entropy_backward_(logits, one, targets, None, MEAN, IGNORED,
                                                        0.0, weight, rows)

    return loss, backward


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def measure(step, make_logits, targets, device, repeats):
    """Median milliseconds, and on a GPU the most bytes beyond the logits."""
    times, most_bytes = [], 0
    for _ in range(repeats + 1):
        logits = make_logits()
        synchronize(device)
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        start = time.perf_counter()
        _, backward = step(logits, targets)
        gradient = backward()
        synchronize(device)
        times.append((time.perf_counter() - start) * 1e3)
        if device == "cuda":
            most_bytes = torch.cuda.max_memory_allocated() - before
        del logits, backward, gradient
    return statistics.median(times[1:]), most_bytes


def errors(step, logits, targets):
    """Of the loss, relative; of the gradient, root mean square over that of the gradient."""
    exact_logits = logits.double().requires_grad_()
    exact = F.cross_entropy(exact_logits, targets, ignore_index=IGNORED)
    exact.backward()
    loss, backward = step(logits.clone(), targets)
    gradient = backward().double()
    of_loss = abs(loss.item() - exact.item()) / exact.item()
    of_gradient = ((gradient - exact_logits.grad).square().mean()
                   / exact_logits.grad.square().mean()).sqrt().item()
    return of_loss, of_gradient


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libelixir.so")
    parser.add_argument("--device", choices=("cpu", "cuda"),
                        default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--classes", type=int, default=50257)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    torch.ops.load_library(arguments.library)
    torch.manual_seed(1)
    print(
        f"{arguments.rows} rows of {arguments.classes} classes on {arguments.device}, "
        f"{torch.get_num_threads()} threads")
    print(
        f"{'dtype':9} {'loss':6} {'ms':>9} {'MiB beyond':>11} {'loss error':>11} "
        f"{'gradient error':>15}")
    for dtype in (torch.bfloat16, torch.float32):
        shape = (arguments.rows, arguments.classes)
        logits = (3 * torch.randn(shape, device=arguments.device)).to(dtype)
        targets = torch.randint(0, arguments.classes, (arguments.rows,), device=arguments.device)
        targets[::7] = IGNORED
        small = logits[: min(256, arguments.rows)], targets[: min(256, arguments.rows)]
        for name, step in (("eager", eager), ("fused", fused)):
            ms, most_bytes = measure(step, logits.clone, targets, arguments.device,
                                     arguments.repeats)
            of_loss, of_gradient = errors(step, *small)
            memory = f"{most_bytes / 2**20:.1f}" if arguments.device == "cuda" else "-"
            print(
                f"{str(dtype)[6:]:9} {name:6} {ms:9.2f} {memory:>11} {of_loss:11.2e} "
                f"{of_gradient:15.3e}")


if __name__ == "__main__":
    main()
