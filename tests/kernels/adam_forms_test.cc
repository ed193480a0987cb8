// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares every form of AdamW on the CPU with the reference: split master, bf16 moments, loss
// scale, non-finite gradients, any length and alignment.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "adam_problem.h"
#include "kernels/gradient.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

const reference::Hyper kHyper = {3e-4, 0.9, 0.95, 1e-8, 0.1};

TEST(AdamForms, EqualTheReferenceOnEveryInstructionSet) {
  for (const AdamForm& form : all_adam_forms()) {
    for (const std::size_t n : {0U, 1U, 7U, 16U, 31U, 32U, 33U, 100U, 1031U}) {
      AdamProblem expected(form, n, n);
      for (int step = 1; step <= 3; ++step) {
        expected.draw_gradients(step);
        expected.reference_step(kHyper, step, step, 1.0F / static_cast<float>(step), 1024.0);
      }
      for (const Isa isa : available_isas()) {
        AdamProblem got(form, n, n);
        for (int step = 1; step <= 3; ++step) {
          got.draw_gradients(step);
          adam_cpu(got.arrays(),
                   scalars_of(kHyper, step, step, 1.0F / static_cast<float>(step), 1024.0),
                   isa);
        }
        ASSERT_EQ(got.first_difference(expected), "") << name_of(isa);
      }
    }
  }
}

TEST(AdamForms, RandomLengthsOffsetsThreadsAndScalars) {
  std::mt19937 random(20261121);
  const std::vector<AdamForm> forms = all_adam_forms();
  for (int round = 0; round < 150; ++round) {
    const AdamForm& form = forms[random() % forms.size()];
    const std::size_t offset = random() % 70, n = offset + random() % 40000;
    const int micro_batches = 1 + static_cast<int>(random() % 7);
    const float clip = random() % 2 == 0 ? 1.0F : 0.37F;
    // Not always a power of two, so that the division is a real one.
    const double loss_scale =
        random() % 3 == 0 ? 1000.0 : std::ldexp(1.0, static_cast<int>(random() % 20));
    const Isa isa = available_isas()[random() % available_isas().size()];
    ThreadPool pool(1 + static_cast<int>(random() % 4));
    AdamProblem expected(form, n, round), got(form, n, round);
    expected.reference_step(kHyper, 5, micro_batches, clip, loss_scale, offset);
    adam_cpu(got.arrays(offset), scalars_of(kHyper, 5, micro_batches, clip, loss_scale), isa, pool);
    ASSERT_EQ(got.first_difference(expected), "")
        << "round " << round << " offset " << offset << " " << name_of(isa);
  }
}

