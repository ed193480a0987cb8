// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The two kinds of Dataset (dataset.h), for their own files and dataset.cc.

#include <memory>

#include "train/data/dataset.h"

namespace elixir::train {

[[nodiscard]] std::unique_ptr<Dataset> open_tokens(const DataFiles& data,
                                                   const program::Program& program,
                                                   int micro_batches,
                                                   Labels labels);
[[nodiscard]] std::unique_ptr<Dataset> open_samples(const DataFiles& data,
                                                    const program::Program& program,
                                                    int micro_batches);

}  // namespace elixir::train
