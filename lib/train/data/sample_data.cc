// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Samples: safetensors files whose keys are the model's inputs.
#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "train/data/dataset_kinds.h"
#include "train/data/label_use.h"
#include "train/data/token_bound.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

struct Shard {
  std::shared_ptr<const Safetensors> file;
  std::vector<const SafetensorsEntry*> columns;  ///< in Program::inputs order
  std::vector<std::string> unused;               ///< keys that no input has
  std::int64_t first_sample = 0;
  std::int64_t samples = 0;
};

class SampleDataset final : public Dataset {
 public:
  SampleDataset(std::int64_t rows,
                std::vector<program::TensorRef> inputs,
                std::vector<Shard> shards)
      : Dataset(rows, std::nullopt), inputs_(std::move(inputs)), shards_(std::move(shards)) {
    for (const Shard& shard : shards_) {
      if (shard.unused.empty()) continue;
      note_unused(fmt::format("{}: no input of the model is named `{}`; not used",
                              shard.file->path(),
                              fmt::join(shard.unused, "`, `")));
    }
  }

  [[nodiscard]] std::int64_t size() const override {
    return shards_.empty() ? 0 : shards_.back().first_sample + shards_.back().samples;
  }

 protected:
  [[nodiscard]] std::int64_t starts() const override { return size(); }
  [[nodiscard]] std::int64_t separate_rows() const override { return size(); }
  [[nodiscard]] std::int64_t start_of(std::int64_t index, std::int64_t count) const override {
    return index * (size() / count);
  }

  [[nodiscard]] BatchInputs gather(const std::vector<std::int64_t>& starts) const override {
    BatchInputs batch;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      at::Tensor input = at::empty(
          inputs_[i].sizes, at::TensorOptions().dtype(capture::scalar_type(inputs_[i].dtype)));
      for (std::size_t row = 0; row < starts.size(); ++row) {
        auto shard = std::upper_bound(
            shards_.begin(),
            shards_.end(),
            starts[row],
            [](std::int64_t sample, const Shard& each) { return sample < each.first_sample; });
        --shard;
        input.select(0, static_cast<std::int64_t>(row))
            .copy_(shard->file->rows(*shard->columns[i], starts[row] - shard->first_sample, 1)
                       .select(0, 0));
      }
      batch.push_back(std::move(input));
    }
    return batch;
  }

 private:
  std::vector<program::TensorRef> inputs_;
  std::vector<Shard> shards_;
};

bool is_integer(program::DType dtype) {
  switch (dtype) {
    case program::DType::kInt64:
    case program::DType::kInt32:
    case program::DType::kInt16:
    case program::DType::kInt8:
    case program::DType::kUInt8:
    case program::DType::kUInt64:
      return true;
    default:
      return false;
  }
}

bool is_unsigned(program::DType dtype) {
  return dtype == program::DType::kUInt8 || dtype == program::DType::kUInt64;
}

/// Floating data may be wider or narrower than the input. Integers may only be narrower.
bool fits(program::DType data, program::DType input) {
  if (data == input) return true;
  if (program::is_floating(data)) return program::is_floating(input);
  return is_integer(data) && is_integer(input) && !is_unsigned(input) &&
         program::element_bytes(data) < program::element_bytes(input);
}

void check_values(const Safetensors& file,
                  const SafetensorsEntry& entry,
                  const std::vector<TokenBound>& bounds) {
  constexpr std::int64_t kBlockBytes = std::int64_t{4} << 20;
  const std::int64_t samples = entry.sizes[0];
  const std::int64_t sample_bytes = samples == 0 ? 0 : entry.bytes / samples;
  const std::int64_t at_once =
      std::max<std::int64_t>(1, kBlockBytes / std::max<std::int64_t>(1, sample_bytes));
  for (std::int64_t first = 0; first < samples; first += at_once) {
    throw_if_interrupted();
    const at::Tensor wide =
        file.rows(entry, first, std::min(at_once, samples - first)).to(at::kLong);
    const auto* values = wide.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < wide.numel(); ++i) {
      for (const TokenBound& bound : bounds) {
        const auto element = static_cast<std::size_t>(i) % bound.elements.size();
        if (!bound.elements[element] || bound.allows(values[i])) continue;
        throw error_at_byte(
            ErrorCode::kTokenOutOfVocabulary,
            file.path(),
            entry.offset_bytes + first * sample_bytes + i * program::element_bytes(*entry.dtype),
            "value {} of `{}` is outside the vocabulary of {}",
            values[i],
            entry.name,
            format_count(bound.limit))
            .note(bound.reason);
      }
    }
  }
}

