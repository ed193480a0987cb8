// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The steps under way on a device with lanes (one thread per stream), at most two. A task waits for
// tasks of other lanes, of its own step and of the one before. A failure ends every step.
//
// The caller's thread begins, issues and ends; lanes run tasks. The caller must wait until every
// lane is idle before it ends a step: no task may run later than the step that it waits for,
// because that step's memory is used again.

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/device/task_board.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

/// What the lanes share about a step. A device adds its own.
struct LaneStep {
  TaskBoard board;
  std::vector<const schedule::Task*> issued;
  std::vector<schedule::Stream> streams;  ///< by task id; written before the task goes to its lane
};

template <class Step>
class StepsUnderWay {
 public:
  /// Both, under way or not.
  [[nodiscard]] std::array<Step, 2>& all() { return steps_; }
  [[nodiscard]] std::size_t count() const { return under_way_; }
  [[nodiscard]] Step& newest() { return *newest_; }
  [[nodiscard]] Step& oldest() { return under_way_ > 1 ? *before_ : *newest_; }
  /// The step before the newest. nullptr when it is not under way.
  [[nodiscard]] Step* before() { return under_way_ > 1 ? before_ : nullptr; }

  /// Begins a step with tasks of ids below `tasks`.
  Step& begin(std::size_t tasks) {
    require(under_way_ < steps_.size(), "more steps under way than there may be");
    if (under_way_ > 0) {
      std::swap(newest_, before_);
    } else {
      before_->board.reset(0);  // it may hold an old failure
    }
    ++under_way_;
    newest_->board.reset(tasks);
    newest_->issued.clear();
    newest_->streams.assign(tasks, schedule::Stream::kCompute);
    // A lane may have failed the step before since its last task was issued; this board has forgotten it.
    if (under_way_ > 1 && before_->board.failed()) newest_->board.fail(nullptr);
    return *newest_;
  }
  /// The next task of the newest step, before it goes to its lane.
  void add(const schedule::Task& task) {
    newest_->streams[task.id] = task.stream;
    newest_->issued.push_back(&task);
  }
  void end_oldest() { --under_way_; }

  /// On the task's lane: waits for what the task waits for, then calls `work`. Failures go to the
  /// step's board. `before` is the step before, if that is under way. `await(step, id)` waits for a
  /// task of another stream, or lets the task's stream wait for it.
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
      step.board.settle(static_cast<std::size_t>(task.id));
    } catch (const TaskBoard::Abandoned&) {  // another lane has reported the failure
    } catch (...) {
      // A failure ends every step under way.
      step.board.fail(std::current_exception());
      fail_all();
    }
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
  /// No further task begins. forget() must follow when every lane is idle.
  void fail_all() {
    for (Step& step : steps_) step.board.fail(nullptr);
  }
  void forget() { under_way_ = 0; }

 private:
  std::array<Step, 2> steps_;
  Step *newest_ = steps_.data(), *before_ = steps_.data() + 1;
  std::size_t under_way_ = 0;
};

}  // namespace elixir::runtime
