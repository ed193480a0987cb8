// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/memory/evaluation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "schedule/buffers/buffers.h"
#include "schedule/memory/operator_memory.h"

namespace elixir::schedule {
namespace {

/// Position of the module buffer of that name.
std::int32_t module_buffer(const program::Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const program::Buffer& buffer = program.buffers[i];
    if (buffer.name == name ||
        std::find(buffer.names.begin(), buffer.names.end(), name) != buffer.names.end()) {
      return static_cast<std::int32_t>(i);
    }
  }
  throw Error(ErrorCode::kInternal, "the training program has no buffer {}", name);
}

bool same_content(const program::Storage& a, const program::Storage& b) {
  return !a.content_digest.empty() && a.content_digest == b.content_digest && a.bytes == b.bytes;
}

}  // namespace

std::vector<BufferId> lend_buffers(const Schedule& training,
                                   const program::Program& training_program,
                                   const Schedule& evaluation,
                                   const program::Program& evaluation_program) {
  using Key = std::pair<BufferRole, std::int32_t>;
  std::map<Key, std::vector<const Buffer*>> ours;
  for (const Buffer& buffer : training.buffers) {
    ours[{buffer.role, buffer.chunk}].push_back(&buffer);
  }
  std::map<Key, std::size_t> ordinals;
  std::vector<BufferId> lent;
  for (const Buffer& wanted : evaluation.buffers) {
    Key key{wanted.role, wanted.chunk};
    std::size_t ordinal = 0;
    if (wanted.role == BufferRole::kModuleBuffer) {
      key.second =
          module_buffer(training_program, evaluation_program.buffers.at(wanted.chunk).name);
    } else if (wanted.role == BufferRole::kConstant) {
      const program::Storage& content = evaluation_program.storages.at(wanted.chunk);
      key.second = -1;
      for (const program::Storage& storage : training_program.storages) {
        const bool here = ours.count({BufferRole::kConstant, storage.id}) != 0;
        if (here && same_content(storage, content)) {
          key.second = storage.id;
          break;
        }
      }
    } else {
      ordinal = ordinals[key]++;
    }
    const auto found = ours.find(key);
    const bool serves = found != ours.end() && ordinal < found->second.size() &&
                        found->second[ordinal]->arena == wanted.arena &&
                        found->second[ordinal]->bytes >= wanted.bytes;
    lent.push_back(serves ? found->second[ordinal]->id : kOwnBuffer);
  }
  return lent;
}

EvaluationMemory evaluation_memory(const Schedule& training,
                                   const Schedule& evaluation,
                                   const std::vector<BufferId>& lent,
                                   std::int64_t simulated_peak_bytes) {
  EvaluationMemory memory;
  for (const Buffer& buffer : evaluation.buffers) {
    if (lent[buffer.id] != kOwnBuffer) continue;
    (buffer.arena == Arena::kDevice ? memory.own_device_bytes : memory.own_host_bytes) +=
        rounded_allocation(buffer.bytes);
  }
  memory.peak_device_bytes = buffer_bytes(training.buffers, Arena::kDevice) +
                             memory.own_device_bytes + simulated_peak_bytes -
                             buffer_bytes(evaluation.buffers, Arena::kDevice);
  return memory;
}

}  // namespace elixir::schedule
