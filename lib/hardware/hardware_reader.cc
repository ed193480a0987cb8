// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Reads the hardware document. Parts that newer versions added are optional.
#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "hardware/hardware_profile.h"
#include "hardware/rate_dtypes.h"

namespace elixir::hardware {
namespace {

constexpr int kSchemaMajor = 1;

// Limits beyond any machine, so that everything computed from the figures stays finite.
constexpr double kLargestFigure = 1e21;
constexpr double kSmallestRate = 1e-3;
constexpr double kLongestNs = 1e15;  // eleven days
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

std::int64_t read_bytes(const JsonCursor& at) {
  const std::int64_t bytes = at.non_negative();
  if (bytes > kMostBytes) {
    throw at.error(ErrorCode::kJsonBadValue, "{} bytes are more than any machine has", bytes);
  }
  return bytes;
}

double read_bounded(const JsonCursor& at, double most) {
  const double value = at.number();
  if (value < 0) throw at.error(ErrorCode::kJsonBadValue, "a figure is negative");
  if (value > most) {
    throw at.error(ErrorCode::kJsonBadValue, "{} is beyond any machine", value);
  }
  return value;
}

Figure read_figure(const JsonCursor& at) {
  at.only_keys({"median", "spread", "samples", "method", "disturbed"});
  Figure figure;
  figure.median = read_bounded(at.at("median"), kLargestFigure);
  figure.spread = read_bounded(at.at("spread"), kLargestFigure);
  figure.samples = at.at("samples").non_negative();
  figure.method = at.at("method").string();
  if (at.has("disturbed")) figure.disturbed = at.at("disturbed").boolean();
  return figure;
}

/// A figure that is used as a divisor.
Figure read_rate(const JsonCursor& at) {
  Figure figure = read_figure(at);
  if (figure.median < kSmallestRate) {
    throw at.at("median").error(ErrorCode::kJsonBadValue, "a rate is zero, or as good as zero");
  }
  return figure;
}

Figure read_time(const JsonCursor& at) {
  Figure figure = read_figure(at);
  static_cast<void>(read_bounded(at.at("median"), kLongestNs));
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
    throw at.error(ErrorCode::kJsonBadValue, "{} is out of range", value);
  }
  return static_cast<int>(value);
}

template <class Item, class Read>
std::vector<Item> read_list(const JsonCursor& at, Read read) {
  std::vector<Item> items;
  for (const JsonCursor& item : at.items()) items.push_back(read(item));
  return items;
}

/// Member `key`; nullopt when it is null or, as in older documents, missing.
std::optional<JsonCursor> optional_member(const JsonCursor& at, std::string_view key) {
  if (!at.has(key)) return std::nullopt;
  return at.nullable(key);
}

template <class Item, class Read>
std::vector<Item> read_optional_list(const JsonCursor& at, std::string_view key, Read read) {
  const auto present = optional_member(at, key);
  return present ? read_list<Item>(*present, read) : std::vector<Item>{};
}

double read_positive(const JsonCursor& at) {
  const double value = read_bounded(at, kLargestFigure);
  if (value < kSmallestRate) throw at.error(ErrorCode::kJsonBadValue, "a rate is not above zero");
  return value;
}
double read_non_negative(const JsonCursor& at) {
  return read_bounded(at, kLargestFigure);
}

/// The points of a curve must be in strictly ascending order of bytes.
template <class Point>
void check_ascending(const JsonCursor& at, const std::vector<Point>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i - 1].bytes >= points[i].bytes) {
      throw at.items()[i].error(ErrorCode::kJsonBadValue,
                                "points are not in ascending order of bytes");
    }
  }
}

Topology read_topology(const JsonCursor& at) {
  at.only_keys({"packages", "cores", "numa_nodes", "caches"});
  Topology topology;
  topology.packages = read_count(at.at("packages"), 1);
  topology.cores = read_count(at.at("cores"), 1);
  topology.numa_nodes = read_list<NumaNode>(at.at("numa_nodes"), [](const JsonCursor& item) {
    item.only_keys({"node", "logical_cpus", "memory_bytes"});
    return NumaNode{read_count(item.at("node"), 0),
                    read_count(item.at("logical_cpus"), 0),
                    read_bytes(item.at("memory_bytes"))};
  });
  topology.caches = read_list<Cache>(at.at("caches"), [](const JsonCursor& item) {
    item.only_keys({"level", "type", "bytes", "cpus", "count"});
    return Cache{read_count(item.at("level"), 1),
                 item.at("type").choice({"data", "instruction", "unified"}),
                 read_bytes(item.at("bytes")),
                 read_count(item.at("cpus"), 1),
                 read_count(item.at("count"), 1)};
  });
  return topology;
}

