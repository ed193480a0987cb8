# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Memory snapshots as their readers see them: Python's pickle, and torch.cuda._memory_viz where
torch is installed."""
import math
import os
import pathlib
import pickle
import pickletools
import shutil
import subprocess
import tempfile
import unittest

try:
    from torch.cuda import _memory_viz
except ImportError:
    _memory_viz = None

# What the viewer's own reader knows (torch/utils/viz/MemoryViz.js, unpickle).
VIEWER_OPCODES = {
    "PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "APPENDS", "SETITEMS", "BINUNICODE", "BININT",
    "BININT1", "BININT2", "LONG1", "BINFLOAT", "NONE", "NEWTRUE", "NEWFALSE", "BINPUT",
    "LONG_BINPUT", "BINGET", "LONG_BINGET", "STOP",
}


class SnapshotTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-snapshot-"))
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        subprocess.run([os.environ["WRITE_REPORTS"], str(cls.directory)], check=True, timeout=120)

    def load(self, name):
        with open(self.directory / f"{name}.pickle", "rb") as file:
            return pickle.load(file)


class Pickles(SnapshotTest):
    def test_python_reads_what_was_written(self):
        with open(self.directory / "values.pickle", "rb") as file:
            values = pickle.load(file)
        integers = [sign * (1 << bits) + more for bits in range(63) for more in (-1, 0, 1)
                    for sign in (1, -1)]
        self.assertEqual(values["integers"], integers + [2**63 - 1, -(2**63)])
        self.assertEqual(values["scalars"],
                         [None, True, False, 0.1, -0.0, math.inf, "", "µ😀\n\0", "\ufffd("])
        self.assertEqual(math.copysign(1, values["scalars"][4]), -1)
        self.assertEqual(values["nested"], [[], {}, [[1]], {"a": {"b": []}}])
        self.assertEqual(values["many"], list(range(2500)))
        self.assertEqual(values["dictionary"], {f"key {i}": i for i in range(2500)})
        self.assertEqual(values["again"], [["shared"]] * 3)
        self.assertIs(values["again"][0], values["again"][2])

    def test_only_opcodes_that_the_viewer_knows_in_small_batches(self):
        for path in (self.directory / name
                     for name in ("cuda.pickle", "hostile.pickle", "values.pickle")):
            marks = 0
            longest = 0
            for opcode, _, _ in pickletools.genops(path.read_bytes()):
                self.assertIn(opcode.name, VIEWER_OPCODES)
                marks = 0 if opcode.name == "MARK" else marks + 1
                longest = max(longest, marks)
            self.assertLess(longest, 10_000, path.name)

    def test_python_finds_nothing_to_complain_about(self):
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            pickletools.dis((self.directory / "hostile.pickle").read_bytes(), out=nowhere)


class Snapshots(SnapshotTest):
    names = ("small", "cuda", "huge", "hostile", "empty")

    def test_blocks_tile_their_segments(self):
        for name in self.names:
            for segment in self.load(name)["segments"]:
                address = segment["address"]
                for block in segment["blocks"]:
                    self.assertEqual(block["address"], address)
                    self.assertGreater(block["size"], 0)
                    self.assertIn(block["state"], ("active_allocated", "inactive"))
                    self.assertLessEqual(block["requested_size"], block["size"])
                    address += block["size"]
                self.assertEqual(address, segment["address"] + segment["total_size"])
                active = [b for b in segment["blocks"] if b["state"] == "active_allocated"]
                self.assertEqual(segment["allocated_size"], sum(b["size"] for b in active))
                self.assertEqual(segment["requested_size"],
                                 sum(b["requested_size"] for b in active))

    def test_the_trace_leads_to_the_segments(self):
        for name in self.names:
            snapshot = self.load(name)
            live = {}
            segments = {}
            for time, event in enumerate(snapshot["device_traces"][0]):
                self.assertEqual(event["time_us"], time)
                address = event["addr"]
                if event["action"] == "segment_alloc":
                    segments[address] = event["size"]
                elif event["action"] == "alloc":
                    self.assertNotIn(address, live)
                    self.assertTrue(any(s <= address < s + size for s, size in segments.items()))
                    live[address] = event
                elif event["action"] == "free_completed":
                    self.assertEqual(live.pop(address)["size"], event["size"])
                else:
                    self.assertIn(event["action"], ("free_requested", "snapshot"))
            blocks = {
                block["address"]: block
                for segment in snapshot["segments"]
                for block in segment["blocks"]
                if block["state"] == "active_allocated"
            }
            self.assertEqual(blocks.keys(), live.keys())
            for address, block in blocks.items():
                self.assertEqual(block["requested_size"], live[address]["size"])
                self.assertEqual(block["frames"], live[address]["frames"])

    def test_the_peak_is_the_screen_s(self):
        live = peak = 0
        for event in self.load("small")["device_traces"][0]:
            rounded = -(-event["size"] // 512) * 512
            live += {"alloc": rounded, "free_completed": -rounded}.get(event["action"], 0)
            peak = max(peak, live)
        screen = (self.directory / "small.txt").read_text(encoding="utf-8")
        self.assertRegex(screen, rf"allocated +{peak / 2**20:,.1f} ")

    def test_workspaces_are_a_category_of_their_own(self):
        events = [e for e in self.load("cuda")["device_traces"][0] if e["action"] == "alloc"]
        kept = [e for e in events if e["category"] == "workspace" and e["size"] == 32 * 2**20]
        self.assertEqual(len(kept), 2)  # cuBLAS's, for forward's thread and for autograd's
        self.assertEqual([e["frames"][0]["name"] for e in kept], ["aten::addmm", "aten::mm"])
        self.assertNotIn("workspace",
                         {e.get("category") for e in self.load("small")["device_traces"][0]})

    def test_reserved_memory_is_the_screen_s(self):
        segments = self.load("cuda")["segments"]
        self.assertGreater(len(segments), 20)
        self.assertEqual({s["segment_type"] for s in segments}, {"small", "large"})
        reserved = sum(s["total_size"] for s in segments)
        screen = (self.directory / "cuda.txt").read_text(encoding="utf-8")
        self.assertRegex(screen, rf"reserved +{reserved / 2**20:,.1f} ")

    def test_frames_name_module_operator_and_tensor(self):
        events = self.load("small")["device_traces"][0]
        allocations = [e for e in events if e["action"] == "alloc"]
        made = [e for e in allocations if e["frames"][0]["filename"] == "h.3.mlp"]
        self.assertIn("aten::gelu", {e["frames"][0]["name"] for e in made})
        self.assertIn("bfloat16[2048,3072]", {e["frames"][1]["filename"] for e in made})
        categories = {e["category"] for e in allocations}
        self.assertEqual(categories, {"parameter", "optimizer state", "gradient", "activation",
                                      "temporary", "input"})
        table = next(e for e in allocations if e["frames"][0]["filename"] == "wte.weight")
        self.assertEqual((table["category"], table["frames"][1]["filename"]),
                         ("parameter", "bfloat16[50257,768]"))
        moment = next(e for e in allocations if e["frames"][0]["name"] == "exp_avg_sq")
        self.assertEqual((moment["frames"][0]["filename"], moment["category"]),
                         ("wte.weight", "optimizer state"))
        # The viewer fails on traces with categories but without this one.
        self.assertEqual([e["category"] for e in events if e["action"] == "snapshot"], ["unknown"])

    def test_a_huge_program_s_is_not_huge(self):
        self.assertLess((self.directory / "huge.pickle").stat().st_size, 8 * 1024 * 1024)


@unittest.skipUnless(_memory_viz, "torch is not installed")
class InPyTorch(SnapshotTest):
    def test_segments_add_up(self):
        for name in ("small", "cuda", "huge", "hostile"):
            text = _memory_viz.segsum(self.load(name))
            self.assertIn(f"segments: {len(self.load(name)['segments'])}", text)

    def test_trace_is_read(self):
        snapshot = self.load("small")
        text = _memory_viz.trace(snapshot)
        self.assertIn(f"{len(snapshot['device_traces'][0])} entries", text)
        allocations = sum(e["action"] == "alloc" for e in snapshot["device_traces"][0])
        self.assertEqual(text.count(" = seg_0[") + text.count(" = a[") + text.count(" = MEM["),
                         allocations)

    def test_plots_contain_it(self):
        for name in ("small", "cuda", "empty"):
            for plot in (_memory_viz.trace_plot, _memory_viz.segment_plot):
                self.assertIn("snapshot.pickle", plot(self.load(name)))
            self.assertIn("snapshot.pickle",
                          _memory_viz.trace_plot(self.load(name), filter_freed=True))

    def test_flame_graph_has_what_is_left_after_the_step(self):
        lines = _memory_viz.memory(self.load("small"),
                                   format_flamegraph=lambda text: text).splitlines()
        bytes_of = {}
        for line in lines:
            stack, size = line.rsplit(" ", 1)
            if stack.startswith("stream_0;active_allocated;"):
                bytes_of[stack.split(":")[-1]] = bytes_of.get(stack.split(":")[-1], 0) + int(size)
        parameters = 2 * 123_653_376
        self.assertEqual(bytes_of["parameter"], parameters)
        moments = {part: bytes_of[part] for part in ("master", "exp_avg", "exp_avg_sq")}
        self.assertEqual(moments, {part: 2 * parameters for part in moments})
        self.assertNotIn("gradient", "".join(lines))


if __name__ == "__main__":
    unittest.main()
