// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-search: profile + hardware + budgets -> plan.json, or the reason there is none. Links the
// planning half alone, so that it starts in milliseconds anywhere.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json.h"
#include "core/units.h"
#include "hardware/hardware_profile.h"
#include "program/document.h"
#include "report/screen/table.h"
#include "search/search.h"
#include "tools/common/run_tool.h"

namespace {

using elixir::Json;
using elixir::program::Category;

struct Options {
  std::string profile, hardware;
  elixir::search::Request request;
};

/// One unit for a whole table: GiB, or MiB where GiB would show zeros.
struct Unit {
  const char* name;
  double bytes;
};
Unit unit_for(std::int64_t largest_bytes) {
  if (largest_bytes >= 8 * elixir::operator""_GiB(1)) return {"GiB", 1024.0 * 1024 * 1024};
  return {"MiB", 1024.0 * 1024};
}

std::string memory_table(const elixir::search::Found& found) {
  const elixir::plan::Plan& plan = found.plan;
  const auto& peak = found.device_peak;
  const auto of = [&](Category category) {
    return peak.by_category_bytes[static_cast<std::size_t>(category)];
  };
  const Unit unit = unit_for(std::max(peak.bytes, plan.predicted.host_bytes));
  const auto cell = [&](std::int64_t bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) / unit.bytes);
  };
  elixir::report::Table table({{"", "", elixir::report::Align::kLeft},
                               {"params", unit.name},
                               {"grads", unit.name},
                               {"optim", unit.name},
                               {"activ.", unit.name},
                               {"workspace", unit.name},
                               {"other", unit.name},
                               {"peak", unit.name},
                               {"limit", unit.name}});
  const std::int64_t named = of(Category::kParameter) + of(Category::kGradient) +
                             of(Category::kOptimizerState) + of(Category::kActivation) +
                             peak.workspace_bytes;
  table.row({"device, allocated",
             cell(of(Category::kParameter)),
             cell(of(Category::kGradient)),
             cell(of(Category::kOptimizerState)),
             cell(of(Category::kActivation)),
             cell(peak.workspace_bytes),
             cell(peak.bytes - named),
             cell(peak.bytes),
             plan.hardware.device_kind == "cuda" ? "" : cell(plan.budgets.gpu_memory_bytes)});
  if (plan.hardware.device_kind == "cuda") {
    table.row({"device, process",
               "",
               "",
               "",
               "",
               "",
               "",
               cell(found.gpu_memory_bytes),
               cell(plan.budgets.gpu_memory_bytes)});
  }
  table.row({"host",
             "",
             "",
             "",
             "",
             "",
             "",
             cell(plan.predicted.host_bytes),
             cell(plan.budgets.host_memory_bytes)});
  return table.text();
}

