// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The only file that uses spdlog. It sets the colour mode itself, because spdlog 1.10 and 1.12
// ignore NO_COLOR.
#include "core/log.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>

namespace elixir::log {
namespace {

/// `warning`, `info`, `verbose`. spdlog would print `debug` for the last one.
class LevelName : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const std::string_view name = message.level == spdlog::level::warn   ? "warning"
                                  : message.level == spdlog::level::info ? "info"
                                                                         : "verbose";
    out.append(name.data(), name.data() + name.size());
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelName>();
  }
};

struct State {
  State()
      : sink(std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(spdlog::color_mode::never)),
        logger("elixir", sink) {
    apply(Level::kInfo);
  }
  void apply(Level wanted) {
    level = wanted;
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelName>('*').set_pattern(
        wanted == Level::kVerbose ? "%H:%M:%S.%e %^%*%$: %v" : "%^%*%$: %v");
    logger.set_formatter(std::move(formatter));
    logger.set_level(wanted == Level::kError  ? spdlog::level::err
                     : wanted == Level::kInfo ? spdlog::level::info
                                              : spdlog::level::debug);
  }
  std::shared_ptr<spdlog::sinks::ansicolor_stderr_sink_mt> sink;
  spdlog::logger logger;
  std::atomic<Level> level{Level::kInfo};
  std::mutex before_mutex;
  std::function<void()> before;
};

State& state() {
  // Never freed, because libraries log while the process ends.
  static State* const instance = new State;
  return *instance;
}

void write(spdlog::level::level_enum level, std::string_view text) {
  State& s = state();
  if (!s.logger.should_log(level)) return;
  {
    const std::lock_guard<std::mutex> lock(s.before_mutex);
    if (s.before) s.before();
  }
  s.logger.log(level, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

void set_level(Level level) {
  state().apply(level);
}
Level level() {
  return state().level;
}

void set_color(bool enabled) {
  state().sink->set_color_mode(enabled ? spdlog::color_mode::always : spdlog::color_mode::never);
}

void set_before_message(std::function<void()> action) {
  State& s = state();
  const std::lock_guard<std::mutex> lock(s.before_mutex);
  s.before = std::move(action);
}

void warning(std::string_view text) {
  write(spdlog::level::warn, text);
}
void info(std::string_view text) {
  write(spdlog::level::info, text);
}
void verbose(std::string_view text) {
  write(spdlog::level::debug, text);
}

}  // namespace elixir::log
