// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which operators become groups, and what becomes of the program. What a group computes is tested
// in tests/replay/fused_test.cc and tests/runtime/fused_errors_test.cc.
#include "edit/fusion/fuse_elementwise.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sanitizer.h"
#include "edit/activations.h"
#include "edit/fusion/fusion_groups.h"
#include "fakes/program_builder.h"
#include "operators/fused_program.h"
#include "operators/own.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using fakes::ProgramBuilder;
using program::Argument;
using program::DType;
using program::Ints;
using program::None;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::StorageId;
using program::TensorRef;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kNormRows = 6, kNormWidth = 32;

/// NormCalls with all arguments of their schemas, each with one result.
class NormCalls {
 public:
  explicit NormCalls(DType dtype = DType::kBFloat16) : builder(dtype) {}

  TensorRef call(const std::string& name, std::vector<Argument> arguments, TensorRef like) {
    builder.append(name, std::move(arguments), {&like});
    return like;
  }
  TensorRef one(const std::string& name, const TensorRef& x) { return call(name, {x}, x); }
  TensorRef two(const std::string& name, const TensorRef& x, const TensorRef& y) {
    return call(name, {x, y}, x);
  }
  TensorRef add(const TensorRef& x, const TensorRef& y) {
    return call("aten::add", {x, y, std::int64_t{1}}, x);
  }
  TensorRef add_number(const TensorRef& x, double number) {
    return call("aten::add", {x, number, std::int64_t{1}}, x);
  }
  TensorRef convert(const TensorRef& x, DType dtype) {
    TensorRef like = x;
    like.dtype = dtype;
    return call(
        "aten::_to_copy", {x, std::int64_t{6}, None{}, None{}, None{}, false, None{}}, like);
  }
  TensorRef mean_of_rows(const TensorRef& x) {
    TensorRef like = x;
    like.sizes.back() = like.strides.back() = 1;
    like.strides.front() = 1;
    return call("aten::mean", {x, Ints{-1}, true, None{}}, like);
  }
  /// As Hugging Face writes it.
  TensorRef rms_norm(const TensorRef& x, const TensorRef& weight) {
    const TensorRef wide = convert(x, DType::kFloat32);
    const TensorRef square = call("aten::pow", {wide, std::int64_t{2}}, wide);
    const TensorRef scale = one("aten::rsqrt", add_number(mean_of_rows(square), 1e-6));
    const TensorRef normal = convert(two("aten::mul", wide, scale), DType::kBFloat16);
    return call("aten::mul", {weight, normal}, normal);
  }
  TensorRef product(const TensorRef& x) { return builder.call("aten::mm", {x, x}, x.sizes); }
  TensorRef input(const std::string& name) {
    return builder.input(name, {kNormRows, kNormWidth}, builder.dtype());
  }

  ProgramBuilder builder;
};

std::vector<std::string> names_in(const Program& program) {
  std::vector<std::string> all;
  for (const Operator& op : program.operators) all.push_back(op.name);
  return all;
}
const Operator& fused_of(const Program& program) {
  return *std::find_if(program.operators.begin(), program.operators.end(), [](const Operator& op) {
    return op.name == operators::kFused;
  });
}
std::size_t tensor_count(const Operator& fused, std::size_t argument) {
  return std::get<program::Tensors>(fused.arguments.at(argument)).size();
}

