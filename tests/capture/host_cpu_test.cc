// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The target `cpu` is this machine's CPU, as LibTorch sees it. A capture for a named CPU does not
// depend on this machine.
#include "capture/host_cpu.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "equality.h"

namespace elixir::capture {
namespace {

using program::CpuIsa;
using program::Target;

bool libtorch_says(const char* question) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(question, "").typed<bool()>().call();
}

TEST(HostCpu, ComputesInTheDtypesThatLibTorchSays) {
  const CpuIsa isa = host_cpu_isa();
  EXPECT_NE(isa, CpuIsa::kUnsaid);
  EXPECT_EQ(program::onednn_computes_in_bf16(isa),
            libtorch_says("mkldnn::_is_mkldnn_bf16_supported"));
  EXPECT_EQ(program::onednn_computes_in_fp16(isa),
            libtorch_says("mkldnn::_is_mkldnn_fp16_supported"));
}

TEST(HostCpu, IsNotAboveOneDnnsLimit) {
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  std::string name = limit == nullptr ? "AVX512_CORE_AMX_FP16" : limit;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  EXPECT_LE(host_cpu_isa(), program::parse_cpu_isa(name).value());
}

TEST(HostCpu, OnlyCpuWithoutInstructionSetBecomesThisMachines) {
  EXPECT_EQ(resolved(*Target::parse("cpu")).isa, host_cpu_isa());
  for (const char* text : {"cpu:avx2", "cpu:avx512_core_amx", "cuda:sm_90"}) {
    EXPECT_EQ(resolved(*Target::parse(text)).text(), text);
  }
  const Model model = Model::load(test_model("control-flow"));
  const auto captured =
      capture(model, options_of({"control-flow", "float32"}, *Target::parse("cpu")));
  EXPECT_EQ(captured.program.target.isa, host_cpu_isa());
}

std::string fingerprint_for(const ModelCase& model_case, const char* target) {
  const Model model = Model::load(test_model(model_case.name, model_case.dtype));
  Captured captured = capture(model, options_of(model_case, *Target::parse(target)));
  EXPECT_EQ(captured.program.target.text(), target);
  captured.program.target = *Target::parse("cpu");  // what remains differs in dispatch
  return program::fingerprint(captured.program);
}

// The result is the same on every machine, whatever that machine dispatches.
TEST(HostCpu, DoesNotDecideWhatIsCapturedForACpuThatIsNamed) {
  const ModelCase fp16{"convolutions", "float16"};
  EXPECT_EQ(fingerprint_for(fp16, "cpu:avx2"), fingerprint_for(fp16, "cpu:avx512_core_bf16"));
  EXPECT_NE(fingerprint_for(fp16, "cpu:avx2"), fingerprint_for(fp16, "cpu:avx512_core_fp16"));
  EXPECT_EQ(fingerprint_for(fp16, "cpu:avx2_vnni_2"),
            fingerprint_for(fp16, "cpu:avx512_core_fp16"));
  const ModelCase bf16{"convolutions", "bfloat16"};
  EXPECT_NE(fingerprint_for(bf16, "cpu:avx2"), fingerprint_for(bf16, "cpu:avx512_core"));
  EXPECT_EQ(fingerprint_for(bf16, "cpu:avx512_core"), fingerprint_for(bf16, "cpu:avx512_core_amx"));
  const ModelCase fp32{"convolutions", "float32"};
  EXPECT_EQ(fingerprint_for(fp32, "cpu:avx2"), fingerprint_for(fp32, "cpu:avx512_core_amx"));
}

// The workspace of oneDNN's LSTM comes from this machine's kernel. These bytes must be right on all
// machines.
TEST(HostCpu, DoesNotDecideTheWorkspaceOfOneDnnsLstm) {
  struct Row {
    at::ScalarType dtype;
    std::int64_t steps, batch, features, hidden, bytes;
  };
  for (const Row row : {Row{at::kFloat, 5, 3, 8, 16, 28672},
                        Row{at::kFloat, 16, 2, 32, 32, 81920},
                        Row{at::kFloat, 7, 4, 10, 20, 57344},
                        Row{at::kFloat, 3, 1, 300, 50, 53248},
                        Row{at::kBFloat16, 16, 2, 32, 32, 65536},
                        Row{at::kBFloat16, 7, 4, 10, 20, 45056},
                        Row{at::kBFloat16, 3, 1, 300, 50, 49152}}) {
    const bool bf16 = row.dtype == at::kBFloat16;
    if (bf16 && !program::onednn_computes_in_bf16(host_cpu_isa())) continue;
    const auto zeros = [&row](at::IntArrayRef sizes) {
      return at::zeros(sizes, at::TensorOptions().dtype(row.dtype));
    };
    const std::int64_t gates = 4 * row.hidden;
    const auto results = at::mkldnn_rnn_layer(zeros({row.steps, row.batch, row.features}),
                                              zeros({gates, row.features}),
                                              zeros({gates, row.hidden}),
                                              zeros({gates}),
                                              zeros({gates}),
                                              zeros({row.batch, row.hidden}),
                                              zeros({row.batch, row.hidden}),
                                              /*reverse=*/false,
                                              /*batch_sizes=*/{},
                                              /*mode=*/2,
                                              row.hidden,
                                              /*num_layers=*/1,
                                              /*has_biases=*/true,
                                              /*bidirectional=*/false,
                                              /*batch_first=*/false,
                                              /*train=*/true);
    EXPECT_EQ(std::get<3>(results).numel(), row.bytes) << row.steps << " " << row.dtype;
  }
}

}  // namespace
}  // namespace elixir::capture
