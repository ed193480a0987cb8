#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Builds in build-gpu and runs every test of suite `gpu` on a machine with a CUDA GPU; fails when
# none ran. Arguments go to `meson test`. Environment: ELIXIR_PYTHON, a Python with torch 2.11.0
# (default: .venv, else python3).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
nvidia-smi -L >/dev/null 2>&1 || {
  echo 'tests/gpu/run.sh: no NVIDIA GPU here (nvidia-smi finds none)' >&2
  exit 3
}
python=${ELIXIR_PYTHON:-python3}
[ -n "${ELIXIR_PYTHON:-}" ] || [ ! -x .venv/bin/python3 ] || python=$root/.venv/bin/python3
[ -f build-gpu/build.ninja ] ||
  meson setup build-gpu -Dpython="$(command -v "$python")" >build-gpu.log 2>&1 || {
  cat build-gpu.log >&2
  exit 3
}
rm -f build-gpu.log
ninja -C build-gpu --quiet all meson-test-prereq
status=0
meson test -C build-gpu --no-rebuild --print-errorlogs --num-processes 1 --suite gpu "$@" ||
  status=$?
counts=$(python3 tests/count_results.py build-gpu/meson-logs) || status=1
echo "$counts"
case $counts in
  '0 passed'*) echo 'tests/gpu/run.sh: no test ran' >&2; status=1 ;;
esac
exit "$status"
