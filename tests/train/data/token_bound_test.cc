// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Values are followed from the data to the calls that look them up, and no farther than they keep
// their value.
#include "train/data/token_bound.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "train/data/missing_labels.h"
#include "train/support.h"

namespace elixir::train {
namespace {

using program::DType;
using program::TensorRef;

constexpr program::StorageId kIds = 0, kTable = 1;

/// A model of input `ids` int64[2, 4] and a table of 10 rows, made call by call.
struct Model {
  program::Program program;
  program::StorageId next = 2;

  Model() { program.inputs = {{"ids", ids()}}; }
  static TensorRef ids() { return test::tensor(kIds, {2, 4}, DType::kInt64); }
  /// Columns [begin, end) of an int64[2, 4].
  static TensorRef columns(TensorRef whole, std::int64_t begin, std::int64_t end) {
    whole.offset += begin;
    whole.sizes[1] = end - begin;
    return whole;
  }
  TensorRef fresh(std::vector<std::int64_t> sizes, DType dtype = DType::kInt64) {
    return test::tensor(next++, std::move(sizes), dtype);
  }
  TensorRef call(const std::string& name,
                 std::vector<program::Argument> arguments,
                 TensorRef made) {
    program::Operator op;
    op.name = name;
    op.arguments = std::move(arguments);
    op.outputs = {made};
    program.operators.push_back(std::move(op));
    return made;
  }
  /// The call writes its first argument.
  TensorRef write(const std::string& name, std::vector<program::Argument> arguments) {
    TensorRef made = std::get<TensorRef>(arguments.front());
    ++made.version;
    return call(name, std::move(arguments), made);
  }
  TensorRef clone(const TensorRef& from) {
    return call("aten::clone", {from, program::None{}}, fresh(from.sizes, from.dtype));
  }
  void look_up(const TensorRef& indices, std::int64_t rows = 10) {
    call(
        "aten::embedding",
        {test::tensor(kTable, {rows, 3}, DType::kFloat32), indices, std::int64_t{-1}, false, false},
        fresh({indices.numel(), 3}, DType::kFloat32));
  }
  void classify(const TensorRef& target, std::int64_t classes, std::int64_t ignored) {
    call("aten::nll_loss_forward",
         {fresh({target.numel(), classes}, DType::kFloat32),
          target,
          program::None{},
          std::int64_t{1},
          ignored},
         fresh({}, DType::kFloat32));
  }
  [[nodiscard]] std::vector<TokenBound> bounds() const { return token_bounds(program, 0); }
};

const std::vector<bool> kAll{true, true, true, true};

TEST(TokenBound, IsOfTheCallThatCopiesReach) {
  Model model;
  model.look_up(model.clone(model.clone(Model::ids())));
  ASSERT_EQ(model.bounds().size(), 1U);
  EXPECT_EQ(model.bounds()[0].limit, 10);
  EXPECT_EQ(model.bounds()[0].elements, kAll);
  EXPECT_FALSE(model.bounds()[0].allows(10));
  EXPECT_FALSE(model.bounds()[0].allows(-100));
  EXPECT_TRUE(model.bounds()[0].allows(9));
}

TEST(TokenBound, EndsWhereACallChangesValues) {
  for (const char* name : {"aten::masked_fill",
                           "aten::where",
                           "aten::clamp",
                           "aten::add",
                           "aten::remainder",
                           "aten::abs",
                           "aten::maximum",
                           "aten::nobody_knows"}) {
    Model model;
    model.look_up(model.call(name, {Model::ids()}, model.fresh({2, 4})));
    EXPECT_TRUE(model.bounds().empty()) << name;
  }
  for (const char* name :
       {"aten::masked_fill_", "aten::clamp_", "aten::add_", "aten::index_put_"}) {
    Model model;
    const TensorRef copy = model.clone(Model::ids());
    model.look_up(model.write(name, {copy}));
    EXPECT_TRUE(model.bounds().empty()) << name;
  }
}

TEST(TokenBound, BeforeTheChangeItHolds) {
  Model model;
  const TensorRef copy = model.clone(Model::ids());
  model.look_up(copy);
  model.write("aten::masked_fill_", {copy});
  EXPECT_EQ(model.bounds().size(), 1U);
}

TEST(TokenBound, IsOfTheElementsThatAreReadAndOfNoOther) {
  Model model;
  model.look_up(Model::columns(Model::ids(), 0, 3));
  ASSERT_EQ(model.bounds().size(), 1U);
  EXPECT_EQ(model.bounds()[0].elements, (std::vector<bool>{true, true, true, false}));
}

TEST(TokenBound, ColumnsThatIndexTablesOfTheirOwnHaveBoundsOfTheirOwn) {
  Model model;
  model.look_up(Model::columns(Model::ids(), 0, 1), 5);
  model.look_up(Model::columns(Model::ids(), 1, 2), 100);
  ASSERT_EQ(model.bounds().size(), 2U);
  EXPECT_EQ(model.bounds()[0].limit, 5);
  EXPECT_EQ(model.bounds()[0].elements, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(model.bounds()[1].limit, 100);
  EXPECT_EQ(model.bounds()[1].elements, (std::vector<bool>{false, true, false, false}));
}

TEST(TokenBound, FollowsElementsIntoAShiftedCopyAndWhatIsWrittenOverThem) {
  // begun[:, 1:] = ids[:, :-1]; begun[:, 2] = 0
  Model model;
  const TensorRef begun = model.call("aten::zeros", {}, model.fresh({2, 4}));
  const TensorRef shifted = model.write(
      "aten::copy_", {Model::columns(begun, 1, 4), Model::columns(Model::ids(), 0, 3), false});
  TensorRef one = shifted;
  one.sizes[1] = 1;
  one.offset = 2;
  model.write("aten::fill_", {one, std::int64_t{0}});
  TensorRef whole = begun;
  whole.version = 2;
  model.look_up(whole);
  ASSERT_EQ(model.bounds().size(), 1U);
  EXPECT_EQ(model.bounds()[0].elements, (std::vector<bool>{true, false, true, false}));
}

TEST(TokenBound, FollowsElementsThroughCatAndPadding) {
  Model model;
  const TensorRef start = model.call("aten::zeros", {}, model.fresh({2, 1}));
  program::Tensors parts{start, Model::columns(Model::ids(), 0, 3)};
  const TensorRef joined = model.call("aten::cat", {parts, std::int64_t{-1}}, model.fresh({2, 4}));
  model.look_up(joined);
  const TensorRef padded = model.call("aten::constant_pad_nd",
                                      {Model::ids(), program::Ints{-3, 1}, std::int64_t{-100}},
                                      model.fresh({2, 2}));
  model.classify(padded, 10, -100);
  ASSERT_EQ(model.bounds().size(), 2U);
  EXPECT_EQ(model.bounds()[0].elements, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(model.bounds()[1].elements, (std::vector<bool>{false, false, false, true}));
}

TEST(TokenBound, AllowsIgnoredTargetsUnlessTheyAreLookedUpToo) {
  Model model;
  model.classify(Model::ids(), 10, -100);
  ASSERT_EQ(model.bounds().size(), 1U);
  EXPECT_TRUE(model.bounds()[0].allows(-100));
  EXPECT_FALSE(model.bounds()[0].allows(-1));
  model.look_up(Model::ids());
  ASSERT_EQ(model.bounds().size(), 2U);
  EXPECT_FALSE(model.bounds()[1].allows(-100));
}

TEST(MissingLabels, AreThoseOfAMicroBatchWhoseTargetsAreAllIgnored) {
  Model model;
  model.classify(Model::columns(Model::ids(), 1, 4), 10, -100);
  at::Tensor ids = at::full({2, 4}, -100, at::TensorOptions().dtype(at::kLong));
  EXPECT_EQ(missing_labels(model.program, {ids}),
            "all targets in `ids` are -100, which the loss ignores");
  ids[0][0] = 3;
  EXPECT_TRUE(missing_labels(model.program, {ids})) << "the first column is no target";
  ids[1][2] = 3;
  EXPECT_FALSE(missing_labels(model.program, {ids}));
}

TEST(TokenBound, FollowsIntegersIntoWiderOnesAlone) {
  const auto bounds_through = [](DType dtype) {
    Model model;
    const TensorRef other =
        model.call("aten::_to_copy", {Model::ids()}, model.fresh({2, 4}, dtype));
    model.look_up(model.call("aten::_to_copy", {other}, model.fresh({2, 4})));
    return model.bounds().size();
  };
  EXPECT_EQ(bounds_through(DType::kInt32), 1U);
  EXPECT_EQ(bounds_through(DType::kUInt8), 0U) << "256 becomes 0";
  EXPECT_EQ(bounds_through(DType::kInt16), 0U);
  EXPECT_EQ(bounds_through(DType::kBool), 0U);
  EXPECT_EQ(bounds_through(DType::kFloat32), 0U);
}

TEST(TokenBound, IsNotKnownOfSizesThatNoMachineHas) {
  Model model;
  model.program.inputs[0].tensor.sizes = {1'000'000'000, 1'000'000'000};
  model.look_up(model.program.inputs[0].tensor);
  EXPECT_TRUE(model.bounds().empty());
}

}  // namespace
}  // namespace elixir::train
