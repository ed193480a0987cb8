// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What fused operators compute on the CPU, against LibTorch's operators in fp64 and beside them in
// the program's own dtype.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "capture/capture.h"
#include "core/error.h"
#include "edit/fusion/fuse_elementwise.h"
#include "fakes/program_builder.h"
#include "operators/own.h"
#include "program/lifetimes.h"
#include "replay/fused/fused_job.h"
#include "replay/fused/fused_rows.h"
#include "replay/fused/fused_source.h"
#include "replay/fused/nvrtc.h"
#include "replay/program_replay.h"

namespace elixir::replay {
namespace {

using program::Argument;
using program::DType;
using program::Ints;
using program::None;
using program::Program;
using program::TensorRef;

constexpr std::int64_t kBatch = 2, kRows = 5, kWidth = 600;  // two full tiles of columns and a rest

/// A program under construction, whose operators have overloads.
class Builder {
 public:
  explicit Builder(DType dtype) : builder_(dtype) {}

  TensorRef input(Ints sizes) { return builder_.input("x", std::move(sizes), builder_.dtype()); }
  TensorRef flags(Ints sizes) { return builder_.input("m", std::move(sizes), DType::kBool); }
  TensorRef call(const std::string& name,
                 const std::string& overload,
                 std::vector<Argument> arguments,
                 TensorRef like) {
    builder_.append(name, std::move(arguments), {&like});
    overloads_.push_back(overload);
    return like;
  }
  TensorRef of_rows(TensorRef like) const {
    like.sizes.back() = 1;
    for (std::size_t d = like.sizes.size(); d-- > 1;) {
      like.strides[d - 1] = like.strides[d] * like.sizes[d];
    }
    return like;
  }
  std::vector<TensorRef> calls(const std::string& name,
                               std::vector<Argument> arguments,
                               std::vector<TensorRef> results) {
    std::vector<TensorRef*> pointers;
    for (TensorRef& result : results) pointers.push_back(&result);
    builder_.append(name, std::move(arguments), pointers);
    overloads_.emplace_back();
    return results;
  }
  [[nodiscard]] DType dtype() const { return builder_.dtype(); }
  void start_backward() { builder_.start_backward(); }

  /// `results` are the gradients of as many parameters, so that they stay.
  [[nodiscard]] Program build(const std::vector<TensorRef>& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const TensorRef parameter = builder_.parameter("p" + std::to_string(i), results[i].sizes, {});
      builder_.set_gradient(parameter, results[i]);
    }
    Program program = builder_.build();
    for (std::size_t i = 0; i < overloads_.size(); ++i) {
      program.operators[i].overload = overloads_[i];
    }
    return program;
  }

 private:
  fakes::ProgramBuilder builder_;
  std::vector<std::string> overloads_;
};

/// The inputs of a program, in fp64; flags as they are.
std::vector<at::Tensor> draw(const Program& program, DType rounded_to) {
  at::manual_seed(3);
  std::vector<at::Tensor> inputs;
  for (const program::Input& input : program.inputs) {
    const at::Tensor drawn = at::randn(input.tensor.sizes, at::kDouble);
    inputs.push_back(input.tensor.dtype == DType::kBool
                         ? drawn > 0
                         : drawn.to(capture::scalar_type(rounded_to)).to(at::kDouble));
  }
  return inputs;
}

std::vector<at::Tensor> run(const Program& program, const std::vector<at::Tensor>& inputs) {
  ProgramReplay replay(program);
  StorageTable storages(program.storages.size());
  std::vector<at::Tensor> converted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorRef& ref = program.inputs[i].tensor;
    // Whoever writes in place must not change the next run's inputs.
    converted.push_back(inputs[i].to(capture::scalar_type(ref.dtype)).clone());
    storages[ref.storage] = converted.back().storage();
  }
  {
    const ReplayScope scope;
    replay.run(storages, 0, static_cast<program::OperatorId>(program.operators.size()));
  }
  std::vector<at::Tensor> results;
  for (const program::Parameter& parameter : program.parameters) {
    results.push_back(
        make_shell(storages[parameter.gradient->storage], *parameter.gradient).to(at::kDouble));
  }
  return results;
}

