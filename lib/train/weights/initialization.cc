// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/initialization.h"

#include <optional>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "kernels/random.h"
#include "runtime/micro_batch_seed.h"
#include "runtime/state/element.h"

namespace elixir::train {
namespace {

std::uint64_t key_of(const std::string& name, std::uint64_t seed) {
  const std::string digest = sha256_hex(name);
  return runtime::mix64(seed) ^ std::stoull(digest.substr(0, 16), nullptr, 16);
}

}  // namespace

InitializationRecipe parse_recipe(const std::string& json, const std::string& name) {
  const auto document = JsonDocument::parse(json, name);
  const JsonCursor root = document->root("elixir.initialization", 1);
  root.only_keys({"schema", "schema_version", "meta", "parameters"});
  InitializationRecipe recipe;
  for (const JsonCursor& entry : root.at("parameters").items()) {
    Initializer rule;
    const std::string kind =
        entry.at("kind").choice({"constant", "normal", "truncated_normal", "uniform"});
    if (kind == "constant") {
      entry.only_keys({"name", "kind", "value"});
      rule = {Initializer::Kind::kConstant, entry.at("value").number(), 0};
    } else if (kind == "normal" || kind == "truncated_normal") {
      const bool truncated = kind == "truncated_normal";
      rule = {Initializer::Kind::kNormal, entry.at("mean").number(), entry.at("std").number()};
      if (truncated) {
        entry.only_keys({"name", "kind", "mean", "std", "low", "high"});
        rule.kind = Initializer::Kind::kTruncatedNormal;
        rule.low = entry.at("low").number();
        rule.high = entry.at("high").number();
        if (rule.high < rule.low) {
          throw entry.at("high").error(ErrorCode::kJsonBadValue, "must not be below `low`");
        }
      } else {
        entry.only_keys({"name", "kind", "mean", "std"});
      }
      if (rule.second < 0)
        throw entry.at("std").error(ErrorCode::kJsonBadValue, "must not be negative");
    } else {
      entry.only_keys({"name", "kind", "low", "high"});
      rule = {Initializer::Kind::kUniform, entry.at("low").number(), entry.at("high").number()};
      if (rule.second < rule.first) {
        throw entry.at("high").error(ErrorCode::kJsonBadValue, "must not be below `low`");
      }
    }
    recipe.emplace(entry.at("name").string(), rule);
  }
  return recipe;
}

Initializer default_initializer(const program::Parameter& parameter) {
  const std::string& name = parameter.name;
  const std::string last = name.substr(name.rfind('.') + 1);
  if (last == "bias") return {Initializer::Kind::kConstant, 0, 0};
  if (last == "weight" && parameter.tensor.sizes.size() == 1) {
    return {Initializer::Kind::kConstant, 1, 0};
  }
  return {Initializer::Kind::kNormal, 0, 0.02};
}

at::Tensor initialize(const Initializer& rule,
                      const std::string& name,
                      std::uint64_t seed,
                      const std::vector<std::int64_t>& sizes,
                      program::DType dtype,
                      kernels::ThreadPool& pool) {
  const std::optional<kernels::Element> element = runtime::element_if_known(dtype);
  at::Tensor tensor = at::empty(
      sizes, at::TensorOptions().dtype(element ? capture::scalar_type(dtype) : at::kFloat));
  kernels::fill_random_cpu(tensor.mutable_data_ptr(),
                           element.value_or(kernels::Element::kFloat32),
                           static_cast<std::size_t>(tensor.numel()),
                           rule,
                           key_of(name, seed),
                           kernels::best_isa(),
                           pool);
  return tensor.to(capture::scalar_type(dtype));
}

}  // namespace elixir::train
