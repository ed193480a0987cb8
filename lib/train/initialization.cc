// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <cmath>
#include <cstring>
#include <numbers>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "runtime/micro_batch_seed.h"
#include "train/weights.h"

namespace elixir::train {
namespace {

/// In (0, 1]: never 0, so that its logarithm is finite.
double unit_of(std::uint64_t bits) {
  return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

std::uint64_t key_of(const std::string& name, std::uint64_t seed) {
  const std::string digest = sha256_hex(name);
  return runtime::mix64(seed) ^ std::stoull(digest.substr(0, 16), nullptr, 16);
}

}  // namespace

InitializationRecipe parse_recipe(const std::string& json, const std::string& name) {
  const auto document = JsonDocument::parse(json, name);
  const JsonCursor root = document->root();
  if (root.at("schema").string() != "elixir.initialization") {
    root.at("schema").fail(ErrorCode::kWrongSchema,
                           "not an initialization recipe",
                           {"wanted schema `elixir.initialization`"});
  }
  const std::string version = root.at("schema_version").string();
  if (version.rfind("1.", 0) != 0) {
    root.at("schema_version")
        .fail(ErrorCode::kWrongSchema, "this build reads version 1, not `" + version + "`");
  }
  root.only_keys({"schema", "schema_version", "meta", "parameters"});
  InitializationRecipe recipe;
  for (const JsonCursor& entry : root.at("parameters").items()) {
    Initializer rule;
    const std::string kind = entry.at("kind").choice({"constant", "normal", "uniform"});
    if (kind == "constant") {
      entry.only_keys({"name", "kind", "value"});
      rule = {Initializer::Kind::kConstant, entry.at("value").number(), 0};
    } else if (kind == "normal") {
      entry.only_keys({"name", "kind", "mean", "std"});
      rule = {Initializer::Kind::kNormal, entry.at("mean").number(), entry.at("std").number()};
      if (rule.second < 0) entry.at("std").fail(ErrorCode::kJsonBadValue, "must not be negative");
    } else {
      entry.only_keys({"name", "kind", "low", "high"});
      rule = {Initializer::Kind::kUniform, entry.at("low").number(), entry.at("high").number()};
      if (rule.second < rule.first) {
        entry.at("high").fail(ErrorCode::kJsonBadValue, "must not be below `low`");
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
                      const std::vector<std::int64_t>& sizes) {
  at::Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(at::kFloat));
  auto* out = tensor.mutable_data_ptr<float>();
  const std::int64_t n = tensor.numel();
  const std::uint64_t key = key_of(name, seed);
  const auto draw = [key](std::int64_t index) {
    return unit_of(runtime::mix64(key + static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15U));
  };
  switch (rule.kind) {
    case Initializer::Kind::kConstant:
      std::fill_n(out, n, static_cast<float>(rule.first));
      break;
    case Initializer::Kind::kUniform:
      at::parallel_for(0, n, 32768, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          out[i] = static_cast<float>(rule.first + (rule.second - rule.first) * draw(i));
        }
      });
      break;
    case Initializer::Kind::kNormal:
      at::parallel_for(0, (n + 1) / 2, 16384, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t pair = begin; pair < end; ++pair) {
          const double radius = std::sqrt(-2.0 * std::log(draw(2 * pair)));
          const double angle = 2.0 * std::numbers::pi * draw(2 * pair + 1);
          out[2 * pair] = static_cast<float>(rule.first + rule.second * radius * std::cos(angle));
          if (2 * pair + 1 < n) {
            out[2 * pair + 1] =
                static_cast<float>(rule.first + rule.second * radius * std::sin(angle));
          }
        }
      });
      break;
  }
  return tensor;
}

}  // namespace elixir::train
