// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/uncertainty.h"

#include <map>
#include <unordered_map>

#include "hardware/operator_cost.h"
#include "operators/operator_key.h"
#include "operators/own.h"

namespace elixir::schedule {
namespace {

using hardware::Figure;

constexpr double kNoticeableShare = 0.01;
constexpr double kNsPerSecond = 1e9;

/// The time that rests on the figures of each measurement.
class Shares {
 public:
  void add(const std::string& measurement, const Figure& figure, double ns) {
    total_ns_ += ns;
    spread_ns_ += ns * figure.spread;
    if (figure.disturbed) disturbed_ns_[measurement] += ns;
  }
  /// `amount` at the rate of the figure.
  void add_rate(const std::string& measurement, const Figure& figure, double amount) {
    if (figure.median > 0) add(measurement, figure, amount / figure.median * kNsPerSecond);
  }
  [[nodiscard]] Uncertainty result() const {
    Uncertainty result;
    if (total_ns_ <= 0) return result;
    result.spread = spread_ns_ / total_ns_;
    for (const auto& [measurement, ns] : disturbed_ns_) {
      if (ns >= kNoticeableShare * total_ns_) result.disturbed.push_back(measurement);
    }
    return result;
  }

 private:
  double total_ns_ = 0, spread_ns_ = 0;
  std::map<std::string, double> disturbed_ns_;
};

void add_operators(const program::Program& program,
                   const program::Lifetimes& lifetimes,
                   const hardware::HardwareProfile& profile,
                   Shares& shares) {
  std::unordered_map<std::string, const Figure*> measured;
  for (const hardware::OperatorTime& time : profile.operators) measured[time.key] = &time.time_ns;
  for (const program::Operator& op : program.operators) {
    if (!lifetimes.executed[static_cast<std::size_t>(op.id)]) continue;
    if (operators::movement_of(op.name) != operators::Movement::kNone) continue;
    if (const auto found = measured.find(operators::operator_key(op)); found != measured.end()) {
      shares.add("operators", *found->second, found->second->median);
      continue;
    }
    // It is modelled by the rates of products and of copies.
    const hardware::OperatorWork work = hardware::work_of(op);
    if (work.flops > 0 && !profile.compute.empty()) {
      shares.add_rate(
          "matmul", profile.compute.front().matmul_flop_per_s, static_cast<double>(work.flops));
    } else if (profile.device_copy_bytes_per_s) {
      shares.add_rate(
          "device-copy", *profile.device_copy_bytes_per_s, static_cast<double>(work.touched_bytes));
    }
  }
}

void add_updates(const program::Program& program,
                 const plan::Plan& plan,
                 const hardware::HardwareProfile& profile,
                 Shares& shares) {
  if (plan.optimizer == program::Optimizer::kNone) return;
  for (const plan::Chunk& chunk : plan.chunks) {
    if (!plan::is_trained(chunk, program)) continue;
    const bool on_host = chunk.optimizer_home == plan::Home::kHost && !chunk.streams_update;
    const bool by_cores = on_host || profile.device_kind == program::DeviceKind::kCpu;
    const std::vector<hardware::AdamRate>& rates = by_cores ? profile.adam_cpu : profile.adam_gpu;
    if (rates.empty()) continue;
    shares.add_rate(by_cores ? "adam-cpu" : "adam-gpu",
                    rates.front().params_per_s,
                    static_cast<double>(plan::shard_elements(plan, chunk)));
  }
}

}  // namespace

Uncertainty uncertainty(const program::Program& program,
                        const program::Lifetimes& lifetimes,
                        const plan::Plan& plan,
                        const plan::Traffic& traffic,
                        const hardware::HardwareProfile& profile) {
  Shares shares;
  add_operators(program, lifetimes, profile, shares);
  add_updates(program, plan, profile, shares);
  const hardware::Links& links = profile.links;
  if (!links.host_to_device.empty()) {
    shares.add_rate("host-to-device",
                    links.host_to_device.front().bytes_per_s,
                    static_cast<double>(traffic.host_to_device_bytes));
  }
  if (!links.device_to_host.empty()) {
    shares.add_rate("device-to-host",
                    links.device_to_host.front().bytes_per_s,
                    static_cast<double>(traffic.device_to_host_bytes));
  }
  return shares.result();
}

}  // namespace elixir::schedule
