// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/deep_stack.h"

#include <pthread.h>

#include <cstddef>
#include <exception>

#include "core/error.h"

namespace elixir {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 20;

thread_local bool stack_is_deep = false;

struct Task {
  const std::function<void()>& work;
  std::exception_ptr failure;
};

void* run(void* argument) {
  stack_is_deep = true;
  auto& task = *static_cast<Task*>(argument);
  try {
    task.work();
  } catch (...) {
    task.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void run_on_deep_stack(const std::function<void()>& work) {
  if (stack_is_deep) return work();
  Task task{work, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const int failure = pthread_create(&thread, &attributes, run, &task);
  pthread_attr_destroy(&attributes);
  if (failure != 0) {
    throw Error(ErrorCode::kOutOfMemory, "no room for a thread that reads the model")
        .help("raise the limit of address space (ulimit -v)");
  }
  pthread_join(thread, nullptr);
  if (task.failure) std::rethrow_exception(task.failure);
}

}  // namespace elixir
