// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/ci/github.h"
#include "report/ci/junit.h"
#include "report/screen/check_screen.h"

namespace elixir::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

check::Check over(std::int64_t value, std::int64_t limit) {
  check::Check check;
  check.quantity = check::Quantity::kPeakAllocated;
  check.verdict = check::Verdict::kOver;
  check.value = value;
  check.limit = limit;
  check.origin.flag = "--max-peak-allocated";
  return check;
}

/// One file over its limit, with one module as the culprit.
check::CheckReport sample(const std::string& path = "a.json",
                          const std::string& module = "h.0.mlp") {
  check::FileReport file;
  file.path = path;
  file.target = "cpu";
  file.checks = {over(1536, 1024)};
  file.culprits = {
      {"modules", check::Measure::kBytes, "at the peak", false, {{module, 1, 1000, {}}}}};
  check::CheckReport report;
  report.files = {file};
  report.failed = 1;
  return report;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    result.push_back(text.substr(start, end - start));
  }
  return result;
}

TEST(CheckScreen, EndsWithTheVerdict) {
  EXPECT_EQ(check_screen(sample()),
            "a.json  (profile for cpu)\n"
            "  peaks on a CPU count tensors alone; what kernels take beside them is not predicted\n"
            "                     value     limit   used  result\n"
            "                                        (%)\n"
            "  peak allocated  1.50 KiB  1.00 KiB  150.0  over by 512 bytes (50 %)\n"
            "  largest modules, at the peak:\n"
            "    1000 B  h.0.mlp\n"
            "\n"
            "over budget: 1 of 1 check failed, in 1 of 1 file\n");
}

TEST(CheckScreen, NamesStayOnTheirLine) {
  const std::string text = check_screen(sample("a\nb\t.json", "x\ny"));
  EXPECT_THAT(text, HasSubstr("a\\nb\\t.json"));
  EXPECT_THAT(text, HasSubstr("x\\ny"));
}

TEST(CheckDocument, HasEveryFieldAlways) {
  check::CheckReport report = sample();
  check::Check unknown;
  unknown.quantity = check::Quantity::kStepTime;
  unknown.verdict = check::Verdict::kNotKnown;
  unknown.limit = 5;
  unknown.reason = "nobody knows";
  unknown.origin.place = {"b.json", "/limits/max_step_ns", 7, std::nullopt};
  report.files[0].checks.push_back(unknown);
  const Json json = to_json(report);
  const Json& checks = json["files"][0]["checks"];
  ASSERT_EQ(checks.size(), 2U);
  for (auto a = checks[0].begin(), b = checks[1].begin(); a != checks[0].end(); ++a, ++b) {
    EXPECT_EQ(a.key(), b.key());
  }
  EXPECT_EQ(checks[0]["overshoot"], 512);
  EXPECT_EQ(checks[0]["origin"]["flag"], "--max-peak-allocated");
  EXPECT_TRUE(checks[1]["value"].is_null());
  EXPECT_TRUE(checks[1]["overshoot"].is_null());
  EXPECT_EQ(checks[1]["unit"], "ns");
  EXPECT_EQ(checks[1]["origin"]["line"], 7);
  EXPECT_EQ(json["files"][0]["responsible"][0]["entries"][0]["name"], "h.0.mlp");
}

TEST(GithubAnnotations, PointAtTheFileOrAtTheLimitInTheBudget) {
  check::CheckReport report = sample();
  EXPECT_THAT(github_annotations(report),
              StartsWith("::error file=a.json,title=a.json%3A peak allocated is over budget::"
                         "a.json: 1.50 KiB of at most 1.00 KiB, over by 512 bytes (50 %25)%0A"
                         "largest modules, at the peak: h.0.mlp 1000 B\n"));
  report.files[0].checks[0].origin.flag.clear();
  report.files[0].checks[0].origin.place = {"ci/budget.json", "/x", 7, std::nullopt};
  EXPECT_THAT(github_annotations(report), StartsWith("::error file=ci/budget.json,line=7,title="));
}

TEST(GithubAnnotations, EscapeWhatWouldEndThem) {
  const std::string hostile = "a:b,c%d\r\n::error::x";
  const std::string text = github_annotations(sample(hostile, hostile));
  ASSERT_EQ(lines(text).size(), 1U);
  EXPECT_THAT(text, StartsWith("::error file=a%3Ab%2Cc%25d%0D%0A%3A%3Aerror%3A%3Ax,title="));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  // Before the data, no separator is left in the properties.
  const std::string properties = text.substr(8, text.find("::", 8) - 8);
  EXPECT_EQ(std::count(properties.begin(), properties.end(), ','), 1);
  EXPECT_EQ(std::count(properties.begin(), properties.end(), '='), 2);
}