double rms(const at::Tensor& x) {
  return x.square().mean().sqrt().item<double>();
}

using Write = std::function<std::vector<TensorRef>(Builder&)>;

/// Writes the same program in three dtypes and compares.
void expect_as_exact_as_eager(const std::string& name, const Write& write) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
    SCOPED_TRACE(name + " in " + std::string(program::name_of(dtype)));
    const auto build = [&write](DType of) {
      Builder builder(of);
      return builder.build(write(builder));
    };
    const Program captured = build(dtype), exact = build(DType::kFloat64);
    const edit::FusedElementwise fused = edit::fuse_elementwise(captured);
    EXPECT_EQ(fused.groups, 1);
    const std::vector<at::Tensor> inputs = draw(captured, dtype);
    const auto truth = run(exact, inputs), eager = run(captured, inputs),
               ours = run(fused.program, inputs);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const double theirs = rms(eager[i] - truth[i]), error = rms(ours[i] - truth[i]);
      // A few fp32 roundings more than LibTorch's own formula has.
      EXPECT_LE(error, 1.05 * theirs + 1e-6 * rms(truth[i])) << "result " << i;
      EXPECT_GT(rms(truth[i]), 0);
    }
  }
}

/// One operator, and what makes a group of it.
void expect_one(const std::string& name,
                const std::string& overload,
                const std::function<std::vector<Argument>(Builder&, const TensorRef&)>& arguments) {
  expect_as_exact_as_eager(name, [&](Builder& b) {
    const TensorRef x = b.input({kBatch, kRows, kWidth});
    const TensorRef result = b.call(name, overload, arguments(b, x), x);
    return std::vector{b.call("aten::neg", "", {result}, result)};
  });
}

TEST(FusedOperator, EachOperatorIsAsExactAsLibTorchs) {
  const auto of_x = [](Builder&, const TensorRef& x) { return std::vector<Argument>{x}; };
  for (const char* name : {"aten::neg",
                           "aten::exp",
                           "aten::tanh",
                           "aten::sigmoid",
                           "aten::silu",
                           "aten::relu",
                           "aten::reciprocal"}) {
    expect_one(name, "", of_x);
  }
  const auto of_two = [](Builder& b, const TensorRef& x) {
    return std::vector<Argument>{x, b.input(x.sizes)};
  };
  for (const char* name : {"aten::sigmoid_backward", "aten::tanh_backward"}) {
    expect_one(name, "", of_two);
  }
  expect_one("aten::silu_backward", "", of_two);
  expect_one("aten::mul", "Tensor", of_two);
  expect_one("aten::div", "Tensor", of_two);
  for (const char* name : {"aten::add", "aten::sub"}) {
    expect_one(name, "Tensor", [](Builder& b, const TensorRef& x) {
      return std::vector<Argument>{x, b.input({kWidth}), std::int64_t{3}};
    });
    expect_one(name, "Scalar", [](Builder&, const TensorRef& x) {
      return std::vector<Argument>{x, 0.25, std::int64_t{1}};
    });
  }
  expect_one("aten::rsub", "Scalar", [](Builder&, const TensorRef& x) {
    return std::vector<Argument>{x, 0.25, std::int64_t{1}};
  });
  for (const double exponent : {2.0, 3.0, -1.0, -2.0, 4.0}) {
    expect_one("aten::pow", "Tensor_Scalar", [exponent](Builder&, const TensorRef& x) {
      return std::vector<Argument>{x, exponent};
    });
  }
  for (const char* form : {"none", "tanh"}) {
    expect_one("aten::gelu", "", [form](Builder&, const TensorRef& x) {
      return std::vector<Argument>{x, std::string(form)};
    });
    expect_one("aten::gelu_backward", "", [form](Builder& b, const TensorRef& x) {
      return std::vector<Argument>{b.input(x.sizes), x, std::string(form)};
    });
  }
  expect_one("aten::threshold_backward", "", [](Builder& b, const TensorRef& x) {
    return std::vector<Argument>{b.input(x.sizes), x, std::int64_t{0}};
  });
  expect_one("aten::native_dropout_backward", "", [](Builder& b, const TensorRef& x) {
    return std::vector<Argument>{x, b.flags(x.sizes), 1.25};
  });
  expect_one("aten::masked_fill", "Scalar", [](Builder& b, const TensorRef& x) {
    return std::vector<Argument>{x, b.flags({kWidth}), -2.0};
  });
  expect_one("aten::where", "self", [](Builder& b, const TensorRef& x) {
    return std::vector<Argument>{b.flags(x.sizes), x, b.input({kRows, 1})};
  });
}

