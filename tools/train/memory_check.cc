// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/memory_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "search/search.h"

namespace elixir::tools {

Answer check_memory(const plan::Plan& plan, const schedule::RunMemory& needed, Context& context) {
  const std::int64_t gpu_bytes = std::max(needed.training_gpu_bytes, needed.evaluation_gpu_bytes);
  const std::int64_t gpu_short = gpu_bytes - plan.budgets.gpu_memory_bytes;
  const std::int64_t host_short = needed.host_bytes - plan.budgets.host_memory_bytes;
  if (gpu_short <= 0 && host_short <= 0) return Answer::kYes;
  const bool gpu = gpu_short > 0;
  const std::int64_t budget = gpu ? plan.budgets.gpu_memory_bytes : plan.budgets.host_memory_bytes;
  const std::int64_t least = gpu ? gpu_bytes : needed.host_bytes;
  const bool by_evaluation =
      gpu ? needed.training_gpu_bytes - needed.evaluation.own_device_bytes <= budget
          : needed.host_bytes - needed.evaluation.own_host_bytes <= budget;
  const char* const memory = gpu ? "GPU memory" : "host memory";
  std::vector<std::string> remedies;
  if (by_evaluation) {
    remedies.emplace_back("leave --eval-data out");
    remedies.emplace_back("profile with a smaller --batch and search again");
  } else {
    remedies.push_back(fmt::format("search again, with --{}-memory {} ({}) at least",
                                   gpu ? "gpu" : "host",
                                   least,
                                   format_bytes(least)));
  }
  context.document() = {
      {"binding_limit",
       name_of(gpu ? search::BindingLimit::kGpuMemory : search::BindingLimit::kHostMemory)},
      {"needed_by", by_evaluation ? "evaluation" : "training"},
      {"shortfall_bytes", least - budget},
      {"minimum_gpu_memory_bytes", gpu_bytes},
      {"minimum_host_memory_bytes", needed.host_bytes},
      {"remedies", remedies}};
  std::string text = fmt::format("does not fit: {} is short of {} bytes ({}) of {}\n",
                                 by_evaluation ? "evaluation" : "training",
                                 format_count(least - budget),
                                 format_bytes(least - budget),
                                 memory);
  text += fmt::format("  = note: it needs {} bytes ({}), the plan's budget is {}\n",
                      format_count(least),
                      format_bytes(least),
                      format_bytes(budget));
  for (const std::string& remedy : remedies) text += fmt::format("  = help: {}\n", remedy);
  context.print(text);
  return Answer::kNo;
}

}  // namespace elixir::tools
