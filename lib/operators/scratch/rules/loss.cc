// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Source: ATen/native/Loss.cpp (losses that LibTorch composes below autograd), cuda/LossCTC.cu.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

enum class NumberKind : std::uint8_t { kBool, kInteger, kFloating, kComplex };

NumberKind kind_of(program::DType dtype) {
  if (program::is_complex(dtype)) return NumberKind::kComplex;
  if (program::is_floating(dtype)) return NumberKind::kFloating;
  return dtype == program::DType::kBool ? NumberKind::kBool : NumberKind::kInteger;
}

/// The dtype of an elementwise result, for floating numbers and integers (c10/core/ScalarType.cpp,
/// promoteTypes). One number decides nothing beside an array of its kind.
program::DType promoted(const program::TensorRef& a, const program::TensorRef& b) {
  const auto decides = [](const program::TensorRef& one, const program::TensorRef& other) {
    if (kind_of(one.dtype) != kind_of(other.dtype)) {
      return kind_of(one.dtype) > kind_of(other.dtype);
    }
    return !one.sizes.empty() && other.sizes.empty();
  };
  if (a.dtype == b.dtype || decides(a, b)) return a.dtype;
  if (decides(b, a)) return b.dtype;
  const std::int64_t of_a = program::element_bytes(a.dtype);
  const std::int64_t of_b = program::element_bytes(b.dtype);
  if (of_a != of_b) return of_a > of_b ? a.dtype : b.dtype;
  return kind_of(a.dtype) == NumberKind::kFloating ? program::DType::kFloat32
                                                   : program::DType::kInt16;
}

std::int64_t broadcast_elements(const program::TensorRef& a, const program::TensorRef& b) {
  const std::size_t rank = std::max(a.sizes.size(), b.sizes.size());
  const auto size = [rank](const program::TensorRef& of, std::size_t at) {
    const std::size_t missing = rank - of.sizes.size();
    return at < missing ? std::int64_t{1} : of.sizes[at - missing];
  };
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    elements *= size(a, i) == 1 ? size(b, i) : size(a, i);
  }
  return elements;
}

/// log(sigmoid(input)), weighted by the positive class if there are weights; then the losses, which
/// are one block; then their reduction. Without reduction the losses are the result.
void binary_cross_entropy_with_logits(ScriptBuilder& script) {
  constexpr std::int64_t kNone = 0;
  constexpr std::int64_t kMean = 1;
  const auto* input = script.tensor("self");
  const auto* target = script.tensor("target");
  if (input == nullptr || target == nullptr) return;
  const bool reduces = script.integer("reduction", kMean) != kNone;
  const int log_sigmoid = script.temporary(input->bytes());
  if (const auto* weight = script.tensor("pos_weight")) {
    const int less_one = script.temporary(weight->bytes());
    const int weights = script.temporary(broadcast_elements(*weight, *target) *
                                         program::element_bytes(promoted(*weight, *target)));
    script.release(less_one);
    script.release(weights);
  }
  const int losses = reduces ? script.temporary(target->bytes()) : -1;
  script.outputs();
  if (reduces) {
    script.reduce(in_row_major_order(target->sizes, target->dtype), {}, target->dtype);
  }
  script.release(losses);
  script.release(log_sigmoid);
}

// --- CTC loss: log_probs (time, batch, label), …; its calls were never recorded ------------------

/// On the device: lengths of targets and inputs, and the start of each target.
struct CtcLengths {
  int targets, inputs, offsets;
  CtcLengths(ScriptBuilder& script, std::int64_t batch)
      : targets(script.temporary(batch * kIndexBytes)),
        inputs(script.temporary(batch * kIndexBytes)),
        offsets(script.temporary(batch * kIndexBytes)) {}
  void release(ScriptBuilder& script) const {
    script.release(inputs);
    script.release(targets);
    script.release(offsets);
  }

 private:
  static constexpr std::int64_t kIndexBytes = 8;
};

/// The table of sums is allocated before the losses.
void ctc_loss(ScriptBuilder& script) {
  script.modelled();
  const auto* log_probs = script.tensor("log_probs");
  if (log_probs == nullptr) return;
  const CtcLengths lengths(script, log_probs->sizes.at(1));
  script.output(1);
  script.output(0);
  lengths.release(script);
}

/// A table like that of forward. Large problems also gather the blanks' columns of both tables and
/// reduce them. Without infinities, they select the gradients again.
void ctc_loss_backward(ScriptBuilder& script) {
  script.modelled();
  const auto* log_probs = script.tensor("log_probs");
  const auto* table = script.tensor("log_alpha");
  if (log_probs == nullptr || table == nullptr) return;
  const std::int64_t time = log_probs->sizes.at(0);
  const std::int64_t batch = log_probs->sizes.at(1);
  const std::int64_t labels = log_probs->sizes.at(2);
  const CtcLengths lengths(script, batch);
  const int sums = script.temporary(table->bytes());
  script.outputs();
  const bool large = 2 * time + 24 * batch / 10 + 2 * labels / 10 > 450;  // LibTorch's condition
  if (large) {
    const std::int64_t columns = (table->sizes.at(2) + 1) / 2;
    const std::int64_t blanks = batch * time * columns * program::element_bytes(table->dtype);
    const int gathered = script.temporary(blanks);
    script.release(script.temporary(blanks));
    script.release(gathered);
    if (script.flag("zero_infinity")) script.release(script.temporary(log_probs->bytes()));
  }
  script.release(sums);
  lengths.release(script);
}

}  // namespace

const std::vector<ScriptRule> kLossScripts = {
    {"aten::_ctc_loss", &ctc_loss, ScriptRuleKind::kEstimate},
    {"aten::_ctc_loss_backward", &ctc_loss_backward, ScriptRuleKind::kEstimate},
    {"aten::binary_cross_entropy_with_logits", &binary_cross_entropy_with_logits},
};

}  // namespace elixir::operators
