// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/evidence/call_form.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "operators/operator_key.h"
#include "operators/scratch/script_builder.h"
#include "program/arguments/arguments.h"

namespace elixir::operators {
namespace {

using program::Operator;
using program::Program;
using program::TensorRef;

template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// TensorTopK.cu and ScanUtils.cuh choose by the number and the length of slices.
constexpr std::array<std::string_view, 2> kChosenBySize = {"aten::topk", "aten::cumsum"};
/// SoftMax.cu has other kernels where the dimension is not the last one.
constexpr std::array<std::string_view, 4> kAlongADimension = {"aten::_softmax",
                                                              "aten::_softmax_backward_data",
                                                              "aten::_log_softmax",
                                                              "aten::_log_softmax_backward_data"};
/// cuDNN's and the fused kernels take memory by width and dropout.
constexpr std::array<std::string_view, 4> kAttention = {
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_cudnn_attention_backward",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_efficient_attention_backward"};

/// "" for row-major order, " permuted" for one block in another order, " expanded" where elements
/// share memory, else " strided".
std::string_view order_of(const TensorRef& tensor) {
  if (is_contiguous(tensor)) return "";
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride, size
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (tensor.sizes[i] == 1) continue;
    if (tensor.strides[i] == 0) return " expanded";
    dimensions.emplace_back(tensor.strides[i], tensor.sizes[i]);
  }
  std::sort(dimensions.begin(), dimensions.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dimensions) {
    if (stride != expected) return " strided";
    expected *= size;
  }
  return " permuted";
}

std::string tensor_form(const TensorRef& tensor, const Program& program) {
  const bool on_host = program.storages.at(static_cast<std::size_t>(tensor.storage)).on_host;
  return fmt::format("{}{}{}", name_of(tensor.dtype), order_of(tensor), on_host ? " host" : "");
}

/// Tensors, missing tensors and flags. Neighbours in a list that have one form are one element,
/// because lists are handled element by element.
std::vector<std::string> forms_of(const std::vector<program::Argument>& arguments,
                                  const Program& program) {
  std::vector<std::string> forms;
  for (const program::Argument& argument : arguments) {
    if (const auto* tensor = std::get_if<TensorRef>(&argument)) {
      forms.push_back(tensor_form(*tensor, program));
    } else if (const auto* list = std::get_if<program::Tensors>(&argument)) {
      std::vector<std::string> elements;
      for (const auto& element : *list) {
        elements.push_back(element ? tensor_form(*element, program) : "-");
      }
      elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
      forms.push_back(fmt::format("[{}]", fmt::join(elements, ", ")));
    } else if (std::holds_alternative<program::None>(argument)) {
      forms.emplace_back("-");
    } else if (const auto* flag = std::get_if<bool>(&argument)) {
      forms.emplace_back(*flag ? "true" : "false");
    } else if (const auto* flags = std::get_if<program::Bools>(&argument)) {
      std::string text;
      for (const bool each : *flags) text += each ? '1' : '0';
      forms.push_back(std::move(text));
    }
  }
  return forms;
}

/// Whether the call's first integer names the last dimension of its first tensor.
bool is_along_last(const Operator& op) {
  const TensorRef* tensor = nullptr;
  for (const program::Argument& argument : op.arguments) {
    if (tensor == nullptr) tensor = std::get_if<TensorRef>(&argument);
    const auto* dimension = std::get_if<std::int64_t>(&argument);
    if (tensor == nullptr || dimension == nullptr) continue;
    const auto rank = static_cast<std::int64_t>(tensor->sizes.size());
    return *dimension == -1 || *dimension == rank - 1;
  }
  return false;
}

/// For tensors of (batch, head, row, width).
void append_attention(const Operator& op, std::vector<std::string>& forms) {
  const program::Arguments call(op);
  const TensorRef* query = call.tensor("query");
  const TensorRef* key = call.tensor("key");
  const TensorRef* value = call.tensor("value");
  for (const TensorRef* tensor : {query, key, value}) {
    if (tensor != nullptr && tensor->sizes.size() == 4) continue;
    forms.emplace_back("no heads");
    return;
  }
  forms.push_back(fmt::format("width {}", query->sizes[3]));
  if (value->sizes[3] != query->sizes[3])
    forms.push_back(fmt::format("of values {}", value->sizes[3]));
  if (query->sizes[1] != key->sizes[1]) forms.emplace_back("grouped");
  if (call.number("dropout_p").value_or(0) > 0) forms.emplace_back("dropout");
}

}  // namespace

std::string full_name(const Operator& op) {
  return op.overload.empty() ? op.name : op.name + '.' + op.overload;
}

std::string call_form(const Operator& op, const Program& program) {
  if (is_one_of(kChosenBySize, op.name)) return operator_key(op);
  std::vector<std::string> arguments = forms_of(op.arguments, program);
  if (is_one_of(kAlongADimension, op.name)) {
    arguments.emplace_back(is_along_last(op) ? "last" : "not last");
  }
  if (is_one_of(kAttention, op.name)) {
    // The scale, which is no tensor, comes last.
    const bool no_scale =
        !op.arguments.empty() && std::holds_alternative<program::None>(op.arguments.back());
    if (no_scale) arguments.pop_back();
    append_attention(op, arguments);
  }
  return fmt::format("{}({}) -> {}",
                     full_name(op),
                     fmt::join(arguments, ", "),
                     fmt::join(forms_of(op.outputs, program), ", "));
}

}  // namespace elixir::operators