TEST(FuseElementwise, ANormOfManyOperatorsBecomesOne) {
  NormCalls calls;
  const TensorRef x = calls.input("x");
  const TensorRef weight = calls.builder.parameter("weight", {kNormWidth});
  const TensorRef norm = calls.rms_norm(x, weight);
  calls.product(norm);
  const FusedElementwise result = fuse_elementwise(calls.builder.build());
  EXPECT_EQ(result.groups, 1);
  EXPECT_EQ(result.members, 8);
  EXPECT_THAT(names_in(result.program), ElementsAre(operators::kFused, "aten::mm"));
  const Operator& fused = fused_of(result.program);
  EXPECT_EQ(tensor_count(fused, 0), 2U);
  EXPECT_EQ(tensor_count(fused, 1), 0U);
  EXPECT_FALSE(fused.writes);
  EXPECT_EQ(
      std::get<std::string>(fused.arguments.at(3)),
      "input 0;input 1;mul 1 1;sum 2;constant 32;div 3 4;constant 1e-06;add 5 6;rsqrt 7;mul 1 8;"
      "mul 0 9");
  EXPECT_THAT(std::get<Ints>(fused.arguments.at(4)), ElementsAre(10));
}

TEST(FuseElementwise, WhatIsReadOutsideStaysAResult) {
  NormCalls calls;
  const TensorRef x = calls.input("x");
  const TensorRef e = calls.one("aten::exp", x);
  const TensorRef n = calls.one("aten::neg", e);
  calls.product(e);
  calls.product(n);
  const Program before = calls.builder.build();
  const FusedElementwise result = fuse_elementwise(before);
  EXPECT_THAT(names_in(result.program), ElementsAre(operators::kFused, "aten::mm", "aten::mm"));
  EXPECT_EQ(std::get<program::Tensors>(fused_of(result.program).outputs.at(0)).size(), 2U);
  EXPECT_EQ(result.program.storages.size(), before.storages.size());  // ids stay
}

TEST(FuseElementwise, AnotherOperatorBetweenThemSeparates) {
  NormCalls calls;
  const TensorRef x = calls.input("x");
  const TensorRef e = calls.one("aten::exp", x);
  const TensorRef product = calls.product(e);
  calls.two("aten::mul", e, product);  // needs the product, which needs the first
  EXPECT_EQ(fuse_elementwise(calls.builder.build()).groups, 0);
}

TEST(FuseElementwise, AnotherShapeOrDtypeIsLeftAlone) {
  NormCalls calls;
  const TensorRef x = calls.input("x");
  const TensorRef turned = [&] {
    TensorRef view = x;
    std::swap(view.sizes[0], view.sizes[1]);
    std::swap(view.strides[0], view.strides[1]);
    return view;
  }();
  calls.one("aten::neg", calls.one("aten::exp", turned));  // not dense along the last dimension
  NormCalls wide(DType::kFloat64);
  wide.one("aten::neg", wide.one("aten::exp", wide.input("x")));
  EXPECT_EQ(fuse_elementwise(calls.builder.build()).groups, 0);
  EXPECT_EQ(fuse_elementwise(wide.builder.build()).groups, 0);
}

TEST(FuseElementwise, WhatIsWrittenInPlaceStaysInPlace) {
  NormCalls calls;
  const TensorRef x = calls.input("x");
  const TensorRef made = calls.product(x);
  const TensorRef e = calls.one("aten::exp", x);
  const TensorRef written = calls.builder.write("aten::neg_", made, {});
  calls.product(calls.add(written, e));
  const FusedElementwise result = fuse_elementwise(calls.builder.build());
  ASSERT_EQ(result.groups, 1);
  const Operator& fused = fused_of(result.program);
  EXPECT_TRUE(fused.writes);
  ASSERT_EQ(tensor_count(fused, 1), 1U);
  EXPECT_EQ(std::get<program::Tensors>(fused.arguments.at(1)).front()->storage, made.storage);
}

