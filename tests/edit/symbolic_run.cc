// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/symbolic_run.h"

#include <optional>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "operators/own.h"
#include "program/arguments/writes.h"
#include "program/lifetimes.h"

namespace elixir::tests {
namespace {

using program::Argument;
using program::Operator;
using program::TensorRef;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a ^ (b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2));
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  return x ^ (x >> 29);
}
std::uint64_t digest(const std::string& text) {
  std::uint64_t hash = 1469598103934665603U;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211U;
  return hash;
}

/// Positions of the running statistics among a batch norm's arguments.
constexpr std::size_t kRunningMean = 3, kRunningVariance = 4;

class Machine {
 public:
  explicit Machine(const program::Program& program)
      : program_(program),
        lifetimes_(program::analyse_lifetimes(program)),
        content_(program.storages.size()),
        version_(program.storages.size(), 0) {
    for (const program::Parameter& p : program.parameters) put(p.tensor, "parameter " + p.name);
    for (const program::Buffer& b : program.buffers) put(b.tensor, "buffer " + b.name);
    for (const program::Input& i : program.inputs) put(i.tensor, "input " + i.name);
    for (const program::Storage& s : program.storages) {
      if (s.category == program::Category::kConstant) {
        content_[s.id] = digest(fmt::format("constant {} {}", s.id, s.content_digest));
      }
    }
  }

  SymbolicResult run() {
    for (const Operator& op : program_.operators) {
      if (!lifetimes_.executed[op.id]) continue;
      if (operators::movement_of(op.name) == operators::Movement::kNone) {
        call(op);
      } else {
        move(op);
      }
      for (const program::StorageId s : lifetimes_.released_after[op.id]) {
        content_[s].reset();
        if (!program_.storages[s].on_host) live_ -= program_.storages[s].bytes;
      }
    }
    result_.loss = read(program_.loss);
    for (const program::Parameter& p : program_.parameters) {
      if (p.gradient) result_.gradients[p.name] = read(*p.gradient);
    }
    for (const program::Buffer& b : program_.buffers) {
      result_.buffers[b.name] = content_[b.tensor.storage].value();
    }
    return result_;
  }

 private:
  void put(const TensorRef& tensor, const std::string& text) {
    content_[tensor.storage] = digest(text);
  }

  [[nodiscard]] std::uint64_t read(const TensorRef& tensor) const {
    if (!content_[tensor.storage]) {
      throw std::logic_error(fmt::format("storage {} is not there", tensor.storage));
    }
    if (version_[tensor.storage] != tensor.version) {
      throw std::logic_error(fmt::format("storage {} has version {}, wanted {}",
                                         tensor.storage,
                                         version_[tensor.storage],
                                         tensor.version));
    }
    return mix(*content_[tensor.storage], geometry(tensor));
  }

  static std::uint64_t geometry(const TensorRef& tensor) {
    std::uint64_t hash =
        mix(static_cast<std::uint64_t>(tensor.offset), static_cast<std::uint64_t>(tensor.dtype));
    for (const std::int64_t size : tensor.sizes) hash = mix(hash, static_cast<std::uint64_t>(size));
    for (const std::int64_t stride : tensor.strides) {
      hash = mix(hash, static_cast<std::uint64_t>(stride) + 1);
    }
    return hash;
  }

  /// An activation on its way: the same content in another storage.
  void move(const Operator& op) {
    program::for_each_tensor(op.arguments,
                             [&](const TensorRef& tensor) { static_cast<void>(read(tensor)); });
    program::for_each_tensor(op.outputs, [&](const TensorRef& made) {
      const program::StorageId from = std::get<TensorRef>(op.arguments.at(0)).storage;
      content_[made.storage] = content_[from];
      version_[made.storage] = made.version;
      add_live(made.storage);
    });
    ++result_.operators;
  }

  void add_live(program::StorageId storage) {
    if (program_.storages[storage].on_host) return;
    live_ += program_.storages[storage].bytes;
    result_.peak_bytes = std::max(result_.peak_bytes, live_);
  }

  void call(const Operator& op) {
    // In training, a batch norm's result does not depend on running statistics.
    const bool statistics =
        program::updates_statistics(op.name) && !program::unreturned_writes(op).empty();
    const bool without_statistics =
        program::updates_statistics(op.name) && op.arguments.size() > kRunningMean &&
        std::holds_alternative<program::None>(op.arguments[kRunningMean]);
    std::uint64_t key = digest(op.name + "." + op.overload);
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      const bool is_statistics = i == kRunningMean || i == kRunningVariance;
      if ((statistics || without_statistics) && is_statistics) continue;
      key = mix(key, i);
      bool any = false;
      const std::vector<program::Argument> argument{op.arguments[i]};
      program::for_each_tensor(argument, [&](const TensorRef& tensor) {
        key = mix(key, read(tensor));
        any = true;
      });
      if (any) continue;
      const auto* number = std::get_if<std::int64_t>(&op.arguments[i]);
      if (number != nullptr) key = mix(key, static_cast<std::uint64_t>(*number));
    }
    for (const TensorRef& written : program::unreturned_writes(op)) {
      content_[written.storage] = mix(read(written), key);
      ++version_[written.storage];
    }
    std::uint64_t position = 0;
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      ++position;
      const program::StorageUse& use = lifetimes_.storages[tensor.storage];
      const bool fresh = use.origin == program::Origin::kProduced && use.producer == op.id;
      if (!fresh && !op.writes) return;
      const std::uint64_t before = fresh ? 0 : content_[tensor.storage].value();
      if (fresh) add_live(tensor.storage);
      content_[tensor.storage] = mix(mix(before, key), mix(position, geometry(tensor)));
      version_[tensor.storage] = tensor.version;
    });
    ++result_.operators;
  }

  const program::Program& program_;
  program::Lifetimes lifetimes_;
  std::vector<std::optional<std::uint64_t>> content_;
  std::vector<std::int32_t> version_;
  std::int64_t live_ = 0;
  SymbolicResult result_;
};

}  // namespace

SymbolicResult run_symbolically(const program::Program& program) {
  return Machine(program).run();
}

}  // namespace elixir::tests
