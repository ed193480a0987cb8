// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Shows the progress of long work. On a terminal it is one line that overwrites itself, at most 10
// times per second, with its middle elided to the width. Elsewhere it is one line per 10 % or 30 s,
// or nothing. Not thread-safe: only one thread may report.

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
  /// Ends with a fresh line on the stream.
  virtual ~LinePrinter();
  LinePrinter(const LinePrinter&) = delete;
  LinePrinter& operator=(const LinePrinter&) = delete;

  /// `done_fraction` is in [0, 1], or negative when unknown. `text` describes the current work.
  void update(double done_fraction, std::string_view text);
  /// Removes the line from a terminal, so that other text can be printed. The next update shows it
  /// again.
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

/// `text`, with an ellipsis in its middle if needed, so that it takes at most `columns`.
[[nodiscard]] std::string elide_middle(std::string_view text, std::size_t columns);

}  // namespace elixir::report
