// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "capture/archive/record_check.h"
#include "capture/archive/zip_directory.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

constexpr const char* kHowToExport =
    "export the model with torch.jit.trace or torch.jit.script and module.save(), or with "
    "examples/export_hf.py";

Error archive_error(ErrorCode code,
                    const std::string& path,
                    std::string message,
                    std::optional<long long> offset = std::nullopt) {
  ErrorInfo info;
  info.code = code;
  info.message = std::move(message);
  info.where = SourcePos{.file = path, .pointer = "", .line = std::nullopt, .byte_offset = offset};
  info.help.emplace_back(code == ErrorCode::kTruncatedArchive ? "copy or export the file again"
                                                              : kHowToExport);
  return Error(std::move(info));
}

}  // namespace

Archive::Archive(std::string path, int descriptor, std::size_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

Archive::~Archive() {
  ::close(descriptor_);
}

std::shared_ptr<Archive> Archive::open(const std::string& path) {
  // O_NONBLOCK, because opening a pipe must not wait for a writer. Regular files ignore it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const int reason = errno;
    throw archive_error(reason == ENOENT ? ErrorCode::kFileNotFound : ErrorCode::kFileUnreadable,
                        path,
                        std::string("cannot open the model: ") + std::strerror(reason));
  }
  struct stat status {};
  const bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  // From here on the Archive closes the descriptor.
  std::shared_ptr<Archive> archive(
      new Archive(path, descriptor, regular ? static_cast<std::size_t>(status.st_size) : 0));
  if (!regular) throw archive_error(ErrorCode::kFileUnreadable, path, "not a regular file");
  archive->find_records();
  return archive;
}

void Archive::find_records() {
  constexpr std::array<char, 4> kZipMagic{'P', 'K', 3, 4};
  std::array<char, 4> magic{};
  if (size_ < magic.size() ||
      ::pread(descriptor_, magic.data(), magic.size(), 0) != ssize_t(magic.size()) ||
      magic != kZipMagic) {
    throw archive_error(ErrorCode::kNotTorchScript, path_, "not a TorchScript archive", 0);
  }
  const std::vector<ZipEntry> entries = read_zip_directory(descriptor_, size_);
  if (entries.empty()) {
    throw archive_error(ErrorCode::kTruncatedArchive, path_, "the archive is truncated or damaged")
        .note("it does not end in a directory of its records");
  }
  if (const auto problem = check_record_names(entries)) refuse(*problem);
  if (const auto problem = check_record_sizes(entries)) refuse(*problem);
  try {
    // The reader keeps a shared pointer to the adapter. That pointer must not own the Archive.
    const std::shared_ptr<Archive> self(this, [](Archive*) {});
    caffe2::serialize::PyTorchStreamReader reader(self);
    std::vector<std::pair<std::string, ByteRange>> data;
    for (const std::string& name : reader.getAllRecords()) {
      const ByteRange range{reader.getRecordOffset(name), reader.getRecordSize(name)};
      // Tensors are stored, but code is deflated, so its size may exceed the bytes in the file.
      constexpr std::uint64_t kMostInflation = 1032;
      const bool tensor = name.rfind("data/", 0) == 0 || name.rfind("constants/", 0) == 0;
      const std::uint64_t fewest = tensor ? range.bytes : range.bytes / kMostInflation;
      if (range.offset > size_ || fewest > size_ - range.offset) {
        throw archive_error(ErrorCode::kTruncatedArchive,
                            path_,
                            "record '" + name + "' lies outside the file",
                            static_cast<long long>(range.offset));
      }
      records_.emplace(name, range);
      if (name.rfind("data/", 0) == 0 && range.bytes > 0) {
        skipped_.push_back(range);
        weights_[range.offset].name = name;
      }
    }
    verify_checksums(reader);
    require_code();
    check_contents(reader);
  } catch (const Error&) {
    throw;
  } catch (
      const std::exception& error) {  // c10::Error, or a standard exception for damaged numbers
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    throw archive_error(ErrorCode::kTruncatedArchive, path_, "the archive is truncated or damaged")
        .note(torch_error != nullptr ? torch_error->what_without_backtrace() : error.what());
  }
  std::sort(skipped_.begin(), skipped_.end(), [](const ByteRange& a, const ByteRange& b) {
    return a.offset < b.offset;
  });
  refuse_overlaps();
}

