// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// One walk over the operators. Copies to the host begin where an activation is final, and end, in
// the same order, where the window has no room for them any more. Copies back begin in the order in
// which backward needs them, as early as the window allows, and end at their first reader.
#include "edit/offload.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include "core/error.h"
#include "edit/activations.h"
#include "operators/own.h"
#include "program/arguments/writes.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using operators::Movement;
using operators::movement_of;
using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

/// Where an activation stops being written, leaves forward and enters backward.
struct Stay {
  OperatorId final_at = -1;           ///< the last call of forward that writes it
  std::int32_t version = 0;           ///< after that
  OperatorId last_in_forward = -1;    ///< the last call of forward that uses it
  OperatorId first_in_backward = -1;  ///< the first operator of backward that names it
  bool written_in_backward = false;
};

/// By storage; meaningful for what forward makes.
std::vector<Stay> stays_of(const Program& program, const Lifetimes& lifetimes) {
  std::vector<Stay> stays(program.storages.size());
  for (const Operator& op : program.operators) {
    const bool executed = lifetimes.executed[op.id];
    const bool forward = op.phase == Phase::kForward;
    const auto name = [&](const TensorRef& tensor) {
      Stay& stay = stays[tensor.storage];
      if (forward && executed) stay.last_in_forward = op.id;
      if (!forward && stay.first_in_backward < 0) stay.first_in_backward = op.id;
    };
    const auto write = [&](StorageId storage, std::int32_t version) {
      Stay& stay = stays[storage];
      stay.version = std::max(stay.version, version);
      if (forward) {
        stay.final_at = op.id;
      } else {
        stay.written_in_backward = true;
      }
    };
    program::for_each_tensor(op.arguments, name);
    program::for_each_tensor(op.outputs, name);
    if (!executed) continue;
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      const bool fresh = lifetimes.storages[tensor.storage].producer == op.id;
      if (fresh || tensor.version > stays[tensor.storage].version) {
        write(tensor.storage, tensor.version);
      }
    });
    for (const TensorRef& tensor : program::unreturned_writes(op)) {
      write(tensor.storage, tensor.version + 1);
    }
  }
  return stays;
}

/// What a program says about its activations.
struct Activations {
  std::vector<Stay> stays;
  std::vector<bool> may_leave;  ///< by storage
};

std::vector<bool> may_be_offloaded(const Program& program,
                                   const Lifetimes& lifetimes,
                                   const std::vector<Stay>& stays) {
  std::vector<bool> may = made_for_the_step(program, lifetimes);
  for (std::size_t s = 0; s < may.size(); ++s) {
    const program::Storage& storage = program.storages[s];
    const Stay& stay = stays[s];
    may[s] = may[s] && !storage.on_host && storage.bytes > 0 && stay.first_in_backward >= 0 &&
             !stay.written_in_backward &&
             program.operators[lifetimes.storages[s].last_use].phase == Phase::kBackward;
  }
  // What another edit offloads leaves once.
  for (const Operator& op : program.operators) {
    if (op.name != operators::kOffloadBegin) continue;
    program::for_each_tensor(op.arguments,
                             [&](const TensorRef& tensor) { may[tensor.storage] = false; });
  }
  return may;
}

Activations activations_of(const Program& program) {
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::vector<Stay> stays = stays_of(program, lifetimes);
  std::vector<bool> may = may_be_offloaded(program, lifetimes, stays);
  return {.stays = std::move(stays), .may_leave = std::move(may)};
}

/// The first that may not leave.
std::optional<StorageId> first_that_stays(const Activations& activations,
                                          const std::vector<StorageId>& storages) {
  const auto found = std::find_if_not(storages.begin(), storages.end(), [&](StorageId s) {
    return s >= 0 && static_cast<std::size_t>(s) < activations.may_leave.size() &&
           activations.may_leave[s];
  });
  return found == storages.end() ? std::nullopt : std::optional(*found);
}

std::int64_t largest_of(const Program& program, const std::vector<StorageId>& storages) {
  std::int64_t bytes = 0;
  for (const StorageId s : storages) bytes = std::max(bytes, program.storages[s].bytes);
  return bytes;
}

/// All bytes of a storage.
TensorRef whole(const program::Storage& storage, std::int32_t version) {
  return {.storage = storage.id,
          .version = version,
          .sizes = {storage.bytes},
          .strides = {1},
          .dtype = program::DType::kUInt8};
}

