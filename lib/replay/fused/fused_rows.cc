// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/fused/fused_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <ATen/Parallel.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

namespace elixir::replay {
namespace {

using operators::FusedPass;
using operators::FusedPasses;
using operators::FusedStep;
using Kind = FusedStep::Kind;

constexpr std::int64_t kTile = 256;       // columns
constexpr std::int64_t kLanes = 16;       // of a sum
constexpr std::int64_t kGrain = 1 << 14;  // elements that are worth a thread
static_assert(kTile % kLanes == 0);

/// kCount elements, also where fewer count: a loop of known length is vectorised.
template <std::int64_t kCount>
void apply(Kind kind, const float* a, const float* b, const float* c, float* result) {
  const auto each = [result](auto compute) {
    for (std::int64_t i = 0; i < kCount; ++i) result[i] = compute(i);
  };
  switch (kind) {
    case Kind::kAdd:
      return each([=](auto i) { return a[i] + b[i]; });
    case Kind::kSub:
      return each([=](auto i) { return a[i] - b[i]; });
    case Kind::kMul:
      return each([=](auto i) { return a[i] * b[i]; });
    case Kind::kDiv:
      return each([=](auto i) { return a[i] / b[i]; });
    case Kind::kNeg:
      return each([=](auto i) { return -a[i]; });
    case Kind::kSqrt:
      return each([=](auto i) { return std::sqrt(a[i]); });
    case Kind::kRsqrt:
      return each([=](auto i) { return 1.0F / std::sqrt(a[i]); });
    case Kind::kExp:
      return each([=](auto i) { return std::exp(a[i]); });
    case Kind::kTanh:
      return each([=](auto i) { return std::tanh(a[i]); });
    case Kind::kErf:
      return each([=](auto i) { return std::erf(a[i]); });
    case Kind::kPow:
      return each([=](auto i) { return std::pow(a[i], b[i]); });
    case Kind::kLessEqual:
      return each([=](auto i) { return a[i] <= b[i] ? 1.0F : 0.0F; });
    case Kind::kWhere:
      return each([=](auto i) { return a[i] != 0 ? b[i] : c[i]; });
    case Kind::kInput:
    case Kind::kConstant:
    case Kind::kSum:
      return;
  }
}

template <class Element>
void widen(const void* from, std::int64_t count, float* to) {
  const auto* elements = static_cast<const Element*>(from);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(elements[i]);
}
template <class Element>
void narrow(const float* from, std::int64_t count, void* to) {
  auto* elements = static_cast<Element*>(to);
  for (std::int64_t i = 0; i < count; ++i) elements[i] = static_cast<Element>(from[i]);
}

void load(const FusedTensor& tensor, std::int64_t offset, std::int64_t count, float* to) {
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(tensor.dtype));
  const void* from = static_cast<const char*>(tensor.data) + offset * bytes;
  switch (tensor.dtype) {
    case c10::kBFloat16:
      return widen<c10::BFloat16>(from, count, to);
    case c10::kHalf:
      return widen<c10::Half>(from, count, to);
    case c10::kBool:
      return widen<bool>(from, count, to);
    default:
      return widen<float>(from, count, to);
  }
}

void store(const FusedTensor& tensor, std::int64_t offset, std::int64_t count, const float* from) {
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(tensor.dtype));
  void* to = static_cast<char*>(tensor.data) + offset * bytes;
  switch (tensor.dtype) {
    case c10::kBFloat16:
      return narrow<c10::BFloat16>(from, count, to);
    case c10::kHalf:
      return narrow<c10::Half>(from, count, to);
    default:
      return narrow<float>(from, count, to);
  }
}

/// What one thread runs.
class Interpreter {
 public:
  Interpreter(const FusedJob& job, const FusedPasses& passes)
      : job_(job),
        passes_(passes),
        values_(job.program->size() * kTile, 0.0F),
        sums_(job.program->size()),
        known_(job.program->size(), false),
        input_offsets_(job.inputs.size()),
        output_offsets_(job.outputs.size()) {}

