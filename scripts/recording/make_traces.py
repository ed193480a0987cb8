#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Turns the runs that measure.py recorded into allocator traces (docs/formats/allocator-trace.md)
with a mark at the end of each step, for the simulator's tests.

Usage: make_traces.py OUT_DIR MEASURED.jsonl.xz… [--only GLOB]
Writes OUT_DIR/MODEL[-CONFIGURATION].trace.xz
"""
import argparse
import fnmatch
import json
import lzma
import pathlib
import re
import sys

import snapshot_to_trace

ACTIONS = {"a": "alloc", "f": "free_requested", "c": "free_completed", "s": "segment_alloc",
           "x": "segment_free", "m": "segment_map", "u": "segment_unmap", "o": "oom"}


def step_marks(run):
    """Positions in the trace where steps ended: there the requests in use are those noted, and the
    frees of loss and gradients follow."""
    trace, marks = run["trace"], []
    live, levels, in_use = {}, [], 0
    for action, address, size, _ in trace:
        if action == "a":
            live[address] = size
            in_use += size
        elif action == "f":
            in_use -= live.pop(address)
        levels.append(in_use)
    position = 0
    for number, step in enumerate(run["steps"], 1):
        wanted = step["end"]["requested_current_bytes"]
        found = [i for i in range(position, len(trace))
                 if levels[i] == wanted and trace[i][0] in "ac" and frees_follow(trace, i)]
        if not found:
            raise ValueError(f"{run['file']}: the end of step {number} is not in the trace")
        marks.append(found[0])
        position = next((i for i in range(found[0] + 1, len(trace)) if trace[i][0] == "a"),
                        len(trace))
    return marks


def frees_follow(trace, position, count=3):
    """Whether at least the loss and two gradients go now (each with a free requested and one
    completed)."""
    following = [event[0] for event in trace[position + 1:position + 1 + 2 * count]]
    return len(following) == 2 * count and all(action in "fc" for action in following)


def snapshot_of(run):
    marks = set(step_marks(run))
    entries = []
    for i, (action, address, size, stream) in enumerate(run["trace"]):
        entries.append({"action": ACTIONS[action], "addr": address, "size": size, "stream": stream})
        if i in marks:
            entries.append({"action": "snapshot", "addr": 0, "size": 0})
    segments = [{"address": address, "total_size": size, "segment_type": kind, "stream": stream,
                 "is_expandable": expandable,
                 "blocks": [{"size": s, "state": state, "requested_size": requested}
                            for s, state, requested in blocks]}
                for address, size, kind, stream, expandable, blocks in run["segments"]]
    return {"device_traces": [entries], "segments": segments}


def measured_marks(run):
    """Peaks are since the mark before; measure.py resets them a little later, when the gradients
    are gone."""
    marks, before = [], {"allocated": 0, "reserved": 0}
    for step in run["steps"]:
        end = step["end"]
        marks.append({"allocated": end["allocated_current_bytes"],
                      "reserved": end["reserved_current_bytes"],
                      "allocated_peak": max(before["allocated"], end["allocated_peak_bytes"]),
                      "reserved_peak": max(before["reserved"], end["reserved_peak_bytes"])})
        before = marks[-1]
    return marks


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", type=pathlib.Path)
    parser.add_argument("measured", type=pathlib.Path, nargs="+")
    parser.add_argument("--only", default="*", help="pattern of model files")
    arguments = parser.parse_args()
    arguments.out_dir.mkdir(parents=True, exist_ok=True)
    for file in arguments.measured:
        with lzma.open(file, "rt") as lines:
            for line in lines:
                run = json.loads(line)
                if not fnmatch.fnmatch(run["file"], arguments.only) or not run.get("trace"):
                    continue
                document = {"snapshot": snapshot_of(run), "device_bytes": run["device_bytes"],
                            "config": run["allocator"], "marks": measured_marks(run)}
                text = snapshot_to_trace.convert(document)
                name = run["file"].removesuffix(".pt")
                if run["allocator"]:
                    name += "-" + re.sub("[^a-z0-9]+", "-", run["allocator"].lower()).strip("-")
                with lzma.open(arguments.out_dir / f"{name}.trace.xz", "wt", preset=9) as out:
                    out.write(text)
                print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
