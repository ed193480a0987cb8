// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/line_printer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elixir::report {
namespace {

constexpr std::int64_t kTerminalPeriodNs = 100'000'000;
constexpr std::int64_t kLinePeriodNs = 30'000'000'000;

}  // namespace

std::string elide_middle(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(columns, '.');
  std::vector<std::size_t> starts;  // of each code point
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts.push_back(i);
  }
  const std::size_t kept = columns - 3;
  const std::size_t head = (kept + 1) / 2;
  const std::size_t tail = kept - head;
  std::string result(text.substr(0, starts[head]));
  result += "...";
  if (tail > 0) result += text.substr(starts[starts.size() - tail]);
  return result;
}

LinePrinter::LinePrinter(ProgressMode mode, const Style& style, Output output, ClockNs clock_ns)
    : mode_(mode), style_(style), output_(std::move(output)), clock_ns_(std::move(clock_ns)) {}

LinePrinter::~LinePrinter() {
  clear();
}

void LinePrinter::clear() {
  if (!shown_) return;
  output_("\r\x1b[K");
  shown_ = false;
}

void LinePrinter::update(double done_fraction, std::string_view text) {
  if (mode_ == ProgressMode::kOff) return;
  const std::int64_t now_ns = clock_ns_();
  const double fraction = std::min(done_fraction, 1.0);
  const std::string line = fraction < 0
                               ? fit(text, style_)
                               : fmt::format("{:3.0f} % {}", fraction * 100, fit(text, style_));
  if (mode_ == ProgressMode::kTerminal) {
    if (started_ && now_ns - last_ns_ < kTerminalPeriodNs && fraction < 1) return;
    // One column less, because some terminals wrap when the last column is filled.
    const auto columns = static_cast<std::size_t>(std::max(style_.columns - 1, 1));
    output_("\r" + elide_middle(line, columns) + "\x1b[K");
    shown_ = true;
  } else {
    const int tenth = fraction < 0 ? -1 : static_cast<int>(fraction * 10);
    const bool is_due = !started_ || tenth > last_tenth_ || now_ns - last_ns_ >= kLinePeriodNs;
    if (!is_due) return;
    last_tenth_ = std::max(last_tenth_, tenth);
    output_(line + "\n");
  }
  started_ = true;
  last_ns_ = now_ns;
}

}  // namespace elixir::report
