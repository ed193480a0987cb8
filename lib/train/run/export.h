// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trained model as a file of its own, under the names the model came with. A tied parameter is
// one tensor: in .safetensors under its first name (what that format's own library does), in .pt
// under all of them.

#include <string>

#include "core/files.h"
#include "program/program.h"
#include "train/run/checkpoint.h"

namespace elixir::train {

enum class ExportFormat : std::uint8_t { kSafetensors, kTorchScript };
/// By suffix; kBadFlagValue for another than .safetensors and .pt.
[[nodiscard]] ExportFormat export_format_of(const std::string& path);

/// Parameters and mutated buffers of `model` (TrainingState::model). kOutputExists,
/// kOutputUnwritable, kDiskFull.
void export_safetensors(const std::string& path,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite);

/// The module of `model_path` with these weights, its traced inputs kept, loadable by
/// torch.jit.load. Same errors.
void export_torchscript(const std::string& path,
                        const std::string& model_path,
                        const program::Program& program,
                        const std::vector<StateTensor>& model,
                        Overwrite overwrite);

/// Either, by the suffix of `path`.
void export_model(const std::string& path,
                  const std::string& model_path,
                  const program::Program& program,
                  const std::vector<StateTensor>& model,
                  Overwrite overwrite);

}  // namespace elixir::train
