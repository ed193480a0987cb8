// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/ci/junit.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/screen/check_screen.h"
#include "report/terminal/terminal.h"

namespace elixir::report {
namespace {

struct Counts {
  int tests = 0, failures = 0, skipped = 0;
};

Counts counts_of(const check::FileReport& file) {
  Counts counts;
  for (const check::Check& check : file.checks) {
    ++counts.tests;
    if (check.failed()) ++counts.failures;
    if (check.verdict == check::Verdict::kWaived) ++counts.skipped;
  }
  return counts;
}

std::string attributes(const Counts& counts) {
  return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}")",
                     counts.tests,
                     counts.failures,
                     counts.skipped);
}

/// The text that is shown when the case is opened.
std::string details(const check::FileReport& file, const check::Check& check) {
  std::string text = fmt::format("{}\nlimit: {}\n", amounts_of(check), origin_of(check));
  if (check.verdict != check::Verdict::kOver) return text;
  for (const check::Culprits& culprits : file.culprits) {
    text += heading_of(culprits) + ":\n";
    for (const check::Culprit& culprit : culprits.entries) {
      text += fmt::format("  {}\n", text_of(culprit, culprits.measure));
    }
  }
  return text;
}

std::string test_case(const check::FileReport& file, const check::Check& check) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}")",
                                       xml_escape(one_line(file.path)),
                                       xml_escape(check.key()));
  if (check.verdict == check::Verdict::kWithin) return head + "/>\n";
  if (check.verdict == check::Verdict::kWaived) {
    return fmt::format(
        "{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head, xml_escape(check.reason));
  }
  return fmt::format(
      "{}>\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
      head,
      name_of(check.verdict),
      xml_escape(fmt::format("{}: {}", title_of(check), result_of(check))),
      xml_escape(details(file, check)));
}

}  // namespace

std::string xml_escape(std::string_view text) {
  Style style;
  style.utf8 = true;
  std::string clean = fit(text, style);
  std::string result;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const std::string_view rest = std::string_view(clean).substr(i);
    const auto byte = [&rest](std::size_t at) { return static_cast<unsigned char>(rest[at]); };
    // XML has no characters for UTF-8 of surrogates, U+FFFE and U+FFFF, well-formed or not.
    const bool three = rest.size() >= 3;
    const bool surrogate = three && byte(0) == 0xed && byte(1) >= 0xa0;
    const bool not_a_character =
        three && byte(0) == 0xef && byte(1) == 0xbf && (byte(2) == 0xbe || byte(2) == 0xbf);
    if (surrogate || not_a_character) {
      result += '?';
      i += 2;
      continue;
    }
    switch (clean[i]) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += clean[i];
    }
  }
  return result;
}

std::string junit_xml(const check::CheckReport& report) {
  Counts all;
  for (const check::FileReport& file : report.files) {
    const Counts counts = counts_of(file);
    all.tests += counts.tests;
    all.failures += counts.failures;
    all.skipped += counts.skipped;
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"elixir-check\" {}>\n",
      attributes(all));
  for (const check::FileReport& file : report.files) {
    text += fmt::format("  <testsuite name=\"{}\" {}>\n",
                        xml_escape(one_line(file.path)),
                        attributes(counts_of(file)));
    for (const check::Check& check : file.checks) text += test_case(file, check);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace elixir::report
