// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/uncertainty.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "operators/operator_key.h"
#include "schedule/plans.h"

namespace elixir::schedule {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UncertaintyTest : public ::testing::Test {
 protected:
  UncertaintyTest() {
    lifetimes_ = program::analyse_lifetimes(program_);
    plan_ = fakes::lay_out(program_, {});
    for (const program::Operator& op : program_.operators) {
      if (!lifetimes_.executed[static_cast<std::size_t>(op.id)]) continue;
      const std::string key = operators::operator_key(op);
      if (known_.insert(key).second) hardware_.operators.push_back({key, fakes::figure(1000), 0});
    }
  }
  [[nodiscard]] Uncertainty found(const plan::Traffic& traffic = {}) const {
    return uncertainty(program_, lifetimes_, plan_, traffic, hardware_);
  }
  std::set<std::string> known_;
  program::Program program_ = fakes::mlp({64, 64, 64}, 8);
  program::Lifetimes lifetimes_;
  plan::Plan plan_;
  hardware::HardwareProfile hardware_ = fakes::machine(false);
};

TEST_F(UncertaintyTest, IsNoneWhereFiguresDoNotSpread) {
  EXPECT_EQ(found().spread, 0);
  EXPECT_THAT(found().disturbed, IsEmpty());
}

TEST_F(UncertaintyTest, WeighsTheSpreadOfAFigureByTheTimeThatRestsOnIt) {
  for (hardware::OperatorTime& time : hardware_.operators) time.time_ns.spread = 0.5;
  const double of_operators = found().spread;
  EXPECT_GT(of_operators, 0.25);
  EXPECT_LT(of_operators, 0.5) << "the update's rate does not spread";
  plan_.optimizer = program::Optimizer::kNone;
  EXPECT_DOUBLE_EQ(found().spread, 0.5);
}

TEST_F(UncertaintyTest, NamesWhatWasDisturbedAndIsUsed) {
  hardware_.links.host_to_device[0].bytes_per_s.disturbed = true;
  hardware_.adam_cpu[0].params_per_s.disturbed = true;
  EXPECT_THAT(found().disturbed, ElementsAre("adam-cpu"));
  EXPECT_THAT(found({.host_to_device_bytes = 1 << 20}).disturbed,
              ElementsAre("adam-cpu", "host-to-device"));
  hardware_.operators[0].time_ns.disturbed = true;
  EXPECT_THAT(found().disturbed, ElementsAre("adam-cpu", "operators"));
  hardware_.operators[0].time_ns.median = 1;
  EXPECT_THAT(found().disturbed, ElementsAre("adam-cpu")) << "less than a hundredth of the time";
}

TEST_F(UncertaintyTest, OfModelledCallsIsThatOfTheRates) {
  hardware_.operators.clear();
  EXPECT_THAT(found().disturbed, IsEmpty());
  hardware_.compute[0].matmul_flop_per_s.disturbed = true;
  EXPECT_THAT(found().disturbed, ElementsAre("matmul"));
}

}  // namespace
}  // namespace elixir::schedule
