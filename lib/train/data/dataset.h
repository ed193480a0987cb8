// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Training data. Row i of step s depends on (seed, s, i) alone: not on the plan, the micro-batches,
// the device, or the steps before, so that a resumed run goes on with the very rows it would have
// had.
//
// Two kinds:
//  - a token stream (bytes, u16, u32, little endian): all files one after another. A row starts at
//    a drawn position; every token input of the model gets the tokens from there on, as many as its
//    row holds. Labels (label_use.h) get the same tokens, for models that shift them themselves, or
//    each token's successor (Labels::kNext). `*attention_mask` inputs are filled with ones,
//    `token_type_ids` with zeros.
//  - samples (safetensors): keys are the names of forward's arguments, dimension 0 counts samples;
//    a row is one drawn sample. Files are concatenated.
// Rows are drawn with replacement.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/program.h"
#include "train/data/label_use.h"

namespace elixir::train {

enum class DataFormat : std::uint8_t { kBytes, kU16, kU32, kSafetensors };
[[nodiscard]] std::string_view name_of(DataFormat format);
[[nodiscard]] std::optional<DataFormat> data_format_named(std::string_view name);
/// By suffix: .txt .py (bytes), .u16, .u32, .safetensors; nullopt for every other.
[[nodiscard]] std::optional<DataFormat> data_format_of(const std::string& path);

/// The regular files that `paths` name, in order; a directory stands for every file below it with a
/// suffix of the format, sorted by path. Without `format` the suffixes decide, and must agree.
/// kFileNotFound, kDataMismatch (no format, formats mixed, no file).
struct DataFiles {
  DataFormat format = DataFormat::kBytes;
  std::vector<std::string> files;
};
[[nodiscard]] DataFiles find_data(const std::vector<std::string>& paths,
                                  std::optional<DataFormat> format);

/// One batch: CPU tensors in Program::inputs order, one vector a micro-batch
/// (step_report.h's MicroBatches).
using BatchInputs = std::vector<at::Tensor>;

class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Opens and checks the files against the program: kDataMismatch, kDataTooShort (fewer tokens or
  /// samples than one batch of `micro_batches`), kTokenOutOfVocabulary (file and byte offset),
  /// kBadSafetensors. `labels` is for token streams: samples bring their own. kDataMismatch for
  /// kNext when no input is a label.
  static std::unique_ptr<Dataset> open(const DataFiles& data,
                                       const program::Program& program,
                                       int micro_batches,
                                       Labels labels = Labels::kSame);

  /// Rows `micro_batch` * rows … of step `step` (from 1).
  [[nodiscard]] BatchInputs training(std::uint64_t seed, std::int64_t step, int micro_batch) const;
  /// Batches of rows that do not overlap, at most `maximum`, spread evenly; the same for every
  /// seed.
  [[nodiscard]] std::int64_t evaluation_batches(std::int64_t maximum) const;
  [[nodiscard]] BatchInputs evaluation(std::int64_t batch, std::int64_t batches) const;

  /// Rows of one micro-batch: dimension 0 of the inputs.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  /// Tokens of one row; nullopt for samples.
  [[nodiscard]] std::optional<std::int64_t> tokens_per_row() const { return tokens_per_row_; }
  /// Tokens or samples in all files.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Of the stream, by a sample of it (token_entropy.h); 0 for samples.
  [[nodiscard]] virtual double next_token_entropy() const { return 0; }

 protected:
  Dataset(std::int64_t rows, std::optional<std::int64_t> tokens_per_row)
      : rows_(rows), tokens_per_row_(tokens_per_row) {}
  /// Number of places where a row may start (tokens), or of samples.
  [[nodiscard]] virtual std::int64_t starts() const = 0;
  /// Number of rows without overlap.
  [[nodiscard]] virtual std::int64_t separate_rows() const = 0;
  /// Where separate row `index` of `count` starts.
  [[nodiscard]] virtual std::int64_t start_of(std::int64_t index, std::int64_t count) const = 0;
  [[nodiscard]] virtual BatchInputs gather(const std::vector<std::int64_t>& starts) const = 0;

 private:
  std::int64_t rows_;
  std::optional<std::int64_t> tokens_per_row_;
};

/// The start drawn for row `row` of step `step` among `starts`: splitmix64 over the three numbers.
[[nodiscard]] std::int64_t drawn_start(std::uint64_t seed,
                                       std::int64_t step,
                                       std::int64_t row,
                                       std::int64_t starts);

/// What may be in input `input` (position in Program::inputs), from what reads it: the smallest
/// table of an `aten::embedding` indexed by it or by a copy of it, or the classes of an
/// `aten::nll_loss` with it as target; nullopt when nothing of the kind reads it.
struct TokenBound {
  std::int64_t limit = 0;  ///< values are in [0, limit)
  std::string reason;      ///< "parameter `wte.weight` has 256 rows"
  std::optional<std::int64_t>
      ignored;  ///< a loss target that is allowed although outside (ignore_index)
};
[[nodiscard]] std::optional<TokenBound> token_bound(const program::Program& program,
                                                    std::size_t input);

}  // namespace elixir::train
