#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Which models of the zoos can be profiled: one of every module of timm, every family of
torchvision's classifiers and segmentation nets, and every text and vision family of transformers,
small and with random weights. Each is exported with torch.jit.trace and profiled for each target,
in a process of its own with a limit of time. Downloads nothing.

  pip install torchvision timm transformers
  tests/accuracy/zoo.py --tools build/tools -o zoo.md

--json FILE keeps every result as it comes; --from FILE… makes the page of such files. A model that
is not exported says why: that is the model's or the tracer's doing. A model that is refused is
elixir-profile's.
"""
import argparse
import collections
import contextlib
import io
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import export_hf  # noqa: E402

BATCH, TOKENS, CLASSES = 2, 32, 10

# What makes a configuration small, where it has the attribute.
SMALL = {
    "hidden_size": 64, "d_model": 64, "n_embd": 64, "embed_dim": 64, "dim": 64,
    "embedding_size": 64, "num_hidden_layers": 2, "n_layer": 2, "n_layers": 2, "num_layers": 2,
    "encoder_layers": 2, "decoder_layers": 2, "num_decoder_layers": 2, "num_attention_heads": 4,
    "n_head": 4, "n_heads": 4, "num_heads": 4, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "d_kv": 16,
    "intermediate_size": 128, "ffn_dim": 128, "d_ff": 128, "d_inner": 128, "n_inner": 128,
    "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 512,
    "max_position_embeddings": 128, "n_positions": 128, "num_experts": 4, "num_local_experts": 4,
    "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "word_embed_proj_dim": 64, "rotary_dim": 16, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}
FEWER_LAYERS = {name: 2 for name
                in ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
                    "decoder_layers", "num_decoder_layers")}
SMALL_NAMES = ("atto", "femto", "pico", "nano", "xxs", "tiny", "zepto", "xs", "mini", "small", "s0",
               "b0", "_0", "t0", "micro")


class WithLoss(nn.Module):
    """Returns one number of whatever the model returns: a cross entropy of the logits where labels
    fit them."""

    def __init__(self, model, names, asks_for_loss):
        super().__init__()
        self.model, self.names, self.asks_for_loss = model, names, asks_for_loss

    def forward(self, *inputs):
        *values, labels = inputs
        named = dict(zip(self.names, values))
        if self.asks_for_loss:
            return self.first(self.model(**named, labels=labels))
        result = self.first(self.model(**named) if self.names else self.model(*values)).float()
        if (result.dim() in (2, 4) and result.shape[0] == labels.shape[0]
            and labels.dim() in (1, result.dim() - 1)):
            return functional.cross_entropy(result, labels)
        return result.pow(2).mean()

    @staticmethod
    def first(result):
        if isinstance(result, torch.Tensor):
            return result
        for part in result.values() if isinstance(result, dict) else result:
            found = WithLoss.first(part) if part is not None else None
            if found is not None and found.is_floating_point():
                return found
        return None


def by_name(names):
    """The one that is probably smallest."""
    def size(name):
        rank = next((i for i, part in enumerate(SMALL_NAMES) if part in name), len(SMALL_NAMES))
        return rank, [int(number) for number in re.findall(r"\d+", name)][:1], len(name), name
    return min(names, key=size)


def images(size, labels):
    return (torch.rand(BATCH, 3, size, size), labels)


def torchvision_models():
    from torchvision import models

    families = collections.defaultdict(list)
    for module in (models, models.segmentation):
        for name in models.list_models(module=module):
            families[models.get_model_builder(name)
                     .__module__.removeprefix("torchvision.models.")].append(name)

    def build(name, family):
        model = models.get_model(name, weights=None,
                                 **({"weights_backbone": None} if "segmentation" in family else {}))
        size = 299 if family == "inception" else 224
        labels = torch.zeros((BATCH, size, size) if "segmentation" in family else BATCH,
                             dtype=torch.int64)
        return WithLoss(model, (), False), images(size, labels)

    for family, names in sorted(families.items()):
        name = by_name(names)
        yield family, name, lambda name=name, family=family: build(name, family)


def timm_models():
    import timm

    def build(name):
        model = timm.create_model(name, pretrained=False)
        return WithLoss(model, (), False), images(model.default_cfg["input_size"][-1],
                                                  torch.zeros(BATCH, dtype=torch.int64))

    for module in timm.list_modules():
        names = timm.list_models(module=module)
        if names:
            name = by_name(names)
            yield module, name, lambda name=name: build(name)


def choose_experts_form(model):
    """Experts in the form that the exporter gives them; batched where it knows none. Other forms
    choose sizes by the data."""
    with contextlib.suppress(Exception):
        model.set_experts_implementation("batched_mm")
    with contextlib.suppress(Exception):
        export_hf.choose_experts_form(model)


def transformers_models():
    import transformers
    from transformers.models.auto import modeling_auto as auto

    kinds = (  # the first that knows a family
        (auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, "tokens"),
        (auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, "tokens"),
        (auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, "tokens"),
        (auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, "image"),
        (auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES, "segments"),
    )
    families = {}
    for mapping, kind in kinds:
        for family, names in mapping.items():
            families.setdefault(family, (names if isinstance(names, str) else names[0], kind))

    def settle(config, changes):
        for name, value in changes.items():
            if hasattr(config, name):
                with contextlib.suppress(Exception):
                    setattr(config, name, value)
        with contextlib.suppress(Exception):
            config.use_cache = False
        return config

    def build_with(family, kind, changes):
        known = transformers.AutoConfig.for_model(family)
        config = settle(known, {**changes, "num_labels": CLASSES})
        with torch.device("meta"):
            parameters = sum(p.numel() for p
                             in getattr(transformers, families[family][0])(config).parameters())
        if parameters > 400_000_000:
            raise RuntimeError(f"its configuration is large: {parameters / 1e6:.0f} M parameters")
        model = getattr(transformers, families[family][0])(config)
        choose_experts_form(model)
        if kind == "tokens":
            tokens = torch.randint(3, min(getattr(config, "vocab_size", None) or 100, 100),
                                   (BATCH, TOKENS))
            return WithLoss(model, ("input_ids", ), True), (tokens, tokens.clone())
        size = getattr(config, "image_size", None) or 224
        size = size if isinstance(size, int) else size[0]
        labels = torch.zeros((BATCH, size, size) if kind == "segments" else BATCH,
                             dtype=torch.int64)
        return WithLoss(model, ("pixel_values", ), True), images(size, labels)

    def build(family, kind):
        tries = ([{}] if kind != "tokens" else []) + [SMALL, FEWER_LAYERS]
        errors = []
        for changes in tries:
            try:
                model, inputs = build_with(family, kind, changes)
                model.train()
                with torch.no_grad():
                    model(*inputs)
                return model, inputs
            except Exception as error:  # noqa: BLE001: whatever a family dislikes
                errors.append(error)
        raise errors[0]

    for family, (name, kind) in sorted(families.items()):
        yield family, name, lambda family=family, kind=kind: build(family, kind)


SOURCES = {"torchvision": torchvision_models, "timm": timm_models,
           "transformers": transformers_models}


def first_line(text):
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return re.sub(r"/\S+/", "", lines[0])[:200] if lines else "no message"


def profile(tools, path, target):
    run = subprocess.run([tools / "elixir-profile", path, "--target", target, "--json", "-q", "-o",
                          f"{path}.json", "--force"],
                         capture_output=True, text=True, check=False)
    try:
        answer = json.loads(run.stdout)
    except json.JSONDecodeError:
        return {"refused": f"exit code {run.returncode}: {first_line(run.stderr)}"}
    if run.returncode:
        errors = [each for each in answer["diagnostics"] if each["severity"] == "error"]
        return {"refused": f"{errors[0]['code']}: {first_line(errors[0]['message'])}"
                if errors else f"exit code {run.returncode}"}
    document = answer["document"]
    return {"operators": document["operators"],
            "peak_bytes": document["memory"]["peak_allocated_bytes"]}


def attempt(build, tools, targets, directory):
    """Of one model, in a process of its own."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    try:
        model, inputs = build()
        model.train()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            traced = torch.jit.trace(model, inputs, strict=False, check_trace=False)
        path = pathlib.Path(directory) / "model.pt"
        traced.save(str(path))
    except Exception as error:  # noqa: BLE001
        return {"not_exported": f"{type(error).__name__}: {first_line(error)}"}
    return {"parameters": sum(p.numel() for p in model.parameters()),
            "targets": {target: profile(tools, path, target) for target in targets}}


