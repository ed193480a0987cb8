// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/step/optimizer_pass.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/state/element.h"
#include "schedule/buffers/gradient_sums.h"

namespace elixir::runtime {

static_assert(schedule::kSumBlockElements == kernels::kNormBlockElements);
static_assert(schedule::kClipBytes >= static_cast<std::int64_t>(sizeof(kernels::Clip)));

OptimizerPass::OptimizerPass(const program::Program& program,
                             const plan::Plan& plan,
                             const OptimizerOptions& options,
                             const std::vector<ParameterLayout>& layouts,
                             int rank)
    : options_(options),
      grid_(plan::grid_of(plan)),
      rank_(rank),
      ranges_(plan.chunks.size()),
      held_(plan.chunks.size()),
      waits_for_norm_(plan::waits_for_norm(plan.edits, options.clip_norm)) {
  std::int64_t more_bytes = 0;  // in the first turn than in the second: both take about as long
  for (const plan::Chunk& chunk : plan.chunks) {
    LateMoments& moments = late_.emplace_back();
    moments.late = chunk.late_moments;
    moments.steps = plan::moment_steps(plan, chunk);
    if (moments.steps == 1) continue;
    moments.turn = more_bytes > 0 ? 1 : 0;
    more_bytes += moments.turn == 0 ? chunk.bytes : -chunk.bytes;
  }
  note_sums(plan, program, layouts);
  note_ranges(plan, layouts);
}

/// Sums are in program order, so that the tree over them does not depend on the chunks.
void OptimizerPass::note_sums(const plan::Plan& plan,
                              const program::Program& program,
                              const std::vector<ParameterLayout>& layouts) {
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const ParameterLayout& layout = layouts[i];
    first_sum_.push_back(sum_count_);
    // If micro-batches are added up on the host, the gradient is complete only there.
    sums_on_host_.push_back(layout.trained && plan::gradient_parts(plan) > 1 &&
                            plan.chunks[layout.chunk].gradient_home == plan::Home::kHost);
    if (!layout.trained) continue;
    static_cast<void>(element_of(program.parameters[i].tensor.dtype));  // throws early
    const std::size_t count = kernels::norm_blocks(static_cast<std::size_t>(layout.elements));
    if (sums_on_host_[i]) {
      const bool joins = !made_on_host_.empty() &&
                         made_on_host_.back().first + made_on_host_.back().count == sum_count_;
      if (!joins) made_on_host_.push_back({sum_count_, 0});
      made_on_host_.back().count += count;
    }
    sum_count_ += count;
  }
}

void OptimizerPass::note_ranges(const plan::Plan& plan,
                                const std::vector<ParameterLayout>& layouts) {
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    std::vector<std::int32_t> order;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      if (layouts[i].chunk == static_cast<std::int32_t>(c)) {
        order.push_back(static_cast<std::int32_t>(i));
      }
    }
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return layouts[a].first_element < layouts[b].first_element;
    });
    const std::int64_t shard = plan::shard_elements(plan, plan.chunks[c]);
    const std::int64_t shard_begin = grid_.shard_of(rank_) * shard;
    // Neighbours with the same scalars become one range. Padding ends it: where several ranks have
    // added up gradients, or activations have waited in their memory, it holds anything.
    std::vector<Range>& ranges = ranges_[c];
    for (const std::int32_t i : order) {
      const ParameterLayout& layout = layouts[i];
      const std::int64_t begin = std::max(layout.first_element, shard_begin);
      const std::int64_t end =
          std::min(layout.first_element + layout.elements, shard_begin + shard);
      if (!layout.trained || begin >= end) continue;
      held_[c].push_back({.parameter = i,
                          .first_element = begin - shard_begin,
                          .elements = end - begin,
                          .first_block = static_cast<std::size_t>(begin - layout.first_element) /
                                         kernels::kNormBlockElements});
      const bool adjoins =
          !ranges.empty() &&
          ranges.back().first_element + ranges.back().elements == begin - shard_begin;
      if (adjoins && ranges.back().decays == layout.decays) {
        ranges.back().elements += end - begin;
      } else {
        ranges.push_back({begin - shard_begin, end - begin, layout.decays});
      }
    }
  }
}

