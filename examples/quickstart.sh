#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# The whole chain on this machine: sets up, exports a GPT-2 of 10 M parameters over bytes, profiles
# it, measures the machine, searches a plan under a device budget so small that chunks must move,
# and trains on the Python standard library. Uses a GPU where there is one. Safe to run again: what
# is there is reused.
#
#   examples/quickstart.sh             everything goes to runs/quickstart
#   examples/quickstart.sh --steps 50  a shorter training
#   examples/quickstart.sh --device cpu  not on the GPU, though there is one
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
steps=600 device=auto
while [ $# -gt 0 ]; do
  case $1 in
    --steps) steps=${2:?--steps needs a number}; shift ;;
    --device) device=${2:?--device needs cpu or cuda}; shift ;;
    -h | --help) sed -n '5,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "quickstart: unknown argument \`$1\`" >&2; exit 2 ;;
  esac
  shift
done

"$root/examples/setup.sh"
python=$(realpath -s "$(command -v "${ELIXIR_PYTHON:-$root/.venv/bin/python3}")")
run="$root/runs/quickstart"
mkdir -p "$run"
cd "$run"
export PATH="$root/build/tools:$PATH"

step() { printf '\n==> %s\n' "$*"; }
say() { printf '\n$ %s\n' "$*"; "$@"; }
value() { "$python" -c 'import functools, json, sys
print(functools.reduce(lambda record, key: record[key], sys.argv[2].split("."),
                       json.load(open(sys.argv[1]))))' "$@"; }

if [ "$device" = auto ]; then
  device=cpu
  if grep -c ELIXIR_HAVE_CUDA "$root/build/build.ninja" >/dev/null &&
    command -v nvidia-smi >/dev/null &&
    nvidia-smi -L 2>/dev/null | grep -c '^GPU ' >/dev/null; then
    device=cuda
  fi
fi
target=cpu
[ "$device" = cpu ] ||
  target=cuda:sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p')

step "Data: the .py files of the Python standard library, every twentieth held out"
"$python" - <<'PY'
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("stdlib"))
skipped = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "config"}
files = sorted(p for p in root.rglob("*.py") if not skipped & set(p.relative_to(root).parts))
held_out = files[::20]
for name, chosen in (("train.txt", [p for p in files if p not in set(held_out)]),
                     ("held-out.txt", held_out)):
    data = b"\n".join(p.read_bytes() for p in chosen)
    pathlib.Path(name).write_bytes(data)
    print(f"    {name}: {len(chosen)} files, {len(data) / 1e6:.1f} MB")
PY

step "Model: GPT-2 with 6 layers of 384, bytes as tokens, to TorchScript"
[ model.pt -nt "$root/examples/export_hf.py" ] ||
  say "$python" "$root/examples/export_hf.py" gpt2-small-bytes model.pt --batch 4 \
    --sequence 128 --dropout 0 --force

step "Profile: what a training step needs, before anything runs"
say elixir-profile model.pt --target "$target" -o model.profile.json --force

step "Hardware: what this machine can do"
[ -f "hardware-$device.json" ] && [ "hardware-$device.json" -nt model.pt ] ||
  say elixir-bench --quick --device "$device" --operators model.profile.json \
    -o "hardware-$device.json" --force

step "Search: the smallest device memory that can train it, and a plan just above"
status=0
elixir-search --profile model.profile.json --hardware "hardware-$device.json" --gpu-memory 1MiB \
  --json -o plan.json --force \
  >smallest.json 2>/dev/null || status=$?
[ "$status" = 1 ] || { cat smallest.json; exit "$status"; }
minimum=$(value smallest.json document.minimum_gpu_memory_bytes)
budget=$((minimum * 105 / 100))
state=$("$python" -c 'import json, sys
m = json.load(open("model.profile.json"))["memory"]
print(sum(m[k] for k in ("parameters_bytes", "gradients_bytes", "optimizer_bytes")))')
echo "    at least $((minimum >> 20)) MiB; budget $((budget >> 20)) MiB;" \
  "parameters, gradients and optimizer state alone are $((state >> 20)) MiB"
say elixir-search --profile model.profile.json --hardware "hardware-$device.json" \
  --gpu-memory "${budget}B" -o plan.json --force

evictions=$(value plan.json predicted.traffic.evictions)
[ "$evictions" -gt 0 ] || {
  echo "quickstart: the plan moves no chunks under $budget bytes" >&2
  exit 1
}

step "Train: $steps steps of 4 x 128 bytes; every step fetches and evicts chunks"
say elixir-train --plan plan.json --model model.pt --data train.txt --eval-data held-out.txt \
  --eval-every 100 --device "$device" --hardware "hardware-$device.json" --steps "$steps" \
  --lr 5e-4 --lr-schedule cosine --warmup-steps 20 --betas 0.9,0.95 --weight-decay 0.1 \
  --no-decay '*.bias' --no-decay '*.ln_*' --clip-norm 1 --seed 0 -o run --force
