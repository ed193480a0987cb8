# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/export_hf.py started by a Python without torch goes on under the project's own, or says
what to do."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class WithoutTorch(unittest.TestCase):
    def setUp(self):
        self.tree = pathlib.Path(tempfile.mkdtemp(prefix="elixir-export-"))
        self.addCleanup(shutil.rmtree, self.tree, ignore_errors=True)
        (self.tree / "examples").mkdir()
        self.exporter = shutil.copy2(ROOT / "examples/export_hf.py", self.tree / "examples")

    def export(self, *arguments):
        """As the first line of the script would, with a Python that has no packages (-S)."""
        return subprocess.run([sys.executable, "-S", self.exporter, *arguments], cwd=self.tree,
                              capture_output=True, text=True, timeout=60)

    def test_the_project_s_own_python_takes_over(self):
        own = self.tree / ".venv/bin/python3"
        own.parent.mkdir(parents=True)
        own.write_text("#!/bin/sh\necho \"own: $*\"\n")
        own.chmod(0o755)
        result = self.export("gpt2-tiny", "a.pt", "--meta", "--sequence", "8")
        self.assertEqual((result.returncode, result.stdout),
                         (0, f"own: {self.exporter} gpt2-tiny a.pt --meta --sequence 8\n"))

    def test_without_one_it_says_what_to_do(self):
        result = self.export("gpt2-tiny", "a.pt")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("has no torch", result.stderr)
        self.assertIn("examples/setup.sh", result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_an_own_python_without_torch_is_not_started_again_and_again(self):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.tree / ".venv"],
                       check=True)
        result = self.export("gpt2-tiny", "a.pt")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(".venv/bin/python3 has no torch", result.stderr)

    def test_a_torch_that_cannot_be_loaded_is_said(self):
        for name, text in (("torch", "raise ValueError('libcublas.so.13 not found')"),
                           ("transformers", "")):
            (self.tree / "examples" / f"{name}.py").write_text(text)
        result = self.export("gpt2-tiny", "a.pt")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("libcublas.so.13 not found", result.stderr)

    def test_mistakes_and_help_need_no_torch(self):
        self.assertEqual(self.export("gpt2-tinny", "a.pt").returncode, 2)
        self.assertEqual(self.export("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
