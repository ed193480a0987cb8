# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""The 56 runs that were measured on an H200 (measured-h200.json), predicted from models that are
exported anew: exporter, capture and rules together. (tests/memory/recorded holds programs that were
captured once.) cuDNN is not asked, because the shipped table has these convolutions, and the
prediction may not depend on this machine."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUNS = json.loads((HERE / "measured-h200.json").read_text(encoding="utf-8"))
MISSING = [name for name in ("torch", "transformers", "torchvision")
           if not importlib.util.find_spec(name)]


@unittest.skipIf(MISSING, f"these are missing: {MISSING}")
class Exported(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        done = subprocess.run([sys.executable, HERE / "export_models.py", cls.directory],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"the models cannot be exported:\n{done.stdout}{done.stderr}")

    def peaks(self, model):
        """(allocated, reserved) in bytes, as elixir-profile predicts them."""
        profile = (self.directory / model).with_suffix(".profile.json")
        done = subprocess.run(
            [os.environ["ELIXIR_PROFILE"], "-q", "--target", "cuda:sm_90", "--cudnn", "none",
             self.directory / model, "-o", profile, "--force"],
            capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        memory = json.loads(profile.read_text(encoding="utf-8"))["memory"]
        return memory["peak_allocated_bytes"], memory["peak_reserved_bytes"]

    def test_every_model_that_was_measured_is_exported(self):
        exported = {path.name for path in self.directory.glob("*.pt")}
        self.assertEqual(exported, {run["file"] for run in RUNS})
        self.assertEqual(len(RUNS), 56)

    def test_peaks_are_those_measured(self):
        measured = {run["file"]: (run["peak_allocated_bytes"], run["peak_reserved_bytes"])
                    for run in RUNS}
        self.assertEqual({model: self.peaks(model) for model in measured}, measured)
        # And docs/accuracy.md is the page that its command makes of them.
        page = self.directory / "accuracy.md"
        done = subprocess.run([sys.executable, HERE / "make_table.py", HERE / "measured-h200.json",
                               self.directory, "-o", page],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = HERE.parent.parent / "docs/accuracy.md"
        self.assertEqual(page.read_text(encoding="utf-8"), shown.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
