# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""elixir-train --resume: of a directory that a stranger has packed, of a disk that does not give
what it has, of files that have changed meanwhile, and after a branch was left."""

import ctypes
import json
import os
import shutil
import subprocess
import unittest

from harness import clean_environment, schema
from training import TrainTest, save_traced, tiny_model


def without_overriding_permissions():
    """In the child: what root may not read is not read. Nothing changes for others, who may not
    override it anyway."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
    libc = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


class ResumeTest(TrainTest):
    def config(self, run="run"):
        return json.loads((self.directory / run / "config.json").read_text())

    def checkpoints(self, run="run"):
        return sorted(path.name for path in (self.directory / run / "checkpoints").iterdir())

    def state(self, step, run="run"):
        return json.loads(
            (self.directory / run / f"checkpoints/step-{step:010}/state.json").read_text()
        )

    def content(self):
        """All files but those of the run, with their bytes."""
        return {path: path.read_bytes() for path in self.directory.iterdir() if path.is_file()}


class Stranger(ResumeTest):
    """The run directory comes from somebody else."""

    def test_an_export_that_only_the_config_names_is_not_written(self):
        exported = self.exported(*self.flags(steps=2), name="out.safetensors")
        (self.directory / "out.safetensors").write_text("mine")
        result = self.succeeds("--resume", "run", "--steps", 3)
        self.assertEqual((self.directory / "out.safetensors").read_text(), "mine")
        self.assertIn(f"is not exported to `{self.directory}/out.safetensors`", result.err)
        self.assertIn(f"--export {self.directory}/out.safetensors", result.err)
        # Nor is one made.
        (self.directory / "out.safetensors").unlink()
        self.assertIn("is not exported to", self.succeeds("--resume", "run").err)
        self.assertFalse((self.directory / "out.safetensors").exists())
        # The flag confirms it, and replaces a file as any output does.
        self.succeeds("--resume", "run", "--export", "out.safetensors")
        self.fails(
            2, "EX0203", "--resume", "run", "--export", "out.safetensors", mentions="--force"
        )
        result = self.succeeds("--resume", "run", "--export", "out.safetensors", "--force")
        self.assertNotIn("not exported", result.err)
        self.assertEqual(len((self.directory / "out.safetensors").read_bytes()), len(exported))

    def test_links_in_place_of_files_lead_nowhere(self):
        self.succeeds(*self.flags(steps=2))
        (self.directory / "mine").write_text("mine\n")
        (self.directory / "my-folder").mkdir()
        shutil.copytree(self.directory / "run", self.directory / "whole")
        for name in (
            "metrics.jsonl",
            "summary.json",
            "trace.json",
            "lock",
            "lock-ranks",
            "checkpoints",
            "config.json",
        ):
            for make in (os.symlink, os.link):
                with self.subTest(name=name, how=make.__name__):
                    shutil.rmtree(self.directory / "run")
                    shutil.copytree(self.directory / "whole", self.directory / "run")
                    path = self.directory / "run" / name
                    target = self.directory / ("my-folder" if name == "checkpoints" else "mine")
                    if target.is_dir() and make is os.link:
                        continue
                    if path.is_dir():
                        shutil.rmtree(path)
                    else:
                        path.unlink(missing_ok=True)
                    make(target, path)
                    result = self.run_tool("--resume", "run", "--steps", 4)
                    # What is replaced as a whole is replaced; nothing else is done.
                    self.assertIn(result.code, (0, 2), result.err)
                    self.assertEqual((self.directory / "mine").read_text(), "mine\n")
                    self.assertEqual(list((self.directory / "my-folder").iterdir()), [])
                    if name in ("lock", "checkpoints") or (
                        name == "metrics.jsonl" and make is os.symlink
                    ):
                        self.assertEqual(result.code, 2, result.err)
                        self.assertIn(f"run/{name}", result.err)

    def test_pipes_and_sizes_that_lie_end_it(self):
        self.succeeds(*self.flags(steps=2))
        shutil.copytree(self.directory / "run", self.directory / "whole")
        for name in (
            "config.json",
            "metrics.jsonl",
            "lock",
            "checkpoints/step-0000000002/state.json",
            "checkpoints/step-0000000002/model.safetensors",
        ):
            with self.subTest(name=name):
                shutil.rmtree(self.directory / "run")
                shutil.copytree(self.directory / "whole", self.directory / "run")
                (self.directory / "run" / name).unlink()
                os.mkfifo(self.directory / "run" / name)
                result = self.run_tool("--resume", "run", "--steps", 4)
                self.assertEqual(result.code, 2, result.err)
                self.assertIn(name.rsplit("/", 1)[-1], result.err)
        shutil.rmtree(self.directory / "run")
        shutil.copytree(self.directory / "whole", self.directory / "run")
        with open(self.directory / "run/config.json", "r+b") as file:
            file.truncate(1 << 40)
        self.fails(2, "EX0202", "--resume", "run", mentions="config.json")

    def test_names_that_leave_the_checkpoint_are_refused(self):
        import hashlib

        self.succeeds(*self.flags(steps=2))
        state = self.state(2)
        for name in ("../../../mine", "/etc/passwd", "..", ""):
            state["files"][0]["name"] = name
            del state["digest"]
            text = json.dumps(state, indent=2, ensure_ascii=False) + "\n"
            state["digest"] = hashlib.sha256(text.encode()).hexdigest()
            path = self.directory / "run/checkpoints/step-0000000002/state.json"
            path.write_text(json.dumps(state, indent=2, ensure_ascii=False) + "\n")
            self.fails(2, "EX0212", "--resume", "run", mentions="there must be `model.safetensors`")


