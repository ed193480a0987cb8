#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Three trainings on the Python standard library, by Elixir and by plain PyTorch: the same first
# weights, rows and learning rates. Draws their curves, and writes all numbers to trainings.json.
# Downloads nothing. What is there is used again.
#
#   opt-350m    OPT-350M over bytes in fp16 with a loss scale, and in bf16; AdamW on the host
#   classifier  a small BERT on two ranks of the CPU, beside DistributedDataParallel
#   strategies  OPT-125M with everything on the GPU, with AdamW on the host, in the least memory
#
#   examples/trainings.sh               on one GPU
#   examples/trainings.sh --cpu         tiny models on the CPU: shows that it works, and no speed
#   examples/trainings.sh --only NAME   one of the three; may be repeated
#   --output DIR (runs/trainings)  --hardware H (measured with elixir-bench if it is left out; `cpu`
#   with --cpu)  --steps N (of opt-350m: 300; 150 with --cpu)  --force (begins again)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
steps='' device=cuda run="$root/runs/trainings" hardware='' force='' parts=''
while [ $# -gt 0 ]; do
  case $1 in
    --only) parts="$parts ${2:?--only needs opt-350m, classifier or strategies}"; shift ;;
    --steps) steps=${2:?--steps needs a number}; shift ;;
    --output) run=${2:?--output needs a directory}; shift ;;
    --hardware) hardware=${2:?--hardware needs a document}; shift ;;
    --cpu) device=cpu ;;
    --force) force=1 ;;
    -h | --help) sed -n '5,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "trainings: unknown argument \`$1\`" >&2; exit 2 ;;
  esac
  shift
done
parts=${parts:-opt-350m classifier strategies}
for part in $parts; do
  case $part in
    opt-350m | classifier | strategies) ;;
    *)
      echo "trainings: no training \`$part\`: use opt-350m, classifier or strategies" >&2
      exit 2
      ;;
  esac
done

python=$(realpath -s "$(command -v "${ELIXIR_PYTHON:-$root/.venv/bin/python3}")") || {
  echo "trainings: no Python with torch and transformers;" \
    "run examples/setup.sh, or set ELIXIR_PYTHON" >&2
  exit 3
}
[ ! -f "$hardware" ] || hardware=$(realpath "$hardware")
PATH="$(realpath -m "${ELIXIR_TOOLS:-$root/build/tools}"):$PATH"
export PATH
command -v elixir-train >/dev/null || {
  echo "trainings: elixir-train is not built; run examples/setup.sh" >&2
  exit 3
}
if [ "$device" = cuda ]; then
  if ! command -v nvidia-smi >/dev/null ||
    ! nvidia-smi -L 2>/dev/null | grep -c '^GPU ' >/dev/null; then
    echo "trainings: there is no NVIDIA GPU here;" \
      "--cpu runs the same with tiny models on the CPU" >&2
    exit 3
  fi
  target=cuda:sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p')
  steps=${steps:-300}
  memory=() host=()
else
  target=cpu steps=${steps:-150} hardware=${hardware:-cpu}
  host=(--host-memory 4GiB) memory=(--gpu-memory 512MiB "${host[@]}")
  export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
fi
scripts="$root/examples/trainings"

mkdir -p "$run"
cd "$run"
run=$PWD
settings="$device, $steps steps"
if [ -z "$force" ] && [ -f settings.txt ] && [ "$(cat settings.txt)" != "$settings" ]; then
  echo "trainings: $run has trainings of other sizes ($(cat settings.txt), not $settings):" \
    "use --force to begin again, or another --output" >&2
  exit 2
fi
if [ -n "$force" ]; then
  for part in $parts; do rm -rf "${run:?}/$part"; done
fi
echo "$settings" >settings.txt

step() { printf '\n==> %s\n' "$*"; }
value() { "$python" -c 'import functools, json, sys
print(functools.reduce(lambda record, key: record[key], sys.argv[2].split("."),
                       json.load(open(sys.argv[1]))))' "$@"; }

[ -f train.txt ] || "$python" - <<'PY'
import pathlib, sysconfig
root = pathlib.Path(sysconfig.get_path("stdlib"))
skipped = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "config"}
files = sorted(p for p in root.rglob("*.py") if not skipped & set(p.relative_to(root).parts))
pathlib.Path("train.txt").write_bytes(b"\n".join(p.read_bytes() for p in files))
PY

