// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <algorithm>

#include "hardware/hardware_profile.h"

namespace elixir::hardware {
namespace {

Json json_of(const Figure& figure) {
  Json json = {{"median", figure.median},
               {"spread", figure.spread},
               {"samples", figure.samples},
               {"method", figure.method}};
  if (figure.disturbed) json["disturbed"] = true;  // rare, so written only where it is true
  return json;
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

Json json_of(program::CpuIsa isa) {
  return isa == program::CpuIsa::kUnsaid ? Json(nullptr) : Json(std::string(name_of(isa)));
}

Json json_of(const std::optional<Topology>& topology) {
  if (!topology) return nullptr;
  Json nodes = Json::array();
  for (const NumaNode& node : topology->numa_nodes) {
    nodes.push_back({{"node", node.node},
                     {"logical_cpus", node.logical_cpus},
                     {"memory_bytes", node.memory_bytes}});
  }
  Json caches = Json::array();
  for (const Cache& cache : topology->caches) {
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"cpus", cache.cpus},
                      {"count", cache.count}});
  }
  return {{"packages", topology->packages},
          {"cores", topology->cores},
          {"numa_nodes", nodes},
          {"caches", caches}};
}

Json json_of(const std::vector<LinkCurve>& curves) {
  Json list = Json::array();
  for (const LinkCurve& curve : curves) {
    Json points = Json::array();
    for (const LinkPoint& point : curve.points) {
      points.push_back({{"bytes", point.bytes}, {"time_ns", json_of(point.time_ns)}});
    }
    list.push_back(
        {{"direction", name_of(curve.direction)},
         {"pages", name_of(curve.pages)},
         {"latency_ns", curve.line ? Json(curve.line->latency_ns) : Json()},
         {"bytes_per_s", curve.line ? Json(curve.line->bytes_per_s) : Json()},
         {"worst_relative_error", curve.line ? Json(curve.line->worst_relative_error) : Json()},
         {"points", points}});
  }
  return list;
}

Json json_of(const std::vector<AdamFormRate>& forms) {
  Json list = Json::array();
  for (const AdamFormRate& form : forms) {
    list.push_back({{"device", form.device},
                    {"gradient", form.gradient},
                    {"moments", form.moments},
                    {"master", form.master},
                    {"parameters", form.parameters},
                    {"params_per_s", json_of(form.params_per_s)}});
    // Documents without such passes keep their fingerprint.
    if (form.writes != AdamWrites::kAll) {
      list.back()["writes"] = std::string(kAdamWrites.name_of(form.writes));
    }
    if (form.ranks > 1) list.back()["ranks"] = form.ranks;
  }
  return list;
}

Json json_of(const std::vector<PeerRate>& peers) {
  Json list = Json::array();
  for (const PeerRate& peer : peers) {
    list.push_back({{"from", peer.from},
                    {"to", peer.to},
                    {"direct", peer.direct},
                    {"bytes_per_s", json_of(peer.bytes_per_s)},
                    {"latency_ns", json_of(peer.latency_ns)}});
  }
  return list;
}

Json json_of(const std::optional<PinnedAllocation>& pinned) {
  if (!pinned) return nullptr;
  return {{"bytes", pinned->bytes},
          {"plain_bytes_per_s", json_of(pinned->plain_bytes_per_s)},
          {"arena_bytes_per_s", json_of(pinned->arena_bytes_per_s)}};
}

Json json_of(const std::vector<HostStream>& streams) {
  Json list = Json::array();
  for (const HostStream& stream : streams) {
    list.push_back({{"kernel", stream.kernel},
                    {"threads", stream.threads},
                    {"numa_node", stream.numa_node ? Json(*stream.numa_node) : Json(nullptr)},
                    {"bytes_per_s", json_of(stream.bytes_per_s)}});
  }
  return list;
}

Json json_of(const std::vector<Collective>& collectives) {
  if (collectives.empty()) return nullptr;
  Json list = Json::array();
  for (const Collective& collective : collectives) {
    Json points = Json::array();
    for (const CollectivePoint& point : collective.points) {
      points.push_back({{"bytes", point.bytes},
                        {"time_ns", json_of(point.time_ns)},
                        {"algorithm_bytes_per_s", point.algorithm_bytes_per_s},
                        {"bus_bytes_per_s", point.bus_bytes_per_s}});
    }
    list.push_back({{"operation", collective.operation},
                    {"gpus", collective.gpus},
                    {"latency_ns", json_of(collective.latency_ns)},
                    {"points", points}});
  }
  return list;
}