/// Labels that the data has and the model has no input for, although its loss takes some: it would
/// train on what it takes instead.
void refuse_unused_labels(const Safetensors& file,
                          const program::Program& program,
                          const std::vector<std::string>& unused) {
  const auto label = std::find_if(unused.begin(), unused.end(), is_called_label);
  if (label == unused.end()) return;
  const LabelUse use = label_use(program);
  if (!use.labels.empty() || !use.has_class_loss) return;
  throw error_at_byte(ErrorCode::kDataMismatch,
                      file.path(),
                      file.find(*label)->offset_bytes,
                      "the data has `{}`, and the model has no input for them",
                      *label)
      .note(
          "the model's loss makes its labels from other inputs: every token would be one, those "
          "of prompts and padding, too")
      .help("export the model with an input `{}`", *label)
      .help("or take `{}` out of the data, to train on the labels that the model makes", *label);
}

Shard open_shard(const std::string& path, const program::Program& program) {
  const auto file = Safetensors::open(path);
  Shard shard;
  shard.file = file;
  shard.samples = -1;
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const program::Input& input = program.inputs[i];
    const SafetensorsEntry* entry = file->find(input.name);
    if (entry == nullptr) {
      missing.push_back(input.name);
      continue;
    }
    const std::vector<std::int64_t> want(input.tensor.sizes.begin() + 1, input.tensor.sizes.end());
    if (entry->sizes.size() != input.tensor.sizes.size() ||
        !std::equal(want.begin(), want.end(), entry->sizes.begin() + 1)) {
      throw error_at_byte(ErrorCode::kDataMismatch,
                          path,
                          entry->offset_bytes,
                          "`{}` has shape [{}], one row of the model's input has [{}]",
                          input.name,
                          fmt::join(entry->sizes, ", "),
                          fmt::join(want, ", "))
          .help("wanted: [samples, {}]", fmt::join(want, ", "));
    }
    if (!entry->dtype || !fits(*entry->dtype, input.tensor.dtype)) {
      throw error_at_byte(ErrorCode::kDataMismatch,
                          path,
                          entry->offset_bytes,
                          "`{}` is {}, the model's input is {}",
                          input.name,
                          entry->dtype_text,
                          program::name_of(input.tensor.dtype));
    }
    if (shard.samples >= 0 && entry->sizes[0] != shard.samples) {
      throw error_at_byte(ErrorCode::kDataMismatch,
                          path,
                          entry->offset_bytes,
                          "`{}` has {} samples, the inputs before it {}",
                          input.name,
                          entry->sizes[0],
                          shard.samples);
    }
    shard.samples = entry->sizes[0];
    shard.columns.push_back(entry);
    if (is_integer(*entry->dtype)) {
      const std::vector<TokenBound> bounds = token_bounds(program, i);
      if (!bounds.empty()) check_values(*file, *entry, bounds);
    }
  }
  std::vector<std::string>& unexpected = shard.unused;
  for (const SafetensorsEntry& entry : file->entries()) {
    const bool known =
        std::any_of(program.inputs.begin(), program.inputs.end(), [&](const program::Input& input) {
          return input.name == entry.name;
        });
    if (!known) unexpected.push_back(entry.name);
  }
  if (!missing.empty()) {
    throw error_at_byte(ErrorCode::kDataMismatch,
                        path,
                        std::nullopt,
                        "no data for the model's inputs `{}`",
                        fmt::join(missing, "`, `"))
        .note(unexpected.empty()
                  ? std::string("the file has no other keys")
                  : fmt::format("the file also has `{}`", fmt::join(unexpected, "`, `")))
        .help("keys must be the names of forward's arguments");
  }
  refuse_unused_labels(*file, program, unexpected);
  return shard;
}

}  // namespace

std::unique_ptr<Dataset> open_samples(const DataFiles& data,
                                      const program::Program& program,
                                      int micro_batches) {
  std::vector<program::TensorRef> inputs;
  for (const program::Input& input : program.inputs) {
    if (input.tensor.sizes.empty() || input.tensor.sizes[0] == 0 ||
        input.tensor.sizes[0] != program.inputs.front().tensor.sizes[0]) {
      throw Error(ErrorCode::kDataMismatch,
                  "input `{}` does not have the rows of the first input: samples cannot "
                  "fill it",
                  input.name);
    }
    inputs.push_back(input.tensor);
  }
  if (inputs.empty()) throw Error(ErrorCode::kDataMismatch, "the model has no inputs to fill");
  const std::int64_t rows = inputs.front().sizes[0];
  std::vector<Shard> shards;
  std::int64_t samples = 0;
  for (const std::string& path : data.files) {
    Shard shard = open_shard(path, program);
    if (shard.samples == 0) continue;
    shard.first_sample = samples;
    samples += shard.samples;
    shards.push_back(std::move(shard));
  }
  if (samples < rows * micro_batches) {
    throw error_at_byte(ErrorCode::kDataTooShort,
                        data.files.front(),
                        std::nullopt,
                        "the data has {} samples, one batch needs {}",
                        samples,
                        rows * micro_batches)
        .note("a batch is {} micro-batches of {} rows", micro_batches, rows);
  }
  return std::make_unique<SampleDataset>(rows, std::move(inputs), std::move(shards));
}

}  // namespace elixir::train
