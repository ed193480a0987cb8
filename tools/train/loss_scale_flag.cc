// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/loss_scale_flag.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::tools {
namespace {

constexpr std::string_view kDynamic = "dynamic";
constexpr double kSmallest = 0x1p-24, kLargest = runtime::kLargestLossScale;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(ErrorCode::kBadFlagValue, "--loss-scale {}: {}", text, why)
      .help(
          "dynamic, or dynamic:initial=65536,growth=2,backoff=0.5,interval=2000,minimum=1,"
          "hysteresis=1 (any of them), or a number for a fixed scale");
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

/// One `key=value`.
void set(runtime::LossScaleOptions& options, std::string_view item, const std::string& text) {
  const std::size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
  const auto take = [&](auto& option, auto least, auto most) {
    const auto number = number_of<std::decay_t<decltype(option)>>(value);
    if (number && *number >= least && *number <= most) {
      option = *number;
      return;
    }
    constexpr bool kWhole = std::is_integral_v<std::decay_t<decltype(option)>>;
    refuse(text,
           fmt::format("{} is a {}number from {:.3g} to {:.3g}",
                       key,
                       kWhole ? "whole " : "",
                       static_cast<double>(least),
                       static_cast<double>(most)));
  };
  if (key == "initial") return take(options.initial, kSmallest, kLargest);
  if (key == "growth") return take(options.growth, 1.0, 65536.0);
  if (key == "backoff") return take(options.backoff, kSmallest, 1.0);
  if (key == "interval") return take(options.interval, std::int64_t{0}, kMostSteps);
  if (key == "minimum") return take(options.minimum, kSmallest, kLargest);
  if (key == "hysteresis") return take(options.hysteresis, std::int64_t{1}, kMostSteps);
  refuse(
      text,
      key.empty() ? "a key=value is missing" : fmt::format("`{}` is no part of a loss scale", key));
}

}  // namespace

runtime::LossScaleOptions parse_loss_scale(const std::string& text) {
  std::string_view rest = text;
  if (rest.substr(0, kDynamic.size()) != kDynamic) {
    const auto scale = number_of<double>(rest);
    if (scale && *scale >= kSmallest && *scale <= kLargest) {
      return runtime::LossScaleOptions::fixed(*scale);
    }
    refuse(
        text,
        fmt::format("neither `dynamic` nor a number from {:.3g} to {:.3g}", kSmallest, kLargest));
  }
  runtime::LossScaleOptions options;
  rest.remove_prefix(kDynamic.size());
  if (rest.empty()) return options;
  if (rest.front() != ':') refuse(text, "`:` follows `dynamic`");
  do {
    rest.remove_prefix(1);
    const std::size_t comma = rest.find(',');
    set(options, rest.substr(0, comma), text);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma);
  } while (!rest.empty());
  if (options.initial < options.minimum) {
    refuse(text,
           fmt::format("initial, {}, is less than minimum, {}", options.initial, options.minimum));
  }
  const bool grows = options.interval > 0 && options.growth > 1.0;
  if (options.backoff == 1.0 && (grows || options.initial > options.minimum)) {
    refuse(text, "with a backoff of 1 every step after an overflow would be skipped");
  }
  return options;
}

std::string description_of(const runtime::LossScaleOptions& options) {
  const bool grows = options.interval > 0 && options.growth > 1.0;
  if (!grows && options.initial == options.minimum) {
    return fmt::format("fixed at {}", options.initial);
  }
  std::string text = fmt::format("dynamic from {}: ", options.initial);
  if (grows) {
    text += fmt::format("times {} after {} good step{}, ",
                        options.growth,
                        options.interval,
                        options.interval == 1 ? "" : "s");
  }
  text += fmt::format("times {} when gradients overflow", options.backoff);
  if (options.hysteresis > 1) text += fmt::format(" for the {}th time", options.hysteresis);
  return text + fmt::format(", at least {}; a step that overflows is skipped", options.minimum);
}

}  // namespace elixir::tools
