// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Token streams: files of 1-, 2- or 4-byte tokens, one after another.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "train/data/dataset_kinds.h"
#include "train/data/token_bound.h"
#include "train/data/token_entropy.h"
#include "train/input_file.h"

namespace elixir::train {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

[[noreturn]] void mismatch(std::string message, std::vector<std::string> help = {}) {
  throw Error(ErrorCode::kDataMismatch, std::move(message)).help(std::move(help));
}

std::int64_t bytes_of_token(DataFormat format) {
  return format == DataFormat::kBytes ? 1 : format == DataFormat::kU16 ? 2 : 4;
}

std::uint32_t token_at(const unsigned char* data, std::int64_t token_bytes, std::int64_t index) {
  if (token_bytes == 1) return data[index];
  if (token_bytes == 2) {
    std::uint16_t value = 0;
    std::memcpy(&value, data + index * 2, 2);
    return value;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, data + index * 4, 4);
  return value;
}

/// Reads `count` tokens, starting at `first`, and returns the end of the output.
std::vector<std::uint32_t>::iterator read_tokens(const InputFile& file,
                                                 std::int64_t token_bytes,
                                                 std::int64_t first,
                                                 std::int64_t count,
                                                 std::vector<std::uint32_t>::iterator to) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count * token_bytes));
  file.read(first * token_bytes, bytes.data(), bytes.size());
  for (std::int64_t i = 0; i < count; ++i) *to++ = token_at(bytes.data(), token_bytes, i);
  return to;
}

/// How to fill one input of the model.
struct Fill {
  enum class Kind { kTokens, kOnes, kZeros } kind = Kind::kTokens;
  std::vector<std::int64_t> sizes;
  program::DType dtype = program::DType::kInt64;
  std::int64_t tokens_per_row = 0;
  std::int64_t shift = 0;  ///< where its row begins in the window
};

struct Segment {
  std::shared_ptr<const InputFile> file;
  std::int64_t first_token = 0;  ///< position in the stream
  std::int64_t tokens = 0;
};

class TokenDataset final : public Dataset {
 public:
  TokenDataset(std::int64_t rows,
               std::int64_t tokens_per_row,
               std::int64_t window_tokens,
               std::int64_t token_bytes,
               std::vector<Fill> fills,
               std::vector<Segment> segments)
      : Dataset(rows, tokens_per_row),
        window_tokens_(window_tokens),
        token_bytes_(token_bytes),
        fills_(std::move(fills)),
        segments_(std::move(segments)) {}

  [[nodiscard]] std::int64_t size() const override {
    return segments_.empty() ? 0 : segments_.back().first_token + segments_.back().tokens;
  }

  [[nodiscard]] double next_token_entropy() const override {
    constexpr std::int64_t kPieces = 64, kPieceTokens = 16384;
    const std::int64_t pieces = std::clamp<std::int64_t>(size() / kPieceTokens, 1, kPieces);
    const std::int64_t distance = size() / pieces;
    std::vector<std::vector<std::uint32_t>> sampled;
    for (std::int64_t i = 0; i < pieces; ++i) {
      sampled.emplace_back(static_cast<std::size_t>(std::min(distance, kPieceTokens)));
      read(i * distance, sampled.back());
    }
    return train::next_token_entropy(sampled);
  }

 protected:
  [[nodiscard]] std::int64_t starts() const override { return size() - window_tokens_ + 1; }
  [[nodiscard]] std::int64_t separate_rows() const override { return size() / window_tokens_; }
  [[nodiscard]] std::int64_t start_of(std::int64_t index, std::int64_t count) const override {
    // Rows are at least window_tokens_ apart, since count <= separate_rows().
    return index * (size() / count);
  }

  [[nodiscard]] BatchInputs gather(const std::vector<std::int64_t>& starts) const override {
    BatchInputs inputs;
    std::vector<std::uint32_t> window(static_cast<std::size_t>(window_tokens_));
    for (const Fill& fill : fills_) {
      const auto options = at::TensorOptions().dtype(capture::scalar_type(fill.dtype));
      if (fill.kind == Fill::Kind::kOnes) {
        inputs.push_back(at::ones(fill.sizes, options));
        continue;
      }
      inputs.push_back(fill.kind == Fill::Kind::kZeros ? at::zeros(fill.sizes, options)
                                                       : at::empty(fill.sizes, options));
    }
    for (std::size_t row = 0; row < starts.size(); ++row) {
      read(starts[row], window);
      for (std::size_t i = 0; i < fills_.size(); ++i) {
        if (fills_[i].kind == Fill::Kind::kTokens) store(fills_[i], inputs[i], row, window);
      }
    }
    return inputs;
  }

