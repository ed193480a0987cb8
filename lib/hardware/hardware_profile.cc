// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/hardware_profile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/shipped_data.h"

namespace elixir::hardware {
namespace {

constexpr const char* kSchema = "elixir.hardware";
constexpr int kSchemaMajor = 1;

// --- Reading
// --------------------------------------------------------------------------------------------------

Figure read_figure(const JsonCursor& at) {
  at.only_keys({"median", "spread", "samples", "method"});
  Figure figure;
  figure.median = at.at("median").number();
  if (figure.median < 0) at.at("median").fail(ErrorCode::kJsonBadValue, "a figure is negative");
  figure.spread = at.at("spread").number();
  if (figure.spread < 0) at.at("spread").fail(ErrorCode::kJsonBadValue, "a spread is negative");
  figure.samples = at.at("samples").non_negative();
  figure.method = at.at("method").string();
  return figure;
}

/// A figure that others are divided by.
Figure read_rate(const JsonCursor& at) {
  Figure figure = read_figure(at);
  if (figure.median == 0) at.at("median").fail(ErrorCode::kJsonBadValue, "a rate is zero");
  return figure;
}

std::optional<Figure> read_optional_rate(const JsonCursor& at, std::string_view key) {
  const auto present = at.nullable(key);
  if (!present) return std::nullopt;
  return read_rate(*present);
}

int read_count(const JsonCursor& at, std::int64_t least) {
  const std::int64_t value = at.non_negative();
  if (value < least || value > 1'000'000) {
    at.fail(ErrorCode::kJsonBadValue, fmt::format("{} is out of range", value));
  }
  return static_cast<int>(value);
}

template <class Item, class Read>
std::vector<Item> read_list(const JsonCursor& at, Read read) {
  std::vector<Item> items;
  for (const JsonCursor& item : at.items()) items.push_back(read(item));
  return items;
}

Machine read_machine(const JsonCursor& at) {
  at.only_keys({"cpu", "logical_cpus", "threads", "host_memory_bytes"});
  Machine machine;
  machine.cpu = at.at("cpu").string();
  machine.logical_cpus = read_count(at.at("logical_cpus"), 1);
  machine.threads = read_count(at.at("threads"), 1);
  machine.host_memory_bytes = at.at("host_memory_bytes").non_negative();
  return machine;
}

Gpu read_gpu(const JsonCursor& at) {
  at.only_keys({"name", "sm", "memory_bytes", "context_bytes"});
  Gpu gpu;
  gpu.name = at.at("name").string();
  gpu.sm = read_count(at.at("sm"), 1);
  gpu.memory_bytes = at.at("memory_bytes").non_negative();
  gpu.context_bytes = at.at("context_bytes").non_negative();
  return gpu;
}

LinkRate read_link(const JsonCursor& at) {
  at.only_keys({"gpus", "bytes_per_s", "latency_ns"});
  LinkRate rate;
  rate.gpus = read_count(at.at("gpus"), 1);
  rate.bytes_per_s = read_rate(at.at("bytes_per_s"));
  rate.latency_ns = read_figure(at.at("latency_ns"));
  return rate;
}

AdamRate read_adam(const JsonCursor& at) {
  at.only_keys({"dtype", "ranks", "params_per_s"});
  AdamRate rate;
  rate.dtype = at.at("dtype").choice({"bf16", "fp16", "fp32"});
  rate.ranks = read_count(at.at("ranks"), 1);
  rate.params_per_s = read_rate(at.at("params_per_s"));
  return rate;
}

ComputeRate read_compute(const JsonCursor& at) {
  at.only_keys({"dtype", "matmul_flop_per_s"});
  ComputeRate rate;
  rate.dtype = at.at("dtype").choice({"bf16", "fp16", "fp32"});
  rate.matmul_flop_per_s = read_rate(at.at("matmul_flop_per_s"));
  return rate;
}

OperatorTime read_operator(const JsonCursor& at) {
  at.only_keys({"key", "time_ns", "workspace_bytes"});
  OperatorTime time;
  time.key = at.at("key").string();
  time.time_ns = read_figure(at.at("time_ns"));
  time.workspace_bytes = at.at("workspace_bytes").non_negative();
  return time;
}

// --- Writing
// --------------------------------------------------------------------------------------------------

Json json_of(const Figure& figure) {
  return {{"median", figure.median},
          {"spread", figure.spread},
          {"samples", figure.samples},
          {"method", figure.method}};
}
Json json_of(const std::optional<Figure>& figure) {
  return figure ? json_of(*figure) : Json(nullptr);
}
Json json_of(const std::vector<LinkRate>& rates) {
  Json list = Json::array();
  for (const LinkRate& rate : rates) {
    list.push_back({{"gpus", rate.gpus},
                    {"bytes_per_s", json_of(rate.bytes_per_s)},
                    {"latency_ns", json_of(rate.latency_ns)}});
  }
  return list;
}
Json json_of(const std::vector<AdamRate>& rates) {
  Json list = Json::array();
  for (const AdamRate& rate : rates) {
    list.push_back({{"dtype", rate.dtype},
                    {"ranks", rate.ranks},
                    {"params_per_s", json_of(rate.params_per_s)}});
  }
  return list;
}

}  // namespace

HardwareProfile parse_hardware(const JsonDocument& document) {
  const JsonCursor root = document.root(kSchema, kSchemaMajor);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "name",
                  "device_kind",
                  "machine",
                  "gpus",
                  "links",
                  "adam",
                  "compute",
                  "device_memory",
                  "host_memory",
                  "launch_ns",
                  "collectives",
                  "disk",
                  "contention",
                  "operators",
                  "waived"});
  HardwareProfile profile;
  profile.meta = root.at("meta").raw();
  profile.name = root.at("name").string();
  profile.device_kind = root.at("device_kind").choice({"cpu", "cuda"});
  profile.machine = read_machine(root.at("machine"));
  profile.gpus = read_list<Gpu>(root.at("gpus"), read_gpu);
  if (profile.device_kind == "cuda" && profile.gpus.empty()) {
    root.at("gpus").fail(ErrorCode::kJsonBadValue, "a profile of kind cuda lists no GPU");
  }

  const JsonCursor links = root.at("links");
  links.only_keys({"host_to_device", "device_to_host", "both_at_once", "pageable_host_to_device"});
  profile.links.host_to_device = read_list<LinkRate>(links.at("host_to_device"), read_link);
  profile.links.device_to_host = read_list<LinkRate>(links.at("device_to_host"), read_link);
  profile.links.both_at_once = read_list<LinkRate>(links.at("both_at_once"), read_link);
  profile.links.pageable_host_to_device =
      read_list<LinkRate>(links.at("pageable_host_to_device"), read_link);

  const JsonCursor adam = root.at("adam");
  adam.only_keys({"cpu", "gpu"});
  profile.adam_cpu = read_list<AdamRate>(adam.at("cpu"), read_adam);
  profile.adam_gpu = read_list<AdamRate>(adam.at("gpu"), read_adam);
  profile.compute = read_list<ComputeRate>(root.at("compute"), read_compute);

  const JsonCursor device_memory = root.at("device_memory");
  device_memory.only_keys({"copy_bytes_per_s"});
  profile.device_copy_bytes_per_s = read_optional_rate(device_memory, "copy_bytes_per_s");
  const JsonCursor host_memory = root.at("host_memory");
  host_memory.only_keys({"copy_bytes_per_s"});
  profile.host_copy_bytes_per_s = read_optional_rate(host_memory, "copy_bytes_per_s");
  const auto launch = root.nullable("launch_ns");
  if (launch) profile.launch_ns = read_figure(*launch);
  // Places of later measurements: this version writes none.
  for (const char* key : {"collectives", "disk", "contention"}) {
    if (!root.at(key).is_null()) {
      root.at(key).fail(ErrorCode::kJsonBadValue, "this version of Elixir knows only null here");
    }
  }

  profile.operators = read_list<OperatorTime>(root.at("operators"), read_operator);
  for (std::size_t i = 1; i < profile.operators.size(); ++i) {
    if (profile.operators[i - 1].key >= profile.operators[i].key) {
      root.at("operators")
          .items()[i]
          .fail(ErrorCode::kJsonBadValue,
                "operators are not in strictly ascending order of their keys");
    }
  }
  for (const JsonCursor& waived : root.at("waived").items()) {
    waived.only_keys({"measurement", "reason"});
    const std::string measurement = waived.at("measurement").string();
    if (!profile.waived.emplace(measurement, waived.at("reason").string()).second) {
      waived.fail(ErrorCode::kJsonBadValue, fmt::format("`{}` is waived twice", measurement));
    }
  }
  return profile;
}

