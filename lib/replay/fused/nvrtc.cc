// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/fused/nvrtc.h"

#include <cstddef>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"

namespace elixir::replay {
namespace {

/// The functions of nvrtc.h, which a build without CUDA lacks.
class Nvrtc {
 public:
  using Program = void*;
  using Status = int;  // 0: success

  Status (*create)(Program*,
                   const char* source,
                   const char* name,
                   int headers,
                   const char* const* contents,
                   const char* const* names) = nullptr;
  Status (*destroy)(Program*) = nullptr;
  Status (*compile)(Program, int count, const char* const* options) = nullptr;
  Status (*code_size)(Program, std::size_t*) = nullptr;
  Status (*code)(Program, char*) = nullptr;
  Status (*log_size)(Program, std::size_t*) = nullptr;
  Status (*log)(Program, char*) = nullptr;

  static const Nvrtc& instance() {
    static const Nvrtc loaded;
    return loaded;
  }

 private:
  Nvrtc() : library_(dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) fail(dlerror());
    find("nvrtcCreateProgram", create);
    find("nvrtcDestroyProgram", destroy);
    find("nvrtcCompileProgram", compile);
    find("nvrtcGetCUBINSize", code_size);
    find("nvrtcGetCUBIN", code);
    find("nvrtcGetProgramLogSize", log_size);
    find("nvrtcGetProgramLog", log);
  }

  [[noreturn]] static void fail(const char* why) {
    throw Error(ErrorCode::kMissingFeature,
                "kernels of fused operators are compiled by NVRTC, which cannot be loaded: {}",
                why == nullptr ? "no reason given" : why)
        .help("install the NVRTC that LibTorch needs (nvidia-cuda-nvrtc)")
        .help("or plan without groups of operators: elixir-search --arithmetic fused");
  }
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) fail(dlerror());
  }

  void* library_;
};

}  // namespace

std::vector<char> compile_cuda(const std::string& source,
                               int sm,
                               std::vector<const char*> options) {
  const Nvrtc& nvrtc = Nvrtc::instance();
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", sm);
  options.push_back(architecture.c_str());
  struct Compilation {
    const Nvrtc& nvrtc;
    Nvrtc::Program program = nullptr;
    ~Compilation() { nvrtc.destroy(&program); }
  } compilation{nvrtc};
  require(nvrtc.create(
              &compilation.program, source.c_str(), "elixir_fused.cu", 0, nullptr, nullptr) == 0,
          "NVRTC takes no source");
  const int status =
      nvrtc.compile(compilation.program, static_cast<int>(options.size()), options.data());
  if (status != 0) {
    std::size_t bytes = 0;
    nvrtc.log_size(compilation.program, &bytes);
    std::string log(bytes, '\0');
    nvrtc.log(compilation.program, log.data());
    throw Error(
        ErrorCode::kInternal, "the kernel of a fused operator does not compile for sm_{}", sm)
        .note(log.c_str());
  }
  std::size_t bytes = 0;
  require(nvrtc.code_size(compilation.program, &bytes) == 0 && bytes > 0, "NVRTC made no code");
  std::vector<char> code(bytes);
  require(nvrtc.code(compilation.program, code.data()) == 0, "NVRTC gave no code");
  return code;
}

}  // namespace elixir::replay
