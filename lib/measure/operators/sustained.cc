// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// How much longer matrix products take in a busy GPU. Products and copies of device memory take
// turns of some milliseconds, as products and elementwise calls do in a step. The power that a
// product draws depends on its data. So the busy GPU works on data like a transformer's second
// linear layer has. It is compared with the same product measured as operators are
// (measure_call_on_gpu()), because predictions start from the times of operators, whatever the
// clock was then.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <fmt/format.h>

#include "measure/machine/gpu_probe.h"
#include "measure/measurement.h"
#include "measure/operators/operators.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "replay/replay_call.h"

namespace elixir::measure {
namespace {

// Large enough to use every multiprocessor all the time, even with --quick.
constexpr std::int64_t kRows = 8192, kInner = 12'288, kColumns = 3072;
constexpr std::int64_t kCopiedElements = std::int64_t{1} << 26;
constexpr double kTurnSeconds = 3e-3;
constexpr double kBurstSeconds = 0.2;

class BusyGpu {
 public:
  BusyGpu() {
    const auto options = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
    left_ = at::gelu(at::empty({kRows, kInner}, options).normal_());
    right_ = at::empty({kInner, kColumns}, options).normal_(0, 0.02);
    result_ = at::empty({kRows, kColumns}, options);
    from_ = at::empty({kCopiedElements}, options).normal_();
    to_ = at::empty({kCopiedElements}, options);
    run(2, 2);
    gpu_synchronize();
  }
  [[nodiscard]] double copy_seconds() {
    constexpr int kInARow = 40;
    return gpu_work_seconds_once([] {}, [&] { run(0, kInARow); }) / kInARow;
  }
  /// Seconds of one of `turns` turns.
  [[nodiscard]] double turn_seconds(int turns, int products, int copies) {
    const auto all = [&] {
      for (int i = 0; i < turns; ++i) run(products, copies);
    };
    return gpu_work_seconds_once([] {}, all) / turns;
  }

 private:
  void run(int products, int copies) {
    for (int i = 0; i < products; ++i) at::mm_out(result_, left_, right_);
    for (int i = 0; i < copies; ++i) to_.copy_(from_, /*non_blocking=*/true);
  }
  at::Tensor left_, right_, result_, from_, to_;
};

/// A program of one product.
program::Program product_program() {
  const auto matrix = [](program::StorageId id, std::int64_t rows, std::int64_t columns) {
    program::TensorRef ref;
    ref.storage = id;
    ref.sizes = {rows, columns};
    ref.strides = {columns, 1};
    ref.dtype = program::DType::kBFloat16;
    return ref;
  };
  const program::TensorRef left = matrix(0, kRows, kInner), right = matrix(1, kInner, kColumns);
  program::TensorRef result = matrix(2, kRows, kColumns);
  result.version = 1;
  program::Program program;
  program.operators = {
      {.id = 0, .name = "aten::mm", .arguments = {left, right}, .outputs = {result}}};
  program.storages = {{.id = 0, .bytes = left.bytes(), .category = program::Category::kInput},
                      {.id = 1, .bytes = right.bytes(), .category = program::Category::kInput},
                      {.id = 2,
                       .bytes = result.bytes(),
                       .category = program::Category::kActivation,
                       .allocated_at = 0,
                       .freed_after = 1}};
  program.inputs = {{"left", left}, {"right", right}};
  program.loss = result;
  return program;
}

/// Seconds of the product among the operators. Products before it warm the GPU, as other operators
/// do while they are measured.
double product_seconds(const Bench& bench, hardware::HardwareProfile& profile) {
  constexpr int kUncounted = 3, kCounted = 5;
  const program::Program program = product_program();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const bool by_kernels = use_kernel_timer(bench, profile);
  const replay::ReplayScope below_autograd;
  const auto once = [&] {
    return measure_call_on_gpu(program, lifetimes, program.operators[0], bench, by_kernels, "")
               .time_ns.median *
           1e-9;
  };
  return quantile(sample({kUncounted, kCounted, kCounted, 0}, once), 0.5);
}

struct Alone {
  double product_s = 0, copy_s = 0;
};

hardware::SustainedRate at_duty(BusyGpu& gpu,
                                double wanted,
                                const Alone& alone,
                                const Bench& bench) {
  const int products = std::max(1, static_cast<int>(std::lround(kTurnSeconds / alone.product_s)));
  const double products_s = products * alone.product_s;
  const int copies = static_cast<int>(std::lround(products_s * (1 / wanted - 1) / alone.copy_s));
  const double copies_s = copies * alone.copy_s;
  const int turns =
      std::max(1, static_cast<int>(std::lround(kBurstSeconds / (products_s + copies_s))));
  const auto burst = [&] {
    const double product_s = (gpu.turn_seconds(turns, products, copies) - copies_s) / products;
    return product_s / alone.product_s;
  };
  // The clock follows within a second or so.
  const int settling = bench.by_effort(8, 4), counted = bench.by_effort(8, 3);
  return {
      "bf16",
      products_s / (products_s + copies_s),
      summarise(sample({settling, counted, counted, 0}, burst),
                fmt::format("{} products of {} x {} by {} x {} and {} copies of {} MiB in "
                            "turn, over a product of {:.0f} us measured as operators are, events",
                            products,
                            kRows,
                            kInner,
                            kInner,
                            kColumns,
                            copies,
                            kCopiedElements * 2 >> 20,
                            alone.product_s * 1e6))};
}

const Registration kSustained({
    "sustained",
    "time of a matrix product in a busy GPU over its time among the operators, by the share of "
    "time that products take",
    "LibTorch's mm in bf16 in turn with copies of device memory; power and heat lower the clock of "
    "a busy GPU",
    20.0,
    5.0,
    unless_cuda,
    [](const Bench& bench, hardware::HardwareProfile& profile) {
      BusyGpu gpu;
      const Alone alone{product_seconds(bench, profile), gpu.copy_seconds()};
      const std::vector<double> duties = bench.by_effort(
          std::vector<double>{0.35, 0.5, 0.65, 0.8, 0.9, 1}, std::vector<double>{0.5, 0.75, 1});
      profile.sustained.clear();
      for (const double duty : duties)
        profile.sustained.push_back(at_duty(gpu, duty, alone, bench));
    },
});

}  // namespace
}  // namespace elixir::measure
