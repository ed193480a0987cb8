// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/label_use.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "program/arguments/arguments.h"
#include "train/data/element_flow.h"

namespace elixir::train {
namespace {

/// How relevant calls read the elements of an input.
struct Uses {
  bool target = false;     ///< target of a cross-entropy
  bool shifted = false;    ///< as a target, read from a later element than the first
  bool looked_up = false;  ///< indexes an embedding
  bool looked_up_whole = false;
};

/// Whether the first element is the input's first one.
bool begins_with_first(const std::vector<Element>& read) {
  return read.front().known() && read.front().position() == 0;
}

Uses uses_of(const program::Program& program, const program::TensorRef& input) {
  Uses uses;
  ElementFlow flow(input);
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) break;
    if (op.name == "aten::embedding") {
      const program::TensorRef* indices = program::Arguments(op).tensor("indices");
      if (const auto read = flow.elements(indices); !read.empty()) {
        uses.looked_up = true;
        if (begins_with_first(read) && indices->numel() == input.numel()) {
          uses.looked_up_whole = true;
        }
      }
    } else if (is_class_loss(op)) {
      const auto read = flow.elements(program::Arguments(op).tensor("target"));
      if (!read.empty()) {
        uses.target = true;
        if (!begins_with_first(read)) uses.shifted = true;
      }
    }
    flow.follow(op);
  }
  return uses;
}

/// What happens to positions between embeddings and the loss.
struct Flow {
  bool reaches_loss = false;
  bool kept = true;           ///< no known call moves a position
  bool cut_in_front = false;  ///< the first positions are left out
};

/// Calls whose results keep each position where it is in the arguments.
bool keeps_positions(const std::string& name) {
  static const std::set<std::string_view> kKeeps{
      "_cudnn_rnn",
      "_fused_rms_norm",
      "_log_softmax",
      "_native_batch_norm_legit",
      "_reshape_alias",
      "_safe_softmax",
      "_scaled_dot_product_cudnn_attention",
      "_scaled_dot_product_efficient_attention",
      "_scaled_dot_product_flash_attention",
      "_scaled_dot_product_flash_attention_for_cpu",
      "_softmax",
      "_thnn_fused_gru_cell",
      "_thnn_fused_lstm_cell",
      "_to_copy",
      "_unsafe_view",
      "abs",
      "add",
      "add_",
      "addmm",
      "alias",
      "amax",
      "baddbmm",
      "bernoulli_",
      "bmm",
      "cat",
      "chunk",
      "clamp",
      "clamp_min",
      "clone",
      "constant_pad_nd",
      "contiguous",
      "cos",
      "cudnn_batch_norm",
      "detach",
      "div",
      "div_",
      "dropout",
      "elu",
      "empty_like",
      "erf",
      "exp",
      "expand",
      "expand_as",
      "flatten",
      "full_like",
      "gelu",
      "gelu_",
      "gru",
      "layer_norm",
      "leaky_relu",
      "linear",
      "log",
      "log_softmax",
      "lstm",
      "masked_fill",
      "masked_fill_",
      "matmul",
      "maximum",
      "mean",
      "minimum",
      "mkldnn_rnn_layer",
      "mm",
      "mul",
      "mul_",
      "narrow",
      "native_batch_norm",
      "native_dropout",
      "native_layer_norm",
      "neg",
      "ones_like",
      "permute",
      "pow",
      "reciprocal",
      "relu",
      "relu_",
      "reshape",
      "rms_norm",
      "rsqrt",
      "rsub",
      "scaled_dot_product_attention",
      "select",
      "sigmoid",
      "sigmoid_",
      "silu",
      "silu_",
      "sin",
      "slice",
      "softmax",
      "softplus",
      "split",
      "split_with_sizes",
      "sqrt",
      "square",
      "squeeze",
      "stack",
      "sub",
      "sub_",
      "sum",
      "t",
      "tanh",
      "tanh_",
      "to",
      "transpose",
      "unbind",
      "unsqueeze",
      "var",
      "var_mean",
      "view",
      "where",
      "zeros_like",
  };
  constexpr std::string_view kNamespace = "aten::";
  return name.rfind(kNamespace, 0) == 0 &&
         kKeeps.count(std::string_view(name).substr(kNamespace.size())) != 0;
}

