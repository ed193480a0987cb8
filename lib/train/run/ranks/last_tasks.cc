// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/last_tasks.h"

#include <exception>

#include <fmt/format.h>

#include "runtime/ranks/tcp_socket.h"
#include "train/run/run_config.h"

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

void write_last_tasks(const Directory& run,
                      const runtime::TaskRecorder& recorder,
                      int rank,
                      int world,
                      const ErrorInfo& error,
                      const Json& meta) noexcept {
  try {
    if (run.kind_of(kConfigFile) != Directory::Kind::kFile) return;
    run.make(kLastTasks)
        .write(fmt::format("rank-{}.json", rank),
               dump(last_tasks_document(recorder, rank, world, error, meta)),
               Overwrite::kAllow);
  } catch (const std::exception&) {  // what failed before matters more
  }
}

void remove_last_tasks(const Directory& run) noexcept {
  try {
    run.remove(kLastTasks);
  } catch (const std::exception&) {  // they say of which failure they are
  }
}

}  // namespace elixir::train
