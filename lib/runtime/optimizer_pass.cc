// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/optimizer_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/error.h"
#include "runtime/state/element.h"

namespace elixir::runtime {

OptimizerPass::OptimizerPass(const program::Program& program,
                             const plan::Plan& plan,
                             const OptimizerOptions& options,
                             const std::vector<ParameterLayout>& layouts)
    : options_(options), ranges_(plan.chunks.size()), norms_(plan.chunks.size()) {
  // Sums are in program order, so that the tree over them does not depend on the chunks.
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const ParameterLayout& layout = layouts[i];
    if (!layout.trained) continue;
    static_cast<void>(element_of(program.parameters[i].tensor.dtype));  // throws early
    norms_[layout.chunk].push_back({layout.first_element, layout.elements, sum_count_});
    sum_count_ += kernels::norm_blocks(static_cast<std::size_t>(layout.elements));
  }
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    std::vector<const ParameterLayout*> order;
    for (const ParameterLayout& layout : layouts) {
      if (layout.chunk == static_cast<std::int32_t>(c)) order.push_back(&layout);
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->first_element < b->first_element;
    });
    // Neighbours with the same scalars become one range. The padding between them is zero and not
    // read.
    bool joins = false;
    for (const ParameterLayout* layout : order) {
      if (!layout->trained) {
        joins = false;
        continue;
      }
      std::vector<Range>& ranges = ranges_[c];
      if (joins && ranges.back().decays == layout->decays) {
        ranges.back().elements =
            layout->first_element + layout->elements - ranges.back().first_element;
      } else {
        ranges.push_back({layout->first_element, layout->elements, layout->decays});
      }
      joins = true;
    }
  }
}

void OptimizerPass::begin_step(std::int64_t step, double learning_rate, int micro_batches) {
  step_ = step;
  learning_rate_ = learning_rate;
  micro_batches_ = micro_batches;
  clip_factor_ = 1;
  held_back_ = false;
  std::fill_n(marks_, marks(), 0U);
  gradient_norm_.reset();
}

void OptimizerPass::norm(std::int32_t index,
                         const void* gradients,
                         program::DType type,
                         StreamOperations& operations) {
  const std::int64_t width = program::element_bytes(type);
  for (const Sum& sum : norms_[index]) {
    operations.sum_squares(static_cast<const char*>(gradients) + sum.first_element * width,
                           element_of(type),
                           static_cast<std::size_t>(sum.elements),
                           static_cast<float>(micro_batches_),
                           sums_ + sum.first_sum);
  }
}

void OptimizerPass::clip() {
  const float norm = kernels::global_norm(std::span<const float>(sums_, sum_count_));
  gradient_norm_ = norm;
  held_back_ = !std::isfinite(norm);
  clip_factor_ = kernels::clip_factor(norm, options_.clip_norm);
}

bool OptimizerPass::finite() const {
  return !held_back_ && std::all_of(marks_, marks_ + marks(), [](auto mark) { return mark == 0; });
}

bool OptimizerPass::suspects(std::int32_t index) const {
  return held_back_ || marks_[index] != 0;
}

void OptimizerPass::update(std::int32_t index,
                           const Chunk& chunk,
                           StreamOperations& operations) const {
  if (held_back_) return;
  kernels::AdamHyper hyper{learning_rate_, options_.beta1, options_.beta2, options_.eps, 0.0};
  const kernels::AdamScalars plain =
      kernels::make_adam_scalars(hyper, step_, micro_batches_, clip_factor_);
  hyper.weight_decay = options_.weight_decay;
  const kernels::AdamScalars decaying =
      kernels::make_adam_scalars(hyper, step_, micro_batches_, clip_factor_);
  const std::int64_t gradient_width = program::element_bytes(chunk.gradient_type);
  const std::int64_t parameter_width = program::element_bytes(chunk.parameter_type);
  const bool is_master = chunk.parameters == chunk.master;
  const std::int64_t end = chunk.elements > 0 ? chunk.first_element + chunk.elements
                                              : std::numeric_limits<std::int64_t>::max();
  for (const Range& range : ranges_[index]) {
    const std::int64_t first = std::max(range.first_element, chunk.first_element);
    const std::int64_t elements = std::min(range.first_element + range.elements, end) - first;
    if (elements <= 0) continue;
    const std::int64_t at = first - chunk.first_element;
    operations.adam(
        {chunk.master + at,
         chunk.moment1 + at,
         chunk.moment2 + at,
         static_cast<const char*>(chunk.gradients) + at * gradient_width,
         element_of(chunk.gradient_type),
         is_master ? nullptr : static_cast<char*>(chunk.parameters) + at * parameter_width,
         element_of(chunk.parameter_type),
         static_cast<std::size_t>(elements)},
        range.decays ? decaying : plain,
        &marks_[index]);
  }
}

}  // namespace elixir::runtime
