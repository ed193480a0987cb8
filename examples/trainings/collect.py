#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Puts the numbers of the runs of examples/trainings.sh into trainings.json, or prints them as a
table. Runs that are not there are left out.

  examples/trainings/collect.py runs/trainings --device cuda
  examples/trainings/collect.py runs/trainings --table
"""
import argparse
import json
import pathlib

STRATEGIES = [  # directory, who, what of the published comparison it corresponds to
    ("fp32", "elixir", "torch_ddp"), ("torch-fp32", "torch", "torch_ddp"),
    ("fp16", "elixir", "torch_ddp_fp16"), ("torch-fp16", "torch", "torch_ddp_fp16"),
    ("fp16-optimizer-host", "elixir", "low_level_zero"),
    ("fp16-least-memory", "elixir", "gemini"),
]


def lines_of(path):
    """The records of a .jsonl file; a last line that was cut is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def read_run(directory):
    """The series and figures of a finished run of elixir-train or torch_training.py; None: there is
    none."""
    if not (directory / "summary.json").is_file():
        return None
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    metrics = lines_of(directory / "metrics.jsonl")
    measured = summary.get("measured", summary)
    return {
        "loss": [line["loss"] for line in metrics],
        "learning_rate": [line["learning_rate"] for line in metrics],
        "loss_scale": [line["loss_scale"] for line in metrics],
        "skipped_steps": [line["step"] for line in metrics if line["skipped"]],
        "parameters": summary["parameters"],
        "step_ns": measured["step_ns"],
        "peak_device_bytes": measured["peak_device_bytes"],
        "host_bytes": measured.get("host_bytes"),
        "gpu_memory_bytes": measured.get("gpu_memory_bytes"),
        "torch": summary.get("torch"), "gpu": summary.get("device") if "torch" in summary else None,
    }


def difference(one, other):
    """The largest relative difference of two series, and its step."""
    pairs = list(zip(one, other))
    if not pairs:
        return None
    at, (a, b) = max(enumerate(pairs, 1), key=lambda item: abs(item[1][0] / item[1][1] - 1))
    return {"relative": abs(a / b - 1), "step": at, "steps": len(pairs)}


def last_losses(loss, count=10):
    """The mean of the last losses: one batch alone says little."""
    return sum(loss[-count:]) / len(loss[-count:])


def opt_350m(directory):
    pairs = {}
    for precision in ("fp16", "bf16"):
        pair = {who: read_run(directory / f"{who}-{precision}") for who in ("elixir", "torch")}
        pair = {who: run for who, run in pair.items() if run}
        for run in pair.values():
            run["mean_of_last_10_losses"] = last_losses(run["loss"])
        if len(pair) == 2:
            pair["largest_difference"] = difference(pair["elixir"]["loss"], pair["torch"]["loss"])
        if pair:
            pairs[precision] = pair
    return pairs and {"runs": pairs}


def classifier(directory):
    elixir, torch = {}, {}
    if (directory / "elixir/metrics.jsonl").is_file():
        elixir["loss"] = [line["loss"] for line in lines_of(directory / "elixir/metrics.jsonl")]
    if (directory / "torch/metrics.jsonl").is_file():
        torch["loss"] = [line["loss"] for line in lines_of(directory / "torch/metrics.jsonl")]
    if (directory / "scores.jsonl").is_file():
        elixir["epochs"] = lines_of(directory / "scores.jsonl")
    if (directory / "torch/scores.jsonl").is_file():
        torch["epochs"] = lines_of(directory / "torch/scores.jsonl")
    if not elixir.get("epochs"):
        return None
    runs = {"elixir": elixir}
    if torch.get("epochs"):
        runs["torch"] = torch
    for run in runs.values():
        steps = len(run["loss"]) // len(run["epochs"])
        for i, epoch in enumerate(run["epochs"]):
            part = run["loss"][i * steps:(i + 1) * steps]
            epoch["mean_training_loss"] = sum(part) / len(part)
    result = {"steps_per_epoch": len(elixir["loss"]) // len(elixir["epochs"]), "runs": runs}
    if len(runs) == 2:
        result["largest_difference"] = difference(elixir["loss"], torch["loss"])
    return result


def strategies(directory):
    runs = {}
    for name, who, corresponds in STRATEGIES:
        run = read_run(directory / name)
        if run:
            runs[name] = {"by": who, "corresponds_to": corresponds,
                          "batches_per_s": 1e9 / run["step_ns"],
                          "first_loss": run["loss"][0], "last_loss": run["loss"][-1],
                          "mean_of_last_10_losses": last_losses(run["loss"]), **run}
    for name, run in runs.items():
        beside = runs.get("torch-fp32" if name.endswith("fp32") else "torch-fp16")
        if beside and run is not beside:
            run["largest_difference"] = difference(run["loss"], beside["loss"])
    return runs and {"runs": runs}


def collect(directory, device):
    parts = {"opt-350m": opt_350m(directory / "opt-350m"),
             "classifier": classifier(directory / "classifier"),
             "strategies": strategies(directory / "strategies")}
    document = {"device": device, "settings": (directory / "settings.txt").read_text().strip(),
                "parts": {name: part for name, part in parts.items() if part}}
    temporary = directory / ".trainings.json"
    temporary.write_text(json.dumps(document) + "\n", encoding="utf-8")
    temporary.rename(directory / "trainings.json")


def text_of(difference_record):
    if not difference_record:
        return ""
    return f"{difference_record['relative']:.1e} (step {difference_record['step']})"


def print_rows(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.rjust(width) if column else text.ljust(width)
                        for column, (text, width) in enumerate(zip(row, widths))).rstrip())


