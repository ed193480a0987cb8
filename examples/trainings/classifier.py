#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""A small BERT that says which package of the Python standard library 64 bytes are from: its
samples, its TorchScript file, its training by PyTorch's DistributedDataParallel, its scores.

  examples/trainings/classifier.py data      train.safetensors held-out.safetensors
  examples/trainings/classifier.py export    model.pt
  examples/trainings/classifier.py ddp       --model model.pt --epochs 5 -o torch
  examples/trainings/classifier.py score     epoch-1.safetensors …   (a line of JSON for each)
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time
import warnings

from rows import LearningRate, SampleRows

PACKAGES = ["asyncio", "email", "encodings", "unittest"]
BYTES = 64
# Every sample begins with this token, as BERT's do: the classifier reads its position.
FIRST, PADDING, VOCABULARY = 256, 257, 272
BATCH, RANKS = 16, 2
SAMPLES = {"train": 960, "held-out": 240}  # of each package


def texts():
    """{package: {"train": bytes, "held-out": bytes}}; every fifth file is held out."""
    import sysconfig
    root = pathlib.Path(sysconfig.get_path("stdlib"))
    found = {}
    for package in PACKAGES:
        files = sorted(path for path in (root / package).rglob("*.py")
                       if not {"test", "tests"} & set(path.parts[len(root.parts):]))
        held_out = files[2::5]
        found[package] = {
            "train": b"".join(p.read_bytes() for p in files if p not in held_out),
            "held-out": b"".join(p.read_bytes() for p in held_out)}
    return found


def write_samples(arguments):
    """As many samples of each package, evenly spread over its text."""
    import torch
    from safetensors.torch import save_file
    found = texts()
    for part, path in (("train", arguments.train), ("held-out", arguments.held_out)):
        inputs, labels = [], []
        for label, package in enumerate(PACKAGES):
            text = found[package][part]
            count = SAMPLES[part]
            if len(text) < BYTES * count:
                sys.exit(f"classifier.py: `{package}` of this Python has too little text")
            for i in range(count):
                start = i * (len(text) - BYTES) // (count - 1)
                inputs.append([FIRST, *text[start:start + BYTES]])
                labels.append(label)
        save_file({"input_ids": torch.tensor(inputs, dtype=torch.int16),
                   "labels": torch.tensor(labels, dtype=torch.int16)}, path)
        print(f"    {path}: {len(labels)} samples of {', '.join(PACKAGES)}")


def build():
    """The model, with random weights that are the same every time."""
    import torch
    import transformers
    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, max_position_embeddings=128, pad_token_id=PADDING,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0,
        # Wider than BERT's 0.02, which is for 768 channels.
        initializer_range=0.1, num_labels=len(PACKAGES),
        problem_type="single_label_classification"))


