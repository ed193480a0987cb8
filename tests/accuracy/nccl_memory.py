#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""What NCCL takes of a GPU beside LibTorch's allocator, in groups of 1 to all GPUs of this machine,
one process a GPU: after the group is made and after each collective of 16 Mi bf16 elements a rank.

Usage: nccl_memory.py
"""
import os

import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing

ELEMENTS = 1 << 24
PORT = "29511"


def taken(free_before):
    torch.cuda.synchronize()
    return free_before - torch.cuda.mem_get_info()[0] - torch.cuda.memory_reserved()


def rank_main(rank, ranks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT)
    torch.cuda.set_device(rank)
    torch.ones(1, device="cuda")  # the context is not NCCL's
    torch.cuda.synchronize()
    free_before = torch.cuda.mem_get_info()[0]
    distributed.init_process_group("nccl", rank=rank, world_size=ranks,
                                   device_id=torch.device("cuda", rank))
    part = torch.ones(ELEMENTS, device="cuda", dtype=torch.bfloat16)
    whole = torch.ones(ranks * ELEMENTS, device="cuda", dtype=torch.bfloat16)
    rows = [("group", taken(free_before))]
    for name, collective in (
        ("all_reduce", lambda: distributed.all_reduce(part)),
        ("all_gather", lambda: distributed.all_gather_into_tensor(whole, part)),
        ("reduce_scatter", lambda: distributed.reduce_scatter_tensor(part, whole)),
        ("broadcast", lambda: distributed.broadcast(part, 0)),
    ):
        collective()
        rows.append((name, taken(free_before)))
    if rank == 0:
        text = ", ".join(f"{name} {size / 2**20:.0f}" for name, size in rows)
        print(
            f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, {ranks} GPUs, MiB after: "
            f"{text}", flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    for ranks in range(1, torch.cuda.device_count() + 1):
        multiprocessing.spawn(rank_main, (ranks,), ranks)