  /// Columns [first, last) of a row: all of them where there are sums.
  void run(std::int64_t row, std::int64_t first, std::int64_t last) {
    for (std::size_t i = 0; i < job_.inputs.size(); ++i) {
      input_offsets_[i] = job_.inputs[i].offset_of(row, job_.row_sizes);
    }
    for (std::size_t i = 0; i < job_.outputs.size(); ++i) {
      output_offsets_[i] = job_.outputs[i].offset_of(row, job_.row_sizes);
    }
    // What is known of a row's only tile need not be made again in the next pass.
    const bool one_tile = last - first <= kTile;
    std::fill(known_.begin(), known_.end(), false);
    for (const FusedPass& pass : passes_.passes) {
      for (const std::int32_t step : pass.row_steps) run_once(step);
      for (const std::int32_t step : pass.sums) sums_[step].fill(0);
      const bool is_last = &pass == &passes_.passes.back();
      for (std::int64_t column = first; column < last; column += kTile) {
        const std::int64_t count = std::min(kTile, last - column);
        for (const std::int32_t step : pass.element_steps) {
          if (!known_[step]) run_tile(step, column, count);
          known_[step] = one_tile;
        }
        for (const std::int32_t step : pass.sums) add_tile(step, count);
        if (is_last) store_tile(column, count);
      }
      for (const std::int32_t step : pass.sums) finish_sum(step);
    }
  }

 private:
  float* value(std::int32_t step) { return values_.data() + step * kTile; }

  /// A value of the row fills a tile, so that steps need not tell it from others.
  void run_once(std::int32_t step) {
    const FusedStep& what = (*job_.program)[static_cast<std::size_t>(step)];
    float* const result = value(step);
    if (what.kind == Kind::kConstant) {
      *result = static_cast<float>(what.constant);
    } else if (what.kind == Kind::kInput) {
      const auto input = static_cast<std::size_t>(what.operands[0]);
      load(job_.inputs[input], input_offsets_[input], 1, result);
    } else {
      apply<1>(what.kind,
               value(what.operands[0]),
               value(what.operands[1]),
               value(what.operands[2]),
               result);
    }
    std::fill(result + 1, result + kTile, *result);
  }

  void run_tile(std::int32_t step, std::int64_t column, std::int64_t count) {
    const FusedStep& what = (*job_.program)[static_cast<std::size_t>(step)];
    if (what.kind == Kind::kInput) {
      const auto input = static_cast<std::size_t>(what.operands[0]);
      load(job_.inputs[input], input_offsets_[input] + column, count, value(step));
      return;
    }
    apply<kTile>(what.kind,
                 value(what.operands[0]),
                 value(what.operands[1]),
                 value(what.operands[2]),
                 value(step));
  }

  void add_tile(std::int32_t step, std::int64_t count) {
    const FusedStep& what = (*job_.program)[static_cast<std::size_t>(step)];
    const float* const from = value(what.operands[0]);
    std::array<float, kLanes> part{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) part[lane] += from[i + lane];
    }
    for (; i < count; ++i) part[i % kLanes] += from[i];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums_[step][lane] += part[lane];
  }

  void finish_sum(std::int32_t step) {
    std::array<float, kLanes>& lanes = sums_[step];
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    std::fill(value(step), value(step) + kTile, lanes[0]);
  }

  void store_tile(std::int64_t column, std::int64_t count) {
    for (std::size_t i = 0; i < job_.outputs.size(); ++i) {
      const FusedTensor& output = job_.outputs[i];
      const float* const from = value(static_cast<std::int32_t>(job_.stored[i]));
      if (!output.per_row) {
        store(output, output_offsets_[i] + column, count, from);
      } else if (column == 0) {
        store(output, output_offsets_[i], 1, from);
      }
    }
  }

  const FusedJob& job_;
  const FusedPasses& passes_;
  std::vector<float> values_;  ///< by step: a tile
  std::vector<std::array<float, kLanes>> sums_;
  std::vector<bool> known_;
  std::vector<std::int64_t> input_offsets_, output_offsets_;
};

}  // namespace

void run_fused_on_cpu(const FusedJob& job) {
  const FusedPasses passes = job.passes();
  // A row is one piece where it is summed, and its tiles are where not.
  const std::int64_t width = job.sums ? job.columns : std::min(job.columns, kTile);
  const std::int64_t pieces_per_row = (job.columns + width - 1) / width;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / width);
  at::parallel_for(0, job.rows * pieces_per_row, grain, [&](std::int64_t begin, std::int64_t end) {
    Interpreter interpreter(job, passes);
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t first = piece % pieces_per_row * width;
      interpreter.run(piece / pieces_per_row, first, std::min(first + width, job.columns));
    }
  });
}

}  // namespace elixir::replay
