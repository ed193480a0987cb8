// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes the state of a checkpoint. The input is state.json, with a correct digest added, so that
// the fuzzer gets past the digest.
#include <filesystem>

#include "core/files.h"
#include "core/json.h"
#include "fuzz.h"
#include "train/run/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fs = std::filesystem;
  // The ids in the corpus.
  const elixir::train::RunIdentity run{"0123456789abcdef0123456789abcdef",
                                       {{std::string(elixir::train::kIdLetters, 'a'), {}}}};
  const fs::path root = fs::temp_directory_path() / ("elixir-fuzz-" + std::to_string(::getpid()));
  const fs::path checkpoint = root / "step-0000000012";
  fs::create_directories(checkpoint);
  std::string state(elixir::fuzz::text_of(data, size));
  elixir::Json document = elixir::Json::parse(state, nullptr, /*allow_exceptions=*/false);
  if (document.is_object()) {
    document.erase("digest");
    try {
      document["digest"] = elixir::sha256_hex(elixir::dump(document));
      state = elixir::dump(document);
    } catch (const elixir::Error&) {  // a number that is not finite: unchanged
    }
  }
  elixir::write_file(checkpoint / "state.json", state, elixir::Overwrite::kAllow);
  elixir::fuzz::refuses_or_reads([&] {
    static_cast<void>(
        elixir::train::newest_checkpoint(elixir::Directory::open(root.string()), run));
  });
  fs::remove_all(root);
  return 0;
}
