// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/place.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace elixir::process {
namespace {

/// Runs `work` in a child that shares the page, and waits for its end.
template <class Work>
void in_child(const PlacePage& page, Work work) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    attach_place(page.descriptor());
    work();
    ::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(Place, IsKnownAfterACrash) {
  const PlacePage page;
  EXPECT_EQ(page.text(), "");
  in_child(page, [] { note_operator("aten::take"); });
  EXPECT_EQ(page.text(), "aten::take");
  in_child(page, [] { note_module("module 'encoder'"); });
  EXPECT_EQ(page.text(), "aten::take in module 'encoder'");
}

TEST(Place, IsShortAndPrintableWhateverIsWritten) {
  const PlacePage page;
  in_child(page, [] { note_operator(std::string(100'000, 'a')); });
  EXPECT_LT(page.text().size(), 1'000U);
  in_child(page, [&page] {
    void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page.descriptor(), 0);
    std::memset(memory, 0x1b, 4096);
  });
  EXPECT_EQ(page.text().find('\x1b'), std::string::npos);
  EXPECT_LT(page.text().size(), 1'000U);
}

TEST(Place, StaysReadableWhateverTheOtherSideDoes) {
  const PlacePage page;
  in_child(page, [&page] {
    note_operator("aten::take");
    static_cast<void>(!::ftruncate(page.descriptor(), 0));
  });
  EXPECT_EQ(page.text(), "aten::take");
}

TEST(Place, IsSaidToNobodyWithoutAPage) {
  note_operator("aten::add");
  note_module("the root module");
}

}  // namespace
}  // namespace elixir::process
