// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes TorchScript archives as tools read them: in a process of its own, which LibTorch's loader
// may end. Most mutants are complete archives with one changed record (archive_mutator.h).
#include <algorithm>

#include "archive_mutator.h"
#include "fuzz.h"
#include "model/model_file.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                               std::size_t size,
                                               std::size_t most,
                                               unsigned int seed) {
  using elixir::fuzz::text_of;
  constexpr unsigned int kOfBytesAlone = 8;  // one in so many
  auto records = elixir::fuzz::read_records(std::string(text_of(data, size)));
  if (records.empty() || seed % kOfBytesAlone == 0) return LLVMFuzzerMutate(data, size, most);
  elixir::fuzz::mutate_records(records, seed, [&](std::string& bytes) {
    const std::size_t before = bytes.size();
    bytes.resize(std::max<std::size_t>(2 * before, before + 64));
    bytes.resize(
        LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), before, bytes.size()));
  });
  const std::string file = elixir::fuzz::write_records(records);
  if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  elixir::fuzz::refuses_or_reads([&] {
    const elixir::fuzz::InputFile file(elixir::fuzz::text_of(data, size));
    auto model = elixir::model::ModelFile::open(file.path());
    elixir::model::Options options;
    options.target = *elixir::program::Target::parse("cpu:avx2");
    static_cast<void>(model.capture(options, elixir::model::Constants::kRead));
  });
  return 0;
}
