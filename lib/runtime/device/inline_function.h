// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A function object that holds in itself what it captures. Making, moving and calling it takes no
// memory from the heap, which a task of a few microseconds would feel. What it captures must fit
// (else it does not compile) and must not throw when it is moved.

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace elixir::runtime {

template <class Signature, std::size_t kBytes>
class InlineFunction;

template <class... Arguments, std::size_t kBytes>
class InlineFunction<void(Arguments...), kBytes> {
 public:
  InlineFunction() = default;
  template <class Function>
  requires(!std::is_same_v<std::decay_t<Function>, InlineFunction>)
      InlineFunction(Function&& function) {  // NOLINT: converts, as std::function does
    using Held = std::decay_t<Function>;
    static_assert(sizeof(Held) <= kBytes, "this captures too much");
    static_assert(alignof(Held) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Held>);
    new (&memory_) Held(std::forward<Function>(function));
    call_ = [](void* held, Arguments... arguments) {
      (*static_cast<Held*>(held))(std::forward<Arguments>(arguments)...);
    };
    move_ = [](void* to, void* from) noexcept {
      auto* held = static_cast<Held*>(from);
      if (to != nullptr) new (to) Held(std::move(*held));
      held->~Held();
    };
  }
  InlineFunction(InlineFunction&& other) noexcept { take(other); }
  InlineFunction& operator=(InlineFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  InlineFunction(const InlineFunction&) = delete;
  InlineFunction& operator=(const InlineFunction&) = delete;
  ~InlineFunction() { reset(); }

  /// It must hold a function.
  void operator()(Arguments... arguments) {
    call_(&memory_, std::forward<Arguments>(arguments)...);
  }

 private:
  void reset() noexcept {
    if (move_ != nullptr) move_(nullptr, &memory_);
    call_ = nullptr;
    move_ = nullptr;
  }
  /// This holds nothing yet.
  void take(InlineFunction& other) noexcept {
    if (other.move_ == nullptr) return;
    other.move_(&memory_, &other.memory_);
    call_ = std::exchange(other.call_, nullptr);
    move_ = std::exchange(other.move_, nullptr);
  }

  void (*call_)(void* held, Arguments... arguments) = nullptr;
  void (*move_)(void* to, void* from) noexcept = nullptr;  ///< to nowhere: destroys
  alignas(std::max_align_t) std::byte memory_[kBytes];
};

}  // namespace elixir::runtime
