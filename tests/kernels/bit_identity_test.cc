// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Many random parameters, including special values, over many steps: every instruction set and the
// reference agree in every bit of every form. bit_identity.h says how to run the full size.
#include "bit_identity.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "adam_problem.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kSliceElements = 4099;  // no whole number of vectors

struct Tally {
  std::atomic<std::size_t> compared{0}, numbers{0}, different{0};
  std::mutex mutex;
  std::string first;
};

/// All steps of one slice, on every instruction set and with the reference.
void run_slice(
    const AdamForm& form, std::size_t slice, std::size_t n, std::int64_t steps, Tally& tally) {
  const std::vector<Isa> isas = available_isas();
  AdamProblem expected(form, n, 20261121, slice * kSliceElements);
  std::vector<AdamProblem> got(isas.size(), expected);
  for (std::int64_t step = 1; step <= steps; ++step) {
    const int micro_batches = micro_batches_at(step);
    const float clip = clip_at(step);
    const double loss_scale = loss_scale_at(step);
    expected.draw_gradients(step);
    expected.reference_step(kBitIdentityHyper, step, micro_batches, clip, loss_scale);
    const AdamScalars scalars =
        scalars_of(kBitIdentityHyper, step, micro_batches, clip, loss_scale);
    for (std::size_t i = 0; i < isas.size(); ++i) {
      got[i].storage().gradient = expected.storage().gradient;
      adam_cpu(got[i].arrays(), scalars, isas[i]);
    }
  }
  for (std::size_t i = 0; i < isas.size(); ++i) {
    const std::size_t different = got[i].differences(expected);
    tally.different += different;
    tally.compared += n;
    if (different == 0) continue;
    const std::lock_guard lock(tally.mutex);
    if (tally.first.empty()) {
      tally.first = std::string(name_of(isas[i])) + ": " + got[i].first_difference(expected);
    }
  }
  for (std::size_t i = 0; i < n; ++i) tally.numbers += std::isnan(expected.master(i)) ? 0 : 1;
}

TEST(BitIdentity, OfEveryInstructionSetAndTheReference) {
  const BitIdentitySize size = bit_identity_size({500'000, 10});
  const std::vector<AdamForm> forms = all_adam_forms();
  const std::size_t slices = (size.parameters + kSliceElements - 1) / kSliceElements;
  ThreadPool pool(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  Tally tally;
  pool.parallel_for(slices, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t slice = begin; slice < end; ++slice) {
      const std::size_t n = std::min(kSliceElements, size.parameters - slice * kSliceElements);
      run_slice(forms[slice % forms.size()], slice, n, size.steps, tally);
    }
  });
  EXPECT_EQ(tally.different, 0U) << tally.first;
  EXPECT_EQ(tally.compared, size.parameters * available_isas().size());
  EXPECT_GT(tally.numbers, size.parameters * 8 / 10) << "too many became NaN to say much";
}

}  // namespace
}  // namespace elixir::kernels
