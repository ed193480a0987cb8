// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/hardware_profile.h"

#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/shipped_data.h"

namespace elixir::hardware {
namespace {

/// Removes an empty member.
void erase_absent(Json& object, const char* key) {
  const auto member = object.find(key);
  if (member != object.end() && member->empty()) object.erase(member);
}

}  // namespace

HardwareProfile load_hardware(const std::string& path_or_shipped_name) {
  std::error_code ignored;
  const bool is_name = path_or_shipped_name.find('/') == std::string::npos &&
                       !path_or_shipped_name.ends_with(".json");
  if (!is_name || std::filesystem::is_regular_file(path_or_shipped_name, ignored)) {
    return parse_hardware(*JsonDocument::load(path_or_shipped_name));
  }
  if (auto shipped = load_shipped(path_or_shipped_name)) return *std::move(shipped);
  const std::vector<std::string> known = shipped_profiles();
  std::vector<std::string> help;
  for (const std::string& name : nearest(path_or_shipped_name, known)) {
    help.push_back(fmt::format("did you mean `{}`?", name));
  }
  help.push_back(known.empty()
                     ? std::string("no profile is shipped here; measure this machine: elixir-bench")
                     : fmt::format("shipped profiles: {}", fmt::join(known, ", ")));
  throw Error(ErrorCode::kFileNotFound,
              "`{}` is neither a file nor a shipped hardware profile",
              path_or_shipped_name)
      .help(help);
}

std::optional<HardwareProfile> load_shipped(const std::string& name) {
  for (const std::filesystem::path& directory : profile_directories()) {
    const std::filesystem::path file = directory / (name + ".json");
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    // $ELIXIR_PROFILES may hold documents of other kinds.
    const auto schema = schema_of(file.string());
    if (!schema || *schema == "elixir.hardware")
      return parse_hardware(*JsonDocument::load(file.string()));
  }
  return std::nullopt;
}

program::Target target_of(const HardwareProfile& profile) {
  if (profile.device_kind == program::DeviceKind::kCpu) {
    return {.kind = program::Target::Kind::kCpu, .sm = 0, .isa = profile.machine.isa};
  }
  const int sm = profile.gpus.empty() ? 0 : profile.gpus.front().sm;
  return {.kind = program::Target::Kind::kCuda, .sm = sm};
}

std::string fingerprint(const HardwareProfile& profile) {
  Json document = to_json(profile);
  document.erase("meta");
  document.erase("workspaces");  // memory, not time
  erase_absent(document["machine"], "topology");
  erase_absent(document["machine"], "instruction_set");
  for (const char* key : {"curves", "peers", "pinned_allocation"}) {
    erase_absent(document["links"], key);
  }
  erase_absent(document["adam"], "forms");
  erase_absent(document["host_memory"], "streams");
  erase_absent(document, "noticed");
  erase_absent(document, "sustained");
  for (Json& time : document["operators"]) {
    for (const char* key : {"host_ns", "persistent_bytes", "touched_bytes", "flops"}) {
      erase_absent(time, key);
    }
  }
  return sha256_hex(dump(document));
}

std::vector<std::string> shipped_profiles() {
  std::set<std::string> names;
  for (const std::filesystem::path& directory : profile_directories()) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".json") names.insert(entry->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::optional<HardwareProfile> shipped_hardware_of(const program::Target& target) {
  std::optional<HardwareProfile> best;
  if (target.kind != program::Target::Kind::kCuda) return best;
  for (const std::string& name : shipped_profiles()) {
    std::optional<HardwareProfile> profile = load_shipped(name);
    if (!profile) continue;
    const bool times_every_call = profile->device_copy_bytes_per_s && !profile->compute.empty();
    if (profile->device_kind != program::DeviceKind::kCuda || !times_every_call) continue;
    if (target_of(*profile).sm != target.sm) continue;
    const auto worth = [](const HardwareProfile& it) {
      return std::pair(-static_cast<std::int64_t>(it.gpus.size()), it.operators.size());
    };
    if (!best || worth(*profile) > worth(*best)) best = std::move(profile);
  }
  return best;
}

}  // namespace elixir::hardware
