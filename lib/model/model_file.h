// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A model file, for tools. A process of its own reads it, because its code is a stranger's; this
// process reads weights alone, whose places it checks. No LibTorch.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "model/data_file.h"
#include "model/messages.h"
#include "model/options.h"
#include "model/reader_process.h"
#include "program/program.h"

namespace elixir::model {

/// A constant of a program: its storage's bytes, and how the model views them.
struct Constant {
  Geometry geometry;
  std::string bytes;
};

struct Captured {
  program::Program program;
  std::map<program::StorageId, Constant> constants;  ///< when they were asked for
  std::int64_t unattributed_operators = 0;
  std::vector<std::string> warnings;
};

enum class Constants : std::uint8_t { kLeaveOut, kRead };

class ModelFile {
 public:
  /// Opens a file and has it read. Throws kFileNotFound, kFileUnreadable, kNotTorchScript,
  /// kTruncatedArchive, kUnsupportedModel; kMissingFeature where the process cannot be had.
  static ModelFile open(const std::string& path, const Isolation& isolation = {});

  [[nodiscard]] const std::string& path() const { return file_->path(); }
  /// Why the kernel does not restrict the process; "" where it does, or need not.
  [[nodiscard]] const std::string& unrestricted_because() const { return unrestricted_because_; }

  /// Throws as capture::capture().
  [[nodiscard]] Captured capture(const Options& options, Constants constants);
  /// Ends the process, which keeps a module in memory. Another starts when it is needed.
  void end_process() { process_.reset(); }

  /// The exporter's initialization.json.
  [[nodiscard]] const std::optional<std::string>& recipe() const { return opened_.recipe; }
  /// Whether it says which buffers a state_dict has. Otherwise all count as persistent.
  [[nodiscard]] bool says_persistent() const { return opened_.says_persistent; }
  /// A parameter or buffer by any of its names. Throws kWeightsMismatch for another name.
  [[nodiscard]] const StateEntry& state(const std::string& name) const;
  /// Whether the file has data for it. It has none when the model was saved from meta, unless there
  /// is none to have: a tensor without elements.
  [[nodiscard]] static bool has_data(const StateEntry& entry);
  /// Reads the storage of an entry, of entry.storage_bytes. Throws kBufferWithoutData,
  /// kTruncatedArchive.
  void read(const StateEntry& entry, void* storage) const;

  /// Writes this archive with other values. `value` gives the bytes of the request's tensor `i`,
  /// contiguous; they must stay until it is called again.
  void write_archive(const ExportRequest& request,
                     const std::function<std::string_view(std::size_t i)>& value,
                     const Sink& sink);

 private:
  ModelFile(std::shared_ptr<const DataFile> file, const Isolation& isolation)
      : file_(std::move(file)), isolation_(isolation) {}
  /// The process, started when it does not run.
  ReaderProcess& process();
  Opened open_in(ReaderProcess& process) const;

  std::shared_ptr<const DataFile> file_;
  Isolation isolation_;
  std::shared_ptr<ReaderProcess> process_;
  Opened opened_;
  std::map<std::string, std::size_t> by_name_;
  std::string unrestricted_because_;
};

}  // namespace elixir::model
