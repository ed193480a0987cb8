// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/input_digests.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/log.h"
#include "train/input_file.h"

namespace elixir::tools {
namespace {

/// What a resumed run does about an input that is not what it was.
enum class Changed { kRefused, kRefusedWithoutFlag, kTold };
struct Input {
  std::string_view name;
  const char* flag;
  Changed changed;
};
constexpr std::array<Input, 5> kInputs = {{{"plan", "--plan", Changed::kTold},
                                           {"model file", "--model", Changed::kRefusedWithoutFlag},
                                           {"data", "--data", Changed::kRefused},
                                           {"held-out data", "--eval-data", Changed::kTold},
                                           {"weights", "--weights", Changed::kRefused}}};

std::vector<InputDigest> of_input(const std::vector<InputDigest>& digests, std::string_view input) {
  std::vector<InputDigest> own;
  std::copy_if(
      digests.begin(), digests.end(), std::back_inserter(own), [&](const InputDigest& each) {
        return each.input == input;
      });
  return own;
}

std::vector<InputDigest> read_digests(const JsonCursor& saved) {
  std::vector<InputDigest> digests;
  for (const JsonCursor& item : saved.items()) {
    item.only_keys({"input", "path", "digest"});
    digests.push_back(
        {item.at("input").string(), item.at("path").string(), item.at("digest").string()});
  }
  return digests;
}

/// What is not as it was, and in which file; nullopt: nothing.
struct Difference {
  std::string path, message;
};
std::optional<Difference> difference(const std::vector<InputDigest>& before,
                                     const std::vector<InputDigest>& now,
                                     std::string_view input) {
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (before[i].digest == now[i].digest) continue;
    return Difference{
        now[i].path,
        fmt::format("{} `{}` is not what the run has read before", input, now[i].path)};
  }
  if (before.size() == now.size()) return std::nullopt;
  const bool more = now.size() > before.size();
  const std::string& path = more ? now[before.size()].path : before[now.size()].path;
  return Difference{
      path,
      more ? fmt::format("{} has a file `{}` that the run has not read before", input, path)
           : fmt::format("{} lacks `{}`, which the run has read before", input, path)};
}

}  // namespace

std::string digest_of_samples(const std::string& path) {
  constexpr std::int64_t kHeadBytes = 64 << 10, kTailBytes = 1 << 20, kSampleBytes = 4 << 10;
  constexpr std::int64_t kSamples = 64;
  const auto file = train::InputFile::open(path);
  const std::int64_t size = file->size_bytes();
  Sha256 digest;
  digest.update(fmt::format("{}\n", size));
  std::string part;
  const auto add = [&](std::int64_t offset, std::int64_t bytes) {
    offset = std::clamp<std::int64_t>(offset, 0, size);
    part.resize(static_cast<std::size_t>(std::min(bytes, size - offset)));
    file->read(offset, part.data(), part.size());
    digest.update(part);
  };
  add(0, kHeadBytes);
  for (std::int64_t i = 1; i <= kSamples; ++i) add(size / (kSamples + 1) * i, kSampleBytes);
  add(size - kTailBytes, kTailBytes);
  return digest.hex();
}

std::vector<InputDigest> input_digests(const TrainOptions& options, const TrainInputs& inputs) {
  std::vector<InputDigest> digests;
  const auto add = [&](std::string_view input, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      digests.push_back({std::string(input),
                         std::filesystem::absolute(path).lexically_normal().string(),
                         digest_of_samples(path)});
    }
  };
  add("plan", {options.plan});
  add("model file", {options.model});
  add("data", inputs.data_files.files);
  add("held-out data", inputs.held_out_files);
  add("weights", inputs.weight_files);
  return digests;
}

std::string digest_of_input(const std::vector<InputDigest>& digests, const std::string& input) {
  Sha256 all;
  for (const InputDigest& each : of_input(digests, input)) all.update(each.digest);
  return all.hex();
}

Json to_json(const std::vector<InputDigest>& digests) {
  Json list = Json::array();
  for (const InputDigest& each : digests) {
    list.push_back({{"input", each.input}, {"path", each.path}, {"digest", each.digest}});
  }
  return list;
}

void check_unchanged(const JsonCursor& saved,
                     const std::vector<InputDigest>& now,
                     const TrainOptions& options,
                     Context& context) {
  const std::vector<InputDigest> before = read_digests(saved);
  for (const Input& input : kInputs) {
    const auto found =
        difference(of_input(before, input.name), of_input(now, input.name), input.name);
    if (!found) continue;
    const bool asked_for = context.given(input.flag) && input.changed != Changed::kRefused;
    if (asked_for) continue;
    if (input.changed == Changed::kTold || options.accept_changed_data) {
      context.warn(found->message);
      continue;
    }
    throw file_error(ErrorCode::kDataMismatch, found->path, found->message)
        .note("losses and weights would not be those of one run")
        .help("put the file back as it was, or go on with what is there: --accept-changed-data");
  }
}

}  // namespace elixir::tools
