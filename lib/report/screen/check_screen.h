// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The output of elixir-check, as text for people and as the document for --json.

#include <string>

#include "check/budget_check.h"
#include "core/json.h"

namespace elixir::report {

/// A table of checks for each document, the culprits of exceeded limits, and the verdict as the
/// last line.
[[nodiscard]] std::string check_screen(const check::CheckReport& report);

/// {verdict, within, failed, waived, files[]}. Every field is present; missing values are null.
[[nodiscard]] Json to_json(const check::CheckReport& report);

// Pieces that other formats use too, one line each.

/// "peak allocated", "peak allocated over its baseline".
[[nodiscard]] std::string title_of(const check::Check& check);
/// "over by 332,398,592 bytes (1.55 %)", "ok", "ok: +0.5 %, at most +2 %", "not known: …".
[[nodiscard]] std::string result_of(const check::Check& check);
/// "19.5 GiB of at most 18.0 GiB", or the parts of it that are known.
[[nodiscard]] std::string amounts_of(const check::Check& check);
/// "--max-process", "budget.json: /limits/max_process_bytes (line 6)".
[[nodiscard]] std::string origin_of(const check::Check& check);
/// "modules that grew most at the peak", "operators with the largest activations".
[[nodiscard]] std::string heading_of(const check::Culprits& culprits);
/// "transformer.h.0.mlp +2.00 MiB (4.00 MiB)" or "transformer.h.0.mlp 4.00 MiB".
[[nodiscard]] std::string text_of(const check::Culprit& culprit, check::Measure measure);
/// "over budget: 2 of 5 checks failed, in 1 of 2 files", "within budget: 5 checks of 2 files".
[[nodiscard]] std::string verdict_of(const check::CheckReport& report);

}  // namespace elixir::report
