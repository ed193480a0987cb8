// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "fakes/error_of.h"
#include "process/subprocess.h"

namespace elixir::process {
namespace {

using tests::error_of;

Command shell(const std::string& script) {
  return {.program = "/bin/sh",
          .arguments = {"-c", script},
          .environment = {"PATH=/usr/bin:/bin"},
          .descriptors = {}};
}

TEST(Child, TellsHowItEnded) {
  Child done(shell("exit 3"));
  const auto ending = done.wait();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->exit_code, 3);
  EXPECT_EQ(ending->signal, 0);
  Child killed(shell("kill -SEGV $$"));
  const auto signalled = killed.wait();
  ASSERT_TRUE(signalled);
  EXPECT_EQ(signalled->signal, SIGSEGV);
  EXPECT_EQ(signalled->exit_code, 128 + SIGSEGV);
}

TEST(Child, IsKilledWhenItIsDropped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  {
    Command command = shell("exec sleep 1000");
    command.descriptors = {{to.get(), STDOUT_FILENO}};
    const Child child(command);
    to.close();
  }
  char byte = 0;
  EXPECT_EQ(::read(from.get(), &byte, 1), 0) << "nobody has the other end any more";
}

TEST(Child, WaitsUntilADeadline) {
  Child child(shell("exec sleep 1000"));
  EXPECT_FALSE(child.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
  child.kill();
  const auto ending = child.wait();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGKILL);
}

TEST(Child, HearsTheSignalsOfItsTool) {
  Child child(shell("exec sleep 1000"));
  signal_children(SIGTERM);
  const auto ending = child.wait();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGTERM);
}

TEST(Child, GetsDescriptorsUnderTheirNumbersAlthoughTheseAreTaken) {
  std::array<int, 2> first{};
  std::array<int, 2> second{};
  ASSERT_EQ(::pipe2(first.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(second.data(), O_CLOEXEC), 0);
  const std::array<Descriptor, 4> owners{
      Descriptor(first[0]), Descriptor(first[1]), Descriptor(second[0]), Descriptor(second[1])};
  Command command =
      shell("echo a >&" + std::to_string(second[1]) + "; echo b >&" + std::to_string(first[1]));
  command.descriptors = {{first[1], second[1]}, {second[1], first[1]}};
  Child child(command);
  ASSERT_EQ(child.wait()->exit_code, 0);
  char byte = 0;
  ASSERT_EQ(::read(first[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'a');
  ASSERT_EQ(::read(second[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'b');
}

TEST(Child, ThatCannotBeStartedIsAnError) {
  EXPECT_EQ(error_of([] {
              const Child child({.program = "/nowhere/elixir-capture",
                                 .arguments = {},
                                 .environment = {},
                                 .descriptors = {}});
            }).code,
            ErrorCode::kIoError);
}

TEST(Subprocess, ReadsItsInputAndPrints) {
  const ProcessResult result = run_process("/bin/sh", {"-c", "tr a-z A-Z; exit 4"}, {}, "text");
  EXPECT_EQ(result.output, "TEXT");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_FALSE(result.was_too_slow);
}

TEST(Subprocess, IsKilledAtItsLimit) {
  const ProcessResult result =
      run_process("/bin/sleep", {"1000"}, {}, "", std::chrono::milliseconds(50));
  EXPECT_TRUE(result.was_too_slow);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST(Subprocess, GetsVariables) {
  EXPECT_EQ(run_process("/bin/sh", {"-c", "printf %s $ELIXIR_A"}, {{"ELIXIR_A", "7"}}).output, "7");
}

}  // namespace
}  // namespace elixir::process
