#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Makes the table of workspaces that only a library knows (profiles/workspaces/sm_NN.json) from
recorded runs.

Usage: record_workspaces.py LIST_EVENTS PROFILES_DIR MEASURED.jsonl.xz… -o OUT.json
                            --target cuda:sm_90 --libraries TEXT
  LIST_EVENTS    the program of that name from the build
  PROFILES_DIR   NAME.profile.json of the models in MEASURED (elixir-profile)
  MEASURED       what measure.py wrote, with the allocator's defaults

A library's call is seen between its neighbours, whose allocations are known. An allocation that
ends before the next one begins is its scratch memory, and so is one that ends within the call
although the output of that size lives on.
"""
import argparse
import json
import lzma
import pathlib
import subprocess
import sys
from collections import defaultdict

STEPS = 3
MOST_SCRATCH = 12
KNOWN_SIZES = 12


def predicted(tool, profile):
    """Allocations of the last step by call: [(bytes, storage)]; the library calls' keys; how many
    allocations the first step and what comes before it make once."""
    lines = subprocess.run([tool, profile], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    step, calls, keys, once = 1, defaultdict(list), {}, 0
    for line in lines:
        kind, *rest = line.split(" ", 4 if line[0] == "a" else 2)
        if kind == "s":
            step += 1
        elif kind == "k":
            keys[int(rest[0])] = rest[1]
        elif kind == "a":
            once += (step == 1) - (step == STEPS)
            if step == STEPS:
                calls[int(rest[2])].append((int(rest[1]), int(rest[3])))
    return calls, keys, once


def recorded(run):
    """Events as (is_allocation, number, bytes), numbers in order of allocation."""
    live, events, count = {}, [], 0
    for action, address, size, _ in run["trace"]:
        if action == "a":
            live[address] = count
            events.append((True, count, size))
            count += 1
        elif action == "f":
            events.append((False, live.pop(address), size))
    return events


class Lost(Exception):
    pass


def window(allocations, position, outputs, following):
    """Where the allocations of a call end, by what the next calls allocate; None where that is not
    known."""
    if following is None:
        return len(allocations)
    if not following:
        return None
    for after in range(position + outputs,
                       min(position + outputs + MOST_SCRATCH, len(allocations)) + 1):
        if [size for _, _, size in allocations[after:after + len(following)]] == following:
            return after
    return None


def trailing(allocations, position, freed_at, end, take):
    """Takes the scratch memory after a call's last output: allocations that all end before another
    begins."""
    best, latest = position, -1
    for after in range(position + 1, min(position + MOST_SCRATCH, len(allocations)) + 1):
        latest = max(latest, freed_at.get(allocations[after - 1][1], end))
        if latest < (allocations[after][0] if after < len(allocations) else end):
            best = after
    for place in range(position, best):
        take(allocations[place][1], allocations[place][2])
    return best


def known_sizes(order, calls, keys):
    """What the calls of `order` allocate first, up to the next library call."""
    sizes = []
    for call in order:
        if call in keys or len(sizes) >= KNOWN_SIZES:
            break
        sizes += [size for size, _ in calls.get(call, [])]
    return sizes[:KNOWN_SIZES]


def scripts_of(calls, keys, freed_after, events):
    """Walks one step's events along the calls; yields (call, script)."""
    freed_at = {number: i for i, (allocates, number, _) in enumerate(events) if not allocates}
    allocations = [(i, number, size)
                   for i, (allocates, number, size) in enumerate(events) if allocates]
    position = 0
    order = sorted(set(calls) | set(keys))
    for index, call in enumerate(order):
        if call not in keys:
            for size, _ in calls.get(call, []):
                if position >= len(allocations) or allocations[position][2] != size:
                    raise Lost(
                        f"call {call}: expected {size}, recorded "
                        f"{allocations[position:position + 3]}")
                position += 1
            continue
        outputs = [(size, storage) for size, storage in calls.get(call, []) if storage >= 0]
        rest = order[index + 1:]
        following = (known_sizes(rest, calls, keys)
                     if any(calls.get(later) for later in rest) else None)
        script, temporaries, waiting = [], {}, list(range(len(outputs)))

        def temporary(number, size):
            temporaries[number] = len(temporaries)
            script.append((f"+{size}", number))

        after = window(allocations, position, len(outputs), following)
        if after is None:
            # The next call is a library's too: the call's own end is seen by lifetimes alone.
            while waiting:
                if position + 1 >= len(allocations):
                    raise Lost(f"call {call}: events end")
                _, number, size = allocations[position]
                matches = [i for i in waiting if outputs[i][0] == size]
                short = freed_at.get(number, len(events)) < allocations[position + 1][0]
                if matches and not (short and freed_after[outputs[matches[0]][1]] > call):
                    waiting.remove(matches[0])
                    script.append((f"o{matches[0]}", number))
                else:
                    temporary(number, size)
                position += 1
            position = trailing(allocations, position, freed_at, len(events), temporary)
        else:
            next_call = next((later for later in rest if calls.get(later)), call + 1)
            limit = allocations[after][0] if after < len(allocations) else len(events)
            for _, number, size in allocations[position:after]:
                ends_inside = after < len(allocations) and freed_at.get(number, len(events)) < limit
                matches = [i for i in waiting if outputs[i][0] == size and
                           (not ends_inside or freed_after[outputs[i][1]] < next_call)]
                if matches:
                    waiting.remove(matches[0])
                    script.append((f"o{matches[0]}", number))
                else:
                    temporary(number, size)
            if waiting:
                raise Lost(
                    f"call {call}: outputs of {[outputs[i][0] for i in waiting]} bytes not "
                    f"recorded")
            position = after
        # Releases, where they really are; what outlives the call's last allocation ends with it.
        end = allocations[position][0] if position < len(allocations) else len(events)
        where_is = {number: where for where, number, _ in allocations}
        result = []
        for place, (word, number) in enumerate(script):
            result.append(word)
            until = where_is[script[place + 1][1]] if place + 1 < len(script) else end
            for held, tag in list(temporaries.items()):
                if where_is[held] <= where_is[number] and freed_at.get(held, len(events)) < until:
                    result.append(f"-{tag}")
                    del temporaries[held]
        for held, tag in temporaries.items():
            if freed_at.get(held, len(events)) >= end:
                raise Lost(f"call {call}: scratch memory outlives the call")
        yield call, " ".join(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list_events")
    parser.add_argument("profiles", type=pathlib.Path)
    parser.add_argument("measured", type=pathlib.Path, nargs="+")
    parser.add_argument("-o", dest="out", type=pathlib.Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--libraries", required=True)
    arguments = parser.parse_args()
    table, conflicts, lost = {}, 0, []
    for file in arguments.measured:
        for line in lzma.open(file, "rt"):
            run = json.loads(line)
            name = run["file"].removesuffix(".pt")
            profile = arguments.profiles / f"{name}.profile.json"
            if run["allocator"] or not profile.exists():
                continue
            calls, keys, once = predicted(arguments.list_events, profile)
            if not keys:
                continue
            document = json.loads(profile.read_text())
            freed_after = {s["id"]: s["freed_after"] for s in document["storages"]}
            events = recorded(run)
            allocations = [i for i, event in enumerate(events) if event[0]]
            each, rest = divmod(len(allocations) - once, STEPS)
            if rest:
                lost.append(name)
                print(f"{name}: steps differ", file=sys.stderr)
                continue
            try:
                for call, script in scripts_of(calls, keys, freed_after,
                                               events[allocations[-each]:]):
                    key = keys[call]
                    if table.setdefault(key, script) != script:
                        conflicts += 1
                        print(f"{name}: {key}\n   was {table[key]}\n   now {script}",
                              file=sys.stderr)
            except Lost as problem:
                lost.append(name)
                print(f"{name}: {problem}", file=sys.stderr)
    document = {"schema": "elixir.workspaces", "schema_version": "1.0",
                "meta": {"tool": "record_workspaces.py", "argv": []},
                "target": arguments.target, "libraries": arguments.libraries,
                "calls": [{"key": key, "script": table[key]} for key in sorted(table)]}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(
        f"{len(table)} calls, {conflicts} recorded in two ways; lost: {', '.join(lost) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