 private:
  void read(std::int64_t start, std::vector<std::uint32_t>& window) const {
    auto segment = std::upper_bound(
        segments_.begin(), segments_.end(), start, [](std::int64_t position, const Segment& each) {
          return position < each.first_token;
        });
    --segment;
    std::int64_t position = start;
    for (auto to = window.begin(); to != window.end(); ++segment) {
      const std::int64_t first = position - segment->first_token;
      const std::int64_t count = std::min<std::int64_t>(window.end() - to, segment->tokens - first);
      to = read_tokens(*segment->file, token_bytes_, first, count, to);
      position += count;
    }
  }

  static void store(const Fill& fill,
                    at::Tensor& input,
                    std::size_t row,
                    const std::vector<std::uint32_t>& window) {
    const auto tokens = static_cast<std::size_t>(fill.tokens_per_row);
    const auto begin = window.begin() + static_cast<std::ptrdiff_t>(fill.shift);
    if (fill.dtype == program::DType::kInt64) {
      auto* out = input.mutable_data_ptr<std::int64_t>() + row * tokens;
      std::copy_n(begin, tokens, out);
    } else {
      auto* out = input.mutable_data_ptr<std::int32_t>() + row * tokens;
      std::transform(
          begin, begin + static_cast<std::ptrdiff_t>(tokens), out, [](std::uint32_t token) {
            return static_cast<std::int32_t>(token);
          });
    }
  }

  std::int64_t window_tokens_, token_bytes_;
  std::vector<Fill> fills_;
  std::vector<Segment> segments_;
};

std::vector<Fill> fills_of(const program::Program& program) {
  std::vector<Fill> fills;
  for (const program::Input& input : program.inputs) {
    Fill fill;
    fill.sizes = input.tensor.sizes;
    fill.dtype = input.tensor.dtype;
    if (ends_with(input.name, "attention_mask")) {
      fill.kind = Fill::Kind::kOnes;
    } else if (ends_with(input.name, "token_type_ids")) {
      fill.kind = Fill::Kind::kZeros;
    } else if (fill.dtype != program::DType::kInt64 && fill.dtype != program::DType::kInt32) {
      mismatch(fmt::format("input `{}` is {}: a token stream cannot fill it",
                           input.name,
                           program::name_of(fill.dtype)),
               {"pass a safetensors file whose keys are the names of the model's inputs"});
    }
    if (fill.kind == Fill::Kind::kTokens) {
      if (fill.sizes.empty() || fill.sizes[0] == 0) {
        mismatch(fmt::format("input `{}` has no rows: a token stream cannot fill it", input.name));
      }
      fill.tokens_per_row = input.tensor.numel() / fill.sizes[0];
    }
    fills.push_back(std::move(fill));
  }
  return fills;
}

/// Lets labels begin one token later than the inputs they belong to.
void shift_labels(const program::Program& program, std::vector<Fill>& fills) {
  const std::vector<std::size_t> labels = label_use(program).labels;
  const auto tokens = [](const Fill& fill) { return fill.kind == Fill::Kind::kTokens; };
  if (labels.empty() || static_cast<std::ptrdiff_t>(labels.size()) ==
                            std::count_if(fills.begin(), fills.end(), tokens)) {
    mismatch(labels.empty() ? "--labels next, but no input of the model is a label"
                            : "--labels next, but every input of the model is a label",
             {"a model that makes labels from its inputs shifts them itself: leave --labels out"});
  }
  for (const std::size_t i : labels) fills[i].shift = 1;
}

/// The bounds that a token of `token_bytes` may break. A token of the stream may come to any
/// element of every input that is filled with tokens.
std::vector<TokenBound> bounds_of(const program::Program& program,
                                  const std::vector<Fill>& fills,
                                  std::int64_t token_bytes) {
  std::vector<TokenBound> bounds;
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (fills[i].kind != Fill::Kind::kTokens) continue;
    for (TokenBound& bound : token_bounds(program, i)) {
      if (bound.limit < std::int64_t{1} << (8 * token_bytes)) bounds.push_back(std::move(bound));
    }
  }
  return bounds;
}

