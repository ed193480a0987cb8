// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/gpu_description.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace elixir::operators {
namespace {

constexpr std::string_view kMultiprocessors = "multiProcessorCount";
constexpr std::array<std::string_view, 10> kCounts = {"l2CacheSize",
                                                      "maxCtasPerSM",
                                                      "maxRegistersPerSM",
                                                      "maxSharedMemoryPerBlock",
                                                      "maxSharedMemoryPerBlockOptin",
                                                      "maxThreadsPerBlock",
                                                      "maxThreadsPerSM",
                                                      "regsPerBlock",
                                                      "totalGlobalMem",
                                                      "warpSize"};
/// More than any GPU has.
constexpr std::int64_t kMostMultiprocessors = 100'000;

[[noreturn]] void refuse(const JsonCursor& at, std::string_view key, std::string_view right) {
  throw at
      .error(
          ErrorCode::kJsonBadValue, "this is no description of a GPU: `{}` must be {}", key, right)
      .help("describe it as cuDNN does: profiles/gpus/README.md of Elixir says how");
}

/// A positive integer.
std::int64_t count_of(const JsonCursor& root, std::string_view key) {
  if (!root.raw().is_object() || !root.has(key)) refuse(root, key, "given");
  const JsonCursor value = root.at(key);
  const Json& raw = value.raw();
  const bool fits = raw.is_number_integer() &&
                    (!raw.is_number_unsigned() || raw.get<std::uint64_t>() <= INT64_MAX);
  if (!fits || raw.get<std::int64_t>() <= 0) refuse(value, key, "a positive count");
  return raw.get<std::int64_t>();
}

}  // namespace

int check_gpu_description(const JsonDocument& document, std::optional<int> sm) {
  const JsonCursor root = document.root();
  constexpr std::string_view kVersion = "deviceVer";
  constexpr std::int64_t kVersionPerCapability = 10;  // 900 of sm_90
  const std::int64_t version = count_of(root, kVersion);
  if (sm && version != *sm * kVersionPerCapability) {
    throw root.at(kVersion)
        .error(ErrorCode::kJsonBadValue,
               "the description is of a GPU of `{}` {}, and the target is cuda:sm_{}",
               kVersion,
               version,
               *sm)
        .help("a GPU of that target has {}", *sm * kVersionPerCapability);
  }
  for (const std::string_view key : kCounts) static_cast<void>(count_of(root, key));
  const std::int64_t multiprocessors = count_of(root, kMultiprocessors);
  if (multiprocessors > kMostMultiprocessors) {
    refuse(root.at(kMultiprocessors), kMultiprocessors, "the number that a GPU of this kind has");
  }
  return static_cast<int>(multiprocessors);
}

}  // namespace elixir::operators
