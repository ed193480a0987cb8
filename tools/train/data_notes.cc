// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/data_notes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"

namespace elixir::tools {

std::string labels_text(const program::Program& program,
                        const train::LabelUse& use,
                        train::DataFormat format,
                        train::Labels labels) {
  const bool samples = format == train::DataFormat::kSafetensors;
  if (samples && (!use.labels.empty() || !use.has_class_loss)) return "as the samples have them";
  if (use.labels.empty()) {
    if (!use.has_class_loss) return "none that the loss shows";
    return use.model_shifts ? "made from the inputs by the model, which shifts them"
                            : "the inputs themselves, as the model's loss reads them";
  }
  std::vector<std::string> names;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const bool label = std::count(use.labels.begin(), use.labels.end(), i) != 0;
    const std::string& name = program.inputs[i].name;
    const bool filled = name.find("attention_mask") != std::string::npos ||
                        name.find("token_type_ids") != std::string::npos;
    if (!filled) (label ? names : others).push_back(name);
  }
  const std::string of =
      others.empty() ? "the stream" : fmt::format("`{}`", fmt::join(others, "`, `"));
  std::string text = fmt::format("`{}`: ", fmt::join(names, "`, `"));
  if (labels == train::Labels::kNext) {
    text += fmt::format("the token after each one of {}", of);
    if (use.model_shifts) text += ", shifted once more by the model";
  } else {
    text += fmt::format("the same tokens as {}", of);
    if (use.model_shifts) text += "; the model shifts them";
    if (use.unshifted) text += ", which the loss reads unshifted";
  }
  return text;
}

std::optional<LabelWarning> label_warning(const train::LabelUse& use,
                                          train::DataFormat format,
                                          train::Labels labels) {
  if (format == train::DataFormat::kSafetensors) return std::nullopt;
  if (labels == train::Labels::kNext) {
    if (!use.model_shifts) return std::nullopt;
    return LabelWarning{
        "labels are shifted twice, by --labels next and by the model: it will learn "
        "the token after the next",
        {"leave --labels next out"}};
  }
  if (!use.unshifted) return std::nullopt;
  std::vector<std::string> help{"export a model that shifts its labels (docs/getting-started.md)"};
  if (!use.labels.empty())
    help.insert(help.begin(), "give each token its successor: --labels next");
  return LabelWarning{
      "labels are the inputs, and the loss reads both in the same place: the model "
      "will learn to repeat its input",
      std::move(help)};
}

std::string sampling_text(const train::Dataset& data,
                          std::int64_t rows_per_step,
                          std::int64_t steps) {
  const std::int64_t row = data.tokens_per_row().value_or(1);
  const double times = static_cast<double>(rows_per_step * row) * static_cast<double>(steps) /
                       static_cast<double>(std::max<std::int64_t>(data.size(), 1));
  return fmt::format(
      "{}, with replacement: no epochs; {} steps draw {} times the data",
      data.tokens_per_row() ? "each row begins at a random token" : "each row is a random sample",
      format_count(steps),
      times < 10 ? fmt::format("{:.2g}", times) : fmt::format("{:.0f}", times));
}

std::string loss_unit(const train::Dataset& data, train::DataFormat format) {
  if (format == train::DataFormat::kBytes) return " nats/byte";
  return data.tokens_per_row() ? " nats/token" : "";
}

}  // namespace elixir::tools
