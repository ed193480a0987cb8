// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The process that reads a model file: how it is started, asked and ended. It has the file, a pipe
// each way and a page that says where it is; it can do nothing else (process/restrict.h). However
// it ends, whoever asked gets an error that names operator and module, never a signal.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/descriptor.h"
#include "model/data_file.h"
#include "model/messages.h"
#include "process/child.h"
#include "process/frames.h"
#include "process/place.h"
#include "process/restrict.h"

namespace elixir::model {

/// What the process may take. Flags of the tools.
struct Isolation {
  process::Sandbox sandbox = process::Sandbox::kAuto;
  /// Beyond what LibTorch takes. nullopt: 4 GiB and the size of the file.
  std::optional<std::int64_t> memory_bytes;
  std::int64_t processor_seconds = 600;
};

class ReaderProcess {
 public:
  /// Starts it. Throws kMissingFeature when it is not installed, or when it must be restricted and
  /// the kernel cannot.
  ReaderProcess(const DataFile& file, const Isolation& isolation);

  /// Whether the kernel restricts it; otherwise why not.
  [[nodiscard]] const Ready& ready() const { return ready_; }

  void ask(Message question, std::string_view text);
  /// The text of the answer, which must be a `wanted` one. Throws what the process says is wrong
  /// with the model; kModelRejectsInput, kUnsupportedModel for how it ended or for an answer that
  /// is none.
  [[nodiscard]] std::string answer(Message wanted, std::uint64_t most_bytes);
  /// As answer(); nullopt for an `end` instead.
  [[nodiscard]] std::optional<std::string> answer_or(Message wanted,
                                                     std::uint64_t most_bytes,
                                                     Message end);
  /// An answer that says what cannot be.
  [[nodiscard]] Error nonsense(const std::string& why) const;

 private:
  [[nodiscard]] Error end_as_error();

  std::string path_;
  Isolation isolation_;
  std::uint64_t memory_bytes_;
  process::PlacePage place_;
  Descriptor to_, from_, complaints_;
  std::optional<process::Child> child_;
  Ready ready_;
};

}  // namespace elixir::model
