// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Steps whose tasks begin at other times than usual give the same bits: kernels that spin for a
// random time come before tasks of the GPU's streams, and lanes sleep before tasks. Whatever holds
// nothing any more is filled with NaN meanwhile, so a task that comes too early or too late reads
// NaN or is overwritten. Skipped without a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/units.h"
#include "runtime/training.h"
#include "tests/gpu/spin.h"

namespace elixir::runtime {
namespace {

constexpr std::int64_t kSteps = 200;
constexpr std::int64_t kTokens = 512;

int compute_capability() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 0;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 0;
  return properties.major * 10 + properties.minor;
}

/// Delays tasks. For some hundred tasks one stream is slow, then another; the rest now and then
/// waits a little.
class Delays {
 public:
  explicit Delays(std::uint64_t seed) : seed_(seed) {}

  void before(const schedule::Task& task, CUstream_st* stream) {
    constexpr std::uint64_t kTasksInPeriod = 500;
    constexpr std::int64_t kLongNs = 200'000, kShortNs = 20'000;
    const std::uint64_t count = tasks_.fetch_add(1);
    const auto slow_stream =
        static_cast<schedule::Stream>(mixed(count / kTasksInPeriod) % schedule::kStreamCount);
    const bool slow = task.stream == slow_stream;
    const std::uint64_t drawn = mixed(~count);
    if (drawn % 8 >= (slow ? 6 : 1)) return;
    const auto ns = static_cast<std::int64_t>((drawn >> 8) % (slow ? kLongNs : kShortNs));
    if (stream != nullptr && (drawn & 16) != 0) {
      test::spin_cuda(ns, nullptr, 0, stream);
      ++spins_;
    } else {
      std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
      ++sleeps_;
    }
  }
  [[nodiscard]] int spins() const { return spins_; }
  [[nodiscard]] int sleeps() const { return sleeps_; }

 private:
  /// splitmix64
  [[nodiscard]] std::uint64_t mixed(std::uint64_t value) const {
    std::uint64_t x = (value + seed_) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  std::uint64_t seed_;
  std::atomic<std::uint64_t> tasks_{0};
  std::atomic<int> spins_{0}, sleeps_{0};
};

struct Layout {
  std::string name;
  Placement placement;
  std::size_t offload_nth = 0;  ///< every nth activation on the host; 0: none
};

std::vector<Layout> layouts() {
  const auto with = [](Placement placement, int micro_batches, bool clips) {
    placement.accumulation_steps = micro_batches;
    placement.clips = clips;
    return placement;
  };
  Placement streamed_to_device = with(kStreamedUpdates, 1, true);
  streamed_to_device.parameters = plan::Home::kDevice;
  return {
      {"on_the_host_three_micro_batches_clipped_offloaded", with(kAllOnHost, 3, true), 2},
      {"on_the_host_not_clipped", with(kAllOnHost, 1, false)},
      {"streamed_two_micro_batches", with(kStreamedUpdates, 2, true), 1},
      {"streamed_to_the_device", streamed_to_device},
      {"late_moments", with(kLateMoments, 1, true)},
      {"late_moments_with_kept_gradients", with(kKeptGradients, 1, true)},
      {"late_moments_of_two_steps", with(kMomentsTogether, 1, true)},
      {"on_the_device_clipped_offloaded", with(kAllOnDevice, 1, true), 1},
      {"optimizer_on_the_host", with(kOptimizerOnHost, 2, true)},
  };
}

/// Losses and all state, as bits.
struct Bits {
  std::vector<std::string> losses;
  std::map<std::string, std::string> state;
};

class DelaysOnGpu : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    const int sm = compute_capability();
    if (sm == 0) GTEST_SKIP() << "no GPU";
    model_ = std::make_unique<TestModel>(
        model_path("gpt2-tiny-bf16"), kTokens, program::Target{program::Target::Kind::kCuda, sm});
    if (GetParam().offload_nth > 0) model_->offload(GetParam().offload_nth, 1 << 14);
    plan_ = model_->plan(GetParam().placement);
    plan_.budgets.gpu_memory_bytes = 8_GiB;  // the prediction lacks the kernels' workspaces
  }

  /// Each step is started before the last one has ended. With `delays` memory is poisoned, too.
  [[nodiscard]] Bits train(Delays* delays) const {
    TrainerOptions options;
    options.device = DeviceKind::kCuda;
    options.optimizer = {.weight_decay = 0.1, .no_decay = {"*bias"}};
    options.optimizer.clip_norm = GetParam().placement.clips ? 0.5 : 0.0;
    options.seed = 11;
    options.deterministic = true;
    options.poison_evicted = delays != nullptr;
    if (delays != nullptr) {
      options.before_task = [delays](const schedule::Task& task, void* stream) {
        delays->before(task, static_cast<CUstream_st*>(stream));
      };
    }
    Trainer trainer(model_->captured(), plan_, options, model_->weights());
    Bits bits;
    std::optional<PendingStep> before;
    const auto finish = [&] {
      if (!before) return;
      for (const float loss : before->report().micro_losses) bits.losses.push_back(bits_of(loss));
    };
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      PendingStep next =
          trainer.step(model_->batch(step, GetParam().placement.accumulation_steps), 1e-3);
      finish();
      before = std::move(next);
    }
    finish();
    for (const program::Parameter& parameter : trainer.program().parameters) {
      for (const StatePart part :
           {StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2}) {
        const at::Tensor value = trainer.state(parameter.name, part);
        if (!value.defined()) continue;
        bits.state[parameter.name] +=
            std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
      }
    }
    return bits;
  }

  std::unique_ptr<TestModel> model_;
  plan::Plan plan_;
};

TEST_P(DelaysOnGpu, TwoHundredStepsWithRandomDelaysGiveTheSameBits) {
  const Bits expected = train(nullptr);
  for (const std::uint64_t seed : {1U, 2U}) {
    SCOPED_TRACE(seed);
    Delays delays(seed);
    const Bits delayed = train(&delays);
    EXPECT_GT(delays.spins(), 1000);
    EXPECT_GT(delays.sleeps(), 1000);
    EXPECT_EQ(delayed.losses, expected.losses);
    ASSERT_EQ(delayed.state.size(), expected.state.size());
    for (const auto& [name, bytes] : expected.state) {
      EXPECT_TRUE(delayed.state.at(name) == bytes) << name << " differs";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts,
                         DelaysOnGpu,
                         testing::ValuesIn(layouts()),
                         [](const testing::TestParamInfo<Layout>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace elixir::runtime
