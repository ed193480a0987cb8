#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Plans the grid of the original Elixir's benchmark, and prints it as Markdown: GPT-2 by size,
batch and number of GPUs, sequence 1024, bf16. Each cell is the step time that elixir-search
predicts with the figures of a hardware document, or why it finds no plan. No GPU is needed for
that.

With --train it also runs each plan on this machine's GPUs for a few steps, beside what was
predicted before. --bench measures the machine first:

  grid.py --gpus 1 2 --bench --train text.txt --plans optimal \\
    --gpu-memory 139GiB --host-memory 236GiB
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLANS = {
    "elixir": ("`elixir`, blocks", ["--strategy", "elixir", "--recompute", "blocks"]),
    "minimum-waste": ("`minimum-waste`", ["--strategy", "minimum-waste"]),
    "simple": ("`simple`", ["--strategy", "simple"]),
    "optimal": ("`optimal`, auto", ["--strategy", "optimal", "--recompute", "auto"]),
}
SHORT_OF = {"gpu_memory": "GPU memory", "host_memory": "host memory"}
NO = 1  # exit code: there is no plan


def run(*command, answers=(0,)):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode not in answers:
        raise SystemExit(
            f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done


def predicted_cell(document, name):
    """A predicted step time, and what `optimal` chose to make again in backward; or the limit that
    is exceeded."""
    if document["predicted"] is None:
        return (
            f"no plan: {document['shortfall_bytes'] / 2**30:.1f} GiB short of "
            f"{SHORT_OF[document['binding_limit']]}")
    chosen = f" ({document['recompute']})" if name == "optimal" else ""
    return f"{document['predicted']['step_ns'] / 1e9:.2f} s{chosen}"


class Grid:
    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.hardware = arguments.hardware

    def profile(self, model, batch):
        """Of one export of the model, with another batch. What is there already is used."""
        exported = self.directory / f"{model}.pt"
        profile = self.directory / f"{model}.b{batch}.profile.json"
        if not exported.exists():
            run(sys.executable, ROOT / "examples/export_hf.py", model, exported, "--meta",
                "--dtype", "bfloat16", "--batch", self.arguments.batches[0], "--sequence",
                self.arguments.sequence)
        if not profile.exists():
            run(self.arguments.tools / "elixir-profile", exported, "--quiet", "--json", "--batch",
                batch, "-o", profile)
        return profile

    def bench(self):
        """This machine, with the operators of all cells."""
        self.hardware = self.directory / "hardware.json"
        operators = []
        for model in self.arguments.models:
            for batch in self.arguments.batches:
                operators += ["--operators", self.profile(model, batch)]
        run(self.arguments.tools / "elixir-bench", "--quick", "--device", "cuda", *operators, "-o",
            self.hardware, "--force", "--json")

    def plan(self, model, batch, gpus, name):
        """What elixir-search says, and where it wrote the plan."""
        path = self.directory / f"{model}.b{batch}.x{gpus}.{name}.plan.json"
        several = (["--gpus", gpus, "--reduce-dtype", self.arguments.reduce_dtype]
                   if gpus > 1 else [])
        command = [self.arguments.tools / "elixir-search", "--profile", self.profile(model, batch),
                   "--hardware", self.hardware, "--arithmetic", self.arguments.arithmetic,
                   "--gpu-memory", self.arguments.gpu_memory, "--host-memory",
                   self.arguments.host_memory, *several, *PLANS[name][1], "-o", path, "--force",
                   "--json", "--quiet"]
        return json.loads(run(*command, answers=(0, NO)).stdout)["document"], path

    def train(self, model, batch, gpus, name, plan):
        """What elixir-train measured: its summary, with the median of the steps after the first."""
        directory = self.directory / f"{model}.b{batch}.x{gpus}.{name}.run"
        run(self.arguments.tools / "elixir-train", "--plan", plan, "--model",
            self.directory / f"{model}.pt", "--batch", batch, "--data", self.arguments.train,
            "--init", "--steps", self.arguments.steps, "--checkpoint-every", 0, "--hardware",
            self.hardware, "--device", "cuda", "-o", directory, "--force", "--json", "--quiet")
        return json.loads((directory / "summary.json").read_text(encoding="utf-8"))

    def cells(self):
        for model in self.arguments.models:
            for batch in self.arguments.batches:
                for gpus in self.arguments.gpus:
                    yield model, batch, gpus

    def print_plans(self):
        titles = [PLANS[name][0] for name in self.arguments.plans]
        print(f"| model | batch | GPUs | {' | '.join(titles)} |")
        print("| --- | ---: | ---: |" + " ---: |" * len(titles))
        for cell in self.cells():
            found = [predicted_cell(self.plan(*cell, name)[0], name)
                     for name in self.arguments.plans]
            print(f"| {' | '.join(map(str, cell))} | {' | '.join(found)} |", flush=True)

    def print_runs(self):
        print(
            "| model | batch | GPUs | plan | predicted | measured | error | GPU memory promised, "
            "used |")
        print("| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |")
        errors, kept, pairs = [], 0, 0
        for cell in self.cells():
            measured = {}
            for name in self.arguments.plans:
                document, path = self.plan(*cell, name)
                row = f"| {' | '.join(map(str, cell))} | {name}"
                if document["predicted"] is None:
                    print(f"{row} | {predicted_cell(document, name)} | | | |", flush=True)
                    continue
                summary = self.train(*cell, name, path)
                predicted_s, measured_s = (summary[which]["step_ns"] / 1e9
                                           for which in ("predicted", "measured"))
                errors.append(measured_s / predicted_s - 1)
                measured[name] = (predicted_s, measured_s)
                memory = ", ".join(f"{of['gpu_memory_bytes'] / 2**30:.1f} GiB"
                                   for of in (summary["predicted"], summary["measured"])
                                   if of["gpu_memory_bytes"])
                print(
                    f"{row} | {predicted_s:.3f} s | {measured_s:.3f} s | {errors[-1]:+.1%} | "
                    f"{memory} |", flush=True)
            for a in measured.values():
                for b in measured.values():
                    if a[0] < b[0]:
                        pairs += 1
                        kept += a[1] < b[1]
        sizes = [abs(error) for error in errors]
        if sizes:
            print(
                f"\nThe median error is {statistics.median(sizes):.1%}, the largest "
                f"{max(sizes):.1%}, of {len(sizes)} plans.")
        if pairs:
            print(
                f"Of two plans for one cell, the one predicted to be faster is faster in {kept} of "
                f"{pairs} pairs.")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools",
                        help="where Elixir's tools are")
    parser.add_argument("--models", nargs="+",
                        default=["gpt2-4b", "gpt2-10b", "gpt2-15b", "gpt2-20b"])
    parser.add_argument("--batches", nargs="+", type=int, default=[4, 8, 12, 16],
                        help="on each GPU")
    parser.add_argument("--gpus", nargs="+", type=int, default=[1])
    parser.add_argument("--plans", nargs="+", choices=PLANS, default=list(PLANS),
                        help="default: all")
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--hardware", default="h200",
                        help="a shipped hardware profile or a file (default: h200)")
    parser.add_argument("--arithmetic", default="fused-elementwise",
                        help="fused-elementwise (default), fused, or as-eager: the bits of eager "
                             "training")
    parser.add_argument("--reduce-dtype", default="fp32",
                        help="of several GPUs: fp32 (default) or parameters")
    parser.add_argument("--gpu-memory", default="80GiB")
    parser.add_argument("--host-memory", default="480GiB")
    parser.add_argument("--directory", type=pathlib.Path,
                        help="keeps exports, profiles, plans and runs, and uses those it has")
    parser.add_argument("--bench", action="store_true",
                        help="measure this machine first, instead of --hardware")
    parser.add_argument("--train", type=pathlib.Path, metavar="TEXT",
                        help="also run each plan, on the tokens (bytes) of this file")
    parser.add_argument("--steps", type=int, default=8, help="of each run (default: 8)")
    arguments = parser.parse_args()
    arguments.tools = arguments.tools.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(arguments.directory or temporary)
        directory.mkdir(parents=True, exist_ok=True)
        grid = Grid(arguments, directory)
        if arguments.bench:
            grid.bench()
        if arguments.train:
            grid.print_runs()
        else:
            grid.print_plans()


if __name__ == "__main__":
    main()
