// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/archive.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "capture/archive/zip_directory.h"
#include "core/crc32.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

bool is_weights(const std::string& name) {
  return name.rfind("data/", 0) == 0;
}

Error no_torchscript(const model::DataFile& file, std::string message) {
  return Error(ErrorCode::kNotTorchScript, SourcePos{.file = file.path()}, std::move(message))
      .help(
          "export the model with torch.jit.trace or torch.jit.script and module.save(), or with "
          "examples/export_hf.py");
}

Error truncated(const model::DataFile& file, std::string note) {
  Error error(ErrorCode::kTruncatedArchive,
              SourcePos{.file = file.path()},
              "the archive is truncated or damaged");
  return error.note(std::move(note)).help("copy or export the file again");
}

}  // namespace

std::shared_ptr<Archive> Archive::open(std::shared_ptr<const model::DataFile> file) {
  std::shared_ptr<Archive> archive(new Archive(std::move(file)));
  archive->find_records();
  return archive;
}

void Archive::find_records() {
  constexpr std::array<char, 4> kZipMagic{'P', 'K', 3, 4};
  std::array<char, 4> magic{};
  if (file_->bytes() >= magic.size()) file_->read(0, magic.size(), magic.data());
  if (magic != kZipMagic) throw no_torchscript(*file_, "not a TorchScript archive");
  if (read_zip_directory(file_->descriptor(), file_->bytes()).empty()) {
    throw truncated(*file_, "it does not end in a directory of its records");
  }
  try {
    // The reader keeps a shared pointer to the adapter. That pointer must not own the Archive.
    const std::shared_ptr<Archive> self(this, [](Archive*) {});
    caffe2::serialize::PyTorchStreamReader reader(self);
    for (const std::string& name : reader.getAllRecords()) {
      const model::Record record{.name = name,
                                 .offset = reader.getRecordOffset(name),
                                 .bytes = reader.getRecordSize(name)};
      records_.emplace(name, record);
      if (!is_weights(name)) continue;
      file_->check(record, 0);
      if (record.bytes > 0) skipped_.emplace(record.offset, record);
    }
    verify_checksums(reader);
    require_code();
  } catch (const Error&) {
    throw;
  } catch (
      const std::exception& error) {  // c10::Error, or a standard exception for damaged numbers
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    throw truncated(*file_,
                    torch_error != nullptr ? torch_error->what_without_backtrace() : error.what());
  }
}

void Archive::require_code() const {
  const bool has_code = std::any_of(records_.begin(), records_.end(), [](const auto& record) {
    return record.first.rfind("code/", 0) == 0;
  });
  if (!has_code || records_.count("constants.pkl") == 0 || records_.count("data.pkl") == 0) {
    throw no_torchscript(*file_,
                         "a zip archive, but without TorchScript code (a state dict or a "
                         "torch.export archive?)");
  }
}

void Archive::verify_checksums(caffe2::serialize::PyTorchStreamReader& reader) {
  for (const ZipEntry& entry : read_zip_directory(file_->descriptor(), file_->bytes())) {
    // All records are in one folder, which is named after the file.
    const std::string name = entry.name.substr(entry.name.find('/') + 1);
    const auto found = records_.find(name);
    if (found == records_.end()) continue;
    const model::Record& record = found->second;
    const auto damaged = [&](const std::string& how) {
      return file_->damage(record.offset, fmt::format("record '{}' is damaged: {}", name, how));
    };
    if (entry.bytes != record.bytes) throw damaged("the archive lists it with two sizes");
    if (const auto weights = skipped_.find(record.offset); weights != skipped_.end()) {
      if (!entry.stored) throw damaged("weights are stored as they are, never compressed");
      weights->second.checksum = entry.checksum;
      continue;
    }
    if (entry.checksum == 0) continue;
    const auto [content, bytes] = reader.getRecord(name);
    if (crc32(0, content.get(), bytes) != entry.checksum) throw damaged("its checksum differs");
  }
}

std::size_t Archive::read(std::uint64_t position,
                          void* buffer,
                          std::size_t bytes,
                          const char* /*what*/) const {
  const auto weights = skipped_.find(position);
  if (weights != skipped_.end() && bytes == weights->second.bytes) {
    const std::lock_guard lock(mutex_);
    skipped_buffers_[buffer] = weights->second;
    return bytes;
  }
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(file_->descriptor(),
                              static_cast<char*>(buffer) + done,
                              bytes - done,
                              static_cast<off_t>(position + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::optional<model::Record> Archive::skipped_at(const void* buffer) const {
  const std::lock_guard lock(mutex_);
  const auto found = skipped_buffers_.find(buffer);
  if (found == skipped_buffers_.end()) return std::nullopt;
  return found->second;
}

void Archive::forget_buffers() {
  const std::lock_guard lock(mutex_);
  skipped_buffers_.clear();
}

bool Archive::has_record(const std::string& name) const {
  return records_.count(name) != 0;
}

std::string Archive::record(const std::string& name) const {
  const auto found = records_.find(name);
  require(found != records_.end(), "asked for a record that the archive does not have");
  file_->check(found->second, found->second.bytes);
  std::string text(found->second.bytes, '\0');
  file_->read(found->second.offset, text.size(), text.data());
  return text;
}

}  // namespace elixir::capture
