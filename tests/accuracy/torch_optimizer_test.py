# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""State and temporaries of torch.optim, as `elixir-profile --optimizer-form torch-…` predicts them,
compared with what the optimizers of the installed PyTorch ask the CPU's allocator for. On a GPU the
same Python makes the same tensors; its kernels may take scratch memory beside them."""
import importlib.util
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

MISSING = not importlib.util.find_spec("torch")
if not MISSING:
    import torch

    from measure import FORMS, optimizer_of

BLOCK_BYTES = 512
NUMBER_BYTES = 8


def model(*dtypes):
    """Layers of several sizes; a layer has each of `dtypes` in turn. The last bias is frozen. There
    are parameters of four dimensions and of none."""
    class Layers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            widths = [24, 40, 56, 32, 48]
            self.layers = torch.nn.ModuleList(
                torch.nn.Linear(a, b, dtype=dtype)
                for (a, b), dtype in zip(itertools.pairwise(widths), itertools.cycle(dtypes)))
            self.layers[-1].bias.requires_grad_(False)
            self.convolution = torch.nn.Conv2d(1, 6, (3, 5), dtype=dtypes[0])
            self.scale = torch.nn.Parameter(torch.ones((), dtype=dtypes[0]))

        def forward(self, x):
            x = x + self.scale * self.convolution(x.view(4, 1, 4, 6).to(self.scale.dtype)).mean()
            for layer in self.layers:
                x = layer(x.to(layer.weight.dtype)).relu()
            return x.float().mean()

    return torch.jit.trace(Layers(), torch.ones(4, 24))


def is_number(size, operators):
    """Whether the CPU makes a tensor only because an operator is given a number, or converts one
    for a sum. (It sums up bf16 as fp32, in a copy.)"""
    return size == NUMBER_BYTES or "aten::_to_copy" in operators or operators == ["aten::empty"]


def requests_of(action):
    """Its requests in order, in bytes; negative where a temporary is released."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                profile_memory=True) as profile:
        action()
    events = []

    def collect(nodes, operators):
        for node in nodes:
            if node.name == "[memory]":
                events.append((node.start_time_ns, node.extra_fields.alloc_size,
                               node.extra_fields.ptr, operators))
            collect(node.children, operators + [node.name] * node.name.startswith("aten::"))

    collect(profile.profiler.kineto_results.experimental_event_tree(), [])
    story, numbers = [], set()
    for _, size, address, operators in sorted(events, key=lambda event: event[0]):
        if size > 0 and is_number(size, operators):
            numbers.add(address)
        elif size < 0 and address in numbers:
            numbers.remove(address)
        else:
            story.append(size)
    return story


def requests_of_update(optimizer, clip_norm=0):
    """Those of the second step."""
    def update():
        if clip_norm:
            torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], clip_norm)
        optimizer.step()

    update()
    return requests_of(update)


def predicted_update(snapshot):
    """The same of a snapshot that elixir-profile wrote: signed bytes in order."""
    story, live = [], set()
    for event in snapshot["device_traces"][0]:
        of_update = any(frame["filename"] == "the optimizer's update" for frame in event["frames"])
        if event["action"] == "alloc" and of_update:
            live.add(event["addr"])
            story.append(event["size"])
        elif event["action"] == "free_completed" and event["addr"] in live:
            live.remove(event["addr"])
            story.append(-event["size"])
    assert not live, live
    return story


