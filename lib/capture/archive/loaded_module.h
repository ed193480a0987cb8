// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A TorchScript module out of an archive with its parameters and buffers replaced by tensors
// without data, ties kept, and where the data of each is. A capture edits the module's graphs, so
// each capture takes a module of its own.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/archive/archive.h"

namespace elixir::capture {

/// One parameter or buffer with all its names.
struct LoadedTensor {
  at::Tensor tensor;               ///< in the module; on meta or on the device asked for
  std::vector<std::string> names;  ///< named_parameters() / named_buffers() order
  bool is_parameter = false;
  std::optional<ByteRange> data;  ///< of its whole storage; nullopt when saved without
};

struct LoadedModule {
  torch::jit::Module module;
  std::vector<LoadedTensor> parameters, buffers;
};

/// Loads with parameters and buffers on `device`: meta (no data is read), or real memory filled
/// with zeros, buffers with their data where the archive has it. Floating-point ones become
/// `floating` if given. kTruncatedArchive, kNotTorchScript.
[[nodiscard]] LoadedModule load_module(const std::shared_ptr<Archive>& archive,
                                       c10::Device device,
                                       std::optional<at::ScalarType> floating = std::nullopt);

}  // namespace elixir::capture