const ByteRange* Archive::last_tensor_from(std::uint64_t position) const {
  const auto after = std::upper_bound(
      skipped_.begin(), skipped_.end(), position, [](std::uint64_t p, const ByteRange& range) {
        return p < range.offset;
      });
  return after == skipped_.begin() ? nullptr : &*std::prev(after);
}

/// A record that begins within a tensor's would be left out as the tensor is, and never be read.
void Archive::refuse_overlaps() const {
  for (const auto& [name, record] : records_) {
    const ByteRange* tensor = last_tensor_from(record.offset);
    if (tensor == nullptr || record.bytes == 0) continue;
    if (record.offset - tensor->offset >= tensor->bytes) continue;
    const auto weight = weights_.find(record.offset);
    if (weight != weights_.end() && weight->second.name == name) continue;  // itself
    throw archive_error(ErrorCode::kTruncatedArchive,
                        path_,
                        "record '" + name + "' lies within a tensor",
                        static_cast<long long>(record.offset));
  }
}

void Archive::require_code() const {
  const bool has_code = std::any_of(records_.begin(), records_.end(), [](const auto& record) {
    return record.first.rfind("code/", 0) == 0;
  });
  if (!has_code || records_.count("constants.pkl") == 0 || records_.count("data.pkl") == 0) {
    throw archive_error(ErrorCode::kNotTorchScript,
                        path_,
                        "a zip archive, but without TorchScript code (a state dict or a "
                        "torch.export archive?)");
  }
}

void Archive::check_contents(caffe2::serialize::PyTorchStreamReader& reader) const {
  const auto read = [&reader](const std::string& name) {
    const auto [content, bytes] = reader.getRecord(name);
    return std::string(static_cast<const char*>(content.get()), bytes);
  };
  const auto bytes_of = [this](const std::string& name) -> std::optional<std::uint64_t> {
    const auto found = records_.find(name);
    if (found == records_.end()) return std::nullopt;
    return found->second.bytes;
  };
  std::vector<std::string> names;
  names.reserve(records_.size());
  for (const auto& record : records_) names.push_back(record.first);
  std::sort(names.begin(), names.end());
  if (const auto problem = check_record_contents(names, read, bytes_of)) refuse(*problem);
}

void Archive::refuse(const RecordProblem& problem) const {
  const auto found = records_.find(problem.record);
  throw archive_error(ErrorCode::kTruncatedArchive,
                      path_,
                      problem.message,
                      found == records_.end()
                          ? std::nullopt
                          : std::optional(static_cast<long long>(found->second.offset)));
}

void Archive::verify_checksums(caffe2::serialize::PyTorchStreamReader& reader) {
  for (const ZipEntry& entry : read_zip_directory(descriptor_, size_)) {
    // All records are in one folder, which is named after the file.
    const std::string name = entry.name.substr(entry.name.find('/') + 1);
    const auto found = records_.find(name);
    if (found == records_.end()) continue;
    const auto damaged = [&](const std::string& how) {
      return archive_error(ErrorCode::kTruncatedArchive,
                           path_,
                           fmt::format("record '{}' is damaged: {}", name, how),
                           static_cast<long long>(found->second.offset));
    };
    if (entry.bytes != found->second.bytes) throw damaged("the archive lists it with two sizes");
    if (const auto weights = weights_.find(found->second.offset); weights != weights_.end()) {
      if (!entry.stored) throw damaged("weights are stored as they are, never compressed");
      weights->second.checksum = entry.checksum;
      continue;
    }
    if (entry.checksum == 0) continue;
    std::uint32_t checksum = 0;
    if (entry.stored) {
      const std::string content = record(name);
      checksum = crc32(0, content.data(), content.size());
    } else {
      const auto [content, bytes] = reader.getRecord(name);
      checksum = crc32(0, content.get(), bytes);
    }
    if (checksum != entry.checksum) throw damaged("its checksum differs");
  }
}

