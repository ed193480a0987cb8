#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Steps that torch.optim updates: predicted by elixir-profile without a GPU, then compared with
what measure.py recorded.

Usage: updates.py predict MODELS_DIR [--updates GLOB] [--tools DIR]
                 exports models; writes MODEL.OPTIMIZER.FORM.profile.json beside them
       measure.py MODELS_DIR MEASURED.jsonl.xz $(updates.py options [--updates GLOB])
                 on the GPU machine
       updates.py table MODELS_DIR MEASURED.jsonl.xz   writes a table of peaks as Markdown
With short sequences, the update is the peak of the step.
"""
import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys

import make_table

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMS = ("torch-foreach", "torch-fused", "torch-loop")
# Name -> what export_hf.py is asked for, and the batch.
MODELS = {
    "gpt2": (["gpt2", "--sequence", "1024"], 1),
    "gpt2-short": (["gpt2", "--sequence", "32"], 1),
    "bert-base": (["bert-base", "--sequence", "512"], 2),
    "bert-short": (["bert-base", "--sequence", "32"], 1),
    "resnet50": (["resnet50"], 8),
}
UPDATES = [f"{name}:{form}" for name in ("adamw", "sgd-momentum") for form in FORMS] + [
    "adafactor:torch-foreach", "adafactor:torch-loop", "adamw:torch-foreach:clip",
    "adamw:torch-fused:clip", "sgd:torch-foreach:clip", "rmsprop:torch-foreach",
    "rmsprop:torch-loop", "adagrad:torch-foreach", "adagrad:torch-loop"]


def chosen_updates(arguments):
    return [update for update in UPDATES if fnmatch.fnmatch(update, arguments.updates)]


def profile_of(models, file, update):
    return models / f"{file.removesuffix('.pt')}.{update.replace(':', '.')}.profile.json"


def predict(arguments):
    import export_models

    arguments.models.mkdir(parents=True, exist_ok=True)
    exporter = export_models.load_exporter()
    models = []
    for name, (asked, batch) in MODELS.items():
        for label, dtype in export_models.DTYPES.items():
            path = arguments.models / f"{name}-b{batch}-{label}.pt"
            inputs = export_models.export_published(exporter, asked, batch, dtype, path)
            models.append({"model": name, "batch": batch, "dtype": label, "file": path.name,
                           "inputs": inputs})
            for update in chosen_updates(arguments):
                optimizer, form, *clips = update.split(":")
                subprocess.run([arguments.tools / "elixir-profile", path, "--target", "cuda:sm_90",
                                "--optimizer", optimizer, "--optimizer-form", form,
                                *(["--clip-norm", "1"] if clips else []), "-q", "--force", "-o",
                                profile_of(arguments.models, path.name, update)],
                               check=True, stdout=subprocess.DEVNULL)
    (arguments.models / "models.json").write_text(json.dumps(models, indent=1) + "\n",
                                                  encoding="utf-8")


def options(arguments):
    print(" ".join(f"--update {update}" for update in chosen_updates(arguments)))


def table(arguments):
    print(
        "| model, batch, dtype | update | allocated, measured | difference | reserved, measured | "
        "difference | of it during the update |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for run in make_table.short(arguments.measured):
        memory = json.loads(profile_of(arguments.models, run["file"],
                                       run["update"]).read_text(encoding="utf-8"))["memory"]
        cells = [run["file"].removesuffix(".pt"), run["update"].replace(":", ", ")]
        for what in ("allocated", "reserved"):
            measured = run[f"peak_{what}_bytes"]
            cells += [make_table.mib(measured),
                      make_table.difference(memory[f"peak_{what}_bytes"], measured)]
        print("| " + " | ".join(
            [*cells, f"{run['update_peak_bytes'] / run['peak_allocated_bytes']:.0%}"]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    predicting = commands.add_parser("predict")
    predicting.add_argument("models", type=pathlib.Path)
    predicting.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/tools")
    predicting.set_defaults(run=predict)
    listing = commands.add_parser("options")
    listing.set_defaults(run=options)
    for command in (predicting, listing):
        command.add_argument("--updates", metavar="GLOB", default="*")
    comparing = commands.add_parser("table")
    comparing.add_argument("models", type=pathlib.Path)
    comparing.add_argument("measured", type=pathlib.Path)
    comparing.set_defaults(run=table)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
