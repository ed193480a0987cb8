// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/last_tasks.h"

#include <exception>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/files.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::train {

Json last_tasks_document(const runtime::TaskRecorder& recorder,
                         int rank,
                         int world,
                         const ErrorInfo& error,
                         const Json& meta) {
  Json document;
  document["schema"] = "elixir.last_tasks";
  document["schema_version"] = kSchemaVersion;
  document["meta"] = meta;
  document["rank"] = rank;
  document["world"] = world;
  document["host"] = runtime::host_name();
  document["error"] = {{"code", code_text(error.code)}, {"message", error.message}};
  document["step"] = recorder.position().step;
  document["tasks_ended"] = recorder.position().tasks_ended;
  document["tasks"] = Json::array();
  for (const runtime::TaskRecord& record : recorder.records()) {
    document["tasks"].push_back({{"step", record.step},
                                 {"id", record.task},
                                 {"kind", name_of(record.kind)},
                                 {"stream", name_of(record.stream)},
                                 {"chunk", record.chunk < 0 ? Json() : Json(record.chunk)},
                                 {"begin_ns", record.begin_ns},
                                 {"end_ns", record.end_ns ? Json(*record.end_ns) : Json()}});
  }
  return document;
}

void write_last_tasks(const std::string& run_directory,
                      const runtime::TaskRecorder& recorder,
                      int rank,
                      int world,
                      const ErrorInfo& error,
                      const Json& meta) noexcept {
  namespace fs = std::filesystem;
  try {
    if (!fs::exists(fs::path(run_directory) / "config.json")) return;
    const fs::path folder = fs::path(run_directory) / kLastTasks;
    fs::create_directory(folder);
    write_file((folder / fmt::format("rank-{}.json", rank)).string(),
               dump(last_tasks_document(recorder, rank, world, error, meta)),
               Overwrite::kAllow);
  } catch (const std::exception&) {  // what failed before matters more
  }
}

void remove_last_tasks(const std::string& run_directory) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(run_directory) / kLastTasks, ignored);
}

}  // namespace elixir::train
