#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Plans the grid of the original Elixir's benchmark, and prints it as a Markdown table of predicted step times.

GPT-2 of several sizes, sequence 1024, bf16, on one GPU. Nothing is trained and no GPU is needed: each cell is what
elixir-search predicts with the figures of a hardware document, or why it finds no plan.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = [
    ("`elixir`, blocks", ["--strategy", "elixir", "--recompute", "blocks"]),
    ("`minimum-waste`", ["--strategy", "minimum-waste"]),
    ("`simple`", ["--strategy", "simple"]),
    ("`optimal`, auto", ["--strategy", "optimal", "--recompute", "auto"]),
]
SHORT_OF = {"gpu_memory": "GPU memory", "host_memory": "host memory"}
NO = 1  # exit code: there is no plan


def run(*command, answers=(0,)):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in answers:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done


def cell(document):
    """A predicted step time, or the limit that is exceeded."""
    if document["predicted"] is None:
        return f"no plan: {document['shortfall_bytes'] / 2**30:.1f} GiB short of {SHORT_OF[document['binding_limit']]}"
    chosen = f" ({document['recompute']})" if document["strategy"] == "optimal" else ""
    return f"{document['predicted']['step_ns'] / 1e9:.2f} s{chosen}"


def profiles(arguments, directory, model):
    """A profile for each batch, of one export."""
    exported = directory / f"{model}.pt"
    run(sys.executable, ROOT / "examples/export_hf.py", model, exported, "--meta", "--dtype", "bfloat16",
        "--batch", arguments.batches[0], "--sequence", arguments.sequence)
    batches = ",".join(map(str, arguments.batches))
    if len(arguments.batches) == 1:
        run(arguments.tools / "elixir-profile", exported, "--quiet", "--json",
            "-o", directory / f"{model}.b{batches}.profile.json")
    else:
        # The profiles of several sizes are written where the tool works.
        os.chdir(directory)
        run(arguments.tools / "elixir-profile", exported, "--quiet", "--json", "--batch", batches)
    return [(batch, directory / f"{model}.b{batch}.profile.json") for batch in arguments.batches]


def search(arguments, directory, profile, choices):
    command = [arguments.tools / "elixir-search", "--profile", profile, "--hardware", arguments.hardware,
               "--arithmetic", arguments.arithmetic, "--gpu-memory", arguments.gpu_memory,
               "--host-memory", arguments.host_memory, *choices, "-o", directory / "plan.json", "--force", "--json", "--quiet"]
    return json.loads(run(*command, answers=(0, NO)).stdout)["document"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools",
                        help="where elixir-profile and elixir-search are")
    parser.add_argument("--models", nargs="+", default=["gpt2-4b", "gpt2-10b", "gpt2-15b", "gpt2-20b"])
    parser.add_argument("--batches", nargs="+", type=int, default=[4, 8, 12, 16])
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--hardware", default="h200", help="a shipped hardware profile or a file (default: h200)")
    parser.add_argument("--arithmetic", default="fused-elementwise",
                        help="fused-elementwise (default), fused, or as-eager: the bits of eager training")
    parser.add_argument("--gpu-memory", default="80GiB")
    parser.add_argument("--host-memory", default="480GiB")
    arguments = parser.parse_args()
    arguments.tools = arguments.tools.resolve()
    print(f"| model | batch | {' | '.join(name for name, _ in COLUMNS)} |")
    print("| --- | ---: |" + " ---: |" * len(COLUMNS))
    with tempfile.TemporaryDirectory() as directory:
        for model in arguments.models:
            for batch, profile in profiles(arguments, pathlib.Path(directory), model):
                cells = [cell(search(arguments, pathlib.Path(directory), profile, choices)) for _, choices in COLUMNS]
                print(f"| {model} | {batch} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