/// The dimension whose size differs in the result, if it may be one of positions. Then positions
/// were removed, or added before or after the others.
std::optional<std::size_t> changed_positions(const program::TensorRef& from,
                                             const program::TensorRef& to,
                                             const program::TensorRef& input) {
  const auto may_be_positions = [&](std::int64_t size) {
    return size == input.sizes.back() || size == input.numel();
  };
  if (from.sizes.size() != to.sizes.size()) return std::nullopt;
  for (std::size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d] == to.sizes[d]) continue;
    if (may_be_positions(from.sizes[d]) || may_be_positions(to.sizes[d])) return d;
  }
  return std::nullopt;
}

/// Whether the call only selects or joins parts. Other calls may change sizes in any way.
bool cuts_or_joins(const std::string& name) {
  static const std::set<std::string_view> kNames = {"aten::slice",
                                                    "aten::narrow",
                                                    "aten::split",
                                                    "aten::split_with_sizes",
                                                    "aten::chunk",
                                                    "aten::cat",
                                                    "aten::constant_pad_nd"};
  return kNames.count(name) != 0;
}

/// Follows the embeddings of the input's tokens up to the loss.
Flow flow_of(const program::Program& program, const program::TensorRef& input) {
  Flow flow;
  if (input.sizes.empty()) return flow;
  ElementFlow tokens(input);
  std::set<program::StorageId> derived;
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) break;
    const auto add_outputs = [&] {
      program::for_each_tensor(
          op.outputs, [&](const program::TensorRef& made) { derived.insert(made.storage); });
    };
    if (op.name == "aten::embedding" &&
        !tokens.elements(program::Arguments(op).tensor("indices")).empty()) {
      add_outputs();
      continue;
    }
    tokens.follow(op);
    std::vector<program::TensorRef> from;
    program::for_each_tensor(op.arguments, [&](const program::TensorRef& argument) {
      if (derived.count(argument.storage) != 0) from.push_back(argument);
    });
    if (from.empty()) continue;
    if (is_class_loss(op)) {
      flow.reaches_loss = true;
      continue;
    }
    if (!keeps_positions(op.name)) flow.kept = false;
    if (cuts_or_joins(op.name)) {
      program::for_each_tensor(op.outputs, [&](const program::TensorRef& made) {
        for (const program::TensorRef& source : from) {
          const auto changed = changed_positions(source, made, input);
          if (!changed) continue;
          flow.kept = false;
          // The last dimension holds features, which rotary embeddings split.
          if (made.storage == source.storage && made.offset > source.offset &&
              *changed + 1 < made.sizes.size()) {
            flow.cut_in_front = true;
          }
        }
      });
    }
    add_outputs();
  }
  return flow;
}

}  // namespace

bool is_called_label(const std::string& name) {
  for (const std::string_view end : {"labels", "label", "targets", "target"}) {
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      return true;
    }
  }
  return false;
}

LabelUse label_use(const program::Program& program) {
  LabelUse use;
  bool whole_target = false;
  bool whole_lookup = false;
  bool whole_is_kept = true;
  bool cut_in_front = false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Uses uses = uses_of(program, program.inputs[i].tensor);
    const bool named = is_called_label(program.inputs[i].name);
    if (named || (uses.target && !uses.looked_up)) use.labels.push_back(i);
    if (uses.target) use.has_class_loss = true;
    if (uses.shifted) use.model_shifts = true;
    if (uses.target && !uses.shifted) whole_target = true;
    if (!uses.looked_up) continue;
    const Flow flow = flow_of(program, program.inputs[i].tensor);
    cut_in_front |= flow.cut_in_front;
    if (!uses.looked_up_whole || named) continue;
    whole_lookup = true;
    whole_is_kept = whole_is_kept && flow.reaches_loss && flow.kept;
  }
  use.unshifted = whole_target && whole_lookup && whole_is_kept && !use.model_shifts;
  // Both sides lost their first position, so they are aligned as before.
  if (cut_in_front) use.model_shifts = false;
  return use;
}

}  // namespace elixir::train
