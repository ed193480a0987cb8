# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""examples/github/memory-budget.yml: its steps, run as GitHub runs them, pass, fail, and show
annotations.

The check alone runs on synthetic profiles; the whole workflow (export, profile, check) where
elixir-profile is built and the exporter's packages are there. Set-up is not run: the tools under
test stand in its place."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "examples/github/memory-budget.yml"
PYTHON = os.environ["ELIXIR_TEST_PYTHON"]


def read_steps(text):
    """[(name, commands or None)] of the one job: as much of YAML as the workflow uses."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.strip() == "steps:")
    steps, i = [], begin + 1
    while i < len(lines):
        if re.match(r"^      - ", lines[i]):
            steps.append([None, None])
        if match := re.match(r"^ {6}(?:- | {2})name: (.+)$", lines[i]):
            steps[-1][0] = match[1]
        if match := re.match(r"^ {6}(?:- | {2})run: (.+)$", lines[i]):
            commands = match[1]
            if commands == "|":
                block = []
                while (i + 1 < len(lines)
                       and (lines[i + 1].startswith(" " * 10) or not lines[i + 1].strip())):
                    i += 1
                    block.append(lines[i][10:])
                commands = "\n".join(block).rstrip("\n") + "\n"
            steps[-1][1] = commands
        i += 1
    return [tuple(step) for step in steps]


class WorkflowTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="elixir-workflow-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        (self.directory / "examples").symlink_to(ROOT / "examples")
        self.steps = dict(step for step in read_steps(WORKFLOW.read_text(encoding="utf-8"))
                          if step[1])
        self.environment = {k: v
                            for k, v in os.environ.items()
                            if not k.startswith(("ELIXIR_", "GITHUB_"))}
        self.environment.update(
            ELIXIR_TOOLS=os.environ["ELIXIR_TEST_TOOLS"],
            PYTHON=PYTHON,
            BUDGET="examples/github/budget.json",
            GITHUB_STEP_SUMMARY=str(self.directory / "summary.md"),
        )

    def run_step(self, name, code=0, **environment):
        """As GitHub does without `shell:`: bash -e on a file with the step's commands."""
        script = self.directory / "step.sh"
        script.write_text(self.steps[name], encoding="utf-8")
        result = subprocess.run(
            ["bash", "-e", script], cwd=self.directory, env={**self.environment, **environment},
            capture_output=True, text=True, timeout=300,
        )
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def annotations(self, text):
        return re.findall(r"^::error (\S.*?)::(.*)$", text, re.MULTILINE)

    def junit(self):
        return ElementTree.parse(self.directory / "memory-budget.xml").getroot()


class Shape(WorkflowTest):
    def test_the_steps_are_those_tested_here(self):
        self.assertEqual(
            list(self.steps),
            [
                "Set up Elixir",
                "Export the model",
                "Profile its training step",
                "Check the budget",
                "Make these the profiles to compare with",
            ],
        )
        self.assertEqual(self.steps["Set up Elixir"], "./examples/setup.sh")
        self.assertTrue(os.access(ROOT / "examples/setup.sh", os.X_OK))

    def test_it_is_yaml_that_says_the_same(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML")
        document = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
        job = document["jobs"]["memory-budget"]
        self.assertEqual({s["name"]: s["run"] for s in job["steps"] if "run" in s}, self.steps)
        for name in job["env"]:
            self.assertIn(name, self.environment)


class Check(WorkflowTest):
    """The check on synthetic profiles, in place of what the steps before make."""

    def setUp(self):
        super().setUp()
        self.made = self.directory / "made"
        subprocess.run([os.environ["WRITE_PROFILES"], self.made], check=True)
        (self.directory / "profiles").mkdir()
        self.profile("gpt.profile.json")

    def profile(self, name):
        shutil.copy(self.made / name, self.directory / "profiles/gpt2.profile.json")

    def test_passes(self):
        text = self.run_step("Check the budget")
        self.assertEqual(self.annotations(text), [])
        self.assertIn("within budget", text)
        self.assertEqual(self.junit().get("failures"), "0")
        self.assertIn("within budget", (self.directory / "summary.md").read_text(encoding="utf-8"))

    def test_fails_with_annotations_over_budget(self):
        budget = json.loads((ROOT / "examples/github/budget.json").read_text(encoding="utf-8"))
        budget["models"][0]["limits"]["max_peak_allocated_bytes"] = "1MiB"
        (self.directory / "budget.json").write_text(json.dumps(budget, indent=2), encoding="utf-8")
        text = self.run_step("Check the budget", code=1, BUDGET="budget.json")
        found = self.annotations(text)
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0][0],
                         r"^file=budget.json,line=\d+,title=profiles/gpt2.profile.json%3A peak "
                         r"allocated is over")
        self.assertIn("h.*.mlp (3 alike)", found[0][1])
        self.assertEqual(self.junit().get("failures"), "1")
        self.assertIn("over budget", (self.directory / "summary.md").read_text(encoding="utf-8"))

    def test_fails_when_memory_grew_since_the_main_branch(self):
        self.run_step("Make these the profiles to compare with")
        self.run_step("Check the budget")
        self.profile("grown/gpt.profile.json")
        found = self.annotations(self.run_step("Check the budget", code=1))
        self.assertTrue(found)
        self.assertIn("peak allocated over its baseline", found[0][0])
        self.assertIn("h.3.mlp", found[0][1])
        # Merged: the next pull request starts from here.
        self.run_step("Make these the profiles to compare with")
        self.run_step("Check the budget")

    def test_a_broken_budget_stops_it(self):
        (self.directory / "budget.json").write_text('{"schema": "elixir.budget", "limit": {}}',
                                                    encoding="utf-8")
        self.run_step("Check the budget", code=2, BUDGET="budget.json")


@unittest.skipUnless(os.environ.get("ELIXIR_TEST_CAPTURE"), "elixir-profile is not built")
class Whole(WorkflowTest):
    def setUp(self):
        super().setUp()
        have = subprocess.run([PYTHON, "-c", "import transformers, torchvision"],
                              capture_output=True)
        if have.returncode != 0:
            self.skipTest("the exporter's packages are not in this Python")

    def test_passes_then_fails_when_the_model_grows(self):
        self.run_step("Export the model")
        self.run_step("Profile its training step")
        self.assertIn("within budget", self.run_step("Check the budget"))
        self.run_step("Make these the profiles to compare with")
        # A change of the model: twice the sequence.
        self.steps["Export the model"] = self.steps["Export the model"].replace(
            "--sequence 128", "--sequence 256")
        self.run_step("Export the model")
        self.run_step("Profile its training step")
        text = self.run_step("Check the budget", code=1)
        found = self.annotations(text)
        self.assertTrue(found)
        self.assertIn("transformer.h.", found[0][1])
        self.assertNotEqual(self.junit().get("failures"), "0")


if __name__ == "__main__":
    unittest.main()
