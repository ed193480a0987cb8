// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Shared by the tests of the trainer's documents: a temporary directory, files, small programs.

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/error.h"
#include "fakes/error_of.h"
#include "program/program.h"

namespace elixir::test {

using tests::error_of;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "elixir-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

 private:
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline program::TensorRef tensor(program::StorageId storage,
                                 std::vector<std::int64_t> sizes,
                                 program::DType dtype) {
  program::TensorRef ref;
  ref.storage = storage;
  ref.sizes = std::move(sizes);
  ref.strides.resize(ref.sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = ref.sizes.size(); i-- > 0;) {
    ref.strides[i] = stride;
    stride *= ref.sizes[i];
  }
  ref.dtype = dtype;
  return ref;
}

}  // namespace elixir::test