class OffloadRewriter {
 public:
  OffloadRewriter(const Program& program, const std::vector<Stay>& stays, std::int64_t window_bytes)
      : stays_(stays),
        window_bytes_(window_bytes),
        trips_(program.storages.size()),
        final_at_(program.operators.size()),
        needed_at_(program.operators.size()),
        id_(program.operators.size(), -1),
        result_(program) {
    result_.operators.clear();
  }

  Program run(const Program& program, const std::vector<StorageId>& storages) {
    for (const StorageId s : storages) add_trip(s);
    std::stable_sort(coming_.begin(), coming_.end(), [this](StorageId a, StorageId b) {
      return stays_[a].first_in_backward < stays_[b].first_in_backward;
    });
    for (const Operator& op : program.operators) {
      if (op.phase == Phase::kBackward) bring_back(op);
      add_renamed(op);
      for (const StorageId s : final_at_[op.id]) begin_offload(s, op);
      end_offloads(op);
    }
    return program::with_replay_lifetimes(std::move(result_));
  }

 private:
  /// The storages of one activation on its way. -1 until they exist.
  struct Trip {
    TensorRef home;  ///< where forward made it
    TensorRef on_host;
    TensorRef returned;  ///< what backward reads
  };

  void add_trip(StorageId s) {
    Trip& trip = trips_[s];
    if (trip.home.storage >= 0) return;  // listed twice
    trip.home = whole(result_.storages[s], stays_[s].version);
    program::Storage copy = result_.storages[s];
    copy.on_host = true;
    trip.on_host = whole(add_storage(std::move(copy)), 0);
    trip.returned = whole(add_storage(result_.storages[s]), stays_[s].version);
    final_at_[stays_[s].final_at].push_back(s);
    needed_at_[stays_[s].first_in_backward].push_back(s);
    coming_.push_back(s);
  }

  const program::Storage& add_storage(program::Storage storage) {
    storage.id = static_cast<StorageId>(result_.storages.size());
    result_.storages.push_back(std::move(storage));
    return result_.storages.back();
  }

  /// Appends a movement beside `beside`.
  void add(std::string_view name,
           std::vector<program::Argument> arguments,
           std::vector<program::Argument> outputs,
           const Operator& beside) {
    result_.operators.push_back({.id = static_cast<OperatorId>(result_.operators.size()),
                                 .name = std::string(name),
                                 .phase = beside.phase,
                                 .module = beside.module,
                                 .arguments = std::move(arguments),
                                 .outputs = std::move(outputs)});
  }

  void add_renamed(Operator op) {
    id_[op.id] = static_cast<OperatorId>(result_.operators.size());
    op.id = id_[op.id];
    if (op.repeats >= 0) op.repeats = id_[op.repeats];
    if (op.phase == Phase::kBackward) {
      const auto rename = [this](TensorRef& tensor) {
        if (static_cast<std::size_t>(tensor.storage) >= trips_.size()) return;
        const Trip& trip = trips_[tensor.storage];
        if (trip.home.storage >= 0) tensor.storage = trip.returned.storage;
      };
      program::for_each_tensor(op.arguments, rename);
      program::for_each_tensor(op.outputs, rename);
    }
    result_.operators.push_back(std::move(op));
  }

  void begin_offload(StorageId s, const Operator& beside) {
    add(operators::kOffloadBegin, {trips_[s].home}, {trips_[s].on_host}, beside);
    leaving_.push_back(s);
    leaving_bytes_ += bytes_of(s);
  }

  void end_offload(StorageId s, const Operator& beside) {
    add(operators::kOffloadEnd, {trips_[s].home, trips_[s].on_host}, {}, beside);
    leaving_bytes_ -= bytes_of(s);
  }

  /// The oldest copies first, as far as the window has no room and forward has no use for them.
  void end_offloads(const Operator& now) {
    auto next = leaving_.begin();
    while (next != leaving_.end() && leaving_bytes_ > window_bytes_) {
      if (stays_[*next].last_in_forward > now.id) {
        ++next;
        continue;
      }
      end_offload(*next, now);
      next = leaving_.erase(next);
    }
  }

  void begin_reload(StorageId s, const Operator& beside) {
    const auto still_here = std::find(leaving_.begin(), leaving_.end(), s);
    if (still_here != leaving_.end()) {
      leaving_.erase(still_here);
      end_offload(s, beside);
    }
    add(operators::kReloadBegin, {trips_[s].on_host}, {trips_[s].returned}, beside);
    coming_bytes_ += bytes_of(s);
  }

