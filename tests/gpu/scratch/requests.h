// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What one call asks of the allocator: predicted by its script, or seen. Two lists are compared as
// a profile uses them: the bytes of each request, their order, and what is freed in between. The
// order of releases between two requests has no effect and is not compared.

#include <cstdint>
#include <string>
#include <vector>

#include "operators/scratch/call_script.h"

namespace elixir::tests {

struct Request {
  std::int64_t bytes = 0;     ///< as asked for
  bool result = false;        ///< the storage of a result
  std::vector<int> released;  ///< earlier requests of the call that end before this one
};

struct Requests {
  std::vector<Request> list;
  std::vector<int> released_last;  ///< after the last request

  void add(std::int64_t bytes) { list.push_back({.bytes = bytes, .released = take()}); }
  void release(int request) { released_last.push_back(request); }
  /// Highest sum of what is held at once, each request rounded up as the allocator does.
  [[nodiscard]] std::int64_t peak_bytes() const;
  /// "r512 +1024 -1": a result, scratch memory, the end of request 1.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<int> take();
};

/// Without memory that the process keeps, and what is used once to create it.
[[nodiscard]] Requests predicted_requests(const operators::CallScript& script);

enum class Difference : std::uint8_t {
  kNone,
  kOrder,  ///< the same memory in another order
  kPeak,   ///< the same requests, freed at other times: another peak
  kSizes,  ///< other requests
};
[[nodiscard]] Difference difference(const Requests& predicted, const Requests& seen);

}  // namespace elixir::tests
