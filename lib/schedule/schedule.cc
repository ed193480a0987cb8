// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/schedule.h"

#include <array>

namespace elixir::schedule {

std::string_view name_of(Stream stream) {
  constexpr std::array<std::string_view, kStreamCount> kNames{"compute",
                                                              "device_update",
                                                              "update_to_host",
                                                              "host_to_device",
                                                              "device_to_host",
                                                              "collective",
                                                              "reduce",
                                                              "cpu"};
  return kNames[static_cast<std::size_t>(stream)];
}

bool is_passed_through(BufferRole role) {
  switch (role) {
    case BufferRole::kGradientLanding:
    case BufferRole::kDeviceStaging:
    case BufferRole::kUpdatePiece:
    case BufferRole::kHostStaging:
    case BufferRole::kOffloaded:
    case BufferRole::kReducedStaging:
      return true;
    default:
      return false;
  }
}

std::string_view name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kLoadInputs:
      return "load_inputs";
    case TaskKind::kCompute:
      return "compute";
    case TaskKind::kFetch:
      return "fetch";
    case TaskKind::kEvict:
      return "evict";
    case TaskKind::kStoreGradient:
      return "store_gradient";
    case TaskKind::kAccumulate:
      return "accumulate";
    case TaskKind::kGradientNorm:
      return "gradient_norm";
    case TaskKind::kClip:
      return "clip";
    case TaskKind::kMoveGradients:
      return "move_gradients";
    case TaskKind::kUpdateMoments:
      return "update_moments";
    case TaskKind::kUpdate:
      return "update";
    case TaskKind::kLoadState:
      return "load_state";
    case TaskKind::kStoreState:
      return "store_state";
    case TaskKind::kMoveParameters:
      return "move_parameters";
    case TaskKind::kReadLoss:
      return "read_loss";
    case TaskKind::kOffload:
      return "offload";
    case TaskKind::kReload:
      return "reload";
    case TaskKind::kGather:
      return "gather";
    case TaskKind::kReduce:
      return "reduce";
    case TaskKind::kStoreShard:
      return "store_shard";
    case TaskKind::kGatherSums:
      return "gather_sums";
    case TaskKind::kShareBuffers:
      return "share_buffers";
  }
  return "unknown";
}

std::vector<Awaited> awaited_ends(const Schedule& schedule) {
  const std::size_t ids =
      schedule.tasks.empty() ? 0 : static_cast<std::size_t>(schedule.tasks.back().id) + 1;
  std::vector<Stream> streams(ids, Stream::kCompute);
  std::array<TaskId, kStreamCount> last{};
  last.fill(-1);
  for (const Task& task : schedule.tasks) {
    streams[task.id] = task.stream;
    last[static_cast<std::size_t>(task.stream)] = task.id;
  }
  std::vector<Awaited> awaited(ids, Awaited::kByNobody);
  const auto await = [&](TaskId id, Awaited by) { awaited[id] = std::max(awaited[id], by); };
  for (const Task& task : schedule.tasks) {
    const Awaited by = waits_on_host(task.stream) ? Awaited::kByHost : Awaited::kByStreams;
    for (const std::vector<TaskId>* others : {&task.after, &task.after_previous}) {
      for (const TaskId other : *others) {
        if (streams[other] != task.stream) await(other, by);
      }
    }
    if (task.kind == TaskKind::kReadLoss) await(task.id, Awaited::kByHost);
  }
  for (const TaskId id : last) {
    if (id >= 0) await(id, Awaited::kByHost);
  }
  return awaited;
}

bool adds_to_sum(const Task& reduce, const plan::Plan& plan) {
  return reduce.micro_batch > 0 && plan::gradient_parts(plan) > 1 &&
         plan.chunks[reduce.chunk].gradient_home == plan::Home::kDevice;
}

bool shares_parts(const Task& reduce, const plan::Plan& plan) {
  if (plan.replicas == 1 || plan::reduces_by_nccl(plan)) return false;
  return reduce.micro_batch + 1 == plan.accumulation_steps ||
         plan.chunks[reduce.chunk].gradient_home == plan::Home::kHost;
}

}  // namespace elixir::schedule
