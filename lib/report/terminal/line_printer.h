// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Progress of long work. On a terminal one line that overwrites itself, at most 10 times per
// second, its middle elided to the width; elsewhere one line per 10 % or 30 s; or nothing at all.
// Not thread-safe: one thread reports.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "report/terminal/terminal.h"

namespace elixir::report {

enum class ProgressMode { kOff, kTerminal, kLines };

class LinePrinter {
 public:
  using Output = std::function<void(std::string_view)>;
  using ClockNs = std::function<std::int64_t()>;

  LinePrinter(ProgressMode mode, const Style& style, Output output, ClockNs clock_ns);
  /// Leaves the stream on a fresh line.
  virtual ~LinePrinter();
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  /// `done_fraction` in [0, 1], negative when unknown; `text` says what is being done.
  void update(double done_fraction, std::string_view text);
  /// Removes the line from a terminal, so that other text can be printed; the next update brings it
  /// back.
  void clear();

 private:
  ProgressMode mode_;
  Style style_;
  Output output_;
  ClockNs clock_ns_;
  bool shown_ = false;
  bool started_ = false;
  std::int64_t last_ns_ = 0;
  int last_tenth_ = -1;
};

/// `text` with its middle replaced by an ellipsis so that it takes at most `columns`.
[[nodiscard]] std::string elide_middle(std::string_view text, std::size_t columns);

}  // namespace elixir::report
