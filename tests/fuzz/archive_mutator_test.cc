// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Mutants of an archive are archives: only the reader of a record refuses them.
#include "archive_mutator.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "capture/capture.h"
#include "fuzz.h"

namespace elixir::fuzz {
namespace {

Records scripted() {
  std::ifstream in(ELIXIR_CORPUS "/torchscript/scripted.pt", std::ios::binary);
  return read_records(std::string(std::istreambuf_iterator<char>(in), {}));
}

/// The error code with which loading fails; nullopt when it succeeds.
std::optional<ErrorCode> refused(const Records& records) {
  const InputFile file(write_records(records));
  try {
    static_cast<void>(capture::Model::load(file.path()));
  } catch (const Error& error) {
    return error.info().code;
  }
  return std::nullopt;
}

TEST(ArchiveMutator, WritesWhatItRead) {
  const Records records = scripted();
  ASSERT_EQ(records.size(), 16U);
  EXPECT_EQ(refused(records), std::nullopt);
  const std::string file = write_records(records);
  EXPECT_EQ(read_records(file), records);
  EXPECT_TRUE(read_records(file.substr(0, file.size() / 2)).empty());
}

TEST(ArchiveMutator, MutantsAreArchives) {
  constexpr int kMutants = 300;
  const Records original = scripted();
  int whole = 0;
  int changed = 0;
  for (int seed = 1; seed <= kMutants; ++seed) {
    Records records = original;
    mutate_records(records, static_cast<std::uint32_t>(seed), [&](std::string& bytes) {
      if (!bytes.empty()) bytes[static_cast<std::size_t>(seed) % bytes.size()] ^= 0x11;
    });
    if (records != original) ++changed;
    // Records with equal names cannot be distinguished.
    if (read_records(write_records(records)).size() == records.size()) ++whole;
    static_cast<void>(refused(records));
  }
  EXPECT_GT(changed, kMutants * 3 / 4);  // two flips of one bit change nothing
  EXPECT_GT(whole, kMutants * 9 / 10);
}

}  // namespace
}  // namespace elixir::fuzz
