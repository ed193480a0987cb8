#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Checks what the tests do not see: formatting, lines of at most 100 columns, include rules, sources
# and headers that compile alone (with clang++), schemas, shell and Python scripts, links between
# documents, clang-tidy, and tests under AddressSanitizer, UBSan and ThreadSanitizer
# (sanitizers_torch: of the half that includes LibTorch; it takes as long as all others together).
#
#   tests/check.sh              all checks
#   tests/check.sh format tidy  only these; `--list` names them
#
# A check whose tool is missing is waived with a message; with CI set in the environment it fails. A
# check without anything to look at fails. tests/checks/check_test.py sees each of them fail.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
all_checks=(format columns includes alone schemas scripts links tidy sanitizers sanitizers_torch)

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${all_checks[@]}"
  exit 0
fi
for name in "$@"; do
  [[ " ${all_checks[*]} " == *" $name "* ]] || {
    printf 'check: unknown check `%s`; known: %s\n' "$name" "${all_checks[*]}" >&2
    exit 2
  }
done
chosen=("$@")
[ ${#chosen[@]} -gt 0 ] || chosen=("${all_checks[@]}")

if [ ! -f build/build.ninja ] || [ ! -x .venv/bin/meson ] && [ -z "${ELIXIR_PYTHON:-}" ]; then
  ./examples/setup.sh --no-build
fi
python=${ELIXIR_PYTHON:-$root/.venv/bin/python3}
python_bin=$(dirname "$(command -v "$python")")
meson=$python_bin/meson
[ -x "$meson" ] || meson=$(command -v meson)
ninja=$python_bin/ninja
[ -x "$ninja" ] || ninja=$(command -v ninja)
export NINJA=$ninja
cores=$(nproc)

# sources PATTERN: the files of the tree whose path matches; fails when none does.
sources() { "$python" build-aux/list_sources.py "$root" "$1"; }

waived=77
need() {
  command -v "$1" >/dev/null && return
  echo "no $1 on the path (apt-get install ${2:-$1})"
  [ -n "${CI:-}" ] && return 1
  return $waived
}

check_format() {
  need clang-format-14 || return $?
  local files report unformatted
  files=$(sources '\.(h|cc|cu|cuh)$')
  report=$(xargs clang-format-14 --dry-run --Werror <<<"$files" 2>&1) || {
    unformatted=$(sed -n 's/^\([^:]*\):[0-9].*/\1/p' <<<"$report" | sort -u)
    printf 'not formatted (clang-format -i FILE): %s\n' "${unformatted:-$report}"
    return 1
  }
}

# No line is longer than 100 columns. Exceptions: a line with a web address, and in C++ a row of a
# table that begins with a string (clang-format has broken every other line).
check_columns() {
  local files long
  files=$(sources '\.(h|cc|cu|cuh|py|sh)$|^\.ci/|(^|/)meson(\.build|_options\.txt)$')
  long=$(LC_ALL=C.UTF-8 xargs grep -HnE '.{101}' <<<"$files" |
    grep -vE 'https?://|^[^:]*\.(h|cc|cu|cuh):[0-9]+: *[{(]*R?"' || [ $? -lt 124 ])
  [ -z "$long" ] || {
    printf 'longer than 100 columns:\n%s\n' "$long"
    return 1
  }
}

check_includes() { "$python" build-aux/check_includes.py "$root"; }

# configure_to_read DIRECTORY ARGUMENTS…: a build by clang++ of which only the compile commands are
# wanted, with the headers and sources that a build generates. Sources may have come or gone since
# the folder was made.
configure_to_read() {
  CXX=clang++-14 configure "$@" --buildtype=plain || return 1
  "$ninja" -C "$1" --quiet build.ninja || return 1
  local generated
  generated=$("$ninja" -C "$1" -t targets all | sed -nE 's/^(.*\.(h|cc)): CUSTOM_COMMAND.*/\1/p')
  # shellcheck disable=SC2086  # a list of files
  [ -z "$generated" ] || "$ninja" -C "$1" --quiet $generated
}

# Every source and every header of lib/, kernels/ and tools/ compiles alone, with clang++: the build
# compiles sources a dozen at a time, where an include that is missing in one may stand in another.
# A header that a source of its own includes first is checked with it; the others one by one.
check_alone() {
  need clang++-14 clang-14 || return $?
  local headers
  headers=$(sources '^(lib|kernels|tools)/.*\.h$')
  configure_to_read build-clang || return 1
  "$python" build-aux/compile_alone.py "$root" build-clang "$cores" <<<"$headers"
}

check_links() {
  local documents
  documents=$(sources '\.md$')
  "$python" build-aux/check_links.py "$root" <<<"$documents"
}

check_schemas() { "$python" tests/check_schemas.py "$root"; }

check_scripts() {
  local script scripts python_files absent
  scripts=$(sources '\.sh$|^\.ci/')
  while read -r script; do bash -n "$script"; done <<<"$scripts"
  python_files=$(sources '\.py$')
  xargs "$python" -c 'import ast, sys
for path in sys.argv[1:]: ast.parse(open(path, encoding="utf-8").read(), path)' <<<"$python_files"
  # grep -L: exit status 1 when every file has the line.
  absent=$(sources '\.(h|cc|cu|cuh|py|sh)$' |
    { xargs grep -L 'SPDX-License-Identifier: Apache-2.0' || [ $? -lt 124 ]; })
  [ -z "$absent" ] || {
    printf 'no SPDX line in: %s\n' "$absent"
    return 1
  }
}

# configure DIRECTORY ARGUMENTS…: a build directory beside build/, made once.
configure() {
  local directory=$1
  shift
  if [ ! -f "$directory/build.ninja" ]; then
    rm -rf "$directory"
    "$meson" setup "$directory" "-Dpython=$python" "$@" >"$directory.log" 2>&1 || {
      cat "$directory.log"
      rm -f "$directory.log"
      return 1
    }
    rm -f "$directory.log"
  fi
}

# clang-tidy reads sources a dozen at a time, as they are compiled; clang's analyzer looks into
# sources that another includes. Findings go to stdout; stderr only counts suppressed ones. The
# path-sensitive analysis is for the planning half alone: with LibTorch's headers it takes most of a
# minute a file.
check_tidy() {
  local status=0 half checks files
  need clang-tidy-14 || return $?
  need clang++-14 clang-14 || return $?
  configure_to_read build-tidy --unity=on -Dunity_size=12 || return 1
  for half in planning libtorch; do
    checks=-bugprone-suspicious-include
    [ "$half" = planning ] || checks+=',-clang-analyzer-*'
    files=$("$python" build-aux/tidy_sources.py "$root" build-tidy "$half") || return 1
    xargs -r -P "$cores" -n 1 clang-tidy-14 -p build-tidy --quiet "--checks=$checks" \
      '--header-filter=(lib|kernels|tools)/.*\.(h|cc)$' <<<"$files" 2>/dev/null || status=1
  done
  return $status
}

# What both halves' builds have in common. clang links the sanitizers' runtime into executables
# alone: libraries are left with undefined symbols. They are not optimized: clang would take 2.4
# times as long for it, which is more than the tests win.
sanitized() {
  CXX=clang++-14 configure "$1" --unity=on -Dunity_size=12 --buildtype=plain \
    -Db_lundef=false "${@:2}"
}

# under_address_sanitizer DIRECTORY NAME…: the tests in C++, without the named ones. (What scripts
# do with whole tools is not worth the time.) `meson test` builds what they need and no more.
# Fuzzers run under sanitizers for as long as one likes by tests/fuzz/libfuzzer.sh.
under_address_sanitizer() {
  local tests
  # Tests may have come or gone since the folder was made.
  "$ninja" -C "$1" --quiet build.ninja || return 1
  tests=$("$meson" introspect --tests "$1" | "$python" -c '
import json, sys
for test in json.load(sys.stdin):
    fuzzer = any(suite.endswith("fuzz") for suite in test["suite"])
    if test["protocol"] == "gtest" and not fuzzer and test["name"] not in sys.argv[1:]:
        print(test["name"])' "${@:2}") || return 1
  [ -n "$tests" ] || {
    echo "no tests in $1"
    return 1
  }
  # shellcheck disable=SC2086  # a list of names
  ASAN_OPTIONS=detect_leaks=1 \
    LSAN_OPTIONS=suppressions=$root/build-aux/lsan.supp:print_suppressions=0 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    "$meson" test -C "$1" --quiet --print-errorlogs --timeout-multiplier 8 $tests
}

# The tests of the planning half under AddressSanitizer and UBSan, then those of threads under
# ThreadSanitizer.
check_sanitizers() {
  need clang++-14 clang-14 || return $?
  sanitized build-asan -Dcuda=disabled -Dtorch=disabled -Dsanitizer=address || return 1
  sanitized build-tsan -Dcuda=disabled -Dtorch=disabled -Dsanitizer=thread || return 1
  # recorded-programs: profiles of whole models, for minutes.
  under_address_sanitizer build-asan recorded-programs || return 1
  local -x TSAN_OPTIONS=second_deadlock_stack=1
  "$meson" test -C build-tsan --quiet --print-errorlogs --timeout-multiplier 8 \
    lanes task-order host-operations thread-pool parallel || return 1
  # One search whose choices of activations are searched at the same time. All of them would take
  # half an hour.
  "$meson" test -C build-tsan --quiet --print-errorlogs --timeout-multiplier 8 search \
    --test-args=--gtest_filter=Search.OffloadsWhereActivationsDoNotFit
}

# The tests of the half that includes LibTorch, which is not instrumented itself, under
# AddressSanitizer and UBSan.
check_sanitizers_torch() {
  need clang++-14 clang-14 || return $?
  sanitized build-asan-torch -Dcuda=disabled -Dsanitizer=address || return 1
  # The other half's, as long as they take more than a minute.
  under_address_sanitizer build-asan-torch recorded-programs search schedule memory
}

failed=()
for name in "${chosen[@]}"; do
  begun=$SECONDS
  # Not `output=$(…) || status=$?`: behind `||` bash goes on after a command that fails, in the
  # whole function.
  set +e
  output=$(set -e; "check_$name" 2>&1)
  status=$?
  set -e
  if [ "$status" = 0 ]; then
    printf 'ok      %-11s %4d s\n' "$name" $((SECONDS - begun))
  elif [ "$status" = "$waived" ]; then
    printf 'waived  %-11s %s\n' "$name" "$output"
  else
    printf '%s\nFAILED  %-11s %4d s\n' "$output" "$name" $((SECONDS - begun))
    failed+=("$name")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then
  printf 'checks failed: %s\n' "${failed[*]}"
  exit 1
fi
echo 'all checks passed'
