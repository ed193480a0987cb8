// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The steps under way on a device with lanes (one thread per stream), at most two. A task waits for
// tasks of other lanes, of its own step and of the one before. A failure ends every step.
//
// The caller's thread begins, issues and ends; lanes run tasks. The caller must wait until every
// task has ended before it ends a step: no task may run later than the step that it waits for,
// because that step's memory is used again.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/device/lane.h"
#include "runtime/device/task_board.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

/// What the lanes share about a step. A device adds its own.
struct LaneStep {
  TaskBoard board;
  std::vector<const schedule::Task*> issued;
  std::vector<schedule::Stream> streams;  ///< by task id; written before the task goes to its lane
  /// By stream: the last job that the step gave to the stream's lane; 0: none.
  std::array<std::uint64_t, schedule::kStreamCount> last_jobs{};
};

template <class Step>
class StepsUnderWay {
 public:
  /// All, under way or not.
  [[nodiscard]] auto& all() { return steps_; }
  [[nodiscard]] std::size_t count() const { return under_way_; }
  [[nodiscard]] Step& newest() { return steps_[newest_]; }
  [[nodiscard]] Step& oldest() { return under_way_ > 1 ? steps_[back(1)] : newest(); }
  /// The step before the newest. nullptr when it is not under way.
  [[nodiscard]] Step* before() { return under_way_ > 1 ? &steps_[back(1)] : nullptr; }

  /// Begins a step with tasks of ids below `tasks`.
  Step& begin(std::size_t tasks) {
    require(under_way_ < kMost, "more steps under way than there may be");
    if (under_way_ == 0) {  // boards may hold an old failure
      for (Step& step : steps_) step.board.reset(0);
    }
    newest_ = (newest_ + 1) % steps_.size();
    ++under_way_;
    Step& begun = newest();
    begun.board.reset(tasks);
    begun.issued.clear();
    begun.last_jobs.fill(0);
    begun.streams.assign(tasks, schedule::Stream::kCompute);
    // A lane may have failed the step before since its last task was issued; this board has
    // forgotten it.
    if (under_way_ > 1 && oldest().board.failed()) begun.board.fail(nullptr);
    return begun;
  }
  /// The next task of the newest step, before it goes to its lane.
  void add(const schedule::Task& task) {
    newest().streams[task.id] = task.stream;
    newest().issued.push_back(&task);
  }
  /// Gives a job of the newest step to the lane of `stream`.
  void push(schedule::Stream stream, Lane& lane, Lane::Job job) {
    newest().last_jobs[static_cast<std::size_t>(stream)] = lane.push(std::move(job));
  }
  /// Waits for the jobs of the oldest step and the ends of its tasks, or until a step has failed.
  /// Jobs of the next step may go on: late moments, for example. Asks
  /// `lane_of(stream)` for streams that were given jobs.
  template <class LaneOf>
  void wait_for_oldest(const LaneOf& lane_of) {
    Step& step = oldest();
    for (std::size_t i = 0; i < step.last_jobs.size(); ++i) {
      if (step.last_jobs[i] > 0)
        lane_of(static_cast<schedule::Stream>(i))->wait_for(step.last_jobs[i]);
    }
    try {
      for (const schedule::Task* task : step.issued) {
        step.board.wait(static_cast<std::size_t>(task->id));
      }
    } catch (const TaskBoard::Abandoned&) {  // the caller asks for failures
    }
  }
  void end_oldest() { --under_way_; }

  /// On the task's lane: waits for what the task waits for, then calls `work`. That calls settle()
  /// when the task is issued or has ended, or has another thread do so. Failures go to the step's
  /// board. `before` is the step before, if that is under way. `await(step, id)` waits for a task
  /// of another stream, or lets the task's stream wait for it.
  template <class Await, class Work>
  void run(const schedule::Task& task,
           Step& step,
           Step* before,
           const Await& await,
           const Work& work) noexcept {
    const auto wait = [&](Step& other_step, schedule::TaskId other) {
      if (other_step.streams[other] == task.stream) return;  // lanes keep their own order
      await(other_step, other);
    };
    try {
      for (const schedule::TaskId id : task.after) wait(step, id);
      if (before != nullptr) {
        for (const schedule::TaskId id : task.after_previous) wait(*before, id);
      }
      if (failed()) return;
      work();
    } catch (const TaskBoard::Abandoned&) {  // another lane has reported the failure
    } catch (...) {
      // A failure ends every step under way.
      step.board.fail(std::current_exception());
      fail_all();
    }
  }

  static void settle(Step& step, const schedule::Task& task) noexcept {
    step.board.settle(static_cast<std::size_t>(task.id));
  }

  [[nodiscard]] bool failed() const {
    return std::any_of(
        steps_.begin(), steps_.end(), [](const Step& step) { return step.board.failed(); });
  }
  void rethrow_failures() const {
    if (!failed()) return;
    for (const Step& step : steps_) {
      if (const std::exception_ptr failure = step.board.failure()) std::rethrow_exception(failure);
    }
    throw Error(ErrorCode::kInternal, "a step was abandoned without a reason");
  }
  /// No further task begins. forget() must follow when every lane is idle and every task has ended.
  void fail_all() {
    for (Step& step : steps_) step.board.fail(nullptr);
  }
  void forget() { under_way_ = 0; }

 private:
  static constexpr std::size_t kMost = 2;

  [[nodiscard]] std::size_t back(std::size_t steps) const {
    return (newest_ + steps_.size() - steps) % steps_.size();
  }

  /// In turn. One more than are under way: jobs of a step wait for tasks of the step before, which
  /// may have ended by then, while the step after has begun.
  std::array<Step, kMost + 1> steps_;
  std::size_t newest_ = 0;
  std::size_t under_way_ = 0;
};

}  // namespace elixir::runtime
