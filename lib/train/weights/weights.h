// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Chooses the source of the first weights: a safetensors file or a sharded index (`--weights`), the
// archive's own data, or an initialisation recipe. The result provides one parameter or buffer at a
// time, in the program's dtype and strides, so that a model larger than memory can be filled.
//
// Order for a parameter: weights file, archive (unless kInitialize), recipe. Order for a buffer:
// weights file, archive; a buffer without data throws kBufferWithoutData with its name.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/program.h"
#include "runtime/trainer_options.h"

namespace elixir::train {

enum class MissingWeights : std::uint8_t { kRefuse, kInitialize };

struct WeightOptions {
  std::optional<std::string> weights_path;
  /// kInitialize (`--init`): the recipe provides what the weights file lacks, and replaces the
  /// archive's own data.
  MissingWeights missing = MissingWeights::kRefuse;
  std::uint64_t seed = 0;
};

/// Access to the archive's data. Functions, so that tests need no archive.
struct ArchiveData {
  std::string path;
  std::function<bool(const std::string&)> has;
  std::function<at::Tensor(const std::string&)> read;
  std::optional<std::string> recipe_json;
};

struct ChosenWeights {
  /// Takes a parameter's or buffer's first name. Uses as many threads as LibTorch. Not thread-safe.
  runtime::TensorSource source;
  /// For people: what was stripped, what is initialised.
  std::vector<std::string> messages;
  /// For people, who must see it: names of the file and weights of the archive that are not used.
  std::vector<std::string> unused;
  std::vector<std::string> files;  ///< files of --weights, with all shards
  std::int64_t from_file = 0, from_archive = 0, initialized = 0;  ///< numbers of parameters
};
/// Checks names, sizes and dtypes before anything large is read, and that a tied tensor is the same
/// under all its names. Throws kBufferWithoutData and kWeightsMismatch, which lists every missing
/// name, every unexpected name, every shape that differs, and frozen parameters that would be drawn
/// at random.
[[nodiscard]] ChosenWeights choose_weights(const program::Program& program,
                                           const ArchiveData& archive,
                                           const WeightOptions& options);

}  // namespace elixir::train