/// RMS norm as Hugging Face writes it, with its backward; in 16 bits without the conversions.
TEST(FusedOperator, SumsOfRowsAreAsExactAsLibTorchs) {
  expect_as_exact_as_eager("root mean square", [](Builder& b) {
    const TensorRef x = b.input({kBatch, kRows, kWidth}), weight = b.input({kWidth});
    const TensorRef square = b.call("aten::pow", "Tensor_Scalar", {x, std::int64_t{2}}, x);
    const TensorRef mean =
        b.call("aten::mean", "dim", {square, Ints{-1}, true, None{}}, b.of_rows(x));
    const TensorRef shifted = b.call("aten::add", "Scalar", {mean, 1e-6, std::int64_t{1}}, mean);
    const TensorRef scale = b.call("aten::rsqrt", "", {shifted}, shifted);
    const TensorRef normal = b.call("aten::mul", "Tensor", {x, scale}, x);
    return std::vector{b.call("aten::mul", "Tensor", {weight, normal}, x), scale};
  });
}

TEST(FusedOperator, ALayerNormIsAsExactAsLibTorchs) {
  expect_as_exact_as_eager("layer norm", [](Builder& b) {
    const TensorRef x = b.input({kBatch, kRows, kWidth});
    const TensorRef weight = b.input({kWidth}), bias = b.input({kWidth});
    const TensorRef sum = b.call("aten::add", "Tensor", {x, bias, std::int64_t{1}}, x);
    const auto norm = b.calls("aten::native_layer_norm",
                              {sum, Ints{kWidth}, weight, bias, 1e-5},
                              {x, b.of_rows(x), b.of_rows(x)});
    return std::vector{norm[0], norm[1], norm[2]};
  });
}

TEST(FusedOperator, BitsDoNotDependOnThreads) {
  Builder builder(DType::kBFloat16);
  const TensorRef x = builder.input({64, 3000});
  const TensorRef e = builder.call("aten::exp", "", {x}, x);
  const TensorRef sum =
      builder.call("aten::sum", "dim_IntList", {e, Ints{1}, true, None{}}, builder.of_rows(x));
  const TensorRef share = builder.call("aten::div", "Tensor", {e, sum}, x);
  const Program program = edit::fuse_elementwise(builder.build({share})).program;
  const auto inputs = draw(program, DType::kBFloat16);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = run(program, inputs).front();
  at::set_num_threads(4);
  const at::Tensor four = run(program, inputs).front();
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one, four));
  EXPECT_NEAR(one.sum(1).mean().item<double>(), 1, 1e-2);
}

/// A call of the operator as a document may hold it.
struct Call {
  std::vector<at::Tensor> inputs;
  Ints shape;
  std::string program;
  Ints stored{}, dtypes{}, strides{};
  std::vector<at::Tensor> updated{};

