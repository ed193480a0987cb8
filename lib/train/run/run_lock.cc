// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/interrupt.h"
#include "core/log.h"

namespace elixir::train {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;

/// What holders of `name` wrote into it; none where it cannot be read.
std::vector<std::string> lines_of(const Directory& run, const char* name) {
  std::vector<std::string> lines;
  try {
    std::istringstream text(run.read(name, kMostBytes));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  } catch (const Error&) {  // it is for people
  }
  return lines;
}

Error in_use(const Directory& run, const std::string& holder) {
  return file_error(ErrorCode::kRunInUse,
                    run.path(),
                    "run directory `{}` is in use by {}",
                    run.path(),
                    holder)
      .help("wait for it or end it, or choose another run directory with -o");
}

Error in_use_by_leader(const Directory& run) {
  const std::vector<std::string> lines = lines_of(run, RunLock::kFile);
  return in_use(run, lines.empty() ? "another process" : lines.front());
}

enum class Locked { kYes, kBusy, kImpossible };
/// `how`: LOCK_EX or LOCK_SH.
Locked try_lock(const Descriptor& file, int how) {
  while (::flock(file.get(), how | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? Locked::kBusy : Locked::kImpossible;
  }
  return Locked::kYes;
}

void warn_of_no_lock(const std::string& path) {
  log::warning(
      fmt::format("`{}` cannot be locked ({}): make sure that no other process uses this run "
                  "directory",
                  path,
                  std::strerror(errno)));
}

/// Whether `name` still names the open file. Its last owner may have removed it meanwhile.
bool names(const Directory& run, const char* name, const Descriptor& file) {
  struct stat opened {
  }, named{};
  return ::fstat(file.get(), &opened) == 0 &&
         ::fstatat(run.descriptor(), name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format("process {} on {}", ::getpid(), host.data());
}

/// The text of the file, on the disk, where other hosts see it. On a full disk the lock works
/// without it, for one rank.
void set_text(const Descriptor& file, const std::string& text) {
  if (::ftruncate(file.get(), 0) != 0) return;
  static_cast<void>(!::pwrite(file.get(), text.data(), text.size(), 0));
  ::fsync(file.get());
}

/// Until no rank of an attempt before holds its lock. They notice within ten seconds that their
/// rank 0 has gone, and have eight more to end.
void await_earlier_ranks(const Directory& run) {
  constexpr auto kPatience = std::chrono::seconds(20);
  constexpr auto kPause = std::chrono::milliseconds(10);
  if (run.kind_of(RunLock::kRanksFile) == Directory::Kind::kNothing) return;
  const Descriptor file = run.open_to_change(RunLock::kRanksFile, O_RDWR);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  Locked locked = try_lock(file, LOCK_EX);
  if (locked == Locked::kBusy) log::info("waiting for ranks of an attempt before to end");
  while (locked == Locked::kBusy) {
    throw_if_interrupted();
    if (std::chrono::steady_clock::now() > deadline) {
      throw in_use(run, "a rank of an attempt before, which does not end")
          .note("one or more of: {}", fmt::join(lines_of(run, RunLock::kRanksFile), ", "));
    }
    std::this_thread::sleep_for(kPause);
    locked = try_lock(file, LOCK_EX);
  }
  if (locked == Locked::kYes) set_text(file, "");
}

}  // namespace

RunLock RunLock::lead(const Directory& run, const std::string& attempt) {
  for (;;) {
    Descriptor file = run.open_to_change(kFile, O_RDWR);
    const Locked locked = try_lock(file, LOCK_EX);
    if (locked == Locked::kBusy) throw in_use_by_leader(run);
    if (locked == Locked::kImpossible) warn_of_no_lock(run.file(kFile));
    if (!names(run, kFile, file)) continue;
    set_text(file, fmt::format("{}\n{}\n", this_process(), attempt));
    await_earlier_ranks(run);
    return RunLock(std::move(file));
  }
}

RunLock RunLock::follow(const Directory& run, const std::string& attempt) {
  Descriptor file = run.open_to_change(kRanksFile, O_RDWR | O_APPEND);
  // Rank 0 has warned if locks are impossible.
  const bool shared = try_lock(file, LOCK_SH) != Locked::kBusy;
  const std::vector<std::string> lines = lines_of(run, kFile);
  if (!shared || lines.size() < 2 || lines[1] != attempt) {
    throw file_error(ErrorCode::kOutputUnwritable,
                     run.path(),
                     "rank 0 does not hold the lock of `{}` as this host sees it",
                     run.path());
  }
  const std::string line = this_process() + "\n";
  static_cast<void>(!::write(file.get(), line.data(), line.size()));
  return RunLock(std::move(file));
}

void RunLock::check_free(const Directory& run) {
  if (run.kind_of(kFile) != Directory::Kind::kFile) return;
  Descriptor file;
  try {
    file = run.open_to_change(kFile, O_RDWR);
  } catch (const Error&) {  // whoever takes the lock says so
    return;
  }
  if (try_lock(file, LOCK_EX) == Locked::kBusy) throw in_use_by_leader(run);
}

}  // namespace elixir::train
