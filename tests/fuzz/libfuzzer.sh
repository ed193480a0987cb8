#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Builds a fuzz target that needs no LibTorch with clang's libFuzzer, ASan and UBSan, and runs it on
# a copy of its corpus (checkpoint, safetensors and torchscript need LibTorch: the driver beside
# this runs them).
#
#   tests/fuzz/libfuzzer.sh TARGET [libFuzzer's flags]
#   tests/fuzz/libfuzzer.sh plan -max_total_time=3600
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
target=${1:?name a target, such as plan}
shift
clang=${CLANGXX:-clang++-14}
work=build-fuzz/$target
mkdir -p "$work/corpus" "$work/objects"
[ -f build-fuzz/elixir_config.h ] || printf '%s\n' '#define ELIXIR_VERSION "fuzz"' \
  '#define ELIXIR_PROFILES_INSTALLED ""' '#define ELIXIR_LIBEXEC_INSTALLED ""' \
  '#define ELIXIR_PROFILES_SOURCE ""' >build-fuzz/elixir_config.h
flags=(-std=c++20 -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
  -DFMT_HEADER_ONLY -Ilib -I. -Itests -Ibuild-fuzz)
documents=(lib/{core,program,operators,hardware,plan}/*.cc lib/operators/*/*.cc)
case $target in
  zip_directory) sources=(lib/core/*.cc lib/capture/archive/zip_directory.cc) ;;
  input_spec | model_messages) sources=("${documents[@]}" lib/{model,process}/*.cc) ;;
  hardware | plan | sizes) sources=("${documents[@]}") ;;
  profile) sources=("${documents[@]}" lib/memory/*/*.cc) ;;
  *) sources=("${documents[@]}" lib/{memory/*,schedule,schedule/*,search,check}/*.cc
    tests/fakes/program_builder.cc) ;;
esac
# A dozen sources at a time, as `meson --unity` does: headers take most of a compilation.
units=("tests/fuzz/$target.cc")
for ((i = 0; i < ${#sources[@]}; i += 12)); do
  unit=$work/objects/unit$((i / 12)).cc
  printf '#include "%s"\n' "${sources[@]:i:12}" >"$unit.new"
  cmp -s "$unit.new" "$unit" || cp "$unit.new" "$unit"
  units+=("$unit")
done
for unit in "${units[@]}"; do
  # One object for targets whose sources are the same.
  object=build-fuzz/$(cat "$unit" | sha256sum | cut -c1-16).o
  if [ ! -e "$object" ] ||
    [ -n "$(find lib tests/fuzz tests/fakes -newer "$object" -name '*.[ch]*' -print -quit)" ]; then
    "$clang" "${flags[@]}" -c "$unit" -o "$object"
  fi
  objects+=("$object")
done
"$clang" -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$work/fuzz" -lspdlog -lfmt -pthread
cp -n "tests/fuzz/corpus/$target/"* "$work/corpus/"
cd "$work"
exec ./fuzz -timeout=10 -rss_limit_mb=2048 "$@" corpus
