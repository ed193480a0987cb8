// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What a captured program contains about the model, and what the options change.
#include <algorithm>
#include <set>
#include <string>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "equality.h"
#include "program/lifetimes.h"
#include "scripted_model.h"

namespace elixir::capture {
namespace {

using program::Category;
using program::Phase;
using program::Program;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Options for_cpu(const std::string& name = "") {
  return options_of({name, "float32"}, *program::Target::parse("cpu"));
}

Captured capture_model(const std::string& name, const Options& options) {
  return capture(Model::load(test_model(name)), options);
}

int calls_of(const Program& program, const std::string& name) {
  return static_cast<int>(std::count_if(program.operators.begin(),
                                        program.operators.end(),
                                        [&](const auto& call) { return call.name == name; }));
}

const program::Parameter& parameter(const Program& program, const std::string& name) {
  const auto found = std::find_if(program.parameters.begin(),
                                  program.parameters.end(),
                                  [&](const auto& candidate) { return candidate.name == name; });
  EXPECT_NE(found, program.parameters.end()) << name;
  return *found;
}

TEST(CapturedProgram, TiedFrozenAndUnusedParametersAreWhatTheyAre) {
  const Program program = capture_model("frozen", for_cpu()).program;
  EXPECT_EQ(program.parameters.size(), 4U);
  EXPECT_THAT(parameter(program, "embedding.weight").names,
              ElementsAre("embedding.weight", "head.weight"));
  EXPECT_TRUE(parameter(program, "embedding.weight").gradient);
  EXPECT_FALSE(parameter(program, "frozen.weight").requires_grad);
  EXPECT_FALSE(parameter(program, "frozen.weight").gradient);
  EXPECT_TRUE(parameter(program, "unused").requires_grad);
  EXPECT_FALSE(parameter(program, "unused").gradient);
}

TEST(CapturedProgram, GradientsHaveTheirParametersGeometry) {
  for (const char* name : {"gpt2", "resnet50", "convnext"}) {
    const Program program = capture_model(name, for_cpu()).program;
    for (const program::Parameter& each : program.parameters) {
      ASSERT_TRUE(each.gradient) << name << " " << each.name;
      EXPECT_EQ(each.gradient->sizes, each.tensor.sizes) << each.name;
      for (std::size_t d = 0; d < each.tensor.sizes.size(); ++d) {
        if (each.tensor.sizes[d] == 1) continue;  // any stride gives the same place
        EXPECT_EQ(each.gradient->strides[d], each.tensor.strides[d]) << each.name;
      }
      EXPECT_EQ(each.gradient->dtype, each.tensor.dtype) << each.name;
    }
  }
}

TEST(CapturedProgram, VersionsGrowByOneWithEveryWrite) {
  for (const char* name : {"gpt2", "t5", "resnet50", "lstm"}) {
    const Program program = capture_model(name, for_cpu()).program;
    std::vector<std::int32_t> versions(program.storages.size(), 0);
    int writes = 0;
    for (const program::Operator& call : program.operators) {
      program::for_each_tensor(call.arguments, [&](const program::TensorRef& tensor) {
        EXPECT_EQ(tensor.version, versions[static_cast<std::size_t>(tensor.storage)]);
      });
      std::set<program::StorageId> written;
      program::for_each_tensor(call.outputs, [&](const program::TensorRef& tensor) {
        std::int32_t& version = versions[static_cast<std::size_t>(tensor.storage)];
        if (tensor.version == version) return;
        EXPECT_TRUE(call.writes) << program::canonical_text(call);
        EXPECT_EQ(tensor.version, version + 1) << program::canonical_text(call);
        version = tensor.version;
        ++writes;
      });
      // Running statistics are written but not returned.
      if (call.name == "aten::native_batch_norm") {
        for (const std::size_t position : {3, 4}) {
          ++versions[static_cast<std::size_t>(
              std::get<program::TensorRef>(call.arguments[position]).storage)];
        }
      }
    }
    EXPECT_GT(writes, 0) << name;
  }
}

TEST(CapturedProgram, BatchNormUpdatesItsRunningStatistics) {
  const Program program = capture_model("resnet50", for_cpu()).program;
  int mutated = 0;
  for (const program::Buffer& buffer : program.buffers) mutated += buffer.mutated ? 1 : 0;
  EXPECT_EQ(mutated, 53 * 3);
  EXPECT_EQ(program.buffers.size(), 53U * 3U);
}

TEST(CapturedProgram, ReplayableByItsOwnRules) {
  for (const ModelCase& model_case : model_cases()) {
    if (model_case.dtype == "float16") continue;
    const bool refused_on_cuda =
        model_case.name == "recommendation" && model_case.dtype == "bfloat16";
    for (const char* target : {"cpu", "cuda:sm_90"}) {
      if (refused_on_cuda && target != std::string("cpu")) continue;
      const Captured captured = capture(Model::load(test_model(model_case.name, model_case.dtype)),
                                        options_of(model_case, *program::Target::parse(target)));
      EXPECT_NO_THROW(static_cast<void>(program::analyse_lifetimes(captured.program)))
          << model_case.name << " " << target;
      for (const program::Storage& storage : captured.program.storages) {
        EXPECT_EQ(storage.category == Category::kConstant,
                  captured.constants.count(storage.id) == 1);
        EXPECT_EQ(storage.category == Category::kConstant, !storage.content_digest.empty());
        EXPECT_LE(storage.allocated_at, storage.freed_after);
      }
    }
  }
}

TEST(CapturedProgram, CategoriesFollowUse) {
  const Program program = capture_model("gpt2", for_cpu()).program;
  std::map<Category, int> times;
  for (const program::Storage& storage : program.storages) ++times[storage.category];
  EXPECT_EQ(times[Category::kParameter], static_cast<int>(program.parameters.size()));
  EXPECT_EQ(times[Category::kGradient], static_cast<int>(program.parameters.size()));
  EXPECT_EQ(times[Category::kInput], 1);
  EXPECT_GT(times[Category::kActivation], 20);
  EXPECT_GT(times[Category::kTemporary], 20);
}

TEST(CapturedProgram, MatrixWorkIsCounted) {
  const Program program = capture_model("gpt2", for_cpu()).program;
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  for (const program::Operator& call : program.operators) {
    (call.phase == Phase::kForward ? forward : backward) += call.flops;
  }
  // 64 tokens by 12 h^2 weights in each of 2 blocks, attention and the head.
  constexpr std::int64_t kTokens = 64;
  constexpr std::int64_t kWidth = 64;
  constexpr std::int64_t kLinear = 2 * kTokens * 12 * kWidth * kWidth * 2;
  constexpr std::int64_t kAttention = 2 * 2 * 2 * kTokens * 32 * kWidth;
  constexpr std::int64_t kHead = 2 * kTokens * kWidth * 96;
  EXPECT_EQ(forward, kLinear + kAttention + kHead);
  EXPECT_EQ(backward, 2 * forward);
}

TEST(CapturedProgram, IsTheSameEveryTime) {
  const Model model = Model::load(test_model("gpt2"));
  const Captured first = capture(model, for_cpu());
  const Captured second = capture(model, for_cpu());
  EXPECT_EQ(program::fingerprint(first.program), program::fingerprint(second.program));
  EXPECT_EQ(difference(lines_of(first.program), lines_of(second.program)), "");
  EXPECT_EQ(difference(lifetime_lines(first.program), lifetime_lines(second.program)), "");
}

TEST(CaptureOptions, BatchReplacesTheFirstDimension) {
  Options options = for_cpu();
  options.batch = 5;
  const Program program = capture_model("bert", options).program;
  EXPECT_THAT(program.inputs[0].tensor.sizes, ElementsAre(5, 32));
  EXPECT_THAT(program.inputs[1].tensor.sizes, ElementsAre(5));
}

TEST(CaptureOptions, EvaluationDrawsNothing) {
  Options options = for_cpu();
  EXPECT_TRUE(capture_model("gpt2", options).program.draws_random);
  options.mode = program::Mode::kEvaluate;
  EXPECT_FALSE(capture_model("gpt2", options).program.draws_random);
}

TEST(CaptureOptions, ModeReachesScriptedBranches) {
  Options options = for_cpu("control-flow");
  EXPECT_EQ(calls_of(capture_model("control-flow", options).program, "aten::gelu"), 4);
  options.mode = program::Mode::kEvaluate;
  EXPECT_EQ(calls_of(capture_model("control-flow", options).program, "aten::gelu"), 2);
}

TEST(CaptureOptions, ForwardAloneHasNoGradientsAndNoActivations) {
  Options options = for_cpu();
  options.mode = program::Mode::kEvaluate;
  options.backward = false;
  const Program program = capture_model("gpt2", options).program;
  for (const program::Operator& call : program.operators) EXPECT_EQ(call.phase, Phase::kForward);
  for (const program::Parameter& each : program.parameters) EXPECT_FALSE(each.gradient);
  for (const program::Storage& storage : program.storages) {
    EXPECT_NE(storage.category, Category::kActivation);
    EXPECT_NE(storage.category, Category::kGradient);
  }
}

TEST(CaptureOptions, EvaluationLeavesBuffersAlone) {
  Options options = for_cpu();
  options.mode = program::Mode::kEvaluate;
  options.backward = false;
  const Program program = capture_model("resnet50", options).program;
  for (const program::Buffer& buffer : program.buffers) EXPECT_FALSE(buffer.mutated) << buffer.name;
}

class CapturePrecision : public testing::TestWithParam<std::pair<program::Precision, const char*>> {
};

TEST_P(CapturePrecision, ConvertsParametersInputsAndGradients) {
  const auto& [precision, dtype] = GetParam();
  const program::DType expected = *program::dtype_named(dtype);
  Options options = for_cpu("control-flow");
  options.precision = precision;
  const Program program = capture_model("control-flow", options).program;
  for (const program::Parameter& each : program.parameters) {
    EXPECT_EQ(each.tensor.dtype, expected);
    EXPECT_EQ(each.gradient->dtype, expected);
  }
  EXPECT_EQ(program.inputs[0].tensor.dtype, expected);
  EXPECT_EQ(program.inputs[1].tensor.dtype, program::DType::kInt64);
  for (const char* target : {"cpu", "cuda:sm_90"}) {
    options.target = *program::Target::parse(target);
    const Program converted = capture_model("control-flow", options).program;
    const Program saved = capture(Model::load(test_model("control-flow", dtype)),
                                  options_of({"control-flow", dtype}, options.target))
                              .program;
    EXPECT_EQ(difference(lines_of(converted), lines_of(saved)), "") << target;
  }
}

INSTANTIATE_TEST_SUITE_P(HalfPrecisions,
                         CapturePrecision,
                         testing::Values(std::pair(program::Precision::kBFloat16, "bfloat16"),
                                         std::pair(program::Precision::kFloat16, "float16")));

/// Values that the CPU reads, to check them or to choose a formula, are not part of a program.
TEST(CapturedProgram, ReadsNoValues) {
  for (const char* name : {"one-hot", "value-dependent"}) {
    for (const char* dtype : {"float32", "bfloat16", "float16"}) {
      for (const char* target : {"cpu", "cuda:sm_90"}) {
        const Captured captured =
            capture(Model::load(test_model(name, dtype)),
                    options_of({name, dtype}, *program::Target::parse(target)));
        EXPECT_EQ(calls_of(captured.program, "aten::_local_scalar_dense"), 0) << name;
        EXPECT_NO_THROW(static_cast<void>(program::analyse_lifetimes(captured.program))) << name;
      }
    }
  }
  const Program program = capture_model("one-hot", for_cpu()).program;
  EXPECT_EQ(calls_of(program, "aten::scatter_"), 1);
}

/// A trace keeps them as tensors; on no target may they be taken for data of the step.
TEST(CapturedProgram, ValuesOfSizesAreComputed) {
  for (const char* target : {"cpu", "cuda:sm_90"}) {
    const Options options =
        options_of({"shape-values", "float32"}, *program::Target::parse(target));
    const Program program = capture_model("shape-values", options).program;
    bool found = false;
    for (const program::Operator& op : program.operators) {
      program::for_each_tensor(op.arguments, [&](const program::TensorRef& tensor) {
        found |= tensor.sizes == std::vector<std::int64_t>{6, 3};
      });
    }
    EXPECT_TRUE(found) << target;
  }
}

/// LibTorch fills the tensor of lengths without the dispatcher. The program has a constant instead.
TEST(CapturedProgram, CtcLossDividesByAConstant) {
  const Captured captured = capture_model("value-dependent", for_cpu());
  const bool found =
      std::any_of(captured.constants.begin(), captured.constants.end(), [](const auto& constant) {
        return constant.second.numel() == 2 && constant.second.is_floating_point() &&
               constant.second[0].template item<float>() == 4.0F &&
               constant.second[1].template item<float>() == 3.0F;
      });
  EXPECT_TRUE(found);
}

TEST(CapturedProgram, WideHeadsTakeCudnnAndSingleKeysFlashAttentionOnCuda) {
  const program::Target cuda = *program::Target::parse("cuda:sm_90");
  const auto attentions = [&](const char* dtype) {
    const Model model = Model::load(test_model("wide-heads", dtype));
    const Program program = capture(model, options_of({"wide-heads", dtype}, cuda)).program;
    const auto count = [&](const std::string& kind) {
      const std::string name = "aten::_scaled_dot_product_" + kind + "_attention";
      EXPECT_EQ(calls_of(program, name), calls_of(program, name + "_backward")) << name;
      return calls_of(program, name);
    };
    return std::vector<int>{count("cudnn"), count("flash"), count("efficient")};
  };
  EXPECT_EQ(attentions("float32")[1], 0);
  // Head widths of 64 and 160, with and without a mask; a width of 10 and two single keys.
  EXPECT_THAT(attentions("bfloat16"), ElementsAre(5, 4, 0));
}

TEST(CapturedProgram, RecurrentLayersOnCudaAreOneCall) {
  const program::Target cuda = *program::Target::parse("cuda:sm_90");
  const Program program = capture_model("lstm", options_of({"lstm", "float32"}, cuda)).program;
  EXPECT_EQ(calls_of(program, "aten::_cudnn_rnn"), 1);
  EXPECT_EQ(calls_of(program, "aten::_cudnn_rnn_backward"), 1);
  // The gradients are parts of one block: matrices before biases, without gaps.
  const char* const names[] = {"lstm.weight_ih_l0",
                               "lstm.weight_hh_l0",
                               "lstm.weight_ih_l1",
                               "lstm.weight_hh_l1",
                               "lstm.bias_ih_l0",
                               "lstm.bias_hh_l0",
                               "lstm.bias_ih_l1",
                               "lstm.bias_hh_l1"};
  const program::StorageId block = parameter(program, names[0]).gradient->storage;
  std::int64_t offset = 0;
  for (const char* name : names) {
    const program::TensorRef gradient = *parameter(program, name).gradient;
    EXPECT_EQ(gradient.storage, block) << name;
    EXPECT_EQ(gradient.offset, offset) << name;
    EXPECT_EQ(gradient.sizes, parameter(program, name).tensor.sizes) << name;
    offset += gradient.numel();
  }
  EXPECT_EQ(program.storages[static_cast<std::size_t>(block)].bytes, offset * 4);

  // Both directions, projections, no biases, one state.
  const Captured many = capture_model("recurrent", options_of({"recurrent", "float32"}, cuda));
  EXPECT_EQ(calls_of(many.program, "aten::_cudnn_rnn"), 7);
  EXPECT_EQ(calls_of(many.program, "aten::_cudnn_rnn_backward"), 7);
  EXPECT_EQ(many.unattributed_operators, 0);
  for (const program::Parameter& each : many.program.parameters) {
    ASSERT_TRUE(each.gradient) << each.name;
    EXPECT_EQ(each.gradient->sizes, each.tensor.sizes) << each.name;
  }
}

TEST(CaptureOptions, ALossIsMadeFromOutputAndLastInput) {
  Options options = for_cpu();
  options.loss = "cross-entropy";
  options.inputs = {*InputSpec::parse("target:int64[2]")};
  const Program classified = capture_model("no-loss", options).program;
  EXPECT_EQ(calls_of(classified, "aten::nll_loss_forward"), 1);
  EXPECT_EQ(classified.inputs.size(), 2U);
  options.loss = "mse";
  options.inputs = {*InputSpec::parse("target:float32[2,4]")};
  EXPECT_EQ(calls_of(capture_model("no-loss", options).program, "aten::mse_loss_backward"), 1);
}

/// The gradient of a sign is zeros without memory. A sum that begins with them is a copy of the
/// rest.
TEST(CapturedProgram, NothingIsAddedIntoZerosWithoutMemory) {
  ScriptedModel scripted;
  scripted.parameter("w", at::ones({4}));
  const Model model = scripted.saved("  y = x * self.w\n  return y.mean() + y.sgn().mean()\n");
  const Program program = capture(model, options_for("float32[4,4]")).program;
  EXPECT_TRUE(parameter(program, "w").gradient);
  EXPECT_EQ(calls_of(program, "aten::_efficientzerotensor"), 1);
  EXPECT_EQ(calls_of(program, "aten::add_"), 0);
  EXPECT_EQ(calls_of(program, "aten::_to_copy"), 1);
}

TEST(CaptureOptions, CallsThatWereTracedForEvaluationAreCounted) {
  const auto warnings = [](const std::string& second) {
    ScriptedModel scripted;
    scripted.parameter("w", at::ones({4}));
    const Model model = scripted.saved(
        "  y = torch.dropout(x * self.w, 0.5, False)\n  return torch.dropout(y, 0.5, " + second +
        ").sum()\n");
    return capture(model, options_for("float32[4,4]")).warnings;
  };
  EXPECT_THAT(warnings("False"), ElementsAre(HasSubstr("the model was traced for evaluation")));
  EXPECT_THAT(warnings("True"), ElementsAre(HasSubstr("1 of 2 calls")));
}

TEST(LoadedModel, ReadsOneTensorByAnyOfItsNames) {
  const Model model = Model::load(test_model("frozen"));
  EXPECT_TRUE(model.has_data("unused"));
  EXPECT_TRUE(at::equal(model.read("unused"), at::zeros({5})));
  EXPECT_TRUE(at::equal(model.read("embedding.weight"), model.read("head.weight")));
  EXPECT_FALSE(at::equal(model.read("embedding.weight"), at::zeros({96, 16})));
}

TEST(LoadedModel, KnowsItsInputs) {
  const Model model = Model::load(test_model("bert"));
  EXPECT_THAT(model.input_names(), ElementsAre("inputs", "labels"));
  const auto specs = model.traced_inputs();
  ASSERT_TRUE(specs);
  ASSERT_EQ(specs->size(), 2U);
  EXPECT_EQ((*specs)[0].dtype, program::DType::kInt64);
  EXPECT_THAT((*specs)[0].sizes, ElementsAre(2, 32));
  EXPECT_FALSE(Model::load(test_model("control-flow")).traced_inputs());
}

}  // namespace
}  // namespace elixir::capture
