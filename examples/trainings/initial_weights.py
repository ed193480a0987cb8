#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Draws the first weights of a model that export_hf.py wrote with --meta, so that Elixir and
PyTorch begin with the same ones.

  examples/trainings/initial_weights.py model.pt weights.safetensors --seed 0

They are drawn in fp32 by the recipes in the file (docs/formats/initialization.md), and then rounded
to the model's dtype: exports in several dtypes begin alike.
"""
import argparse
import json
import zlib


def draw(recipe, shape, seed):
    """A tensor in fp32. Its generator depends on the parameter's name, not on the order."""
    import torch
    generator = torch.Generator().manual_seed(seed ^ zlib.crc32(recipe["name"].encode()))
    tensor = torch.empty(shape)
    kind = recipe["kind"]
    if kind == "normal":
        return tensor.normal_(recipe["mean"], recipe["std"], generator=generator)
    if kind == "truncated_normal":
        return torch.nn.init.trunc_normal_(tensor, recipe["mean"], recipe["std"], recipe["low"],
                                           recipe["high"], generator=generator)
    if kind == "uniform":
        return tensor.uniform_(recipe["low"], recipe["high"], generator=generator)
    return tensor.fill_(recipe["value"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.pt")
    parser.add_argument("output", metavar="OUT.safetensors")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    import torch
    from safetensors.torch import save_file
    extra = {"initialization.json": ""}
    model = torch.jit.load(arguments.model, _extra_files=extra)
    recipes = {recipe["name"]: recipe
               for recipe in json.loads(extra["initialization.json"])["parameters"]}
    tensors = {name: draw(recipes[name], parameter.shape, arguments.seed).to(parameter.dtype)
               for name, parameter in model.named_parameters()}
    save_file(tensors, arguments.output)


if __name__ == "__main__":
    main()
