// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/lifetimes.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"
#include "program/arguments/writes.h"

namespace elixir::program {
namespace {

[[noreturn]] void broken(const Operator& op, const std::string& what) {
  throw Error(ErrorCode::kInternal, "operator {} ({}) {}", op.id, op.name, what);
}

/// Walks the operators once, in order, and fills every table that depends on order.
class Walk {
 public:
  explicit Walk(const Program& program)
      : program_(program),
        produced_(program.storages.size(), false),
        version_(program.storages.size(), 0),
        parameter_of_(program.storages.size(), -1) {
    result_.storages.resize(program.storages.size());
    result_.executed.resize(program.operators.size(), true);
    result_.parameters_used.resize(program.operators.size());
    result_.gradient_ready.resize(program.parameters.size(), -1);
    result_.made_by.resize(program.operators.size());
    result_.released_after.resize(program.operators.size());
  }

  Lifetimes run() {
    mark_origins();
    for (const Operator& op : program_.operators) visit(op);
    find_gradients();
    find_releases();
    return std::move(result_);
  }

 private:
  void mark(const TensorRef& tensor, Origin origin) {
    require(tensor.storage >= 0 && tensor.storage < static_cast<StorageId>(produced_.size()),
            "a tensor names a storage that does not exist");
    result_.storages[tensor.storage].origin = origin;
    produced_[tensor.storage] = true;
  }

  void mark_origins() {
    for (const Storage& storage : program_.storages) {
      if (storage.category == Category::kConstant) {
        result_.storages[storage.id].origin = Origin::kConstant;
        produced_[storage.id] = true;
      }
    }
    for (const Input& input : program_.inputs) mark(input.tensor, Origin::kInput);
    for (const Buffer& buffer : program_.buffers) mark(buffer.tensor, Origin::kBuffer);
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      mark(program_.parameters[i].tensor, Origin::kParameter);
      parameter_of_[program_.parameters[i].tensor.storage] = static_cast<std::int32_t>(i);
    }
  }

  void check_known(const Operator& op, const TensorRef& tensor) const {
    if (tensor.storage < 0 || tensor.storage >= static_cast<StorageId>(produced_.size())) {
      broken(op, "names storage " + std::to_string(tensor.storage) + ", which does not exist");
    }
  }

  void visit(const Operator& op) {
    for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      check_known(op, tensor);
      if (!produced_[tensor.storage] || tensor.version > version_[tensor.storage]) {
        broken(op, "uses storage " + std::to_string(tensor.storage) + " before it is produced");
      }
    });
    bool any_output = false;
    bool any_fresh = false;
    for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      check_known(op, tensor);
      any_output = true;
      if (!produced_[tensor.storage]) {
        any_fresh = true;
        produced_[tensor.storage] = true;
        result_.storages[tensor.storage].producer = op.id;
      }
      version_[tensor.storage] = std::max(version_[tensor.storage], tensor.version);
    });
    for (const TensorRef& tensor : unreturned_writes(op)) {
      version_[tensor.storage] = std::max(version_[tensor.storage], tensor.version + 1);
    }
    // A call that neither writes nor makes a storage only makes views. Each reader builds its view.
    result_.executed[op.id] = op.writes || any_fresh || !any_output;
    if (!result_.executed[op.id]) return;
    std::vector<std::int32_t>& used = result_.parameters_used[op.id];
    const auto touch = [&](const TensorRef& tensor) {
      result_.storages[tensor.storage].last_use = op.id;
      const std::int32_t parameter = parameter_of_[tensor.storage];
      if (parameter >= 0) used.push_back(parameter);
    };
    for_each_tensor(op.arguments, touch);
    for_each_tensor(op.outputs, touch);
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
  }

  void find_gradients() {
    // There are few gradients, so one more walk finds the call that made each one's version.
    std::vector<std::vector<std::int32_t>> gradients_in(program_.storages.size());
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const auto& gradient = program_.parameters[i].gradient;
      if (!gradient) continue;
      require(gradient->storage >= 0 &&
                  gradient->storage < static_cast<StorageId>(program_.storages.size()) &&
                  result_.storages[gradient->storage].origin == Origin::kProduced &&
                  produced_[gradient->storage],
              "the gradient of " + program_.parameters[i].name + " is not made by the program");
      gradients_in[gradient->storage].push_back(static_cast<std::int32_t>(i));
    }
    for (const Operator& op : program_.operators) {
      if (!result_.executed[op.id]) continue;
      for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
        for (const std::int32_t parameter : gradients_in[tensor.storage]) {
          if (tensor.version <= program_.parameters[parameter].gradient->version) {
            result_.gradient_ready[parameter] = op.id;
          }
        }
      });
    }
  }

  void find_releases() {
    std::vector<bool> kept(program_.storages.size(), false);
    for (const Parameter& parameter : program_.parameters) {
      if (parameter.gradient) kept[parameter.gradient->storage] = true;
    }
    if (program_.loss.storage >= 0) kept[program_.loss.storage] = true;
    for (const Storage& storage : program_.storages) {
      const StorageUse& use = result_.storages[storage.id];
      if (use.producer >= 0) result_.made_by[use.producer].push_back(storage.id);
      if (use.origin != Origin::kProduced || use.producer < 0 || kept[storage.id]) continue;
      result_.released_after[use.last_use].push_back(storage.id);
    }
  }

  const Program& program_;
  std::vector<bool> produced_;
  std::vector<std::int32_t> version_;
  std::vector<std::int32_t> parameter_of_;
  Lifetimes result_;
};

}  // namespace

Lifetimes analyse_lifetimes(const Program& program) {
  return Walk(program).run();
}

Program with_replay_lifetimes(Program program) {
  const Lifetimes lifetimes = analyse_lifetimes(program);
  const auto end = static_cast<OperatorId>(program.operators.size());
  for (Storage& storage : program.storages) {
    const StorageUse& use = lifetimes.storages[static_cast<std::size_t>(storage.id)];
    // What exists before the step also exists after it, however many operators there are now.
    storage.freed_after = end;
    if (use.origin == Origin::kProduced) storage.allocated_at = use.producer;
  }
  for (const Operator& op : program.operators) {
    for (const StorageId id : lifetimes.released_after[static_cast<std::size_t>(op.id)]) {
      program.storages[static_cast<std::size_t>(id)].freed_after = op.id;
    }
  }
  return program;
}

std::vector<std::int32_t> order_of_first_use(const Program& program, const Lifetimes& lifetimes) {
  std::vector<std::int32_t> order;
  std::vector<bool> seen(program.parameters.size(), false);
  const auto add = [&](std::int32_t parameter) {
    if (seen[parameter]) return;
    seen[parameter] = true;
    order.push_back(parameter);
  };
  std::vector<std::int32_t> parameter_of(program.storages.size(), -1);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    parameter_of[program.parameters[i].tensor.storage] = static_cast<std::int32_t>(i);
  }
  for (const Operator& op : program.operators) {
    if (!lifetimes.executed[op.id]) continue;
    // If one call uses several parameters first, operand order decides, not id order.
    for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      if (parameter_of[tensor.storage] >= 0) add(parameter_of[tensor.storage]);
    });
  }
  for (std::size_t i = 0; i < program.parameters.size(); ++i) add(static_cast<std::int32_t>(i));
  return order;
}

}  // namespace elixir::program
