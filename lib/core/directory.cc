// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"

namespace elixir {
namespace {

[[noreturn]] void fail_change(const std::string& path, int number) {
  throw change_error(path, number);
}

[[noreturn]] void fail_read(const std::string& path, int number) {
  if (number == ENOENT) {
    throw file_error(ErrorCode::kFileNotFound, path, "`{}` does not exist", path);
  }
  throw file_error(number == EIO ? ErrorCode::kIoError : ErrorCode::kFileUnreadable,
                   path,
                   "cannot read `{}`: {}",
                   path,
                   std::generic_category().message(number));
}

// Names of temporary files in use, for abandon_temporaries(). A slot is claimed, its name is filled
// in, and then it is published. A signal handler reads only published slots. When the table is
// full, further files are not registered.
constexpr std::size_t kNameBytes = 256;
struct Slot {
  std::atomic<int> state{0};  // 0 free, 1 claimed, 2 published
  int directory = -1;
  std::array<char, kNameBytes> name{};
};
std::array<Slot, 16> temporaries;

/// A temporary file in `directory`. It is removed at the end, unless it is kept.
class Temporary {
 public:
  Temporary(int directory, std::string name) : directory_(directory), name_(std::move(name)) {
    if (name_.size() >= kNameBytes) return;
    for (Slot& slot : temporaries) {
      int free = 0;
      if (!slot.state.compare_exchange_strong(free, 1)) continue;
      slot.directory = directory_;
      std::memcpy(slot.name.data(), name_.c_str(), name_.size() + 1);
      slot.state.store(2);
      slot_ = &slot;
      return;
    }
  }
  ~Temporary() {
    if (!kept_) ::unlinkat(directory_, name_.c_str(), 0);
    if (slot_ != nullptr) slot_->state.store(0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }
  void keep() { kept_ = true; }

 private:
  int directory_;
  std::string name_;
  Slot* slot_ = nullptr;
  bool kept_ = false;
};

std::string temporary_name(const std::string& target) {
  static std::atomic<int> counter{0};
  return fmt::format("{}.tmp-{}-{}", target, ::getpid(), counter++);
}

/// For what is written to `path`.
Descriptor make_temporary(const Directory& directory,
                          const Temporary& temporary,
                          const std::string& path) {
  Descriptor made(::openat(directory.descriptor(),
                           temporary.name().c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                           0666));
  if (!made.is_open()) fail_change(path, errno);
  return made;
}

const char* checked(const std::string& name) {
  require(!name.empty() && name != "." && name != ".." &&
              name.find_first_of(std::string_view("/\0", 2)) == std::string::npos,
          "a name in a directory is no name");
  return name.c_str();
}

/// What is there instead, for messages.
const char* word_of(Directory::Kind kind, bool is_link) {
  if (is_link) return "a symbolic link, which is not followed";
  if (kind == Directory::Kind::kFile) return "a plain file";
  if (kind == Directory::Kind::kDirectory) return "a directory";
  return "neither a plain file nor a directory";
}

Directory::Kind kind_of_mode(mode_t mode) {
  if (S_ISREG(mode)) return Directory::Kind::kFile;
  if (S_ISDIR(mode)) return Directory::Kind::kDirectory;
  return Directory::Kind::kOther;
}

/// Throws with `code` when something that is not of the `wanted` kind has this name.
void check_kind(const Directory& directory,
                const std::string& name,
                Directory::Kind wanted,
                ErrorCode code) {
  struct stat status {};
  if (::fstatat(directory.descriptor(), checked(name), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  const Directory::Kind kind = kind_of_mode(status.st_mode);
  if (kind == wanted) return;
  const std::string path = directory.file(name);
  throw file_error(code,
                   path,
                   "cannot {} `{}`: it is {}",
                   code == ErrorCode::kOutputUnwritable ? "write" : "read",
                   path,
                   word_of(kind, S_ISLNK(status.st_mode)));
}

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::vector<std::string> names_in(int directory, const std::string& path) {
  // Opened again, because duplicates of a descriptor share their place in the listing.
  Descriptor own(::openat(directory, ".", kDirectoryFlags));
  DIR* const listing = own.is_open() ? ::fdopendir(own.get()) : nullptr;
  if (listing == nullptr) throw unreadable_directory(path, {errno, std::generic_category()});
  static_cast<void>(own.release());
  std::vector<std::string> names;
  errno = 0;
  for (const dirent* entry = ::readdir(listing); entry != nullptr; entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int number = errno;
  ::closedir(listing);
  if (number != 0) throw unreadable_directory(path, {number, std::generic_category()});
  return names;
}

/// `depth`: how many levels may follow. Each holds a descriptor.
void remove_tree(int parent, const std::string& name, const std::string& path, int depth) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM) fail_change(path, errno);
  const Descriptor directory(::openat(parent, name.c_str(), kDirectoryFlags | O_NOFOLLOW));
  if (!directory.is_open()) fail_change(path, errno);
  if (depth == 0) {
    throw file_error(ErrorCode::kOutputUnwritable, path, "`{}` is too deep to be removed", path);
  }
  for (const std::string& each : names_in(directory.get(), path)) {
    remove_tree(directory.get(), each, path + "/" + each, depth - 1);
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    fail_change(path, errno);
  }
}

void sync_descriptor(int descriptor, const std::string& path) {
  // Some file systems cannot sync a directory and return EINVAL.
  if (::fsync(descriptor) != 0 && errno != EINVAL) fail_change(path, errno);
}

}  // namespace

Directory::Directory(std::string path, Descriptor descriptor)
    : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

Directory Directory::open(const std::string& path) {
  Descriptor descriptor(::open(path.c_str(), kDirectoryFlags));
  if (!descriptor.is_open()) fail_read(path, errno);
  return {path, std::move(descriptor)};
}

bool Directory::is_in_place() const {
  struct stat held {
  }, named{};
  return ::fstat(descriptor(), &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Directory::Kind Directory::kind_of(const std::string& name) const {
  struct stat status {};
  if (::fstatat(descriptor(), checked(name), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Kind::kNothing;
    fail_read(file(name), errno);
  }
  return kind_of_mode(status.st_mode);
}

std::vector<std::string> Directory::names() const {
  return names_in(descriptor(), path_);
}

std::optional<Directory> Directory::find(const std::string& name) const {
  Descriptor found(::openat(descriptor(), checked(name), kDirectoryFlags | O_NOFOLLOW));
  if (found.is_open()) return Directory(file(name), std::move(found));
  const int number = errno;
  if (number == ENOENT) return std::nullopt;
  check_kind(*this, name, Kind::kDirectory, ErrorCode::kFileUnreadable);
  fail_read(file(name), number);
}

Directory Directory::make(const std::string& name) const {
  if (::mkdirat(descriptor(), checked(name), 0777) == 0) {
    sync();
  } else if (errno != EEXIST) {
    fail_change(file(name), errno);
  }
  check_kind(*this, name, Kind::kDirectory, ErrorCode::kOutputUnwritable);
  std::optional<Directory> made = find(name);
  if (!made) fail_change(file(name), ENOENT);
  return std::move(*made);
}

Descriptor Directory::open_file(const std::string& name) const {
  Descriptor opened(
      ::openat(descriptor(), checked(name), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  const int number = errno;
  check_kind(*this, name, Kind::kFile, ErrorCode::kFileUnreadable);
  if (!opened.is_open()) fail_read(file(name), number);
  check_regular(opened, file(name));
  return opened;
}

Descriptor Directory::open_to_change(const std::string& name, int flags) const {
  require((flags & O_TRUNC) == 0, "a file is cut before it is known what it is");
  Descriptor opened(::openat(
      descriptor(), checked(name), flags | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666));
  const int number = errno;
  check_kind(*this, name, Kind::kFile, ErrorCode::kOutputUnwritable);
  if (!opened.is_open()) fail_change(file(name), number);
  struct stat status {};
  const bool known = ::fstat(opened.get(), &status) == 0;
  if (known && S_ISREG(status.st_mode) && status.st_nlink <= 1) return opened;
  throw file_error(ErrorCode::kOutputUnwritable,
                   file(name),
                   "cannot write `{}`: it is a file that has another name too",
                   file(name))
      .help("remove this name of it");
}

std::string Directory::read(const std::string& name, std::uint64_t most_bytes) const {
  return read_all(open_file(name), file(name), most_bytes);
}

void Directory::write(const std::string& name, std::string_view bytes, Overwrite overwrite) const {
  write_streamed(name, overwrite, [&](const Sink& sink) { sink(bytes); });
}

void Directory::write_streamed(const std::string& name,
                               Overwrite overwrite,
                               const std::function<void(const Sink&)>& produce) const {
  const std::string path = file(name);
  struct stat status {};
  const bool replaces = ::fstatat(descriptor(), checked(name), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISREG(status.st_mode);
  Temporary temporary(descriptor(), temporary_name(name));
  Descriptor made = make_temporary(*this, temporary, path);
  if (replaces) static_cast<void>(::fchmod(made.get(), status.st_mode & 0777));
  write_all(made, path, produce);
  sync_descriptor(made.get(), path);
  if (made.close() != 0) fail_change(path, errno);
  if (overwrite == Overwrite::kRefuse) {
    rename(temporary.name(), name);
  } else if (::renameat(descriptor(), temporary.name().c_str(), descriptor(), name.c_str()) != 0) {
    fail_change(path, errno);
  }
  temporary.keep();
  sync();
}

void Directory::check_can_make(const std::string& name) const {
  const Temporary temporary(descriptor(), temporary_name(checked(name)));
  const Descriptor made(make_temporary(*this, temporary, file(name)));
}

void Directory::rename(const std::string& from, const std::string& to) const {
  const std::string path = file(to);
  const auto taken = [&] {
    return file_error(ErrorCode::kOutputExists, path, "`{}` exists already", path)
        .help("give --force to replace it");
  };
  if (::renameat2(descriptor(), checked(from), descriptor(), checked(to), RENAME_NOREPLACE) == 0) {
    return;
  }
  if (errno == EEXIST) throw taken();
  if (errno != EINVAL && errno != ENOSYS) fail_change(path, errno);
  // The file system lacks RENAME_NOREPLACE.
  if (kind_of(to) != Kind::kNothing) throw taken();
  if (::renameat(descriptor(), from.c_str(), descriptor(), to.c_str()) != 0) {
    fail_change(path, errno);
  }
}

void Directory::remove(const std::string& name) const {
  constexpr int kDeepest = 100;
  remove_tree(descriptor(), checked(name), file(name), kDeepest);
}

void Directory::remove_abandoned(const std::string& name) const {
  for (const std::string& each : names()) {
    if (is_temporary_of(each, name)) remove(each);
  }
}

void Directory::sync() const {
  sync_descriptor(descriptor(), path_);
}

void make_directories(const std::string& path) {
  std::filesystem::path above;
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    const std::filesystem::path parent = above.empty() ? "." : above;
    above /= part;
    if (::mkdir(above.c_str(), 0777) == 0) {
      Directory::open(parent.string()).sync();
      continue;
    }
    const int number = errno;
    struct stat status {};
    if (::stat(above.c_str(), &status) != 0) fail_change(above.string(), number);
    if (!S_ISDIR(status.st_mode)) fail_change(above.string(), ENOTDIR);
  }
}

bool is_temporary_of(const std::string& name, const std::string& target) {
  const std::string prefix = target + ".tmp-";
  return name.compare(0, prefix.size(), prefix) == 0 &&
         name.find_first_not_of("0123456789-", prefix.size()) == std::string::npos;
}

void abandon_temporaries() noexcept {
  for (Slot& slot : temporaries) {
    if (slot.state.load() == 2) ::unlinkat(slot.directory, slot.name.data(), 0);
  }
}

}  // namespace elixir
