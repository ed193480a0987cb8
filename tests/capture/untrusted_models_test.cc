// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Scripted models: what their code may and may not do. Neither may end the process.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/error_report.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "capture/capture.h"
#include "capture/record/refused/allowed_operators.h"
#include "core/error.h"
#include "core/files.h"
#include "difference.h"
#include "fakes/error_of.h"

namespace elixir::capture {
namespace {

using tests::error_of;

using testing::HasSubstr;

class UntrustedModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("elixir-untrusted-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path(const char* name) const { return directory_ / name; }

  /// A module with a weight (2, 2) and `forward`.
  Model model(const std::string& forward) {
    torch::jit::Module module("Net");
    module.register_parameter("weight", at::ones({2, 2}).requires_grad_(true), false);
    module.define(forward);
    return saved(module);
  }
  Model saved(const torch::jit::Module& module) {
    module.save(path("model.pt"));
    return Model::load(path("model.pt"));
  }

  std::filesystem::path directory_;
};

Options options_for(const char* target, const char* input = "x:float32[2,2]") {
  Options options;
  options.target = *program::Target::parse(target);
  options.inputs = {*InputSpec::parse(input)};
  return options;
}

std::vector<std::string> names_of(const program::Program& program) {
  std::vector<std::string> names;
  for (const program::Operator& op : program.operators) names.push_back(op.name);
  return names;
}

TEST_P(UntrustedModel, TensorsOfNumbersAreConstants) {
  for (const char* numbers : {"torch.tensor([1., 2.])",
                              "torch.tensor([[1., 2.], [3., 4.]])",
                              "torch.tensor([1, 2], dtype=x.dtype)",
                              "torch.tensor([1., 2.], device=x.device)",
                              "torch.as_tensor([1., 2.])"}) {
    SCOPED_TRACE(numbers);
    const Model net = model("def forward(self, x):\n  return (torch.matmul(x, self.weight) * " +
                            std::string(numbers) + ").sum()\n");
    const Captured captured = capture(net, options_for(GetParam()));
    ASSERT_EQ(captured.constants.size(), 1U);
    const at::Tensor constant = captured.constants.begin()->second.flatten();
    EXPECT_EQ(constant[0].item<double>(), 1);
    EXPECT_EQ(constant[1].item<double>(), 2);
    if (std::string(GetParam()) == "cpu") {
      EXPECT_EQ(difference(lines_of(captured.program),
                           lines_of(capture_on_device(net, options_for("cpu")).program)),
                "");
    }
  }
}

TEST_P(UntrustedModel, AListOfStepDataDependsOnData) {
  const Model net = model(
      "def forward(self, x):\n"
      "  values: List[float] = x[0].tolist()\n"
      "  return torch.matmul(x, self.weight).sum() * values[0]\n");
  const ErrorInfo error =
      error_of([&] { static_cast<void>(capture(net, options_for(GetParam()))); });
  EXPECT_EQ(error.code, ErrorCode::kDataDependent);
  EXPECT_THAT(error.message, HasSubstr("tolist"));
}

TEST_P(UntrustedModel, AListOfAConstantIsComputed) {
  const Model net = model(
      "def forward(self, x):\n"
      "  values: List[int] = torch.tensor([1, 3]).tolist()\n"
      "  return torch.matmul(x, self.weight).sum() * values[1]\n");
  const Captured captured = capture(net, options_for(GetParam()));
  EXPECT_THAT(names_of(captured.program), testing::Contains("aten::mul"));
}

TEST_P(UntrustedModel, EqualityOfStepDataDependsOnData) {
  const auto net = [&](const char* condition) {
    return model("def forward(self, x):\n  if " + std::string(condition) +
                 ":\n    x = x + 1\n  return torch.matmul(x, self.weight).sum()\n");
  };
  const Model compares = net("torch.equal(x, x + 1)");
  EXPECT_EQ(error_of([&] { static_cast<void>(capture(compares, options_for(GetParam()))); }).code,
            ErrorCode::kDataDependent);
  EXPECT_NO_THROW(static_cast<void>(capture(net("torch.equal(x, x)"), options_for(GetParam()))));
  EXPECT_NO_THROW(static_cast<void>(capture(net("torch.equal(x, x[0])"), options_for(GetParam()))));
}

/// Like torch.nn's scripted layers: weights also in a list, states made inside.
TEST_P(UntrustedModel, RecurrentLayersTrainTheWeightsInTheirList) {
  struct Layer {
    const char* name;
    std::int64_t gates;
    const char* call;
  };
  for (const Layer& layer :
       {Layer{
            "lstm", 4, "torch.lstm(x, [h, h + 0.0], self.flat, True, 1, 0.0, True, False, False)"},
        Layer{"gru", 3, "torch.gru(x, h, self.flat, True, 1, 0.0, True, False, False)"},
        Layer{"rnn", 1, "torch.rnn_tanh(x, h, self.flat, True, 1, 0.0, True, False, False)"}}) {
    SCOPED_TRACE(layer.name);
    torch::jit::Module module("Net");
    c10::List<at::Tensor> flat;
    const std::vector<std::pair<const char*, std::vector<std::int64_t>>> shapes{
        {"weight_ih", {layer.gates * 4, 8}},
        {"weight_hh", {layer.gates * 4, 4}},
        {"bias_ih", {layer.gates * 4}},
        {"bias_hh", {layer.gates * 4}}};
    for (const auto& [name, sizes] : shapes) {
      const at::Tensor weight = at::ones(sizes).requires_grad_(true);
      module.register_parameter(name, weight, false);
      flat.push_back(weight);
    }
    module.register_attribute("flat", c10::ListType::ofTensors(), flat);
    module.define(
        "def forward(self, x):\n"
        "  h = torch.zeros([1, x.size(1), 4], dtype=x.dtype, device=x.device)\n"
        "  return " +
        std::string(layer.call) + "[0].sum()\n");
    const Model net = saved(module);
    const Options options = options_for(GetParam(), "x:float32[5,3,8]");
    const Captured captured = capture(net, options);
    ASSERT_EQ(captured.program.parameters.size(), 4U);
    for (const program::Parameter& parameter : captured.program.parameters) {
      EXPECT_TRUE(parameter.gradient.has_value()) << parameter.name;
    }
    if (std::string(GetParam()) == "cpu") {
      EXPECT_EQ(
          difference(lines_of(captured.program), lines_of(capture_on_device(net, options).program)),
          "");
    }
  }
}

TEST_P(UntrustedModel, MayNotOpenFiles) {
  const std::string victim = path("victim");
  write_file(victim, "0123456789abcdef", Overwrite::kAllow);
  for (const std::string& call : {"torch.from_file(\"" + victim + "\", True, 4).fill_(1.0).sum()",
                                  "torch.from_file(\"" + victim + "\", False, 4).sum()"}) {
    const ErrorInfo error = error_of([&] {
      static_cast<void>(
          capture(model("def forward(self, x):\n  return torch.matmul(x, self.weight).sum() + " +
                        call + "\n"),
                  options_for(GetParam())));
    });
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("aten::from_file"));
  }
  const ErrorInfo error = error_of([&] {
    static_cast<void>(capture(model("def forward(self, x):\n  torch.save(x, \"" + victim +
                                    "\")\n  return torch.matmul(x, self.weight).sum()\n"),
                              options_for(GetParam())));
  });
  EXPECT_THAT(error.message, HasSubstr("aten::save"));
  EXPECT_EQ(read_file(victim), "0123456789abcdef");
}

TEST_P(UntrustedModel, DivisionsByZeroOfItsIntegersAreErrors) {
  for (const char* quotient : {"5 % (n - 2)",
                               "5 // (n - 2)",
                               "(-9223372036854775807 - n + 1) // (n - 3)",
                               "(-9223372036854775807 - n + 1) % (n - 3)"}) {
    SCOPED_TRACE(quotient);
    const Model net = model(
        "def forward(self, x):\n  n = x.size(0)\n  return torch.matmul(x, self.weight).sum() * (" +
        std::string(quotient) + ")\n");
    EXPECT_EQ(error_of([&] { static_cast<void>(capture(net, options_for(GetParam()))); }).code,
              ErrorCode::kModelRejectsInput);
  }
}

/// torch.nn's scripted layers have both calls behind an `if`. Only the call that runs gives a hint.
TEST_P(UntrustedModel, PackedSequencesAreToldOfWhereTheyRun) {
  torch::jit::Module module("Net");
  c10::List<at::Tensor> flat;
  const std::vector<std::pair<const char*, std::vector<std::int64_t>>> shapes{
      {"weight_ih", {16, 8}}, {"weight_hh", {16, 4}}, {"bias_ih", {16}}, {"bias_hh", {16}}};
  for (const auto& [name, sizes] : shapes) {
    const at::Tensor weight = at::ones(sizes).requires_grad_(true);
    module.register_parameter(name, weight, false);
    flat.push_back(weight);
  }
  module.register_attribute("flat", c10::ListType::ofTensors(), flat);
  module.define(
      "def forward(self, x):\n"
      "  h = torch.zeros([1, 3, 4], dtype=x.dtype, device=x.device)\n"
      "  if x.dim() == 2:\n"
      "    sizes = torch.tensor([3, 3])\n"
      "    out = torch.lstm(x, sizes, [h, h], self.flat, True, 1, 0.0, True, False)[0]\n"
      "  else:\n"
      "    out = torch.lstm(x, [h, h], self.flat, True, 1, 0.0, True, False, False)[0]\n"
      "  return out.sum()\n");
  const Model net = saved(module);
  EXPECT_THAT(capture(net, options_for(GetParam(), "x:float32[5,3,8]")).warnings,
              testing::IsEmpty());
  const auto packed = capture(net, options_for(GetParam(), "x:float32[6,8]")).warnings;
  if (std::string(GetParam()) == "cpu") {
    EXPECT_THAT(packed, testing::IsEmpty());
  } else {
    EXPECT_THAT(packed, testing::ElementsAre(HasSubstr("packed sequences")));
  }
}

TEST_P(UntrustedModel, AnExpandedMaskOfAttentionIsToldOf) {
  const auto warnings = [&](const char* mask) {
    return capture(model("def forward(self, x):\n"
                         "  mask = x.new_zeros([2, 1, 8, 1])" +
                         std::string(mask) +
                         "\n"
                         "  a = torch.scaled_dot_product_attention(x, x, x, mask)\n"
                         "  a = torch.scaled_dot_product_attention(a, x, x, mask)\n"
                         "  return a.sum() * self.weight.sum()\n"),
                   options_for(GetParam(), "x:float32[2,4,8,16]"))
        .warnings;
  };
  EXPECT_THAT(warnings(".expand([2, 1, 8, 8]).contiguous()"), testing::IsEmpty());
  if (std::string(GetParam()) == "cpu") {
    EXPECT_THAT(warnings(".expand([2, 1, 8, 8])"), testing::IsEmpty());
  } else {
    EXPECT_THAT(warnings(".expand([2, 1, 8, 8])"),
                testing::ElementsAre(
                    testing::AllOf(HasSubstr("mask.contiguous()"), HasSubstr("first of 2 calls"))));
  }
}

TEST_P(UntrustedModel, SparseGradientsAreRefusedWithTheWayOut) {
  const auto net = [&](const char* call) {
    return model("def forward(self, x):\n  return " + std::string(call) + ".sum()\n");
  };
  const Options options = options_for(GetParam(), "x:int64[2]");
  for (const char* call : {"torch.embedding(self.weight, x, -1, False, True)",
                           "torch.embedding_bag(self.weight, x, x, False, 0, True)[0]",
                           "torch.gather(self.weight, 0, x.unsqueeze(0), sparse_grad=True)"}) {
    SCOPED_TRACE(call);
    const ErrorInfo error = error_of([&] { static_cast<void>(capture(net(call), options)); });
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
    EXPECT_THAT(error.message, HasSubstr("sparse"));
    EXPECT_THAT(error.help,
                testing::Contains(
                    testing::AnyOf(HasSubstr("sparse=False"), HasSubstr("sparse_grad=False"))));
  }
  EXPECT_NO_THROW(static_cast<void>(
      capture(net("torch.embedding(self.weight, x, -1, False, False)"), options)));
}

TEST_P(UntrustedModel, NumbersThatAreNoDtypesLayoutsOrFormatsAreRefused) {
  for (const char* call : {"torch.tensor([1., 2.], dtype=100)",
                           "torch.tensor(1.0, dtype=-3)",
                           "torch.as_tensor([1., 2.], dtype=100)",
                           "torch.as_tensor(x, dtype=100)",
                           "torch.zeros([2], dtype=100)",
                           "torch.zeros([2], layout=57)",
                           "torch.empty([2], memory_format=99)",
                           "x.to(100)",
                           "x.to(x.device, 100)",
                           "x.sum(dtype=-5)",
                           "torch.softmax(x, 0, 4711)",
                           "x.clone(memory_format=9)",
                           "x.contiguous(memory_format=-1)",
                           "torch.zeros([2]) * torch.promote_types(100, 6)",
                           "torch.zeros([2]) * int(torch.can_cast(100, 6))",
                           "torch.arange(0, 2, dtype=200)",
                           "torch.zeros([2], device=\"nowhere\")"}) {
    SCOPED_TRACE(call);
    // Some are refused when the code is compiled.
    const ErrorInfo error = error_of([&] {
      try {
        static_cast<void>(
            capture(model("def forward(self, x):\n  y = " + std::string(call) +
                          "\n  return (torch.matmul(x, self.weight) * y.to(x.device)).sum()\n"),
                    options_for(GetParam())));
      } catch (const torch::jit::ErrorReport& compile) {
        throw Error(ErrorCode::kModelRejectsInput, compile.what());
      }
    });
    EXPECT_THAT(error.code,
                testing::AnyOf(ErrorCode::kModelRejectsInput, ErrorCode::kUnsupportedModel))
        << error.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         UntrustedModel,
                         testing::Values("cpu", "cuda:sm_90"),
                         [](const auto& info) {
                           return std::string(info.param) == "cpu" ? "cpu" : "cuda";
                         });

/// New operators of LibTorch are not allowed by default: an allowed one takes only tensors and
/// numbers, or is listed.
TEST(AllowedOperators, NoneTakesATextToOpenSomething) {
  int allowed = 0;
  int refused = 0;
  const auto check = [&](const c10::FunctionSchema& schema) {
    (is_allowed(schema) ? allowed : refused) += 1;
    const std::string& name = schema.name();
    const std::string space = name.substr(0, name.find(':'));
    if (space != "aten" && space != "prim" && space != "elixir") {
      EXPECT_FALSE(is_allowed(schema)) << name;
    }
    for (const char* word : {"file",
                             "save",
                             "load",
                             "path",
                             "url",
                             "socket",
                             "store",
                             "process",
                             "rpc",
                             "symm_mem",
                             "nccl",
                             "_print",
                             "pin_memory"}) {
      const bool tells = name.find(word) != std::string::npos;
      if (tells && name != "aten::index_put_" && name.find("Store") == std::string::npos) {
        EXPECT_FALSE(is_allowed(schema)) << name;
      }
    }
    if (space == "elixir") return;  // ours
    for (const c10::Argument& argument : schema.arguments()) {
      for (const char* word : {"file", "path", "dir", "url", "library", "group_name"}) {
        if (argument.name().find(word) != std::string::npos &&
            argument.type()->annotation_str().find("str") != std::string::npos) {
          EXPECT_FALSE(is_allowed(schema)) << name << " takes " << argument.name();
        }
      }
    }
  };
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (const auto op = c10::Dispatcher::singleton().findSchema(name)) check(op->schema());
  }
  for (const auto& op : torch::jit::getAllOperators()) {
    if (!op->isC10Op()) check(op->schema());
  }
  EXPECT_GT(allowed, 3000);
  EXPECT_GT(refused, 250);
}

}  // namespace
}  // namespace elixir::capture
