// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks a pickle of a TorchScript archive before LibTorch's unpickler runs it. The unpickler
// trusts its input: a memo index sizes a table, nested values use up the stack, a tensor may lie
// outside its storage. No LibTorch here, so that a fuzzer can run this code alone.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir::capture {

/// The memory of tensors in a pickle. `key` is the record's name in the pickle's folder.
struct PickledStorage {
  std::string key;
  std::uint64_t bytes = 0;
};

struct PickleCheck {
  std::vector<PickledStorage> storages;
  std::optional<std::string> problem;  ///< why the pickle is refused; nullopt when it is fine
  std::size_t offset = 0;              ///< of the problem, in bytes
};

/// Time and memory are bounded by the size of `pickle`.
[[nodiscard]] PickleCheck check_pickle(std::string_view pickle);

}  // namespace elixir::capture
