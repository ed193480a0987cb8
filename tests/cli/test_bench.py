# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-bench, the real binary, on the CPU device."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import CommonBehaviour, ToolTest, schema  # noqa: E402

DEVICE = ("--device", "cpu")


class Bench(CommonBehaviour, ToolTest):
    tool = "ELIXIR_BENCH"

    def bench(self, *arguments):
        """Runs quickly into hardware.json, or where -o says, and returns the document that was printed."""
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
        self.assertEqual(self.files(), [])

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
        self.assertEqual(waived, {"adam-gpu", "both-at-once", "pageable-host-to-device"})
        self.assertEqual(document["meta"]["tool"], "elixir-bench")

    def test_only_measures_what_is_named(self):
        document = self.bench("--only", "launch,host-copy", "-o", "part.json")
        schema("hardware").validate(document)
        self.assertIsNotNone(document["launch_ns"])
        self.assertEqual(document["adam"]["cpu"], [])
        reasons = {w["measurement"]: w["reason"] for w in document["waived"]}
        self.assertEqual(reasons["matmul"], "not asked for")
        self.assertEqual(json.loads((self.directory / "part.json").read_text(encoding="utf-8")), document)

    def test_into_adds_to_an_existing_document_in_place(self):
        self.bench("--only", "launch", "--name", "mine")
        joined = self.bench("--only", "host-copy", "--into", "hardware.json")
        self.assertEqual(joined["name"], "mine")
        self.assertIsNotNone(joined["launch_ns"])
        self.assertIsNotNone(joined["host_memory"]["copy_bytes_per_s"])
        stored = json.loads((self.directory / "hardware.json").read_text(encoding="utf-8"))
        self.assertEqual(stored, joined)

    def test_into_refuses_another_machine(self):
        self.bench("--only", "launch")
        path = self.directory / "hardware.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        document["machine"]["cpu"] = "Another CPU"
        path.write_text(json.dumps(document), encoding="utf-8")
        self.fails(3, "EX0603", *DEVICE, "--only", "launch", "--into", "hardware.json", mentions="Another CPU")

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
        (self.directory / "broken.json").write_text('{"schema": "elixir.hardware",', encoding="utf-8")
        self.fails(2, "EX0205", *DEVICE, "--into", "broken.json", "--only", "launch", mentions="broken.json")
        (self.directory / "plan.json").write_text('{"schema": "elixir.plan", "schema_version": "1.0"}', encoding="utf-8")
        self.fails(2, "EX0210", *DEVICE, "--into", "plan.json", "--only", "launch")
        self.fails(2, "EX0201", *DEVICE, "--into", "missing.json", "--only", "launch")
        self.fails(2, "EX0201", *DEVICE, "--only", "launch", "--operators", "missing.profile.json")

    def test_list_measures_nothing_and_says_so(self):
        self.fails(2, "EX0104", "--list", "--only", "launch")


if __name__ == "__main__":
    unittest.main(verbosity=2)
