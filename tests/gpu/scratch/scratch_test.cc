// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Scratch memory of random calls of every operator. A call that is labelled exact or measured asks
// for the predicted memory. What the others ask for is evidence: $ELIXIR_SCRATCH_EVIDENCE names the
// document that it is written to. Other settings: worker.h. Skipped without a GPU, unless
// $ELIXIR_SCRATCH_DEVICE is `cpu`: then only the generators are tested.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/scratch/requests.h"
#include "gpu/scratch/worker.h"

namespace elixir::tests {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 11> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

std::string path_of_this_program() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink(kThisProgram, path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

std::int64_t sum(const AllEvidence& all, std::int64_t Evidence::*count) {
  std::int64_t total = 0;
  for (const Evidence& evidence : all.operators) total += evidence.*count;
  return total;
}

void write_document(const AllEvidence& all, const Settings& settings, const std::string& path) {
  const nlohmann::json document{{"machine", all.machine},
                                {"date", today()},
                                {"seed", settings.seed},
                                {"calls", sum(all, &Evidence::calls)},
                                {"operators", all.operators}};
  std::ofstream(path) << document.dump(1) << '\n';
}

/// One line for each operator that is not all as predicted, or that nobody has looked at.
void print(const AllEvidence& all) {
  fmt::print("{}: {} calls of {} operators, {} workers\n",
             all.machine,
             sum(all, &Evidence::calls),
             all.operators.size(),
             all.workers);
  fmt::print("{:>7} {:>7} {:>7} {:>7} {:>7} {:>12} operator\n",
             "calls",
             "exact",
             "measured",
             "none",
             "others",
             "largest B");
  for (const Evidence& evidence : all.operators) {
    const std::int64_t others = evidence.other_sizes + evidence.other_peak + evidence.other_order;
    fmt::print("{:>7} {:>7} {:>7} {:>7} {:>7} {:>12} {}{}\n",
               evidence.calls,
               evidence.exact,
               evidence.measured,
               evidence.without_scratch,
               others,
               evidence.largest_scratch_bytes,
               evidence.op,
               evidence.calls == 0 ? ": not tried: " + evidence.refusal : "");
    for (const std::string& fault : evidence.faults) fmt::print("        fault: {}\n", fault);
    for (const Mismatch& mismatch : evidence.mismatches) {
      fmt::print("        {} ({}) {}\n          predicted {}\n          seen      {}\n",
                 mismatch.label,
                 mismatch.kind,
                 mismatch.arguments,
                 mismatch.predicted,
                 mismatch.seen);
    }
  }
  std::fflush(stdout);
}

/// Whether enough operators were called, and often enough.
void expect_most_are_called(const AllEvidence& all, const Settings& settings) {
  constexpr double kShare = 0.9;
  const std::int64_t enough = std::min<std::int64_t>(settings.calls_per_operator, 20);
  std::vector<std::string> seldom;
  for (const Evidence& evidence : all.operators) {
    if (evidence.calls < enough) seldom.push_back(evidence.op);
  }
  fmt::print("{} of {} operators with fewer than {} calls: {}\n",
             seldom.size(),
             all.operators.size(),
             enough,
             fmt::join(seldom, " "));
  const auto called = static_cast<double>(all.operators.size() - seldom.size());
  EXPECT_GT(called, kShare * static_cast<double>(all.operators.size()));
}

TEST(RandomScratch, LabelledCallsAskForWhatIsPredicted) {
  const Settings settings = Settings::from_environment();
  if (settings.device == "cuda" && !at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  const std::string file = testing::TempDir() + "elixir-scratch-" + std::to_string(getpid());
  const AllEvidence all = collect(path_of_this_program(), file);
  std::remove(file.c_str());
  print(all);
  if (const char* path = std::getenv("ELIXIR_SCRATCH_EVIDENCE"); path != nullptr) {
    write_document(all, settings, path);
  }
  EXPECT_GT(sum(all, &Evidence::calls), 0);
  const bool whole = settings.only.empty() && settings.parts == 1 && settings.seconds == 0;
  if (whole) expect_most_are_called(all, settings);
  for (const Evidence& evidence : all.operators) {
    EXPECT_EQ(evidence.other_sizes, 0) << evidence.op << ": other requests than predicted";
    EXPECT_EQ(evidence.other_peak, 0) << evidence.op << ": another peak than predicted";
    EXPECT_EQ(evidence.other_order, 0) << evidence.op << ": another order than predicted";
  }
  if (settings.device != "cuda" || !whole) return;
  EXPECT_GT(sum(all, &Evidence::exact) + sum(all, &Evidence::measured), 0);
  constexpr std::int64_t kCalls = 100'000;
  if (settings.calls_per_operator >= Settings{}.calls_per_operator) {
    EXPECT_GE(sum(all, &Evidence::calls), kCalls);
  }
}

Requests requests(const std::vector<std::int64_t>& bytes) {
  Requests made;
  for (const std::int64_t each : bytes) made.add(each);
  return made;
}

TEST(RequestsOfACall, DifferBySizeThenPeakThenOrder) {
  EXPECT_EQ(difference(requests({512, 1024}), requests({512, 1024})), Difference::kNone);
  EXPECT_EQ(difference(requests({512, 1024}), requests({512})), Difference::kSizes);
  EXPECT_EQ(difference(requests({512, 1024}), requests({512, 1025})), Difference::kSizes);
  EXPECT_EQ(difference(requests({512, 1024}), requests({1024, 512})), Difference::kOrder);
  Requests freed = requests({512});
  freed.release(0);
  freed.add(1024);
  Requests kept = requests({512, 1024});
  kept.release(0);
  EXPECT_EQ(freed.peak_bytes(), 1024);
  EXPECT_EQ(kept.peak_bytes(), 1536);
  EXPECT_EQ(difference(freed, kept), Difference::kPeak);
}

TEST(RequestsOfACall, ReleasesBetweenTwoRequestsHaveNoOrder) {
  const auto released = [](int first, int second) {
    Requests made = requests({512, 1024});
    made.release(first);
    made.release(second);
    made.add(2048);
    return made;
  };
  EXPECT_EQ(difference(released(0, 1), released(1, 0)), Difference::kNone);
  EXPECT_EQ(released(0, 1).text(), "+512 +1024 -0 -1 +2048");
}

TEST(RequestsOfACall, LeaveOutWhatTheProcessKeeps) {
  using Kind = operators::ScriptStep::Kind;
  operators::CallScript script;
  script.steps = {{.kind = Kind::kTemporary, .bytes = 8, .temporary = 0, .once = true},
                  {.kind = Kind::kRelease, .temporary = 0, .once = true},
                  {.kind = Kind::kPersistent, .bytes = 4096, .once = true},
                  {.kind = Kind::kTemporary, .bytes = 100, .temporary = 1},
                  {.kind = Kind::kOutput, .bytes = 512, .storage = 3},
                  {.kind = Kind::kRelease, .temporary = 1}};
  EXPECT_EQ(predicted_requests(script).text(), "+100 r512 -0");
}

TEST(ScratchEvidence, IsTheSumOfItsParts) {
  Evidence part;
  part.op = "aten::sort";
  part.calls = 2;
  part.exact = 1;
  part.dtypes["Float"] = 2;
  part.add_scratch(4096);
  part.add_mismatch(
      {.label = "exact", .kind = "sizes", .arguments = "a", .predicted = "", .seen = "+1"});
  Evidence whole = nlohmann::json(part).get<Evidence>();
  whole.add(part);
  EXPECT_EQ(whole.calls, 4);
  EXPECT_EQ(whole.exact, 2);
  EXPECT_EQ(whole.dtypes.at("Float"), 4);
  EXPECT_EQ(whole.scratch_bytes, std::set<std::int64_t>{4096});
  ASSERT_EQ(whole.mismatches.size(), 2U);
  EXPECT_EQ(whole.mismatches[1].seen, "+1");
}

}  // namespace
}  // namespace elixir::tests

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--worker") {
    arguments.erase(arguments.begin());
    return elixir::tests::run_worker(arguments);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
