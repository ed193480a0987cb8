// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Every order of tasks that a schedule's streams and dependencies allow gives the same bits. Steps
// overlap: each one starts before the last one has ended.
#include <ATen/Parallel.h>
#include <ATen/ops/full_like.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/interrupt.h"
#include "replay/counting_allocator.h"
#include "runtime/trainer_internals.h"
#include "runtime/training.h"
#include "schedule/reordered.h"

namespace elixir::runtime {
namespace {

constexpr program::Target kCpu{program::Target::Kind::kCpu, 0};
constexpr CpuOrder kLanes{CpuOrder::Kind::kLanes};

CpuOrder shuffled(std::uint64_t seed) {
  return {CpuOrder::Kind::kShuffled, seed};
}

/// A placement, with every nth activation on the host (0: none).
struct Layout {
  std::string name;
  Placement placement;
  std::size_t offload_nth = 0;
};

std::vector<Layout> layouts() {
  using plan::Home;
  const auto with = [](Placement placement, int accumulation_steps, bool clips) {
    placement.accumulation_steps = accumulation_steps;
    placement.clips = clips;
    return placement;
  };
  Placement streamed_to_device = kStreamedUpdates;
  streamed_to_device.parameters = Home::kDevice;
  Placement streamed_without_norm = kStreamedUpdates;
  streamed_without_norm.clips = false;
  return {
      {"on_the_host", kAllOnHost},
      {"on_the_host_clipped", with(kAllOnHost, 1, true)},
      {"on_the_host_two_micro_batches", with(kAllOnHost, 2, false)},
      {"on_the_host_two_micro_batches_clipped", with(kAllOnHost, 2, true)},
      {"on_the_device", with(kAllOnDevice, 2, true)},
      {"optimizer_on_the_host", with(kOptimizerOnHost, 1, true)},
      {"gradients_and_optimizer_on_the_host",
       with({Home::kDevice, Home::kHost, Home::kHost}, 2, false)},
      {"parameters_on_the_host", with({Home::kHost, Home::kDevice, Home::kDevice}, 1, false)},
      {"streamed", kStreamedUpdates},
      {"streamed_without_norm", streamed_without_norm},
      {"streamed_to_the_device", streamed_to_device},
      {"late_moments", kLateMoments},
      {"late_moments_with_kept_gradients", kKeptGradients},
      {"late_moments_of_two_steps", kMomentsTogether},
      {"late_moments_two_micro_batches", with(kLateMoments, 2, true)},
      {"offloaded", kAllOnHost, 1},
      {"offloaded_to_memory_of_gradients", with(kAllOnDevice, 1, true), 1},
      {"some_offloaded_two_micro_batches_clipped", with(kAllOnHost, 2, true), 2},
  };
}

/// The losses and all state after some steps, as bits.
struct Bits {
  std::vector<std::string> losses;
  std::map<std::string, std::string> state;
  bool operator==(const Bits&) const = default;
};

/// A model with a plan for a layout.
class PlacedModel {
 public:
  PlacedModel(const std::string& name, const Layout& layout)
      : model_(model_path(name), 10, kCpu), placement_(layout.placement) {
    if (layout.offload_nth > 0) model_.offload(layout.offload_nth, 1 << 12);
    plan_ = model_.plan(placement_);
  }

  [[nodiscard]] const TestModel& model() const { return model_; }
  [[nodiscard]] schedule::Schedule schedule() const {
    return model_.lower(plan_, placement_.clips);
  }
  [[nodiscard]] std::vector<std::string> problems(const schedule::Schedule& schedule) const {
    return schedule::check(schedule, model_.program(), plan_);
  }
  [[nodiscard]] std::unique_ptr<Trainer> trainer(const CpuOrder& order,
                                                 const TaskHook& before_task = {}) const {
    TrainerOptions options;
    options.optimizer = {.weight_decay = 0.1, .no_decay = {"*bias"}};
    options.optimizer.clip_norm = placement_.clips ? 0.5 : 0.0;
    options.seed = 11;
    options.cpu_threads = at::get_num_threads();
    options.poison_evicted = true;
    options.cpu_order = order;
    options.before_task = before_task;
    return std::make_unique<Trainer>(model_.captured(), plan_, options, model_.weights());
  }
  [[nodiscard]] PendingStep step(Trainer& trainer, std::int64_t step) const {
    return trainer.step(model_.batch(step, placement_.accumulation_steps), 3e-3);
  }
  /// Three steps from the start. `issued` replaces the schedule.
  [[nodiscard]] Bits train(const CpuOrder& order,
                           const std::optional<schedule::Schedule>& issued = {},
                           const TaskHook& before_task = {}) const {
    const std::unique_ptr<Trainer> trainer = this->trainer(order, before_task);
    if (issued) TrainerInternals::replace_schedule(*trainer, *issued);
    Bits bits;
    std::optional<PendingStep> before;
    const auto finish = [&] {
      if (!before) return;
      const StepReport report = before->report();
      for (const float loss : report.micro_losses) bits.losses.push_back(bits_of(loss));
      EXPECT_EQ(report.memory.peak_device_bytes, plan_.predicted.peak_allocated_bytes);
    };
    for (std::int64_t i = 1; i <= 3; ++i) {
      PendingStep next = step(*trainer, i);
      finish();
      before = std::move(next);
    }
    finish();
    for (const program::Parameter& parameter : trainer->program().parameters) {
      for (const StatePart part :
           {StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2}) {
        const at::Tensor value = trainer->state(parameter.name, part);
        if (!value.defined()) continue;
        bits.state[parameter.name] +=
            std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
      }
    }
    return bits;
  }

