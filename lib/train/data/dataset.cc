// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "runtime/micro_batch_seed.h"
#include "train/data/dataset_kinds.h"

namespace elixir::train {
namespace {

namespace fs = std::filesystem;

constexpr DataFormat kFormats[] = {
    DataFormat::kBytes, DataFormat::kU16, DataFormat::kU32, DataFormat::kSafetensors};

std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator walk(
      directory, fs::directory_options::skip_permission_denied, error);
  if (error) {
    throw unreadable_directory(directory, error);
  }
  for (const fs::recursive_directory_iterator end; walk != end; walk.increment(error)) {
    std::error_code status_error;
    if (walk->is_regular_file(status_error) && !status_error) {
      files.push_back(walk->path().string());
    }
  }
  // An iterator that fails is at its end.
  if (error) {
    throw unreadable_directory(directory, error);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string_view name_of(DataFormat format) {
  switch (format) {
    case DataFormat::kBytes:
      return "bytes";
    case DataFormat::kU16:
      return "u16";
    case DataFormat::kU32:
      return "u32";
    case DataFormat::kSafetensors:
      return "safetensors";
  }
  return "";
}

std::optional<DataFormat> data_format_named(std::string_view name) {
  for (const DataFormat each : kFormats) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

std::optional<DataFormat> data_format_of(const std::string& path) {
  const std::string suffix = fs::path(path).extension().string();
  if (suffix == ".txt" || suffix == ".py") return DataFormat::kBytes;
  if (suffix == ".u16") return DataFormat::kU16;
  if (suffix == ".u32") return DataFormat::kU32;
  if (suffix == ".safetensors") return DataFormat::kSafetensors;
  return std::nullopt;
}

DataFiles find_data(const std::vector<std::string>& paths, std::optional<DataFormat> format) {
  DataFiles found;
  std::optional<DataFormat> decided = format;
  const auto take = [&](const std::string& file, DataFormat its_format) {
    if (!decided) decided = its_format;
    if (*decided != its_format) {
      throw file_error(ErrorCode::kDataMismatch,
                       file,
                       "`{}` is {} by its suffix, the data before it {}",
                       file,
                       name_of(its_format),
                       name_of(*decided))
          .help("pass files of one format, or say --data-format");
    }
    found.files.push_back(file);
  };
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      throw file_error(ErrorCode::kFileNotFound, path, "no such file or directory: `{}`", path);
    }
    if (!fs::is_directory(status)) {
      const auto by_suffix = data_format_of(path);
      if (!format && !by_suffix) {
        throw file_error(
            ErrorCode::kDataMismatch, path, "the suffix of `{}` does not tell its format", path)
            .help("say --data-format bytes, u16, u32 or safetensors");
      }
      take(path, format ? *format : *by_suffix);
      continue;
    }
    const std::size_t before = found.files.size();
    for (const std::string& file : files_below(path)) {
      const auto by_suffix = data_format_of(file);
      if (by_suffix && (!format || by_suffix == format)) take(file, *by_suffix);
    }
    if (found.files.size() == before) {
      throw file_error(ErrorCode::kDataMismatch,
                       path,
                       "no {} file in directory `{}`",
                       format ? std::string(name_of(*format)) : "data",
                       path)
          .help("files are taken by suffix: .txt .py (bytes), .u16, .u32, .safetensors");
    }
  }
  require(decided.has_value(), "find_data without a path");
  found.format = *decided;
  return found;
}

std::int64_t drawn_start(std::uint64_t seed,
                         std::int64_t step,
                         std::int64_t row,
                         std::int64_t starts) {
  std::uint64_t x = runtime::mix64(seed);
  x = runtime::mix64(x ^ static_cast<std::uint64_t>(step));
  x = runtime::mix64(x ^ static_cast<std::uint64_t>(row));
  // The upper half of a 128-bit product: uniform up to 2^-64 * starts.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((Wide(x) * static_cast<std::uint64_t>(starts)) >> 64);
}

std::unique_ptr<Dataset> Dataset::open(const DataFiles& data,
                                       const program::Program& program,
                                       int micro_batches,
                                       Labels labels) {
  return data.format == DataFormat::kSafetensors
             ? open_samples(data, program, micro_batches)
             : open_tokens(data, program, micro_batches, labels);
}

BatchInputs Dataset::training(std::uint64_t seed, std::int64_t step, int micro_batch) const {
  std::vector<std::int64_t> positions;
  for (std::int64_t row = 0; row < rows_; ++row) {
    positions.push_back(drawn_start(seed, step, micro_batch * rows_ + row, starts()));
  }
  return gather(positions);
}

std::int64_t Dataset::evaluation_batches(std::int64_t maximum) const {
  return std::min(maximum, separate_rows() / rows_);
}

BatchInputs Dataset::evaluation(std::int64_t batch, std::int64_t batches) const {
  std::vector<std::int64_t> positions;
  for (std::int64_t row = 0; row < rows_; ++row) {
    positions.push_back(start_of(batch * rows_ + row, batches * rows_));
  }
  return gather(positions);
}

}  // namespace elixir::train
