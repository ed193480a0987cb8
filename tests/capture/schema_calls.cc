// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schema_calls.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

namespace elixir::capture {
namespace {

template <std::size_t Count>
bool is_among(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 3> kMasks = {"mask", "condition", "is_target"};
constexpr std::array<std::string_view, 5> kIndices = {
    "index", "indices", "offsets", "lengths", "self_indices"};
constexpr std::array<std::string_view, 8> kDimensions = {
    "dim", "dim0", "dim1", "dim2", "dimension", "axis", "axis0", "axis1"};
/// Factories take them; everything else has the default.
constexpr std::array<std::string_view, 4> kOfFactories = {
    "layout", "pin_memory", "generator", "names"};

/// One call: what its tensors have in common.
class SchemaDraw {
 public:
  explicit SchemaDraw(Random& random)
      : random_(random),
        sizes_(random.any_sizes(0, 5)),
        dtype_(random.any_dtype()),
        broadcasts_(random.number(0, 3) == 0),
        mixes_dtypes_(random.number(0, 5) == 0) {}

  c10::IValue value(const c10::Argument& argument) {
    const std::string& name = argument.name();
    const c10::TypePtr& type = argument.real_type();
    if (argument.default_value() && random_.coin() && !is_among(kDimensions, name)) {
      return *argument.default_value();
    }
    if (is_among(kOfFactories, name)) return {};
    if (const auto optional = type->cast<c10::OptionalType>()) {
      if (name == "device") return random_.space().device;
      if (name == "memory_format" || random_.coin()) return {};
      return of_type(name, optional->getElementType(), /*writes=*/false);
    }
    const auto* alias = argument.alias_info();
    return of_type(name, type, alias != nullptr && alias->isWrite());
  }

 private:
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(sizes_.size()); }

  std::int64_t dimension() {
    return rank() == 0 ? 0 : random_.number(0, rank() - 1) - (random_.coin() ? rank() : 0);
  }

  c10::IValue of_type(const std::string& name, const c10::TypePtr& type, bool writes) {
    switch (type->kind()) {
      case c10::TypeKind::TensorType:
        return tensor(name, writes);
      case c10::TypeKind::ListType:
        return list(name, type->expectRef<c10::ListType>().getElementType());
      case c10::TypeKind::FloatType:
        return name == "eps" ? 1e-5 : random_.one_of<double>({0.5, 0.25, 1.0});
      case c10::TypeKind::BoolType:
        return name != "sparse" && name != "pin_memory" && random_.coin();
      case c10::TypeKind::NumberType:
        return number(name);
      case c10::TypeKind::StringType:
        return text(name);
      case c10::TypeKind::DeviceObjType:
        return random_.space().device;
      case c10::TypeKind::ScalarTypeType:
        return static_cast<std::int64_t>(random_.coin() ? dtype_ : random_.any_dtype());
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return integer(name);
      default:
        TORCH_CHECK(false, "nothing to draw for ", type->str());
    }
  }

  at::Tensor tensor(const std::string& name, bool writes) {
    const bool first = count_++ == 0;
    if (is_among(kMasks, name)) return random_.tensor(sizes_, at::kBool);
    if (is_among(kIndices, name)) {
      return at::zeros(sizes_, at::TensorOptions().dtype(at::kLong).device(random_.space().device));
    }
    const at::ScalarType dtype = mixes_dtypes_ && !first ? random_.any_dtype() : dtype_;
    if (name == "value") return random_.plain({}, dtype);
    Sizes sizes = sizes_;
    if (!first && broadcasts_) {
      for (std::int64_t& size : sizes) size = random_.number(0, 2) == 0 ? 1 : size;
      if (!sizes.empty() && random_.coin()) sizes.erase(sizes.begin());
      // A number on the host.
      if (random_.number(0, 3) == 0) return random_.plain({}, dtype).cpu();
    }
    return random_.tensor(sizes, dtype, /*overlapping=*/!writes);
  }

  c10::IValue list(const std::string& name, const c10::TypePtr& element) {
    const std::int64_t length = random_.number(1, 4);
    switch (element->kind()) {
      case c10::TypeKind::TensorType: {
        c10::List<at::Tensor> tensors;
        for (std::int64_t i = 0; i < length; ++i) {
          tensors.push_back(random_.tensor(sizes_, dtype_, /*overlapping=*/false));
        }
        return tensors;
      }
      case c10::TypeKind::BoolType: {
        c10::List<bool> flags;
        for (std::int64_t i = 0; i < length; ++i) flags.push_back(random_.coin());
        return flags;
      }
      case c10::TypeKind::NumberType: {
        c10::List<at::Scalar> numbers;
        for (std::int64_t i = 0; i < length; ++i) numbers.push_back(random_.number(1, 3));
        return numbers;
      }
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        return integers(name);
      default:
        TORCH_CHECK(false, "nothing to draw for a list of ", element->str());
    }
  }

  Sizes integers(const std::string& name) {
    if (name.find("size") != std::string::npos) return sizes_;
    Sizes some;
    if (name == "shifts" || name == "repeats") {
      for (std::int64_t i = 0; i < rank(); ++i) some.push_back(random_.number(1, 2));
      return some;
    }
    if (name == "dims" && count_ == 1 && random_.coin()) {  // an order of all dimensions
      for (std::int64_t i = 0; i < rank(); ++i) some.push_back((i + 1) % rank());
      return some;
    }
    for (std::int64_t i = 0; i < rank(); ++i) {
      if (random_.coin()) some.push_back(i);
    }
    return some;
  }

  std::int64_t integer(const std::string& name) {
    if (is_among(kDimensions, name)) return dimension();
    if (name == "reduction") return random_.number(0, 2);
    if (name == "diagonal" || name == "offset") return random_.number(-2, 2);
    if (name == "start" || name == "storage_offset" || name == "index") return 0;
    return random_.number(1, 2);
  }

  c10::IValue number(const std::string& name) {
    if (name == "alpha" || name == "beta") return std::int64_t{1};
    return random_.coin() ? c10::IValue(random_.number(1, 3))
                          : c10::IValue(random_.one_of<double>({0.5, 2.0}));
  }

  std::string text(const std::string& name) {
    if (name == "approximate") return random_.coin() ? "none" : "tanh";
    if (name == "rounding_mode") return random_.coin() ? "floor" : "trunc";
    if (name == "reduce")
      return random_.one_of<std::string>({"sum", "mean", "prod", "amax", "amin"});
    if (name == "UPLO") return random_.coin() ? "L" : "U";
    if (name == "mode") return random_.one_of<std::string>({"reduced", "complete", "r"});
    return "";
  }

  Random& random_;
  const Sizes sizes_;
  const at::ScalarType dtype_;
  const bool broadcasts_, mixes_dtypes_;
  int count_ = 0;  ///< of tensors that were drawn
};

}  // namespace

Values draw_by_schema(const c10::FunctionSchema& schema, Random& random) {
  SchemaDraw draw(random);
  Values values;
  for (const c10::Argument& argument : schema.arguments()) values.push_back(draw.value(argument));
  return values;
}

}  // namespace elixir::capture