std::string summary(const elixir::search::Found& found, double seconds) {
  const elixir::plan::Plan& plan = found.plan;
  std::int64_t largest_bytes = 0;
  std::size_t parameters = 0;
  std::size_t streamed = 0;
  std::size_t optimizers = 0;
  for (const elixir::plan::Chunk& chunk : plan.chunks) {
    largest_bytes = std::max(largest_bytes, chunk.bytes);
    parameters += chunk.parameters.size();
    if (chunk.parameter_home == elixir::plan::Home::kHost) ++streamed;
    if (chunk.optimizer_home == elixir::plan::Home::kHost) ++optimizers;
  }
  std::string text = fmt::format(
      "plan found  {} parameters in {} chunks of up to {}  parameters of {} and "
      "optimizer of {} on the host  {} cache blocks\n",
      parameters,
      plan.chunks.size(),
      elixir::format_bytes(largest_bytes),
      streamed,
      optimizers,
      plan.cache.blocks);
  text += memory_table(found);
  std::string streams;
  for (const elixir::plan::StreamTime& stream : plan.predicted.streams) {
    if (stream.busy_ns == 0) continue;
    std::string name = stream.stream;
    std::replace(name.begin(), name.end(), '_', '-');
    streams += fmt::format("{}{} {}",
                           streams.empty() ? "" : ", ",
                           name,
                           elixir::format_ns(static_cast<double>(stream.busy_ns)));
  }
  text += fmt::format("step time  {} predicted  ({})\n",
                      elixir::format_ns(static_cast<double>(plan.predicted.step_ns)),
                      streams);
  text += fmt::format("traffic  {} to the device, {} to the host, {} chunks fetched, {} evicted\n",
                      elixir::format_bytes(plan.predicted.traffic.host_to_device_bytes),
                      elixir::format_bytes(plan.predicted.traffic.device_to_host_bytes),
                      plan.predicted.traffic.fetches,
                      plan.predicted.traffic.evictions);
  text += fmt::format("operators  {} of {} measured, {} modelled\n",
                      found.operators_measured,
                      found.operators_total,
                      found.operators_total - found.operators_measured);
  text += fmt::format("searched {} candidates in {:.1f} s\n", found.candidates, seconds);
  for (const elixir::search::Candidate& other : found.runners_up) {
    const double ratio =
        static_cast<double>(other.step_ns) / static_cast<double>(plan.predicted.step_ns);
    text += fmt::format("runner-up  {} ({:.2f}x)  {}\n",
                        elixir::format_ns(static_cast<double>(other.step_ns)),
                        ratio,
                        other.description);
  }
  return text;
}

/// Every key in both answers; what does not apply is null.
Json answer_document(const std::string& strategy) {
  return {{"plan", nullptr},
          {"strategy", strategy},
          {"predicted", nullptr},
          {"gpu_memory_bytes", nullptr},
          {"candidates", nullptr},
          {"operators_measured", nullptr},
          {"operators_total", nullptr},
          {"runners_up", Json::array()},
          {"binding_limit", nullptr},
          {"shortfall_bytes", nullptr},
          {"minimum_gpu_memory_bytes", nullptr},
          {"minimum_host_memory_bytes", nullptr},
          {"remedies", Json::array()}};
}

elixir::tools::Answer refuse(const elixir::search::Infeasible& no,
                             const Options& options,
                             elixir::tools::Context& context) {
  Json document = answer_document(options.request.strategy);
  document["binding_limit"] = no.binding_limit;
  document["shortfall_bytes"] = no.shortfall_bytes;
  document["minimum_gpu_memory_bytes"] = no.minimum_gpu_memory_bytes;
  document["minimum_host_memory_bytes"] = no.minimum_host_memory_bytes;
  for (const elixir::search::Remedy& remedy : no.remedies) {
    document["remedies"].push_back(remedy.text);
  }
  context.document() = document;
  const bool host = no.binding_limit == "host_memory";
  const std::int64_t minimum = host ? no.minimum_host_memory_bytes : no.minimum_gpu_memory_bytes;
  std::string text = fmt::format("no feasible plan: {} is short of {} bytes ({})\n",
                                 host ? "host memory" : "GPU memory",
                                 elixir::format_count(no.shortfall_bytes),
                                 elixir::format_bytes(no.shortfall_bytes));
  text += fmt::format("  = note: the least {} is {} bytes ({}), the limit is {}\n",
                      host ? "host memory" : "GPU memory",
                      elixir::format_count(minimum),
                      elixir::format_bytes(minimum),
                      elixir::format_bytes(minimum - no.shortfall_bytes));
  for (const elixir::search::Remedy& remedy : no.remedies) {
    text += fmt::format("  = help: {}\n", remedy.text);
  }
  context.print(text);
  return elixir::tools::Answer::kNo;
}

void warn_about_operators(const elixir::search::Found& found,
                          const Options& options,
                          elixir::tools::Context& context) {
  const std::int64_t modelled = found.operators_total - found.operators_measured;
  if (modelled == 0) return;
  context.warn(fmt::format("{} of {} operator calls are not measured in hardware profile `{}`: "
                           "their time is modelled, their workspace an upper bound",
                           modelled,
                           found.operators_total,
                           options.hardware),
               {fmt::format("on that machine: elixir-bench --operators {}", options.profile)});
}

