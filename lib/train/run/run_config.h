// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// config.json of a run directory (`elixir.config`): what the run is, and what its user chose.

#include <memory>
#include <string>
#include <vector>

#include "core/directory.h"
#include "core/json.h"
#include "train/run/attempts.h"

namespace elixir::train {

inline constexpr const char* kConfigFile = "config.json";

/// What makes files those of one run.
struct RunIdentity {
  std::string run_id;             ///< draw_id(), when the run began
  std::vector<Attempt> attempts;  ///< the newest is the last
};

/// What the user of the run chose. The library keeps it and does not read it.
struct RunChoices {
  Json options = Json::object();
  /// The files that the run reads, with digests of them.
  Json inputs = Json::array();
};

struct RunConfig {
  RunIdentity identity;
  std::shared_ptr<const JsonDocument> document;
  [[nodiscard]] JsonCursor options() const { return document->root().at("options"); }
  [[nodiscard]] JsonCursor inputs() const { return document->root().at("inputs"); }
};

/// Throws kFileNotFound when `run` is no run directory, and kJson….
[[nodiscard]] RunConfig read_config(const Directory& run);
[[nodiscard]] Json config_document(const RunIdentity& identity,
                                   const std::string& program_fingerprint,
                                   const RunChoices& choices,
                                   const Json& meta);

}  // namespace elixir::train
