// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/bench/list.h"

#include <optional>

#include <fmt/format.h>

namespace elixir::tools {

Listing list_measurements(const measure::Bench& bench) {
  Listing listing;
  Json list = Json::array();
  double full_s = 0, quick_s = 0;
  for (const measure::Measurement& m : measure::measurements()) {
    const std::optional<std::string> waived = m.waive(bench);
    list.push_back({{"name", m.name},
                    {"meaning", m.meaning},
                    {"method", m.method},
                    {"full_s", m.full_s},
                    {"quick_s", m.quick_s},
                    {"waived", waived ? Json(*waived) : Json(nullptr)}});
    listing.text +=
        fmt::format("{}\n  what  {}\n  how   {}\n  takes about {:.1f} s, {:.1f} s with --quick\n",
                    m.name,
                    m.meaning,
                    m.method,
                    m.full_s,
                    m.quick_s);
    if (waived) {
      listing.text += fmt::format("  waived here, because {}\n", *waived);
    } else {
      full_s += m.full_s;
      quick_s += m.quick_s;
    }
  }
  listing.text += fmt::format(
      "all that is possible here takes about {:.0f} s, {:.0f} s with --quick\n", full_s, quick_s);
  listing.document = {{"measurements", list}, {"full_s", full_s}, {"quick_s", quick_s}};
  return listing;
}

}  // namespace elixir::tools
