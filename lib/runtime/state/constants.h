// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors behind a program's constants.

#include <map>

#include <ATen/core/Tensor.h>

#include "program/program.h"

namespace elixir::runtime {

using Constants = std::map<program::StorageId, at::Tensor>;

/// The constants of `edited`, a program made by edits from `captured`, whose constants are
/// `tensors`. An edit may number storages anew, so constants are matched by their content.
[[nodiscard]] Constants constants_of(const program::Program& edited,
                                     const program::Program& captured,
                                     const Constants& tensors);

}  // namespace elixir::runtime
