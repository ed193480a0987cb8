// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The directory of a training run. It contains config.json (all choices, written before the first
// step), metrics.jsonl (one line per step, appended as steps end), checkpoints/, and at the end
// summary.json and trace.json. Whole files are written atomically. A kill may truncate the last
// metrics line, and readers skip such a line.
//
// One process owns the directory while it has this object (RUN/lock). Every file names its run, so
// files of two runs are never mixed.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "train/run/run_lock.h"

namespace elixir::train {

/// Removes temporary files that a killed process left beside `path` (core/files.h).
void remove_abandoned(const std::string& path);

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
  /// Throws kFileNotFound when there is no config.json. Neither locks nor writes.
  static void check_run(const std::string& path);
  /// Opens a run to continue it: locks it and removes abandoned temporary files. Throws
  /// kFileNotFound when there is no config.json, kRunInUse, kOutputUnwritable, kJson….
  static RunDirectory open(const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoints() const { return file("checkpoints"); }
  /// 32 hex digits, chosen at random by create().
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

  /// Throws kIoError when the directory, checkpoints/ or metrics.jsonl was removed or replaced.
  /// Cheap enough to call every step.
  void check_present() const;
  void write(const std::string& name, std::string_view bytes) const;
  /// Writes config.json: the run's identity, and `choices` as its options. If that fails for a new
  /// run, the directory is removed (an older run's notes stay).
  void write_config(const Json& meta, const std::string& program_fingerprint, const Json& choices);
  /// Appends one line, starting with the run's id. Throws kDiskFull, kIoError; also as
  /// check_present().
  void append_metrics(const Json& line);
  /// Removes every line after `step`, and a truncated last line. Throws kMixedRuns when a line is
  /// of another run.
  void cut_metrics(std::int64_t step);
  /// Removes the directory, unless the run has begun.
  void abandon();

 private:
  RunDirectory(std::string path, RunLock lock);
  std::string path_, run_id_;
  RunLock lock_;
  bool begun_ = false;  ///< config.json exists
  std::uint64_t device_ = 0, inode_ = 0;
  int metrics_ = -1;
};

}  // namespace elixir::train