/// The first pass leaves moments as they are, the second everything else.
TEST(AdamForms, ParametersAndThenMomentsAreTheWhole) {
  ThreadPool pool(3);
  for (const AdamForm& form : all_adam_forms()) {
    for (const std::size_t n : {1U, 31U, 32U, 100U, 20'011U}) {
      const AdamScalars scalars = scalars_of(kHyper, 5, 3, 0.37F);
      AdamProblem before(form, n, n), whole(form, n, n);
      adam_cpu(whole.arrays(), scalars, best_isa());
      for (const Isa isa : available_isas()) {
        AdamProblem got(form, n, n);
        AdamArrays arrays = got.arrays();
        arrays.pass = AdamPass::kParameters;
        adam_cpu(arrays, scalars, isa, pool);
        EXPECT_EQ(got.storage().moment1, before.storage().moment1);
        EXPECT_EQ(got.storage().moment2, before.storage().moment2);
        const AdamProblem::Storage made = got.storage();
        arrays.pass = AdamPass::kMoments;
        adam_cpu(arrays, scalars, isa, pool);
        EXPECT_EQ(got.storage().master, made.master);
        EXPECT_EQ(got.storage().parameter, made.parameter);
        EXPECT_EQ(got.storage().lower, made.lower);
        ASSERT_EQ(got.first_difference(whole), "")
            << name_of(form) << " " << name_of(isa) << " " << n;
      }
    }
  }
}

/// What two steps with late moments leave, whose moments are made together.
TEST(AdamForms, MomentsOfTwoStepsCanBeMadeTogether) {
  ThreadPool pool(3);
  for (const AdamForm& form : all_adam_forms()) {
    for (const std::size_t n : {1U, 31U, 32U, 100U, 20'011U}) {
      const AdamScalars first = scalars_of(kHyper, 5, 3, 0.37F);
      const AdamScalars second = scalars_of(kHyper, 6, 4, 0.81F);
      AdamProblem whole(form, n, n);
      whole.draw_gradients(1);
      adam_cpu(whole.arrays(), first, best_isa());
      whole.draw_gradients(2);
      adam_cpu(whole.arrays(), second, best_isa());
      for (const Isa isa : available_isas()) {
        AdamProblem got(form, n, n);
        const AdamProblem::Storage before = got.storage();
        const auto pass = [&](AdamPass what, const AdamScalars& scalars, EarlierGradient earlier) {
          AdamArrays arrays = got.arrays();
          arrays.pass = what;
          arrays.earlier = earlier;
          adam_cpu(arrays, scalars, isa, pool);
        };
        got.draw_gradients(1);
        pass(AdamPass::kParameters, first, {});
        const AdamProblem::Storage then = got.storage();
        const EarlierGradient earlier{
            .values = then.gradient.data(), .divisor = first.divisor, .clip = first.clip};
        got.draw_gradients(2);
        pass(AdamPass::kParameters, second, earlier);
        EXPECT_EQ(got.storage().moment1, before.moment1);
        EXPECT_EQ(got.storage().moment2, before.moment2);
        pass(AdamPass::kMoments, second, earlier);
        ASSERT_EQ(got.first_difference(whole), "")
            << name_of(form) << " " << name_of(isa) << " " << n;
      }
    }
  }
}

TEST(AdamForms, MomentsThatAreHeldBackStay) {
  constexpr Clip kHeldBack{
      .norm = 1.0F, .factor = std::numeric_limits<float>::quiet_NaN(), .held_back = 1};
  ThreadPool pool(2);
  for (const AdamForm& form : all_adam_forms()) {
    AdamProblem before(form, 1000, 2), got(form, 1000, 2);
    AdamArrays arrays = got.arrays();
    arrays.pass = AdamPass::kMoments;
    adam_cpu(arrays, scalars_of(kHyper, 5, 3, 1.0F), best_isa(), pool, {}, &kHeldBack);
    ASSERT_EQ(got.first_difference(before), "") << name_of(form);
  }
}

TEST(AdamForms, DivideByPowersOfTwoWhoseInverseIsNoOrdinaryNumber) {
  const AdamForm form = {Element::kFloat32, Element::kBFloat16, false, Element::kFloat32};
  for (const int exponent : {-149, -127, -126, -1, 1, 125, 126, 127}) {
    const double loss_scale = std::ldexp(1.0, exponent);
    AdamProblem expected(form, 999, 12);
    expected.reference_step(kHyper, 2, 1, 1.0F, loss_scale);
    for (const Isa isa : available_isas()) {
      AdamProblem got(form, 999, 12);
      adam_cpu(got.arrays(), scalars_of(kHyper, 2, 1, 1.0F, loss_scale), isa);
      ASSERT_EQ(got.first_difference(expected), "") << name_of(isa) << " 2^" << exponent;
    }
  }
}

TEST(AdamForms, SplitHasTheBitsOfTheSeparateForm) {
  constexpr std::size_t kMany = 20011;
  for (const Element moment : {Element::kFloat32, Element::kBFloat16}) {
    const AdamForm separate = {Element::kBFloat16, Element::kBFloat16, false, moment};
    const AdamForm split = {Element::kBFloat16, Element::kBFloat16, true, moment};
    for (const Isa isa : available_isas()) {
      AdamProblem a(separate, kMany, 4), b(split, kMany, 4);
      for (int step = 1; step <= 20; ++step) {
        a.draw_gradients(step);
        b.draw_gradients(step);
        const AdamScalars scalars = scalars_of(kHyper, step, 1, 0.8F);
        adam_cpu(a.arrays(), scalars, isa);
        adam_cpu(b.arrays(), scalars, isa);
      }
      std::size_t numbers = 0;
      for (std::size_t i = 0; i < kMany; ++i) {
        ASSERT_TRUE(reference::same(a.master(i), b.master(i))) << i << " " << name_of(isa);
        const auto* p = reinterpret_cast<const std::uint16_t*>(a.storage().parameter.data());
        const auto* q = reinterpret_cast<const std::uint16_t*>(b.storage().parameter.data());
        ASSERT_TRUE(reference::same_bfloat16(p[i], q[i])) << i << " " << name_of(isa);
        numbers += std::isnan(a.master(i)) ? 0 : 1;
      }
      EXPECT_GT(numbers, kMany * 9 / 10) << "most elements must have stayed comparable";
    }
  }
}

TEST(AdamForms, TakeTheFactorFromTheClip) {
  constexpr Clip kClip{.norm = 3.0F, .factor = 0.37F, .held_back = 0};
  ThreadPool pool(2);
  for (const AdamForm& form : all_adam_forms()) {
    AdamProblem expected(form, 9001, 2), got(form, 9001, 2);
    expected.reference_step(kHyper, 5, 3, 0.37F);
    adam_cpu(got.arrays(), scalars_of(kHyper, 5, 3, 1.0F), best_isa(), pool, {}, &kClip);
    ASSERT_EQ(got.first_difference(expected), "") << name_of(form);
  }
}

TEST(AdamForms, AnUpdateThatIsHeldBackOnlyMakesSeparateParametersAgain) {
  constexpr Clip kHeldBack{
      .norm = 1.0F, .factor = std::numeric_limits<float>::quiet_NaN(), .held_back = 1};
  constexpr std::size_t kMany = 9001;
  ThreadPool pool(2);
  for (const AdamForm& form : all_adam_forms()) {
    AdamProblem before(form, kMany, 2), got(form, kMany, 2);
    const bool separate = form.parameter && !form.split;
    // A place on the way home holds what another chunk has left there.
    if (separate) {
      std::fill(got.storage().parameter.begin(), got.storage().parameter.end(), 0x11);
      convert_cpu(before.storage().parameter.data(),
                  *form.parameter,
                  reinterpret_cast<const float*>(before.storage().master.data()),
                  kMany,
                  pool);
    }
    std::uint32_t report = 0;
    adam_cpu(got.arrays(),
             scalars_of(kHyper, 5, 3, 1.0F),
             best_isa(),
             pool,
             {.skip = nullptr, .report = &report},
             &kHeldBack);
    ASSERT_EQ(got.first_difference(before), "") << name_of(form);
    EXPECT_EQ(report, 0U);
  }
}

TEST(AdamForms, MovedBytesAreThoseOfTheDesign) {
  const auto bytes = [](const AdamForm& form, AdamPass pass = AdamPass::kWhole) {
    AdamProblem problem(form, 32, 1);
    AdamArrays arrays = problem.arrays();
    arrays.pass = pass;
    return moved_bytes(arrays);
  };
  const Element wide = Element::kFloat32, narrow = Element::kBFloat16;
  EXPECT_EQ(bytes({wide, std::nullopt, false, wide}), 28U);
  EXPECT_EQ(bytes({narrow, narrow, false, wide}), 28U);
  EXPECT_EQ(bytes({wide, narrow, false, wide}), 30U);
  EXPECT_EQ(bytes({narrow, narrow, true, wide}), 26U);
  EXPECT_EQ(bytes({narrow, narrow, false, narrow}), 20U);
  EXPECT_EQ(bytes({narrow, narrow, true, narrow}), 18U);
  EXPECT_EQ(bytes({narrow, narrow, false, wide}, AdamPass::kParameters), 20U);
  EXPECT_EQ(bytes({narrow, narrow, true, wide}, AdamPass::kParameters), 18U);
  EXPECT_EQ(bytes({narrow, narrow, true, wide}, AdamPass::kMoments), 18U);
  EXPECT_EQ(bytes({narrow, narrow, true, narrow}, AdamPass::kMoments), 10U);
}

TEST(AdamForms, FoundInfinityLeavesEveryStateUntouched) {
  for (const AdamForm& form : all_adam_forms()) {
    const AdamProblem before(form, 1000, 2);
    for (const Isa isa : available_isas()) {
      AdamProblem got(form, 1000, 2);
      ThreadPool pool(2);
      const std::uint32_t found = 1, none = 0;
      adam_cpu(got.arrays(), scalars_of(kHyper, 1, 1, 1.0F), isa, {&found, nullptr});
      adam_cpu(got.arrays(), scalars_of(kHyper, 1, 1, 1.0F), isa, pool, {&found, nullptr});
      ASSERT_EQ(got.first_difference(before), "");
      adam_cpu(got.arrays(), scalars_of(kHyper, 1, 1, 1.0F), isa, pool, {&none, nullptr});
      ASSERT_GT(got.differences(before), 900U);
    }
  }
}

void put(std::vector<std::uint8_t>& array, Element type, std::size_t i, float value) {
  const std::uint16_t narrow =
      type == Element::kFloat16 ? reference::to_float16(value) : reference::to_bfloat16(value);
  if (type == Element::kFloat32) {
    std::memcpy(array.data() + i * sizeof value, &value, sizeof value);
  } else {
    std::memcpy(array.data() + i * sizeof narrow, &narrow, sizeof narrow);
  }
}

void set_master(AdamProblem& problem, std::size_t i, float value) {
  AdamProblem::Storage& storage = problem.storage();
  if (!problem.form().split) return put(storage.master, Element::kFloat32, i, value);
  const reference::Split halves = reference::split(value);
  std::memcpy(storage.parameter.data() + i * sizeof halves.upper, &halves.upper, 2);
  std::memcpy(storage.lower.data() + i * sizeof halves.lower, &halves.lower, 2);
}

/// A problem with all states zero and every gradient equal to `gradient`.
AdamProblem quiet_problem(const AdamForm& form, std::size_t n, float gradient) {
  AdamProblem problem(form, n, 2);
  AdamProblem::Storage& storage = problem.storage();
  for (auto* array :
       {&storage.master, &storage.moment1, &storage.moment2, &storage.parameter, &storage.lower}) {
    std::fill(array->begin(), array->end(), std::uint8_t{0});
  }
  for (std::size_t i = 0; i < n; ++i) put(storage.gradient, form.gradient, i, gradient);
  return problem;
}

std::uint32_t report_of(AdamProblem& problem, Isa isa) {
  std::uint32_t report = 0;
  adam_cpu(problem.arrays(), scalars_of(kHyper, 1, 1, 1.0F), isa, {nullptr, &report});
  return report;
}

TEST(AdamForms, ReportsAGradientThatIsNotFiniteWhereverItIs) {
  const auto infinity = std::numeric_limits<float>::infinity();
  for (const AdamForm& form : all_adam_forms()) {
    for (const Isa isa : available_isas()) {
      for (const std::size_t at : {0U, 5U, 31U, 64U, 99U}) {
        for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
          AdamProblem problem = quiet_problem(form, 100, 1e-40F);
          ASSERT_EQ(report_of(problem, isa), 0U) << name_of(form) << " " << name_of(isa);
          put(problem.storage().gradient, form.gradient, at, bad);
          ASSERT_EQ(report_of(problem, isa), 1U)
              << name_of(form) << " " << name_of(isa) << " at " << at;
        }
      }
    }
  }
}

TEST(AdamForms, PaddingIsFiniteWithoutAnEpsilon) {
  const reference::Hyper hyper = {3e-4, 0.9, 0.95, 0, 0.1};
  for (const AdamForm& form : all_adam_forms()) {
    for (const Isa isa : available_isas()) {
      AdamProblem problem = quiet_problem(form, 37, 1.0F);
      std::uint32_t report = 0;
      adam_cpu(problem.arrays(), scalars_of(hyper, 1, 1, 1.0F), isa, {nullptr, &report});
      ASSERT_EQ(report, 0U) << name_of(form) << " " << name_of(isa);
    }
  }
}

TEST(AdamForms, ReportsAnUpdateThatIsNotFiniteWhereverItIs) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const AdamForm& form : all_adam_forms()) {
    for (const Isa isa : available_isas()) {
      for (const std::size_t at : {0U, 5U, 31U, 64U, 99U}) {
        const auto report = [&](float master) {
          AdamProblem problem = quiet_problem(form, 100, 1.0F);
          set_master(problem, at, master);
          return report_of(problem, isa);
        };
        const bool fp16 = form.parameter == Element::kFloat16;
        ASSERT_EQ(report(fp16 ? 65504.0F : 3.3e38F), 0U) << name_of(form) << " " << name_of(isa);
        ASSERT_EQ(report(std::numeric_limits<float>::infinity()), 1U) << name_of(form);
        // The master is finite; a parameter of 16 bits is not.
        const bool narrow = form.parameter && *form.parameter != Element::kFloat32;
        ASSERT_EQ(report(kLargest), narrow ? 1U : 0U) << name_of(form) << " " << name_of(isa);
        // The square overflows, and the parameter would never move again.
        AdamProblem problem = quiet_problem(form, 100, 1.0F);
        put(problem.storage().moment2, form.moment, at, std::numeric_limits<float>::infinity());
        ASSERT_EQ(report_of(problem, isa), 1U) << name_of(form) << " " << name_of(isa);
      }
    }
  }
}

