// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Digests of the files that a run reads. The ranks of a run compare them, and config.json keeps
// them, so that a resumed run notices that it would read something else.

#include <string>
#include <vector>

#include "core/json.h"
#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/options.h"

namespace elixir::tools {

struct InputDigest {
  std::string input;   ///< "plan", "model file", "data", "held-out data" or "weights"
  std::string path;    ///< absolute
  std::string digest;  ///< digest_of_samples()
};

/// A digest of a file's size and of samples of it: of its beginning, of its end, where archives
/// keep the checksums of what they hold, and of places in between.
[[nodiscard]] std::string digest_of_samples(const std::string& path);

/// In the order in which the run reads them.
[[nodiscard]] std::vector<InputDigest> input_digests(const TrainOptions& options,
                                                     const TrainInputs& inputs);
/// One digest over all files of one input.
[[nodiscard]] std::string digest_of_input(const std::vector<InputDigest>& digests,
                                          const std::string& input);

[[nodiscard]] Json to_json(const std::vector<InputDigest>& digests);

/// For a resumed run. Throws kDataMismatch, naming the file, when data, weights or model are not
/// what `saved` (config.json) has, unless --accept-changed-data. A model that --model names
/// now may be another. Another plan and other held-out data do not change what is trained: it
/// warns, unless a flag names them now.
void check_unchanged(const JsonCursor& saved,
                     const std::vector<InputDigest>& now,
                     const TrainOptions& options,
                     Context& context);

}  // namespace elixir::tools
