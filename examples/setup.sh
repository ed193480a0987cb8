#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Elixir authors
#
# Sets up Elixir in this source tree: system packages, a private Python environment in .venv (which
# brings LibTorch), and a Meson build in build/. Safe to run again: what is there is reused, and a
# second run does next to nothing.
#
#   examples/setup.sh                build the tools
#   examples/setup.sh --tests        build the tests too
#   examples/setup.sh --checks       also require the tools that tests/check.sh uses (clang 14,
#                                    help2man) and, on Debian, the browser that looks at reports in
#                                    tests (chromium)
#   examples/setup.sh --cpu          LibTorch without CUDA: for a machine without an NVIDIA GPU.
#                                    Profiles and plans for CUDA targets work all the same. .venv
#                                    stays so in later runs; delete it to change.
#   examples/setup.sh --no-build     stop once the build is configured
#
# Environment: ELIXIR_PYTHON  a Python that already has torch 2.11.0 (no .venv is made and nothing
#                             is downloaded)
#              ELIXIR_JOBS    compile jobs at a time (default: one per core and 2 GiB of free
#                             memory)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv="$root/.venv"
build="$root/build"
want_tests=no want_checks=no want_build=yes want_cpu=no

usage() { sed -n '5,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
started=$SECONDS
step() { printf '==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }
fail() {
  printf 'setup: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '  = help: %s\n' "$line" >&2; done
  exit 3
}

while [ $# -gt 0 ]; do
  case $1 in
    --tests) want_tests=yes ;;
    --checks) want_checks=yes ;;
    --cpu) want_cpu=yes ;;
    --no-build) want_build=no ;;
    -h | --help) usage; exit 0 ;;
    *)
      printf 'setup: unknown argument `%s`\n' "$1" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done

# --- 1. System packages ---------------------------------------------------------------------------

compiler=${CXX:-g++}

has_module() { pkg-config --exists "$1" 2>/dev/null; }

python_usable() {
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}

# The Python from which .venv is made; prefers one that can make it without further packages.
find_python() {
  local candidate found=
  for candidate in python3 python3.12 python3.11 python3.13 python3.14 /usr/bin/python3; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    python_usable "$candidate" || continue
    [ -n "$found" ] || found=$candidate
    if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then
      found=$candidate
      break
    fi
  done
  printf '%s' "$found"
}

missing_packages() {
  local python_base
  command -v "$compiler" >/dev/null || echo g++
  command -v pkg-config >/dev/null || echo pkg-config
  has_module CLI11 || echo libcli11-dev
  has_module nlohmann_json || echo nlohmann-json3-dev
  has_module spdlog || echo libspdlog-dev
  has_module fmt || echo libfmt-dev
  has_module gtest_main || echo libgtest-dev
  has_module gmock || echo libgmock-dev
  has_module libcrypto || echo libssl-dev
  if [ -z "${ELIXIR_PYTHON:-}" ] && [ ! -x "$venv/bin/python3" ]; then
    python_base=$(find_python)
    if [ -z "$python_base" ]; then
      echo python3 python3-venv
    elif ! "$python_base" -c 'import venv, ensurepip' 2>/dev/null; then
      echo python3-venv
    fi
  fi
  if [ "$want_checks" = yes ]; then
    local tool
    for tool in clang-14 clang-format-14 clang-tidy-14 help2man; do
      command -v "$tool" >/dev/null || echo "$tool"
    done
    # For sanitizers.
    compgen -G '/usr/lib/llvm-14/lib/clang/*/lib/linux/libclang_rt.asan-*.a' >/dev/null ||
      echo libclang-rt-14-dev
    # Ubuntu has it as a snap alone; the test that needs it says that it is skipped.
    if grep -q '^ID=debian' /etc/os-release 2>/dev/null; then
      command -v chromium chromium-browser google-chrome >/dev/null || echo chromium
    fi
  fi
}

install_packages() {
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      fail "these packages are missing: $*" "sudo apt-get install -y --no-install-recommends $*" \
        "then run this again"
    fi
  fi
  command -v apt-get >/dev/null ||
    fail "these packages are missing, and there is no apt-get here: $*" \
      "install what they contain by hand"
  step "System packages: $*"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -q -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2 || note "apt-get update failed; trying with the lists that are here"
  "${apt[@]}" install -y --no-install-recommends "$@" >&2 ||
    fail "apt-get could not install: $*" \
      "check the network and the package sources, then run this again"
}

missing=$(missing_packages | xargs)
if [ -n "$missing" ]; then
  # shellcheck disable=SC2086  # a list of package names
  install_packages $missing
  missing=$(missing_packages | xargs)
  [ -z "$missing" ] ||
    fail "still missing after installing: $missing" "see the messages of apt-get above"
fi

# g++ 12 is the oldest compiler that has the C++20 this needs.
if ! "$compiler" --version | grep -i clang >/dev/null; then
  version=$("$compiler" -dumpversion)
  [ "${version%%.*}" -ge 12 ] || fail "$compiler is version $version; g++ 12 or later is needed" \
    "on Debian 12 and Ubuntu 24.04: apt-get install g++"
