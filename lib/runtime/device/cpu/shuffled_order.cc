// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Random orders of tasks, for tests. Each stream but compute has a queue. Between two issued tasks
// some of the queues' heads run, as far as their dependencies allow. A compute task runs when it is
// issued, and what it depends on before it. No threads, so a seed that finds a mistake finds it
// again.
#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/device/cpu/task_order.h"
#include "runtime/device/host_clock.h"

namespace elixir::runtime {
namespace {

using schedule::Stream;
using schedule::TaskId;

/// A step between begin_step() and end_step().
struct ShuffledStep {
  StepTimes times;
  std::vector<bool> done;       ///< by task id
  std::vector<Stream> streams;  ///< by task id, of those issued
};

class ShuffledOrder final : public TaskOrder {
 public:
  ShuffledOrder(StreamOperations& operations, std::uint64_t seed)
      : operations_(operations), random_(seed) {
    const double often = share();
    for (double& eagerness : eagerness_) {
      switch (seed % 4) {
        case 0:
          eagerness = 0;
          break;
        case 1:
          eagerness = 1;
          break;
        case 2:
          eagerness = often;
          break;
        default:
          eagerness = share() < 0.5 ? 0 : share();
      }
    }
  }

  void begin_step(std::size_t tasks) override {
    require(steps_.size() < 2, "more steps under way than there may be");
    ShuffledStep& step = steps_.emplace_back();
    step.times.tasks.assign(tasks, {});
    step.times.begin_ns = step.times.end_ns = clock_.now_ns();
    step.done.assign(tasks, false);
    step.streams.assign(tasks, Stream::kCompute);
  }

  void issue(const schedule::Task& task, Body body) override {
    const std::int64_t step = newest();
    const Stream stream = lane_of(task.stream);
    steps_.back().streams.at(task.id) = stream;
    Queued queued{&task, step, std::move(body)};
    if (stream == Stream::kCompute) {
      Needs needs;
      add_needs_of(queued, needs);
      run_needs(needs);
      run_some();
      run(queued);
    } else {
      queue(stream).push_back(std::move(queued));
    }
    run_some();
  }

  void wait_for(TaskId task) override {
    Needs needs;
    add_need(newest(), task, needs);
    run_needs(needs);
    run_some();
  }
  void wait_idle() override {
    Needs needs;
    for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
      needs[stream] = queues_[stream].size();
    }
    run_needs(needs);
  }

  StepTimes end_step() override {
    require(!steps_.empty(), "no step is under way");
    Needs needs;
    for (std::size_t id = 0; id < steps_.front().done.size(); ++id) {
      add_need(first_, static_cast<TaskId>(id), needs);
    }
    run_needs(needs);
    run_some();
    StepTimes times = std::move(steps_.front().times);
    steps_.pop_front();
    ++first_;
    return times;
  }
  void abandon_steps() noexcept override {
    for (std::deque<Queued>& waiting : queues_) waiting.clear();
    first_ += static_cast<std::int64_t>(steps_.size());
    steps_.clear();
  }

 private:
  struct Queued {
    const schedule::Task* task;
    std::int64_t step;
    Body body;
  };
  /// By stream: how many of its queued tasks must run.
  struct Needs : std::array<std::size_t, schedule::kStreamCount> {
    Needs() { fill(0); }
  };

  std::deque<Queued>& queue(Stream stream) { return queues_[static_cast<std::size_t>(stream)]; }
  [[nodiscard]] std::int64_t newest() const {
    return first_ + static_cast<std::int64_t>(steps_.size()) - 1;
  }
  ShuffledStep& at(std::int64_t step) { return steps_[static_cast<std::size_t>(step - first_)]; }
  bool done(std::int64_t step, TaskId task) { return step < first_ || at(step).done.at(task); }

  bool ready(const Queued& queued) {
    const auto all_done = [&](const std::vector<TaskId>& tasks, std::int64_t step) {
      return std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) { return done(step, task); });
    };
    return all_done(queued.task->after, queued.step) &&
           all_done(queued.task->after_previous, queued.step - 1);
  }

  void add_needs_of(const Queued& queued, Needs& needs) {
    for (const TaskId id : queued.task->after) add_need(queued.step, id, needs);
    for (const TaskId id : queued.task->after_previous) add_need(queued.step - 1, id, needs);
  }
  /// The task, if it is still queued, those before it on its stream, and what all of these need.
  void add_need(std::int64_t step, TaskId task, Needs& needs) {
    if (done(step, task)) return;
    const Stream stream = at(step).streams.at(task);
    const std::deque<Queued>& waiting = queue(stream);
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const Queued& queued) {
      return queued.step == step && queued.task->id == task;
    });
    if (found == waiting.end()) return;  // never issued, as in a test's broken schedule
    const auto end = static_cast<std::size_t>(found - waiting.begin()) + 1;
    std::size_t& needed = needs[static_cast<std::size_t>(stream)];
    while (needed < end) add_needs_of(waiting[needed++], needs);
  }

  /// Runs what is needed, in a random order, and other tasks in between.
  void run_needs(Needs needs) {
    for (;;) {
      std::vector<std::size_t> choices;
      bool finished = true;
      for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
        if (needs[stream] > 0) finished = false;
        if (queues_[stream].empty() || !ready(queues_[stream].front())) continue;
        if (needs[stream] > 0 || share() < eagerness_[stream]) choices.push_back(stream);
      }
      if (finished) return;
      require(!choices.empty(), "a task waits for one that was not issued");
      const std::size_t stream = choices[random_() % choices.size()];
      if (needs[stream] > 0) --needs[stream];
      run_head(stream);
    }
  }
  /// Runs what need not run yet: as much as the streams' eagerness says.
  void run_some() {
    for (;;) {
      std::vector<std::size_t> choices;
      for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
        if (queues_[stream].empty() || share() >= eagerness_[stream]) continue;
        if (ready(queues_[stream].front())) choices.push_back(stream);
      }
      if (choices.empty()) return;
      run_head(choices[random_() % choices.size()]);
    }
  }
  void run_head(std::size_t stream) {
    Queued queued = std::move(queues_[stream].front());
    queues_[stream].pop_front();
    run(queued);
  }
  void run(Queued& queued) {
    StepTimes& times = at(queued.step).times;
    const double start_ns = clock_.now_ns();
    queued.body(operations_);
    times.end_ns = clock_.now_ns();
    times.tasks[queued.task->id] = {start_ns - times.begin_ns, times.end_ns - times.begin_ns};
    at(queued.step).done[queued.task->id] = true;
  }
  /// In [0, 1), the same with every standard library.
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  StreamOperations& operations_;
  HostClock clock_;
  std::mt19937_64 random_;
  /// By stream: how likely a task that may run does run between two others.
  std::array<double, schedule::kStreamCount> eagerness_{};
  std::deque<ShuffledStep> steps_;  ///< oldest first
  std::int64_t first_ = 0;          ///< number of the oldest step, or of the next one
  std::array<std::deque<Queued>, schedule::kStreamCount> queues_;
};

}  // namespace

std::unique_ptr<TaskOrder> make_shuffled_order(StreamOperations& operations, std::uint64_t seed) {
  return std::make_unique<ShuffledOrder>(operations, seed);
}

}  // namespace elixir::runtime
