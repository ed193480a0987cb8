// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile_screen.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/table.h"

namespace elixir::report {
namespace {

using program::Category;
using program::Operator;
using program::Program;
using program::TensorRef;

constexpr std::size_t kLargestShown = 10;

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(1_MiB));
}

std::string geometry(const TensorRef& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.sizes, ","));
}

std::string module_of(const Program& program, const Operator& op) {
  if (op.module < 0) return "(unattributed)";
  const std::string& path = program.modules[static_cast<std::size_t>(op.module)];
  return path.empty() ? "(model)" : path;
}

struct Description {
  std::string tensor, origin;
};

/// What a storage holds and who made it, as far as a person wants to know.
class Storages {
 public:
  explicit Storages(const Program& program) : program_(program) {
    for (const program::Parameter& parameter : program.parameters) {
      known_[parameter.tensor.storage] = {geometry(parameter.tensor), parameter.name};
    }
    for (const program::Buffer& buffer : program.buffers) {
      known_.try_emplace(buffer.tensor.storage, Description{geometry(buffer.tensor), buffer.name});
    }
    for (const program::Input& input : program.inputs) {
      known_.try_emplace(input.tensor.storage, Description{geometry(input.tensor), input.name});
    }
    for (const program::Parameter& parameter : program.parameters) {
      if (!parameter.gradient) continue;
      known_.try_emplace(
          parameter.gradient->storage,
          Description{geometry(*parameter.gradient), "gradient of " + parameter.name});
    }
  }

  [[nodiscard]] Description describe(program::StorageId id) const {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    const program::Storage& storage = program_.storages[static_cast<std::size_t>(id)];
    Description description{fmt::format("{} B", storage.bytes), "constant"};
    if (storage.allocated_at < 0) return description;
    const Operator& op = program_.operators[static_cast<std::size_t>(storage.allocated_at)];
    description.origin = fmt::format("{} in {}", op.name, module_of(program_, op));
    bool found = false;
    program::for_each_tensor(op.outputs, [&](const TensorRef& output) {
      if (output.storage == id && !found) description.tensor = geometry(output);
      found = found || output.storage == id;
    });
    return description;
  }

 private:
  const Program& program_;
  std::map<program::StorageId, Description> known_;
};

std::string heading(const program::Profile& profile) {
  const Program& program = profile.program;
  const auto forward =
      std::count_if(program.operators.begin(), program.operators.end(), [](const Operator& op) {
        return op.phase == program::Phase::kForward;
      });
  std::vector<std::string> inputs;
  for (const program::Input& input : program.inputs) {
    inputs.push_back(fmt::format("{} {}", input.name, geometry(input.tensor)));
  }
  std::int64_t flops = 0;
  for (const Operator& op : program.operators) flops += op.flops;
  return fmt::format(
      "{}\n  {} parameters, {} operator calls ({} forward, {} backward), {:.4g} TFLOP a step\n"
      "  target {}, optimizer {}, input {}\n",
      profile.model_path,
      format_count(program.parameter_count()),
      format_count(static_cast<std::int64_t>(program.operators.size())),
      format_count(forward),
      format_count(static_cast<std::int64_t>(program.operators.size()) - forward),
      static_cast<double>(flops) * 1e-12,
      program.target.text(),
      profile.optimizer,
      fmt::join(inputs, ", "));
}

std::string categories(const program::MemorySummary& memory, const memory::Timeline& timeline) {
  constexpr std::array<Category, 8> kOrder{Category::kParameter,
                                           Category::kGradient,
                                           Category::kOptimizerState,
                                           Category::kActivation,
                                           Category::kTemporary,
                                           Category::kBuffer,
                                           Category::kInput,
                                           Category::kConstant};
  Table table({{"device memory", "", Align::kLeft}, {"at the peak", "MiB"}, {"in all", "MiB"}});
  const auto total = [&](Category category) -> std::string {
    switch (category) {
      case Category::kParameter:
        return mib(memory.parameters_bytes);
      case Category::kGradient:
        return mib(memory.gradients_bytes);
      case Category::kOptimizerState:
        return mib(memory.optimizer_bytes);
      case Category::kBuffer:
        return mib(memory.buffers_bytes);
      case Category::kActivation:
        return mib(memory.activations_peak_bytes);
      default:
        return "";
    }
  };
  for (const Category category : kOrder) {
    const std::int64_t bytes = timeline.peak_by_category_bytes[static_cast<std::size_t>(category)];
    std::string name(name_of(category));
    std::replace(name.begin(), name.end(), '_', ' ');
    table.row({name, mib(bytes), total(category)});
  }
  table.row({"peak allocated", mib(timeline.peak_bytes), ""});
  return table.text();
}

std::string largest(const Program& program, const memory::Timeline& timeline) {
  const Storages storages(program);
  Table table({{"alive at the peak", "MiB"},
               {"category", "", Align::kLeft},
               {"tensor", "", Align::kLeft},
               {"of", "", Align::kLeft}});
  for (std::size_t i = 0; i < std::min(kLargestShown, timeline.live_at_peak.size()); ++i) {
    const memory::LiveStorage& live = timeline.live_at_peak[i];
    const Description what = storages.describe(live.storage);
    const program::Storage& storage = program.storages[static_cast<std::size_t>(live.storage)];
    std::string category(name_of(storage.category));
    std::replace(category.begin(), category.end(), '_', ' ');
    table.row({mib(live.bytes), category, what.tensor, what.origin});
  }
  return table.text();
}

}  // namespace

std::string profile_screen(const program::Profile& profile, const memory::Timeline& timeline) {
  const Program& program = profile.program;
  std::string text = heading(profile) + "\n" + categories(profile.memory, timeline);
  if (timeline.peak_operator >= 0) {
    const Operator& op = program.operators[static_cast<std::size_t>(timeline.peak_operator)];
    text += fmt::format("  reached at operator {} {} in {} ({})\n",
                        op.id,
                        op.name,
                        module_of(program, op),
                        op.phase == program::Phase::kForward ? "forward" : "backward");
  }
  text += "\n" + largest(program, timeline);
  text +=
      "\nallocated: exact for eager autograd from the second step on, tensors rounded up to 512 B, "
      "without workspaces of libraries\nreserved and process memory: not computed yet\n";
  if (profile.unattributed_operators > 0) {
    text += fmt::format("{} operator calls could not be attributed to a module\n",
                        format_count(profile.unattributed_operators));
  }
  return text;
}

}  // namespace elixir::report