 private:
  TestModel model_;
  Placement placement_;
  plan::Plan plan_;
};

class CpuOrders : public testing::Test {
 protected:
  void SetUp() override {
    threads_before_ = at::get_num_threads();
    at::set_num_threads(1);
  }
  void TearDown() override { at::set_num_threads(threads_before_); }

 private:
  int threads_before_ = 1;
};

TEST_F(CpuOrders, LanesAndDeferredTasksGiveTheBitsOfTheIssueOrder) {
  const std::vector<Layout> all = layouts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::string name : {"gpt2-tiny-bf16", "resnet-tiny"}) {
      if (name == "resnet-tiny" && i % 3 != 0) continue;
      SCOPED_TRACE(name + ", " + all[i].name);
      const PlacedModel placed(name, all[i]);
      const Bits expected = placed.train({});
      EXPECT_TRUE(placed.train(kLanes) == expected);
      EXPECT_TRUE(placed.train(shuffled(i)) == expected);
    }
  }
}

/// As on a GPU (tests/gpu/delays_test.cc), with lanes alone.
TEST_F(CpuOrders, LanesThatSleepBeforeTasksGiveTheSameBits) {
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const PlacedModel placed("gpt2-smallest", layout);
    std::atomic<std::uint64_t> tasks{0};
    std::atomic<int> sleeps{0};
    const TaskHook sleep = [&](const schedule::Task& task, void* stream) {
      EXPECT_EQ(stream, nullptr);
      const std::uint64_t drawn =
          (tasks.fetch_add(1) + static_cast<std::uint64_t>(task.id)) * 0x9E3779B97F4A7C15U >> 32;
      if (drawn % 4 != 0) return;
      ++sleeps;
      std::this_thread::sleep_for(std::chrono::microseconds(drawn / 4 % 100));
    };
    EXPECT_TRUE(placed.train(kLanes, {}, sleep) == placed.train({}));
    EXPECT_GT(sleeps, 20);
  }
}

/// Random orders give the bits of `lowered`: out of a thousand, every `apart`-th from `first` on.
void expect_equal_bits(const PlacedModel& placed,
                       const schedule::Schedule& lowered,
                       std::uint64_t first,
                       std::uint64_t apart) {
  const Bits expected = placed.train({});
  for (std::uint64_t seed = first; seed < 1000; seed += apart) {
    const schedule::Schedule issued = fakes::reordered(lowered, seed);
    ASSERT_EQ(placed.problems(issued), std::vector<std::string>{}) << "seed " << seed;
    ASSERT_TRUE(placed.train(shuffled(seed), issued) == expected) << "seed " << seed;
    if (seed % 16 == 0) {
      ASSERT_TRUE(placed.train(kLanes, issued) == expected) << "lanes, seed " << seed;
    }
  }
}

TEST_F(CpuOrders, AThousandRandomOrdersGiveTheSameBits) {
  const std::vector<Layout> all = layouts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    const PlacedModel placed("gpt2-smallest", all[i]);
    expect_equal_bits(placed, placed.schedule(), i, all.size());
  }
}

/// The schedule with no more dependencies than the checker asks for.
schedule::Schedule barest(const PlacedModel& placed) {
  schedule::Schedule schedule = placed.schedule();
  for (const fakes::Dependency& dependency : fakes::dependencies(schedule)) {
    schedule::Schedule fewer = fakes::without(schedule, dependency);
    if (placed.problems(fewer).empty()) schedule = std::move(fewer);
  }
  return schedule;
}

