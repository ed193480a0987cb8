// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/program.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace elixir::program {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
  bool floating;
};
constexpr std::array<DTypeInfo, 13> kDTypes{{
    {DType::kFloat32, "float32", 4, true},
    {DType::kFloat64, "float64", 8, true},
    {DType::kFloat16, "float16", 2, true},
    {DType::kBFloat16, "bfloat16", 2, true},
    {DType::kInt64, "int64", 8, false},
    {DType::kInt32, "int32", 4, false},
    {DType::kInt16, "int16", 2, false},
    {DType::kInt8, "int8", 1, false},
    {DType::kUInt8, "uint8", 1, false},
    {DType::kUInt64, "uint64", 8, false},
    {DType::kBool, "bool", 1, false},
    {DType::kComplex64, "complex64", 8, false},
    {DType::kComplex128, "complex128", 16, false},
}};
constexpr const DTypeInfo& info(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)];
}

constexpr std::array<std::string_view, kCategoryCount> kCategories{"parameter",
                                                                   "buffer",
                                                                   "gradient",
                                                                   "optimizer_state",
                                                                   "activation",
                                                                   "temporary",
                                                                   "input",
                                                                   "constant"};

}  // namespace

std::int64_t element_bytes(DType dtype) {
  return info(dtype).bytes;
}
std::string_view name_of(DType dtype) {
  return info(dtype).name;
}
bool is_floating(DType dtype) {
  return info(dtype).floating;
}
bool is_complex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeInfo& candidate : kDTypes) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::string_view name_of(Category category) {
  return kCategories[static_cast<std::size_t>(category)];
}

std::optional<Category> category_named(std::string_view name) {
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (kCategories[i] == name) return static_cast<Category>(i);
  }
  return std::nullopt;
}

namespace {

/// Documents may contain any sizes. Products are capped here so that they cannot overflow, even
/// times 16 bytes per element.
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMostElements : std::min(product, kMostElements);
}

}  // namespace

std::int64_t TensorRef::numel() const {
  std::int64_t n = 1;
  for (const std::int64_t size : sizes) n = capped_product(n, size);
  return n;
}

std::int64_t TensorRef::touched_bytes() const {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] != 0 || sizes[i] == 0) elements = capped_product(elements, sizes[i]);
  }
  return elements * element_bytes(dtype);
}

std::string Target::text() const {
  if (kind == Kind::kCuda) return "cuda:sm_" + std::to_string(sm);
  return isa == CpuIsa::kUnsaid ? "cpu" : "cpu:" + std::string(name_of(isa));
}

bool Target::goes_with(const Target& other) const {
  const bool unsaid = isa == CpuIsa::kUnsaid || other.isa == CpuIsa::kUnsaid;
  const bool same_chip = kind == Kind::kCuda ? sm == other.sm : unsaid || isa == other.isa;
  return kind == other.kind && same_chip;
}

std::optional<Target> Target::parse(std::string_view text) {
  if (text == "cpu") return Target{.kind = Kind::kCpu, .sm = 0};
  constexpr std::string_view kCpuPrefix = "cpu:";
  if (text.substr(0, kCpuPrefix.size()) == kCpuPrefix) {
    const std::optional<CpuIsa> isa = parse_cpu_isa(text.substr(kCpuPrefix.size()));
    if (!isa) return std::nullopt;
    return Target{.kind = Kind::kCpu, .sm = 0, .isa = *isa};
  }
  constexpr std::string_view kPrefix = "cuda:sm_";
  if (text.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  Target target{.kind = Kind::kCuda, .sm = 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target.sm);
  if (error != std::errc() || end != text.data() + text.size() || target.sm < 50)
    return std::nullopt;
  return target;
}

std::int64_t Program::parameter_count() const {
  std::int64_t n = 0;
  for (const Parameter& parameter : parameters) n += parameter.tensor.numel();
  return n;
}

}  // namespace elixir::program
