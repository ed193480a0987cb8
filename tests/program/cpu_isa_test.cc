// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Targets by name, and which of them match.
#include "program/cpu_isa.h"

#include <gtest/gtest.h>

#include "program/program.h"

namespace elixir::program {
namespace {

Target parsed(const char* text) {
  const auto target = Target::parse(text);
  EXPECT_TRUE(target.has_value()) << text;
  return target.value_or(Target{});
}

TEST(Target, IsReadAsItIsWritten) {
  for (const char* text :
       {"cpu", "cpu:avx2", "cpu:avx512_core_bf16", "cpu:avx512_core_amx_fp16", "cuda:sm_90"}) {
    EXPECT_EQ(parsed(text).text(), text);
  }
  for (const char* text :
       {"", "cpu:", "cpu:avx3", "cpu:AVX2", "cpu :avx2", "cuda:sm_", "cuda:90"}) {
    EXPECT_EQ(Target::parse(text), std::nullopt) << text;
  }
}

TEST(Target, ACpuWithoutInstructionSetGoesWithEveryCpu) {
  EXPECT_TRUE(parsed("cpu").goes_with(parsed("cpu:avx2")));
  EXPECT_TRUE(parsed("cpu:avx2").goes_with(parsed("cpu")));
  EXPECT_TRUE(parsed("cpu:avx2").goes_with(parsed("cpu:avx2")));
  EXPECT_FALSE(parsed("cpu:avx2").goes_with(parsed("cpu:avx512_core")));
  EXPECT_FALSE(parsed("cpu").goes_with(parsed("cuda:sm_90")));
  EXPECT_FALSE(parsed("cuda:sm_80").goes_with(parsed("cuda:sm_90")));
}

TEST(CpuIsa, ComputesInTheDtypesThatLibTorchAsksOneDnnFor) {
  struct Row {
    const char* name;
    bool bf16, fp16;
  };
  for (const Row row : {Row{"sse41", false, false},
                        Row{"avx2", false, false},
                        Row{"avx2_vnni", false, false},
                        Row{"avx2_vnni_2", true, true},
                        Row{"avx512_core", true, false},
                        Row{"avx512_core_vnni", true, false},
                        Row{"avx512_core_bf16", true, false},
                        Row{"avx512_core_fp16", true, true},
                        Row{"avx512_core_amx_fp16", true, true}}) {
    const CpuIsa isa = parse_cpu_isa(row.name).value();
    EXPECT_EQ(onednn_computes_in_bf16(isa), row.bf16) << row.name;
    EXPECT_EQ(onednn_computes_in_fp16(isa), row.fp16) << row.name;
    EXPECT_NE(cpu_isa_names().find(row.name), std::string::npos);
  }
}

TEST(CpuIsa, IsPartOfAProgramsFingerprint) {
  Program program;
  program.target = parsed("cpu:avx2");
  const std::string of_avx2 = fingerprint(program);
  program.target = parsed("cpu:avx512_core");
  EXPECT_NE(fingerprint(program), of_avx2);
}

}  // namespace
}  // namespace elixir::program