Machine read_machine(const JsonCursor& at) {
  at.only_keys(
      {"cpu", "instruction_set", "logical_cpus", "threads", "host_memory_bytes", "topology"});
  Machine machine;
  machine.cpu = at.at("cpu").string();
  if (const auto name = optional_member(at, "instruction_set")) {
    const auto isa = program::parse_cpu_isa(name->string());
    if (!isa) {
      throw name->error(ErrorCode::kJsonBadValue, "unknown instruction set")
          .help("one of {}, or null", program::cpu_isa_names());
    }
    machine.isa = *isa;
  }
  machine.logical_cpus = read_count(at.at("logical_cpus"), 1);
  machine.threads = read_count(at.at("threads"), 1);
  machine.host_memory_bytes = read_bytes(at.at("host_memory_bytes"));
  const auto topology = optional_member(at, "topology");
  if (topology) machine.topology = read_topology(*topology);
  return machine;
}

Gpu read_gpu(const JsonCursor& at) {
  at.only_keys({"name", "sm", "memory_bytes", "context_bytes"});
  Gpu gpu;
  gpu.name = at.at("name").string();
  gpu.sm = read_count(at.at("sm"), 1);
  gpu.memory_bytes = read_bytes(at.at("memory_bytes"));
  gpu.context_bytes = read_bytes(at.at("context_bytes"));
  return gpu;
}

LinkRate read_link(const JsonCursor& at) {
  at.only_keys({"gpus", "bytes_per_s", "latency_ns"});
  LinkRate rate;
  rate.gpus = read_count(at.at("gpus"), 1);
  rate.bytes_per_s = read_rate(at.at("bytes_per_s"));
  rate.latency_ns = read_time(at.at("latency_ns"));
  return rate;
}

AdamRate read_adam(const JsonCursor& at) {
  at.only_keys({"dtype", "ranks", "params_per_s"});
  AdamRate rate;
  rate.dtype = at.at("dtype").choice(kRateDTypes.names());
  rate.ranks = read_count(at.at("ranks"), 1);
  rate.params_per_s = read_rate(at.at("params_per_s"));
  return rate;
}

AdamFormRate read_adam_form(const JsonCursor& at) {
  at.only_keys(
      {"device", "gradient", "moments", "master", "writes", "ranks", "parameters", "params_per_s"});
  AdamFormRate rate;
  rate.device = at.at("device").choice({"cpu", "gpu"});
  rate.gradient = at.at("gradient").choice(kRateDTypes.names());
  rate.moments = at.at("moments").choice({"bf16", "fp32"});
  rate.master = at.at("master").choice({"separate", "split"});
  if (at.has("writes")) rate.writes = at.at("writes").choice(kAdamWrites);
  if (at.has("ranks")) rate.ranks = read_count(at.at("ranks"), 1);
  rate.parameters = read_bytes(at.at("parameters"));
  rate.params_per_s = read_rate(at.at("params_per_s"));
  return rate;
}

ComputeRate read_compute(const JsonCursor& at) {
  at.only_keys({"dtype", "matmul_flop_per_s"});
  ComputeRate rate;
  rate.dtype = at.at("dtype").choice(kRateDTypes.names());
  rate.matmul_flop_per_s = read_rate(at.at("matmul_flop_per_s"));
  return rate;
}

SustainedRate read_sustained(const JsonCursor& at) {
  at.only_keys({"dtype", "duty", "slowdown"});
  SustainedRate rate;
  rate.dtype = at.at("dtype").choice(kRateDTypes.names());
  rate.duty = at.at("duty").number();
  if (!(rate.duty > 0 && rate.duty <= 1)) {
    throw at.at("duty").error(ErrorCode::kJsonBadValue, "a share of time is above 0 and at most 1");
  }
  rate.slowdown = read_rate(at.at("slowdown"));
  return rate;
}

LinkCurve read_curve(const JsonCursor& at) {
  at.only_keys(
      {"direction", "pages", "latency_ns", "bytes_per_s", "worst_relative_error", "points"});
  LinkCurve curve;
  curve.direction = at.at("direction").choice(kDirections);
  curve.pages = at.at("pages").choice(kHostPages);
  if (at.nullable("bytes_per_s")) {
    curve.line = LinkLine{read_non_negative(at.at("latency_ns")),
                          read_positive(at.at("bytes_per_s")),
                          read_non_negative(at.at("worst_relative_error"))};
  } else {
    for (const char* key : {"latency_ns", "worst_relative_error"}) {
      if (at.nullable(key)) {
        throw at.at(key).error(ErrorCode::kJsonBadValue,
                               "must be null, as `bytes_per_s` is: no line");
      }
    }
  }
  curve.points = read_list<LinkPoint>(at.at("points"), [](const JsonCursor& item) {
    item.only_keys({"bytes", "time_ns"});
    return LinkPoint{read_bytes(item.at("bytes")), read_time(item.at("time_ns"))};
  });
  check_ascending(at.at("points"), curve.points);
  return curve;
}

