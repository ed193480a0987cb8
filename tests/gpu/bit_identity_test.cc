// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Many random parameters, including special values, over many steps: GPU and CPU agree in every bit
// of every form. tests/kernels/bit_identity.h says how to run the full size.
#include "bit_identity.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "adam_problem.h"
#include "device_problem.h"
#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

constexpr std::size_t kSliceElements = (1 << 20) + 77;  // no whole number of tiles

TEST(CudaBitIdentity, OfTheGpuAndTheCpu) {
  if (!have_gpu()) GTEST_SKIP() << "no GPU";
  const std::vector<AdamForm> forms = all_adam_forms();
  const BitIdentitySize size = bit_identity_size({forms.size() * kSliceElements, 10});
  ThreadPool pool(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  std::size_t different = 0, numbers = 0;
  std::string first;
  for (std::size_t slice = 0; slice * kSliceElements < size.parameters; ++slice) {
    const std::size_t begin = slice * kSliceElements;
    const std::size_t n = std::min(kSliceElements, size.parameters - begin);
    AdamProblem host(forms[slice % forms.size()], n, 20261121, begin);
    DeviceProblem device(host);
    for (std::int64_t step = 1; step <= size.steps; ++step) {
      host.draw_gradients(step, pool);
      device.write_gradients(host);
      const AdamScalars scalars = scalars_of(
          kBitIdentityHyper, step, micro_batches_at(step), clip_at(step), loss_scale_at(step));
      adam_cuda(device.arrays(), scalars, nullptr);
      adam_cpu(host.arrays(), scalars, best_isa(), pool);
    }
    AdamProblem got = host;
    device.read(got);
    different += got.differences(host);
    if (first.empty()) first = got.first_difference(host);
    for (std::size_t i = 0; i < n; ++i) numbers += std::isnan(host.master(i)) ? 0 : 1;
  }
  EXPECT_EQ(different, 0U) << first;
  EXPECT_GT(numbers, size.parameters * 8 / 10) << "too many became NaN to say much";
}

}  // namespace
}  // namespace elixir::kernels
