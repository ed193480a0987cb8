// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/record_check.h"

#include <array>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "capture/archive/code_check.h"
#include "capture/archive/pickle_check.h"
#include "core/units.h"

namespace elixir::capture {
namespace {

constexpr std::uint64_t kMostCodeBytes = 64_MiB;
constexpr std::uint64_t kMostTextBytes = 256_MiB;  // for pickles, debug records and extra files
constexpr std::uint64_t kMostTensorRecordBytes = 1_GiB;  // read ones: constants, traced inputs

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// As the zip reader of LibTorch folds case: ASCII alone.
std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// What LibTorch and these checks look for: folders, records and endings.
constexpr std::array<std::string_view, 7> kFolders{
    "code", "data", "constants", "attributes", "extra", "traced_inputs", ".data"};
constexpr std::array<std::string_view, 6> kRecords{
    "data.pkl", "constants.pkl", "attributes.pkl", "traced_inputs.pkl", "version", "byteorder"};
constexpr std::array<std::string_view, 3> kEndings{".py", ".pkl", ".debug_pkl"};

/// Whether `name`, without the archive's folder, is one that is looked for, but in another case.
bool in_another_case(std::string_view name) {
  const std::string lower = in_lower_case(name);
  if (lower == name) return false;
  const auto differs = [&](std::size_t at, std::string_view part) {
    return lower.compare(at, part.size(), part) == 0 && name.substr(at, part.size()) != part;
  };
  for (const std::string_view folder : kFolders) {
    const bool is_folder = lower.size() > folder.size() && lower[folder.size()] == '/';
    if (is_folder && differs(0, folder)) return true;
  }
  for (const std::string_view record : kRecords) {
    if (lower.size() == record.size() && differs(0, record)) return true;
  }
  for (const std::string_view ending : kEndings) {
    if (ends_with(lower, ending) && differs(lower.size() - ending.size(), ending)) return true;
  }
  return false;
}

/// Tensor records are in a folder named after their pickle.
bool holds_tensor(std::string_view name) {
  return starts_with(name, "constants/") || starts_with(name, "traced_inputs/");
}

std::optional<RecordProblem> add(std::uint64_t& total,
                                 const ZipEntry& entry,
                                 const std::string& name,
                                 std::uint64_t most,
                                 const char* what) {
  if (entry.bytes > most || total > most - entry.bytes) {
    return RecordProblem{
        name,
        fmt::format("record '{}' claims {}; {} take at most {}",
                    name,
                    entry.bytes >> 62 != 0 ? fmt::format("{} bytes", entry.bytes)
                                           : format_bytes(static_cast<std::int64_t>(entry.bytes)),
                    what,
                    format_bytes(static_cast<std::int64_t>(most)))};
  }
  total += entry.bytes;
  return std::nullopt;
}

std::optional<RecordProblem> check_tensors(
    const std::string& name,
    const PickleCheck& pickle,
    const std::function<std::optional<std::uint64_t>(const std::string&)>& bytes_of) {
  const std::string folder = name.substr(0, name.size() - std::string_view(".pkl").size()) + "/";
  for (const PickledStorage& storage : pickle.storages) {
    const auto bytes = bytes_of(folder + storage.key);
    // Traced inputs have no data. Neither do weights that were saved from the meta device.
    const bool may_lack = folder == "traced_inputs/" || folder == "data/";
    if (may_lack && bytes.value_or(0) == 0) continue;
    if (storage.bytes > bytes.value_or(0)) {
      return RecordProblem{folder + storage.key,
                           fmt::format("record '{}' has {} bytes, its tensor needs {}",
                                       folder + storage.key,
                                       bytes.value_or(0),
                                       storage.bytes)};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<RecordProblem> check_record_names(const std::vector<ZipEntry>& entries) {
  if (entries.empty()) return std::nullopt;
  const std::string folder = entries.front().name.substr(0, entries.front().name.find('/') + 1);
  const std::string lower_folder = in_lower_case(folder);
  std::unordered_map<std::string, std::string> seen;
  for (const ZipEntry& entry : entries) {
    const std::string lower = in_lower_case(entry.name);
    const auto [other, is_new] = seen.emplace(lower, entry.name);
    if (!is_new) {
      return RecordProblem{entry.name,
                           fmt::format("records '{}' and '{}' have one name, which LibTorch reads "
                                       "in any case",
                                       other->second,
                                       entry.name)};
    }
    if (!starts_with(lower, lower_folder)) continue;
    if (!starts_with(entry.name, folder) ||
        in_another_case(std::string_view(entry.name).substr(folder.size()))) {
      return RecordProblem{
          entry.name,
          fmt::format("record '{}' has a name that LibTorch reads in another case", entry.name)};
    }
  }
  return std::nullopt;
}

std::optional<RecordProblem> check_record_sizes(const std::vector<ZipEntry>& entries) {
  std::uint64_t code = 0, text = 0, tensors = 0;
  for (const ZipEntry& entry : entries) {
    const std::string name = entry.name.substr(entry.name.find('/') + 1);
    const bool weights = starts_with(name, "data/");
    if ((weights || holds_tensor(name)) && !entry.stored) {
      return RecordProblem{name, fmt::format("record '{}' of a tensor is compressed", name)};
    }
    if (weights) continue;  // only read if a weight of that size needs it
    if (holds_tensor(name)) {
      if (auto problem =
              add(tensors, entry, name, kMostTensorRecordBytes, "constants and inputs")) {
        return problem;
      }
      continue;
    }
    if (ends_with(name, ".py")) {
      if (auto problem = add(code, entry, name, kMostCodeBytes, "code")) return problem;
    }
    if (auto problem = add(text, entry, name, kMostTextBytes, "all but tensors")) return problem;
  }
  return std::nullopt;
}

std::optional<RecordProblem> check_record_contents(
    const std::vector<std::string>& names,
    const std::function<std::string(const std::string&)>& read,
    const std::function<std::optional<std::uint64_t>(const std::string&)>& bytes_of) {
  for (const std::string& name : names) {
    if (starts_with(name, "extra/") || starts_with(name, "data/") || holds_tensor(name)) continue;
    if (starts_with(name, "code/") && ends_with(name, ".py")) {
      if (const auto problem = check_code(read(name))) {
        return RecordProblem{
            name, fmt::format("record '{}', line {}: {}", name, problem->line, problem->message)};
      }
    } else if (ends_with(name, ".pkl") || ends_with(name, ".debug_pkl")) {
      const PickleCheck pickle = check_pickle(read(name));
      if (pickle.problem) {
        return RecordProblem{
            name, fmt::format("record '{}', byte {}: {}", name, pickle.offset, *pickle.problem)};
      }
      if (auto problem = check_tensors(name, pickle, bytes_of)) return problem;
    }
  }
  return std::nullopt;
}

}  // namespace elixir::capture
