// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-search: profile + hardware + budgets -> plan.json, or the reason why there is no plan. It
// links only the planning half, so that it starts in milliseconds and runs anywhere.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json.h"
#include "core/units.h"
#include "hardware/hardware_profile.h"
#include "program/document.h"
#include "program/trainable.h"
#include "program/workspace_answers.h"
#include "report/screen/search_screen.h"
#include "search/least_gpus.h"
#include "search/search.h"
#include "tools/common/run_tool.h"

namespace {

using elixir::Json;

struct Options {
  std::string profile, hardware;
  std::vector<std::int64_t> gpu_memory;  ///< empty: the machine's
  std::string recompute = "auto", offload = "auto";
  double clip_norm = 1.0;
  bool least_gpus = false;
  std::optional<std::int64_t> gpus, gpus_per_node, replicas, network_bytes_per_s;
  elixir::search::Request request;
};

struct Documents {
  elixir::program::Profile profile;
  elixir::hardware::HardwareProfile hardware;
};

/// Contains every key of both answers. A key that does not apply is null.
Json answer_document(const std::string& strategy) {
  return {{"plan", nullptr},
          {"strategy", strategy},
          {"arithmetic", nullptr},
          {"average", nullptr},
          {"scales_loss", nullptr},
          {"recompute", nullptr},
          {"offloaded_bytes", nullptr},
          {"in_gradients_bytes", nullptr},
          {"predicted", nullptr},
          {"gpu_memory_bytes", nullptr},
          {"process_bytes", nullptr},
          {"candidates", nullptr},
          {"operators_measured", nullptr},
          {"operators_total", nullptr},
          {"runners_up", Json::array()},
          {"gpus", nullptr},
          {"fewer_gpus", Json::array()},
          {"binding_limit", nullptr},
          {"shortfall_bytes", nullptr},
          {"minimum_gpu_memory_bytes", nullptr},
          {"minimum_host_memory_bytes", nullptr},
          {"remedies", Json::array()}};
}

Json document_of(const elixir::search::Infeasible& no, const std::string& strategy) {
  Json document = answer_document(strategy);
  document["binding_limit"] = name_of(no.binding_limit);
  document["shortfall_bytes"] = no.shortfall_bytes;
  document["minimum_gpu_memory_bytes"] = no.minimum_gpu_memory_bytes;
  document["minimum_host_memory_bytes"] = no.minimum_host_memory_bytes;
  for (const elixir::search::Remedy& remedy : no.remedies) {
    document["remedies"].push_back(remedy.text);
  }
  return document;
}

Json document_of(const elixir::search::Found& found) {
  Json document = answer_document(found.plan.strategy);
  document["arithmetic"] = name_of(elixir::plan::arithmetic_of(found.plan.edits));
  document["average"] = elixir::plan::kAverages.name_of(elixir::plan::average_of(found.plan.edits));
  document["scales_loss"] = elixir::plan::scales_loss(found.plan.edits);
  document["recompute"] = elixir::edit::name_of(found.recomputation.choice);
  document["offloaded_bytes"] = found.recomputation.offloaded_bytes;
  document["in_gradients_bytes"] = found.recomputation.in_gradients_bytes;
  document["predicted"] = elixir::plan::to_json(found.plan)["predicted"];
  document["gpus"] = found.plan.world;
  document["gpu_memory_bytes"] = found.gpu_memory_bytes;
  document["process_bytes"] = found.process_bytes;
  document["candidates"] = found.candidates;
  document["operators_measured"] = found.operators_measured;
  document["operators_total"] = found.operators_total;
  for (const elixir::search::Candidate& candidate : found.runners_up) {
    document["runners_up"].push_back({{"description", candidate.description},
                                      {"step_ns", candidate.step_ns},
                                      {"peak_allocated_bytes", candidate.peak_bytes},
                                      {"host_bytes", candidate.host_bytes}});
  }
  return document;
}

Json document_of(const std::vector<elixir::search::TooFewGpus>& fewer) {
  Json list = Json::array();
  for (const elixir::search::TooFewGpus& tried : fewer) {
    list.push_back({{"gpus", tried.gpus},
                    {"binding_limit", name_of(tried.why.binding_limit)},
                    {"shortfall_bytes", tried.why.shortfall_bytes}});
  }
  return list;
}

void warn_about_form(const elixir::program::Profile& profile, elixir::tools::Context& context) {
  const elixir::program::OptimizerUse use = profile.optimizer_use();
  if (!use.is_torch()) return;
  context.warn(
      fmt::format("the profile's step is updated by torch.optim ({}); the plan is for Elixir's "
                  "{}, whose state is fp32",
                  name_of(use.form),
                  name_of(use.optimizer)),
      {"compare its memory with that of a profile with --optimizer-form elixir"});
}

void warn_about_losses(const elixir::search::Found& found, elixir::tools::Context& context) {
  if (found.losses_kept.empty()) return;
  context.warn(fmt::format("{} not fused",
                           found.losses_kept.size() == 1
                               ? std::string("a loss was")
                               : fmt::format("{} losses were", found.losses_kept.size())),
               found.losses_kept);
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

/// What rests on disturbed figures is not promised, and may be wrong by any factor.
void warn_about_disturbed(const elixir::search::Found& found,
                          const Options& options,
                          elixir::tools::Context& context) {
  const std::vector<std::string>& disturbed = found.plan.predicted.disturbed;
  if (disturbed.empty()) return;
  std::vector<std::string> only = disturbed;
  only.erase(std::remove(only.begin(), only.end(), "operators"), only.end());
  std::string flags;
  for (const std::string& name : only) flags += " --only " + name;
  if (only.size() < disturbed.size()) flags += " --operators " + options.profile;
  context.warn(
      fmt::format("the predicted time is not promised: other programs disturbed the measurements "
                  "behind it ({})",
                  fmt::join(disturbed, ", ")),
      {fmt::format("measure them again while nothing else runs: elixir-bench{} --into {}",
                   flags,
                   options.hardware)});
}

/// One row per budget and no plan, to find out which GPU would be enough.
elixir::tools::Answer compare_budgets(const Documents& documents,
                                      Options& options,
                                      elixir::tools::Context& context) {
  if (context.output()) {
    throw elixir::Error(elixir::ErrorCode::kConflictingFlags,
                        "-o names one plan, --gpu-memory several budgets")
        .help("leave -o out for the table, or name one budget for the plan");
  }
  std::vector<elixir::report::BudgetAnswer> answers;
  Json budgets = Json::array();
  bool any = false;
  {
    auto progress = context.progress();
    for (const std::int64_t budget : options.gpu_memory) {
      progress->update(
          static_cast<double>(answers.size()) / static_cast<double>(options.gpu_memory.size()),
          "searches a plan in " + elixir::format_bytes(budget));
      options.request.gpu_memory_bytes = budget;
      answers.push_back(
          {budget,
           elixir::search::search(documents.profile.program, documents.hardware, options.request)});
      const auto* found = std::get_if<elixir::search::Found>(&answers.back().outcome);
      Json entry = found != nullptr
                       ? document_of(*found)
                       : document_of(std::get<elixir::search::Infeasible>(answers.back().outcome),
                                     options.request.strategy);
      entry["gpu_memory_limit_bytes"] = budget;
      budgets.push_back(std::move(entry));
      if (found != nullptr && !any) {
        any = true;
        warn_about_operators(*found, options, context);
      }
    }
  }
  context.document() = {{"budgets", std::move(budgets)}};
  context.print(elixir::report::budgets_screen(answers, documents.profile));
  if (any) context.hint("next: the same with one of these budgets writes its plan");
  return any ? elixir::tools::Answer::kYes : elixir::tools::Answer::kNo;
}

void set_gpus(Options& options) {
  constexpr int kMostToTry = 256;
  elixir::search::Request& request = options.request;
  request.gpus = static_cast<int>(options.gpus.value_or(options.least_gpus ? kMostToTry : 1));
  if (options.gpus_per_node) request.gpus_per_node = static_cast<int>(*options.gpus_per_node);
  if (options.network_bytes_per_s) request.network_bytes_per_s = *options.network_bytes_per_s;
  if (options.replicas) request.replicas = static_cast<int>(*options.replicas);
}

elixir::tools::Answer work(Options& options, elixir::tools::Context& context) {
  const bool several = options.gpu_memory.size() > 1;
  if (several && options.least_gpus) {
    throw elixir::Error(elixir::ErrorCode::kConflictingFlags,
                        "--least-gpus is for one budget, --gpu-memory names {}",
                        options.gpu_memory.size())
        .help("leave out --least-gpus, or give one budget");
  }
  Documents documents{elixir::program::load_profile(options.profile),
                      elixir::hardware::load_hardware(options.hardware)};
  if (documents.hardware.workspaces) {
    // What a GPU said is better than what was said of its description.
    std::shared_ptr<const elixir::program::WorkspaceAnswers>& known =
        documents.profile.program.workspaces;
    known = std::make_shared<const elixir::program::WorkspaceAnswers>(
        known == nullptr ? *documents.hardware.workspaces
                         : elixir::program::merged(*known, *documents.hardware.workspaces));
  }
  // Checked before the output, so that an invalid profile is reported first.
  const std::string output = several ? "" : context.prepare_output("plan.json");
  // Do not make a plan that no trainer accepts.
  if (documents.profile.optimizer != elixir::program::Optimizer::kNone) {
    elixir::program::refuse_untrainable(documents.profile.program);
  }
  if (!elixir::program::is_trained(documents.profile.optimizer)) {
    throw elixir::Error(elixir::ErrorCode::kJsonBadValue,
                        "the profile `{}` is of a step with {}, with which Elixir does not train",
                        options.profile,
                        name_of(documents.profile.optimizer))
        .help("profile again with --optimizer adamw");
  }
  if (documents.profile.optimizer == elixir::program::Optimizer::kNone &&
      options.request.loss_scale == elixir::search::LossScale::kAlways) {
    throw elixir::Error(elixir::ErrorCode::kConflictingFlags,
                        "--loss-scale always, and the profile is of a step with --optimizer none")
        .help("leave it out, or profile with --optimizer adamw");
  }
  warn_about_form(documents.profile, context);
  options.request.optimizer = documents.profile.optimizer;
  options.request.recompute = elixir::edit::recompute_named(options.recompute);
  options.request.offload = elixir::edit::kOffloads.named(options.offload);
  options.request.clip_gradients = options.clip_norm > 0;
  if (options.request.optimizer_state != elixir::search::OptimizerState::kAuto &&
      options.request.strategy != "optimal") {
    throw elixir::Error(elixir::ErrorCode::kConflictingFlags,
                        "strategy {} decides itself where optimizer state is",
                        options.request.strategy)
        .help("leave out --optimizer-state, or --strategy");
  }
  set_gpus(options);
  if (several) return compare_budgets(documents, options, context);
  if (!options.gpu_memory.empty()) options.request.gpu_memory_bytes = options.gpu_memory.front();

  const auto start = std::chrono::steady_clock::now();
  elixir::search::Outcome outcome;
  std::vector<elixir::search::TooFewGpus> fewer;
  {
    auto progress = context.progress();
    options.request.on_progress = [&](double part, const std::string& what) {
      constexpr std::chrono::seconds kWorthALine{2};
      if (std::chrono::steady_clock::now() - start > kWorthALine) progress->update(part, what);
    };
    if (options.least_gpus) {
      elixir::search::LeastGpus least = elixir::search::least_gpus(
          documents.profile.program, documents.hardware, options.request);
      outcome = std::move(least.outcome);
      fewer = std::move(least.fewer);
    } else {
      outcome =
          elixir::search::search(documents.profile.program, documents.hardware, options.request);
    }
    options.request.on_progress = nullptr;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (const auto* no = std::get_if<elixir::search::Infeasible>(&outcome)) {
    context.document() = document_of(*no, options.request.strategy);
    context.document()["fewer_gpus"] = document_of(fewer);
    context.print(elixir::report::too_few_gpus_screen(fewer) + elixir::report::refusal_screen(*no));
    return elixir::tools::Answer::kNo;
  }
  auto& found = std::get<elixir::search::Found>(outcome);
  found.plan.meta = elixir::make_meta("elixir-search", context.argv());
  context.write_output(output, elixir::dump(elixir::plan::to_json(found.plan)));
  warn_about_operators(found, options, context);
  warn_about_losses(found, context);
  warn_about_disturbed(found, options, context);
  context.document() = document_of(found);
  context.document()["plan"] = output;
  context.document()["fewer_gpus"] = document_of(fewer);
  context.print(elixir::report::too_few_gpus_screen(fewer) +
                elixir::report::search_screen(found, documents.profile, took.count()));
  context.hint(fmt::format("next: elixir-train --plan {} --model MODEL.pt --data DATA{}",
                           output,
                           found.plan.clips_gradients ? "" : " --clip-norm 0"));
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
      {"elixir-search --profile gpt.profile.json --hardware h200 --gpu-memory 16,24,40,80GiB",
       "a table: which memory would do, how fast?"},
  };
  info.output = {"FILE", "where to write the plan", "plan.json"};
  info.details =
      "Exit code 0: a plan was found and written. 1: no plan fits; the answer names the limit\n"
      "that binds, what is missing, the least that is enough and what would help. With several\n"
      "budgets nothing is written; 1: none of them has a plan.";
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
        .sizes("--gpu-memory",
               &options.gpu_memory,
               "most memory of the process on the GPU, context included (on the CPU device: of the "
               "device arena); several sizes: a table of them, no plan")
        .default_text("the machine's")
        .brief();
    flags
        .bytes("--host-memory",
               &request.host_memory_bytes,
               "most resident host memory, pinned memory included")
        .default_text("the machine's")
        .brief();
    flags.group("Search");
    flags.choice("--strategy", elixir::search::strategies(), &request.strategy, "how to search")
        .brief();
    flags.choice("--recompute",
                 {"auto", "none", "elementwise", "blocks"},
                 &options.recompute,
                 "activations that backward makes again instead of keeping them; elementwise: "
                 "results of norms and elementwise operators inside blocks; blocks: everything but "
                 "the blocks' inputs; auto: whatever is fastest");
    flags.choice("--offload",
                 {"auto", "none", "all"},
                 &options.offload,
                 "where kept activations wait for backward: in GPU memory that gradients will use "
                 "later, else in host memory; auto: as many as make the step faster, or possible");
    flags
        .choice(
            "--arithmetic",
            elixir::plan::kArithmetics,
            &request.arithmetic,
            "fused: losses over classes without an fp32 copy of their logits, and matrix products "
            "aligned for tensor cores, which rounds differently; fused-elementwise: also norms and "
            "elementwise operators in groups; as-eager: LibTorch's operators alone, bit for "
            "bit")
        .default_text("fused-elementwise for GPUs, fused for CPUs");
    flags.choice("--average",
                 elixir::plan::kAverages,
                 &request.average,
                 "what a step of several micro-batches averages its loss over: all their labels "
                 "that are not ignored, where the loss is a mean over labels; or micro-batches, "
                 "which count alike");
    flags.choice("--moments",
                 elixir::plan::kMomentDTypes,
                 &request.moment_dtype,
                 "dtype of AdamW's moments; bf16 takes half the memory and a quarter less traffic, "
                 "rounds differently, and needs a beta2 of at most 0.998: the plan has 0.95");
    flags.choice("--optimizer-state",
                 elixir::search::kOptimizerStates,
                 &request.optimizer_state,
                 "where AdamW's state lives; host: all of it on the host, as in ZeRO-Offload; "
                 "auto: wherever the step is fastest; for strategy optimal");
    flags.integer("--accumulation-steps",
                  "N",
                  &request.accumulation_steps,
                  {1, 65536},
                  "micro-batches added up in a step");
    flags.number("--clip-norm",
                 "X",
                 &options.clip_norm,
                 elixir::tools::kNonNegativeNumber,
                 "largest global gradient norm, as in elixir-train; only 0 (no clipping) changes "
                 "the plan: each chunk is updated as soon as its gradients are complete, and "
                 "gradients take less memory");
    flags.choice("--loss-scale",
                 elixir::search::kLossScales,
                 &request.loss_scale,
                 "auto: gradients in fp16 are those of the loss times a scale, which elixir-train "
                 "adapts; a step whose gradients overflow is skipped, so updates wait for all of "
                 "them; always: in other dtypes, too");
    flags.toggle("--elixir-constants",
                 &request.elixir_constants,
                 "strategy elixir: the original's A100 figures instead of the machine's");
    flags.group("Several GPUs");
    flags.integer("--gpus",
                  "N",
                  &options.gpus,
                  {1, elixir::plan::kMostRanks},
                  "GPUs that train together, each with a part of every chunk and a batch of its "
                  "own");
    flags.toggle("--least-gpus",
                 &options.least_gpus,
                 "the fewest of 1, 2, 4, 8, … for which there is a plan; --gpus is the most");
    flags
        .integer("--gpus-per-node",
                 "N",
                 &options.gpus_per_node,
                 {1, elixir::plan::kMostRanks},
                 "GPUs that share a machine, its host memory and its cores; with more GPUs than "
                 "the hardware profile's machine has, host memory and cores grow with them")
        .default_text("8, or all of them");
    flags
        .integer("--replicas",
                 "N",
                 &options.replicas,
                 {1, elixir::plan::kMostRanks},
                 "replicas of parameters and optimizer state (hybrid sharding): the GPUs of a "
                 "replica share it; as many replicas as GPUs: each GPU has everything")
        .default_text("1: all GPUs share one");
    flags.exclusive({"--replicas", "--least-gpus"});
    flags
        .bytes("--network",
               &options.network_bytes_per_s,
               "bytes a second from each GPU to other machines, one way")
        .default_text("50 GB, of a link of 400 Gb/s");
    flags.choice("--reduce",
                 elixir::plan::kReduces,
                 &request.reduce,
                 "who adds up the GPUs' gradients; ordered: Elixir, in fp32 and in rank order, so "
                 "that every placement gives the same bits; nccl: its reduce-scatter, which sends "
                 "less over a network");
    flags.choice("--reduce-dtype",
                 elixir::plan::kReduceDTypes,
                 &request.reduce_dtype,
                 "dtype of gradients after all GPUs' are added up in fp32; parameters: rounded to "
                 "the parameters' dtype, half the memory");
    flags.choice("--reduce-per",
                 elixir::plan::kReducePers,
                 &request.reduce_per,
                 "when the GPUs add up gradients; step: each GPU first adds up its micro-batches, "
                 "which takes 4 bytes of its memory for each parameter of the model");
  };
  return elixir::tools::run_tool(
      info, argc, argv, [&](elixir::tools::Context& context) { return work(options, context); });
}
