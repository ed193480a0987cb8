#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# OPT-125M, 16 samples of 1,024 tokens a GPU, on 1, 2, 4, … GPUs of this machine: throughput and
# memory, next to those that a published comparison of ColossalAI's plugins gives for the same
# model. Downloads nothing. Everything goes to runs/opt_benchmark, and what is there is used again.
#
#   examples/opt_benchmark.sh               on all GPUs
#   examples/opt_benchmark.sh --gpus "1 2"  on so many
#   examples/opt_benchmark.sh --cpu         a tiny OPT on 1 and 2 ranks of the CPU: shows that it
#                                           works, and no speed
#   --steps N (12)  --output DIR  --hardware H (measured with elixir-bench if it is left out)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
steps=12 gpus='' device=cuda run="$root/runs/opt_benchmark" hardware=''
while [ $# -gt 0 ]; do
  case $1 in
    --gpus) gpus=${2:?--gpus needs numbers}; shift ;;
    --steps) steps=${2:?--steps needs a number}; shift ;;
    --output) run=${2:?--output needs a directory}; shift ;;
    --hardware) hardware=${2:?--hardware needs a document}; shift ;;
    --cpu) device=cpu ;;
    -h | --help) sed -n '5,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "opt_benchmark: unknown argument \`$1\`" >&2; exit 2 ;;
  esac
  shift
done

python=$(realpath -s "$(command -v "${ELIXIR_PYTHON:-$root/.venv/bin/python3}")") || {
  echo "opt_benchmark: no Python with torch and transformers;" \
    "run examples/setup.sh, or set ELIXIR_PYTHON" >&2
  exit 3
}
export PATH="${ELIXIR_TOOLS:-$root/build/tools}:$PATH"
command -v elixir-train >/dev/null || {
  echo "opt_benchmark: elixir-train is not built; run examples/setup.sh" >&2
  exit 3
}
if [ "$device" = cuda ]; then
  count=0
  if command -v nvidia-smi >/dev/null; then
    count=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ' || true)
  fi
  if [ "$count" = 0 ]; then
    echo "opt_benchmark: there is no NVIDIA GPU here;" \
      "--cpu runs the same with a tiny model on ranks of the CPU" >&2
    exit 3
  fi
  target=cuda:sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p')
  model=opt-125m batch=16 sequence=1024 roomy=() host=() slack=110
  if [ -z "$gpus" ]; then
    for ((n = 1; n <= count; n *= 2)); do gpus="$gpus $n"; done
  fi
else
  target=cpu model=opt-tiny batch=2 sequence=32 slack=200
  roomy=(--gpu-memory 512MiB) host=(--host-memory 4GiB)
  gpus=${gpus:-1 2}
fi

mkdir -p "$run"
cd "$run"
step() { printf '\n==> %s\n' "$*"; }
value() { "$python" -c 'import functools, json, sys
print(functools.reduce(lambda record, key: record[key], sys.argv[2].split("."),
                       json.load(open(sys.argv[1]))))' "$@"; }

step "Model: $model in fp32 and bf16, $batch x $sequence, without dropout"
for dtype in float32 bfloat16; do
  [ -f "$dtype.pt" ] ||
    "$python" "$root/examples/export_hf.py" "$model" "$dtype.pt" --dtype "$dtype" \
      --batch "$batch" --sequence "$sequence" --dropout 0
  elixir-profile -q "$dtype.pt" --target "$target" --mode train -o "$dtype.profile.json" --force
done
[ -f data.txt ] || "$python" - <<'PY'
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("stdlib"))
pathlib.Path("data.txt").write_bytes(
    b"\n".join(path.read_bytes() for path in sorted(root.glob("*.py"))))
PY

if [ -z "$hardware" ]; then
  step "Hardware: what this machine can do"
  hardware=hardware-$device.json
  if [ ! -f "$hardware" ]; then
    elixir-bench --quick --device "$device" --operators float32.profile.json \
      --operators bfloat16.profile.json -o "$hardware"
  fi
fi

# One row of the table: NAME, its dtype, and flags of the search.
train() {
  local name=$1 dtype=$2 n=$3
  shift 3
  step "$name on $n: search and $steps steps"
  elixir-search -q --profile "$dtype.profile.json" --hardware "$hardware" --gpus "$n" "$@" \
    -o "$name-$n.json" --force
  elixir-train -q --plan "$name-$n.json" --model "$dtype.pt" --data data.txt --mode train \
    --device "$device" --steps "$steps" \
    --checkpoint-every 0 -o "$name-$n" --force
}

for n in $gpus; do
  # What fits is on the device, as with DDP. Replicas have run on CPUs only; on GPUs parameters and
  # optimizer state are in shards, so that one plan corresponds to DDP in half precision and to
  # ZeRO.
  replicas=()
  [ "$device" = cuda ] || replicas=(--replicas "$n")
  train ddp float32 "$n" "${roomy[@]}" "${host[@]}" "${replicas[@]}"
  train zero bfloat16 "$n" "${roomy[@]}" "${host[@]}"
  # As little device memory as it takes, and some more.
  status=0
  elixir-search --json --profile bfloat16.profile.json --hardware "$hardware" --gpus "$n" \
    "${host[@]}" --gpu-memory 1024B \
    -o none.json --force >smallest.json 2>/dev/null || status=$?
  [ "$status" = 1 ] || { cat smallest.json >&2; exit "$status"; }
  budget=$(($(value smallest.json document.minimum_gpu_memory_bytes) * slack / 100))
  train gemini bfloat16 "$n" "${host[@]}" --gpu-memory "${budget}B"
done

step "Result: batches of $batch a GPU"
"$python" - "$device" "$gpus" <<'PY'
import json
import pathlib
import sys

# batches/s and GB a GPU of OPT-125M, as published with ColossalAI's plugins; the number of GPUs and
# kind are not given there.
SEEDS = [("ddp", "torch_ddp", 2.59, 8.38), ("zero", "torch_ddp_fp16", 5.71, 7.11),
         ("zero", "low_level_zero", 6.57, 4.90),
         ("gemini", "gemini", 6.29, 3.51)]
device, gpus = sys.argv[1:]
header = ["corresponds to", "plan", "GPUs" if device == "cuda" else "ranks", "step ms", "batches/s",
          "tokens/s", "device GB", "host GB", "loss"]
rows = [header + (["theirs: batches/s", "GB"] if device == "cuda" else [])]
for name, plugin, rate, memory in SEEDS:
    for n in gpus.split():
        summary = json.loads(pathlib.Path(f"{name}-{n}", "summary.json").read_text())
        measured = summary["measured"]
        step_s = measured["step_ns"] / 1e9
        row = [plugin, name, n, f"{step_s * 1e3:.1f}", f"{int(n) / step_s:.2f}",
               f"{summary['tokens_per_s']:.0f}", f"{measured['peak_device_bytes'] / 1e9:.3f}",
               f"{measured['host_bytes'] / 1e9:.3f}", f"{summary['last_loss']:.3f}"]
        rows.append(row + ([f"{rate:.2f}", f"{memory:.2f}"] if device == "cuda" else []))
widths = [max(len(row[column]) for row in rows)
          for column in range(len(header) + (2 if device == "cuda" else 0))]
for row in rows:
    print("  ".join(text.rjust(width) if column else text.ljust(width)
                    for column, (text, width) in enumerate(zip(row, widths))))
PY
