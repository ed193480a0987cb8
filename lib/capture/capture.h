// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Capture: a TorchScript module's forward and backward run once on meta tensors while a boxed
// dispatcher fallback writes down every operator call. No memory, no GPU, no weights. What a target
// would dispatch is decided by tables compiled in per target (decompositions/, meta/), never by
// what this process has loaded. Capture changes process-wide executor flags and is not reentrant;
// one capture at a time.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "model/options.h"
#include "program/program.h"

namespace elixir::model {
class DataFile;
}

namespace elixir::capture {

using model::InputSpec;
using model::Options;

/// A loaded archive. Its parameters and buffers are on meta; constants are real. Loading does not
/// read the weights. It happens in this process: a hostile file can end it, or do what the process
/// may do. Tools use model::ModelFile instead.
class Model {
 public:
  /// Throws kFileNotFound, kNotTorchScript, kTruncatedArchive.
  static Model load(const std::string& path);
  static Model load(std::shared_ptr<const model::DataFile> file);
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const torch::jit::Module& module() const;
  /// Names of forward's arguments, without self.
  [[nodiscard]] std::vector<std::string> input_names() const;
  [[nodiscard]] std::optional<std::vector<InputSpec>> traced_inputs() const;
  /// An extra file of the archive, such as the exporter's `initialization.json`; nullopt without
  /// it.
  [[nodiscard]] std::optional<std::string> extra_file(const std::string& name) const;
  /// Whether the archive has data for the parameter or buffer `name`. It has none when the model
  /// was saved from meta, unless there is none to have: a tensor without elements.
  [[nodiscard]] bool has_data(const std::string& name) const;
  /// Reads the data of one parameter or buffer from the archive to the CPU. Accepts any of its
  /// names.
  [[nodiscard]] at::Tensor read(const std::string& name) const;

 private:
  friend struct ModelAccess;  // capture's own files
  struct State;
  std::shared_ptr<State> state_;
};

struct Captured {
  program::Program program;
  /// The constants' tensors by storage id (real, on the CPU). A replay must bind them.
  std::map<program::StorageId, at::Tensor> constants;
  std::int64_t unattributed_operators = 0;
  std::vector<std::string> warnings;
};

/// Throws kWrongTarget, kBadInputSpec, kModelRejectsInput, kMissingKernel (lists all of them),
/// kDataDependent, kNoScalarLoss, kDtypeFixedByGraph.
[[nodiscard]] Captured capture(const Model& model, const Options& options);

/// The same recording on real tensors of the target's device. The weights are uninitialised unless
/// they are read. Tests compare capture() with it.
[[nodiscard]] Captured capture_on_device(const Model& model, const Options& options);

}  // namespace elixir::capture
