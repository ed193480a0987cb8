// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/restrict.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace elixir::process {
namespace {

std::string reason() {
  return std::generic_category().message(errno);
}

// --- Landlock ------------------------------------------------------------------------------------

// Numbers and layout of <linux/landlock.h>, whose older versions lack the newer rights.
constexpr long kCreateRuleset = 444;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
struct Ruleset {
  std::uint64_t files = 0, network = 0, scopes = 0;
};

/// The rights that version `version` of Landlock can take away, and the bytes of its structure.
Ruleset rights_of(long version, std::size_t& bytes) {
  constexpr std::array<int, 5> kFileRights{13, 14, 15, 15, 16};  // by version
  const auto known = static_cast<std::size_t>(version) > kFileRights.size()
                         ? kFileRights.size()
                         : static_cast<std::size_t>(version);
  Ruleset rules;
  rules.files = (std::uint64_t{1} << kFileRights[known - 1]) - 1;
  bytes = sizeof rules.files;
  if (version >= 4) {
    rules.network = 3;  // bind and connect of TCP
    bytes += sizeof rules.network;
  }
  if (version >= 6) {
    rules.scopes = 3;  // abstract sockets and signals
    bytes += sizeof rules.scopes;
  }
  return rules;
}

/// Whether it worked.
/// Does nothing where the kernel has no Landlock: take_calls_away() bars the same ways.
void take_files_away() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return;
  std::size_t bytes = 0;
  const Ruleset rules = rights_of(version, bytes);
  const long ruleset = ::syscall(kCreateRuleset, &rules, bytes, 0);
  if (ruleset < 0) return;
  ::syscall(kRestrictSelf, ruleset, 0);
  ::close(static_cast<int>(ruleset));
}

// --- seccomp -------------------------------------------------------------------------------------

/// System calls that compute, keep memory, use open descriptors, tell the time, and end.
constexpr std::array kAllowed{
    SYS_read,         SYS_write,          SYS_pread64,         SYS_pwrite64,
    SYS_readv,        SYS_writev,         SYS_lseek,           SYS_fstat,
    SYS_close,        SYS_poll,           SYS_ppoll,           SYS_mmap,
    SYS_munmap,       SYS_mremap,         SYS_mprotect,        SYS_madvise,
    SYS_brk,          SYS_futex,          SYS_membarrier,      SYS_rseq,
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,    SYS_sigaltstack,
    SYS_getpid,       SYS_gettid,         SYS_getrusage,       SYS_sysinfo,
    SYS_uname,        SYS_getcpu,         SYS_sched_yield,     SYS_sched_getaffinity,
    SYS_getrandom,    SYS_clock_gettime,  SYS_clock_getres,    SYS_clock_nanosleep,
    SYS_nanosleep,    SYS_gettimeofday,   SYS_restart_syscall, SYS_set_robust_list,
    SYS_exit,         SYS_exit_group,
};

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    // Numbers of other architectures mean other calls.
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  void allow(long call) { on(call, SECCOMP_RET_ALLOW); }
  void fail(long call, int error) {
    on(call, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
  }
  /// Allowed when the argument `position` is `value`, of at most 32 bits; its upper half is 0.
  void allow_with(long call, unsigned position, std::uint32_t value) {
    const auto low = offsetof(seccomp_data, args) + 8 * position;
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 6));
    load(low);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 3));
    load(low + 4);
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  /// "" when it worked.
  std::string install() {
    answer(SECCOMP_RET_ERRNO | EPERM);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    const long result =
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (result == 0) return "";
    return result > 0 ? "seccomp cannot restrict a thread" : "seccomp refuses: " + reason();
  }

 private:
  void load(std::size_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  }
  void answer(std::uint32_t what) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, what)); }
  void on(long call, std::uint32_t what) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    answer(what);
  }
  std::vector<sock_filter> code_;
};

/// "" when it worked.
std::string take_calls_away() {
  Filter filter;
  for (const long call : kAllowed) filter.allow(call);
  // abort() signals its own thread.
  filter.allow_with(SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
  // Limits may be read: the third argument would be new ones.
  filter.allow_with(SYS_prlimit64, 2, 0);
  filter.fail(SYS_clone3, ENOSYS);
  return filter.install();
}

std::uint64_t address_space_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void set_limit(decltype(RLIMIT_AS) which, std::uint64_t soft, std::uint64_t hard) {
  rlimit before{};
  ::getrlimit(which, &before);
  rlimit limit{.rlim_cur = soft, .rlim_max = hard};
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, before.rlim_max);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(which, &limit) != 0) {
    throw Error(ErrorCode::kMissingFeature, "a limit cannot be set: {}", reason());
  }
}

}  // namespace

std::string restrict_this_process() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return "the kernel keeps privileges: " + reason();
  }
  take_files_away();
  return take_calls_away();
}

void close_descriptors_from(int first) noexcept {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int descriptor = first; descriptor < most; ++descriptor) ::close(descriptor);
}

void limit_this_process(const Limits& limits) {
  const std::uint64_t now = address_space_bytes();
  set_limit(RLIMIT_AS, now + limits.memory_bytes, now + limits.memory_bytes);
  constexpr std::uint64_t kToSayWhy_s = 5;  // between SIGXCPU and SIGKILL
  set_limit(RLIMIT_CPU, limits.processor_seconds, limits.processor_seconds + kToSayWhy_s);
  set_limit(RLIMIT_CORE, 0, 0);
  set_limit(RLIMIT_FSIZE, 0, 0);
}

}  // namespace elixir::process
