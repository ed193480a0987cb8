#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Builds a fuzz target that needs no LibTorch with clang's libFuzzer, ASan and UBSan, and runs it on a copy of its corpus.
#
#   tests/fuzz/libfuzzer.sh TARGET [libFuzzer's flags]      e.g. tests/fuzz/libfuzzer.sh pickle -max_total_time=3600
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
target=${1:?name a target, such as pickle}
shift
clang=${CLANGXX:-clang++-14}
work=build-fuzz/$target
mkdir -p "$work/corpus" "$work/objects"
[ -f build-fuzz/elixir_config.h ] || printf '%s\n' '#define ELIXIR_VERSION "fuzz"' \
  '#define ELIXIR_PROFILES_INSTALLED ""' '#define ELIXIR_PROFILES_SOURCE ""' >build-fuzz/elixir_config.h
flags=(-std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  -DFMT_HEADER_ONLY -Ilib -I. -Itests -Ibuild-fuzz)
mapfile -t sources < <(ls lib/{core,program,operators,memory,hardware,plan,schedule,check}/*.cc \
  lib/{memory,operators,search}/*/*.cc lib/capture/archive/{code_check,pickle_check,pickle_values,record_check,zip_directory}.cc \
  tests/fakes/program_builder.cc 2>/dev/null)
case $target in
  pickle | code) sources=(lib/capture/archive/{code_check,pickle_check,pickle_values}.cc) ;;
esac
for source in "${sources[@]}" "tests/fuzz/$target.cc"; do
  object=build-fuzz/${source//\//_}.o
  [ "$object" -nt "$source" ] || "$clang" "${flags[@]}" -c "$source" -o "$object"
  objects+=("$object")
done
"$clang" -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$work/fuzz" -lspdlog -lfmt -pthread
cp -n "tests/fuzz/corpus/$target/"* "$work/corpus/"
cd "$work"
exec ./fuzz -timeout=10 -rss_limit_mb=2048 "$@" corpus