  [[nodiscard]] FusedArguments arguments() const {
    return {inputs, updated, shape, program, stored, dtypes, strides};
  }
};

TEST(FusedOperator, RefusesWhatDoesNotFit) {
  const at::Tensor x = at::ones({4, 8});
  const auto refuse = [](const Call& call) {
    EXPECT_ANY_THROW({
      const auto results = fused_results(call.arguments());
      (void)fused_job(call.arguments(), results).passes();
    }) << call.program;
  };
  refuse({{x}, {4, 8}, "nonsense", {0}, {6}, {8, 1}});
  refuse({{x}, {4, 8}, "input 1", {0}, {6}, {8, 1}});
  refuse({{x}, {4, 8}, "input 0", {1}, {6}, {8, 1}});
  refuse({{x}, {4, 8}, "input 0", {0}, {4}, {8, 1}});            // int64
  refuse({{x}, {4, 8}, "input 0", {0}, {6}, {0, 1}});            // overlaps itself
  refuse({{x}, {4, 8}, "input 0", {0}, {6}, {1, 0}});            // an element where a row is stored
  refuse({{x}, {4, 9}, "input 0", {0}, {6}, {9, 1}});            // does not broadcast
  refuse({{x.t()}, {8, 4}, "input 0;sum 0", {1}, {6}, {1, 0}});  // rows that are not dense
  refuse({{x.to(at::kLong)}, {4, 8}, "input 0", {0}, {6}, {8, 1}});
  refuse({{}, {4, 8}, "constant 1", {0}, {6}, {8, 1}});
}

/// Rows of many lengths, views, dtypes and a result in place: the source of each kernel compiles
/// for the GPUs that there are.
TEST(FusedSource, CompilesForEveryForm) {
  const std::string norm =
      "input 0;mul 0 0;constant 64;sum 1;div 3 2;constant 1e-06;add 4 5;rsqrt 6;mul 0 7;input 1;"
      "mul 8 9";
  const std::string plain =
      "input 0;input 1;mul 0 1;input 2;where 3 2 0;exp 4;tanh 5;erf 6;pow 0 1;le 0 1;neg 7;add 10 "
      "9;sub 11 8;sqrt 12";
  const at::Tensor turned = at::randn({2, 3, 4, 16}).transpose(1, 2);
  std::vector<Call> calls;
  for (const std::int64_t width : {64, 513, 4096, 50257}) {
    const at::ScalarType dtype = width == 513 ? at::kHalf : at::kBFloat16;
    calls.push_back({{at::randn({3, width}).to(dtype), at::randn({width})},
                     {3, width},
                     norm,
                     {7, 10},
                     {6, static_cast<std::int64_t>(dtype)},
                     {1, 0, width, 1}});
  }
  calls.push_back({{turned, at::randn({3, 16}), at::rand({2, 4, 3, 16}) > 0.5},
                   {2, 4, 3, 16},
                   plain,
                   {4, 13},
                   {15},
                   {192, 48, 16, 1},
                   {turned}});
  try {
    for (const Call& call : calls) {
      const auto results = fused_results(call.arguments());
      const FusedJob job = fused_job(call.arguments(), results);
      const FusedForm form = fused_form(job);
      for (const int sm : {80, 90}) {
        EXPECT_FALSE(compile_cuda(fused_source(job, form), sm, fused_compile_options()).empty());
      }
      const FusedLaunch launch = fused_launch(job, form);
      EXPECT_LE(launch.threads_per_block, 1024);
      if (job.sums) {
        EXPECT_GE(kChunkColumns * form.threads_per_row * form.chunks_per_thread, job.columns);
      }
    }
  } catch (const Error& error) {
    if (error.info().code != ErrorCode::kMissingFeature) {
      FAIL() << error.info().message << "\n" << error.info().notes.at(0);
    }
    GTEST_SKIP() << error.info().message;
  }
}

}  // namespace
}  // namespace elixir::replay
