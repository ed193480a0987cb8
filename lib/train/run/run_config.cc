// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_config.h"

#include "core/error.h"
#include "core/file_error.h"

namespace elixir::train {

RunConfig read_config(const Directory& run) {
  if (run.kind_of(kConfigFile) == Directory::Kind::kNothing) {
    throw file_error(ErrorCode::kFileNotFound,
                     run.path(),
                     "`{}` is not a run directory: no {}",
                     run.path(),
                     kConfigFile)
        .help("pass the directory that an earlier elixir-train wrote (-o)");
  }
  constexpr JsonLimits kLimits;
  RunConfig config;
  config.document =
      JsonDocument::parse(run.read(kConfigFile, kLimits.bytes), run.file(kConfigFile), kLimits);
  const JsonCursor root = config.document->root("elixir.config", 1);
  config.identity.run_id = root.at("run_id").string();
  config.identity.attempts = read_attempts(root.at("attempts"));
  return config;
}

Json config_document(const RunIdentity& identity,
                     const std::string& program_fingerprint,
                     const RunChoices& choices,
                     const Json& meta) {
  Json config = Json::object();
  config["schema"] = "elixir.config";
  config["schema_version"] = kSchemaVersion;
  config["meta"] = meta;
  config["run_id"] = identity.run_id;
  config["attempts"] = to_json(identity.attempts);
  config["program_fingerprint"] = program_fingerprint;
  config["inputs"] = choices.inputs;
  config["options"] = choices.options;
  return config;
}

}  // namespace elixir::train
