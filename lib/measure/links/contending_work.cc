// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/links/contending_work.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/copy.h"
#include "measure/adam/rank_adam.h"
#include "measure/host/host_memory.h"

namespace elixir::measure {
namespace {

class HostCopyWork : public ContendingWork {
 public:
  HostCopyWork(std::size_t bytes, int threads)
      : pool_(threads), from_(bytes, pool_, 0x5A), to_(bytes, pool_) {}
  [[nodiscard]] std::string name() const override { return "host_copy"; }
  void run_unit() override { kernels::copy_cpu(to_.data(), from_.data(), from_.bytes(), pool_); }

 private:
  kernels::ThreadPool pool_;
  HostMemory from_, to_;
};

class AdamCpuWork : public ContendingWork {
 public:
  AdamCpuWork(std::shared_ptr<RankAdam> adam, hardware::AdamWrites writes)
      : adam_(std::move(adam)), writes_(writes) {}
  [[nodiscard]] std::string name() const override {
    return std::string(hardware::kContendingAdam.name_of(writes_));
  }
  void run_unit() override {
    adam_->write(writes_);
    adam_->begin(std::max<std::size_t>(adam_->chunks() / kUnitsInPass, 1));
  }
  void finish() override { adam_->finish(); }

 private:
  static constexpr std::size_t kUnitsInPass = 8;
  std::shared_ptr<RankAdam> adam_;
  hardware::AdamWrites writes_;
};

}  // namespace

std::unique_ptr<ContendingWork> make_host_copy_work(std::size_t bytes, int threads) {
  return std::make_unique<HostCopyWork>(bytes, threads);
}

std::vector<std::unique_ptr<ContendingWork>> make_adam_cpu_works(std::size_t parameters,
                                                                 SpreadMemory& memory,
                                                                 RankAdam::Pools pools) {
  const AdamPass most_common{.gradient = kernels::Element::kBFloat16, .split = true};
  const auto adam = std::make_shared<RankAdam>(most_common, parameters, memory, std::move(pools));
  std::vector<std::unique_ptr<ContendingWork>> works;
  for (const auto& pass : hardware::kContendingAdam.entries) {
    works.push_back(std::make_unique<AdamCpuWork>(adam, pass.value));
  }
  return works;
}

}  // namespace elixir::measure
