#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Sets up like examples/setup.sh, builds everything and runs every test. Arguments go to `meson
# test` (`tests/run.sh --suite plan`). The last line counts the test cases: `N passed, N failed, N
# skipped`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "${ELIXIR_TEST_ACCEPT:-}" ]; then
  echo "tests/run.sh: ELIXIR_TEST_ACCEPT is set:" \
    "golden files would be rewritten instead of compared" >&2
  echo "  = help: unset it; to accept new golden files run \`meson test -C build\` itself" >&2
  exit 2
fi

"$root/examples/setup.sh" --tests

meson="$root/.venv/bin/meson"
[ -z "${ELIXIR_PYTHON:-}" ] && [ -x "$meson" ] ||
  meson=$(dirname "$(command -v "${ELIXIR_PYTHON:-python3}")")/meson
[ -x "$meson" ] || meson=$(command -v meson)

# Kernels use several threads themselves: one test at a time and a second beside it is what a
# machine bears. OpenMP's threads sleep while they wait: two tests whose threads spin take each
# other's cores, and ten times as long.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}
status=0
"$meson" test -C "$root/build" --no-rebuild --print-errorlogs --num-processes 2 \
  --timeout-multiplier 3 "$@" || status=$?
echo
python3 "$root/tests/count_results.py" "$root/build/meson-logs" || status=1
exit "$status"
