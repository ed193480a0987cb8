#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Runs under a memory limit, predicted and real: with the predicted reserved peak as limit nothing
may run out of memory, and 2 % below the simulator has to say who does.

Usage: limits.py predict LIST_LIMITS MODELS_DIR DEVICE_BYTES OUT_DIR
         writes OUT_DIR/predicted.json, and OUT_DIR/limits-100.json and limits-98.json for
         `measure.py --limits`
       limits.py compare OUT_DIR
         reads OUT_DIR/measured-100.jsonl.xz and measured-98.jsonl.xz, prints a table, fails when a
         run at 100 % ran out of memory or fewer than nine in ten are right at 98 %
"""
import json
import lzma
import pathlib
import subprocess
import sys

PERCENTAGES = ("100", "98")
RIGHT = 0.9


def predict(list_limits, models, device_bytes, out):
    out.mkdir(parents=True, exist_ok=True)
    predicted = {}
    for description in json.loads((models / "models.json").read_text(encoding="utf-8")):
        profile = models / (pathlib.Path(description["file"]).stem + ".profile.json")
        text = subprocess.run([list_limits, device_bytes, profile, *PERCENTAGES], check=True,
                              capture_output=True, text=True).stdout
        predicted[description["file"]] = json.loads(text)
    (out / "predicted.json").write_text(json.dumps(predicted, indent=1), encoding="utf-8")
    for percentage in PERCENTAGES:
        limits = {file: entry["limits"][percentage]["bytes"] for file, entry in predicted.items()}
        (out / f"limits-{percentage}.json").write_text(json.dumps(limits, indent=1),
                                                       encoding="utf-8")
    fits = sum(entry["limits"][PERCENTAGES[1]]["fits"] for entry in predicted.values())
    print(f"{len(predicted)} models; 2 % below, {fits} are predicted to fit")
    return 0


def outcome(fits):
    return "fits" if fits else "out of memory"


def compare(out):
    predicted = json.loads((out / "predicted.json").read_text(encoding="utf-8"))
    failed = False
    for percentage in PERCENTAGES:
        right, runs = 0, 0
        print(
            f"\n| model, limit {percentage} % of predicted reserved | limit, MiB | predicted | "
            f"real |\n| --- | ---: | --- | --- |")
        with lzma.open(out / f"measured-{percentage}.jsonl.xz", "rt") as lines:
            for run in map(json.loads, lines):
                real = run["outcome"] == "ok"
                if not real and not run["outcome"].startswith("out of memory"):
                    sys.exit(f"{run['file']}: {run['outcome']}")
                limit = predicted[run["file"]]["limits"][percentage]
                runs += 1
                right += limit["fits"] == real
                failed |= percentage == PERCENTAGES[0] and not real
                print(
                    f"| {pathlib.Path(run['file']).stem} | {limit['bytes'] / 2**20:,.1f} | "
                    f"{outcome(limit['fits'])} | {outcome(real)} |")
        print(f"\n{right} of {runs} as predicted")
        failed |= runs == 0 or right < RIGHT * runs
    return 1 if failed else 0


def main():
    match sys.argv[1:]:
        case ["predict", list_limits, models, device_bytes, out]:
            return predict(list_limits, pathlib.Path(models), device_bytes, pathlib.Path(out))
        case ["compare", out]:
            return compare(pathlib.Path(out))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