def start(job, arguments):
    """Forked, so that nobody imports twice. Returns (process, pipe, directory, end of its time)."""
    read, write = os.pipe()
    directory = tempfile.TemporaryDirectory(prefix="elixir-zoo-")
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(read)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        result = attempt(job[3], arguments.tools, arguments.targets, directory.name)
        with os.fdopen(write, "w") as out:
            json.dump(result, out)
        os._exit(0)
    os.close(write)
    return child, read, directory, time.monotonic() + arguments.seconds


def finish(running, expired):
    child, read, directory, _ = running
    if expired:
        os.killpg(child, signal.SIGKILL)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    directory.cleanup()
    if expired:
        return {"not_exported": "it took longer than the limit"}
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"not_exported": f"the exporting process ended with status {status}"}


def run_all(jobs, arguments):
    results, running, waiting = [], {}, list(jobs)
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            job = waiting.pop(0)
            process = start(job, arguments)
            running[process[1]] = (job, process)
        ready, _, _ = select.select(list(running), [], [], 1)
        now = time.monotonic()
        for read in [r for r in running if r in ready or now > running[r][1][3]]:
            job, process = running.pop(read)
            result = {"source": job[0], "family": job[1], "model": job[2],
                      **finish(process, read not in ready)}
            results.append(result)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            print(f"{len(results)} of {len(jobs)}: {job[0]} {job[1]}: {outcome(result)}",
                  file=sys.stderr, flush=True)
    return sorted(results, key=lambda result: (result["source"], result["family"]))


