#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Asks cuDNN on this machine's GPU for workspaces of convolutions, and adds the answers to a table
(profiles/workspaces/sm_NN.json). Runs nothing on the GPU.

Usage: ask_workspaces.py ELIXIR_CUDNN QUERIES.txt… --into TABLE.json [--jobs N]

An answer that depends on the single GPU is left out. Such engines split tiles between clusters of
more than two multiprocessors (how many clusters run at once differs between GPUs of one kind), or
are cuBLASLt's, which chooses by the GPU's clocks.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess

WITHOUT_SPLIT, CLUSTER_ROWS, CLUSTER_COLUMNS = 25, 27, 28
MOST_CERTAIN = 2


def ask(tool, queries):
    command = [tool, "--json", "--quiet"]
    done = subprocess.run(command, input="\n".join(queries), capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)["document"]


def is_certain(answer):
    knobs = dict(answer["knobs"])
    if list(knobs) == [WITHOUT_SPLIT]:
        return knobs[WITHOUT_SPLIT] == 0
    cluster = knobs.get(CLUSTER_ROWS, 1) * knobs.get(CLUSTER_COLUMNS, 1)
    return cluster <= MOST_CERTAIN or knobs.get(WITHOUT_SPLIT) == 1


def text_of(table):
    """One entry a line, so that differences can be read."""
    lists = {key: table.pop(key) for key in ("calls", "queries") if key in table}
    text = json.dumps(table, indent=1, ensure_ascii=False)[:-2]
    for key, entries in lists.items():
        lines = (",\n").join("  " + json.dumps(entry, separators=(",", ":")) for entry in entries)
        text += f',\n "{key}": [\n{lines}\n ]'
    return text + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tool")
    parser.add_argument("queries", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=12)
    options = parser.parse_args()
    queries = sorted(
        {line for path in options.queries for line in path.read_text().splitlines() if line})
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        parts = list(pool.map(lambda i: ask(options.tool, queries[i :: options.jobs]),
                              range(options.jobs)))
    table = json.loads(options.into.read_text())
    known = {entry["query"]: entry["bytes"] for entry in table.get("queries", [])}
    left_out = 0
    for part in parts:
        for answer in part["answers"]:
            if "failure" in answer or not is_certain(answer):
                left_out += 1
                known.pop(answer["query"], None)
            else:
                known[answer["query"]] = answer["bytes"]
    table["schema_version"] = "1.1"
    device = parts[0]["description"]["deviceName"]
    table["meta"]["queries"] = f"ask_workspaces.py: {parts[0]['library']} on {device}"
    table["queries"] = [{"query": query, "bytes": known[query]} for query in sorted(known)]
    options.into.write_text(text_of(table))
    print(
        f"{len(queries)} queries: {len(queries) - left_out} answers, {left_out} that depend on the "
        f"single GPU or failed")


if __name__ == "__main__":
    main()
