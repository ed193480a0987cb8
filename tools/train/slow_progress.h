// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Progress of work that is often too short to show: nothing appears in the first two seconds. There
// may be only one progress at a time, and it must not outlive its context.

#include <chrono>
#include <memory>
#include <string>

#include "tools/common/run_tool.h"

namespace elixir::tools {

class SlowProgress {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kQuiet{2};

  explicit SlowProgress(Context& context) : context_(context) {}
  void update(double done_fraction, const std::string& text) {
    if (!printer_ && Clock::now() - start_ < kQuiet) return;
    if (!printer_) printer_ = context_.progress();
    printer_->update(done_fraction, text);
  }

 private:
  Context& context_;
  Clock::time_point start_ = Clock::now();
  std::unique_ptr<report::LinePrinter> printer_;
};

}  // namespace elixir::tools