HardwareProfile load_hardware(const std::string& path_or_shipped_name) {
  std::error_code ignored;
  const bool is_name = path_or_shipped_name.find('/') == std::string::npos &&
                       !path_or_shipped_name.ends_with(".json");
  if (!is_name || std::filesystem::is_regular_file(path_or_shipped_name, ignored)) {
    return parse_hardware(*JsonDocument::load(path_or_shipped_name));
  }
  for (const std::filesystem::path& directory : profile_directories()) {
    const std::filesystem::path file = directory / (path_or_shipped_name + ".json");
    if (std::filesystem::is_regular_file(file, ignored)) {
      return parse_hardware(*JsonDocument::load(file.string()));
    }
  }
  const std::vector<std::string> known = shipped_profiles();
  std::vector<std::string> help;
  for (const std::string& name : nearest(path_or_shipped_name, known)) {
    help.push_back(fmt::format("did you mean `{}`?", name));
  }
  help.push_back(known.empty()
                     ? std::string("no profile is shipped here; measure this machine: elixir-bench")
                     : fmt::format("shipped profiles: {}", fmt::join(known, ", ")));
  throw Error(
      ErrorCode::kFileNotFound,
      fmt::format("`{}` is neither a file nor a shipped hardware profile", path_or_shipped_name),
      help);
}

