// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Each attempt runs in a process that has restricted itself, and that says by its exit code what
// came of it.
#include "process/restrict.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>

#include <gtest/gtest.h>

namespace elixir::process {
namespace {

constexpr int kUnrestricted = 77;
constexpr int kDone = 0;
constexpr int kRefused = 1;

/// How a child ends that restricts itself and then runs `attempt`: its exit code, or minus the
/// signal.
int outcome_of(const std::function<int()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!restrict_this_process().empty()) ::_exit(kUnrestricted);
    ::_exit(attempt());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class Restricted : public testing::Test {
 protected:
  void SetUp() override {
    if (outcome_of([] { return kDone; }) == kUnrestricted) {
      GTEST_SKIP() << "this kernel has no seccomp";
    }
  }
  static void expect_refused(const char* what, const std::function<bool()>& attempt) {
    EXPECT_EQ(outcome_of([&] {
                errno = 0;
                return attempt() ? kDone : errno == EPERM || errno == EACCES ? kRefused : 2;
              }),
              kRefused)
        << what;
  }
};

TEST_F(Restricted, ReachesNoFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("elixir-restricted-" + std::to_string(::getpid()));
  expect_refused("read", [] { return ::open("/etc/passwd", O_RDONLY) >= 0; });
  expect_refused("read by the older call",
                 [] { return ::syscall(SYS_open, "/etc/passwd", O_RDONLY) >= 0; });
  expect_refused("create", [&] { return ::creat(path.c_str(), 0600) >= 0; });
  expect_refused("create in memory", [] { return memfd_create("x", 0) >= 0; });
  expect_refused("remove", [&] { return ::unlink(path.c_str()) == 0; });
  expect_refused("rename", [&] { return ::rename("/etc/passwd", path.c_str()) == 0; });
  expect_refused("link", [&] { return ::symlink("/etc/passwd", path.c_str()) == 0; });
  expect_refused("make a folder", [&] { return ::mkdir(path.c_str(), 0700) == 0; });
  expect_refused("look for", [] {
    struct stat status {};
    return ::stat("/etc/passwd", &status) == 0;
  });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Restricted, ReachesNobody) {
  expect_refused("the network", [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; });
  expect_refused("this machine", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; });
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  expect_refused("a connection that it has", [&] {
    const sockaddr_in address{
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {}, .sin_zero = {}};
    return ::connect(ends[0], reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  });
  expect_refused("its parent", [] { return ::kill(::getppid(), 0) == 0; });
  expect_refused("everybody", [] { return ::kill(-1, SIGTERM) == 0; });
  const int parent = static_cast<int>(::getpid());
  expect_refused("a thread of its parent",
                 [&] { return ::syscall(SYS_tgkill, parent, parent, SIGTERM) == 0; });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Restricted, StartsNothing) {
  expect_refused("a process", [] { return ::syscall(SYS_fork) >= 0; });
  expect_refused("a thread", [] { return ::syscall(SYS_clone, CLONE_VM, 0, 0, 0, 0) >= 0; });
  expect_refused("a program", [] { return ::execl("/bin/true", "true", nullptr) == 0; });
  EXPECT_EQ(outcome_of([] {
              return ::syscall(SYS_clone3, nullptr, 0) < 0 && errno == ENOSYS ? kDone : kRefused;
            }),
            kDone)
      << "so that libraries try the older call";
}

TEST_F(Restricted, CannotTakeLimitsBack) {
  expect_refused("a limit", [] {
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  });
  EXPECT_EQ(outcome_of([] {
              rlimit limit{};
              return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? kDone : kRefused;
            }),
            kDone)
      << "it may look";
}

TEST_F(Restricted, ComputesReadsWritesAndEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(outcome_of([&] {
              void* memory = ::mmap(
                  nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return memory != MAP_FAILED && ::write(ends[1], "x", 1) == 1 ? kDone : kRefused;
            }),
            kDone);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(outcome_of([]() -> int { ::abort(); }), -SIGABRT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Limits, MemoryIsRefusedBeyondThem) {
  const auto allocates = [](std::size_t bytes) {
    const pid_t child = ::fork();
    if (child == 0) {
      limit_this_process({.memory_bytes = std::uint64_t{256} << 20, .processor_seconds = 60});
      const void* memory =
          ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ::_exit(memory == MAP_FAILED ? kRefused : kDone);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(allocates(std::size_t{128} << 20), kDone);
  EXPECT_EQ(allocates(std::size_t{512} << 20), kRefused);
}

TEST(Limits, ProcessorTimeEnds) {
  const pid_t child = ::fork();
  if (child == 0) {
    limit_this_process({.memory_bytes = std::uint64_t{1} << 40, .processor_seconds = 1});
    for (;;) static_cast<void>(::getpid());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGXCPU);
}

TEST(Limits, NoFileGrows) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("elixir-limits-" + std::to_string(::getpid()));
  const int file = ::creat(path.c_str(), 0600);
  ASSERT_GE(file, 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    limit_this_process({.memory_bytes = std::uint64_t{1} << 40, .processor_seconds = 60});
    ::_exit(::write(file, "x", 1) == 1 ? kDone : kRefused);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), kRefused);
  ::close(file);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace elixir::process
