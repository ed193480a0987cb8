// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/operators/product_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "core/units.h"
#include "hardware/operator_cost.h"
#include "hardware/rate_dtypes.h"
#include "operators/own.h"

namespace elixir::measure {
namespace {

/// Unaligned rows make a product several times slower, but hardly ever by this factor.
constexpr double kImplausible = 20;
constexpr double kNsPerSecond = 1e9;

bool is_product(const program::Operator& op) {
  constexpr std::array<std::string_view, 9> kProducts = {"aten::mm",
                                                         "aten::addmm",
                                                         "aten::bmm",
                                                         "aten::baddbmm",
                                                         "aten::matmul",
                                                         "aten::linear",
                                                         operators::kAlignedProduct,
                                                         operators::kAlignedProductWithBias,
                                                         operators::kAlignedBatchProduct};
  return std::find(kProducts.begin(), kProducts.end(), op.name) != kProducts.end();
}

}  // namespace

std::optional<std::string> implausible_product(const program::Operator& op,
                                               const hardware::OperatorTime& time,
                                               const hardware::HardwareProfile& profile) {
  if (!is_product(op)) return std::nullopt;
  const hardware::OperatorWork work = hardware::work_of(op);
  const std::string_view dtype = hardware::kRateDTypes.name_of(work.dtype);
  const auto rate = std::find_if(profile.compute.begin(),
                                 profile.compute.end(),
                                 [&](const auto& one) { return one.dtype == dtype; });
  if (rate == profile.compute.end() || work.flops == 0) return std::nullopt;
  const double flop_per_s = rate->matmul_flop_per_s.median;
  double allowed_ns = static_cast<double>(work.flops) / flop_per_s * kNsPerSecond;
  if (profile.device_copy_bytes_per_s) {
    allowed_ns += static_cast<double>(work.touched_bytes) /
                  profile.device_copy_bytes_per_s->median * kNsPerSecond;
  }
  if (profile.launch_ns) allowed_ns += profile.launch_ns->median;
  const double times = time.time_ns.median / allowed_ns;
  if (times <= kImplausible) return std::nullopt;
  return fmt::format("{} is {:.0f} times what {:.0f} GFLOP/s allow",
                     format_ns(time.time_ns.median),
                     times,
                     flop_per_s / 1e9);
}

}  // namespace elixir::measure
