#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""A training step of PyTorch without Elixir, to compare with: every decoder block checkpointed,
bf16 parameters, fp32 masters and moments, AdamW, clipping 1.0, everything on one GPU. Prints one
line of JSON for each batch, and stops at the first that runs out of memory.

  benchmarks/torch_step.py llama-8b --batches 2,4,8 --sequence 1024 --memory-gib 130

MODEL is a configuration of examples/export_hf.py. AdamW takes one parameter at a time, so that fp32
copies of gradients exist for one parameter only: with all at once, 8 G parameters would need 30 GiB
more.
"""
import argparse
import json
import time

import torch
import transformers

from gradient_errors import load_exporter


def build(name):
    settings = dict(load_exporter().MODELS[name])
    settings |= {"use_cache": False, "attn_implementation": "sdpa"}
    config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    torch.set_default_dtype(torch.float32)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model.train(), config.vocab_size


class Step:
    def __init__(self, model):
        self.model, self.parameters = model, list(model.parameters())
        self.masters = [parameter.detach().float() for parameter in self.parameters]
        self.optimizers = [torch.optim.AdamW([master], lr=1e-5, fused=True)
                           for master in self.masters]

    def __call__(self, tokens):
        loss = self.model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for parameter, master, optimizer in zip(self.parameters, self.masters, self.optimizers):
            master.grad, parameter.grad = parameter.grad.float(), None
            optimizer.step()
            master.grad = None
            parameter.data.copy_(master)
        return loss.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--batches", default="8")
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=4, help="timed, after two that are not (4)")
    parser.add_argument("--memory-gib", type=float, help="what PyTorch may reserve (default: all)")
    arguments = parser.parse_args()
    if arguments.memory_gib:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, arguments.memory_gib * 2**30 / total))
    model, vocabulary = build(arguments.model)
    step = Step(model)
    for batch in map(int, arguments.batches.split(",")):
        found = {"model": arguments.model, "batch": batch, "sequence": arguments.sequence}
        tokens = torch.randint(0, vocabulary, (batch, arguments.sequence), device="cuda")
        torch.cuda.reset_peak_memory_stats()
        times = []
        try:
            for _ in range(2 + arguments.steps):
                torch.cuda.synchronize()
                start = time.perf_counter()
                step(tokens)
                torch.cuda.synchronize()
                times.append(time.perf_counter() - start)
        except torch.cuda.OutOfMemoryError:
            print(json.dumps(found | {"out_of_memory": True}), flush=True)
            return
        seconds = sorted(times[2:])[arguments.steps // 2]
        print(json.dumps(found | {
            "step_s": round(seconds, 4),
            "tokens_per_s": round(batch * arguments.sequence / seconds),
            "peak_allocated_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2),
            "peak_reserved_gib": round(torch.cuda.max_memory_reserved() / 2**30, 2)}), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
