// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The directory of a training run: config.json (every choice, written before the first step),
// metrics.jsonl (one line a step, appended as steps end), checkpoints/, and at the end summary.json
// and trace.json. Whole files are written atomically; a metrics line may be cut by a kill, and
// readers skip it.

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace elixir::train {

/// Removes what a killed process left of writing `path`: temporary files beside it (core/files.h).
void remove_abandoned(const std::string& path);

class RunDirectory {
 public:
  /// The paths that a run makes, and that --force removes first, in directory `path`.
  static std::vector<std::string> files_of(const std::string& path);
  /// Nothing is written. kOutputExists when `path` exists and is not an empty directory (without
  /// kAllow), kOutputUnwritable when it, or the first of its parents that is there, cannot be written.
  static void check(const std::string& path, Overwrite overwrite);
  /// Makes the directory and its parents; with kAllow an older run's files are removed first. Same errors.
  static RunDirectory create(const std::string& path, Overwrite overwrite);
  /// A run to go on with; removes abandoned temporary files. kFileNotFound without a config.json,
  /// kOutputUnwritable.
  static RunDirectory open(const std::string& path);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoints() const { return file("checkpoints"); }

  void write(const std::string& name, std::string_view bytes) const;
  /// Appends one line. kDiskFull, kIoError.
  void append_metrics(const Json& line);
  /// Drops every line beyond `step`, and a cut last one.
  void cut_metrics(std::int64_t step);

 private:
  explicit RunDirectory(std::string path);
  std::string path_;
  int metrics_ = -1;
};

}  // namespace elixir::train
