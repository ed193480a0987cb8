// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/announcement.h"

#include <algorithm>
#include <string>
#include <thread>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "core/log.h"
#include "core/units.h"
#include "report/screen/profile_screen.h"
#include "report/screen/search_screen.h"
#include "tools/train/data_notes.h"
#include "tools/train/loss_scale_flag.h"

namespace elixir::tools {
namespace {

std::string model_and_plan(const TrainOptions& options, const train::RunInputs& run) {
  const plan::Plan& plan = run.plan;
  const auto moved =
      std::count_if(plan.chunks.begin(), plan.chunks.end(), [](const plan::Chunk& chunk) {
        return chunk.parameter_home == plan::Home::kHost;
      });
  std::string text = fmt::format("model      {}: {} parameters, program {}\n",
                                 options.model,
                                 format_count(run.captured.program.parameter_count()),
                                 run.fingerprint.substr(0, 12));
  text += fmt::format("plan       {}: {}, {} chunk{}, {} of them on the host, {} block{} of {}\n",
                      options.plan,
                      plan.strategy,
                      plan.chunks.size(),
                      plan.chunks.size() == 1 ? "" : "s",
                      moved,
                      plan.cache.blocks,
                      plan.cache.blocks == 1 ? "" : "s",
                      format_bytes(plan.cache.block_bytes));
  const std::string fusion = report::fusion_of(plan);
  if (!fusion.empty()) text += fmt::format("arithmetic fused: {}\n", fusion);
  const std::string average = report::average_of_plan(plan);
  if (!average.empty()) text += fmt::format("average    {}\n", average);
  std::size_t made_again = 0;
  for (const plan::Edit& edit : plan.edits) made_again += edit.storages.size();
  if (made_again > 0) {
    text += fmt::format("recompute  {} activations are made again in backward\n",
                        format_count(static_cast<std::int64_t>(made_again)));
  }
  text += fmt::format("budgets    device {}, host {}\n",
                      format_bytes(plan.budgets.gpu_memory_bytes),
                      format_bytes(plan.budgets.host_memory_bytes));
  return text;
}

std::string data_text(const TrainOptions& options, const TrainInputs& inputs) {
  const train::Dataset& data = *inputs.run.data;
  const auto tokens_per_row = data.tokens_per_row();
  const train::DataFiles& files = inputs.data_files;
  const std::int64_t rows_per_step = inputs.run.rows_per_step();
  std::string text =
      fmt::format("data       {} {} ({}) in {} file{}; {} rows{} a step\n",
                  format_count(data.size()),
                  tokens_per_row ? "tokens" : "samples",
                  train::name_of(files.format),
                  files.files.size(),
                  files.files.size() == 1 ? "" : "s",
                  rows_per_step,
                  tokens_per_row ? fmt::format(" of {} tokens", *tokens_per_row) : "");
  if (!options.loss.empty()) {
    text += report::loss_line(inputs.run.captured.program, options.loss);
  }
  text += fmt::format(
      "labels     {}\n",
      labels_text(inputs.run.captured.program, inputs.label_use, files.format, inputs.labels));
  text += fmt::format("sampling   {}\n", sampling_text(data, rows_per_step, options.steps));
  return text;
}

std::string loss_scale_text(const TrainOptions& options,
                            const plan::Plan& plan,
                            const std::optional<train::FoundCheckpoint>& from) {
  if (!plan::scales_loss(plan.edits)) return "";
  runtime::LossScaleOptions scale = parse_loss_scale(options.loss_scale);
  if (from && from->info.loss_scale) scale.initial = from->info.loss_scale->scale;
  return fmt::format("loss scale {}\n", description_of(scale));
}

std::string training_text(const TrainOptions& options,
                          const train::RunInputs& run,
                          const std::optional<train::FoundCheckpoint>& from) {
  const std::int64_t first_step = from ? from->info.step + 1 : 1;
  const int threads = at::get_num_threads();
  return fmt::format(
             "training   {} to step {}, {}, lr {} {}, clip {}, seed {}, {}\n",
             first_step == 1              ? std::string("from the start")
             : first_step > options.steps ? std::string("finished before: nothing left")
                                          : fmt::format("from step {}", first_step),
             options.steps,
             name_of(run.plan.optimizer),
             options.lr,
             options.lr_schedule,
             options.clip_norm,
             options.seed,
             run.device == runtime::DeviceKind::kCuda
                 ? std::string("on the GPU")
                 : fmt::format("on the CPU with {} thread{}", threads, threads == 1 ? "" : "s")) +
         loss_scale_text(options, run.plan, from);
}

std::string predicted_text(const report::StepFigures& predicted) {
  return fmt::format(
      "predicted  {} a step, device peak {}, host {}, {} fetches and {} evictions a step\n",
      format_ns(predicted.step_ns),
      format_bytes(predicted.peak_device_bytes),
      format_bytes(predicted.host_bytes),
      predicted.traffic.fetches,
      predicted.traffic.evictions);
}

void log_lines(const std::string& text) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    log::info(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// A run whose user wants fewer threads than there are cores is not warned.
void warn_of_fewer_cores(int planned, Context& context) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores >= planned || cores == 0) return;
  context.warn(fmt::format("the plan is for {} threads on the CPU, and this machine has {} core{}: "
                           "steps may take longer than predicted",
                           planned,
                           cores,
                           cores == 1 ? "" : "s"),
               {"measure this machine with elixir-bench, and search again"});
}

}  // namespace

void announce(const TrainOptions& options,
              const TrainInputs& inputs,
              const Prediction& prediction,
              const std::optional<train::FoundCheckpoint>& from,
              Context& context) {
  const std::string text = model_and_plan(options, inputs.run) + data_text(options, inputs) +
                           training_text(options, inputs.run, from) +
                           predicted_text(prediction.figures);
  if (const auto warning =
          label_warning(inputs.label_use, inputs.data_files.format, inputs.labels)) {
    context.warn(warning->message, warning->help);
  }
  warn_of_fewer_cores(inputs.run.plan.hardware.cpu_threads, context);
  if (options.dry_run) {
    context.print(report::fit(text, context.out_style()));
  } else {
    log_lines(text);
  }
}

}  // namespace elixir::tools
