// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tensors of a checkpoint in the field's sense: one safetensors file, or `*.index.json` with a
// `weight_map` from names to files beside it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/weights/safetensors.h"

namespace elixir::train {

class WeightFiles {
 public:
  /// kFileNotFound, kBadSafetensors, kJson… (index), kWeightsMismatch (a shard lacks a tensor of
  /// the index).
  static WeightFiles open(const std::string& path);
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const SafetensorsEntry& entry(const std::string& name) const;
  [[nodiscard]] at::Tensor read(const std::string& name) const;
  /// The safetensors files, by name: shards of an index too.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  struct Place {
    std::shared_ptr<const Safetensors> file;
    const SafetensorsEntry* entry;
  };
  std::map<std::string, Place> tensors_;
};

}  // namespace elixir::train