Json json_of(const std::optional<Disk>& disk) {
  if (!disk) return nullptr;
  return {{"directory", disk->directory},
          {"engine", disk->engine},
          {"file_bytes", disk->file_bytes},
          {"block_bytes", disk->block_bytes},
          {"queue_depth", disk->queue_depth},
          {"read_bytes_per_s", json_of(disk->read_bytes_per_s)},
          {"write_bytes_per_s", json_of(disk->write_bytes_per_s)}};
}

Json json_of(const std::vector<Contention>& contention) {
  if (contention.empty()) return nullptr;
  Json list = Json::array();
  for (const Contention& cell : contention) {
    Json json = {{"work", cell.work}, {"beside", cell.beside}};
    if (cell.gpus > 1) json["gpus"] = cell.gpus;  // older documents keep their fingerprint
    json["slowdown"] = json_of(cell.slowdown);
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const std::vector<SustainedRate>& sustained) {
  Json list = Json::array();
  for (const SustainedRate& rate : sustained) {
    list.push_back(
        {{"dtype", rate.dtype}, {"duty", rate.duty}, {"slowdown", json_of(rate.slowdown)}});
  }
  return list;
}

Json json_of(const std::optional<std::int64_t>& count) {
  return count ? Json(*count) : Json(nullptr);
}

Json json_of(const OperatorTime& time) {
  return {{"key", time.key},
          {"time_ns", json_of(time.time_ns)},
          {"workspace_bytes", time.workspace_bytes},
          {"host_ns", json_of(time.host_ns)},
          {"persistent_bytes", json_of(time.persistent_bytes)},
          {"touched_bytes", json_of(time.touched_bytes)},
          {"flops", json_of(time.flops)}};
}

Json remarks_of(const std::map<std::string, std::string>& remarks, const char* what) {
  Json list = Json::array();
  for (const auto& [measurement, text] : remarks) {
    list.push_back({{"measurement", measurement}, {what, text}});
  }
  return list;
}

}  // namespace

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
  for (const OperatorTime* time : sorted) operators.push_back(json_of(*time));
  Json document = {
      {"schema", "elixir.hardware"},
      {"schema_version", kSchemaVersion},
      {"meta", profile.meta},
      {"name", profile.name},
      {"device_kind", name_of(profile.device_kind)},
      {"machine",
       {{"cpu", profile.machine.cpu},
        {"instruction_set", json_of(profile.machine.isa)},
        {"logical_cpus", profile.machine.logical_cpus},
        {"threads", profile.machine.threads},
        {"host_memory_bytes", profile.machine.host_memory_bytes},
        {"topology", json_of(profile.machine.topology)}}},
      {"gpus", gpus},
      {"links",
       {{"host_to_device", json_of(profile.links.host_to_device)},
        {"device_to_host", json_of(profile.links.device_to_host)},
        {"both_at_once", json_of(profile.links.both_at_once)},
        {"pageable_host_to_device", json_of(profile.links.pageable_host_to_device)},
        {"curves", json_of(profile.links.curves)},
        {"peers", json_of(profile.links.peers)},
        {"pinned_allocation", json_of(profile.links.pinned_allocation)}}},
      {"adam",
       {{"cpu", json_of(profile.adam_cpu)},
        {"gpu", json_of(profile.adam_gpu)},
        {"forms", json_of(profile.adam_forms)}}},
      {"compute", compute},
      {"sustained", json_of(profile.sustained)},
      {"device_memory", {{"copy_bytes_per_s", json_of(profile.device_copy_bytes_per_s)}}},
      {"host_memory",
       {{"copy_bytes_per_s", json_of(profile.host_copy_bytes_per_s)},
        {"streams", json_of(profile.host_streams)}}},
      {"launch_ns", json_of(profile.launch_ns)},
      {"collectives", json_of(profile.collectives)},
      {"disk", json_of(profile.disk)},
      {"contention", json_of(profile.contention)},
      {"operators", operators},
      {"waived", remarks_of(profile.waived, "reason")},
      {"noticed", remarks_of(profile.noticed, "note")}};
  document["workspaces"] = profile.workspaces ? program::to_json(*profile.workspaces) : Json();
  return document;
}

}  // namespace elixir::hardware
