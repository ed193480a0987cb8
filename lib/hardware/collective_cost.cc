// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/collective_cost.h"

#include <algorithm>

#include <fmt/format.h>

namespace elixir::hardware {
namespace {

constexpr double kNetworkNsPerSecond = 1e9;
constexpr double kNetworkGigabyte = 1e9;

}  // namespace

CollectiveCost::CollectiveCost(const HardwareProfile& profile, const Ranks& ranks) : ranks_(ranks) {
  const Collective* best = nullptr;
  for (const Collective& collective : profile.collectives) {
    if (collective.operation != "all_gather" || collective.points.empty()) continue;
    // The largest group that is no larger than a machine of these ranks; else the smallest.
    const auto preferred = [&](const Collective& it) {
      return it.gpus <= ranks.per_node ? it.gpus : -it.gpus;
    };
    if (best == nullptr || preferred(collective) > preferred(*best)) best = &collective;
  }
  if (best == nullptr || best->gpus < 2) return;
  const std::vector<PeerRate>& peers = profile.links.peers;
  const bool direct =
      std::all_of(peers.begin(), peers.end(), [](const PeerRate& peer) { return peer.direct; });
  if (!peers.empty() && direct && ranks.per_node == ranks.world) {
    copy_bytes_per_s_ = peers.front().bytes_per_s.median;
    for (const PeerRate& peer : peers) {
      copy_bytes_per_s_ = std::min(copy_bytes_per_s_, peer.bytes_per_s.median);
      copy_latency_ns_ = std::max(copy_latency_ns_, peer.latency_ns.median);
    }
  }
  measured_gpus_ = best->gpus;
  for (const CollectivePoint& point : best->points) {
    points_.push_back({static_cast<double>(point.bytes), point.time_ns.median});
  }
}

std::string CollectiveCost::basis() const {
  if (ranks_.replicas == 1) return basis_of_one_replica();
  return basis_of_one_replica() + "; nobody has timed replicas on GPUs";
}

std::string CollectiveCost::basis_of_one_replica() const {
  if (copies()) return "modelled from copies between two GPUs, one way at a time";
  const bool local = ranks_.per_node == ranks_.world;
  if (local && measured_gpus_ == ranks_.world) return "measured";
  std::string from = fmt::format("modelled from all-gathers of {} GPUs", measured_gpus_);
  if (local) return from;
  return fmt::format("{} and {:.3g} GB/s of network for each GPU",
                     from,
                     ranks_.network_bytes_per_s / kNetworkGigabyte);
}

double CollectiveCost::measured_ns(double bytes) const {
  const auto above = std::find_if(
      points_.begin(), points_.end(), [&](const Point& point) { return point.bytes >= bytes; });
  if (above == points_.begin()) return above->ns;
  // Beyond the last point: along the last line.
  const Point& high = above == points_.end() ? points_.back() : *above;
  const Point& low = points_.size() < 2 ? high : *(&high - 1);
  if (high.bytes <= low.bytes) return high.ns * std::max(1.0, bytes / high.bytes);
  const double ns = low.ns + (high.ns - low.ns) * (bytes - low.bytes) / (high.bytes - low.bytes);
  // Times that fall with the size are noise, and must not be followed below any that was measured.
  return std::max(ns, std::min(low.ns, high.ns));
}

double CollectiveCost::local_ns(double bytes_in) const {
  // Of `bytes`, (n - 1) / n come in.
  const double n = measured_gpus_;
  return measured_ns(bytes_in * n / (n - 1));
}

double CollectiveCost::copied_ns(double bytes_in, int count) const {
  constexpr double kNsPerSecond = 1e9;
  return (count - 1) * copy_latency_ns_ + bytes_in / copy_bytes_per_s_ * kNsPerSecond;
}

double CollectiveCost::broadcast_ns(std::int64_t bytes) const {
  if (bytes == 0 || ranks_.world < 2) return 0;
  const auto of_one = static_cast<double>(bytes);
  if (copies()) return copied_ns(of_one * (ranks_.world - 1), ranks_.world);
  return gathered_ns(of_one, {ranks_.world, ranks_.per_node});
}

double CollectiveCost::all_gather_ns(std::int64_t bytes) const {
  const int shards = ranks_.world / ranks_.replicas;
  return all_gather_ns(bytes, {shards, std::min(shards, ranks_.per_node)});
}

double CollectiveCost::share_parts_ns(std::int64_t bytes) const {
  const int shards = ranks_.world / ranks_.replicas;
  return all_gather_ns(bytes, {ranks_.replicas, std::max(1, ranks_.per_node / shards)});
}

double CollectiveCost::all_gather_ns(std::int64_t bytes, const Group& group) const {
  if (bytes == 0 || group.count < 2) return 0;
  const double all = static_cast<double>(bytes);
  if (copies()) return copied_ns(all * (group.count - 1) / group.count, group.count);
  return gathered_ns(all, group);
}

double CollectiveCost::gathered_ns(double all, const Group& group) const {
  const double count = group.count;
  const double ns = local_ns(all * (count - 1) / count);
  if (group.per_node == group.count) return ns;
  // What other machines have comes in once per machine, over the ways of all of its GPUs.
  const double from_outside = all * (count - group.per_node) / count;
  return std::max(ns,
                  from_outside / group.per_node / ranks_.network_bytes_per_s * kNetworkNsPerSecond);
}

double CollectiveCost::all_to_all_ns(std::int64_t bytes) const {
  if (bytes == 0 || ranks_.world < 2) return 0;
  const double all = static_cast<double>(bytes);
  const double world = ranks_.world;
  const double inside = all * (ranks_.per_node - 1) / world;
  if (copies()) return copied_ns(inside, ranks_.world);
  const double ns = ranks_.per_node > 1 ? local_ns(inside) : measured_ns(0);
  // To every GPU of another machine goes something else.
  const double outside = all * (world - ranks_.per_node) / world;
  return std::max(ns, outside / ranks_.network_bytes_per_s * kNetworkNsPerSecond);
}

double CollectiveCost::reduce_scatter_ns(std::int64_t bytes) const {
  if (bytes == 0 || ranks_.world < 2) return 0;
  const int shards = ranks_.world / ranks_.replicas;
  const double all = static_cast<double>(bytes);
  const Group same_replica{shards, std::min(shards, ranks_.per_node)};
  const Group same_shard{ranks_.replicas, std::max(1, ranks_.per_node / shards)};
  return (shards > 1 ? gathered_ns(all, same_replica) : 0) +
         (ranks_.replicas > 1 ? 2 * gathered_ns(all / shards, same_shard) : 0);
}

}  // namespace elixir::hardware
