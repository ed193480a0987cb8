// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/module_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace elixir::report {
namespace {

using memory::ModuleMemory;
using ::testing::ElementsAre;

/// A tree from paths, parents first. Each module has `parameters` and its own peak.
class TreeBuilder {
 public:
  TreeBuilder() { add("", -1); }
  std::int32_t add(const std::string& name,
                   std::int32_t parent,
                   std::int64_t parameters = 0,
                   std::int64_t peak = 0) {
    ModuleMemory module;
    module.name = name;
    module.parent = tree.empty() ? -1 : parent;
    const auto position = static_cast<std::int32_t>(tree.size());
    if (module.parent >= 0) tree[static_cast<std::size_t>(parent)].children.push_back(position);
    tree.push_back(module);
    for (std::int32_t at = position; at >= 0; at = tree[static_cast<std::size_t>(at)].parent) {
      tree[static_cast<std::size_t>(at)].parameters_bytes += parameters;
      auto& highest = tree[static_cast<std::size_t>(at)].peak_bytes;
      highest = std::max(highest, peak);
    }
    return position;
  }
  std::vector<ModuleMemory> tree;
};

std::vector<std::string> labels_of(const std::vector<ModuleRow>& rows) {
  std::vector<std::string> labels;
  for (const ModuleRow& row : rows) {
    labels.push_back(std::string(static_cast<std::size_t>(row.depth), ' ') + row.label);
  }
  return labels;
}

TEST(ModuleRows, OfARootAloneIsARow) {
  const TreeBuilder builder;
  EXPECT_THAT(labels_of(module_rows(builder.tree, 5)), ElementsAre("(model)"));
}

TEST(ModuleRows, ModulesInsideOneAnotherAreOneRowWhileTheirFiguresAreTheSame) {
  TreeBuilder builder;
  const auto model = builder.add("model", 0);
  const auto decoder = builder.add("decoder", model);
  const auto attention = builder.add("self_attn", decoder, 30);  // has weights of its own
  builder.add("out_proj", attention, 10);
  builder.add("mlp", decoder, 7);
  builder.tree[0].parameters_bytes += 100;  // what only the root has
  const auto rows = module_rows(builder.tree, 10);
  EXPECT_THAT(labels_of(rows),
              ElementsAre("(model)", " model.decoder", "  self_attn", "   out_proj", "  mlp"));
  EXPECT_EQ(rows[0].parameters_bytes, 147);
  EXPECT_EQ(rows[1].parameters_bytes, 47);
  EXPECT_EQ(rows[2].parameters_bytes, 40);
  EXPECT_EQ(rows[3].parameters_bytes, 10);
}

TEST(ModuleRows, NameEveryStretchOfSiblingsAlike) {
  const auto label = [](const std::vector<std::int64_t>& parameters) {
    TreeBuilder builder;
    const auto layers = builder.add("layers", 0);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      builder.add(std::to_string(i), layers, parameters[i]);
    }
    return module_rows(builder.tree, 20).at(1).label;
  };
  EXPECT_EQ(label({5, 5, 5, 9, 5}), "0 … 2, 4");
  EXPECT_EQ(label({5, 5, 5, 5, 9}), "0 … 3");
  EXPECT_EQ(label({5, 9, 5, 8, 5, 7, 5}), "0, 2, 4, 6");
  EXPECT_EQ(label({5, 9, 5, 9, 5, 9, 5, 9, 5, 9, 5, 9}), "0, 2, … 10");
}

TEST(ModuleRows, SiblingsAlikeAreOneRowWithTheHighestPeak) {
  TreeBuilder builder;
  const auto layers = builder.add("layers", 0);
  for (int i = 0; i < 96; ++i) {
    const auto layer = builder.add(std::to_string(i), layers);
    builder.add("attention", layer, 10, 1000 + (i == 40 ? 500 : i));
    builder.add("mlp", layer, 20, 900);
  }
  builder.add("head", 0, 3);
  const auto rows = module_rows(builder.tree, 20);
  EXPECT_THAT(labels_of(rows),
              ElementsAre("(model)", " layers", "  0 … 95", "   attention", "   mlp", " … 1 more"));
  EXPECT_EQ(rows[2].alike, 96);
  EXPECT_EQ(rows[2].parameters_bytes, 30);
  EXPECT_EQ(rows[2].peak_bytes, 1500);
  EXPECT_EQ(rows[3].peak_bytes, 1500);  // inside the module that represents the group
  EXPECT_EQ(rows[5].parameters_bytes, 3);
}

TEST(ModuleRows, HeavyBranchesOpenFirstAndTheRestIsCounted) {
  TreeBuilder builder;
  const auto light = builder.add("light", 0);
  builder.add("x", light, 30);
  builder.add("y", light, 31);
  const auto heavy = builder.add("heavy", 0);
  builder.add("u", heavy, 50);
  builder.add("v", heavy, 51);
  builder.add("nothing", heavy, 0);
  EXPECT_THAT(labels_of(module_rows(builder.tree, 6)),
              ElementsAre("(model)", " light", " heavy", "  u", "  v", "  … 1 more"));
  EXPECT_THAT(labels_of(module_rows(builder.tree, 5)),
              ElementsAre("(model)", " light", "  x", "  y", " heavy"));
  EXPECT_THAT(labels_of(module_rows(builder.tree, 3)), ElementsAre("(model)", " light", " heavy"));
  EXPECT_THAT(labels_of(module_rows(builder.tree, 2)), ElementsAre("(model)"));
}

TEST(ModuleRows, AWideBranchDoesNotTakeTheScreen) {
  TreeBuilder builder;
  for (int i = 0; i < 30; ++i) builder.add("m" + std::to_string(i), 0, 100 + i);
  const auto rows = module_rows(builder.tree, 50);
  ASSERT_EQ(rows.size(), 9U);
  EXPECT_EQ(rows[1].label, "m23");  // the seven heaviest, in the tree's order
  EXPECT_EQ(rows[7].label, "m29");
  EXPECT_EQ(rows[8].label, "… 23 more");
  EXPECT_EQ(rows[8].alike, 23);
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) sum += rows[i].parameters_bytes;
  EXPECT_EQ(sum, rows[0].parameters_bytes);
}

TEST(ModuleRows, NeverMoreThanAskedFor) {
  TreeBuilder builder;
  std::int32_t parent = 0;
  for (int depth = 0; depth < 20; ++depth) {
    for (int i = 0; i < 9; ++i) builder.add("m" + std::to_string(i), parent, 1 + i + depth * 10);
    parent = static_cast<std::int32_t>(builder.tree.size()) - 1;
  }
  for (std::size_t limit = 1; limit < 60; ++limit) {
    EXPECT_LE(module_rows(builder.tree, limit).size(), limit);
  }
}

TEST(ModuleRows, RefusesNoRoom) {
  EXPECT_THROW((void)module_rows(TreeBuilder().tree, 0), Error);
  EXPECT_THROW((void)module_rows({}, 5), Error);
}

}  // namespace
}  // namespace elixir::report
