// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/weight_files.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"

namespace elixir::train {

WeightFiles WeightFiles::open(const std::string& path) {
  WeightFiles files;
  const bool is_index = std::filesystem::path(path).extension() == ".json";
  if (!is_index) {
    const auto file = Safetensors::open(path);
    for (const SafetensorsEntry& entry : file->entries()) {
      files.tensors_.emplace(entry.name, Place{file, &entry});
    }
    return files;
  }
  const auto document = JsonDocument::load(path);
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::map<std::string, std::shared_ptr<const Safetensors>> opened;
  for (const auto& member : document->root().at("weight_map").members()) {
    const std::string file_name = member.second.string();
    if (std::filesystem::path(file_name).has_parent_path()) {
      throw member.second.error(ErrorCode::kJsonBadValue, "must name a file beside the index");
    }
    auto& file = opened[file_name];
    if (!file) file = Safetensors::open((directory / file_name).string());
    const SafetensorsEntry* entry = file->find(member.first);
    if (entry == nullptr) {
      throw member.second
          .error(ErrorCode::kWeightsMismatch, "`{}` has no tensor `{}`", file_name, member.first)
          .help("index and shards are of different checkpoints");
    }
    files.tensors_.emplace(member.first, Place{file, entry});
  }
  return files;
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& each : tensors_) names.push_back(each.first);
  return names;
}

const SafetensorsEntry& WeightFiles::entry(const std::string& name) const {
  return *tensors_.at(name).entry;
}

at::Tensor WeightFiles::read(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->tensor(*place.entry);
}

std::vector<std::string> WeightFiles::paths() const {
  std::set<std::string> paths;
  for (const auto& each : tensors_) paths.insert(each.second.file->path());
  return {paths.begin(), paths.end()};
}

}  // namespace elixir::train
