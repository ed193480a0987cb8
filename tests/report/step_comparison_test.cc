// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/step_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.h"

namespace elixir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kCalls = 12;

StepFigures step(double step_ns, std::int64_t peak_bytes, std::int64_t measured = kCalls) {
  StepFigures figures;
  figures.step_ns = step_ns;
  figures.peak_device_bytes = peak_bytes;
  figures.operators_measured = measured;
  figures.operators_total = kCalls;
  return figures;
}

StepComparison on_cpu(const StepFigures& predicted, const StepFigures& measured) {
  return compare_steps(predicted, measured, /*counted=*/true);
}

TEST(StepComparison, PromisesTimeAndPeakWhereEveryCallIsMeasured) {
  const StepComparison kept = on_cpu(step(1e9, 1_MiB), step(1.1e9, 1_MiB));
  EXPECT_EQ(kept.promised, "the step's time within 15 %, the device peak to the byte");
  EXPECT_THAT(kept.broken, IsEmpty());
  EXPECT_THAT(on_cpu(step(1e9, 1_MiB), step(1.2e9, 1_MiB - 512)).broken,
              ElementsAre(HasSubstr("+20.0 %; promised within 15 %"),
                          HasSubstr("(-512 bytes; promised to the byte)")));
}

TEST(StepComparison, PromisesNoTimeAndAnUpperBoundWhereACallIsModelled) {
  const StepFigures predicted = step(1e9, 1_MiB, kCalls - 1);
  const StepComparison comparison = on_cpu(predicted, step(5e9, 1_MiB - 512));
  EXPECT_THAT(comparison.broken, IsEmpty());
  EXPECT_EQ(comparison.promised,
            "the device peak as an upper bound; not the step's time: 1 of 12 operator calls are "
            "modelled, not measured");
  EXPECT_THAT(on_cpu(predicted, step(5e9, 1_MiB + 512)).broken,
              ElementsAre(HasSubstr("(+512 bytes; promised as an upper bound)")));
}

TEST(StepComparison, PromisesNoTimeThatRestsOnDisturbedFigures) {
  StepFigures predicted = step(2.44e9, 1_MiB);
  predicted.disturbed = {"matmul", "operators"};
  const StepComparison comparison = on_cpu(predicted, step(0.34e9, 1_MiB));
  EXPECT_THAT(comparison.broken, IsEmpty());
  EXPECT_EQ(comparison.promised,
            "the device peak to the byte; not the step's time: other programs disturbed the "
            "measurements behind it (matmul, operators)");
  EXPECT_THAT(on_cpu(predicted, step(1e9, 1_MiB + 512)).broken, ElementsAre(HasSubstr("peak")))
      << "memory does not depend on who else ran";
}

TEST(StepComparison, PromisesNoTimeBetterThanItsFiguresSpread) {
  StepFigures predicted = step(1e9, 1_MiB);
  predicted.spread = 0.14;
  EXPECT_THAT(on_cpu(predicted, step(2e9, 1_MiB)).broken, ElementsAre(HasSubstr("2.0 times")));
  predicted.spread = 0.4;
  EXPECT_THAT(on_cpu(predicted, step(2e9, 1_MiB)).broken, IsEmpty());
  EXPECT_THAT(on_cpu(predicted, step(2e9, 1_MiB)).promised, HasSubstr("spread by 40 %"));
}

TEST(StepComparison, PromisesNoPeakThatNobodyCounts) {
  const auto on_gpu = [](const StepFigures& predicted) {
    return compare_steps(predicted, step(1e9, 2_MiB), /*counted=*/false);
  };
  EXPECT_THAT(on_gpu(step(1e9, 1_MiB)).broken, IsEmpty());
  EXPECT_THAT(on_gpu(step(1e9, 1_MiB)).promised, Not(HasSubstr("peak")));
  EXPECT_THAT(on_gpu(step(1e9, 1_MiB, 0)).promised, HasSubstr("nothing: 12 of 12"));
}

TEST(StepComparison, ShowsShortTimesAsTimesAndLargeRatiosAsRatios) {
  StepFigures predicted = step(1e9, 1_MiB);
  StepFigures measured = step(3.5e9, 1_MiB);
  const auto copies = static_cast<std::size_t>(schedule::Stream::kHostToDevice);
  predicted.busy_ns[copies] = 40;
  measured.busy_ns[copies] = 13500;
  const std::string text = table_of(on_cpu(predicted, measured));
  EXPECT_THAT(text, HasSubstr("3.5 times"));
  EXPECT_THAT(text, HasSubstr("+13.5 µs"));
  EXPECT_THAT(text, Not(HasSubstr("33650")));
  EXPECT_THAT(text, HasSubstr("promised: the step's time within 15 %"));
}

// Otherwise a step of 88 ms may seem to compute for 272 ms.
TEST(StepComparison, SaysOfWhichStepsBusyTimesAre) {
  StepFigures measured = step(88e6, 1_MiB);
  measured.busy_ns[static_cast<std::size_t>(schedule::Stream::kCompute)] = 272e6;
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)), Not(HasSubstr("busy times")));
  measured.timed = {.count = 1, .step_ns = 280e6};
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)),
              HasSubstr("busy times are from one step, which took 280 ms\n"));
  measured.timed = {.count = 3, .step_ns = 280e6};
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)),
              HasSubstr("busy times are medians of 3 steps, which took 280 ms (median)\n"));
}

TEST(StepComparison, NamesStreamsThatLostANoticeableTime) {
  StepFigures measured = step(1e9, 1_MiB);
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)), Not(HasSubstr("began later")));
  measured.late_ns.emplace();
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)), Not(HasSubstr("began later")));
  (*measured.late_ns)[static_cast<std::size_t>(schedule::Stream::kCompute)] = 9e6;
  (*measured.late_ns)[static_cast<std::size_t>(schedule::Stream::kHostToDevice)] = 266e6;
  EXPECT_THAT(table_of(on_cpu(step(1e9, 1_MiB), measured)),
              HasSubstr("began later than they could, in sum: host-to-device 266 ms\n"));
}

TEST(StepComparison, ShowsCriticalPathsOnceOneWasMeasured) {
  StepFigures predicted = step(1e9, 1_MiB);
  StepFigures measured = step(1e9, 1_MiB);
  predicted.critical_path.emplace().by_stream_ns[0] = 4;
  EXPECT_THAT(table_of(on_cpu(predicted, measured)), Not(HasSubstr("critical path")));
  measured.critical_path.emplace().by_stream_ns[0] = 3;
  measured.critical_path->idle_ns = 1;
  const std::string text = table_of(on_cpu(predicted, measured));
  EXPECT_THAT(text, HasSubstr("critical path, measured: compute 75 %, idle 25 %\n"));
  EXPECT_THAT(text, HasSubstr("critical path, predicted: compute 100 %\n"));
  predicted.critical_path.reset();
  EXPECT_THAT(table_of(on_cpu(predicted, measured)), Not(HasSubstr("path, predicted")));
}

}  // namespace
}  // namespace elixir::report