TEST(GithubAnnotations, GroupWhatGithubWouldNotShow) {
  check::CheckReport report = sample();
  for (int i = 1; i < 10; ++i) report.files.push_back(report.files[0]);
  EXPECT_EQ(lines(github_annotations(report)).size(), 10U);
  EXPECT_THAT(github_annotations(report), Not(HasSubstr("more")));
  for (int i = 0; i < 20; ++i) report.files.push_back(report.files[0]);
  const auto grouped = lines(github_annotations(report));
  ASSERT_EQ(grouped.size(), 10U);
  EXPECT_THAT(grouped.back(), HasSubstr("title=21 more::"));
}

TEST(GithubAnnotations, WarnAboutMissingBaselinesOnly) {
  check::CheckReport report = sample();
  check::Check& check = report.files[0].checks[0];
  check.verdict = check::Verdict::kWaived;
  check.reason = "a plan of the same program answers it";
  EXPECT_EQ(github_annotations(report), "");
  check.max_increase_percent = 2;
  EXPECT_THAT(github_annotations(report), StartsWith("::warning file=a.json,"));
}

TEST(GithubInert, StopsCommandsUntilATokenThatTheTextCannotHave) {
  const std::string text = "::error::mine\n";
  const auto parts = lines(github_inert(text));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0], StartsWith("::stop-commands::"));
  const std::string token = parts[0].substr(17);
  EXPECT_EQ(parts[1], "::error::mine");
  EXPECT_EQ(parts[2], "::" + token + "::");
  EXPECT_EQ(text.find(token), std::string::npos);
  EXPECT_NE(github_inert(text + token), github_inert(text));
}

TEST(GithubSummary, IsMarkdownThatNamesCannotBreak) {
  const std::string text = github_summary(sample("a|b`<img>.json", "x*[y](z)\nw@team"));
  EXPECT_THAT(text, StartsWith("### elixir-check: over budget: 1 of 1 check failed"));
  EXPECT_THAT(text, HasSubstr("| ❌ | peak allocated | 1.50 KiB | 1.00 KiB |"));
  for (const char* raw : {"a|b", "<img>", "[y]", "@team", "\nw"}) {
    EXPECT_THAT(text, Not(HasSubstr(raw)));
  }
}

TEST(GithubSummary, StaysBelowGithubsLimit) {
  check::CheckReport report = sample(std::string(5000, 'a'));
  for (int i = 0; i < 500; ++i) report.files.push_back(report.files[0]);
  const std::string text = github_summary(report);
  EXPECT_LE(text.size(), std::size_t{1} << 20);
  EXPECT_THAT(text, EndsWith("(more in the log)\n"));
}

TEST(Junit, HasASuiteForEachFileAndACaseForEachCheck) {
  check::CheckReport report = sample();
  check::Check waived = over(1, 2);
  waived.verdict = check::Verdict::kWaived;
  waived.quantity = check::Quantity::kStepTime;
  waived.reason = "a plan answers";
  check::Check within = over(1, 2);
  within.verdict = check::Verdict::kWithin;
  within.max_increase_percent = 2;
  report.files[0].checks.push_back(waived);
  report.files[0].checks.push_back(within);
  EXPECT_EQ(junit_xml(report),
            R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="elixir-check" tests="3" failures="1" errors="0" skipped="1">
  <testsuite name="a.json" tests="3" failures="1" errors="0" skipped="1">
    <testcase classname="a.json" name="max_peak_allocated_bytes">
      <failure type="over" message="peak allocated: over by 512 bytes (50 %)">)xml"
            R"xml(1.50 KiB of at most 1.00 KiB
limit: --max-peak-allocated
largest modules, at the peak:
  h.0.mlp 1000 B
</failure>
    </testcase>
    <testcase classname="a.json" name="max_step_ns">
      <skipped message="a plan answers"/>
    </testcase>
    <testcase classname="a.json" name="max_increase_percent/peak_allocated_bytes"/>
  </testsuite>
</testsuites>
)xml");
}

TEST(Junit, HoldsOnlyCharactersOfXml) {
  EXPECT_EQ(xml_escape("<a b=\"c\">&'"), "&lt;a b=&quot;c&quot;&gt;&amp;'");
  EXPECT_EQ(xml_escape("]]>"), "]]&gt;");
  EXPECT_EQ(xml_escape("\x01\x1b\r"), "\\x01\\x1b\\x0d");
  EXPECT_EQ(xml_escape("a\n\tb"), "a\n\tb");
  EXPECT_EQ(xml_escape("\xff"), "?");
  EXPECT_THAT(xml_escape("\xed\xa0\x80"), Not(HasSubstr("\xed")));
  EXPECT_EQ(xml_escape("\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd"), "?|?|\xef\xbf\xbd");
  EXPECT_EQ(xml_escape("é→😀"), "é→😀");
  EXPECT_EQ(xml_escape(std::string("a\0b", 3)), "a\\x00b");
}

}  // namespace
}  // namespace elixir::report
