// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rate of matrix products, with random data. With zeros or constants the multipliers, and so the
// clocks, would be faster than in reality.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <fmt/format.h>

#include "capture/host_cpu.h"
#include "measure/machine/gpu_probe.h"
#include "measure/measurement.h"
#include "program/cpu_isa.h"

namespace elixir::measure {
namespace {

hardware::ComputeRate measure(const Bench& bench, at::ScalarType dtype, const char* name) {
  // A CPU without instructions for bf16 reaches 1 GFLOP/s: 1024 took 2.5 s a product.
  const bool slow =
      dtype == at::kBFloat16 && !program::onednn_computes_in_bf16(capture::host_cpu_isa());
  const std::int64_t side = bench.on_cuda() ? bench.by_effort<std::int64_t>(8192, 4096)
                                            : bench.by_effort<std::int64_t>(slow ? 512 : 2048, 512);
  const auto options =
      at::TensorOptions().device(bench.on_cuda() ? at::kCUDA : at::kCPU).dtype(dtype);
  const at::Tensor a = at::empty({side, side}, options).normal_();
  const at::Tensor b = at::empty({side, side}, options).normal_();
  const auto product = [&] { (void)at::mm(a, b); };
  const std::vector<double> seconds =
      bench.on_cuda() ? gpu_work_seconds(product, bench.sampling())
                      : sample(bench.sampling(), [&] { return seconds_of(product); });
  const double flops =
      2.0 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side);
  return {name,
          rate_figure(flops,
                      seconds,
                      fmt::format("{0} x {0} by {0} x {0} on random data, {1}",
                                  side,
                                  bench.on_cuda() ? std::string("events")
                                                  : bench.threads_text() + ", wall clock"))};
}

const Registration kMatmul({
    "matmul",
    "floating-point operations per second of a large square matrix product, by dtype",
    "LibTorch's mm on random data; a multiply-add counts as two",
    4.0,
    0.8,
    never,
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      profile.compute = {measure(bench, at::kBFloat16, "bf16"), measure(bench, at::kFloat, "fp32")};
    },
});

}  // namespace
}  // namespace elixir::measure