def table(directory):
    parts = json.loads((directory / "trainings.json").read_text(encoding="utf-8"))["parts"]
    rows = [["last losses (mean of 10)", "Elixir", "PyTorch", "largest difference of a step",
             "skipped steps"]]
    for precision, pair in parts.get("opt-350m", {"runs": {}})["runs"].items():
        who = [pair.get("elixir"), pair.get("torch")]
        rows.append([f"opt-350m {precision}"]
                    + [f"{run['mean_of_last_10_losses']:.5f}" if run else "" for run in who]
                    + [text_of(pair.get("largest_difference")),
                       " and ".join(str(len(run["skipped_steps"])) for run in who if run)])
    record = parts.get("classifier")
    if record:
        who = [record["runs"].get("elixir"), record["runs"].get("torch")]
        rows.append(["classifier"] + [f"{last_losses(run['loss']):.5f}" if run else ""
                                      for run in who]
                    + [text_of(record.get("largest_difference")), ""])
    print_rows(rows)
    if record:
        print()
        rows = [["classifier, held out", *(f"epoch {epoch['epoch']}"
                                           for epoch in record["runs"]["elixir"]["epochs"])]]
        for who, label in (("elixir", "Elixir"), ("torch", "PyTorch")):
            epochs = record["runs"].get(who, {"epochs": []})["epochs"]
            for key, unit in (("accuracy", "accuracy"), ("held_out_loss", "loss")):
                if epochs:
                    row = [f"{label}, {unit}"] + [f"{epoch[key]:.4f}" for epoch in epochs]
                    rows.append((row + [""] * len(rows[0]))[:len(rows[0])])
        print_rows(rows)
    if "strategies" in parts:
        print()
        runs = parts["strategies"]["runs"]
        large = max(run["peak_device_bytes"] or 0 for run in runs.values()) >= 1e8
        unit, unit_name = (1e9, "GB") if large else (1e6, "MB")

        def memory(value):
            return "" if value is None else f"{value / unit:.3f}"

        rows = [["strategies", "corresponds to", "step ms", "batches/s", f"device {unit_name}",
                 f"host {unit_name}",
                 "first loss", "last loss", "largest difference"]]
        for name, run in runs.items():
            rows.append([
                name if run["by"] == "torch" else f"elixir {name}", run["corresponds_to"],
                f"{run['step_ns'] / 1e6:.1f}", f"{run['batches_per_s']:.2f}",
                memory(run["peak_device_bytes"]), memory(run["host_bytes"]),
                f"{run['first_loss']:.5f}", f"{run['last_loss']:.5f}",
                text_of(run.get("largest_difference"))])
        print_rows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--device", default="cuda", help="of the runs: cpu or cuda")
    parser.add_argument("--table", action="store_true", help="print what is in trainings.json")
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.directory)
    else:
        collect(arguments.directory, arguments.device)


if __name__ == "__main__":
    main()