std::vector<kernels::SummedPart> OptimizerPass::parts_of(std::int32_t chunk) const {
  std::vector<kernels::SummedPart> parts;
  for (const Held& held : held_[static_cast<std::size_t>(chunk)]) {
    kernels::BlockSums sums = sums_of(held.parameter);
    sums.sums += held.first_block;
    parts.push_back({static_cast<std::size_t>(held.first_element),
                     static_cast<std::size_t>(held.elements),
                     sums});
  }
  return parts;
}

void OptimizerPass::set_memory(const Memory& memory) {
  memory_ = memory;
}

kernels::Clip* OptimizerPass::device_clip() const {
  return static_cast<kernels::Clip*>(static_cast<void*>(device_sums() + sum_count_));
}

void OptimizerPass::begin_step(const Step& step) {
  // A step that has failed begins again: moments may still be owed of the one before it.
  if (step.number != scalars().step) current_ = (current_ + 1) % slots_.size();
  StepScalars& now = slots_[current_];
  kernels::AdamHyper hyper{step.learning_rate, options_.beta1, options_.beta2, options_.eps, 0.0};
  now.step = step.number;
  const auto scalars_with = [&](double weight_decay) {
    hyper.weight_decay = weight_decay;
    return kernels::make_adam_scalars(
        hyper, step.update, step.micro_batches, /*clip=*/1.0F, step.loss_scale);
  };
  now.plain = scalars_with(0.0);
  now.decaying = scalars_with(options_.weight_decay);
  divisor_ = now.plain.divisor;
  host_clip() = {.norm = 0.0F, .factor = 1.0F, .held_back = 0};
  std::fill_n(memory_.marks, marks(), 0U);
}

kernels::BlockSums OptimizerPass::sums_of(std::int32_t parameter) const {
  const auto i = static_cast<std::size_t>(parameter);
  return {.sums = (sums_on_host_[i] ? memory_.host_sums : memory_.rank_sums) + first_sum_[i],
          .divisor = divisor_};
}

void OptimizerPass::move_sums(StreamOperations& operations) const {
  for (const Sums& sums : made_on_host_) {
    operations.copy(memory_.rank_sums + sums.first,
                    memory_.host_sums + sums.first,
                    static_cast<std::int64_t>(sums.count * sizeof(float)));
  }
}

void OptimizerPass::gather_sums(StreamOperations& operations) const {
  move_sums(operations);
  operations.gather_disjoint(
      grid_.same_replica(rank_), device_sums(), memory_.rank_sums, sum_count_);
}

void OptimizerPass::clip(StreamOperations& operations) const {
  if (grid_.world == 1) move_sums(operations);
  const double most =
      options_.clip_norm > 0 ? options_.clip_norm : std::numeric_limits<double>::infinity();
  operations.clip(device_sums(), sum_count_, most, device_clip());
  operations.copy(&host_clip(), device_clip(), sizeof(kernels::Clip));
}

std::optional<double> OptimizerPass::gradient_norm() const {
  if (!waits_for_norm_) return std::nullopt;
  return host_clip().norm;
}

bool OptimizerPass::finite() const {
  return !norm_overflowed() &&
         std::all_of(memory_.marks, memory_.marks + marks(), [](auto mark) { return mark == 0; });
}

bool OptimizerPass::suspects(std::int32_t index) const {
  return norm_overflowed() || memory_.marks[index] != 0;
}

void OptimizerPass::update(std::int32_t index,
                           const Chunk& chunk,
                           plan::Home where,
                           StreamOperations& operations) {
  const bool on_host = where == plan::Home::kHost;
  LateMoments& moments = late_[static_cast<std::size_t>(index)];
  std::optional<Owed> earlier;
  if (moments.late) {
    // A step that failed halfway is repeated.
    std::erase_if(moments.owed, [&](const Owed& owed) { return owed.step >= scalars().step; });
    require(static_cast<int>(moments.owed.size()) < moments.steps,
            "moments of too many steps are owed");
    if (!moments.owed.empty()) earlier = moments.owed.back();
    moments.owed.push_back({scalars().step, current_});
  }
  pass(index,
       chunk,
       moments.late && on_host ? kernels::AdamPass::kParameters : kernels::AdamPass::kWhole,
       scalars(),
       earlier,
       on_host ? &host_clip() : device_clip(),
       &memory_.marks[index],
       operations);
}

bool OptimizerPass::owes_moments() const {
  return std::any_of(
      late_.begin(), late_.end(), [](const LateMoments& moments) { return !moments.owed.empty(); });
}