/// What the checker asks for is enough, whatever else lowering adds.
TEST_F(CpuOrders, TheDependenciesThatTheCheckerAsksForAreEnough) {
  const std::vector<Layout> all = layouts();
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    const PlacedModel placed("gpt2-smallest", all[i]);
    const schedule::Schedule bare = barest(placed);
    left_out += fakes::dependencies(placed.schedule()).size() - fakes::dependencies(bare).size();
    expect_equal_bits(placed, bare, i, all.size());
  }
  EXPECT_GT(left_out, 0U);
}

/// What a dependency is for: who waits, and for whom.
std::string text_of(const fakes::Dependency& dependency, const schedule::Schedule& schedule) {
  const auto text = [&](schedule::TaskId id) {
    const schedule::Task& task = schedule.tasks[static_cast<std::size_t>(id)];
    return fmt::format("{} {} ({})", name_of(task.kind), id, name_of(task.stream));
  };
  return fmt::format("{} after {}{}",
                     text(dependency.task),
                     text(dependency.on),
                     dependency.previous ? " of the step before" : "");
}

/// Whether the CPU device shows what goes wrong without the dependency.
bool shows(const fakes::Dependency& dependency, const schedule::Schedule& schedule) {
  using schedule::TaskKind;
  const schedule::Task& task = schedule.tasks[static_cast<std::size_t>(dependency.task)];
  const schedule::Task& on = schedule.tasks[static_cast<std::size_t>(dependency.on)];
  // Compute tasks run when they are issued, so those of the step before have.
  if (dependency.previous && on.stream == schedule::Stream::kCompute) return false;
  // The step before is settled (schedule.h) when state is loaded, so it has ended.
  if (dependency.previous && task.kind == TaskKind::kLoadState) return false;
  // What leaves for the host was made by earlier ranges, and nothing writes it again: a copy that
  // begins before the program says so is the same.
  if (task.kind == TaskKind::kOffload && on.kind == TaskKind::kCompute) return false;
  // The copy's memory may be the system's again by then.
  return task.kind != TaskKind::kCompute ||
         (on.kind != TaskKind::kStoreGradient && on.kind != TaskKind::kReadLoss &&
          on.kind != TaskKind::kOffload && on.kind != TaskKind::kReload);
}

/// Orders that could not fail would prove nothing. Every dependency is left out once. Where the
/// checker calls this a mistake, one of the first orders gives other bits or fails.
TEST_F(CpuOrders, EveryDependencyThatIsLeftOutIsNoticed) {
  std::size_t tried = 0;
  for (const Layout& layout : layouts()) {
    SCOPED_TRACE(layout.name);
    const PlacedModel placed("gpt2-smallest", layout);
    const schedule::Schedule lowered = placed.schedule();
    const Bits expected = placed.train({});
    for (const fakes::Dependency& dependency : fakes::dependencies(lowered)) {
      const schedule::Schedule broken = fakes::without(lowered, dependency);
      // Other tasks between the two may order them all the same.
      if (!shows(dependency, lowered) || placed.problems(broken).empty()) continue;
      ++tried;
      bool noticed = false;
      for (std::uint64_t seed = 0; seed < 100 && !noticed; ++seed) {
        try {
          noticed = placed.train(shuffled(seed), fakes::reordered(broken, seed)) != expected;
        } catch (const Error&) {
          noticed = true;  // a value that is not finite, a storage that is not there
        }
      }
      EXPECT_TRUE(noticed) << text_of(dependency, lowered);
    }
  }
  EXPECT_GT(tried, 1000U);
}

// --- Failures ------------------------------------------------------------------------------------

std::vector<CpuOrder> overlapping_orders() {
  return {kLanes, shuffled(0), shuffled(1), shuffled(2), shuffled(3)};
}

/// With everything on the host, clipped or not.
PlacedModel smallest(bool clips) {
  Placement placement = kAllOnHost;
  placement.clips = clips;
  return {"gpt2-smallest", {"on the host", placement}};
}