Json to_json(const HardwareProfile& profile) {
  Json gpus = Json::array();
  for (const Gpu& gpu : profile.gpus) {
    gpus.push_back({{"name", gpu.name},
                    {"sm", gpu.sm},
                    {"memory_bytes", gpu.memory_bytes},
                    {"context_bytes", gpu.context_bytes}});
  }
  Json compute = Json::array();
  for (const ComputeRate& rate : profile.compute) {
    compute.push_back(
        {{"dtype", rate.dtype}, {"matmul_flop_per_s", json_of(rate.matmul_flop_per_s)}});
  }
  std::vector<const OperatorTime*> sorted;
  for (const OperatorTime& time : profile.operators) sorted.push_back(&time);
  std::sort(sorted.begin(), sorted.end(), [](const OperatorTime* a, const OperatorTime* b) {
    return a->key < b->key;
  });
  Json operators = Json::array();
  for (const OperatorTime* time : sorted) {
    operators.push_back({{"key", time->key},
                         {"time_ns", json_of(time->time_ns)},
                         {"workspace_bytes", time->workspace_bytes}});
  }
  Json waived = Json::array();
  for (const auto& [measurement, reason] : profile.waived) {
    waived.push_back({{"measurement", measurement}, {"reason", reason}});
  }
  return {{"schema", kSchema},
          {"schema_version", kSchemaVersion},
          {"meta", profile.meta},
          {"name", profile.name},
          {"device_kind", profile.device_kind},
          {"machine",
           {{"cpu", profile.machine.cpu},
            {"logical_cpus", profile.machine.logical_cpus},
            {"threads", profile.machine.threads},
            {"host_memory_bytes", profile.machine.host_memory_bytes}}},
          {"gpus", gpus},
          {"links",
           {{"host_to_device", json_of(profile.links.host_to_device)},
            {"device_to_host", json_of(profile.links.device_to_host)},
            {"both_at_once", json_of(profile.links.both_at_once)},
            {"pageable_host_to_device", json_of(profile.links.pageable_host_to_device)}}},
          {"adam", {{"cpu", json_of(profile.adam_cpu)}, {"gpu", json_of(profile.adam_gpu)}}},
          {"compute", compute},
          {"device_memory", {{"copy_bytes_per_s", json_of(profile.device_copy_bytes_per_s)}}},
          {"host_memory", {{"copy_bytes_per_s", json_of(profile.host_copy_bytes_per_s)}}},
          {"launch_ns", json_of(profile.launch_ns)},
          {"collectives", nullptr},
          {"disk", nullptr},
          {"contention", nullptr},
          {"operators", operators},
          {"waived", waived}};
}

std::string fingerprint(const HardwareProfile& profile) {
  Json document = to_json(profile);
  document.erase("meta");
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

}  // namespace elixir::hardware