def export(arguments):
    """forward takes input_ids and labels, and returns the loss."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    import export_hf
    import torch
    import transformers
    warnings.filterwarnings("ignore")  # sizes become numbers: rows have one length
    transformers.logging.set_verbosity_error()
    transformers.AttentionInterface.register("elixir", export_hf.attention)
    model = build().train()
    model.set_attn_implementation("elixir")
    forward = type(model).forward
    model.forward = lambda input_ids, labels: forward(model, input_ids=input_ids,
                                                      labels=labels).loss
    inputs = {"input_ids": torch.zeros(BATCH, 1 + BYTES, dtype=torch.long),
              "labels": torch.zeros(BATCH, dtype=torch.long)}
    traced = export_hf.trace(model, inputs, on_meta=False)
    saved = model.state_dict().keys()
    buffers = {"schema": "elixir.buffers", "schema_version": "1.0",
               "persistent": [name for name, _ in model.named_buffers() if name in saved]}
    torch.jit.save(traced, arguments.output, _extra_files={"buffers.json": json.dumps(buffers)})
    print(f"    {arguments.output}: {sum(p.numel() for p in model.parameters()):,} parameters")


def score_of(model, path):
    """Loss and accuracy over all held-out samples."""
    import torch
    samples = SampleRows(path).samples
    inputs, labels = samples["input_ids"].long(), samples["labels"].long()
    model.eval()
    with torch.no_grad():
        logits = torch.cat([model(input_ids=rows).logits for rows in inputs.split(64)])
    model.train()
    return {"held_out_loss": torch.nn.functional.cross_entropy(logits, labels).item(),
            "accuracy": (logits.argmax(1) == labels).double().mean().item()}


def score(arguments):
    import torch
    from safetensors.torch import load_file
    torch.set_num_threads(1)
    model = build()
    for epoch, path in enumerate(arguments.weights, 1):
        missing, unexpected = model.load_state_dict(load_file(path), strict=False)
        if unexpected or any(not name.endswith("_ids") for name in missing):
            sys.exit(f"classifier.py: {path} has not the model's names")
        print(json.dumps({"epoch": epoch, **score_of(model, arguments.held_out)}))


def ddp_rank(rank, arguments, store):
    """One process of DistributedDataParallel."""
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    eager = build().train()
    # The very weights of the file.
    eager.load_state_dict(torch.jit.load(arguments.model).state_dict(), strict=False)
    model = torch.nn.parallel.DistributedDataParallel(eager)
    rows = SampleRows(arguments.train)
    steps = arguments.steps_per_epoch
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr, betas=(0.9, 0.999),
                                  eps=1e-8, weight_decay=arguments.weight_decay)
    rate = LearningRate(arguments.lr, "constant", arguments.warmup_steps, steps)
    # A rank has a batch of its own: rank 1 takes the rows after rank 0's.
    mine = range(rank * BATCH, (rank + 1) * BATCH)
    lines, scores = [], []
    for step in range(1, arguments.epochs * steps + 1):
        start = time.perf_counter_ns()
        optimizer.param_groups[0]["lr"] = rate.at(step)
        loss = model(**rows.batch(arguments.seed, step, mine)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), arguments.clip_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        lines.append({"step": step, "loss": mean.item() / RANKS,
                      "learning_rate": rate.at(step),
                      "step_time_ns": time.perf_counter_ns() - start})
        if step % steps == 0 and rank == 0:
            scores.append({"epoch": step // steps, **score_of(eager, arguments.held_out)})
        if step % steps == 0:
            dist.barrier()
    if rank == 0:
        arguments.output.mkdir(parents=True, exist_ok=True)
        (arguments.output / "metrics.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        (arguments.output / "scores.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in scores), encoding="utf-8")
    dist.destroy_process_group()


def ddp(arguments):
    import torch.multiprocessing
    with tempfile.TemporaryDirectory() as directory:
        torch.multiprocessing.spawn(ddp_rank, (arguments, os.path.join(directory, "store")),
                                    nprocs=RANKS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="data|export|ddp|score|steps")
    command = commands.add_parser("data")
    command.add_argument("train", metavar="TRAIN.safetensors")
    command.add_argument("held_out", metavar="HELD-OUT.safetensors")
    command.set_defaults(run=write_samples)
    command = commands.add_parser("export")
    command.add_argument("output", metavar="MODEL.pt")
    command.set_defaults(run=export)
    command = commands.add_parser("score")
    command.add_argument("weights", metavar="WEIGHTS.safetensors", nargs="+",
                         help="one for each epoch")
    command.add_argument("--held-out", default="held-out.safetensors", metavar="FILE")
    command.set_defaults(run=score)
    command = commands.add_parser("ddp")
    command.add_argument("--model", required=True, metavar="MODEL.pt")
    command.add_argument("--train", default="train.safetensors", metavar="FILE")
    command.add_argument("--held-out", default="held-out.safetensors", metavar="FILE")
    command.add_argument("--epochs", type=int, default=5)
    command.add_argument("--steps-per-epoch", type=int, required=True)
    command.add_argument("--lr", type=float, default=1e-3)
    command.add_argument("--warmup-steps", type=int, default=0)
    command.add_argument("--weight-decay", type=float, default=0.01)
    command.add_argument("--clip-norm", type=float, default=1.0)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("-o", "--output", type=pathlib.Path, required=True)
    command.set_defaults(run=ddp)
    command = commands.add_parser("steps", help="steps of an epoch")
    command.set_defaults(
        run=lambda _: print(SAMPLES["train"] * len(PACKAGES) // (BATCH * RANKS)))
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