class Disk(ResumeTest):
    """What cannot be read is not what is damaged."""

    def setUp(self):
        super().setUp()
        self.whole = self.exported(
            *self.flags(steps=6, checkpoint_every=2), name="whole.safetensors"
        )

    def resumes_with_the_same_bits(self, name):
        self.assertEqual(self.exported("--resume", "run", name=name), self.whole)

    def test_a_checkpoint_without_permission_is_not_passed_over(self):
        for name in ("", "/state.json", "/model.safetensors"):
            path = self.directory / f"run/checkpoints/step-0000000006{name}"
            mode = path.stat().st_mode
            path.chmod(0)
            result = self.run_tool(
                "--resume", "run", "--steps", 8, preexec_fn=without_overriding_permissions
            )
            path.chmod(mode)
            self.assertEqual(result.code, 2, result.err)
            self.assertIn("error[EX0202]", result.err)
            self.assertIn(f"run/checkpoints/step-0000000006{name}`: Permission denied", result.err)
            self.assertIn("an older checkpoint is not taken instead", result.err)
        self.assertEqual(self.checkpoints(), ["step-0000000004", "step-0000000006"])
        self.assertEqual(len(self.config()["attempts"]), 1)
        self.resumes_with_the_same_bits("again.safetensors")

    def test_an_error_of_the_disk_is_not_passed_over(self):
        # Reads of a process's memory at address 0 fail with EIO.
        state = "run/checkpoints/step-0000000006/state.json"
        mounted = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            f'mount --bind /proc/$$/mem {state} && exec "$@"',
            "-",
        ]
        if (
            subprocess.run([*mounted, "true"], cwd=self.directory, capture_output=True).returncode
            != 0
        ):
            self.skipTest("nothing can be mounted here")
        words = [*mounted, self.binary, "--resume", "run", "--steps", "8"]
        process = subprocess.run(
            words,
            cwd=self.directory,
            env=clean_environment(OMP_NUM_THREADS="1"),
            capture_output=True,
        )
        self.assertEqual(process.returncode, 4, process.stderr.decode())
        self.assertIn(
            f"error[EX0703]: cannot read `{state}`: Input/output error", process.stderr.decode()
        )
        self.resumes_with_the_same_bits("again.safetensors")

    def test_a_damaged_one_is_told_and_set_aside(self):
        path = self.directory / "run/checkpoints/step-0000000006/model.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        result = self.succeeds("--resume", "run", "--dry-run")
        self.assertIn("damaged checkpoint not used: step-0000000006", result.err)
        self.assertEqual(self.checkpoints(), ["step-0000000004", "step-0000000006"])
        result = self.succeeds("--resume", "run", "--export", "again.safetensors")
        self.assertIn("step-0000000006 is no longer used, and stays as", result.err)
        self.assertEqual((self.directory / "again.safetensors").read_bytes(), self.whole)
        attempts = self.config()["attempts"]
        self.assertEqual(attempts[1]["parent"], {"id": attempts[0]["id"], "step": 4})
        self.assertEqual(
            self.checkpoints(),
            [
                "step-0000000004",
                "step-0000000006",
                f"step-0000000006.before-{attempts[1]['id'][:8]}",
            ],
        )