if [ -z "$hardware" ]; then
  hardware="$run/hardware.json"
  if [ ! -f "$hardware" ]; then
    step "Hardware: what this machine can do"
    elixir-bench -q --quick --device "$device" -o "$hardware" >hardware.txt
  fi
fi

# The model NAME in DTYPE, batch x sequence: DTYPE.pt without weights, the first weights in
# DTYPE.safetensors, and the profile.
model() {
  local name=$1 dtype=$2
  [ -f "$dtype.pt" ] ||
    "$python" "$root/examples/export_hf.py" "$name" "$dtype.pt" --meta --dtype "$dtype" \
      --batch "$batch" --sequence "$sequence" --dropout 0
  [ -f "$dtype.safetensors" ] ||
    "$python" "$scripts/initial_weights.py" "$dtype.pt" "$dtype.safetensors"
  elixir-profile -q "$dtype.pt" --target "$target" -o "$dtype.profile.json" --force \
    >"$dtype.profile.txt"
}

# elixir NAME DTYPE FLAGS_OF_THE_SEARCH... and torch NAME DTYPE: one run each, with "${common[@]}".
elixir() {
  local name=$1 dtype=$2
  shift 2
  [ ! -f "$name/summary.json" ] || return 0
  echo "    Elixir, $name"
  elixir-search -q --profile "$dtype.profile.json" --hardware "$hardware" "$@" -o "$name.json" \
    --force >"$name.search.txt"
  elixir-train -q --plan "$name.json" --model "$dtype.pt" --weights "$dtype.safetensors" \
    --data ../train.txt --device "$device" --checkpoint-every 0 "${common[@]}" \
    -o "$name" --force >"$name.train.txt"
  tail -n 1 "$name.train.txt" | sed 's/^/    /'
}
torch() {
  local name=$1 dtype=$2
  [ ! -f "$name/summary.json" ] || return 0
  "$python" "$scripts/torch_training.py" --model "$dtype.pt" --weights "$dtype.safetensors" \
    --data ../train.txt --device "$device" --batch "$batch" --sequence "$sequence" \
    "${common[@]}" -o "$name"
}

# The loss scale begins far too high, so that the first steps show how it comes down.
opt-350m() {
  local batch=8 sequence=512 name=opt-350m rate=3e-4 dtype short
  if [ "$device" = cpu ]; then
    # As in OPT-350M, norms come after the blocks, and embeddings are narrower than the blocks.
    batch=4 sequence=64 name=tiny.json rate=3e-3
    echo '{"model_type": "opt", "hidden_size": 64, "num_hidden_layers": 2, "ffn_dim": 256,
      "num_attention_heads": 4, "word_embed_proj_dim": 32, "do_layer_norm_before": false,
      "vocab_size": 512, "max_position_embeddings": 256}' >tiny.json
  fi
  local common=(--steps "$steps" --lr "$rate" --lr-schedule linear
    --warmup-steps $((steps / 10)) --betas "0.9,0.999" --eps 1e-8 --weight-decay 0.01
    --clip-norm 1 --seed 0)
  for dtype in float16 bfloat16; do
    step "opt-350m in $dtype: $steps steps of $batch x $sequence bytes"
    model "$name" "$dtype"
    short=bf16
    if [ "$dtype" = float16 ]; then
      short=fp16
      common+=(--loss-scale dynamic:initial=16777216)
    fi
    elixir "elixir-$short" "$dtype" "${memory[@]}" --optimizer-state host
    torch "torch-$short" "$dtype"
    [ "$dtype" = bfloat16 ] || unset 'common[-1]' 'common[-1]'
  done
}

