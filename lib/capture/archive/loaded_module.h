// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A TorchScript module from an archive. Its parameters and buffers are tensors without data; ties
// are kept, and the position of each one's data is known. Each parameter has a storage of its own,
// also where several are parts of one in the archive (as cuDNN's recurrent layers lay them out). A
// capture edits the module's graphs, so each capture needs its own module.

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
  at::Tensor tensor;               ///< in the module; on meta or on the requested device
  std::vector<std::string> names;  ///< named_parameters() / named_buffers() order
  bool is_parameter = false;
  bool persistent = true;             ///< a state_dict has it
  std::optional<model::Record> data;  ///< its storage's; nullopt when saved without data
  std::uint64_t first_byte = 0;       ///< where in `data` the storage of `tensor` begins
};

struct LoadedModule {
  torch::jit::Module module;
  std::vector<LoadedTensor> parameters, buffers;
};

/// Loads a module with parameters and buffers on `device`. On meta, no data is read. In real memory
/// they are zeros, and buffers get their data where the archive has it. Floating-point tensors
/// become `floating`, if given. Throws kTruncatedArchive, kNotTorchScript; kUnsupportedModel for a
/// parameter that is not dense or shares its values with another parameter or a buffer.
[[nodiscard]] LoadedModule load_module(const std::shared_ptr<Archive>& archive,
                                       c10::Device device,
                                       std::optional<at::ScalarType> floating = std::nullopt);

}  // namespace elixir::capture