TEST(AdamScalars, DivideByMicroBatchesTimesLossScaleOnce) {
  EXPECT_EQ(make_adam_scalars({}, 1, 3, 1.0F, 1024.0).divisor, 3072.0F);
  EXPECT_EQ(make_adam_scalars({}, 1, 4, 1.0F).divisor, 4.0F);
}

TEST(AdamStreams, LeaveStatesAndCarryTheGradientToTheParameter) {
  const Element wide = Element::kFloat32, narrow = Element::kBFloat16;
  for (const AdamForm& form : {AdamForm{narrow, narrow, false, wide},
                               AdamForm{narrow, narrow, false, narrow},
                               AdamForm{narrow, narrow, true, wide},
                               AdamForm{narrow, narrow, true, narrow},
                               AdamForm{wide, std::nullopt, false, wide}}) {
    for (const Isa isa : available_isas()) {
      AdamProblem got(form, 40007, 6);
      AdamProblem expected = got;
      if (!form.split && form.parameter) {
        expected.storage().parameter = expected.storage().gradient;
      }
      ThreadPool pool(2);
      adam_streams_cpu(got.arrays(), isa, pool);
      EXPECT_EQ(got.first_difference(expected), "") << name_of(isa);
    }
  }
  AdamProblem mixed({wide, narrow, false, wide}, 10, 6);
  ThreadPool pool(1);
  EXPECT_THROW(adam_streams_cpu(mixed.arrays(), best_isa(), pool), std::invalid_argument);
}

}  // namespace
}  // namespace elixir::kernels