TEST(FuseElementwise, AGradientOfALayerNormIsSplitAndFused) {
  NormCalls calls(DType::kFloat32);
  const TensorRef x = calls.input("x");
  const TensorRef weight = calls.builder.parameter("weight", {kNormWidth});
  TensorRef y = x, mean = calls.builder.constant({kNormRows, 1}), scale = mean;
  calls.builder.append(
      "aten::native_layer_norm", {x, Ints{kNormWidth}, weight, None{}, 1e-5}, {&y, &mean, &scale});
  calls.builder.start_backward();
  const TensorRef gradient = calls.product(y);
  TensorRef of_x = x, of_weight = weight;
  calls.builder.append("aten::native_layer_norm_backward",
                       {gradient,
                        x,
                        Ints{kNormWidth},
                        mean,
                        scale,
                        weight,
                        None{},
                        program::Bools{true, true, true}},
                       {&of_x, &of_weight, &of_weight});
  Program alone = calls.builder.build();
  EXPECT_EQ(fuse_elementwise(alone).groups, 0);
  EXPECT_THAT(names_in(fuse_elementwise(alone).program), testing::SizeIs(3));
  calls.product(calls.add(of_x, gradient));
  const FusedElementwise result = fuse_elementwise(calls.builder.build());
  EXPECT_EQ(result.groups, 1);
  EXPECT_EQ(result.members, 2);
  EXPECT_THAT(names_in(result.program),
              testing::UnorderedElementsAre("aten::native_layer_norm",
                                            "aten::mm",
                                            operators::kFused,
                                            "aten::native_layer_norm_backward",
                                            "aten::mm"));
}

/// The peak of what operators make, in a replay.
std::int64_t peak_of(const Program& program) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::int64_t live = 0, most = 0;
  for (const Operator& op : program.operators) {
    for (const StorageId s : lifetimes.made_by[op.id]) live += program.storages[s].bytes;
    most = std::max(most, live);
    for (const StorageId s : lifetimes.released_after[op.id]) live -= program.storages[s].bytes;
  }
  return most;
}

/// A random program of elementwise operators, norms and products, in blocks, with backward-like
/// reads of what forward made, and writes in place.
Program random_groups(std::uint32_t seed) {
  NormCalls calls;
  const auto draw = [&seed](std::uint32_t below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 8) % below;
  };
  std::vector<TensorRef> values{calls.input("x"), calls.input("y")};
  const TensorRef weight = calls.builder.parameter("weight", {kNormWidth});
  for (int i = 0; i < 40; ++i) {
    if (i % 10 == 0 && i < 30) calls.builder.set_module("h." + std::to_string(i / 10));
    if (i == 30) calls.builder.start_backward();
    // Mostly what has just been made.
    const auto size = static_cast<std::uint32_t>(values.size());
    const auto pick = [&] { return values[size - 1 - std::min(draw(size), draw(size))]; };
    const TensorRef a = pick(), b = pick();
    const bool is_input = a.storage == values[0].storage || a.storage == values[1].storage;
    switch (draw(8)) {
      case 0:
        values.push_back(calls.product(a));
        break;
      case 1:
        values.push_back(calls.rms_norm(a, weight));
        break;
      case 2:
        if (!is_input) {
          const TensorRef written = calls.builder.write("aten::neg_", a, {});
          for (TensorRef& value : values) {
            if (value.storage == written.storage) value = written;
          }
        }
        break;
      case 3:
        values.push_back(calls.one("aten::silu", a));
        break;
      case 4:
        values.push_back(calls.two("aten::mul", a, b));
        break;
      case 5:
        values.push_back(calls.one("aten::exp", a));
        break;
      default:
        values.push_back(calls.add(a, b));
    }
  }
  return calls.builder.build();
}

