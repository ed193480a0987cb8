// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/step/not_finite.h"

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
};

std::int64_t not_finite_elements(const at::Tensor& values) {
  return values.numel() - at::isfinite(values).sum().item<std::int64_t>();
}

std::string share_of(std::int64_t bad, std::int64_t all) {
  return fmt::format("{} of its {} elements", format_count(bad), format_count(all));
}

/// The trained parameters of the suspected chunks.
std::vector<Suspect> suspects_of(const program::Program& program,
                                 const std::vector<ParameterLayout>& layouts,
                                 const OptimizerPass& optimizer) {
  std::vector<Suspect> suspects;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (!layouts[i].trained || !optimizer.suspects(layouts[i].chunk)) continue;
    suspects.push_back({program.parameters[i].name, layouts[i].elements});
  }
  return suspects;
}

std::optional<Error> bad_gradient(std::int64_t step,
                                  const std::vector<Suspect>& suspects,
                                  const ParameterStore& parameters) {
  for (const Suspect& suspect : suspects) {
    const std::int64_t bad =
        not_finite_elements(parameters.get(suspect.name, StatePart::kGradient));
    if (bad == 0) continue;
    Error error =
        Error(ErrorCode::kNotFinite,
              "the gradient of `{}` in step {} is not finite",
              suspect.name,
              step)
            .help(
                "look for a square root, logarithm or division at 0 in the model; lower the "
                "learning rate (--lr) or warm it up (--warmup-steps)");
    error.note(share_of(bad, suspect.elements));
    return error;
  }
  return std::nullopt;
}

Error norm_overflow(std::int64_t step,
                    const std::vector<Suspect>& suspects,
                    const ParameterStore& parameters) {
  double largest = 0;
  std::string name;
  for (const Suspect& suspect : suspects) {
    if (suspect.elements == 0) continue;
    const double most =
        at::abs(parameters.get(suspect.name, StatePart::kGradient)).max().item<double>();
    if (most > largest) {
      largest = most;
      name = suspect.name;
    }
  }
  Error error = Error(ErrorCode::kNotFinite,
                      "the gradient norm of step {} is not finite: squares overflow",
                      step)
                    .help("scale the loss down, or lower the learning rate (--lr)");
  error.note(fmt::format("the gradient of `{}` reaches {:.3g}", name, largest));
  return error;
}

std::optional<Error> bad_update(std::int64_t step,
                                const std::vector<Suspect>& suspects,
                                const ParameterStore& parameters) {
  constexpr std::pair<StatePart, const char*> kStates[] = {{StatePart::kParameter, "the parameter"},
                                                           {StatePart::kMaster, "its fp32 master"},
                                                           {StatePart::kMoment2, "its moment"}};
  for (const Suspect& suspect : suspects) {
    for (const auto& state : kStates) {
      const std::int64_t bad = not_finite_elements(parameters.get(suspect.name, state.first));
      if (bad == 0) continue;
      Error error =
          Error(ErrorCode::kNotFinite,
                "the update of `{}` in step {} is not finite",
                suspect.name,
                step)
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

Error not_finite_error(std::int64_t step,
                       const program::Program& program,
                       const std::vector<ParameterLayout>& layouts,
                       const ParameterStore& parameters,
                       const OptimizerPass& optimizer,
                       bool gradients_are_kept) {
  const std::vector<Suspect> suspects = suspects_of(program, layouts, optimizer);
  if (gradients_are_kept) {
    if (auto error = bad_gradient(step, suspects, parameters)) return *std::move(error);
  }
  if (optimizer.norm_overflowed()) return norm_overflow(step, suspects, parameters);
  if (auto error = bad_update(step, suspects, parameters)) return *std::move(error);
  return Error(ErrorCode::kNotFinite, "an update of step {} is not finite", step)
      .help("lower the learning rate (--lr)");
}

}  // namespace elixir::runtime