PeerRate read_peer(const JsonCursor& at) {
  at.only_keys({"from", "to", "direct", "bytes_per_s", "latency_ns"});
  return {read_count(at.at("from"), 0),
          read_count(at.at("to"), 0),
          at.at("direct").boolean(),
          read_rate(at.at("bytes_per_s")),
          read_time(at.at("latency_ns"))};
}

PinnedAllocation read_pinned_allocation(const JsonCursor& at) {
  at.only_keys({"bytes", "plain_bytes_per_s", "arena_bytes_per_s"});
  return {read_bytes(at.at("bytes")),
          read_rate(at.at("plain_bytes_per_s")),
          read_rate(at.at("arena_bytes_per_s"))};
}

HostStream read_host_stream(const JsonCursor& at) {
  at.only_keys({"kernel", "threads", "numa_node", "bytes_per_s"});
  HostStream stream;
  stream.kernel = at.at("kernel").choice({"copy", "triad", "adam"});
  stream.threads = read_count(at.at("threads"), 1);
  const auto node = at.nullable("numa_node");
  if (node) stream.numa_node = read_count(*node, 0);
  stream.bytes_per_s = read_rate(at.at("bytes_per_s"));
  return stream;
}

Collective read_collective(const JsonCursor& at) {
  at.only_keys({"operation", "gpus", "latency_ns", "points"});
  Collective collective;
  collective.operation =
      at.at("operation").choice({"all_gather", "all_reduce", "broadcast", "reduce_scatter"});
  collective.gpus = read_count(at.at("gpus"), 2);
  collective.latency_ns = read_time(at.at("latency_ns"));
  collective.points = read_list<CollectivePoint>(at.at("points"), [](const JsonCursor& item) {
    item.only_keys({"bytes", "time_ns", "algorithm_bytes_per_s", "bus_bytes_per_s"});
    return CollectivePoint{read_bytes(item.at("bytes")),
                           read_time(item.at("time_ns")),
                           read_positive(item.at("algorithm_bytes_per_s")),
                           read_positive(item.at("bus_bytes_per_s"))};
  });
  check_ascending(at.at("points"), collective.points);
  return collective;
}

Disk read_disk(const JsonCursor& at) {
  at.only_keys({"directory",
                "engine",
                "file_bytes",
                "block_bytes",
                "queue_depth",
                "read_bytes_per_s",
                "write_bytes_per_s"});
  Disk disk;
  disk.directory = at.at("directory").string();
  disk.engine = at.at("engine").choice({"io_uring", "threads"});
  disk.file_bytes = read_bytes(at.at("file_bytes"));
  disk.block_bytes = read_bytes(at.at("block_bytes"));
  disk.queue_depth = read_count(at.at("queue_depth"), 1);
  disk.read_bytes_per_s = read_rate(at.at("read_bytes_per_s"));
  disk.write_bytes_per_s = read_rate(at.at("write_bytes_per_s"));
  return disk;
}

Contention read_contention(const JsonCursor& at) {
  at.only_keys({"work", "beside", "gpus", "slowdown"});
  Contention contention;
  contention.work = at.at("work").string();
  contention.beside = at.at("beside").string();
  if (const auto gpus = optional_member(at, "gpus")) contention.gpus = read_count(*gpus, 1);
  contention.slowdown = read_rate(at.at("slowdown"));
  return contention;
}

OperatorTime read_operator(const JsonCursor& at) {
  at.only_keys({"key",
                "time_ns",
                "workspace_bytes",
                "host_ns",
                "persistent_bytes",
                "touched_bytes",
                "flops"});
  OperatorTime time;
  time.key = at.at("key").string();
  time.time_ns = read_time(at.at("time_ns"));
  time.workspace_bytes = read_bytes(at.at("workspace_bytes"));
  const auto host = optional_member(at, "host_ns");
  if (host) time.host_ns = read_time(*host);
  const auto count = [&](const char* key) -> std::optional<std::int64_t> {
    const auto present = optional_member(at, key);
    if (!present) return std::nullopt;
    return read_bytes(*present);
  };
  time.persistent_bytes = count("persistent_bytes");
  time.touched_bytes = count("touched_bytes");
  time.flops = count("flops");
  return time;
}

