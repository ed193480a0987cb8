# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-bench, the real binary, on the CPU device."""
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import CommonBehaviour, ToolTest, schema  # noqa: E402

DEVICE = ("--device", "cpu")
IMPOSSIBLE_ON_THE_CPU = {
    "adam-gpu",
    "both-at-once",
    "collectives",
    "pageable-host-to-device",
    "peer-to-peer",
    "pinned-allocation",
    "sustained",
}


class Bench(CommonBehaviour, ToolTest):
    tool = "ELIXIR_BENCH"

    def bench(self, *arguments):
        """Runs quickly into hardware.json, or where -o says, and returns the document that was
        printed."""
        return self.envelope(*DEVICE, "--quick", *arguments)["document"]

    def test_list_says_what_and_how_and_what_is_impossible_here(self):
        text = self.succeeds("--list", *DEVICE).out
        self.assertIn("adam-cpu\n", text)
        self.assertIn("waived here, because", text)
        listed = self.envelope("--list", *DEVICE)["document"]["measurements"]
        names = [m["name"] for m in listed]
        self.assertEqual(names, sorted(set(names)))
        for measurement in listed:
            self.assertTrue(measurement["meaning"] and measurement["method"])
        self.assertIsNotNone({m["name"]: m["waived"] for m in listed}["adam-gpu"])
        self.assertIn("--disk DIR", {m["name"]: m["waived"] for m in listed}["disk"])
        self.assertEqual(self.files(), [])

    def test_list_adds_up_what_is_possible(self):
        listing = self.envelope("--list", *DEVICE)["document"]
        possible = [m for m in listing["measurements"] if m["waived"] is None]
        for effort in ("full_s", "quick_s"):
            self.assertAlmostEqual(listing[effort], sum(m[effort] for m in possible), places=6)
        self.assertLess(listing["full_s"], 180)
        self.assertLess(listing["quick_s"], 30)
        everything = listing["measurements"]
        self.assertLess(sum(m["full_s"] for m in everything), 180)
        self.assertLess(sum(m["quick_s"] for m in everything), 30)

    def test_every_listed_measurement_is_explained(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/metrics.md").read_text(encoding="utf-8")
        listed = self.envelope("--list", *DEVICE)["document"]["measurements"]
        for measurement in listed:
            self.assertIn(f"\n## {measurement['name']}\n", page)

    def test_quick_run_writes_a_valid_document(self):
        result = self.succeeds(*DEVICE, "--quick")
        self.assertIn("adam-cpu bf16", result.out)
        text = (self.directory / "hardware.json").read_text(encoding="utf-8")
        document = json.loads(text)
        schema("hardware").validate(document)
        self.assertEqual(document["device_kind"], "cpu")
        self.assertGreater(document["links"]["host_to_device"][0]["bytes_per_s"]["median"], 1e8)
        self.assertGreater(document["compute"][0]["matmul_flop_per_s"]["median"], 1e8)
        self.assertGreaterEqual(document["adam"]["cpu"][0]["params_per_s"]["samples"], 5)
        waived = {w["measurement"] for w in document["waived"]}
        self.assertEqual(waived - {"contention"}, IMPOSSIBLE_ON_THE_CPU | {"disk"})
        self.assertIn("host-streams adam", result.out)
        self.assertIsNotNone(document["machine"]["topology"])
        streams = document["host_memory"]["streams"]
        self.assertEqual({s["kernel"] for s in streams}, {"copy", "triad", "adam"})
        self.assertEqual(document["meta"]["tool"], "elixir-bench")
        curve = document["links"]["curves"][0]
        sizes = [point["bytes"] for point in curve["points"]]
        self.assertEqual(sizes[:3], [4096, 16384, 65536])
        if curve["bytes_per_s"] is None:  # caches bend the line more than a line may be off
            self.assertIsNone(curve["worst_relative_error"])
        else:
            self.assertGreater(curve["bytes_per_s"], 1e8)
            self.assertLessEqual(curve["worst_relative_error"], 0.6)

    def test_only_measures_what_is_named(self):
        document = self.bench("--only", "launch,host-copy", "-o", "part.json")
        schema("hardware").validate(document)
        self.assertIsNotNone(document["launch_ns"])
        self.assertEqual(document["adam"]["cpu"], [])
        reasons = {w["measurement"]: w["reason"] for w in document["waived"]}
        self.assertEqual(reasons["matmul"], "not asked for")
        self.assertEqual(json.loads((self.directory / "part.json").read_text(encoding="utf-8")),
                         document)

    def test_into_adds_to_an_existing_document_in_place(self):
        self.bench("--only", "launch", "--name", "mine")
        joined = self.bench("--only", "host-copy", "--into", "hardware.json")
        self.assertEqual(joined["name"], "mine")
        self.assertIsNotNone(joined["launch_ns"])
        self.assertIsNotNone(joined["host_memory"]["copy_bytes_per_s"])
        stored = json.loads((self.directory / "hardware.json").read_text(encoding="utf-8"))
        self.assertEqual(stored, joined)

    def test_no_other_output_is_an_input(self):
        (self.directory / "hardware.json").write_text("precious", encoding="utf-8")
        for arguments in (["--operators", "hardware.json"],
                          ["--into", "hardware.json", "--samples", "hardware.json"],
                          ["--operators", "hardware.json", "-o", "x", "--samples",
                           "./hardware.json"]):
            self.fails(2, "EX0104", *DEVICE, "--force", *arguments, mentions="would replace")
        self.assertEqual((self.directory / "hardware.json").read_text(encoding="utf-8"), "precious")

    def test_into_refuses_another_machine(self):
        self.bench("--only", "launch")
        path = self.directory / "hardware.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["machine"]["cpu"] = "Another CPU"
        path.write_text(json.dumps(document), encoding="utf-8")
        self.fails(3, "EX0603", *DEVICE, "--only", "launch", "--into", "hardware.json",
                   mentions="Another CPU")

    def test_a_typo_gets_a_suggestion(self):
        self.fails(2, "EX0102", "--only", "adam-cpv", mentions="did you mean `adam-cpu`?")

    def test_an_existing_file_is_refused_without_force(self):
        (self.directory / "hardware.json").write_text("precious", encoding="utf-8")
        self.fails(2, "EX0203", *DEVICE, "--quick", "--only", "launch")
        self.assertEqual((self.directory / "hardware.json").read_text(encoding="utf-8"), "precious")
        self.succeeds(*DEVICE, "--quick", "--only", "launch", "--force")

    def test_an_unwritable_place_fails_before_anything_is_measured(self):
        self.fails(2, "EX0204", *DEVICE, "--quick", "-o", "missing/hardware.json")

    def test_damaged_documents_are_refused_with_their_place(self):
        (self.directory / "broken.json").write_text('{"schema": "elixir.hardware",',
                                                    encoding="utf-8")
        self.fails(2, "EX0205", *DEVICE, "--into", "broken.json", "--only", "launch",
                   mentions="broken.json")
        (self.directory / "plan.json").write_text(
            '{"schema": "elixir.plan", "schema_version": "1.0"}', encoding="utf-8")
        self.fails(2, "EX0210", *DEVICE, "--into", "plan.json", "--only", "launch")
        self.fails(2, "EX0201", *DEVICE, "--into", "missing.json", "--only", "launch")
        self.fails(2, "EX0201", *DEVICE, "--only", "launch", "--operators", "missing.profile.json")

    def test_samples_are_written_as_json_lines(self):
        document = self.bench("--only", "host-copy", "--samples", "raw.jsonl")
        lines = (self.directory / "raw.jsonl").read_text(encoding="utf-8").splitlines()
        series = [json.loads(line) for line in lines]
        self.assertEqual([s["measurement"] for s in series], ["host-copy"])
        figure = document["host_memory"]["copy_bytes_per_s"]
        self.assertEqual(len(series[0]["values"]), figure["samples"])
        self.assertEqual(statistics.median(series[0]["values"]), figure["median"])
        self.fails(2, "EX0203", *DEVICE, "--quick", "--only", "launch", "-o", "b.json", "--samples",
                   "raw.jsonl")
        self.assertNotIn("b.json", self.files())

    def test_the_disk_of_a_directory_is_measured_and_nothing_stays_there(self):
        (self.directory / "place").mkdir()
        document = self.bench("--only", "disk", "--disk", "place")
        schema("hardware").validate(document)
        reasons = {w["measurement"]: w["reason"] for w in document["waived"]}
        if document["disk"] is None:
            self.assertRegex(reasons["disk"], "direct transfers|free")
        else:
            self.assertGreater(document["disk"]["read_bytes_per_s"]["median"], 1e6)
            self.assertGreater(document["disk"]["write_bytes_per_s"]["samples"], 2)
            self.assertEqual(document["disk"]["engine"] == "threads", "disk by io_uring" in reasons)
        self.assertEqual(list((self.directory / "place").iterdir()), [])

    def test_a_directory_that_cannot_be_written_is_refused_first(self):
        self.fails(2, "EX0204", *DEVICE, "--only", "disk", "--disk", "missing", mentions="missing")
        (self.directory / "file").write_text("no directory", encoding="utf-8")
        self.fails(2, "EX0204", *DEVICE, "--only", "disk", "--disk", "file", mentions="--disk DIR")
        if os.geteuid() != 0:
            (self.directory / "closed").mkdir(mode=0o500)
            self.fails(2, "EX0204", *DEVICE, "--only", "disk", "--disk", "closed",
                       mentions="closed")
        self.assertNotIn("hardware.json", self.files())

    def test_ctrl_c_keeps_what_is_finished(self):
        (self.directory / "place").mkdir()
        process = self.start(
            *DEVICE, "--only", "launch,host-streams,disk,device-copy", "--disk", "place",
            "--samples", "raw.jsonl"
        )
        # Memory and disk come first, and take as long as they do. What follows takes seconds. A
        # disk that others use may be too unsteady to be measured.
        for line in process.stderr:
            if b"host-streams" in line:
                break
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            if b"interrupted" in line:
                break
        self.assertIn(b"once more ends at once", line)
        process.send_signal(signal.SIGSTOP)  # a sample that takes longer than other tools wait
        time.sleep(2)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        document = json.loads((self.directory / "hardware.json").read_text(encoding="utf-8"))
        schema("hardware").validate(document)
        self.assertIn("interrupted", {w["reason"] for w in document["waived"]})
        self.assertNotIn("device-copy", {w["measurement"] for w in document["waived"]})
        self.assertEqual(list((self.directory / "place").iterdir()), [])
        self.assertTrue((self.directory / "raw.jsonl").exists())
        self.assert_no_leftovers()

    def test_a_profile_of_another_target_is_refused_before_anything_is_measured(self):
        subprocess.run([os.environ["WRITE_PROFILES"], self.directory / "for-a-gpu"], check=True)
        shutil.copy(self.directory / "for-a-gpu/gpt.profile.json", self.directory)
        shutil.rmtree(self.directory / "for-a-gpu")
        arguments = (*DEVICE, "--operators", "gpt.profile.json", "--samples", "raw.jsonl")
        self.fails(2, "EX0403", *arguments, mentions="--target cpu")
        self.assertEqual(self.files(), ["gpt.profile.json"])

    def test_a_profile_that_calls_what_no_model_may_is_refused_before_anything_is_measured(self):
        subprocess.run([os.environ["WRITE_PROFILES"], self.directory / "made"], check=True)
        shutil.copy(self.directory / "made/calling.profile.json", self.directory)
        shutil.rmtree(self.directory / "made")
        (self.directory / "victim").write_text("precious", encoding="utf-8")
        error = self.fails(2, "EX0311", *DEVICE, "--only", "launch", "--operators",
                           "calling.profile.json", mentions="aten::from_file")
        self.assertRegex(str(error), r"calling\.profile\.json.*/operators/\d+/name")
        self.assertEqual(self.files(), ["calling.profile.json", "victim"])
        self.assertEqual((self.directory / "victim").read_text(encoding="utf-8"), "precious")

    def test_list_measures_nothing_and_says_so(self):
        self.fails(2, "EX0104", "--list", "--only", "launch")


if __name__ == "__main__":
    unittest.main(verbosity=2)
