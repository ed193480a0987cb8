// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The loss on held-out data, without updates and with the same rows each time.

#include <cstdint>
#include <optional>

#include "train/run/ranks/led_trainer.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// Mean over the labels of at most `most_batches` batches, spread over the data; over the batches
/// where the loss is no mean over labels. nullopt when interrupted.
[[nodiscard]] std::optional<double> evaluate(LedTrainer& trainer,
                                             const HeldOut& held_out,
                                             std::int64_t most_batches);

}  // namespace elixir::train
