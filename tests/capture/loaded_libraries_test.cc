// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Tables decide, not the libraries of the process: with libtorch_cuda a thousand more kernels are
// registered, but the programs stay the same.
#include <dlfcn.h>

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "equality.h"

namespace elixir::capture {
namespace {

std::map<std::string, std::string> fingerprints(const program::Target& target) {
  std::map<std::string, std::string> all;
  for (const ModelCase& model_case : model_cases()) {
    if (model_case.dtype != "float32") continue;
    const Model model = Model::load(test_model(model_case.name, model_case.dtype));
    all[model_case.name + "-" + model_case.dtype] =
        program::fingerprint(capture(model, options_of(model_case, target)).program);
  }
  return all;
}

TEST(LoadedLibraries, ProgramsAreTheSameWithAndWithoutLibtorchCuda) {
  const program::Target cpu = *program::Target::parse("cpu");
  const program::Target cuda = *program::Target::parse("cuda:sm_90");
  ASSERT_EQ(dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY), nullptr) << "loaded already";
  const auto cpu_before = fingerprints(cpu);
  const auto cuda_before = fingerprints(cuda);
  EXPECT_NE(cpu_before, cuda_before);
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    GTEST_SKIP() << "this LibTorch has no CUDA half: " << dlerror();
  }
  EXPECT_EQ(fingerprints(cpu), cpu_before);
  EXPECT_EQ(fingerprints(cuda), cuda_before);
}

}  // namespace
}  // namespace elixir::capture