/// Whoever must run after whom, told apart by reading what the other writes: checked on the program
/// before, with the places that the groups have.
void expect_order_kept(const Program& before, const std::vector<FusionGroup>& groups) {
  std::map<OperatorId, const FusionGroup*> group_of;
  for (const FusionGroup& group : groups) {
    EXPECT_GE(group.members.size(), 2U);
    EXPECT_TRUE(std::binary_search(group.members.begin(), group.members.end(), group.place));
    for (const OperatorId id : group.members) EXPECT_TRUE(group_of.emplace(id, &group).second);
  }
  const auto place = [&](OperatorId id) {
    const auto found = group_of.find(id);
    return found == group_of.end() ? id : found->second->place;
  };
  for (const Operator& later : before.operators) {
    for (const Operator& earlier : before.operators) {
      if (earlier.id >= later.id) break;
      bool depends = false;
      const auto touches = [&](const std::vector<Argument>& of,
                               const std::vector<Argument>& other) {
        program::for_each_tensor(of, [&](const TensorRef& a) {
          program::for_each_tensor(
              other, [&](const TensorRef& b) { depends = depends || a.storage == b.storage; });
        });
      };
      touches(earlier.outputs, later.arguments);
      touches(earlier.outputs, later.outputs);
      touches(earlier.arguments, later.outputs);
      if (!depends) continue;
      const bool together = group_of.count(earlier.id) != 0 && place(earlier.id) == place(later.id);
      EXPECT_TRUE(together || place(earlier.id) < place(later.id))
          << earlier.id << " before " << later.id;
    }
  }
}

TEST(FuseElementwise, TwiceChangesNothing) {
  const FusedElementwise once = fuse_elementwise(random_groups(1));
  ASSERT_GT(once.groups, 0);
  EXPECT_EQ(program::fingerprint(fuse_elementwise(once.program).program),
            program::fingerprint(once.program));
}

TEST(FuseElementwise, RandomProgramsKeepTheirOrderAndNeedNoMoreMemory) {
  constexpr std::uint32_t kPrograms = kUnderAddressSanitizer ? 30 : 300;
  int groups = 0;
  for (std::uint32_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    const Program before = random_groups(seed);
    const std::vector<FusionGroup> found = fusion_groups(before);
    expect_order_kept(before, found);
    const FusedElementwise after = fuse_elementwise(before);
    ASSERT_EQ(after.groups, static_cast<int>(found.size()));
    groups += after.groups;
    EXPECT_LE(peak_of(after.program), peak_of(before));
    // Less where nothing that the group stores needs an input any more.
    EXPECT_LE(kept_bytes(after.program), kept_bytes(before));
    EXPECT_EQ(program::fingerprint(fuse_elementwise(before).program),
              program::fingerprint(after.program));
  }
  EXPECT_GT(groups, static_cast<int>(2 * kPrograms));
}

TEST(FusedProgram, ItsTextIsReadBackAndNothingElse) {
  using operators::parse_fused_program;
  const std::string text = "input 0;constant -0.5;mul 0 1;where 0 1 2;sum 3";
  const auto program = parse_fused_program(text);
  ASSERT_TRUE(program);
  EXPECT_EQ(operators::text_of(*program), text);
  for (const char* wrong : {"input",
                            "input -1",
                            "input 24",
                            "input 0;mul 0 1",
                            "input 0;mul 0",
                            "input 0;neg 0 0",
                            "constant x",
                            "input 0;;neg 0",
                            "system 0"}) {
    EXPECT_FALSE(parse_fused_program(wrong)) << wrong;
  }
}

TEST(FusedProgram, ASumEndsAPassAndIsKnownInTheNext) {
  const auto program = operators::parse_fused_program("input 0;mul 0 0;sum 1;rsqrt 2;mul 0 3");
  const auto passes = operators::passes_of(*program, {false}, {4});
  ASSERT_TRUE(passes);
  ASSERT_EQ(passes->passes.size(), 2U);
  EXPECT_THAT(passes->passes[0].element_steps, ElementsAre(0, 1));
  EXPECT_THAT(passes->passes[0].sums, ElementsAre(2));
  EXPECT_THAT(passes->passes[1].row_steps, ElementsAre(3));
  EXPECT_THAT(passes->passes[1].element_steps, ElementsAre(0, 4));
  EXPECT_FALSE(operators::passes_of(*program, {true}, {4}));  // sums what is per row
  EXPECT_FALSE(operators::passes_of(*program, {}, {4}));
  EXPECT_FALSE(operators::passes_of(*program, {false}, {5}));
}

}  // namespace
}  // namespace elixir::edit
