// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"

namespace elixir {
namespace {

namespace stdfs = std::filesystem;

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

/// Of `path`, whose directory cannot be used; reads errno.
Error unwritable_below(const std::string& path, const std::string& directory) {
  return file_error(ErrorCode::kOutputUnwritable,
                    path,
                    "cannot write `{}`: directory `{}`: {}",
                    path,
                    directory,
                    errno_text(errno));
}

[[noreturn]] void fail_write(const std::string& path, int number) {
  if (number == ENOSPC || number == EDQUOT || number == EFBIG) {
    throw file_error(
        ErrorCode::kDiskFull, path, "no room to write `{}`: {}", path, errno_text(number))
        .help("free space or choose another place; nothing was left behind");
  }
  throw file_error(ErrorCode::kIoError, path, "cannot write `{}`: {}", path, errno_text(number));
}

std::string directory_of(const std::string& path) {
  const std::string directory = stdfs::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  /// The result of close(2); 0 when already closed.
  int close() {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 ? 0 : ::close(fd);
  }

 private:
  int fd_;
};

// Names of temporary files in use, for abandon_temporaries(). A slot is claimed, its name is filled
// in, and then it is published. A signal handler reads only published slots. When the table is
// full, further files are not registered.
constexpr std::size_t kNameBytes = 4096;
struct Slot {
  std::atomic<int> state{0};  // 0 free, 1 claimed, 2 published
  std::array<char, kNameBytes> name{};
};
std::array<Slot, 16> temporaries;

/// A temporary file beside the target. It is removed at the end, unless it is kept.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {
    if (path_.size() >= kNameBytes) return;
    for (Slot& slot : temporaries) {
      int free = 0;
      if (!slot.state.compare_exchange_strong(free, 1)) continue;
      std::memcpy(slot.name.data(), path_.c_str(), path_.size() + 1);
      slot.state.store(2);
      slot_ = &slot;
      return;
    }
  }
  ~Temporary() {
    if (!kept_) ::unlink(path_.c_str());
    if (slot_ != nullptr) slot_->state.store(0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  Slot* slot_ = nullptr;
  bool kept_ = false;
};

/// Collects small appends. Either every byte reaches the descriptor, or an Error is thrown.
class Writer {
 public:
  Writer(int fd, std::string path) : fd_(fd), path_(std::move(path)) { buffer_.reserve(kBytes); }
  void append(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > kBytes) flush();
    if (bytes.size() > kBytes) {
      write_all(bytes);
    } else {
      buffer_.append(bytes);
    }
  }
  void flush() {
    write_all(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 18;
  void write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        fail_write(path_, errno);
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  int fd_;
  std::string path_;
  std::string buffer_;
};

enum class TargetKind { kNew, kRegular, kDirect };

/// "give --force to replace it, or choose another name with -o"
std::string help_for_existing(std::string_view flag) {
  const std::string text = "give --force to replace it";
  return flag.empty() ? text : fmt::format("{}, or choose another name with {}", text, flag);
}

/// Finds out what `path` is. Throws when it cannot be written. `flag` names it; empty: none does.
TargetKind inspect(const std::string& path, Overwrite overwrite, std::string_view flag) {
  if (path.empty())
    throw file_error(ErrorCode::kOutputUnwritable, path, "the output file name is empty");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      throw file_error(
          ErrorCode::kOutputUnwritable, path, "cannot write `{}`: it is a directory", path)
          .help("name a file in it, e.g. `{}`", (stdfs::path(path) / "out.json").string());
    }
    if (!S_ISREG(status.st_mode)) return TargetKind::kDirect;
    if (overwrite == Overwrite::kRefuse) {
      throw file_error(ErrorCode::kOutputExists, path, "`{}` exists already", path)
          .help("{}", help_for_existing(flag));
    }
  } else if (errno != ENOENT) {
    throw file_error(
        ErrorCode::kOutputUnwritable, path, "cannot write `{}`: {}", path, errno_text(errno));
  }
  const std::string directory = directory_of(path);
  if (::stat(directory.c_str(), &status) != 0) {
    throw unwritable_below(path, directory).help("create it first: mkdir -p '{}'", directory);
  }
  if (!S_ISDIR(status.st_mode)) {
    throw file_error(ErrorCode::kOutputUnwritable,
                     path,
                     "cannot write `{}`: `{}` is not a directory",
                     path,
                     directory);
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw unwritable_below(path, directory)
        .help(flag.empty() ? std::string("choose a directory you may write to")
                           : fmt::format("choose a directory you may write to with {}", flag));
  }
  return ::stat(path.c_str(), &status) == 0 ? TargetKind::kRegular : TargetKind::kNew;
}

void write_direct(const std::string& path, const std::function<void(const Sink&)>& produce) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) {
    throw file_error(
        ErrorCode::kOutputUnwritable, path, "cannot write `{}`: {}", path, errno_text(errno));
  }
  Writer writer(file.get(), path);
  produce([&](std::string_view bytes) { writer.append(bytes); });
  writer.flush();
  if (file.close() != 0) fail_write(path, errno);
}