  /// What `op` needs, and then what the window has room for.
  void bring_back(const Operator& op) {
    const auto begin_next = [&] {
      begin_reload(coming_.front(), op);
      coming_.pop_front();
    };
    const std::vector<StorageId>& needed = needed_at_[op.id];
    for (const StorageId s : needed) {
      while (std::find(coming_.begin(), coming_.end(), s) != coming_.end()) begin_next();
    }
    for (const StorageId s : needed) {
      add(operators::kReloadEnd, {trips_[s].returned, trips_[s].on_host}, {}, op);
      coming_bytes_ -= bytes_of(s);
    }
    while (!coming_.empty() && coming_bytes_ + bytes_of(coming_.front()) <= window_bytes_) {
      begin_next();
    }
  }

  [[nodiscard]] std::int64_t bytes_of(StorageId s) const { return result_.storages[s].bytes; }

  const std::vector<Stay>& stays_;
  const std::int64_t window_bytes_;
  std::vector<Trip> trips_;                        ///< by storage of the old program
  std::vector<std::vector<StorageId>> final_at_;   ///< by operator
  std::vector<std::vector<StorageId>> needed_at_;  ///< by operator
  std::vector<OperatorId> id_;                     ///< by operator: its id in the new program
  std::deque<StorageId> leaving_;                  ///< begun and not ended, oldest first
  std::deque<StorageId> coming_;                   ///< not begun yet, the first needed first
  std::int64_t leaving_bytes_ = 0;
  std::int64_t coming_bytes_ = 0;  ///< begun and not ended
  Program result_;
};

}  // namespace

std::vector<StorageId> offloadable(const Program& program) {
  const Activations activations = activations_of(program);
  std::vector<StorageId> found;
  for (std::size_t s = 0; s < activations.may_leave.size(); ++s) {
    if (activations.may_leave[s]) found.push_back(static_cast<StorageId>(s));
  }
  std::stable_sort(found.begin(), found.end(), [&](StorageId a, StorageId b) {
    return activations.stays[a].final_at < activations.stays[b].final_at;
  });
  return found;
}

namespace {

/// The offloadable activations that are not small beside the largest, in the same order.
std::vector<StorageId> large_ones(const Program& program) {
  constexpr std::int64_t kSmallPart = 64;
  std::vector<StorageId> found = offloadable(program);
  const std::int64_t least_bytes = largest_of(program, found) / kSmallPart;
  std::erase_if(found, [&](StorageId s) { return program.storages[s].bytes < least_bytes; });
  return found;
}

}  // namespace

std::vector<StorageId> worth_offloading(const Program& program, double share) {
  std::vector<StorageId> found = large_ones(program);
  const auto bytes_of = [&](StorageId s) { return program.storages[s].bytes; };
  double left_bytes = 0;
  for (const StorageId s : found) left_bytes += share * static_cast<double>(bytes_of(s));
  std::erase_if(found, [&](StorageId s) {
    if (left_bytes <= 0) return true;
    left_bytes -= static_cast<double>(bytes_of(s));
    return false;
  });
  return found;
}

std::vector<StorageId> completed_last(const Program& program, std::int64_t bytes) {
  std::vector<StorageId> found = large_ones(program);
  std::reverse(found.begin(), found.end());
  std::erase_if(found, [&](StorageId s) {
    if (program.storages[s].bytes > bytes) return true;
    bytes -= program.storages[s].bytes;
    return false;
  });
  return found;
}

std::optional<StorageId> not_offloadable(const Program& program,
                                         const std::vector<StorageId>& storages) {
  return first_that_stays(activations_of(program), storages);
}

Program offload(const Program& program,
                const std::vector<StorageId>& storages,
                std::int64_t window_bytes) {
  const Activations activations = activations_of(program);
  if (const auto other = first_that_stays(activations, storages)) {
    throw Error(ErrorCode::kInternal, "storage {} cannot wait on the host", *other);
  }
  return OffloadRewriter(program, activations.stays, window_bytes).run(program, storages);
}

std::int64_t offload_window_bytes(const Program& program, const std::vector<StorageId>& storages) {
  return 2 * largest_of(program, storages);
}

std::int64_t offloaded_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Operator& op : program.operators) {
    if (movement_of(op.name) != Movement::kOffloadBegin) continue;
    program::for_each_tensor(
        op.outputs, [&](const TensorRef& copy) { bytes += program.storages[copy.storage].bytes; });
  }
  return bytes;
}

}  // namespace elixir::edit
