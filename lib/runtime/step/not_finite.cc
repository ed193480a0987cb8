// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/step/not_finite.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/abs.h>
#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include "core/units.h"

namespace elixir::runtime {
namespace {

struct Suspect {
  std::string name;
  std::int64_t elements = 0;
  std::int32_t parameter = -1;
  bool gradient_kept = true;
};

std::string share_of(std::int64_t bad, std::int64_t all) {
  return fmt::format("{} of its {} elements", format_count(bad), format_count(all));
}

/// The trained parameters of the suspected chunks.
std::vector<Suspect> suspects_of(const FailedStep& step) {
  std::vector<Suspect> suspects;
  for (std::size_t i = 0; i < step.layouts.size(); ++i) {
    const ParameterLayout& layout = step.layouts[i];
    if (!layout.trained || !step.optimizer.suspects(layout.chunk)) continue;
    suspects.push_back({step.program.parameters[i].name,
                        layout.elements,
                        static_cast<std::int32_t>(i),
                        step.gradients_kept[static_cast<std::size_t>(layout.chunk)]});
  }
  return suspects;
}

/// Whether all sums of squares of a gradient are finite, as they are where there is no norm.
bool squares_are_finite(const FailedStep& step, const Suspect& suspect) {
  if (!step.optimizer.norm_overflowed()) return true;
  std::vector<float> sums(kernels::norm_blocks(static_cast<std::size_t>(suspect.elements)));
  step.device.copy_now(sums.data(),
                       step.optimizer.sums_of(suspect.parameter).sums,
                       static_cast<std::int64_t>(sums.size() * sizeof(float)));
  return std::all_of(sums.begin(), sums.end(), [](float sum) { return std::isfinite(sum); });
}

std::optional<Error> bad_gradient(const FailedStep& step, const std::vector<Suspect>& suspects) {
  for (const Suspect& suspect : suspects) {
    std::int64_t bad = 0;
    if (suspect.gradient_kept) {
      bad = not_finite_elements(step.parameters.get(suspect.name, StatePart::kGradient));
      if (bad == 0) continue;
    } else if (squares_are_finite(step, suspect)) {
      continue;
    }
    Error error =
        Error(ErrorCode::kNotFinite,
              "the gradient of `{}` in step {} is not finite{}",
              suspect.name,
              step.number,
              suspect.gradient_kept ? "" : ", or its squares are not")
            .help(
                "look for a square root, logarithm or division at 0 in the model; lower the "
                "learning rate (--lr) or warm it up (--warmup-steps)");
    if (suspect.gradient_kept) error.note(share_of(bad, suspect.elements));
    return error;
  }
  return std::nullopt;
}

Error norm_overflow(const FailedStep& step, const std::vector<Suspect>& suspects) {
  double largest = 0;
  std::string name;
  for (const Suspect& suspect : suspects) {
    if (suspect.elements == 0 || !suspect.gradient_kept) continue;
    const double most =
        at::abs(step.parameters.get(suspect.name, StatePart::kGradient)).max().item<double>();
    if (most > largest) {
      largest = most;
      name = suspect.name;
    }
  }
  Error error = Error(ErrorCode::kNotFinite,
                      "the gradient norm of step {} is not finite: squares overflow",
                      step.number)
                    .help("scale the loss down, or lower the learning rate (--lr)");
  if (!name.empty()) error.note(fmt::format("the gradient of `{}` reaches {:.3g}", name, largest));
  return error;
}

std::optional<Error> bad_update(const FailedStep& step, const std::vector<Suspect>& suspects) {
  constexpr std::pair<StatePart, const char*> kStates[] = {{StatePart::kParameter, "the parameter"},
                                                           {StatePart::kMaster, "its fp32 master"},
                                                           {StatePart::kMoment2, "its moment"}};
  for (const Suspect& suspect : suspects) {
    for (const auto& state : kStates) {
      const std::int64_t bad = not_finite_elements(step.parameters.get(suspect.name, state.first));
      if (bad == 0) continue;
      Error error =
          Error(ErrorCode::kNotFinite,
                "the update of `{}` in step {} is not finite",
                suspect.name,
                step.number)
              .help(
                  "lower the learning rate (--lr), warm it up (--warmup-steps) or clip gradients "
                  "(--clip-norm)");
      error.note(fmt::format("{}: {}", state.second, share_of(bad, suspect.elements)));
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace

std::int64_t not_finite_elements(const at::Tensor& values) {
  return values.numel() - at::isfinite(values).sum().item<std::int64_t>();
}

Error not_finite_error(const FailedStep& step) {
  const std::vector<Suspect> suspects = suspects_of(step);
  if (auto error = bad_gradient(step, suspects)) return *std::move(error);
  if (step.optimizer.norm_overflowed()) return norm_overflow(step, suspects);
  if (auto error = bad_update(step, suspects)) return *std::move(error);
  return Error(ErrorCode::kNotFinite, "an update of step {} is not finite", step.number)
      .help("lower the learning rate (--lr)");
}

}  // namespace elixir::runtime