const OptimizerPass::StepScalars& OptimizerPass::scalars_of(const Owed& owed) const {
  const StepScalars& then = slots_[owed.slot];
  require(then.step == owed.step, "moments of an older step are owed");
  return then;
}

kernels::EarlierGradient OptimizerPass::earlier_gradient(const Chunk& chunk,
                                                         const Owed& owed) const {
  const kernels::Clip& clip = memory_.host_clips[owed.slot];
  if (waits_for_norm_ && clip.held_back != 0) return {};
  return {.values = chunk.gradients_of(owed.step),
          .divisor = scalars_of(owed).plain.divisor,
          .clip = waits_for_norm_ ? clip.factor : 1.0F};
}

void OptimizerPass::make_moments(std::int32_t index,
                                 const Chunk& chunk,
                                 Due due,
                                 StreamOperations& operations) {
  LateMoments& moments = late_[static_cast<std::size_t>(index)];
  if (moments.owed.empty()) return;
  const Owed last = moments.owed.back();
  const bool waits = moments.steps > static_cast<int>(moments.owed.size()) &&
                     (last.step + moments.turn) % moments.steps != 0;
  if (due == Due::kInTurn && waits) return;
  std::vector<Owed> made = std::exchange(moments.owed, {});
  // A skipped step has none, and must not keep the one before it from its own.
  std::erase_if(made,
                [&](const Owed& owed) { return memory_.host_clips[owed.slot].held_back != 0; });
  if (made.empty()) return;
  const Owed& newest = made.back();
  std::optional<Owed> earlier;
  if (made.size() > 1) earlier = made.front();
  // The update has looked for values that are not finite.
  pass(index,
       chunk,
       kernels::AdamPass::kMoments,
       scalars_of(newest),
       earlier,
       &memory_.host_clips[newest.slot],
       /*report=*/nullptr,
       operations);
}

void OptimizerPass::pass(std::int32_t index,
                         const Chunk& chunk,
                         kernels::AdamPass what,
                         const StepScalars& scalars,
                         const std::optional<Owed>& earlier,
                         const kernels::Clip* clip,
                         std::uint32_t* report,
                         StreamOperations& operations) const {
  const std::int64_t gradient_width = program::element_bytes(chunk.gradient_type);
  const std::int64_t parameter_width = program::element_bytes(chunk.parameter_type);
  const std::int64_t moment_width = program::element_bytes(chunk.moment_type);
  const bool is_master = chunk.parameters == chunk.master;
  const kernels::EarlierGradient owed =
      earlier ? earlier_gradient(chunk, *earlier) : kernels::EarlierGradient{};
  const std::int64_t end = chunk.elements > 0 ? chunk.first_element + chunk.elements
                                              : std::numeric_limits<std::int64_t>::max();
  for (const Range& range : ranges_[index]) {
    const std::int64_t first = std::max(range.first_element, chunk.first_element);
    const std::int64_t elements = std::min(range.first_element + range.elements, end) - first;
    if (elements <= 0) continue;
    const std::int64_t at = first - chunk.first_element;
    kernels::EarlierGradient earlier_at = owed;
    if (owed.values != nullptr) {
      earlier_at.values = static_cast<const char*>(owed.values) + at * gradient_width;
    }
    const auto moment = [&](void* moments) {
      return static_cast<char*>(moments) + at * moment_width;
    };
    operations.adam(
        {.master = chunk.splits ? nullptr : static_cast<float*>(chunk.master) + at,
         .moment1 = moment(chunk.moment1),
         .moment2 = moment(chunk.moment2),
         .gradient = chunk.gradients_of(scalars.step) + at * gradient_width,
         .gradient_type = element_of(chunk.gradient_type),
         .parameter =
             is_master ? nullptr : static_cast<char*>(chunk.parameters) + at * parameter_width,
         .parameter_type = element_of(chunk.parameter_type),
         .n = static_cast<std::size_t>(elements),
         .moment_type = element_of(chunk.moment_type),
         .lower = chunk.splits ? static_cast<std::int16_t*>(chunk.master) + at : nullptr,
         .pass = what,
         .earlier = earlier_at},
        range.decays ? scalars.decaying : scalars.plain,
        waits_for_norm_ ? clip : nullptr,
        report);
  }
}

}  // namespace elixir::runtime