std::size_t Archive::read(std::uint64_t position,
                          void* buffer,
                          std::size_t bytes,
                          const char* /*what*/) const {
  const ByteRange* tensor = last_tensor_from(position);
  if (tensor != nullptr && position == tensor->offset && bytes == tensor->bytes) {
    const std::lock_guard lock(mutex_);
    skipped_buffers_[buffer] = *tensor;
    return bytes;
  }
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(descriptor_,
                              static_cast<char*>(buffer) + done,
                              bytes - done,
                              static_cast<off_t>(position + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::optional<ByteRange> Archive::skipped_at(const void* buffer) const {
  const std::lock_guard lock(mutex_);
  const auto found = skipped_buffers_.find(buffer);
  if (found == skipped_buffers_.end()) return std::nullopt;
  return found->second;
}

void Archive::forget_buffers() {
  const std::lock_guard lock(mutex_);
  skipped_buffers_.clear();
}

void Archive::fetch(const ByteRange& range, void* buffer) const {
  std::size_t done = 0;
  while (done < range.bytes) {
    const ssize_t n = ::pread(descriptor_,
                              static_cast<char*>(buffer) + done,
                              range.bytes - done,
                              static_cast<off_t>(range.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw archive_error(ErrorCode::kTruncatedArchive,
                          path_,
                          "the file ends inside a tensor",
                          static_cast<long long>(range.offset + done));
    }
    done += static_cast<std::size_t>(n);
  }
}

void Archive::check_weights(const ByteRange& record, std::uint64_t bytes) const {
  if (record.bytes >= bytes) return;
  const auto found = weights_.find(record.offset);
  require(found != weights_.end(), "weights asked for at a place that holds none");
  throw archive_error(ErrorCode::kTruncatedArchive,
                      path_,
                      fmt::format("record '{}' holds {} bytes, the tensor in it needs {}",
                                  found->second.name,
                                  record.bytes,
                                  bytes),
                      static_cast<long long>(record.offset));
}

std::uint32_t Archive::checksum_of(std::uint32_t before, const ByteRange& range) const {
  std::uint32_t checksum = before;
  std::string piece;
  for (std::uint64_t done = 0; done < range.bytes; done += piece.size()) {
    piece.resize(std::min<std::uint64_t>(range.bytes - done, 1 << 20));
    fetch({range.offset + done, piece.size()}, piece.data());
    checksum = crc32(checksum, piece.data(), piece.size());
  }
  return checksum;
}

void Archive::fetch_weights(const ByteRange& record,
                            std::uint64_t first,
                            void* buffer,
                            std::uint64_t bytes) const {
  check_weights(record, first + bytes);
  fetch({record.offset + first, bytes}, buffer);
  const auto found = weights_.find(record.offset);
  require(found != weights_.end(), "weights asked for at a place that holds none");
  if (found->second.checksum == 0) return;
  if (bytes < record.bytes) {
    const std::lock_guard lock(mutex_);
    if (checked_.count(record.offset) != 0) return;
  }
  const std::uint64_t end = first + bytes;
  std::uint32_t checksum = checksum_of(0, {record.offset, first});
  checksum = crc32(checksum, buffer, bytes);
  checksum = checksum_of(checksum, {record.offset + end, record.bytes - end});
  if (checksum != found->second.checksum) {
    throw archive_error(ErrorCode::kTruncatedArchive,
                        path_,
                        "record '" + found->second.name + "' is damaged: its checksum differs",
                        static_cast<long long>(record.offset));
  }
  const std::lock_guard lock(mutex_);
  checked_.insert(record.offset);
}

bool Archive::has_record(const std::string& name) const {
  return records_.count(name) != 0;
}

std::string Archive::record(const std::string& name) const {
  const auto found = records_.find(name);
  require(found != records_.end(), "asked for a record that the archive does not have");
  std::string text(found->second.bytes, '\0');
  fetch(found->second, text.data());
  return text;
}

}  // namespace elixir::capture