/// The file that is replaced, links followed, and its permissions (0: of a new file).
struct Target {
  std::string path;
  mode_t mode = 0;
};
Target target_of(const std::string& path, TargetKind kind) {
  Target target{.path = path};
  if (kind != TargetKind::kRegular) return target;
  std::error_code ignored;
  const stdfs::path real = stdfs::canonical(path, ignored);
  if (!ignored) target.path = real.string();
  struct stat status {};
  if (::stat(target.path.c_str(), &status) == 0) target.mode = status.st_mode & 07777;
  return target;
}

std::string temporary_name(const std::string& target) {
  static std::atomic<int> counter{0};
  return fmt::format("{}.tmp-{}-{}", target, ::getpid(), counter++);
}

/// Opens a new file for what is written to `path`.
int make_temporary(const std::string& name, const std::string& path) {
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file >= 0) return file;
  if (errno == ENOSPC || errno == EDQUOT) fail_write(path, errno);
  throw file_error(
      ErrorCode::kOutputUnwritable, path, "cannot write `{}`: {}", path, errno_text(errno));
}

/// Renames the finished temporary file. Still refuses to overwrite if another process has created
/// the file meanwhile.
void publish(const std::string& temporary, const std::string& path, Overwrite overwrite) {
  if (overwrite == Overwrite::kRefuse) {
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
      return;
    }
    if (errno == EEXIST) {
      throw file_error(ErrorCode::kOutputExists, path, "`{}` exists already", path)
          .help("{}", help_for_existing(""));
    }
    // The file system lacks RENAME_NOREPLACE, so the check before the work must be enough.
    if (errno != EINVAL && errno != ENOSYS) fail_write(path, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) fail_write(path, errno);
}

}  // namespace

void check_output(const std::string& path, Overwrite overwrite, std::string_view flag) {
  const TargetKind kind = inspect(path, overwrite, flag);
  if (kind == TargetKind::kDirect) return;
  // Permissions do not say everything: /proc takes no new files.
  const Target target = target_of(path, kind);
  const Temporary temporary(temporary_name(target.path));
  const Descriptor file(make_temporary(temporary.path(), path));
}

void write_file(const std::string& path, std::string_view bytes, Overwrite overwrite) {
  write_file_streamed(path, overwrite, [&](const Sink& sink) { sink(bytes); });
}

void write_file_streamed(const std::string& path,
                         Overwrite overwrite,
                         const std::function<void(const Sink&)>& produce) {
  const TargetKind kind = inspect(path, overwrite, "");
  if (kind == TargetKind::kDirect) {
    write_direct(path, produce);
    return;
  }
  const Target target = target_of(path, kind);
  Temporary temporary(temporary_name(target.path));
  Descriptor file(make_temporary(temporary.path(), path));
  if (target.mode != 0) static_cast<void>(::fchmod(file.get(), target.mode));
  Writer writer(file.get(), path);
  produce([&](std::string_view bytes) { writer.append(bytes); });
  writer.flush();
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail_write(path, errno);
  if (file.close() != 0) fail_write(path, errno);
  publish(temporary.path(), target.path, overwrite);
  temporary.keep();
  sync_directory(directory_of(target.path));
}

std::vector<std::string> help_for_missing(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (stdfs::directory_iterator at(directory_of(path), error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::vector<std::string> help;
  for (const std::string& name : nearest(stdfs::path(path).filename().string(), names)) {
    help.push_back(
        fmt::format("did you mean `{}`?", (stdfs::path(path).parent_path() / name).string()));
  }
  return help;
}

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  // O_NONBLOCK, because opening a pipe must not wait for a writer. Regular files ignore it.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw file_error(ErrorCode::kFileNotFound, path, "`{}` does not exist", path)
          .help(help_for_missing(path));
    }
    throw file_error(
        ErrorCode::kFileUnreadable, path, "cannot read `{}`: {}", path, errno_text(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw file_error(ErrorCode::kFileUnreadable,
                     path,
                     "cannot read `{}`: it is {}",
                     path,
                     S_ISDIR(status.st_mode) ? "a directory" : "no plain file")
        .help(S_ISDIR(status.st_mode)
                  ? std::vector<std::string>{}
                  : std::vector<std::string>{"save what it gives to a file first"});
  }
  const auto too_large = [&](std::uint64_t bytes) {
    throw file_error(ErrorCode::kFileUnreadable,
                     path,
                     "`{}` has {} bytes; at most {} are read",
                     path,
                     bytes,
                     most_bytes);
  };
  const auto expected = static_cast<std::uint64_t>(status.st_size);
  if (expected > most_bytes) too_large(expected);
  std::string content;
  content.reserve(expected + 1);
  // Do not rely on st_size: it is 0 in /proc, and a file may grow while it is read.
  std::vector<char> block(std::size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      throw file_error(
          ErrorCode::kFileUnreadable, path, "cannot read `{}`: {}", path, errno_text(errno));
    }
    if (got == 0) return content;
    content.append(block.data(), static_cast<std::size_t>(got));
    if (content.size() > most_bytes) too_large(content.size());
  }
}

void abandon_temporaries() noexcept {
  for (Slot& slot : temporaries) {
    if (slot.state.load() == 2) ::unlink(slot.name.data());
  }
}

void sync_directory(const std::string& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) fail_write(path, errno);
  // Some file systems cannot sync a directory and return EINVAL.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail_write(path, errno);
}

}  // namespace elixir
