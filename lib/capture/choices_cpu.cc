// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What the CPU dispatches (oneDNN enabled, avx512_core or better).
#include "capture/choices.h"

namespace elixir::capture {

const Choices kCpuChoices = {
    {nullptr, "aten::scaled_dot_product_attention", &takes_flash_for_cpu, &call_flash_for_cpu},
    {nullptr, "aten::lstm.input", &takes_onednn_lstm, &call_onednn_lstm},
};

}  // namespace elixir::capture