class Branches(ResumeTest):
    def test_a_checkpoint_of_a_branch_that_was_left_is_not_taken(self):
        whole = self.exported(*self.flags(steps=8, output="whole"), name="whole.safetensors")
        self.succeeds(*self.flags(steps=6, checkpoint_every=2, keep=9))
        # The newer ones are away, as on a disk that comes back later.
        shutil.move(self.directory / "run/checkpoints/step-0000000004", self.directory / "four")
        shutil.move(self.directory / "run/checkpoints/step-0000000006", self.directory / "six")
        self.succeeds("--resume", "run", "--steps", 3, "--checkpoint-every", 1)
        shutil.move(self.directory / "six", self.directory / "run/checkpoints/step-0000000006")
        attempts = self.config()["attempts"]
        result = self.succeeds("--resume", "run", "--steps", 8, "--export", "parts.safetensors")
        self.assertIn("checkpoint of an abandoned branch not used: step-0000000006", result.err)
        self.assertIn("resuming after step 3", result.err)
        self.assertEqual([line["step"] for line in self.metrics()], list(range(1, 9)))
        self.assertEqual((self.directory / "parts.safetensors").read_bytes(), whole)
        self.assertIn("step-0000000006.before-", " ".join(self.checkpoints()))
        again = self.config()["attempts"]
        self.assertEqual(again[:2], attempts)
        self.assertEqual(again[2]["parent"], {"id": attempts[1]["id"], "step": 3})

    def test_every_checkpoint_names_its_attempt_and_its_parent(self):
        self.succeeds(*self.flags(steps=2))
        first = self.state(2)["attempt"]
        self.assertIsNone(first["parent"])
        self.succeeds("--resume", "run", "--steps", 4)
        second = self.state(4)["attempt"]
        self.assertEqual(second["parent"], {"id": first["id"], "step": 2})
        self.assertEqual(self.config()["attempts"], [first, second])
        schema("config").validate(self.config())
        schema("checkpoint").validate(self.state(4))

    def test_a_copy_that_went_on_elsewhere_is_another_branch(self):
        self.succeeds(*self.flags(steps=2))
        shutil.copytree(self.directory / "run", self.directory / "copy")
        self.succeeds("--resume", "copy", "--steps", 5)
        shutil.copytree(
            self.directory / "copy/checkpoints/step-0000000005",
            self.directory / "run/checkpoints/step-0000000005",
        )
        result = self.succeeds("--resume", "run", "--steps", 3)
        self.assertIn("abandoned branch not used: step-0000000005", result.err)
        self.assertIn("resuming after step 2", result.err)