void check_tokens(const std::vector<Segment>& segments,
                  std::int64_t token_bytes,
                  const std::vector<TokenBound>& bounds) {
  if (bounds.empty()) return;
  constexpr std::int64_t kBlockTokens = std::int64_t{1} << 20;
  std::vector<std::uint32_t> block;
  for (const Segment& segment : segments) {
    for (std::int64_t i = 0; i < segment.tokens; ++i) {
      const std::int64_t at = i % kBlockTokens;
      if (at == 0) {
        throw_if_interrupted();
        const std::int64_t count = std::min(kBlockTokens, segment.tokens - i);
        block.resize(static_cast<std::size_t>(count));
        read_tokens(*segment.file, token_bytes, i, count, block.begin());
      }
      const std::int64_t token = block[static_cast<std::size_t>(at)];
      const auto broken = std::find_if(bounds.begin(), bounds.end(), [&](const TokenBound& each) {
        return !each.allows(token);
      });
      if (broken == bounds.end()) continue;
      ErrorInfo info;
      info.code = ErrorCode::kTokenOutOfVocabulary;
      info.message = fmt::format(
          "token {} is outside the vocabulary of {}", token, format_count(broken->limit));
      info.where = SourcePos{segment.file->path(), "", std::nullopt, i * token_bytes};
      info.notes = {broken->reason};
      info.help = {"tokenize the data with the model's own tokenizer, or check --data-format"};
      throw Error(std::move(info));
    }
  }
}

}  // namespace

std::unique_ptr<Dataset> open_tokens(const DataFiles& data,
                                     const program::Program& program,
                                     int micro_batches,
                                     Labels labels) {
  std::vector<Fill> fills = fills_of(program);
  if (labels == Labels::kNext) shift_labels(program, fills);
  std::int64_t rows = 0;
  std::int64_t row_tokens = 0;
  std::int64_t window_tokens = 0;
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (fills[i].kind != Fill::Kind::kTokens) continue;
    if (rows == 0) rows = fills[i].sizes[0];
    if (fills[i].sizes[0] != rows) {
      mismatch(fmt::format("inputs of the model differ in rows: `{}` has {}, the first has {}",
                           program.inputs[i].name,
                           fills[i].sizes[0],
                           rows));
    }
    row_tokens = std::max(row_tokens, fills[i].tokens_per_row);
    window_tokens = std::max(window_tokens, fills[i].tokens_per_row + fills[i].shift);
  }
  if (row_tokens == 0) mismatch("no input of the model takes tokens");

  const std::int64_t token_bytes = bytes_of_token(data.format);
  std::vector<Segment> segments;
  std::int64_t tokens = 0;
  for (const std::string& path : data.files) {
    Segment segment;
    segment.file = InputFile::open(path);
    const std::int64_t bytes = segment.file->size_bytes();
    if (bytes % token_bytes != 0) {
      ErrorInfo info;
      info.code = ErrorCode::kDataMismatch;
      info.message = fmt::format("`{}` has {} bytes, not a multiple of the {} bytes of a {} token",
                                 path,
                                 bytes,
                                 token_bytes,
                                 name_of(data.format));
      info.where = SourcePos{path, "", std::nullopt, bytes / token_bytes * token_bytes};
      info.help = {"the file is truncated or of another --data-format"};
      throw Error(std::move(info));
    }
    if (bytes == 0) continue;
    segment.first_token = tokens;
    segment.tokens = bytes / token_bytes;
    tokens += segment.tokens;
    segments.push_back(std::move(segment));
  }
  const std::int64_t needed = window_tokens * rows * micro_batches;
  if (tokens < needed) {
    ErrorInfo info;
    info.code = ErrorCode::kDataTooShort;
    info.message = fmt::format(
        "the data has {} tokens, one batch needs {}", format_count(tokens), format_count(needed));
    info.where = SourcePos{data.files.front(), "", std::nullopt, std::nullopt};
    info.notes = {fmt::format(
        "a batch is {} micro-batches of {} rows of {} tokens", micro_batches, rows, window_tokens)};
    info.help = {"pass more data (--data may be repeated and may name directories)"};
    throw Error(std::move(info));
  }
  check_tokens(segments, token_bytes, bounds_of(program, fills, token_bytes));
  return std::make_unique<TokenDataset>(
      rows, row_tokens, window_tokens, token_bytes, std::move(fills), std::move(segments));
}

}  // namespace elixir::train