@unittest.skipIf(MISSING, "torch is missing")
class TorchOptimizer(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def predict(self, module, name, form, *flags, target="cpu"):
        """(the profile's document, signed bytes of the update's requests)"""
        torch.jit.save(module, self.directory / "model.pt")
        done = subprocess.run(
            [os.environ["ELIXIR_PROFILE"], "-q", "--target", target, "--cudnn", "none",
             "--optimizer", name, *flags, "--optimizer-form", form, "model.pt", "--snapshot",
             "snapshot.pickle", "-o", "profile.json", "--force"],
            capture_output=True, text=True, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.directory / "snapshot.pickle", "rb") as file:
            snapshot = pickle.load(file)
        return json.loads((self.directory / "profile.json")
                          .read_text(encoding="utf-8")), predicted_update(snapshot)

    def trained(self, module):
        parameters = [p for p in module.parameters() if p.requires_grad]
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        return parameters

    def test_state_and_temporaries_are_those_of_pytorch(self):
        for name, form, dtypes in itertools.product(
                ("adamw", "adam", "sgd", "sgd-momentum", "adafactor", "rmsprop", "adagrad"), FORMS,
                ([torch.float32], [torch.bfloat16])):
            if form == "torch-fused" and name in ("adafactor", "rmsprop", "adagrad"):
                continue
            with self.subTest(optimizer=name, form=form, dtypes=dtypes):
                module = model(*dtypes)
                document, predicted = self.predict(module, name, form)
                optimizer = optimizer_of(self.trained(module), f"{name}:{form}")
                self.assertEqual(predicted, requests_of_update(optimizer))
                self.assertEqual(bool(predicted),
                                 not name.startswith("sgd") and form != "torch-fused")
                # The count of steps is on the host, unless the update is fused.
                kept = [
                    tensor for state in optimizer.state.values() for key, tensor in state.items()
                    if tensor is not None and (key != "step" or form == "torch-fused")
                ]
                blocks = sum(-(-t.numel() * t.element_size() // BLOCK_BYTES) * BLOCK_BYTES
                             for t in kept)
                self.assertEqual(document["memory"]["optimizer_bytes"], blocks)
                self.assertEqual((document["optimizer"], document["optimizer_form"]), (name, form))

    def test_kernels_of_these_sizes_take_nothing_more_on_a_gpu(self):
        for name, form in itertools.product(("adamw", "adafactor", "rmsprop", "adagrad"),
                                            ("torch-foreach", "torch-loop")):
            module = model(torch.bfloat16)
            self.assertEqual(self.predict(module, name, form, target="cuda:sm_90")[1],
                             self.predict(module, name, form)[1])

    def test_clipping_comes_before_the_update(self):
        for name, form, dtype in itertools.product(("adamw", "sgd"),
                                                   ("torch-foreach", "torch-fused"),
                                                   (torch.float32, torch.bfloat16)):
            with self.subTest(optimizer=name, form=form, dtype=dtype):
                module = model(dtype)
                _, unclipped = self.predict(module, name, form)
                document, predicted = self.predict(module, name, form, "--clip-norm", "1")
                self.assertTrue(document["clips_gradients"])
                self.assertEqual(predicted,
                                 requests_of_update(optimizer_of(self.trained(module),
                                                                 f"{name}:{form}"), clip_norm=1.0))
                self.assertEqual(predicted[len(predicted) - len(unclipped):], unclipped)
                # A GPU's kernel sums up pieces of 65,536 elements first: one for each of these
                # gradients, in fp32.
                count = len(self.trained(module))
                of_gpu = self.predict(module, name, form, "--clip-norm", "1",
                                      target="cuda:sm_90")[1]
                self.assertEqual(of_gpu,
                                 [4 * count, *predicted[:count], -4 * count, *predicted[count:]])

    def test_dtypes_are_updated_one_after_the_other(self):
        # In which order is that of a hash table in PyTorch. So only what is held is compared.
        module = model(torch.float32, torch.bfloat16)
        _, predicted = self.predict(module, "adamw", "torch-foreach")
        made = requests_of_update(optimizer_of(self.trained(module), "adamw:torch-foreach"))
        self.assertEqual(sorted(predicted), sorted(made))

        def most(story):
            return max(itertools.accumulate(story))

        self.assertEqual(most(predicted), most(made))
        self.assertEqual(most(predicted), sum(bytes_ for bytes_ in predicted if bytes_ > 0),
                         "the first list waits for the second")


if __name__ == "__main__":
    unittest.main()