fi

# --- 2. Python, which brings LibTorch -------------------------------------------------------------

has_gpu() {
  command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -c '^GPU ' >/dev/null
}

# The nvcc that Meson would find; only the major version of the wheels' CUDA can be linked with
# them.
system_nvcc() {
  local candidate
  for candidate in "$(command -v nvcc 2>/dev/null || true)" /usr/local/cuda/bin/nvcc; do
    if [ -n "$candidate" ] && [ -x "$candidate" ] &&
      "$candidate" --version | grep 'release 13\.' >/dev/null; then
      printf '%s' "$candidate"
      return
    fi
  done
}

requirements=("$root/build-aux/requirements.txt")
cpu_mark="$venv/elixir-cpu"  # .venv has LibTorch without CUDA
[ -n "${ELIXIR_PYTHON:-}" ] || [ ! -f "$cpu_mark" ] || want_cpu=yes
nvcc=
[ "$want_cpu" = yes ] || nvcc=$(system_nvcc)
cuda=auto
if [ "$want_cpu" = yes ]; then
  cuda=disabled
elif [ -z "$nvcc" ] && has_gpu; then
  requirements+=("$root/build-aux/requirements-gpu.txt")
elif [ -z "$nvcc" ]; then
  cuda=disabled
fi

# The index that LibTorch's CPU builds come from: PyPI has, for Linux on x86-64, none but the CUDA
# build.
cpu_index=https://download.pytorch.org/whl/cpu
torch_version=$(sed -n 's/^torch==//p' "$root/build-aux/requirements.txt")
torchvision_version=$(sed -n 's/^torchvision==//p' "$root/build-aux/requirements.txt")

# --no-compile: modules compile when they are first imported; most never are.
pip_install() {
  "$venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-compile "$@" >&2
}

# LibTorch's CPU build. Where its index cannot be reached: PyPI's CUDA build without the libraries
# that need a GPU. libtorch_cpu, which is all that Elixir's tools load then, wants two small ones of
# CUDA's; Python's `import torch` wants all.
install_for_cpu() {
  if pip_install --extra-index-url "$cpu_index" \
    "torch==$torch_version+cpu" "torchvision==$torchvision_version+cpu" \
    -r "${requirements[0]}"; then
    return 0
  fi
  note "no CPU build from $cpu_index: taking LibTorch from PyPI without the CUDA libraries"
  grep -v '^torch' "${requirements[0]}" >"$venv/requirements.txt"
  pip_install -r "$venv/requirements.txt" 'cuda-toolkit[cudart,cupti]==13.0.2' || return 1
  pip_install --no-deps "torch==$torch_version" || return 1
  note "this works for Elixir's tools; Python cannot import such a torch: export models, and run" \
    "the tests, elsewhere"
}

if [ -n "${ELIXIR_PYTHON:-}" ]; then
  python=$(command -v "$ELIXIR_PYTHON") || fail "ELIXIR_PYTHON=$ELIXIR_PYTHON is not an executable"
  "$python" "$root/build-aux/torch/locate.py" >/dev/null ||
    fail "ELIXIR_PYTHON=$ELIXIR_PYTHON cannot be used" \
      "install torch==2.11.0 into it, or unset ELIXIR_PYTHON"
  absent=$("$python" - <<'PY'
import importlib.util
print(*[m for m in ("transformers", "torchvision", "safetensors", "jsonschema")
        if not importlib.util.find_spec(m)])
PY
)
  [ -z "$absent" ] || note "$python lacks: $absent (the exporter or some tests will not run)"
