// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which buffers are persistent, in PyTorch's word: those that a state_dict has. TorchScript keeps
// no word of it, so the exporter writes their names into the extra file `buffers.json`
// (docs/formats/buffers.md). Without that file all are.

#include "capture/archive/archive.h"
#include "capture/archive/loaded_module.h"

namespace elixir::capture {

inline constexpr const char* kBuffersFile = "buffers.json";

/// Sets LoadedTensor::persistent of the module's buffers. Throws kJson… and kUnsupportedModel, for
/// a name that is no buffer's.
void mark_persistent(LoadedModule& loaded, const Archive& archive);

}  // namespace elixir::capture
