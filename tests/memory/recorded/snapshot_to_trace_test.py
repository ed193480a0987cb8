# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""snapshot_to_trace.py: a snapshot with everything a history can have, and those that cannot be
converted."""
import copy
import lzma
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/recording"))
import snapshot_to_trace  # noqa: E402
from snapshot_to_trace import BadSnapshot, convert  # noqa: E402

MIB = 1 << 20
BASE = 0x7F0000000000


def entry(action, addr, size, stream=0):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": 0}


SIDE = 0x5500  # the handle of a second stream
HISTORY = [
    entry("segment_alloc", BASE + 64 * MIB, 2 * MIB),
    entry("alloc", BASE + 64 * MIB, 100),
    entry("alloc", BASE + 64 * MIB + 512, 600),
    entry("segment_map", BASE, 20 * MIB, SIDE),
    entry("alloc", BASE, 3000000, SIDE),
    entry("free_requested", BASE + 64 * MIB, 100),
    entry("free_completed", BASE + 64 * MIB, 100),
    {"action": "snapshot", "addr": 0, "size": 0, "stream": 0},
    entry("free_requested", BASE, 3000000, SIDE),
    entry("alloc", BASE + 64 * MIB, 8),
    entry("free_completed", BASE, 3000000, SIDE),
    {"action": "oom", "device_free": 5, "size": 1 << 40, "stream": SIDE},
    {"action": "snapshot", "addr": 0, "size": 0, "stream": 0},
    entry("segment_unmap", BASE, 20 * MIB, SIDE),
]


def block(size, state, requested=0):
    return {"size": size, "requested_size": requested, "state": state}


SNAPSHOT = {
    "segments": [
        {
            "device": 0,
            "address": BASE + 64 * MIB,
            "total_size": 2 * MIB,
            "stream": 0,
            "segment_type": "small",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "blocks": [
                block(512, "active_allocated", 8),
                block(1024, "active_allocated", 600),
                block(2 * MIB - 1536, "inactive"),
            ],
        }
    ],
    "device_traces": [HISTORY, []],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
}
MARKS = [
    {"allocated_peak": 1, "reserved_peak": 2, "allocated": 3, "reserved": 4},
    {"empty_cache": True},
    {"allocated_peak": 5, "reserved_peak": 6, "allocated": 7, "reserved": 8},
]
TRACE = """elixir-allocator-trace 1
config expandable_segments:True
device 8000000000
capacity 7000000000
allowed 6000000000
s+ 2097152 0 @4000000
a 100
a 600
m+ 20971520 1 @0
a 3000000 1
f 3
p 1 2 3 4
q 1
a 8
c 2
oom 1099511627776 1
e
m- 20971520 1 @0
p 5 6 7 8
g @4000000 0 small 512a 1024a 2095616f
"""
DOCUMENT = {
    "snapshot": SNAPSHOT,
    "device_bytes": 8000000000,
    "capacity_bytes": 7000000000,
    "allowed_bytes": 6000000000,
    "marks": MARKS,
}


class Convert(unittest.TestCase):
    def test_everything(self):
        self.assertEqual(convert(DOCUMENT), TRACE)

    def test_plain_snapshot_with_arguments(self):
        lines = convert(SNAPSHOT, device_bytes=99, config="", addresses=True).splitlines()
        self.assertEqual(lines[1:5], ["config", "device 99", "capacity 99", "allowed none"])
        self.assertIn("a 3000000 1 @0", lines)
        self.assertIn("a 600 @4000200", lines)
        self.assertFalse([line for line in lines if line.startswith("p")])

    def test_rounded_sizes_are_noted(self):
        snapshot = copy.deepcopy(SNAPSHOT)
        for change in snapshot["device_traces"][0]:
            if change["action"] == "alloc":
                change["size"] = (change["size"] + 511) // 512 * 512
        lines = convert(snapshot, device_bytes=99).splitlines()
        self.assertIn("# sizes are those of blocks, not of requests", lines)
        self.assertNotIn("# sizes are those of blocks, not of requests", TRACE)

    def refused(self, change, message, **arguments):
        document = copy.deepcopy(DOCUMENT)
        change(document)
        with self.assertRaisesRegex(BadSnapshot, message):
            convert(document, **arguments)

    def test_refuses_what_it_cannot_convert(self):
        history = lambda document: document["snapshot"]["device_traces"][0]
        self.refused(lambda d: history(d).pop(1),
                     "entry 4 frees what was allocated before the history")
        self.refused(lambda d: history(d).pop(5), "completes a free that was not requested")
        self.refused(lambda d: history(d)[0].update(action="segment_moved"),
                     "unknown action `segment_moved`")
        self.refused(lambda d: history(d)[1].update(segment_pool_id=(0, 3)), "private memory pool")
        self.refused(lambda d: d["snapshot"]["segments"][0].update(segment_pool_id=(1, 0)),
                     "private memory pool")
        self.refused(lambda d: d.pop("device_bytes"), "give --device-bytes")
        self.refused(lambda d: d["marks"].append({"empty_cache": True}),
                     "4 marks, but only 2 snapshots")
        self.refused(lambda d: d["snapshot"]["device_traces"].clear(),
                     "one device is needed, not of 0")
        self.refused(lambda d: d["snapshot"]["device_traces"].append(HISTORY), "not of 2")
        self.refused(lambda d: d["snapshot"]["segments"][0]["blocks"][2].update(
            state="active_allocated"), "does not know")

    def test_command(self):
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "snapshot.pickle"
            source.write_bytes(pickle.dumps(DOCUMENT))
            command = [sys.executable, snapshot_to_trace.__file__, str(source)]
            for name, read in (("x.trace", bytes), ("x.trace.xz", lzma.decompress)):
                output = pathlib.Path(directory) / name
                subprocess.run([*command, str(output)], check=True)
                self.assertEqual(read(output.read_bytes()).decode(), TRACE)
            source.write_bytes(pickle.dumps(SNAPSHOT))
            failed = subprocess.run([*command, str(output)], capture_output=True, text=True,
                                    check=False)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("give --device-bytes", failed.stderr)


if __name__ == "__main__":
    unittest.main()