# An epoch is as many steps as draw as many samples as there are.
classifier() {
  local epochs=4 rate=1e-3 warmup=20 per_epoch epoch from
  export OMP_NUM_THREADS=1
  per_epoch=$("$python" "$scripts/classifier.py" steps)
  step "classifier: $epochs epochs of $per_epoch steps on two ranks of the CPU"
  if [ ! -f train.safetensors ] || [ ! -f held-out.safetensors ]; then
    "$python" "$scripts/classifier.py" data train.safetensors held-out.safetensors
  fi
  [ -f model.pt ] || "$python" "$scripts/classifier.py" export model.pt
  if [ ! -f plan.json ]; then
    elixir-profile -q model.pt --target cpu -o model.profile.json --force >profile.txt
    elixir-search -q --profile model.profile.json --hardware cpu --gpus 2 --gpu-memory 512MiB \
      --host-memory 4GiB -o plan.json --force >search.txt
  fi
  for ((epoch = 1; epoch <= epochs; ++epoch)); do
    [ ! -f "epoch-$epoch.txt" ] || continue
    echo "    Elixir, epoch $epoch"
    from=(--resume elixir)
    [ "$epoch" -gt 1 ] ||
      from=(--plan plan.json --model model.pt --data train.safetensors --device cpu
        --lr "$rate" --warmup-steps "$warmup" --weight-decay 0.01 --clip-norm 1 --seed 0
        -o elixir --force)
    rm -f "epoch-$epoch.safetensors"
    elixir-train -q "${from[@]}" --steps $((epoch * per_epoch)) \
      --export "epoch-$epoch.safetensors" >log.txt
    mv log.txt "epoch-$epoch.txt"
  done
  if [ ! -f scores.jsonl ]; then
    "$python" "$scripts/classifier.py" score epoch-*.safetensors >scores.txt
    mv scores.txt scores.jsonl
  fi
  sed 's/^/    Elixir:  /' scores.jsonl
  [ -f torch/scores.jsonl ] ||
    "$python" "$scripts/classifier.py" ddp --model model.pt --epochs "$epochs" \
      --steps-per-epoch "$per_epoch" --lr "$rate" --warmup-steps "$warmup" -o torch
  sed 's/^/    PyTorch: /' torch/scores.jsonl
}

strategies() {
  local batch=16 sequence=256 name=opt-125m count=60 rate=3e-4 status=0 budget
  if [ "$device" = cpu ]; then
    batch=4 sequence=64 name=opt-tiny count=30 rate=3e-3
  fi
  local common=(--steps "$count" --lr "$rate" --lr-schedule linear --warmup-steps 10
    --betas "0.9,0.999" --eps 1e-8 --weight-decay 0.01 --clip-norm 1 --seed 0)
  step "strategies: $count steps of $batch x $sequence bytes each"
  model "$name" float32
  elixir fp32 float32 "${memory[@]}"
  torch torch-fp32 float32
  model "$name" float16
  elixir fp16 float16 "${memory[@]}"
  torch torch-fp16 float16
  elixir fp16-optimizer-host float16 "${memory[@]}" --optimizer-state host
  # As little device memory as it takes, and a tenth more.
  elixir-search --json --profile float16.profile.json --hardware "$hardware" \
    "${host[@]}" --gpu-memory 1024B -o none.json --force >smallest.json 2>/dev/null || status=$?
  [ "$status" = 1 ] || { cat smallest.json >&2; return "$status"; }
  budget=$(($(value smallest.json document.minimum_gpu_memory_bytes) * 11 / 10))
  elixir fp16-least-memory float16 "${host[@]}" --gpu-memory "${budget}B"
}

failed=''
for part in $parts; do
  mkdir -p "$part"
  # Not in a condition: that would switch `set -e` off inside.
  set +e
  (
    set -e
    cd "$part"
    "$part"
  )
  status=$?
  set -e
  if [ "$status" != 0 ]; then
    echo "trainings: $part ended with $status; the others go on" >&2
    failed="$failed $part"
  fi
  "$python" "$scripts/collect.py" . --device "$device"
  "$python" "$scripts/curves.py" trainings.json
done

step "Result: $run/trainings.json, and a picture of each training"
"$python" "$scripts/collect.py" . --table
[ -z "$failed" ] || { echo "trainings: failed:$failed" >&2; exit 4; }
