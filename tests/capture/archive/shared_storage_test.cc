// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Parameters and buffers that are parts of one storage in the archive, and some without elements.
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "fakes/error_of.h"
#include "scripted_model.h"

namespace elixir::capture {
namespace {

using program::Program;
using testing::Contains;
using testing::HasSubstr;
using tests::error_of;

at::Tensor counted(std::int64_t elements) {
  return at::arange(elements, at::TensorOptions().dtype(at::kFloat));
}

/// The given part of 0, 1, 2…, as a matrix.
at::Tensor square(const at::Tensor& all, std::int64_t first) {
  return all.slice(0, first, first + 16).view({4, 4});
}

Program captured(const Model& model) {
  return capture(model, options_for("float32[4,4]")).program;
}

TEST(SharedStorage, EachParameterHasItsOwn) {
  const at::Tensor all = counted(40);
  ScriptedModel scripted;
  scripted.parameter("a", square(all, 4))
      .parameter("b", square(all, 20).t())
      .buffer("c", all.slice(0, 36, 40));
  const Model model = scripted.saved("  return ((x @ self.a) @ self.b + self.c).sum()\n");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_TRUE(at::equal(model.read(name), scripted.value(name))) << name;
  }
  EXPECT_EQ(model.read("b").strides(), at::IntArrayRef({1, 4}));
  const Program program = captured(model);
  EXPECT_NE(program.parameters[0].tensor.storage, program.parameters[1].tensor.storage);
  for (const program::Parameter& each : program.parameters) {
    EXPECT_EQ(each.tensor.offset, 0) << each.name;
    EXPECT_EQ(program.storages[each.tensor.storage].bytes, each.tensor.bytes()) << each.name;
  }
}

TEST(SharedStorage, DamageBesideTheParameterThatIsReadIsFound) {
  const at::Tensor all = counted(32);
  ScriptedModel scripted;
  scripted.parameter("a", square(all, 0)).parameter("b", square(all, 16));
  static_cast<void>(scripted.saved("  return (x @ self.a @ self.b).sum()\n"));
  std::string content = read_file(scripted.path());
  const float last = 31;
  const std::size_t at = content.rfind(std::string(reinterpret_cast<const char*>(&last), 4));
  ASSERT_NE(at, std::string::npos);
  content[at] = static_cast<char>(content[at] ^ 1);
  write_file(scripted.path(), content, Overwrite::kAllow);
  const Model model = Model::load(scripted.path());
  const ErrorInfo error = error_of([&] { static_cast<void>(model.read("a")); });
  EXPECT_EQ(error.code, ErrorCode::kTruncatedArchive);
  EXPECT_THAT(error.message, HasSubstr("is damaged"));
}

/// Scripted recurrent layers keep their weights in a list, too.
TEST(SharedStorage, AViewOfAParameterInAListIsThatParameter) {
  const at::Tensor all = counted(32);
  ScriptedModel scripted;
  scripted.parameter("a", square(all, 0)).parameter("b", square(all, 16));
  scripted.list("rows", {scripted.value("b").detach()[2]});
  const Program program = captured(scripted.saved("  return (x @ self.a + self.rows[0]).sum()\n"));
  const program::StorageId b = program.parameters[1].tensor.storage;
  bool found = false;
  for (const program::Operator& op : program.operators) {
    program::for_each_tensor(op.arguments, [&](const program::TensorRef& tensor) {
      found |= tensor.storage == b && tensor.offset == 8 && tensor.sizes == program::Ints{4};
    });
  }
  EXPECT_TRUE(found);
}

TEST(SharedStorage, SharedValuesAreRefused) {
  const at::Tensor all = counted(32);
  const auto refusal = [](ScriptedModel& scripted, const std::string& forward) {
    const ErrorInfo error = error_of([&] { static_cast<void>(scripted.saved(forward)); });
    EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
    EXPECT_THAT(error.help, Contains(HasSubstr("clone()")));
    return error.message;
  };
  ScriptedModel parameters;
  parameters.parameter("a", square(all, 0)).parameter("b", square(all, 8));
  EXPECT_EQ(refusal(parameters, "  return (x @ self.a @ self.b).sum()\n"),
            "parameter `b` shares memory with parameter `a`");
  ScriptedModel with_buffer;
  with_buffer.parameter("a", square(all, 0)).buffer("c", square(all, 0));
  EXPECT_EQ(refusal(with_buffer, "  return (x @ self.a + self.c).sum()\n"),
            "buffer `c` shares memory with parameter `a`");
}

TEST(SharedStorage, AParameterWithGapsIsRefused) {
  ScriptedModel scripted;
  scripted.parameter("a", counted(32).view({4, 8}).slice(1, 0, 4));
  const ErrorInfo error =
      error_of([&] { static_cast<void>(scripted.saved("  return (x @ self.a).sum()\n")); });
  EXPECT_EQ(error.code, ErrorCode::kUnsupportedModel);
  EXPECT_EQ(error.message, "parameter `a` is not dense");
  EXPECT_THAT(error.help, Contains(HasSubstr("contiguous()")));
}

TEST(SharedStorage, WhereThereIsNothingToHaveThereIsData) {
  ScriptedModel scripted;
  scripted.parameter("a", square(counted(16), 0))
      .parameter("none", at::zeros({0, 4}))
      .buffer("neither", at::zeros({3, 0}));
  const Model model =
      scripted.saved("  return (x @ self.a).sum() + self.none.sum() + self.neither.sum()\n");
  for (const char* name : {"none", "neither"}) {
    EXPECT_TRUE(model.has_data(name)) << name;
    EXPECT_TRUE(at::equal(model.read(name), scripted.value(name))) << name;
  }
}

}  // namespace
}  // namespace elixir::capture