elixir::tools::Answer work(Options& options, elixir::tools::Context& context) {
  const std::string output = context.prepare_output("plan.json");
  const elixir::program::Profile profile = elixir::program::load_profile(options.profile);
  const elixir::hardware::HardwareProfile hardware =
      elixir::hardware::load_hardware(options.hardware);
  options.request.optimizer = profile.optimizer;
  const auto start = std::chrono::steady_clock::now();
  elixir::search::Outcome outcome =
      elixir::search::search(profile.program, hardware, options.request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (const auto* no = std::get_if<elixir::search::Infeasible>(&outcome)) {
    return refuse(*no, options, context);
  }
  auto& found = std::get<elixir::search::Found>(outcome);
  found.plan.meta = elixir::make_meta("elixir-search", context.argv());
  const Json plan = elixir::plan::to_json(found.plan);
  context.write_output(output, elixir::dump(plan));
  warn_about_operators(found, options, context);

  Json document = answer_document(options.request.strategy);
  document["plan"] = output;
  document["strategy"] = found.plan.strategy;
  document["predicted"] = plan["predicted"];
  document["gpu_memory_bytes"] = found.gpu_memory_bytes;
  document["candidates"] = found.candidates;
  document["operators_measured"] = found.operators_measured;
  document["operators_total"] = found.operators_total;
  for (const elixir::search::Candidate& candidate : found.runners_up) {
    document["runners_up"].push_back({{"description", candidate.description},
                                      {"step_ns", candidate.step_ns},
                                      {"peak_allocated_bytes", candidate.peak_bytes},
                                      {"host_bytes", candidate.host_bytes}});
  }
  context.document() = std::move(document);
  context.print(summary(found, took.count()));
  context.hint(fmt::format("next: elixir-train --plan {} --model MODEL.pt --data DATA", output));
  return elixir::tools::Answer::kYes;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-search";
  info.summary =
      "Finds the fastest training plan within memory budgets, or says why there is none.";
  info.examples = {
      {"elixir-search --profile gpt.profile.json --hardware h200", "a plan for one H200"},
      {"elixir-search --profile gpt.profile.json --hardware h200 --gpu-memory 24GiB",
       "as if it had 24 GiB"},
  };
  info.output = {"FILE", "where to write the plan", "plan.json"};
  info.details =
      "Exit code 0: a plan was found and written. 1: no plan fits; the answer names the limit\n"
      "that binds, what is missing, the least that is enough and what would help.";
  info.declare = [&](elixir::tools::Flags& flags) {
    elixir::search::Request& request = options.request;
    flags.group("Inputs");
    flags.text("--profile", "FILE", &options.profile, "profile of the model, from elixir-profile")
        .reads()
        .required()
        .brief();
    flags
        .text("--hardware",
              "NAME|FILE",
              &options.hardware,
              "a shipped hardware profile or one from elixir-bench")
        .reads()
        .required()
        .brief();
    flags.group("Budgets");
    flags
        .bytes("--gpu-memory",
               &request.gpu_memory_bytes,
               "bound of the process on the GPU, context included; on the CPU device of the "
               "device arena")
        .default_text("the machine's")
        .brief();
    flags
        .bytes("--host-memory",
               &request.host_memory_bytes,
               "bound of resident host bytes, pinned ones included")
        .default_text("the machine's")
        .brief();
    flags.group("Search");
    flags.choice("--strategy", elixir::search::strategies(), &request.strategy, "how to search")
        .brief();
    flags.integer("--accumulation-steps",
                  "N",
                  &request.accumulation_steps,
                  {1, 65536},
                  "micro-batches added up in a step");
    flags.integer("--gpus", "N", &request.gpus, {1, 1}, "GPUs to plan for; this version knows one");
    flags.toggle("--elixir-constants",
                 &request.elixir_constants,
                 "strategy elixir: the original's A100 figures instead of the machine's");
  };
  return elixir::tools::run_tool(
      info, argc, argv, [&](elixir::tools::Context& context) { return work(options, context); });
}