Links read_links(const JsonCursor& at) {
  at.only_keys({"host_to_device",
                "device_to_host",
                "both_at_once",
                "pageable_host_to_device",
                "curves",
                "peers",
                "pinned_allocation"});
  Links links;
  links.host_to_device = read_list<LinkRate>(at.at("host_to_device"), read_link);
  links.device_to_host = read_list<LinkRate>(at.at("device_to_host"), read_link);
  links.both_at_once = read_list<LinkRate>(at.at("both_at_once"), read_link);
  links.pageable_host_to_device = read_list<LinkRate>(at.at("pageable_host_to_device"), read_link);
  links.curves = read_optional_list<LinkCurve>(at, "curves", read_curve);
  links.peers = read_optional_list<PeerRate>(at, "peers", read_peer);
  const auto pinned = optional_member(at, "pinned_allocation");
  if (pinned) links.pinned_allocation = read_pinned_allocation(*pinned);
  return links;
}

std::vector<OperatorTime> read_operators(const JsonCursor& at) {
  std::vector<OperatorTime> operators = read_list<OperatorTime>(at, read_operator);
  for (std::size_t i = 1; i < operators.size(); ++i) {
    if (operators[i - 1].key >= operators[i].key) {
      throw at.items()[i].error(ErrorCode::kJsonBadValue,
                                "operators are not in strictly ascending order of their keys");
    }
  }
  return operators;
}

std::map<std::string, std::string> read_remarks(const JsonCursor& at,
                                                const char* what,
                                                const char* verb) {
  std::map<std::string, std::string> remarks;
  for (const JsonCursor& item : at.items()) {
    item.only_keys({"measurement", what});
    const std::string measurement = item.at("measurement").string();
    if (!remarks.emplace(measurement, item.at(what).string()).second) {
      throw item.error(ErrorCode::kJsonBadValue, "`{}` is {} twice", measurement, verb);
    }
  }
  return remarks;
}

}  // namespace

HardwareProfile parse_hardware(const JsonDocument& document) {
  const JsonCursor root = document.root("elixir.hardware", kSchemaMajor);
  root.only_keys({"schema",    "schema_version", "meta",        "name",      "device_kind",
                  "machine",   "gpus",           "links",       "adam",      "compute",
                  "sustained", "device_memory",  "host_memory", "launch_ns", "collectives",
                  "disk",      "contention",     "operators",   "waived",    "noticed",
                  "workspaces"});
  HardwareProfile profile;
  profile.meta = root.at("meta").raw();
  profile.name = root.at("name").string();
  profile.device_kind = root.at("device_kind").choice(program::kDeviceKinds);
  profile.machine = read_machine(root.at("machine"));
  profile.gpus = read_list<Gpu>(root.at("gpus"), read_gpu);
  if (profile.device_kind == program::DeviceKind::kCuda && profile.gpus.empty()) {
    throw root.at("gpus").error(ErrorCode::kJsonBadValue, "a profile of kind cuda lists no GPU");
  }

  profile.links = read_links(root.at("links"));
  const JsonCursor adam = root.at("adam");
  adam.only_keys({"cpu", "gpu", "forms"});
  profile.adam_cpu = read_list<AdamRate>(adam.at("cpu"), read_adam);
  profile.adam_gpu = read_list<AdamRate>(adam.at("gpu"), read_adam);
  profile.adam_forms = read_optional_list<AdamFormRate>(adam, "forms", read_adam_form);
  profile.compute = read_list<ComputeRate>(root.at("compute"), read_compute);
  profile.sustained = read_optional_list<SustainedRate>(root, "sustained", read_sustained);

  const JsonCursor device_memory = root.at("device_memory");
  device_memory.only_keys({"copy_bytes_per_s"});
  profile.device_copy_bytes_per_s = read_optional_rate(device_memory, "copy_bytes_per_s");
  const JsonCursor host_memory = root.at("host_memory");
  host_memory.only_keys({"copy_bytes_per_s", "streams"});
  profile.host_copy_bytes_per_s = read_optional_rate(host_memory, "copy_bytes_per_s");
  profile.host_streams = read_optional_list<HostStream>(host_memory, "streams", read_host_stream);
  const auto launch = root.nullable("launch_ns");
  if (launch) profile.launch_ns = read_time(*launch);
  const auto collectives = root.nullable("collectives");
  if (collectives) profile.collectives = read_list<Collective>(*collectives, read_collective);
  const auto disk = root.nullable("disk");
  if (disk) profile.disk = read_disk(*disk);
  const auto contention = root.nullable("contention");
  if (contention) profile.contention = read_list<Contention>(*contention, read_contention);

  profile.operators = read_operators(root.at("operators"));
  if (const auto answers = optional_member(root, "workspaces")) {
    profile.workspaces = program::read_workspace_answers(*answers);
  }
  profile.waived = read_remarks(root.at("waived"), "reason", "waived");
  const auto noticed = optional_member(root, "noticed");
  if (noticed) profile.noticed = read_remarks(*noticed, "note", "noticed");
  return profile;
}

}  // namespace elixir::hardware
