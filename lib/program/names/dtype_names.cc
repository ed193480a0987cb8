// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/names/dtype_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "program/program.h"

namespace elixir::program {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kOtherNames{{
    {"long", "int64"},     {"i64", "int64"},    {"s64", "int64"},     {"int", "int32"},
    {"i32", "int32"},      {"s32", "int32"},    {"short", "int16"},   {"i16", "int16"},
    {"char", "int8"},      {"i8", "int8"},      {"byte", "uint8"},    {"u8", "uint8"},
    {"float", "float32"},  {"fp32", "float32"}, {"f32", "float32"},   {"single", "float32"},
    {"double", "float64"}, {"fp64", "float64"}, {"f64", "float64"},   {"half", "float16"},
    {"fp16", "float16"},   {"f16", "float16"},  {"bf16", "bfloat16"}, {"boolean", "bool"},
}};

}  // namespace

std::optional<std::string> dtype_meant_by(std::string_view name) {
  if (dtype_named(name)) return std::nullopt;
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  constexpr std::string_view kTorch = "torch.";
  if (lower.rfind(kTorch, 0) == 0) lower.erase(0, kTorch.size());
  if (dtype_named(lower)) return lower;
  for (const auto& [other, ours] : kOtherNames) {
    if (lower == other && dtype_named(ours)) return std::string(ours);
  }
  return std::nullopt;
}

std::string help_for_input(const std::string& text) {
  const std::size_t bracket = text.find('[');
  const std::size_t colon = text.rfind(':', bracket);
  if (bracket != std::string::npos && colon != std::string::npos) {
    const std::string name = text.substr(colon + 1, bracket - colon - 1);
    if (const auto meant = dtype_meant_by(name)) {
      return fmt::format("`{}` is called `{}` here: --input {}",
                         name,
                         *meant,
                         text.substr(0, colon + 1) + *meant + text.substr(bracket));
    }
  }
  return "for example --input input_ids:int64[2,128]";
}

}  // namespace elixir::program