/// The message of the error with this code that `act` throws.
std::string message_of(ErrorCode code, const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, code);
    return error.info().message;
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST_F(CpuOrders, AFailureIsThrownByTheNextStepAndNamesItsOwn) {
  for (const bool clips : {false, true}) {
    const PlacedModel placed = smallest(clips);
    const std::string expected = fmt::format("the update of `{}` in step 2 is not finite",
                                             placed.model().program().parameters.front().name);
    for (const CpuOrder& order : overlapping_orders()) {
      SCOPED_TRACE(fmt::format("order {}, seed {}", static_cast<int>(order.kind), order.seed));
      const auto trainer = placed.trainer(order);
      const PendingStep first = placed.step(*trainer, 1);
      const PendingStep bad = trainer->step(placed.model().batch(2, 1), 1e38);
      const auto third = [&] { static_cast<void>(placed.step(*trainer, 3)); };
      EXPECT_EQ(message_of(ErrorCode::kNotFinite, third), expected);
      EXPECT_EQ(message_of(ErrorCode::kNotFinite, [&] { bad.wait(); }), expected);
      EXPECT_GT(first.report().loss, 0.0);
      EXPECT_EQ(trainer->steps_done(), 1);
    }
  }
}

/// The norm is known while the caller issues, waits for losses or waits for the end: which of these
/// throws depends on the order.
TEST_F(CpuOrders, AGradientNormThatIsNotFiniteNamesItsStepWhoeverSeesItFirst) {
  const PlacedModel placed = smallest(/*clips=*/true);
  for (std::uint64_t seed = 0; seed <= 40; ++seed) {
    const CpuOrder order = seed == 40 ? kLanes : shuffled(seed);
    SCOPED_TRACE(fmt::format("order {}, seed {}", static_cast<int>(order.kind), order.seed));
    const auto trainer = placed.trainer(order);
    placed.step(*trainer, 1).wait();
    // The last norm's weight scales the logits. The loss stays finite, but its gradients do not.
    const std::string name = "transformer.ln_f.weight";
    const at::Tensor weight = trainer->state(name, StatePart::kParameter);
    trainer->set_state(name, StatePart::kParameter, at::full_like(weight, 1e30));
    const auto before = weights_of(*trainer);
    const std::string message = message_of(ErrorCode::kNotFinite, [&] {
      const PendingStep bad = placed.step(*trainer, 2);
      try {
        EXPECT_GT(bad.loss(), 0.0);
      } catch (const Error&) {
        bad.wait();  // throws the same
      }
      static_cast<void>(placed.step(*trainer, 3));
    });
    EXPECT_NE(message.find("gradient"), std::string::npos) << message;
    EXPECT_NE(message.find("step 2"), std::string::npos) << message;
    EXPECT_EQ(trainer->steps_done(), 1);
    EXPECT_TRUE(weights_of(*trainer) == before);
  }
}

TEST_F(CpuOrders, AStepBeyondTheLimitFailsCleanlyAndTheNextOneWorks) {
  const PlacedModel placed = smallest(/*clips=*/true);
  const Bits expected = placed.train({});
  for (const CpuOrder& order : overlapping_orders()) {
    SCOPED_TRACE(fmt::format("order {}, seed {}", static_cast<int>(order.kind), order.seed));
    const auto trainer = placed.trainer(order);
    const std::int64_t limit = trainer->plan().predicted.peak_allocated_bytes;
    const std::int64_t statics = replay::DeviceAccount::instance().charged_bytes();
    TrainerInternals::set_device_limit(*trainer, limit - 1);
    message_of(ErrorCode::kOutOfMemory, [&] { placed.step(*trainer, 1).wait(); });
    EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), statics);
    EXPECT_EQ(trainer->steps_done(), 0);
    TrainerInternals::set_device_limit(*trainer, limit);
    EXPECT_EQ(bits_of(placed.step(*trainer, 1).report().micro_losses.front()),
              expected.losses.front());
  }
}

/// Whoever stops between two steps leaves one under way.
TEST_F(CpuOrders, AnInterruptEndsATrainerWithAStepUnderWay) {
  const PlacedModel placed = smallest(/*clips=*/false);
  const Bits expected = placed.train({});
  const std::int64_t charged = replay::DeviceAccount::instance().charged_bytes();
  for (const CpuOrder& order : overlapping_orders()) {
    SCOPED_TRACE(fmt::format("order {}, seed {}", static_cast<int>(order.kind), order.seed));
    EXPECT_THROW(
        {
          const auto trainer = placed.trainer(order);
          const PendingStep first = placed.step(*trainer, 1);
          const PendingStep second = placed.step(*trainer, 2);
          throw Interrupted();
        },
        Interrupted);
    EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), charged);
    EXPECT_TRUE(placed.train(order) == expected);
  }
}

}  // namespace
}  // namespace elixir::runtime
