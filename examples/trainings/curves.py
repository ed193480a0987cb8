#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Draws the pictures of trainings.json beside it, one SVG a training: dark and light, without a
script.

  examples/trainings/curves.py runs/trainings/trainings.json

Curves that should lie on each other are drawn as a wide pale line (PyTorch) below a thin dark one
(Elixir), so that both are seen.
"""
import html
import json
import math
import pathlib
import sys

STYLE = """\
:root {
  color-scheme: light dark;
  --panel: #ffffff; --text: #1b1f24; --faint: #5f6873; --grid: #e9ecf0;
  --wide: #f0b45a; --wide-2: #9fd0a8; --thin: #0b3f8a; --thin-2: #0b62c4; --thin-3: #8b1e5b;
  --mark: #c62828;
}
@media (prefers-color-scheme: dark) {
  :root {
    --panel: #181c22; --text: #e4e8ee; --faint: #98a2af; --grid: #2b323b;
    --wide: #8a5a10; --wide-2: #2f6b3c; --thin: #9cc9ff; --thin-2: #6cb0ff; --thin-3: #ff9ccf;
    --mark: #ff6b6b;
  }
}
svg { font-family: system-ui, sans-serif; }
text { font-size: 12px; fill: var(--faint); font-variant-numeric: tabular-nums; }
text.title { font-size: 13px; font-weight: 600; fill: var(--text); }
text.value { fill: var(--text); }
.grid { stroke: var(--grid); }
.frame { stroke: var(--faint); stroke-opacity: 0.5; fill: none; }
polyline { fill: none; stroke-linejoin: round; stroke-linecap: round; }
"""
WIDTH = 1000
MOST_POINTS = 400
# class of a line: its stroke
STROKES = {"wide": ("wide", 7, ""), "wide-2": ("wide-2", 7, ""),
           "thin": ("thin", 1.5, ""), "middle": ("thin-2", 3, "2 5"),
           "dashed": ("thin-3", 1.6, "7 6")}


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


def ticks_of(low, high, count=5):
    """Round numbers in the range, and a format that tells them apart."""
    raw = (high - low) / count or 1
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    digits = max(0, -math.floor(math.log10(step)) + (1 if step / 10 ** math.floor(
        math.log10(step)) == 2.5 else 0))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step:,.{digits}f}") for i in range(first, last + 1)]


class Picture:
    """Collects the elements of one SVG."""

    def __init__(self, title, height):
        self.height = height
        self.body = []
        self.title = title
        self.text(14, 22, title, "title")

    def text(self, x, y, words, kind="", anchor="start"):
        kind = f' class="{kind}"' if kind else ""
        anchor = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.body.append(f'<text{kind} x="{number(x)}" y="{number(y)}"{anchor}>'
                         f"{html.escape(words)}</text>")

    def line(self, x1, y1, x2, y2, kind="grid"):
        self.body.append(f'<line class="{kind}" x1="{number(x1)}" y1="{number(y1)}" '
                         f'x2="{number(x2)}" y2="{number(y2)}"/>')

    def polyline(self, points, stroke, title):
        color, width, dash = STROKES[stroke]
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        data = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.body.append(f'<polyline style="stroke:var(--{color})" stroke-width="{width}"{dash} '
                         f'points="{data}"><title>{html.escape(title)}</title></polyline>')

    def dot(self, x, y, color, radius, title="", ring=False):
        paint = (f"fill:none;stroke:var(--{color});stroke-width:3" if ring
                 else f"fill:var(--{color})")
        self.body.append(f'<circle style="{paint}" cx="{number(x)}" cy="{number(y)}" '
                         f'r="{radius}"><title>{html.escape(title)}</title></circle>')

    def bar(self, x, y, width, height, color, title):
        self.body.append(f'<rect style="fill:var(--{color})" x="{number(x)}" y="{number(y)}" '
                         f'width="{number(max(width, 1))}" height="{number(height)}">'
                         f"<title>{html.escape(title)}</title></rect>")

    def legend(self, x, y, entries):
        """entries: [(stroke or None, words)], from left to right."""
        for stroke, words in entries:
            if stroke == "mark":
                self.dot(x + 12, y - 4, "mark", 3)
            elif stroke:
                self.polyline([(x, y - 4), (x + 24, y - 4)], stroke, words)
            self.text(x + 32, y, words)
            x += 54 + 6.6 * len(words)

    def svg(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'role="img" aria-label="{html.escape(self.title, quote=True)}">\n'
                f"<style>\n{STYLE}</style>\n"
                '<rect width="100%" height="100%" fill="var(--panel)"/>\n'
                + "\n".join(self.body) + "\n</svg>\n")


class Plot:
    """A frame with axes in a picture."""

    def __init__(self, picture, box, x_range, y_range, title, x_label="", power_of_two=False):
        self.picture, self.box = picture, box
        self.x_range, self.y_range = x_range, y_range
        left, top, width, height = box
        picture.text(left, top - 10, title, "title")
        if power_of_two:
            low, high = (math.ceil(y_range[0]), math.floor(y_range[1]))
            step = max(1, math.ceil((high - low) / 4))
            y_ticks = [(k, f"2^{k}") for k in range(low, high + 1, step)]
        else:
            y_ticks = ticks_of(*y_range)
        for value, words in y_ticks:
            y = self.at(0, value)[1]
            picture.line(left, y, left + width, y)
            picture.text(left - 8, y + 4, words, anchor="end")
        for value, words in ticks_of(*x_range) if x_label else []:
            x = self.at(value, 0)[0]
            picture.line(x, top, x, top + height)
            picture.text(x, top + height + 17, words, anchor="middle")
        picture.body.append(f'<rect class="frame" x="{left}" y="{top}" width="{width}" '
                            f'height="{height}"/>')
        picture.text(left + width / 2, top + height + 34, x_label, anchor="middle")

    def at(self, x, y):
        left, top, width, height = self.box
        (x0, x1), (y0, y1) = self.x_range, self.y_range
        return (left + (x - x0) / (x1 - x0 or 1) * width,
                top + height - (y - y0) / (y1 - y0 or 1) * height)

    def curve(self, values, stroke, title, first=1):
        """Values of steps first, first + 1, …; every k-th of long ones, and the last."""
        stride = max(1, math.ceil(len(values) / MOST_POINTS))
        chosen = sorted({*range(0, len(values), stride), len(values) - 1})
        self.picture.polyline([self.at(first + i, values[i]) for i in chosen], stroke, title)


def range_of(*series):
    values = [value for each in series for value in each]
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def percent(value):
    return f"{100 * value:.1f} %"


def draw_opt_350m(part):
    pairs = part["runs"]
    picture = Picture("OPT-350M over bytes: AdamW's state on the host (Elixir), "
                      "everything on the device (PyTorch)", 520)
    for i, (precision, pair) in enumerate(pairs.items()):
        runs = {who: pair[who] for who in ("torch", "elixir") if who in pair}
        left = 62 + 490 * i
        steps = max(len(run["loss"]) for run in runs.values())
        title = f"{precision}: loss of a step (nats/byte)"
        plot = Plot(picture, (left, 66, 420, 250), (0, steps),
                    range_of(*(run["loss"] for run in runs.values())), title, "step")
        for who, stroke, words in (("torch", "wide", "PyTorch"), ("elixir", "thin", "Elixir")):
            if who in runs:
                plot.curve(runs[who]["loss"], stroke, f"{words}, {precision}")
        found = pair.get("largest_difference")
        if found:
            picture.text(left + 410, 84, f"largest difference {100 * found['relative']:.2g} %, "
                         f"step {found['step']}", "value", "end")
        scales = {who: [math.log2(scale) for scale in run["loss_scale"]]
                  for who, run in runs.items() if run["loss_scale"][0]}
        if not scales:
            picture.text(left, 400, f"{precision} has no loss scale: its range is that of fp32")
            continue
        low = min(min(values) for values in scales.values())
        high = max(max(values) for values in scales.values())
        plot = Plot(picture, (left, 378, 420, 80), (0, steps), (low - 1, high + 1),
                    f"{precision}: loss scale, halved after each skipped step", "step",
                    power_of_two=True)
        for who, stroke, words in (("torch", "wide", "PyTorch"), ("elixir", "thin", "Elixir")):
            if who in scales:
                plot.curve(scales[who], stroke, f"{words}, loss scale")
        shown = runs.get("elixir") or runs["torch"]
        for step in shown["skipped_steps"]:
            picture.dot(*plot.at(step, math.log2(shown["loss_scale"][step - 1])), "mark", 3,
                        f"step {step} is skipped")
    picture.legend(62, 510, [("wide", "PyTorch, operator by operator"),
                             ("thin", "Elixir"), ("mark", "skipped step (Elixir)")])
    return picture


def draw_classifier(part):
    runs = part["runs"]
    picture = Picture("A small BERT on two ranks of the CPU: which package are 64 bytes from?", 410)
    epochs = runs["elixir"]["epochs"]
    plot = Plot(picture, (62, 66, 300, 250), (0, len(epochs)), (0, 1),
                "accuracy, held-out samples", "epoch")
    guess = plot.at(0, 0.25)[1]
    picture.line(62, guess, 362, guess, "frame")
    picture.text(356, guess - 5, "guessing", anchor="end")
    losses = [run["loss"] for run in runs.values()]
    held_out = [epoch["held_out_loss"] for run in runs.values() for epoch in run["epochs"]]
    steps = part["steps_per_epoch"]
    right = Plot(picture, (430, 66, 550, 250), (0, max(map(len, losses))),
                 range_of(*losses, held_out), "loss (nats/sample)", "step")
    shown = [(who, color, words, runs[who]) for who, color, words in
             (("torch", "wide", "PyTorch"), ("elixir", "thin", "Elixir")) if who in runs]
    for _, color, words, run in shown:
        right.curve(run["loss"], color, f"{words}, training")
        plot.curve([epoch["accuracy"] for epoch in run["epochs"]], color, f"{words}, accuracy")
    for who, color, words, run in shown:
        radius = 8 if who == "torch" else 4
        for epoch in run["epochs"]:
            title = f"{words}, epoch {epoch['epoch']}: "
            picture.dot(*plot.at(epoch["epoch"], epoch["accuracy"]), color, radius,
                        title + percent(epoch["accuracy"]))
            picture.dot(*right.at(epoch["epoch"] * steps, epoch["held_out_loss"]), color, radius,
                        title + f"held-out loss {epoch['held_out_loss']:.4f}")
            if who == "elixir":
                x, y = plot.at(epoch["epoch"], epoch["accuracy"])
                picture.text(x, y - 14, percent(epoch["accuracy"]), "value",
                             "end" if epoch is epochs[-1] else "middle")
    found = part.get("largest_difference")
    if found:
        picture.text(970, 84, f"largest difference {100 * found['relative']:.2g} %, "
                     f"step {found['step']}", "value", "end")
    picture.legend(62, 386, [("wide", "PyTorch, DistributedDataParallel"), ("thin", "Elixir"),
                             (None, "line: loss of a training step; "
                              "dot: held-out samples, after an epoch")])
    return picture


def draw_strategies(part):
    runs = part["runs"]
    labels = {"fp32": "fp32, all on the device", "torch-fp32": "PyTorch, fp32",
              "fp16": "fp16, all on the device", "torch-fp16": "PyTorch, fp16",
              "fp16-optimizer-host": "fp16, state on the host",
              "fp16-least-memory": "fp16, least device memory"}
    strokes = {"torch-fp32": "wide-2", "torch-fp16": "wide", "fp32": "thin", "fp16": "thin",
               "fp16-optimizer-host": "middle", "fp16-least-memory": "dashed"}
    colors = {name: STROKES[stroke][0] for name, stroke in strokes.items()}
    picture = Picture("OPT-125M by four strategies of Elixir, and by PyTorch", 640)
    unit, name_of_unit = 1e9, "GB"
    if max(run["peak_device_bytes"] or 0 for run in runs.values()) < 1e8:
        unit, name_of_unit = 1e6, "MB"
    for left, width, heading, value in (
        (200, 270, "batches/s (more is better)",
         lambda run: (run["batches_per_s"], f"{run['batches_per_s']:.1f}")),
        (600, 290, f"device memory at its peak, {name_of_unit} (less is better)",
         lambda run: ((run["peak_device_bytes"] or 0) / unit,
                      "not counted on the CPU" if run["peak_device_bytes"] is None
                      else f"{run['peak_device_bytes'] / unit:.3g}"))):
        picture.text(left, 56, heading, "title")
        highest = max(value(run)[0] for run in runs.values()) or 1
        for row, (name, run) in enumerate(runs.items()):
            y = 68 + 24 * row
            if left == 200:
                picture.text(190, y + 13, labels[name], anchor="end")
            length, words = value(run)
            picture.bar(left, y, length / highest * width, 18, colors[name],
                        f"{labels[name]}: {words}")
            picture.text(left + length / highest * width + 6, y + 13, words, "value")
    steps = max(len(run["loss"]) for run in runs.values())
    for left, suffixes, heading in ((62, ("fp32",), "fp32: loss of a step (nats/byte)"),
                                    (552, ("fp16", "host", "memory"),
                                     "fp16: loss of a step (nats/byte)")):
        shown = {name: run for name, run in runs.items() if name.endswith(suffixes)}
        if not shown:
            continue
        plot = Plot(picture, (left, 260, 430, 270), (0, steps),
                    range_of(*(run["loss"] for run in shown.values())), heading, "step")
        order = ["torch-fp32", "torch-fp16", "fp32", "fp16", "fp16-optimizer-host",
                 "fp16-least-memory"]
        for name in order:
            if name in shown:
                plot.curve(shown[name]["loss"], strokes[name], labels[name])
        worst = [run["largest_difference"]["relative"] for run in shown.values()
                 if run.get("largest_difference")]
        if worst:
            picture.text(left + 420, 278, f"largest difference {100 * max(worst):.2g} %", "value",
                         "end")
    picture.legend(62, 590, [("wide-2", "PyTorch, fp32"), ("wide", "PyTorch, fp16"),
                             ("thin", "Elixir, all on the device")])
    picture.legend(62, 616, [("middle", "Elixir, state on the host"),
                             ("dashed", "Elixir, least device memory")])
    return picture


DRAW = {"opt-350m": draw_opt_350m, "classifier": draw_classifier, "strategies": draw_strategies}


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    document = json.loads(path.read_text(encoding="utf-8"))
    for name, part in document["parts"].items():
        picture = DRAW[name](part)
        if document["device"] == "cpu" and name != "classifier":
            picture.title = picture.title.replace("OPT-350M", "A tiny OPT").replace(
                "OPT-125M", "A tiny OPT") + " (on the CPU)"
            picture.body[0] = ""
            picture.text(14, 22, picture.title, "title")
        path.with_name(f"{name}.svg").write_text(picture.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
