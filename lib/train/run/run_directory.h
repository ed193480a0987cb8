// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The directory of a training run. It contains config.json (all choices, written before the first
// step), metrics.jsonl (one line per step, appended as steps end), checkpoints/, and at the end
// summary.json and trace.json. Whole files are written atomically. A kill may truncate the last
// metrics line, and readers skip such a line.
//
// One process owns the directory while it has this object (run_lock.h). It holds the directory
// open, and follows no link in it: whoever packed it may have put anything there. Every file names
// its run, so files of two runs are never mixed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/directory.h"
#include "core/json.h"
#include "train/run/attempts.h"
#include "train/run/run_config.h"
#include "train/run/run_lock.h"

namespace elixir::train {

class RunDirectory {
 public:
  /// The paths inside directory `path` that a run creates, and that --force removes first.
  static std::vector<std::string> files_of(const std::string& path);
  /// Checks without writing. Throws kOutputExists when `path` exists and is not an empty directory
  /// (without kAllow), kRunInUse, and kOutputUnwritable when it, or its first existing parent,
  /// cannot be written.
  static void check(const std::string& path, Overwrite overwrite);
  /// Starts a new run: creates and locks the directory, its parents and checkpoints/. With kAllow,
  /// first removes the files of an older run. Throws the same errors, and then leaves nothing
  /// behind.
  static RunDirectory create(const std::string& path, Overwrite overwrite);
  /// Opens a run to continue it: locks it and removes what a killed process left. Throws
  /// kFileNotFound when there is no config.json, kRunInUse, kOutputUnwritable, kJson….
  static RunDirectory open(const std::string& path);

  RunDirectory(RunDirectory&&) noexcept = default;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory() = default;

  [[nodiscard]] const Directory& directory() const { return directory_; }
  [[nodiscard]] const Directory& checkpoints() const { return *checkpoints_; }
  [[nodiscard]] const std::string& path() const { return directory_.path(); }
  [[nodiscard]] const std::string& run_id() const { return identity_.run_id; }
  /// The run's. This process's own attempt is among its attempts from begin() on.
  [[nodiscard]] const RunIdentity& identity() const { return identity_; }
  /// The attempt of this process.
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }

  /// Throws kIoError when the directory, checkpoints/ or metrics.jsonl was removed or replaced.
  /// Cheap enough to call every step.
  void check_present() const;
  void write(const std::string& name, std::string_view bytes) const;
  /// Begins this attempt: at the first step, or behind checkpoint `from`. Writes config.json, and
  /// cuts metrics.jsonl back to that step. Checkpoints of later steps, which are damaged or of a
  /// branch that nobody goes on with, get other names. Throws kMixedRuns when metrics.jsonl has a
  /// line of another run; then nothing is changed. If it fails for a new run, the directory is
  /// removed (an older run's notes stay).
  void begin(const std::optional<Attempt::Parent>& from,
             const std::string& program_fingerprint,
             const RunChoices& choices,
             const Json& meta);
  /// Appends one line, starting with the run's id. Throws kDiskFull, kIoError; also as
  /// check_present().
  void append_metrics(const Json& line);
  /// Removes the directory, unless the run has begun.
  void abandon();

 private:
  RunDirectory(Directory directory, std::string attempt);
  /// The lines of metrics.jsonl up to `step`; nullopt: there is no such file.
  [[nodiscard]] std::optional<std::string> metrics_until(std::int64_t step) const;

  Directory directory_;
  Attempt attempt_;
  RunLock lock_;
  std::optional<Directory> checkpoints_;
  RunIdentity identity_;
  bool begun_ = false;  ///< config.json exists
  Descriptor metrics_;
};

}  // namespace elixir::train