class Changed(ResumeTest):
    """Files that the run reads are others when it goes on."""

    def test_data_that_changed_is_an_error_that_names_the_file(self):
        texts = self.directory / "texts"
        texts.mkdir()
        whole = (self.shared / "text.txt").read_bytes()
        (texts / "a.txt").write_bytes(whole[:4000])
        (texts / "b.txt").write_bytes(whole[4000:])
        self.succeeds(*self.flags(steps=2, data=texts))
        self.assertEqual(
            [each["path"] for each in self.config()["inputs"] if each["input"] == "data"],
            [str(texts / "a.txt"), str(texts / "b.txt")],
        )
        (texts / "b.txt").write_bytes(b"!" + whole[4001:])
        before = (self.directory / "run/config.json").read_bytes()
        for words in ([], ["--dry-run"]):
            self.fails(
                2,
                "EX0503",
                "--resume",
                "run",
                "--steps",
                3,
                *words,
                mentions=["texts/b.txt", "--accept-changed-data"],
            )
        self.assertEqual((self.directory / "run/config.json").read_bytes(), before)
        result = self.succeeds("--resume", "run", "--steps", 3, "--accept-changed-data")
        self.assertIn("texts/b.txt` is not what the run has read before", result.err)
        # From then on it is what the run reads.
        self.assertNotIn("before", self.succeeds("--resume", "run", "--steps", 4).err)
        (texts / "c.txt").write_bytes(whole)
        self.fails(
            2,
            "EX0503",
            "--resume",
            "run",
            "--steps",
            5,
            mentions=["texts/c.txt", "has not read before"],
        )
        (texts / "c.txt").unlink()
        (texts / "b.txt").unlink()
        self.fails(2, "EX0503", "--resume", "run", "--steps", 5, mentions=["lacks", "texts/b.txt"])

    def test_data_that_moved_is_the_same(self):
        shutil.copy(self.shared / "text.txt", self.directory / "text.txt")
        self.succeeds(*self.flags(steps=2, data="text.txt"))
        (self.directory / "text.txt").rename(self.directory / "moved.txt")
        result = self.succeeds("--resume", "run", "--steps", 3, "--data", "moved.txt")
        self.assertNotIn("before", result.err)

    def test_weights_that_changed_are_an_error(self):
        weights = self.directory / "first.safetensors"
        self.exported(*self.flags(steps=1, output="other"), name="first.safetensors")
        self.exported(*self.flags(steps=2, output="another"), name="second.safetensors")
        self.succeeds(*self.flags(steps=2, weights=weights))
        shutil.copy(self.directory / "second.safetensors", weights)
        self.fails(
            2, "EX0503", "--resume", "run", "--steps", 3, mentions=["weights", "first.safetensors"]
        )
        self.succeeds("--resume", "run", "--steps", 3, "--accept-changed-data")

    def test_a_model_that_changed_is_an_error_unless_the_flag_names_it(self):
        import torch

        model = tiny_model()
        save_traced(model, self.directory / "model.pt")
        self.succeeds(*self.flags(steps=2, model="model.pt"))
        with torch.no_grad():
            model.norm.bias.add_(1)
        save_traced(model, self.directory / "model.pt")
        self.fails(
            2,
            "EX0503",
            "--resume",
            "run",
            "--steps",
            3,
            mentions=["model file", "model.pt", "--accept-changed-data"],
        )
        self.succeeds("--resume", "run", "--steps", 3, "--model", "model.pt")

    def test_a_plan_that_changed_is_told(self):
        plan = self.plan("tight")
        self.succeeds(*self.flags(plan, steps=2))
        shutil.copy(self.shared / "roomy.json", plan)
        result = self.succeeds("--resume", "run", "--steps", 3)
        self.assertIn("changed-plan.json` is not what the run has read before", result.err)
        result = self.succeeds(
            "--resume", "run", "--steps", 4, "--plan", self.shared / "tight.json"
        )
        self.assertNotIn("before", result.err)

    def test_the_flag_is_for_resumed_runs(self):
        self.fails(2, "EX0104", *self.flags(), "--accept-changed-data", mentions="--resume")


if __name__ == "__main__":
    unittest.main()
