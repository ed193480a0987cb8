// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/findings.h"

#include <algorithm>

namespace elixir::capture {

void Findings::keep_failure(const Error& error) {
  if (!failure_) failure_ = error;
}

void Findings::keep_message(const std::string& op, const std::string& text) {
  if (!message_.empty()) return;
  message_ = text;
  refused_operator_ = op;
}

void Findings::add_missing(const std::string& op, const std::string& place) {
  missing_.push_back({op, place});
}

void Findings::hint(const std::string& text, const std::string& place) {
  const auto found = std::find_if(
      hints_.begin(), hints_.end(), [&](const Hint& hint) { return hint.text == text; });
  if (found == hints_.end()) {
    hints_.push_back({text, place, 1});
  } else {
    ++found->calls;
  }
}

std::vector<std::string> Findings::hints() const {
  std::vector<std::string> texts;
  texts.reserve(hints_.size());
  for (const Hint& hint : hints_) {
    std::string text = hint.text + " (" + hint.place;
    if (hint.calls > 1) text += ", first of " + std::to_string(hint.calls) + " calls";
    texts.push_back(text + ")");
  }
  return texts;
}

}  // namespace elixir::capture
