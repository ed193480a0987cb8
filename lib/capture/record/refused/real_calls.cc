// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/refused/real_calls.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

#include <ATen/EmptyTensor.h>
#include <ATen/core/ATen_fwd.h>
#include <ATen/core/enum_tag.h>

#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/fallbacks.h"

namespace elixir::capture {
namespace {

using Names = std::unordered_set<std::string_view>;

/// Beside the families of LibTorch's core and pointwise operators. Each checks its sizes.
const Names& also_allowed() {
  static const Names names{
      "aten::detach",
      "aten::detach_",
      "aten::eye",
      "aten::flatten",
      "aten::floor_divide",
      "aten::is_same_size",
      "aten::linspace",
      "aten::logspace",
      "aten::ones",
      "aten::repeat_interleave",
      "aten::set_",
      "aten::tril",
      "aten::tril_indices",
      "aten::triu",
      "aten::triu_indices",
      "aten::zeros",
  };
  return names;
}

/// "aten::add" for aten::add_.Tensor: operators of one name do the same in different ways.
std::string family_of(const std::string& name) {
  return name.back() == '_' ? name.substr(0, name.size() - 1) : name;
}

/// The families with an operator that LibTorch calls core or pointwise.
const std::unordered_set<std::string>& known_families() {
  static const std::unordered_set<std::string> families = [] {
    std::unordered_set<std::string> found;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const auto op = c10::Dispatcher::singleton().findOp(name);
      if (!op || !op->hasSchema()) continue;
      if (op->hasTag(at::Tag::core) || op->hasTag(at::Tag::pointwise)) {
        found.insert(family_of(name.name));
      }
    }
    return found;
  }();
  return families;
}

/// A call that computes nothing and gives a view: transposed, say. What it gives must lie within
/// its storage like any other result. LibTorch's private views (aten::_reshape_alias) do not check
/// what they are given.
bool is_public_view(const c10::OperatorHandle& op) {
  constexpr std::string_view kPrivate = "aten::_";
  const auto reads_alias = [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && !argument.alias_info()->isWrite();
  };
  const auto writes = [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  };
  const auto& returns = op.schema().returns();
  const auto& arguments = op.schema().arguments();
  return op.operator_name().name.rfind(kPrivate, 0) != 0 && !returns.empty() &&
         std::all_of(returns.begin(), returns.end(), reads_alias) &&
         std::none_of(arguments.begin(), arguments.end(), writes);
}

const Names& leaves_memory() {
  static const Names names{
      "aten::empty",
      "aten::empty_like",
      "aten::empty_permuted",
      "aten::empty_strided",
      "aten::new_empty",
      "aten::new_empty_strided",
      "aten::resize",
      "aten::resize_",
      "aten::resize_as_",
  };
  return names;
}

template <class Visit>
void for_each_result(const c10::OperatorHandle& op, const torch::jit::Stack& stack, Visit visit) {
  const std::size_t count = op.schema().returns().size();
  for (std::size_t i = stack.size() - count; i < stack.size(); ++i)
    for_each_tensor(stack[i], visit);
}

}  // namespace

bool may_compute_constants(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return known_families().count(family_of(name)) != 0 || also_allowed().count(name) != 0 ||
         is_public_view(op);
}

bool results_are_within_storage(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  bool within = true;
  for_each_result(op, stack, [&](const at::Tensor& tensor) {
    if (!tensor.has_storage() || tensor.numel() == 0) return;
    const std::size_t end = at::detail::computeStorageNbytes(
        tensor.sizes(), tensor.strides(), tensor.element_size(), tensor.storage_offset());
    within = within && end <= tensor.storage().nbytes();
  });
  return within;
}

void clear_uninitialised(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (leaves_memory().count(op.operator_name().name) == 0) return;
  const OutsideCapture outside;
  for_each_result(op, stack, [](const at::Tensor& tensor) {
    if (tensor.is_cpu()) tensor.zero_();
  });
}

}  // namespace elixir::capture
