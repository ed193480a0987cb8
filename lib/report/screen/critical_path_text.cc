// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/critical_path_text.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elixir::report {

std::string name_for_people(std::string_view stream) {
  std::string name(stream);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string shares_of(const schedule::CriticalPath& path) {
  std::vector<std::pair<double, std::string>> parts{{path.idle_ns, "idle"}};
  for (int i = 0; i < schedule::kStreamCount; ++i) {
    parts.emplace_back(path.by_stream_ns[static_cast<std::size_t>(i)],
                       name_for_people(schedule::name_of(static_cast<schedule::Stream>(i))));
  }
  std::stable_sort(
      parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const double all_ns = path.total_ns();
  constexpr double kVisible = 0.005;
  std::vector<std::string> texts;
  for (const auto& [ns, name] : parts) {
    if (ns >= kVisible * all_ns && ns > 0) {
      texts.push_back(fmt::format("{} {:.0f} %", name, 100 * ns / all_ns));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<schedule::CriticalPath> critical_path_of(const plan::Predicted& predicted) {
  std::optional<schedule::CriticalPath> path;
  for (const plan::StreamTime& time : predicted.streams) {
    if (!time.critical_ns) continue;
    if (!path) path.emplace();
    for (int i = 0; i < schedule::kStreamCount; ++i) {
      if (time.stream != schedule::name_of(static_cast<schedule::Stream>(i))) continue;
      path->by_stream_ns[static_cast<std::size_t>(i)] = static_cast<double>(*time.critical_ns);
    }
  }
  return path;
}

}  // namespace elixir::report
