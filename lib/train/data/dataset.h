// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Training data. Row i of step s depends only on (seed, s, i). It does not depend on the plan, the
// micro-batches, the device or earlier steps, so a resumed run gets exactly the rows it would have
// had.
//
// There are two kinds of data:
//  - A token stream (bytes, u16, u32, little endian): all files one after another. A row starts at
//    a random position. Every token input of the model gets the tokens from there on, as many as
//    its row holds. Labels (label_use.h) get the same tokens, for models that shift them, or the
//    token after each (Labels::kNext). `*attention_mask` inputs are filled with ones,
//    `token_type_ids` with zeros.
//  - Samples (safetensors): keys are the names of forward's arguments, and dimension 0 counts
//    samples. A row is one random sample. Files are concatenated.
//
// Rows are drawn with replacement.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/program.h"
#include "train/data/label_use.h"

namespace elixir::train {

enum class DataFormat : std::uint8_t { kBytes, kU16, kU32, kSafetensors };
[[nodiscard]] std::string_view name_of(DataFormat format);
[[nodiscard]] std::optional<DataFormat> data_format_named(std::string_view name);
/// The format by suffix: .txt .py (bytes), .u16, .u32, .safetensors; nullopt for other suffixes.
[[nodiscard]] std::optional<DataFormat> data_format_of(const std::string& path);

/// Expands `paths` into regular files, in order. A directory stands for all files below it that
/// have a suffix of the format, sorted by path. Without `format`, the suffixes decide and must
/// agree. Throws kFileNotFound, or kDataMismatch (no format, mixed formats, no file).
struct DataFiles {
  DataFormat format = DataFormat::kBytes;
  std::vector<std::string> files;
};
[[nodiscard]] DataFiles find_data(const std::vector<std::string>& paths,
                                  std::optional<DataFormat> format);

/// One batch: CPU tensors in Program::inputs order, one vector per micro-batch (MicroBatches in
/// step_report.h).
using BatchInputs = std::vector<at::Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Opens the files and checks them against the program. Throws kDataMismatch; kDataTooShort
  /// (fewer tokens or samples than one batch of `micro_batches`); kTokenOutOfVocabulary (with file
  /// and byte offset); kBadSafetensors. `labels` is only for token streams, because samples contain
  /// their labels. kNext throws kDataMismatch when no input is a label.
  static std::unique_ptr<Dataset> open(const DataFiles& data,
                                       const program::Program& program,
                                       int micro_batches,
                                       Labels labels = Labels::kSame);

  /// The rows of one micro-batch of step `step` (from 1): rows() rows, starting at row
  /// `micro_batch` * rows().
  [[nodiscard]] BatchInputs training(std::uint64_t seed, std::int64_t step, int micro_batch) const;
  /// Number of evaluation batches, at most `maximum`. Their rows do not overlap and are spread
  /// evenly over the data. They are the same for every seed.
  [[nodiscard]] std::int64_t evaluation_batches(std::int64_t maximum) const;
  [[nodiscard]] BatchInputs evaluation(std::int64_t batch, std::int64_t batches) const;

  /// Rows of one micro-batch (dimension 0 of the inputs).
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Tokens of one row; nullopt for samples.
  [[nodiscard]] std::optional<std::int64_t> tokens_per_row() const { return tokens_per_row_; }
  /// What of the files is not used, as text for people.
  [[nodiscard]] const std::vector<std::string>& unused() const { return unused_; }
  /// Number of tokens or samples in all files.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Estimated from a part of the stream (token_entropy.h); 0 for samples.
  [[nodiscard]] virtual double next_token_entropy() const { return 0; }

 protected:
  Dataset(std::int64_t rows, std::optional<std::int64_t> tokens_per_row)
      : rows_(rows), tokens_per_row_(tokens_per_row) {}
  /// Number of positions where a row may start (tokens), or number of samples.
  [[nodiscard]] virtual std::int64_t starts() const = 0;
  /// Number of rows that do not overlap.
  [[nodiscard]] virtual std::int64_t separate_rows() const = 0;
  /// Start of row `index` out of `count` rows that do not overlap.
  [[nodiscard]] virtual std::int64_t start_of(std::int64_t index, std::int64_t count) const = 0;
  [[nodiscard]] virtual BatchInputs gather(const std::vector<std::int64_t>& starts) const = 0;
  void note_unused(std::string text) { unused_.push_back(std::move(text)); }

 private:
  std::int64_t rows_;
  std::optional<std::int64_t> tokens_per_row_;
  std::vector<std::string> unused_;
};

/// The random start of row `row` of step `step`, below `starts`: splitmix64 over the three numbers.
[[nodiscard]] std::int64_t drawn_start(std::uint64_t seed,
                                       std::int64_t step,
                                       std::int64_t row,
                                       std::int64_t starts);

}  // namespace elixir::train
