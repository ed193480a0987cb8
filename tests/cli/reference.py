# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Plain PyTorch beside elixir-train: the same rows, the same seeds, torch.optim.AdamW. The draw of
rows is that of lib/train/data/dataset.h, the seeds are those of lib/runtime/micro_batch_seed.h."""

import json
import pathlib
import sys

from training import TrainTest, tool

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples/trainings"))
from rows import seed_of


def state_of(model):
    """The state_dict, with each tied tensor once."""
    kept, seen = {}, set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor.detach()
    return kept


def buffers_record(model):
    """The extra files of an archive that says which buffers are persistent."""
    saved = model.state_dict()
    persistent = [name for name, _ in model.named_buffers() if name in saved]
    record = {"schema": "elixir.buffers", "schema_version": "1.0", "persistent": persistent}
    return {"buffers.json": json.dumps(record)}


class ReferenceTest(TrainTest):
    """A model and samples, trained by the tools and by PyTorch."""

    SEED, LR, ROWS = 1, 1e-2, 3

    def traced(self, model, samples):
        """The model as it was before it was traced, which runs it once."""
        import torch

        buffers = {key: value.detach().clone() for key, value in model.named_buffers()}
        torch.manual_seed(0)
        traced = torch.jit.trace(
            model, tuple(x[: self.ROWS] for x in samples.values()), check_trace=False, strict=False
        )
        with torch.no_grad():
            for module in (model, traced):
                for key, value in module.named_buffers():
                    if value.requires_grad:  # a lost no_grad
                        value.detach_()
                    value.copy_(buffers[key])
        return traced

    def saved(self, name, model, samples, profile=(), search=(), script=False, extra_files=None,
              arithmetic="as-eager"):
        """Writes the model, traced or scripted, its samples and a plan; the flags of a run.
        `samples` are in forward's order."""
        import torch
        from safetensors.torch import save_file

        save_file(samples, str(self.directory / f"{name}.safetensors"))
        if script:
            made = torch.jit.script(model)
            for key, value in samples.items():
                shape = ",".join(map(str, (self.ROWS, *value.shape[1:])))
                profile = (*profile, "--input", f"{key}:{str(value.dtype)[6:]}[{shape}]")
        else:
            made = self.traced(model, samples)
        if extra_files is None:
            extra_files = buffers_record(model)
        torch.jit.save(made, str(self.directory / f"{name}.pt"), _extra_files=extra_files)
        tool(
            "ELIXIR_PROFILE",
            f"{name}.pt",
            "--target",
            "cpu",
            "-o",
            f"{name}.profile.json",
            *profile,
            cwd=self.directory,
        )
        tool(
            "ELIXIR_SEARCH",
            "--profile",
            f"{name}.profile.json",
            "--hardware",
            self.shared / "hardware.json",
            "--gpu-memory",
            "1GiB",
            "--host-memory",
            "2GiB",
            "--arithmetic",
            arithmetic,
            *search,
            "-o",
            f"{name}.json",
            cwd=self.directory,
        )
        return {
            "plan": self.directory / f"{name}.json",
            "model": f"{name}.pt",
            "data": f"{name}.safetensors",
            "seed": self.SEED,
            "lr": self.LR,
            "clip_norm": 0,
            "weight_decay": 0,
            "steps": 3,
            "output": f"{name}-run",
            **({"input": [word for word in profile if ":" in word]} if script else {}),
        }

    def by_torch(self, model, samples, steps=3, loss_of=lambda output: output, rows_per_step=None):
        """Losses of plain training, a step's rows as one batch; it changes the model."""
        import torch

        torch.set_num_threads(1)
        optimizer = torch.optim.AdamW(
            [p for p in model.parameters() if p.requires_grad],
            lr=self.LR,
            weight_decay=0,
            foreach=False,
        )
        losses = []
        for step in range(1, steps + 1):
            count = len(next(iter(samples.values())))
            rows = [
                (seed_of(self.SEED, step, row) * count) >> 64
                for row in range(rows_per_step or self.ROWS)
            ]
            torch.manual_seed(seed_of(self.SEED, step, 0))
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(*(x[rows] for x in samples.values())))
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        return losses

    def expect_same_training(self, name, model, samples, script=False, replan=None, **extra):
        """elixir-train and PyTorch give the same losses and the same state; the result of
        elixir-train, and what it exports. `replan` may write another plan of this name."""
        import copy

        import torch
        from safetensors.torch import load_file

        flags = {**self.saved(name, copy.deepcopy(model), samples, script=script), **extra}
        if replan:
            replan(name)
        result = self.succeeds(*self.flags(**flags), "--export", f"{name}.out.safetensors")
        expected = self.by_torch(model, samples, flags["steps"])
        for line, loss in zip(self.metrics(f"{name}-run"), expected):
            self.assertAlmostEqual(line["loss"], loss, delta=6e-7 * abs(loss))
        tensors = load_file(str(self.directory / f"{name}.out.safetensors"))
        expected = state_of(model)
        self.assertEqual(sorted(tensors), sorted(expected))
        changing = {key for key, value in model.named_parameters() if value.requires_grad}
        changing.update(key for key, value in model.named_buffers() if value.is_floating_point())
        for key, value in expected.items():
            with self.subTest(tensor=key):
                self.assertEqual(tensors[key].dtype, value.dtype)
                if key in changing:
                    torch.testing.assert_close(tensors[key], value, rtol=3e-6, atol=3e-6)
                else:
                    self.assertTrue(torch.equal(tensors[key], value))
        return result, tensors
