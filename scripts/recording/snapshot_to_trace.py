#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Turns a PyTorch memory snapshot into an allocator trace (docs/formats/allocator-trace.md).

The snapshot is the pickle of `torch.cuda.memory._snapshot()`, recorded from the first allocation on
with `torch.cuda.memory._record_memory_history(max_entries=..., context=None)`; or of a dictionary
around it:

    {"snapshot": ..., "device_bytes": ..., "capacity_bytes": ..., "allowed_bytes": ...,
     "config": "...",
     "marks": [{"allocated_peak": ..., "reserved_peak": ..., "allocated": ..., "reserved": ...},
               {"empty_cache": True}, ...]}

The n-th mark belongs to the n-th snapshot taken while recording (each leaves an entry in the
history); one more belongs to the end. Peaks are since the mark before, an `empty_cache` mark stands
before the call. Needs nothing but Python's library.

Usage: snapshot_to_trace.py SNAPSHOT.pickle OUTPUT.trace[.xz] [--device-bytes N] [--allowed-bytes N]
                            [--config TEXT] [--addresses]
"""
import argparse
import lzma
import pathlib
import pickle
import sys

DEVICE_ACTIONS = {"segment_alloc": "s+", "segment_free": "s-", "segment_map": "m+",
                  "segment_unmap": "m-"}


class BadSnapshot(Exception):
    pass


class Converter:
    def __init__(self, snapshot, marks, addresses=False):
        traces = [trace for trace in snapshot["device_traces"] if trace]
        if len(traces) != 1:
            raise BadSnapshot(f"the history of one device is needed, not of {len(traces)}")
        self.entries = traces[0]
        self.segments = [s for s in snapshot["segments"]
                         if s.get("device", 0) == self.entries[0].get("device", 0)]
        self.marks = marks
        self.with_addresses = addresses
        handles = {entry["stream"] for entry in self.entries if "stream" in entry
                   and entry["action"] != "snapshot"}
        handles |= {segment["stream"] for segment in self.segments} | {0}
        # LibTorch orders streams by the value of their handles.
        self.streams = {handle: number for number, handle in enumerate(sorted(handles))}
        placed = [e["addr"] for e in self.entries if e["action"] in DEVICE_ACTIONS]
        self.base = min(placed + [segment["address"] for segment in self.segments], default=0)
        self.notes = []
        self.lines = []
        self.live = {}  # address: (number, recorded size)
        self.pending = {}
        self.count = 0
        self.snapshots = 0

    def stream(self, entry):
        return self.streams[entry["stream"]]

    def address(self, value):
        return f"@{value - self.base:x}"

    def mark(self):
        """Writes the mark of the snapshot that comes now."""
        if self.snapshots < len(self.marks):
            mark = self.marks[self.snapshots]
            if mark.get("empty_cache"):
                self.lines.append("e")
            else:
                values = [mark[key]
                          for key in ("allocated_peak", "reserved_peak", "allocated", "reserved")]
                self.lines.append("p " + " ".join(map(str, values)))
        self.snapshots += 1

    def convert(self):
        """The lines of the events and of the final segments."""
        for position, entry in enumerate(self.entries):
            if tuple(entry.get("segment_pool_id", (0, 0))) != (0, 0):
                raise BadSnapshot(f"entry {position} is of a private memory pool")
            self.convert_entry(position, entry)
        if self.snapshots + 1 < len(self.marks):
            raise BadSnapshot(
                f"{len(self.marks)} marks, but only {self.snapshots} snapshots were taken while "
                f"recording")
        self.mark()
        segments = self.final_segments()
        return self.notes + self.lines + segments

    def convert_entry(self, position, entry):
        action = entry["action"]
        if action == "alloc":
            line = f"a {entry['size']}"
            if self.stream(entry) != 0:
                line += f" {self.stream(entry)}"
            if self.with_addresses:
                line += " " + self.address(entry["addr"])
            self.lines.append(line)
            self.live[entry["addr"]] = (self.count, entry["size"])
            self.count += 1
        elif action == "free_requested":
            if entry["addr"] not in self.live:
                raise BadSnapshot(
                    f"entry {position} frees what was allocated before the history begins: record "
                    f"from the first "
                    "allocation on, with enough max_entries")
            number, _ = self.live.pop(entry["addr"])
            # A free completes at once unless another stream uses the block.
            following = self.entries[position + 1] if position + 1 < len(self.entries) else {}
            at_once = (following.get("action") == "free_completed"
                       and following["addr"] == entry["addr"])
            self.pending[entry["addr"]] = None if at_once else number
            self.lines.append(f"{'f' if at_once else 'q'} {self.count - number}")
        elif action == "free_completed":
            if entry["addr"] not in self.pending:
                raise BadSnapshot(f"entry {position} completes a free that was not requested")
            number = self.pending.pop(entry["addr"])
            if number is not None:
                self.lines.append(f"c {self.count - number}")
        elif action in DEVICE_ACTIONS:
            self.lines.append(
                f"{DEVICE_ACTIONS[action]} {entry['size']} {self.stream(entry)} "
                f"{self.address(entry['addr'])}")
        elif action == "oom":
            self.lines.append(f"oom {entry['size']} {self.stream(entry)}")
        elif action == "snapshot":
            self.mark()
        else:
            raise BadSnapshot(f"entry {position} has the unknown action `{action}`")

    def final_segments(self):
        lines = []
        rounded = requested = 0
        for segment in sorted(self.segments, key=lambda s: s["address"]):
            if tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0):
                raise BadSnapshot("a segment is of a private memory pool")
            pool = segment["segment_type"] + ("+" if segment.get("is_expandable") else "")
            blocks = []
            address = segment["address"]
            for block in segment["blocks"]:
                state = {"active_allocated": "a", "inactive": "f", "active_pending_free": "q",
                         "active_awaiting_free": "q"}
                blocks.append(f"{block['size']}{state[block['state']]}")
                if block["state"] == "active_allocated":
                    if address not in self.live:
                        raise BadSnapshot(
                            "a block is in use that the history does not know: record from the "
                            "first allocation on")
                    recorded = self.live[address][1]
                    rounded += recorded == block["size"]
                    requested += recorded == block["requested_size"]
                address += block["size"]
            lines.append(
                f"g {self.address(segment['address'])} {self.streams[segment['stream']]} {pool} "
                + " ".join(blocks))
        # Old versions record the block's size for a request. Rounding it once more changes nothing.
        if rounded > requested:
            self.notes.append("# sizes are those of blocks, not of requests")
        return lines


def convert(document, device_bytes=None, allowed_bytes=None, config=None, addresses=False):
    """The text of the trace. `document` is a snapshot or a dictionary around one; arguments win
    over what it says."""
    if "snapshot" not in document:
        document = {"snapshot": document}
    snapshot = document["snapshot"]
    device_bytes = device_bytes or document.get("device_bytes")
    if not device_bytes:
        raise BadSnapshot("the device's memory is unknown: give --device-bytes")
    if allowed_bytes is None:
        allowed_bytes = document.get("allowed_bytes")
    if config is None:
        settings = snapshot.get("allocator_settings", {})
        config = document.get("config")
        if config is None:
            config = settings.get("PYTORCH_CUDA_ALLOC_CONF",
                                  settings.get("last_allocator_settings", "")) or ""
    header = [
        "elixir-allocator-trace 1",
        f"config {config}".rstrip(),
        f"device {device_bytes}",
        f"capacity {document.get('capacity_bytes') or device_bytes}",
        f"allowed {'none' if allowed_bytes is None else allowed_bytes}",
    ]
    converter = Converter(snapshot, document.get("marks", []), addresses)
    final = converter.convert()
    return "\n".join(header + final) + "\n"


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("snapshot", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--device-bytes", type=int)
    parser.add_argument("--allowed-bytes", type=int)
    parser.add_argument("--config")
    parser.add_argument("--addresses", action="store_true",
                        help="also the address of every allocation")
    options = parser.parse_args(arguments)
    try:
        with options.snapshot.open("rb") as file:
            text = convert(
                pickle.load(file), options.device_bytes, options.allowed_bytes, options.config,
                options.addresses)
    except BadSnapshot as error:
        sys.exit(f"{options.snapshot}: {error}")
    data = text.encode("utf-8")
    options.output.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
                               if options.output.suffix == ".xz" else data)


if __name__ == "__main__":
    main(sys.argv[1:])
