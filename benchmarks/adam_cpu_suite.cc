// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <ATen/Parallel.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "adam_arrays.h"
#include "adam_cases.h"
#include "kernels/copy.h"
#include "kernels/split_master.h"
#include "kernels/thread_pool.h"

namespace elixir::benchmarks {
namespace {

using kernels::AdamArrays;
using kernels::Isa;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class CpuSuite final : public Suite {
 public:
  CpuSuite(std::size_t parameters, int threads)
      : pool_(threads, kernels::Binding::kOneCpuEach),
        arrays_(std::make_unique<AdamTensors>(parameters, at::Device(at::kCPU))),
        n_(parameters) {
    at::set_num_threads(threads);
  }

  [[nodiscard]] std::string description() const override {
    std::ostringstream text;
    text << "CPU, " << pool_.threads() << " threads (" << pool_.bound_threads()
         << " helpers bound), " << name_of(kernels::best_isa());
    return text.str();
  }

  [[nodiscard]] std::vector<Case> cases() override {
    std::vector<Case> all;
    all.push_back(
        {"copy", 8.0, [this] {
           return seconds_of([this] {
             kernels::copy_cpu(
                 arrays_->gradient32.data_ptr(), arrays_->master.data_ptr(), n_ * 4, pool_);
           });
         }});
    const auto add = [&](const std::string& name, const AdamArrays& arrays) {
      all.push_back({name, static_cast<double>(moved_bytes(arrays)), [this, arrays] {
                       return seconds_of([&] {
                         kernels::adam_cpu(arrays, scalars(), kernels::best_isa(), pool_);
                       });
                     }});
      all.push_back({name + ", streams", static_cast<double>(moved_bytes(arrays)), [this, arrays] {
                       return seconds_of(
                           [&] { kernels::adam_streams_cpu(arrays, kernels::best_isa(), pool_); });
                     }});
    };
    add("separate", arrays_->separate());
    add("split", arrays_->split());
    add("separate, bf16 moments", arrays_->narrow());
    add("split, bf16 moments", arrays_->narrow_split());
    add("fp32", arrays_->plain());
    const AdamArrays separate = arrays_->separate();
    all.push_back({"separate, unscaled and clipped", 28.0, [this, separate] {
                     return seconds_of([&] {
                       const auto scaled = kernels::make_adam_scalars(kHyper, 10, 3, 0.9F, 1024.0);
                       kernels::adam_cpu(separate, scaled, kernels::best_isa(), pool_);
                     });
                   }});
    for (const Isa isa : kernels::available_isas()) {
      if (isa == kernels::best_isa()) continue;
      all.push_back({std::string("separate, ") + name_of(isa), 28.0, [this, separate, isa] {
                       return seconds_of(
                           [&] { kernels::adam_cpu(separate, scalars(), isa, pool_); });
                     }});
    }
    all.push_back({"torch fused, with casts", 28.0, [this] {
                     return seconds_of([this] { arrays_->torch_fused_with_casts(); });
                   }});
    all.push_back({"torch fused, fp32", 28.0, [this] {
                     return seconds_of([this] { arrays_->torch_fused(); });
                   }});
    return all;
  }

  [[nodiscard]] std::vector<Ratio> ratios() const override {
    return {{"AdamW over its streams", "separate", "separate, streams", false},
            {"split over its streams", "split", "split, streams", false},
            {"AdamW over torch with casts", "separate", "torch fused, with casts", false},
            {"split over separate", "split", "separate", false},
            {"bf16 moments over separate", "separate, bf16 moments", "separate", false},
            {"AdamW over copy, bytes", "separate", "copy", true}};
  }

  [[nodiscard]] std::vector<std::string> check() override {
    const at::Device cpu(at::kCPU);
    const AdamTensors start(kCheckedParameters, cpu);
    const auto copied = [&] {
      AdamTensors to(kCheckedParameters, cpu);
      to.master.copy_(start.master);
      to.moment1.copy_(start.moment1);
      to.moment2.copy_(start.moment2);
      to.gradient.copy_(start.gradient);
      return to;
    };
    AdamTensors separate = copied(), split = copied(), plain = copied(), torch = copied();
    const auto first = kernels::make_adam_scalars(kHyper, 1, 1, 1.0F);
    kernels::split_master_cpu(split.master.data_ptr<float>(),
                              static_cast<std::uint16_t*>(split.parameter.data_ptr()),
                              split.lower.data_ptr<std::int16_t>(),
                              kCheckedParameters,
                              pool_);
    kernels::adam_cpu(separate.separate(), first, kernels::best_isa(), pool_);
    kernels::adam_cpu(split.split(), first, kernels::best_isa(), pool_);
    kernels::adam_cpu(plain.separate(), first, Isa::kScalar, pool_);
    torch.torch_fused_with_casts();
    if (!same_bits(separate.parameter, split.parameter) ||
        !same_bits(separate.moment1, split.moment1) ||
        !same_bits(separate.moment2, split.moment2)) {
      throw std::runtime_error("the split form differs from the separate one");
    }
    if (!same_bits(separate.master, plain.master) ||
        !same_bits(separate.parameter, plain.parameter)) {
      throw std::runtime_error("instruction sets differ");
    }
    const double off = largest_difference(torch.master, separate.master);
    if (!(off < kTorchTolerance)) {
      throw std::runtime_error("AdamW differs from torch's by " + std::to_string(off));
    }
    return {"split and separate: same bits",
            std::string(name_of(kernels::best_isa())) + " and scalar: same bits",
            "torch's fused AdamW: equal within 2e-6 of each value"};
  }

 private:
  [[nodiscard]] static kernels::AdamScalars scalars() {
    return kernels::make_adam_scalars(kHyper, 10, 1, 1.0F);
  }

  kernels::ThreadPool pool_;
  std::unique_ptr<AdamTensors> arrays_;
  std::size_t n_;
};

}  // namespace

std::unique_ptr<Suite> make_cpu_suite(std::size_t parameters, int threads) {
  return std::make_unique<CpuSuite>(parameters, threads);
}

}  // namespace elixir::benchmarks
