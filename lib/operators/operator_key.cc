// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/operator_key.h"

#include <complex>
#include <cstdint>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elixir::operators {
using program::Bools;
using program::DeviceName;
using program::Doubles;
using program::Ints;
using program::None;
using program::Operator;
using program::TensorRef;
using program::Tensors;

namespace {

std::string text_of(const TensorRef& tensor) {
  return fmt::format("{}[{}]/[{}]{}{}{}",
                     name_of(tensor.dtype),
                     fmt::join(tensor.sizes, ","),
                     fmt::join(tensor.strides, ","),
                     tensor.wrapped_number ? "w" : "",
                     tensor.conjugate ? "*" : "",
                     tensor.negative ? "-" : "");
}

struct ArgumentText {
  std::string operator()(const None&) const { return "-"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}f", value); }
  std::string operator()(const std::complex<double>& value) const {
    return fmt::format("{}+{}i", value.real(), value.imag());
  }
  std::string operator()(const std::string& value) const { return '"' + value + '"'; }
  std::string operator()(const Ints& value) const {
    return fmt::format("({})", fmt::join(value, ","));
  }
  std::string operator()(const Doubles& value) const {
    return fmt::format("f({})", fmt::join(value, ","));
  }
  std::string operator()(const Bools& value) const {
    std::string text = "b(";
    for (const bool element : value) text += element ? '1' : '0';
    return text + ')';
  }
  std::string operator()(const DeviceName& value) const { return value.name; }
  std::string operator()(const TensorRef& value) const { return text_of(value); }
  std::string operator()(const Tensors& value) const {
    std::string text = "{";
    for (const auto& element : value) {
      if (text.size() > 1) text += ';';
      text += element ? text_of(*element) : "-";
    }
    return text + '}';
  }
};

}  // namespace

std::string operator_key(const Operator& op) {
  std::string key = op.name;
  if (!op.overload.empty()) key += '.' + op.overload;
  key += '(';
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    if (i > 0) key += ',';
    key += std::visit(ArgumentText{}, op.arguments[i]);
  }
  return key + ')';
}

}  // namespace elixir::operators
