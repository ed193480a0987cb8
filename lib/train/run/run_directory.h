// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The directory of a training run: config.json (every choice, written before the first step),
// metrics.jsonl (one line a step, appended as steps end), checkpoints/, and at the end summary.json
// and trace.json. Whole files are written atomically; a metrics line may be cut by a kill, and
// readers skip it. One process owns the directory while it has this object (RUN/lock), and every
// file says which run it is of: files of two runs are never taken for one.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "train/run/run_lock.h"

namespace elixir::train {

/// Removes what a killed process left of writing `path`: temporary files beside it (core/files.h).
void remove_abandoned(const std::string& path);

class RunDirectory {
 public:
  /// The paths that a run makes, and that --force removes first, in directory `path`.
  static std::vector<std::string> files_of(const std::string& path);
  /// Nothing is written. kOutputExists when `path` exists and is not an empty directory (without
  /// kAllow), kRunInUse, kOutputUnwritable when it, or the first of its parents that is there, cannot
  /// be written.
  static void check(const std::string& path, Overwrite overwrite);
  /// A new run: makes and locks the directory, its parents and checkpoints/; with kAllow an older
  /// run's files are removed first. Same errors; then nothing is left.
  static RunDirectory create(const std::string& path, Overwrite overwrite);
  /// kFileNotFound without a config.json. Neither locks nor writes.
  static void check_run(const std::string& path);
  /// A run to go on with: locks it, removes abandoned temporary files. kFileNotFound without a
  /// config.json, kRunInUse, kOutputUnwritable, kJson….
  static RunDirectory open(const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoints() const { return file("checkpoints"); }
  /// 32 hex digits, drawn by create().
  [[nodiscard]] const std::string& run_id() const { return run_id_; }

  /// kIoError when somebody removed or replaced the directory, checkpoints/ or metrics.jsonl. Cheap
  /// enough for every step.
  void check_present() const;
  void write(const std::string& name, std::string_view bytes) const;
  /// config.json: which run this is, and `choices` as its options. A new run that cannot write it
  /// leaves no directory behind (an older one's notes stay).
  void write_config(const Json& meta, const std::string& program_fingerprint, const Json& choices);
  /// Appends one line, with the run's id in front. kDiskFull, kIoError; as check_present().
  void append_metrics(const Json& line);
  /// Drops every line beyond `step`, and a cut last one. kMixedRuns when a line is another run's.
  void cut_metrics(std::int64_t step);
  /// Removes a directory in which nothing was begun.
  void abandon();

 private:
  RunDirectory(std::string path, RunLock lock);
  std::string path_, run_id_;
  RunLock lock_;
  bool begun_ = false;  ///< it has a config.json
  std::uint64_t device_ = 0, inode_ = 0;
  int metrics_ = -1;
};

}  // namespace elixir::train
