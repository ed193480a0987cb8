// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares AdamW on the CPU with the reference, on every instruction set, bit for bit.
#include "kernels/adam.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/thread_pool.h"
#include "reference.h"

namespace elixir::kernels {
namespace {

const float kSpecial[] = {0.0F,
                          -0.0F,
                          1.0F,
                          -1.0F,
                          1e-45F,
                          -1e-45F,
                          1e-39F,
                          1.17549435e-38F,
                          3.4028235e38F,
                          -3.4028235e38F,
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(),
                          65504.0F,
                          65520.0F,
                          5.9604645e-8F,
                          2.9802322e-8F,
                          1e20F,
                          -1e-20F};

struct State {
  std::vector<float> master, moment1, moment2, gradient32;
  std::vector<std::uint16_t> gradient16, parameter16;
  std::vector<float> parameter32;
};

enum class Values { kOrdinary, kWithSpecial };

State make_state(std::size_t n, Element gradient, Values values, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  State s;
  const auto special = [&](float ordinary) {
    if (values == Values::kOrdinary || random() % 8 != 0) return ordinary;
    return kSpecial[random() % std::size(kSpecial)];
  };
  for (std::size_t i = 0; i < n; ++i) {
    s.master.push_back(special(normal(random)));
    s.moment1.push_back(special(normal(random) * 1e-3F));
    s.moment2.push_back(std::fabs(special(normal(random) * 1e-6F)));
    const float g = special(normal(random) * 1e-2F);
    s.gradient32.push_back(g);
    s.gradient16.push_back(gradient == Element::kFloat16 ? reference::to_float16(g)
                                                         : reference::to_bfloat16(g));
  }
  s.parameter16.assign(n, 0x1234);
  s.parameter32.assign(n, 42.0F);
  return s;
}

float gradient_value(const State& s, Element type, std::size_t i) {
  switch (type) {
    case Element::kFloat32:
      return s.gradient32[i];
    case Element::kBFloat16:
      return reference::bfloat16_value(s.gradient16[i]);
    case Element::kFloat16:
      return reference::float16_value(s.gradient16[i]);
  }
  return 0;
}

enum class Parameter { kNone, kFloat32, kBFloat16, kFloat16 };

struct Case {
  Element gradient;
  Parameter parameter;
};
const Case kCases[] = {
    {Element::kFloat32, Parameter::kNone},
    {Element::kFloat32, Parameter::kFloat32},
    {Element::kFloat32, Parameter::kBFloat16},
    {Element::kFloat32, Parameter::kFloat16},
    {Element::kBFloat16, Parameter::kBFloat16},
    {Element::kBFloat16, Parameter::kNone},
    {Element::kBFloat16, Parameter::kFloat32},
    {Element::kBFloat16, Parameter::kFloat16},
    {Element::kFloat16, Parameter::kFloat16},
    {Element::kFloat16, Parameter::kNone},
    {Element::kFloat16, Parameter::kBFloat16},
    {Element::kFloat16, Parameter::kFloat32},
};

AdamArrays arrays_of(State& s, const Case& c, std::size_t offset) {
  AdamArrays a{};
  a.master = s.master.data() + offset;
  a.moment1 = s.moment1.data() + offset;
  a.moment2 = s.moment2.data() + offset;
  a.gradient_type = c.gradient;
  a.gradient = c.gradient == Element::kFloat32
                   ? static_cast<const void*>(s.gradient32.data() + offset)
                   : static_cast<const void*>(s.gradient16.data() + offset);
  switch (c.parameter) {
    case Parameter::kNone:
      a.parameter = nullptr;
      a.parameter_type = Element::kFloat32;
      break;
    case Parameter::kFloat32:
      a.parameter = s.parameter32.data() + offset;
      a.parameter_type = Element::kFloat32;
      break;
    case Parameter::kBFloat16:
      a.parameter = s.parameter16.data() + offset;
      a.parameter_type = Element::kBFloat16;
      break;
    case Parameter::kFloat16:
      a.parameter = s.parameter16.data() + offset;
      a.parameter_type = Element::kFloat16;
      break;
  }
  a.n = s.master.size() - offset;
  return a;
}

/// Runs the reference over [offset, n) of `s` in place.
void run_reference(State& s,
                   const Case& c,
                   std::size_t offset,
                   const reference::Hyper& h,
                   int step,
                   float divisor,
                   float clip) {
  for (std::size_t i = offset; i < s.master.size(); ++i) {
    reference::adam(s.master[i],
                    s.moment1[i],
                    s.moment2[i],
                    gradient_value(s, c.gradient, i),
                    h,
                    step,
                    divisor,
                    clip);
    if (c.parameter == Parameter::kFloat32) s.parameter32[i] = s.master[i];
    if (c.parameter == Parameter::kBFloat16) s.parameter16[i] = reference::to_bfloat16(s.master[i]);
    if (c.parameter == Parameter::kFloat16) s.parameter16[i] = reference::to_float16(s.master[i]);
  }
}

::testing::AssertionResult same(const State& a, const State& b, Parameter parameter) {
  for (std::size_t i = 0; i < a.master.size(); ++i) {
    const bool parameters16 = parameter == Parameter::kFloat16
                                  ? reference::same_float16(a.parameter16[i], b.parameter16[i])
                                  : reference::same_bfloat16(a.parameter16[i], b.parameter16[i]);
    if (!reference::same(a.master[i], b.master[i]) ||
        !reference::same(a.moment1[i], b.moment1[i]) ||
        !reference::same(a.moment2[i], b.moment2[i]) ||
        !reference::same(a.parameter32[i], b.parameter32[i]) || !parameters16) {
      return ::testing::AssertionFailure()
             << "element " << i << " of " << a.master.size() << ": master " << a.master[i]
             << " and " << b.master[i] << ", first moment " << a.moment1[i] << " and "
             << b.moment1[i] << ", second moment " << a.moment2[i] << " and " << b.moment2[i]
             << ", parameter " << a.parameter16[i] << " and " << b.parameter16[i];
    }
  }
  return ::testing::AssertionSuccess();
}

const reference::Hyper kHyperparameters = {3e-4, 0.9, 0.95, 1e-8, 0.1};
AdamScalars plain_scalars_of(const reference::Hyper& h, int step, int micro_batches, float clip) {
  return make_adam_scalars(
      {h.lr, h.beta1, h.beta2, h.eps, h.weight_decay}, step, micro_batches, clip);
}

TEST(Adam, EqualsTheReferenceForEveryShortLengthTypeAndInstructionSet) {
  for (const Case& c : kCases) {
    for (std::size_t n = 0; n <= 200; ++n) {
      const State start =
          make_state(n, c.gradient, Values::kWithSpecial, static_cast<std::uint32_t>(n));
      State expected = start;
      run_reference(expected, c, 0, kHyperparameters, 3, 1.0F, 1.0F);
      for (const Isa isa : available_isas()) {
        State got = start;
        adam_cpu(arrays_of(got, c, 0), plain_scalars_of(kHyperparameters, 3, 1, 1.0F), isa);
        ASSERT_TRUE(same(got, expected, c.parameter))
            << "isa " << static_cast<int>(isa) << " n " << n;
      }
    }
  }
}

TEST(Adam, DividesByMicroBatchesAndClips) {
  for (const Case& c : kCases) {
    const State start = make_state(1003, c.gradient, Values::kWithSpecial, 11);
    for (const int micro_batches : {1, 3}) {
      for (const float clip : {1.0F, 0.37F}) {
        State expected = start;
        run_reference(expected, c, 0, kHyperparameters, 7, static_cast<float>(micro_batches), clip);
        for (const Isa isa : available_isas()) {
          State got = start;
          adam_cpu(arrays_of(got, c, 0),
                   plain_scalars_of(kHyperparameters, 7, micro_batches, clip),
                   isa);
          ASSERT_TRUE(same(got, expected, c.parameter)) << static_cast<int>(isa);
        }
      }
    }
  }
}

TEST(Adam, AlignmentDoesNotChangeBitsAndNothingBeforeIsTouched) {
  for (const Case& c : kCases) {
    for (std::size_t offset = 1; offset <= 33; offset += 4) {
      const State start = make_state(700, c.gradient, Values::kOrdinary, 5);
      State expected = start;
      run_reference(expected, c, offset, kHyperparameters, 1, 1.0F, 1.0F);
      for (const Isa isa : available_isas()) {
        State got = start;
        adam_cpu(arrays_of(got, c, offset), plain_scalars_of(kHyperparameters, 1, 1, 1.0F), isa);
        ASSERT_TRUE(same(got, expected, c.parameter))
            << static_cast<int>(isa) << " offset " << offset;
      }
    }
  }
}

TEST(Adam, ManyStepsOnALargeRangeWithStreamingStoresAndThreads) {
  constexpr std::size_t kLarge = (std::size_t{1} << 21) + 4099;
  const Case c = {Element::kBFloat16, Parameter::kBFloat16};
  const State start = make_state(kLarge, c.gradient, Values::kWithSpecial, 77);
  State expected = start;
  for (int step = 1; step <= 3; ++step)
    run_reference(expected, c, 0, kHyperparameters, step, 2.0F, 0.9F);
  for (const Isa isa : available_isas()) {
    for (int threads = 1; threads <= 4; ++threads) {
      // Aligned memory for the parameters, so that the streaming variant runs.
      State got = start;
      std::vector<std::uint16_t> home(kLarge + 64);
      auto* aligned = reinterpret_cast<std::uint16_t*>(
          (reinterpret_cast<std::uintptr_t>(home.data()) + 63) / 64 * 64);
      ThreadPool pool(threads);
      AdamArrays arrays = arrays_of(got, c, 0);
      arrays.parameter = aligned;
      for (int step = 1; step <= 3; ++step) {
        adam_cpu(arrays, plain_scalars_of(kHyperparameters, step, 2, 0.9F), isa, pool);
      }
      std::copy(aligned, aligned + kLarge, got.parameter16.begin());
      ASSERT_TRUE(same(got, expected, c.parameter))
          << "isa " << static_cast<int>(isa) << " threads " << threads;
    }
  }
}

TEST(Adam, IgnoresTheThreadsFlushToZeroMode) {
  const Case c = {Element::kFloat32, Parameter::kBFloat16};
  State start = make_state(64, c.gradient, Values::kOrdinary, 9);
  std::fill(start.master.begin(), start.master.end(), 1e-40F);
  std::fill(start.moment1.begin(), start.moment1.end(), 1e-41F);
  std::fill(start.moment2.begin(), start.moment2.end(), 1e-42F);
  std::fill(start.gradient32.begin(), start.gradient32.end(), 1e-40F);
  State expected = start;
  run_reference(expected, c, 0, kHyperparameters, 1, 1.0F, 1.0F);
  const unsigned before = __builtin_ia32_stmxcsr();
  for (const Isa isa : available_isas()) {
    State got = start;
    __builtin_ia32_ldmxcsr(before | 0x8040);  // flush to zero, denormals are zero
    adam_cpu(arrays_of(got, c, 0), plain_scalars_of(kHyperparameters, 1, 1, 1.0F), isa);
    const unsigned during = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    EXPECT_EQ(during & 0x8040U, 0x8040U) << "the caller's mode is restored";
    EXPECT_TRUE(same(got, expected, c.parameter)) << static_cast<int>(isa);
  }
}

TEST(AdamScalars, AreRoundedOnceFromDouble) {
  const AdamScalars s = make_adam_scalars({1e-3, 0.9, 0.999, 1e-8, 0.0}, 1, 4, 0.5F);
  EXPECT_EQ(s.one_minus_beta1, static_cast<float>(1.0 - 0.9));
  EXPECT_NE(s.one_minus_beta1, 1.0F - 0.9F);
  EXPECT_EQ(s.decay, 1.0F);
  EXPECT_EQ(s.divisor, 4.0F);
  EXPECT_EQ(s.clip, 0.5F);
  EXPECT_EQ(s.negative_step, static_cast<float>(-1e-3 / (1.0 - 0.9)));
}

}  // namespace
}  // namespace elixir::kernels
