// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where the first weights come from: a safetensors file or a sharded index (`--weights`), the
// archive's own data, or an initialisation recipe. The result is a source that gives one parameter
// or buffer at a time, in the program's dtype and strides, so that a model larger than memory can
// be filled. Order for a parameter: weights file, archive (unless kInitialize), recipe. For a
// buffer: weights file, archive; one without data is kBufferWithoutData, named.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/random.h"
#include "kernels/thread_pool.h"
#include "program/program.h"
#include "train/weights/safetensors.h"

namespace elixir::train {

/// One parameter's rule of a recipe (docs/formats/initialization.md).
using Initializer = kernels::Distribution;

/// Rules by parameter name. kJson… errors name the archive's file.
using InitializationRecipe = std::map<std::string, Initializer>;
[[nodiscard]] InitializationRecipe parse_recipe(const std::string& json, const std::string& name);
/// Without a rule: 1 for a one-dimensional `weight`, 0 for a `bias`, else normal(0, 0.02).
[[nodiscard]] Initializer default_initializer(const program::Parameter& parameter);
/// Contiguous, of `sizes` and `dtype`; depends on seed, name and element alone, never on threads,
/// machine or device. Drawn in `dtype` by all threads of `pool`.
[[nodiscard]] at::Tensor initialize(const Initializer& rule,
                                    const std::string& name,
                                    std::uint64_t seed,
                                    const std::vector<std::int64_t>& sizes,
                                    program::DType dtype,
                                    kernels::ThreadPool& pool);

/// The tensors of a checkpoint in the field's sense: one safetensors file, or `*.index.json` with a
/// `weight_map` from names to files beside it.
class WeightFiles {
 public:
  /// kFileNotFound, kBadSafetensors, kJson… (index), kWeightsMismatch (a shard lacks a tensor of
  /// the index).
  static WeightFiles open(const std::string& path);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const SafetensorsEntry& entry(const std::string& name) const;
  [[nodiscard]] at::Tensor read(const std::string& name) const;
  /// The safetensors files, by name: shards of an index too.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  struct Place {
    std::shared_ptr<const Safetensors> file;
    const SafetensorsEntry* entry;
  };
  std::map<std::string, Place> tensors_;
};

/// How names of a weights file meet those of the program.
struct NameMatch {
  std::map<std::string, std::string> file_name;  ///< by the parameter's or buffer's first name
  std::string file_prefix, model_prefix;         ///< what was stripped; at most one is not empty
  std::vector<std::string> missing;     ///< parameters of the program without data, first names
  std::vector<std::string> unexpected;  ///< names of the file that nothing took
};
/// Strips the dotted prefix, of the file's names or of the program's, that lets most parameters be
/// found; the shortest of equals. Any name of a tied parameter matches.
[[nodiscard]] NameMatch match_names(const std::vector<std::string>& file_names,
                                    const program::Program& program);

enum class MissingWeights : std::uint8_t { kRefuse, kInitialize };

struct WeightOptions {
  std::optional<std::string> weights_path;
  /// kInitialize (`--init`): the recipe makes what the weights file lacks, and replaces the
  /// archive's own data.
  MissingWeights missing = MissingWeights::kRefuse;
  std::uint64_t seed = 0;
};

/// What the archive itself offers; functions, so that tests need no archive.
struct ArchiveData {
  std::string path;
  std::function<bool(const std::string&)> has;
  std::function<at::Tensor(const std::string&)> read;
  std::optional<std::string> recipe_json;
};

/// Data by first name, dense, on the CPU, with the program's dtype, sizes and strides (trainer.h's
/// TensorSource). Uses as many threads as LibTorch; one caller at a time.
using WeightSource = std::function<at::Tensor(const std::string& name)>;

struct ChosenWeights {
  WeightSource source;
  std::vector<std::string>
      messages;  ///< for people: what was stripped, what was not used, what is initialised
  std::vector<std::string> files;                                 ///< of --weights, all shards
  std::int64_t from_file = 0, from_archive = 0, initialized = 0;  ///< parameters
};
/// Checks names, sizes and dtypes before anything large is read: kWeightsMismatch (lists every
/// missing and unexpected name and every other shape), kBufferWithoutData.
[[nodiscard]] ChosenWeights choose_weights(const program::Program& program,
                                           const ArchiveData& archive,
                                           const WeightOptions& options);

}  // namespace elixir::train
