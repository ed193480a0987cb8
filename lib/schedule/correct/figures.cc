// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/figures.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "hardware/operator_cost.h"
#include "hardware/rate_dtypes.h"
#include "operators/operator_key.h"

namespace elixir::schedule {
namespace {

using hardware::AdamWrites;
using hardware::Figure;

constexpr std::int64_t kDerivedParameters = 1 << 20;

void scale(Figure& figure, double factor) {
  constexpr std::string_view kNote = ", corrected by a run";
  figure.median *= factor;
  if (figure.method.find(kNote) == std::string::npos) figure.method += kNote;
}

}  // namespace

Figures::Figures(hardware::HardwareProfile& profile,
                 const program::Program& program,
                 const plan::Plan& plan)
    : profile_(profile), plan_(plan) {
  for (const program::Operator& op : program.operators) calls_.insert(operators::operator_key(op));
}

void Figures::take_longer(Work work, double factor) {
  switch (work) {
    case Work::kOperators:
      for (hardware::OperatorTime& time : profile_.operators) {
        if (calls_.count(time.key) > 0) scale(time.time_ns, factor);
      }
      return;
    case Work::kToDevice:
      return scale_link(profile_.links.host_to_device, factor);
    case Work::kToHost:
      return scale_link(profile_.links.device_to_host, factor);
    case Work::kUpdate:
      return scale_updates(AdamWrites::kAll, factor);
    case Work::kUpdateParameters:
      return scale_updates(AdamWrites::kParameters, factor);
    case Work::kUpdateMoments:
      return scale_updates(AdamWrites::kMoments, factor);
  }
}

void Figures::scale_link(std::vector<hardware::LinkRate>& rates, double factor) const {
  for (hardware::LinkRate& rate : rates) {
    if (rate.gpus <= plan_.ranks_per_node) scale(rate.bytes_per_s, 1 / factor);
  }
}

// Forms of a pass are the same loop over the same memory. A search takes a form that stayed as it
// was for faster than it is.
void Figures::scale_updates(AdamWrites writes, double factor) {
  if (!std::exchange(derived_forms_added_, true)) add_derived_forms();
  for (hardware::AdamFormRate& rate : profile_.adam_forms) {
    if (rate.device == "cpu" && rate.writes == writes) scale(rate.params_per_s, 1 / factor);
  }
  if (writes != AdamWrites::kAll) return;
  for (hardware::AdamRate& rate : profile_.adam_cpu) scale(rate.params_per_s, 1 / factor);
}

// Forms without a rate follow another's. Each gets one of its own, so that it can be corrected
// alone.
void Figures::add_derived_forms() {
  const hardware::CostModel cost(profile_);
  std::vector<hardware::AdamFormRate> derived;
  for (const hardware::AdamRate& plain : profile_.adam_cpu) {
    const auto gradient = hardware::kRateDTypes.named(plain.dtype);
    if (plain.ranks != 1 || !gradient) continue;
    for (const bool split : {false, true}) {
      // Gradients in fp32 may be the sums of parameters in bf16, which split their masters.
      if (split && *gradient == program::DType::kFloat16) continue;
      for (const AdamWrites writes :
           {AdamWrites::kAll, AdamWrites::kParameters, AdamWrites::kMoments}) {
        const hardware::AdamForm form = {
            .gradient = *gradient, .split = split, .moments = plan_.moment_dtype, .writes = writes};
        if (form == hardware::AdamForm{.gradient = *gradient}) continue;  // the plain one
        hardware::AdamFormRate rate = {
            .device = "cpu",
            .gradient = plain.dtype,
            .moments = std::string(hardware::kRateDTypes.name_of(plan_.moment_dtype)),
            .master = split ? "split" : "separate",
            .parameters = kDerivedParameters,
            .params_per_s = plain.params_per_s,
            .writes = writes};
        if (has_rate(rate)) continue;
        rate.params_per_s.median = 1e9 * static_cast<double>(kDerivedParameters) /
                                   cost.adam_cpu_ns(kDerivedParameters, form);
        rate.params_per_s.method = "by the bytes of another form";
        derived.push_back(std::move(rate));
      }
    }
  }
  profile_.adam_forms.insert(profile_.adam_forms.end(), derived.begin(), derived.end());
}

bool Figures::has_rate(const hardware::AdamFormRate& form) const {
  return std::any_of(profile_.adam_forms.begin(),
                     profile_.adam_forms.end(),
                     [&](const hardware::AdamFormRate& rate) {
                       return rate.device == form.device && rate.gradient == form.gradient &&
                              rate.moments == form.moments && rate.master == form.master &&
                              rate.writes == form.writes;
                     });
}

}  // namespace elixir::schedule
