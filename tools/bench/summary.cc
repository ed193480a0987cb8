// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/bench/summary.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/terminal/table.h"

namespace elixir::tools {
namespace {

struct Scale {
  double factor;
  const char* unit;
};
constexpr Scale kGigabytes = {1e-9, "GB/s"};
constexpr Scale kGigaparameters = {1e-9, "Gparam/s"};
constexpr Scale kTeraflops = {1e-12, "TFLOP/s"};
constexpr Scale kGigaflops = {1e-9, "GFLOP/s"};
constexpr Scale kMicroseconds = {1e-3, "us"};
constexpr Scale kFactor = {1, "x"};

class Results {
 public:
  void add(const std::string& what, const hardware::Figure& figure, Scale scale) {
    table_.row({what,
                fmt::format("{:.4g}", figure.median * scale.factor),
                scale.unit,
                fmt::format("{:.1f}", figure.spread * 100),
                fmt::format("{}", figure.samples),
                figure.method});
  }
  void add(const std::string& what, const std::optional<hardware::Figure>& figure, Scale scale) {
    if (figure) add(what, *figure, scale);
  }
  void add(const std::string& what, const std::vector<hardware::LinkRate>& rates) {
    for (const hardware::LinkRate& rate : rates) {
      const std::string gpus =
          rate.gpus == 1 ? std::string() : fmt::format(", {} GPUs together", rate.gpus);
      add(what + gpus, rate.bytes_per_s, kGigabytes);
      add(what + gpus + ", 4 KiB", rate.latency_ns, kMicroseconds);
    }
  }
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  report::Table table_{{{"measured", "", report::Align::kLeft},
                        {"median", ""},
                        {"unit", "", report::Align::kLeft},
                        {"spread", "%"},
                        {"samples", ""},
                        {"how", "", report::Align::kLeft}}};
};

void add_links(Results& results, const hardware::Links& links) {
  results.add("host-to-device", links.host_to_device);
  results.add("device-to-host", links.device_to_host);
  results.add("both-at-once", links.both_at_once);
  results.add("pageable-host-to-device", links.pageable_host_to_device);
  for (const hardware::PeerRate& peer : links.peers) {
    const std::string what = fmt::format("peer-to-peer {} to {}", peer.from, peer.to);
    results.add(what, peer.bytes_per_s, kGigabytes);
    results.add(what + ", 4 KiB", peer.latency_ns, kMicroseconds);
  }
  if (links.pinned_allocation) {
    results.add("pinned-allocation, plain", links.pinned_allocation->plain_bytes_per_s, kGigabytes);
    results.add("pinned-allocation, arena", links.pinned_allocation->arena_bytes_per_s, kGigabytes);
  }
}

void add_host(Results& results, const hardware::HardwareProfile& profile) {
  results.add("host-copy", profile.host_copy_bytes_per_s, kGigabytes);
  for (const hardware::HostStream& stream : profile.host_streams) {
    const std::string node =
        stream.numa_node ? fmt::format(", node {}", *stream.numa_node) : std::string();
    results.add(fmt::format("host-streams {}, {} thread{}{}",
                            stream.kernel,
                            stream.threads,
                            stream.threads == 1 ? "" : "s",
                            node),
                stream.bytes_per_s,
                kGigabytes);
  }
  if (profile.disk) {
    results.add("disk, reading", profile.disk->read_bytes_per_s, kGigabytes);
    results.add("disk, writing", profile.disk->write_bytes_per_s, kGigabytes);
  }
}

std::string at_once(int ranks) {
  return ranks == 1 ? "" : fmt::format(", {} at once", ranks);
}

void add_kernels(Results& results, const hardware::HardwareProfile& profile) {
  for (const hardware::AdamRate& rate : profile.adam_cpu) {
    results.add("adam-cpu " + rate.dtype + at_once(rate.ranks), rate.params_per_s, kGigaparameters);
  }
  for (const hardware::SustainedRate& rate : profile.sustained) {
    results.add(fmt::format("sustained {}, {:.0f} % busy: slowdown", rate.dtype, 100 * rate.duty),
                rate.slowdown,
                kFactor);
  }
  for (const hardware::AdamRate& rate : profile.adam_gpu) {
    results.add("adam-gpu " + rate.dtype, rate.params_per_s, kGigaparameters);
  }
  for (const hardware::AdamFormRate& rate : profile.adam_forms) {
    const std::string writes =
        rate.writes == hardware::AdamWrites::kAll
            ? ""
            : fmt::format(", {} alone", hardware::kAdamWrites.name_of(rate.writes));
    results.add(fmt::format("adam-{} {}, {} moments, {}{}{}, {} parameters",
                            rate.device,
                            rate.gradient,
                            rate.moments,
                            rate.master,
                            writes,
                            at_once(rate.ranks),
                            format_count(rate.parameters)),
                rate.params_per_s,
                kGigaparameters);
  }
  for (const hardware::ComputeRate& rate : profile.compute) {
    results.add("matmul " + rate.dtype,
                rate.matmul_flop_per_s,
                rate.matmul_flop_per_s.median < 1e12 ? kGigaflops : kTeraflops);
  }
  results.add("launch", profile.launch_ns, kMicroseconds);
  for (const hardware::Contention& cell : profile.contention) {
    const std::string gpus = cell.gpus > 1 ? fmt::format(", {} GPUs", cell.gpus) : "";
    results.add(fmt::format("contention, {} beside {}{}", cell.work, cell.beside, gpus),
                cell.slowdown,
                kFactor);
  }
}

std::string machine_text(const hardware::HardwareProfile& profile) {
  std::string text = fmt::format("{}, {} CPU{} ({} thread{} used), {} host memory\n",
                                 profile.machine.cpu,
                                 profile.machine.logical_cpus,
                                 profile.machine.logical_cpus == 1 ? "" : "s",
                                 profile.machine.threads,
                                 profile.machine.threads == 1 ? "" : "s",
                                 format_bytes(profile.machine.host_memory_bytes));
  if (profile.machine.topology) {
    const hardware::Topology& topology = *profile.machine.topology;
    text += fmt::format("{} package{}, {} core{}, {} NUMA node{}",
                        topology.packages,
                        topology.packages == 1 ? "" : "s",
                        topology.cores,
                        topology.cores == 1 ? "" : "s",
                        topology.numa_nodes.size(),
                        topology.numa_nodes.size() == 1 ? "" : "s");
    for (const hardware::Cache& cache : topology.caches) {
      if (cache.type == "instruction") continue;
      text += fmt::format(", {} x L{} {}", cache.count, cache.level, format_bytes(cache.bytes));
    }
    text += '\n';
  }
  for (const hardware::Gpu& gpu : profile.gpus) {
    text += fmt::format("{}, sm_{}, {} ({} of it taken by the context)\n",
                        gpu.name,
                        gpu.sm,
                        format_bytes(gpu.memory_bytes),
                        format_bytes(gpu.context_bytes));
  }
  return text;
}

/// Transfers by size, one row each: the fitted line and its quality.
std::string curves_text(const std::vector<hardware::LinkCurve>& curves) {
  if (curves.empty()) return {};
  report::Table table({{"copies by size", "", report::Align::kLeft},
                       {"latency", "us"},
                       {"rate", "GB/s"},
                       {"largest error", "%"},
                       {"sizes", ""}});
  for (const hardware::LinkCurve& curve : curves) {
    std::string name(name_of(curve.direction));
    if (curve.pages != hardware::HostPages::kNone)
      name += fmt::format(", {}", name_of(curve.pages));
    const std::string sizes = fmt::format("{}", curve.points.size());
    if (!curve.line) {
      table.row({name, "no line", "-", "-", sizes});
      continue;
    }
    table.row({name,
               fmt::format("{:.4g}", curve.line->latency_ns * kMicroseconds.factor),
               fmt::format("{:.4g}", curve.line->bytes_per_s * kGigabytes.factor),
               fmt::format("{:.0f}", curve.line->worst_relative_error * 100),
               sizes});
  }
  return '\n' + table.text();
}

std::string collectives_text(const std::vector<hardware::Collective>& collectives) {
  if (collectives.empty()) return {};
  report::Table table({{"collective", "", report::Align::kLeft},
                       {"GPUs", ""},
                       {"latency", "us"},
                       {"largest", "", report::Align::kLeft},
                       {"algorithm", "GB/s"},
                       {"bus", "GB/s"}});
  for (const hardware::Collective& collective : collectives) {
    if (collective.points.empty()) continue;
    const hardware::CollectivePoint& last = collective.points.back();
    table.row({collective.operation,
               fmt::format("{}", collective.gpus),
               fmt::format("{:.4g}", collective.latency_ns.median * kMicroseconds.factor),
               format_bytes(last.bytes),
               fmt::format("{:.4g}", last.algorithm_bytes_per_s * kGigabytes.factor),
               fmt::format("{:.4g}", last.bus_bytes_per_s * kGigabytes.factor)});
  }
  return '\n' + table.text();
}

}  // namespace

std::string summary_of(const hardware::HardwareProfile& profile) {
  std::string text = machine_text(profile);
  Results results;
  add_links(results, profile.links);
  results.add("device-copy", profile.device_copy_bytes_per_s, kGigabytes);
  add_host(results, profile);
  add_kernels(results, profile);
  text += '\n' + results.text();
  text += curves_text(profile.links.curves);
  text += collectives_text(profile.collectives);
  if (!profile.operators.empty()) {
    text += fmt::format("\n{} distinct operator calls measured\n", profile.operators.size());
  }
  for (const auto& [measurement, note] : profile.noticed) {
    text += fmt::format("noticed: {}: {}\n", measurement, note);
  }
  for (const auto& [measurement, reason] : profile.waived) {
    text += fmt::format("waived: {}, because {}\n", measurement, reason);
  }
  return text;
}

}  // namespace elixir::tools