def outcome(result):
    if "not_exported" in result:
        return "not exported"
    refused = [target for target, answer in result["targets"].items() if "refused" in answer]
    return "refused for " + ", ".join(refused) if refused else "profiled"


def page(results, targets):
    lines = ["| zoo | families | profiled for all targets | refused | not exported |",
             "| --- | ---: | ---: | ---: | ---: |"]
    for source in SOURCES:
        own = [outcome(result) for result in results if result["source"] == source]
        if own:
            lines.append(f"| {source} | {len(own)} | {own.count('profiled')} | "
                         f"{sum(one.startswith('refused') for one in own)} | "
                         f"{own.count('not exported')} |")
    reasons = collections.defaultdict(list)
    for result in results:
        for target, answer in result.get("targets", {}).items():
            if "refused" in answer:
                reasons[answer["refused"].replace("|", "\\|")].append(
                    f"{result['family']} ({target})")
    lines += ["", "Refused:", "", "| reason | families |", "| --- | --- |"]
    lines += [f"| {reason} | {', '.join(families)} |"
              for reason, families in sorted(reasons.items(), key=lambda r: -len(r[1]))]
    exports = collections.defaultdict(list)
    for result in results:
        if "not_exported" in result:
            exports[result["not_exported"].replace("|", "\\|")].append(
                f"{result['source']} {result['family']}")
    lines += ["", "Not exported:", "", "| reason | families |", "| --- | --- |"]
    lines += [f"| {reason} | {', '.join(families)} |"
              for reason, families in sorted(exports.items(), key=lambda r: -len(r[1]))]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, default=pathlib.Path("build/tools"))
    parser.add_argument("--sources", nargs="+", choices=tuple(SOURCES), default=list(SOURCES))
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="families with this in their names")
    parser.add_argument("--targets", nargs="+", default=["cpu", "cuda:sm_90"])
    parser.add_argument("--seconds", type=int, default=120, help="for each model (120)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="models at a time")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="every result")
    parser.add_argument("--from", dest="old", nargs="+", type=pathlib.Path, metavar="FILE",
                        help="results of --json: nothing is run")
    parser.add_argument("-o", "--output", type=pathlib.Path,
                        help="the page (default: standard output)")
    arguments = parser.parse_args()
    arguments.tools = arguments.tools.resolve()
    if arguments.old:
        results = [result for file in arguments.old
                   for result in json.loads(file.read_text(encoding="utf-8"))]
    else:
        jobs = [(source, *model) for source in arguments.sources for model in SOURCES[source]()
                if arguments.only in model[0]]
        results = run_all(jobs, arguments)
    text = page(results, arguments.targets)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
