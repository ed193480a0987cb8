// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/element_flow.h"

#include <set>

namespace elixir::train {

bool copies_elements(const std::string& name) {
  static const std::set<std::string> kCopies = {"aten::clone",
                                                "aten::_to_copy",
                                                "aten::contiguous",
                                                "aten::constant_pad_nd",
                                                "aten::slice",
                                                "aten::masked_fill",
                                                "aten::masked_fill_"};
  return kCopies.count(name) != 0;
}

const program::TensorRef* first_tensor(const program::Operator& op) {
  return op.arguments.empty() ? nullptr : std::get_if<program::TensorRef>(&op.arguments.front());
}

bool is_class_loss(const program::Operator& op) {
  return op.name == "aten::nll_loss_forward" || op.name == "aten::nll_loss2d_forward";
}

}  // namespace elixir::train
