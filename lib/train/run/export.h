// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Exports the trained model as a file, under the model's original names. A tied parameter is one
// tensor. In .safetensors it has its first name only, as in that format's own library; in .pt it
// has all its names.

#include <string>

#include "core/files.h"
#include "model/model_file.h"
#include "program/program.h"
#include "train/run/checkpoint.h"

namespace elixir::train {

enum class ExportFormat : std::uint8_t { kSafetensors, kTorchScript };
/// The format by suffix. Throws kBadFlagValue for suffixes other than .safetensors and .pt.
[[nodiscard]] ExportFormat export_format_of(const std::string& path);

/// Writes the tensors of `model` (model_tensors()): those of a state_dict. Throws kOutputExists,
/// kOutputUnwritable, kDiskFull.
void export_safetensors(const std::string& path,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite);

/// Exports the module of `archive` with these parameters and buffers: all of them, because an
/// archive has all. torch.jit.load can load it, and its traced inputs and extra files are kept.
/// Throws the same errors.
void export_torchscript(const std::string& path,
                        model::ModelFile archive,
                        const program::Program& program,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite);

/// Chooses the format by the suffix of `path`.
void export_model(const std::string& path,
                  const model::ModelFile& archive,
                  const program::Program& program,
                  const std::vector<StateTensor>& model,
                  Overwrite overwrite);

}  // namespace elixir::train
