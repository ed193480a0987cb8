// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/refused/enumerations.h"

#include <cstdint>

#include <ATen/core/jit_type.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

namespace elixir::capture {
namespace {

struct Enumeration {
  const char* name = nullptr;
  std::int64_t count = 0;
};

/// The enumeration that an integer belongs to. Without a name, it is a plain integer.
Enumeration enumeration_of(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.real_type();
  const auto optional = type->cast<c10::OptionalType>();
  switch (optional ? optional->getElementType()->kind() : type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      return {"dtype", static_cast<std::int64_t>(c10::ScalarType::Undefined)};
    case c10::TypeKind::LayoutType:
      return {"layout", static_cast<std::int64_t>(c10::Layout::NumOptions)};
    case c10::TypeKind::MemoryFormatType:
      return {"memory format", static_cast<std::int64_t>(c10::MemoryFormat::NumOptions)};
    default:
      break;
  }
  // The interpreter's operators declare it as `int?`.
  if (argument.name() == "dtype") {
    return {"dtype", static_cast<std::int64_t>(c10::ScalarType::Undefined)};
  }
  return {};
}

void check_dtype(c10::ScalarType type) {
  TORCH_CHECK(type >= c10::ScalarType::Byte && type < c10::ScalarType::Undefined,
              "there is no dtype ",
              static_cast<int>(type));
}

// While a file is loaded, the compiler evaluates these two for constants, before any call is
// checked. LibTorch would read its table at unchecked positions.
c10::ScalarType promote_types(c10::ScalarType a, c10::ScalarType b) {
  check_dtype(a);
  check_dtype(b);
  return c10::promoteTypes(a, b);
}
bool can_cast(c10::ScalarType from, c10::ScalarType to) {
  check_dtype(from);
  check_dtype(to);
  return c10::canCast(from, to);
}

}  // namespace

// NOLINTNEXTLINE(misc-unused-parameters)
TORCH_LIBRARY_IMPL(aten, BackendSelect, m) {
  m.impl("promote_types", &promote_types);
  m.impl("can_cast", &can_cast);
}

void check_enumerations(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  for (std::size_t i = 0; i < arguments.size() && i < schema.arguments().size(); ++i) {
    if (!arguments[i].isInt()) continue;
    const c10::Argument& argument = schema.arguments()[i];
    const std::int64_t value = arguments[i].toInt();
    // LibTorch's channel shuffle divides by it without a check.
    TORCH_CHECK(
        argument.name() != "groups" || value > 0, "groups must be positive, but got ", value);
    const Enumeration kind = enumeration_of(argument);
    TORCH_CHECK(kind.name == nullptr || (value >= 0 && value < kind.count),
                "there is no ",
                kind.name,
                " ",
                value);
  }
}

}  // namespace elixir::capture
