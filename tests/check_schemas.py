# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
"""Every schema in schemas/ is valid JSON Schema (draft 2020-12), accepts its valid examples and
refuses its invalid ones.

Layout: schemas/NAME.schema.json, schemas/examples/valid/NAME*.json,
schemas/examples/invalid/NAME*.json. Shipped profiles are examples of `hardware`.
Usage: check_schemas.py SOURCE_ROOT"""
import json
import pathlib
import sys

import jsonschema

root = pathlib.Path(sys.argv[1])
problems = []
checked = set()
for path in sorted((root / "schemas").glob("*.json")):
    schema = json.loads(path.read_text(encoding="utf-8"))
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        problems.append(f"{path}: {error.message}")
        continue
    validator = jsonschema.Draft202012Validator(schema)
    name = path.name.split(".")[0]
    examples = [(p, True) for p in sorted(root.glob(f"schemas/examples/valid/{name}*.json"))]
    examples += [(p, False) for p in sorted(root.glob(f"schemas/examples/invalid/{name}*.json"))]
    if name == "hardware":
        examples += [(p, True) for p in sorted((root / "profiles").glob("*.json"))]
    if name == "workspaces":
        examples += [(p, True) for p in sorted((root / "profiles/workspaces").glob("*.json"))]
    for example, valid in examples:
        error = next(validator.iter_errors(json.loads(example.read_text(encoding="utf-8"))), None)
        checked.add(example)
        if valid and error:
            problems.append(f"{example}: {error.json_path}: {error.message}")
        if not valid and not error:
            problems.append(f"{example}: accepted, but it is an invalid example")
    if not any(valid for _, valid in examples):
        problems.append(f"{path}: no valid example")
    if all(valid for _, valid in examples):
        problems.append(f"{path}: no invalid example")
for example in sorted(root.glob("schemas/examples/*/*.json")):
    if example not in checked:
        problems.append(f"{example}: no schema has this name")
if not checked:
    problems.append(f"no schema with examples in {root / 'schemas'}: nothing was checked")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(checked)} examples")
