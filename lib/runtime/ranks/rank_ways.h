// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Owns everything between this rank and the others: two ways and signs of life, and what those tell
// of this rank's tasks. It ends before its process does, so that the others see that.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/ranks/heartbeat.h"
#include "runtime/ranks/task_recorder.h"

namespace elixir::runtime {

class RankWays {
 public:
  /// Connected sockets by rank, of three meshes; -1 for the own rank. Takes them over.
  RankWays(int rank, std::vector<int> steps, std::vector<int> control, std::vector<int> beats);
  [[nodiscard]] Ranks ranks() const {
    return {.steps = steps_.get(), .control = control_.get(), .recorder = recorder_.get()};
  }
  [[nodiscard]] const TaskRecorder& recorder() const { return *recorder_; }
  /// See Heartbeat::when_overdue().
  void when_overdue(std::function<void(const std::string& loss)> action,
                    std::chrono::milliseconds patience) const {
    heartbeat_->when_overdue(std::move(action), patience);
  }
  /// Lets the other ranks know why this one ends, unless it ends because of another.
  void say_failure(const std::string& why) const { heartbeat_->say_failure(why); }

 private:
  std::unique_ptr<TaskRecorder> recorder_;
  std::unique_ptr<Heartbeat> heartbeat_;
  std::unique_ptr<Communicator> steps_, control_;
};

}  // namespace elixir::runtime
