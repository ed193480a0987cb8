// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/reuse.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "fakes/program_builder.h"

namespace elixir::program {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::set<StorageId> storages_of(const Operator& op, bool outputs) {
  std::set<StorageId> storages;
  const auto add = [&](const TensorRef& tensor) { storages.insert(tensor.storage); };
  for_each_tensor(op.arguments, add);
  if (outputs) for_each_tensor(op.outputs, add);
  return storages;
}

/// The widest view of every storage.
std::int64_t bytes_of(const Operator& op) {
  std::map<StorageId, std::int64_t> widest;
  const auto add = [&](const TensorRef& tensor) {
    widest[tensor.storage] = std::max(widest[tensor.storage], tensor.touched_bytes());
  };
  for_each_tensor(op.arguments, add);
  for_each_tensor(op.outputs, add);
  std::int64_t bytes = 0;
  for (const auto& [storage, most] : widest) bytes += most;
  return bytes;
}

/// Computes each storage separately, from the start of the program.
std::map<StorageId, std::int64_t> distances(const Program& program,
                                            const Lifetimes& lifetimes,
                                            OperatorId op) {
  std::map<StorageId, std::int64_t> found;
  for (const StorageId storage : storages_of(program.operators[op], false)) {
    OperatorId last = -1;
    for (OperatorId before = 0; before < op; ++before) {
      if (lifetimes.executed[before] &&
          storages_of(program.operators[before], true).count(storage) > 0) {
        last = before;
      }
    }
    if (last < 0) continue;
    std::int64_t since = 0;
    for (OperatorId between = last + 1; between < op; ++between) {
      if (lifetimes.executed[between]) since += bytes_of(program.operators[between]);
    }
    found[storage] = since;
  }
  return found;
}

TEST(RecentUses, AreWhatCountingFromTheStartGives) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Program program = fakes::random_program(seed);
    const Lifetimes lifetimes = analyse_lifetimes(program);
    for (const Operator& op : program.operators) {
      std::map<StorageId, std::int64_t> got;
      std::int64_t before = kNoLimit;
      for (const Reuse& reuse : recent_uses(program, lifetimes, op.id, kNoLimit)) {
        EXPECT_LE(reuse.bytes_since, before) << "the least recent first";
        before = reuse.bytes_since;
        EXPECT_TRUE(got.emplace(reuse.storage, reuse.bytes_since).second) << "each storage once";
      }
      ASSERT_EQ(got, distances(program, lifetimes, op.id)) << "seed " << seed << ", " << op.name;
    }
  }
}

TEST(RecentUses, LeaveOutWhatIsLongAgo) {
  const Program program = fakes::random_program(3);
  const Lifetimes lifetimes = analyse_lifetimes(program);
  std::size_t left_out = 0;
  for (const Operator& op : program.operators) {
    const auto all = recent_uses(program, lifetimes, op.id, kNoLimit);
    if (all.empty()) continue;
    const std::int64_t limit = all.back().bytes_since;  // of the most recent
    const auto some = recent_uses(program, lifetimes, op.id, limit);
    for (const Reuse& reuse : some) EXPECT_LE(reuse.bytes_since, limit);
    ASSERT_FALSE(some.empty());
    EXPECT_EQ(some.back(), all.back());
    left_out += all.size() - some.size();
  }
  EXPECT_GT(left_out, 0U);
}

TEST(RecentUses, TellWrittenFromRead) {
  const Program program = fakes::mlp({4, 8, 2}, 3);
  const Lifetimes lifetimes = analyse_lifetimes(program);
  bool written = false, read = false;
  for (const Operator& op : program.operators) {
    for (const Reuse& reuse : recent_uses(program, lifetimes, op.id, kNoLimit)) {
      EXPECT_FALSE(reuse.written &&
                   program.storages.at(reuse.storage).category == Category::kParameter)
          << "a step reads parameters";
      (reuse.written ? written : read) = true;
    }
  }
  EXPECT_TRUE(written);
  EXPECT_TRUE(read);
}

}  // namespace
}  // namespace elixir::program
