// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/search_screen.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "program/names/labels.h"
#include "report/screen/critical_path_text.h"
#include "report/terminal/table.h"

namespace elixir::report {
namespace {

using plan::Plan;
using program::Category;
using search::Found;
using search::Infeasible;

/// One unit for a whole table: GiB, or MiB if GiB would show zeros.
struct Unit {
  const char* name;
  double bytes;
};
Unit unit_of(std::int64_t largest_bytes) {
  if (largest_bytes >= 8_GiB) return {"GiB", static_cast<double>(1_GiB)};
  return {"MiB", static_cast<double>(1_MiB)};
}
std::string in(const Unit& unit, std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / unit.bytes);
}

std::int64_t bytes_of(const schedule::MemoryPeak& peak, Category category) {
  return peak.by_category_bytes[static_cast<std::size_t>(category)];
}

std::string device_word(const Plan& plan) {
  return plan.hardware.device_kind == program::DeviceKind::kCuda ? "GPU" : "device";
}

/// "9,192 tokens/s"; empty when the unit of a step's work is unknown.
std::string rate_of(const Plan& plan, const program::Program& program) {
  const auto work = work_of_micro_batch(program);
  if (!work || plan.predicted.step_ns <= 0) return "";
  const double count = static_cast<double>(work->count) * plan.accumulation_steps * plan.world;
  const double per_s = count / static_cast<double>(plan.predicted.step_ns) * 1e9;
  return fmt::format(
      "{} {}/s",
      per_s < 100 ? fmt::format("{:.3g}", per_s) : format_count(static_cast<std::int64_t>(per_s)),
      work->unit);
}

std::string memory_table(const Found& found) {
  const Plan& plan = found.plan;
  const auto& peak = found.device_peak;
  const std::vector<std::int64_t> parts = {bytes_of(peak, Category::kParameter),
                                           bytes_of(peak, Category::kGradient),
                                           bytes_of(peak, Category::kOptimizerState),
                                           bytes_of(peak, Category::kActivation),
                                           peak.workspace_bytes};
  std::int64_t other = peak.bytes;
  for (const std::int64_t part : parts) other -= part;

  const bool cuda = plan.hardware.device_kind == program::DeviceKind::kCuda;
  const Unit unit = unit_of(std::max(peak.bytes, plan.predicted.host_bytes));
  std::vector<Column> columns{{"", "", Align::kLeft}};
  for (const char* name :
       {"params", "grads", "optim", "activ.", "workspace", "other", "peak", "limit"}) {
    columns.push_back({name, unit.name});
  }
  Table table(columns);
  std::vector<std::string> bytes{"device, allocated"};
  std::vector<std::string> shares{"  share of the peak, %"};
  const auto add = [&](std::int64_t part) {
    bytes.push_back(in(unit, part));
    shares.push_back(fmt::format("{:.0f}",
                                 100.0 * static_cast<double>(part) /
                                     static_cast<double>(std::max<std::int64_t>(peak.bytes, 1))));
  };
  for (const std::int64_t part : parts) add(part);
  add(other);
  add(peak.bytes);
  bytes.push_back(cuda ? "" : in(unit, plan.budgets.gpu_memory_bytes));
  shares.emplace_back();
  table.row(std::move(bytes));
  table.row(std::move(shares));
  const auto total = [&](const char* name, std::int64_t peak_bytes, std::int64_t limit_bytes) {
    table.row({name, "", "", "", "", "", "", in(unit, peak_bytes), in(unit, limit_bytes)});
  };
  if (cuda) total("device, process", found.process_bytes, plan.budgets.gpu_memory_bytes);
  total("host", plan.predicted.host_bytes, plan.budgets.host_memory_bytes);
  return table.text();
}

std::string layout_text(const Plan& plan) {
  std::int64_t largest_bytes = 0;
  std::size_t parameters = 0;
  for (const plan::Chunk& chunk : plan.chunks) {
    largest_bytes = std::max(largest_bytes, chunk.bytes);
    parameters += chunk.parameters.size();
  }
  std::string text = fmt::format("{} parameters in {} chunks of up to {}\n",
                                 parameters,
                                 plan.chunks.size(),
                                 format_bytes(largest_bytes));
  if (plan.world > 1) {
    const int shards = plan::grid_of(plan).shards();
    text += fmt::format("{} GPUs, {} to a machine, each with {} chunk; figures are one's\n",
                        plan.world,
                        plan.ranks_per_node,
                        shards == 1 ? "every" : fmt::format("1/{} of every", shards));
  }
  text += homes_of(plan);
  if (plan.cache.blocks > 0) {
    text += fmt::format("; {} cache block{} of {} for chunks in use",
                        plan.cache.blocks,
                        plan.cache.blocks == 1 ? "" : "s",
                        format_bytes(plan.cache.block_bytes));
  }
  return text + "\n";
}

std::string arithmetic_text(const Plan& plan) {
  const std::string fusion = fusion_of(plan);
  return fusion.empty() ? "" : fmt::format("arithmetic fused: {}\n", fusion);
}

std::string average_text(const Plan& plan) {
  const std::string average = average_of_plan(plan);
  return average.empty() ? "" : fmt::format("average    {}\n", average);
}

std::string loss_scale_text(const Plan& plan) {
  return plan::scales_loss(plan.edits)
             ? "loss scale dynamic (elixir-train --loss-scale): a step whose gradients overflow is "
               "skipped\n"
             : "";
}

/// Empty where every activation is kept.
std::string recomputation_text(const search::Recomputation& recomputation) {
  if (recomputation.choice == edit::Recompute::kNone) return "";
  return fmt::format(
      "recompute  {}: {} of activations are kept for backward instead of {}; {} of operators run "
      "again\n",
      edit::name_of(recomputation.choice),
      format_bytes(recomputation.kept_bytes),
      format_bytes(recomputation.kept_without_bytes),
      format_ns(static_cast<double>(recomputation.recompute_ns)));
}

std::string clipping_text(const Plan& plan) {
  return plan.clips_gradients ? ""
                              : "clipping   none (train with --clip-norm 0): each chunk is updated "
                                "as soon as its gradients "
                                "are complete\n";
}

/// Empty where every activation stays where it was made.
std::string offload_text(const search::Recomputation& recomputation) {
  std::vector<std::string> places;
  if (recomputation.offloaded_bytes > 0) {
    places.push_back(fmt::format("{} on the host", format_bytes(recomputation.offloaded_bytes)));
  }
  if (recomputation.in_gradients_bytes > 0) {
    places.push_back(fmt::format("{} on the device where gradients come later",
                                 format_bytes(recomputation.in_gradients_bytes)));
  }
  if (places.empty()) return "";
  return fmt::format("offload    of the activations that are kept wait {}\n",
                     fmt::join(places, ", and "));
}

std::string time_text(const Plan& plan, const std::string& collectives) {
  std::vector<std::string> streams;
  for (const plan::StreamTime& stream : plan.predicted.streams) {
    if (stream.busy_ns == 0) continue;
    streams.push_back(fmt::format(
        "{} {}", name_for_people(stream.stream), format_ns(static_cast<double>(stream.busy_ns))));
  }
  const plan::Predicted& predicted = plan.predicted;
  const std::int64_t modelled = predicted.operators_total - predicted.operators_measured;
  std::string text = fmt::format("step time  {} predicted; busy: {}\n",
                                 format_ns(static_cast<double>(predicted.step_ns)),
                                 fmt::join(streams, ", "));
  if (const auto path = critical_path_of(predicted)) {
    text += fmt::format("limited by {} (the critical path)\n", shares_of(*path));
  }
  const plan::Traffic& traffic = predicted.traffic;
  if (traffic.fetches > 0 || traffic.evictions > 0) {
    text += fmt::format(
        "each step  moves {} to the device and {} to the host; fetches {} chunks "
        "and evicts {}\n",
        format_bytes(traffic.host_to_device_bytes),
        format_bytes(traffic.device_to_host_bytes),
        traffic.fetches,
        traffic.evictions);
  } else {
    text += fmt::format("each step  moves {} to the device and {} to the host\n",
                        format_bytes(traffic.host_to_device_bytes),
                        format_bytes(traffic.device_to_host_bytes));
  }
  if (plan.world > 1) {
    text += fmt::format(
        "           gathers and reduces {} between the GPUs{}{}; times of collectives: {}\n",
        format_bytes(traffic.collective_bytes),
        plan::reduces_by_nccl(plan) ? ", gradients through NCCL in an order that it chooses" : "",
        plan::reduces_once(plan) ? ", gradients once a step" : "",
        collectives.empty() ? "modelled as copies" : collectives);
  }
  if (predicted.spread > 0) {
    text += fmt::format("           the figures behind it spread by {:.0f} %\n",
                        predicted.spread * 100);
  }
  return text + (modelled == 0
                     ? fmt::format("operators  {} calls, all measured\n",
                                   format_count(predicted.operators_total))
                     : fmt::format("operators  {} of {} calls measured, {} modelled: their time is "
                                   "an estimate, their workspace an upper bound\n",
                                   format_count(predicted.operators_measured),
                                   format_count(predicted.operators_total),
                                   format_count(modelled)));
}

std::string rivals_text(const Found& found) {
  std::string text;
  const auto best_ns = static_cast<double>(found.plan.predicted.step_ns);
  for (const search::Candidate& other : found.runners_up) {
    const double slower = (static_cast<double>(other.step_ns) / best_ns - 1) * 100;
    const std::string by = slower < -0.05  ? fmt::format("{:.1f} % faster, within doubt", -slower)
                           : slower < 0.05 ? "as fast"
                           : slower >= 100 ? fmt::format("{:.1f} times", slower / 100 + 1)
                                           : fmt::format("{:.1f} % slower", slower);
    text += fmt::format("runner-up  {} ({})  {}\n",
                        format_ns(static_cast<double>(other.step_ns)),
                        by,
                        other.description);
  }
  return text;
}

/// Why chunks move although the profile's process would fit.
std::string disagreement(const Found& found, const program::Profile& profile) {
  const Plan& plan = found.plan;
  const auto& process = profile.memory.process_peak_bytes;
  if (!found.all_on_device || !process || *process > plan.budgets.gpu_memory_bytes) return "";
  const search::DeviceNeed& need = *found.all_on_device;
  return fmt::format(
      "  = note: elixir-profile says that all of it fits the GPU ({} for the process); a plan that "
      "keeps it there is given {}: {} allocated, {} of context, {} that the allocator may hold "
      "beyond what is allocated\n",
      format_bytes(*process),
      format_bytes(need.gpu_memory_bytes),
      format_bytes(need.peak_bytes),
      format_bytes(plan.budgets.gpu_context_bytes),
      format_bytes(need.gpu_memory_bytes - need.peak_bytes - plan.budgets.gpu_context_bytes));
}

/// "93.5 GiB are activations, 1.20 GiB temporaries": what is on the device in every plan.
std::string immovable(const schedule::MemoryPeak& peak) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::pair<std::int64_t, std::string>> parts;
  for (const Category category : {Category::kActivation,
                                  Category::kTemporary,
                                  Category::kInput,
                                  Category::kBuffer,
                                  Category::kConstant}) {
    const std::string name(program::label_of(category));
    parts.emplace_back(bytes_of(peak, category),
                       category == Category::kTemporary ? "temporaries" : name + "s");
  }
  parts.emplace_back(peak.workspace_bytes, "workspaces");
  std::stable_sort(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> named;
  for (const auto& [bytes, name] : parts) {
    if (bytes == 0 || named.size() == kMostNamed) break;
    named.push_back(fmt::format("{} {}{}", format_bytes(bytes), named.empty() ? "are " : "", name));
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

std::string lack_of(const Infeasible& no) {
  return fmt::format("no plan: {} short of {} memory",
                     format_bytes(no.shortfall_bytes),
                     no.binding_limit == search::BindingLimit::kHostMemory ? "host" : "GPU");
}

std::vector<std::string> budget_row(const BudgetAnswer& answer,
                                    const program::Profile& profile,
                                    const Unit& unit) {
  const std::string budget = format_bytes(answer.gpu_memory_bytes);
  if (const auto* no = std::get_if<Infeasible>(&answer.outcome)) {
    return {budget, "-", "-", "-", "-", lack_of(*no)};
  }
  const Found& found = std::get<Found>(answer.outcome);
  const std::string rate = rate_of(found.plan, profile.program);
  return {budget,
          format_ns(static_cast<double>(found.plan.predicted.step_ns)),
          rate.empty() ? "-" : rate,
          in(unit, found.process_bytes),
          in(unit, found.plan.predicted.host_bytes),
          homes_of(found.plan)};
}

}  // namespace

std::optional<StepWork> work_of_micro_batch(const program::Program& program) {
  std::int64_t tokens = 0;
  for (const program::Input& input : program.inputs) {
    const bool whole = input.tensor.dtype == program::DType::kInt64 ||
                       input.tensor.dtype == program::DType::kInt32;
    if (whole && input.tensor.sizes.size() >= 2) tokens = std::max(tokens, input.tensor.numel());
  }
  if (tokens > 0) return StepWork{tokens, "tokens"};
  if (program.inputs.empty() || program.inputs.front().tensor.sizes.empty()) return std::nullopt;
  return StepWork{program.inputs.front().tensor.sizes.front(), "samples"};
}

std::string average_of_plan(const plan::Plan& plan) {
  if (plan.accumulation_steps * plan.world == 1) return "";
  return plan::average_of(plan.edits) == plan::Average::kTokens
             ? "a step's loss is a mean over the labels of all its micro-batches"
             : "a step's loss is a mean over its micro-batches, which count alike";
}

std::string fusion_of(const plan::Plan& plan) {
  std::vector<std::string> parts;
  for (const plan::Edit& edit : plan.edits) {
    if (edit.kind == plan::Edit::Kind::kFuseLoss) {
      parts.emplace_back("the loss makes no fp32 copy of its logits");
    } else if (edit.kind == plan::Edit::Kind::kAlignProducts) {
      parts.push_back(fmt::format("products aligned: {}", edit.products.size()));
    } else if (edit.kind == plan::Edit::Kind::kFuseElementwise) {
      parts.emplace_back("norms and elementwise operators in groups");
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string homes_of(const plan::Plan& plan) {
  const auto on_host = [&](plan::Home plan::Chunk::*home) {
    return std::count_if(plan.chunks.begin(), plan.chunks.end(), [home](const plan::Chunk& chunk) {
      return chunk.*home == plan::Home::kHost;
    });
  };
  const auto parameters = on_host(&plan::Chunk::parameter_home);
  const auto optimizers =
      plan.optimizer == program::Optimizer::kNone ? 0 : on_host(&plan::Chunk::optimizer_home);
  const std::string of =
      fmt::format("of {} chunk{}", plan.chunks.size(), plan.chunks.size() == 1 ? "" : "s");
  const auto keep = [](auto count) { return count == 1 ? "keeps its" : "keep their"; };
  const auto streamed =
      std::count_if(plan.chunks.begin(), plan.chunks.end(), [](const plan::Chunk& chunk) {
        return chunk.streams_update;
      });
  const auto late = std::count_if(plan.chunks.begin(),
                                  plan.chunks.end(),
                                  [](const plan::Chunk& chunk) { return chunk.late_moments; });
  std::string updated;
  if (streamed > 0) updated = fmt::format("{} of them updated on the device", streamed);
  if (late > 0) {
    updated += fmt::format("{}moments of {} made late", updated.empty() ? "" : ", ", late);
    if (plan.kept_gradients > 1) {
      updated += fmt::format(", gradients of {} steps kept for them", plan.kept_gradients);
    }
  }
  if (!updated.empty()) updated = fmt::format(" ({})", updated);
  if (parameters > 0 && optimizers > 0) {
    return fmt::format("{} {} {} parameters on the host, {} their optimizer state{}",
                       parameters,
                       of,
                       keep(parameters),
                       optimizers,
                       updated);
  }
  if (parameters > 0) {
    return fmt::format("{} {} {} parameters on the host", parameters, of, keep(parameters));
  }
  if (optimizers > 0) {
    return fmt::format(
        "{} {} {} optimizer state on the host{}", optimizers, of, keep(optimizers), updated);
  }
  const bool offloads =
      std::any_of(plan.edits.begin(), plan.edits.end(), [](const plan::Edit& edit) {
        return edit.kind == plan::Edit::Kind::kOffload;
      });
  return fmt::format("{} on the {}",
                     offloads ? "all but some activations stay" : "everything stays",
                     device_word(plan));
}

std::string search_screen(const search::Found& found,
                          const program::Profile& profile,
                          double seconds) {
  const Plan& plan = found.plan;
  const std::string rate = rate_of(plan, profile.program);
  std::string text = fmt::format("plan found: {} a step{}, {} of {} of {} memory\n",
                                 format_ns(static_cast<double>(plan.predicted.step_ns)),
                                 rate.empty() ? "" : ", " + rate,
                                 format_bytes(found.process_bytes),
                                 format_bytes(plan.budgets.gpu_memory_bytes),
                                 device_word(plan));
  text += layout_text(plan) + disagreement(found, profile) + memory_table(found);
  text += arithmetic_text(plan) + average_text(plan) + loss_scale_text(plan) +
          recomputation_text(found.recomputation) + clipping_text(plan) +
          offload_text(found.recomputation) + time_text(plan, found.collectives);
  text += fmt::format("searched {} candidate{} in {:.1f} s\n",
                      format_count(found.candidates),
                      found.candidates == 1 ? "" : "s",
                      seconds);
  return text + rivals_text(found);
}

std::string too_few_gpus_screen(const std::vector<search::TooFewGpus>& fewer) {
  std::string text;
  for (const search::TooFewGpus& tried : fewer) {
    text +=
        fmt::format("{} GPU{}: {}\n", tried.gpus, tried.gpus == 1 ? "" : "s", lack_of(tried.why));
  }
  return text;
}

std::string refusal_screen(const search::Infeasible& no) {
  const bool host = no.binding_limit == search::BindingLimit::kHostMemory;
  const char* memory = host ? "host memory" : "GPU memory";
  const std::int64_t minimum = host ? no.minimum_host_memory_bytes : no.minimum_gpu_memory_bytes;
  std::string text = fmt::format("no feasible plan: {} is short of {} bytes ({})\n",
                                 memory,
                                 format_count(no.shortfall_bytes),
                                 format_bytes(no.shortfall_bytes));
  text += fmt::format("  = note: the least {} is {} bytes ({}), the limit is {}\n",
                      memory,
                      format_count(minimum),
                      format_bytes(minimum),
                      format_bytes(minimum - no.shortfall_bytes));
  const std::string stays = no.least_peak ? immovable(*no.least_peak) : "";
  if (!host && !stays.empty()) {
    text += fmt::format("  = note: of the least, {}: no plan moves them\n", stays);
  }
  for (const search::Remedy& remedy : no.remedies) {
    text += fmt::format("  = help: {}\n", remedy.text);
  }
  return text;
}

std::string budgets_screen(const std::vector<BudgetAnswer>& answers,
                           const program::Profile& profile) {
  std::int64_t most = 0;
  for (const BudgetAnswer& answer : answers) {
    if (const auto* found = std::get_if<Found>(&answer.outcome)) {
      most = std::max({most, found->process_bytes, found->plan.predicted.host_bytes});
    }
  }
  const Unit unit = unit_of(most);
  Table table({{"GPU memory", ""},
               {"step time", ""},
               {"rate", ""},
               {"GPU", unit.name},
               {"host", unit.name},
               {"", "", Align::kLeft}});
  for (const BudgetAnswer& answer : answers) table.row(budget_row(answer, profile, unit));
  return table.text();
}

}  // namespace elixir::report