else
  stamp="$venv/elixir-requirements.stamp"
  wanted=$({ cat "${requirements[@]}" && [ "$want_cpu" = no ] || echo cpu; } |
    sha256sum | cut -d' ' -f1)
  if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    begun=$SECONDS
    needed_gib=9
    if [ "$want_cpu" = yes ]; then
      [ -f "$cpu_mark" ] || ! compgen -G "$venv/lib/python3*/site-packages/torch" >/dev/null ||
        fail "$venv has LibTorch with CUDA already" \
          "to have it without: rm -r $venv, then run this again"
      needed_gib=4
      step "Python environment in .venv, LibTorch without CUDA (about 0.5 GB to download," \
        "1.5 GB on disk)"
    else
      step "Python environment in .venv (LibTorch comes with it: 3 GB to download, 5 GB on disk)"
      if ! has_gpu; then
        note "There is no NVIDIA GPU here. PyPI's LibTorch needs CUDA's libraries to load" \
          "even so: 2 GB of the download,"
        note "3.3 GB on disk. examples/setup.sh --cpu leaves them out; profiling for CUDA targets" \
          "works without them."
      fi
    fi
    python_base=$(find_python)
    [ -n "$python_base" ] ||
      fail "no Python 3.11 to 3.14 found" "apt-get install python3 python3-venv"
    free_kib=$(df -Pk "$root" | awk 'NR == 2 { print $4 }')
    if [ ! -d "$venv/lib" ] && [ "$free_kib" -lt $((needed_gib * 1024 * 1024)) ]; then
      fail "$root has $((free_kib / 1024 / 1024)) GiB free;\
 the environment needs $needed_gib while it is being installed" \
        "free some space, or set ELIXIR_PYTHON to a Python that has torch 2.11.0"
    fi
    rm -f "$stamp"
    "$python_base" -m venv "$venv" ||
      fail "$python_base cannot make a virtual environment" "apt-get install python3-venv"
    arguments=()
    for file in "${requirements[@]}"; do arguments+=(-r "$file"); done
    install=(pip_install "${arguments[@]}")
    if [ "$want_cpu" = yes ]; then
      touch "$cpu_mark"
      install=(install_for_cpu)
    fi
    "${install[@]}" ||
      fail "pip could not install the environment" \
        "check the network, then run this again: what is there is kept" \
        "without network: set ELIXIR_PYTHON to a Python that has torch 2.11.0"
    printf '%s\n' "$wanted" >"$stamp"
    note "done in $((SECONDS - begun)) s"
  fi
  python="$venv/bin/python3"
fi

python_bin=$(dirname "$python")
find_tool() {  # NAME MODULE: the tool beside the chosen Python, else on the path
  if [ -x "$python_bin/$1" ]; then
    printf '%s' "$python_bin/$1"
  else
    command -v "$1" || fail "no $1 beside $python nor on the path" "$python -m pip install $1"
  fi
}
meson=$(find_tool meson)
ninja=$(find_tool ninja)
export NINJA=$ninja

# --- 3. Build -------------------------------------------------------------------------------------

# nvcc first on the path, before one of another CUDA version.
if [ -n "$nvcc" ]; then
  PATH="$(dirname "$nvcc"):$PATH"
elif [ ${#requirements[@]} -gt 1 ]; then
  for directory in "$venv"/lib/python3*/site-packages/nvidia/cu13/bin; do
    PATH="$directory:$PATH"
  done
fi
export PATH

# Kernels for the GPUs of this machine. Without one: for all that are known, unless only tests are
# wanted, which do not launch any.
architectures=()
if has_gpu; then
  found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d '. ' | sort -un | paste -sd,)
  [[ ! $found =~ ^[0-9]+(,[0-9]+)*$ ]] || architectures=("-Dgpu_architectures=$found")
elif [ "$want_tests" = yes ]; then
  architectures=(-Dgpu_architectures=90)
fi

configured=$(cat "$build/elixir-configured.stamp" 2>/dev/null || true)
wanted="$python ${nvcc:-} $cuda $compiler"
if [ ! -f "$build/build.ninja" ] || [ "$configured" != "$wanted" ]; then
  begun=$SECONDS
  step "Configuring build/"
  log=$(mktemp)
  # Headers take most of the time of a compilation: sources are compiled a dozen at a time.
  arguments=(setup "$build" "$root" "-Dpython=$python" "-Dcuda=$cuda" "${architectures[@]}"
    --unity=on -Dunity_size=12)
  if [ -f "$build/build.ninja" ]; then
    arguments+=(--wipe)
  elif [ -d "$build" ]; then
    rm -rf "$build"  # a configuration that was interrupted
  fi
  if ! "$meson" "${arguments[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "the build cannot be configured" "the reason stands above; then run this again"
  fi
  rm -f "$log"
  printf '%s' "$wanted" >"$build/elixir-configured.stamp"
  note "done in $((SECONDS - begun)) s"
fi

jobs() {
  local cores memory_kib by_memory
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  by_memory=$((memory_kib / (2 * 1024 * 1024)))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

if [ "$want_build" = yes ]; then
  targets=(elixir-tools)
  if [ "$want_tests" = yes ]; then
    targets=(all meson-test-prereq)  # also what only tests need: tiny models
  fi
  # Nothing to say when nothing is to do (the include rules are checked in every build).
  pending=$("$ninja" -C "$build" -n "${targets[@]}" |
    awk '/^\[/ && !/include-rules/ { n++ } END { print n + 0 }') || pending=unknown
  if [ "$pending" != 0 ]; then
    begun=$SECONDS
    step "Building with ${ELIXIR_JOBS:-$(jobs)} jobs$(
      command -v ccache >/dev/null && echo ' and ccache' || true
    )"
    quiet=()
    [ -t 2 ] || quiet=(--quiet)
    "$ninja" -C "$build" -j "${ELIXIR_JOBS:-$(jobs)}" "${quiet[@]}" "${targets[@]}" >&2 ||
      fail "the build failed" "the first error stands above"
    note "done in $((SECONDS - begun)) s"
  fi
fi

[ $((SECONDS - started)) -lt 2 ] || step "Ready after $((SECONDS - started)) s"
