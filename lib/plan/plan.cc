// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "plan/plan.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "program/loss_scale.h"

namespace elixir::plan {
namespace {

using program::DType;

[[noreturn]] void inconsistent(const std::string& message) {
  throw Error(ErrorCode::kInconsistentPlan, message)
      .help("make the plan again with elixir-search from this program's profile");
}

std::unordered_map<std::string, std::int32_t> positions_of(const program::Program& program) {
  std::unordered_map<std::string, std::int32_t> positions;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    positions.emplace(program.parameters[i].name, static_cast<std::int32_t>(i));
  }
  return positions;
}

/// That shards are equal, and that no parameter's block of elements lies in two of them.
void check_shards(const Plan& plan,
                  std::size_t position,
                  const program::Program& program,
                  const std::unordered_map<std::string, std::int32_t>& positions) {
  const Chunk& chunk = plan.chunks[position];
  const std::int64_t element_bytes = program::element_bytes(chunk.dtype);
  const std::int64_t unit_bytes = kPieceUnitElements * element_bytes;
  if (chunk.bytes % (plan.world * unit_bytes) != 0) {
    inconsistent(fmt::format("chunk {} has {} bytes, which {} ranks cannot share in units of {}",
                             position,
                             chunk.bytes,
                             plan.world,
                             unit_bytes));
  }
  for (const ChunkParameter& entry : chunk.parameters) {
    const std::int64_t bytes = program.parameters[positions.at(entry.name)].tensor.bytes();
    if (entry.offset_bytes % unit_bytes + std::min(bytes, unit_bytes) > unit_bytes) {
      inconsistent(fmt::format(
          "parameter {} starts at byte {} of chunk {}: the end of a shard would cut a block of {} "
          "elements",
          entry.name,
          entry.offset_bytes,
          position,
          kPieceUnitElements));
    }
  }
}

/// Offsets, sizes and dtypes of one chunk's parameters.
void check_chunk(const Plan& plan,
                 std::size_t position,
                 const program::Program& program,
                 const std::unordered_map<std::string, std::int32_t>& positions,
                 std::vector<bool>& seen) {
  const Chunk& chunk = plan.chunks[position];
  struct Span {
    std::int64_t begin, end;
    const std::string* name;
  };
  if (chunk.bytes % kAlignmentBytes != 0) {
    inconsistent(fmt::format(
        "chunk {} has {} bytes, not a multiple of {}", position, chunk.bytes, kAlignmentBytes));
  }
  std::vector<Span> spans;
  bool trained = false, frozen = false;
  for (const ChunkParameter& entry : chunk.parameters) {
    const auto found = positions.find(entry.name);
    if (found == positions.end()) {
      inconsistent(fmt::format(
          "chunk {} holds parameter {}, which the program does not have", position, entry.name));
    }
    if (seen[found->second]) {
      inconsistent(fmt::format("parameter {} is in the plan twice", entry.name));
    }
    seen[found->second] = true;
    const program::Parameter& parameter = program.parameters[found->second];
    (parameter.gradient ? trained : frozen) = true;
    if (parameter.tensor.dtype != chunk.dtype) {
      inconsistent(fmt::format("parameter {} is {}, its chunk {} is {}",
                               entry.name,
                               name_of(parameter.tensor.dtype),
                               position,
                               name_of(chunk.dtype)));
    }
    if (entry.offset_bytes < 0 || entry.offset_bytes % kAlignmentBytes != 0) {
      inconsistent(fmt::format("parameter {} starts at byte {} of chunk {}, not a multiple of {}",
                               entry.name,
                               entry.offset_bytes,
                               position,
                               kAlignmentBytes));
    }
    const std::int64_t bytes = parameter.tensor.bytes();
    if (bytes > chunk.bytes || entry.offset_bytes > chunk.bytes - bytes) {
      inconsistent(fmt::format("parameter {} has {} bytes from byte {} of chunk {}, which has {}",
                               entry.name,
                               bytes,
                               entry.offset_bytes,
                               position,
                               chunk.bytes));
    }
    spans.push_back({entry.offset_bytes, entry.offset_bytes + bytes, &entry.name});
  }
  std::sort(
      spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].begin < spans[i - 1].end) {
      inconsistent(fmt::format("parameters {} and {} overlap in chunk {}",
                               *spans[i - 1].name,
                               *spans[i].name,
                               position));
    }
  }
  if (trained && frozen && plan.optimizer != program::Optimizer::kNone) {
    // Updates move whole chunks, and only what is trained has a master.
    inconsistent(fmt::format("chunk {} holds trained and frozen parameters", position));
  }
  const DType gradients = summed_dtype(plan, chunk.dtype);
  if (trained && plan.optimizer != program::Optimizer::kNone && chunk.gradient_dtype != gradients) {
    inconsistent(fmt::format(
        "chunk {} keeps its gradients in {}; with {} micro-batches and {} ranks it is {}",
        position,
        name_of(chunk.gradient_dtype),
        plan.accumulation_steps,
        plan.world,
        name_of(gradients)));
  }
  if (plan.world > 1) check_shards(plan, position, program, positions);
  if (chunk.kind == Chunk::Kind::kPublic && needs_block(plan, chunk) &&
      (plan.cache.blocks < 1 || plan.cache.block_bytes < chunk.bytes)) {
    inconsistent(fmt::format("chunk {} has {} bytes, the cache {} blocks of {} bytes",
                             position,
                             chunk.bytes,
                             plan.cache.blocks,
                             plan.cache.block_bytes));
  }
}

void check_late_moments(const Plan& plan, std::size_t position) {
  const Chunk& chunk = plan.chunks[position];
  if (!chunk.late_moments) return;
  if (!plan.clips_gradients) {
    inconsistent(fmt::format("chunk {} has late moments, but updates wait for no norm", position));
  }
  if (chunk.optimizer_home != Home::kHost || chunk.gradient_home != Home::kHost) {
    inconsistent(fmt::format(
        "chunk {} has late moments, but its gradients or optimizer state live on the device",
        position));
  }
}

}  // namespace

bool master_is_parameter(const Chunk& chunk) {
  return chunk.dtype == DType::kFloat32 && chunk.parameter_home == chunk.optimizer_home;
}

bool splits_master(const Plan& plan, const Chunk& chunk) {
  return plan.master == Master::kSplit && chunk.dtype == DType::kBFloat16 &&
         chunk.parameter_home == chunk.optimizer_home;
}

std::int64_t master_bytes(const Plan& plan, const Chunk& chunk) {
  return splits_master(plan, chunk) ? 2 : 4;
}

bool is_trained(const Chunk& chunk, const program::Program& program) {
  const auto positions = positions_of(program);
  return std::any_of(
      chunk.parameters.begin(), chunk.parameters.end(), [&](const ChunkParameter& entry) {
        const auto found = positions.find(entry.name);
        return found != positions.end() && program.parameters[found->second].gradient.has_value();
      });
}

DType summed_dtype(const Plan& plan, DType dtype) {
  const bool rounds = plan.world == 1 || plan.reduce_dtype == ReduceDType::kParameters;
  return plan.accumulation_steps == 1 && rounds ? dtype : DType::kFloat32;
}

int gradient_parts(const Plan& plan) {
  return reduces_once(plan) ? 1 : plan.accumulation_steps;
}

bool reduces_once(const Plan& plan) {
  return plan.world > 1 && plan.accumulation_steps > 1 && plan.reduce_per == ReducePer::kStep;
}

DType exchanged_dtype(const Plan& plan, DType dtype) {
  return reduces_once(plan) ? DType::kFloat32 : dtype;
}

std::int64_t exchanged_bytes(const Plan& plan, const Chunk& chunk) {
  return chunk.bytes / program::element_bytes(chunk.dtype) *
         program::element_bytes(exchanged_dtype(plan, chunk.dtype));
}

bool reduces_by_nccl(const Plan& plan) {
  return plan.world > 1 && plan.reduce == Reduce::kNccl;
}

std::int64_t received_bytes(const Plan& plan, const Chunk& chunk) {
  return exchanged_bytes(plan, chunk) / (reduces_by_nccl(plan) ? grid_of(plan).shards() : 1);
}

bool replicas_fit(int world, int ranks_per_node, int replicas) {
  if (replicas < 1 || world % replicas != 0) return false;
  const int ranks_per_replica = world / replicas;
  return ranks_per_node % ranks_per_replica == 0 || ranks_per_replica % ranks_per_node == 0;
}

std::int64_t shard_elements(const Plan& plan, const Chunk& chunk) {
  return chunk.bytes / program::element_bytes(chunk.dtype) / grid_of(plan).shards();
}

std::int64_t shard_bytes(const Plan& plan, const Chunk& chunk, DType dtype) {
  return shard_elements(plan, chunk) * program::element_bytes(dtype);
}

int kept_gradients(const Plan& plan, const Chunk& chunk) {
  if (!chunk.late_moments || gradient_parts(plan) > 1) return 1;
  return chunk.streams_update ? std::min(plan.kept_gradients, 2) : plan.kept_gradients;
}

int moment_steps(const Plan& plan, const Chunk& chunk) {
  return std::max(1, kept_gradients(plan, chunk) - 1);
}

std::int64_t kept_gradient_bytes(const Plan& plan, const Chunk& chunk) {
  return kept_gradients(plan, chunk) * shard_bytes(plan, chunk, chunk.gradient_dtype);
}

std::int64_t gradient_offset_bytes(const Plan& plan, const Chunk& chunk, std::int64_t step) {
  return step % kept_gradients(plan, chunk) * shard_bytes(plan, chunk, chunk.gradient_dtype);
}

void make_moments_at_once(Plan& plan) {
  for (Chunk& chunk : plan.chunks) chunk.late_moments = false;
  plan.kept_gradients = 1;
}

bool needs_block(const Plan& plan, const Chunk& chunk) {
  return grid_of(plan).shards() > 1 || chunk.parameter_home == Home::kHost;
}

std::vector<Place> locate_parameters(const Plan& plan, const program::Program& program) {
  std::unordered_map<std::string, Place> places;
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    for (const ChunkParameter& entry : plan.chunks[c].parameters) {
      places.emplace(
          entry.name,
          Place{.chunk = static_cast<std::int32_t>(c), .offset_bytes = entry.offset_bytes});
    }
  }
  std::vector<Place> result;
  result.reserve(program.parameters.size());
  for (const program::Parameter& parameter : program.parameters) {
    const auto found = places.find(parameter.name);
    if (found == places.end()) {
      inconsistent(fmt::format("parameter {} is in no chunk of the plan", parameter.name));
    }
    result.push_back(found->second);
  }
  return result;
}

void check_against(const Plan& plan, const program::Program& program) {
  const std::string fingerprint = program::fingerprint(program);
  if (std::none_of(plan.programs.begin(), plan.programs.end(), [&](const ProgramOfPlan& entry) {
        return entry.fingerprint == fingerprint;
      })) {
    ErrorInfo info;
    info.code = ErrorCode::kPlanOfAnotherProgram;
    info.message = "the plan was made for another program";
    info.notes.push_back("fingerprint of this program: " + fingerprint);
    for (const ProgramOfPlan& entry : plan.programs) {
      info.notes.push_back(
          fmt::format("fingerprint in the plan ({}): {}", entry.role, entry.fingerprint));
    }
    info.help.push_back(
        "model file, input shapes, target, precision and mode must be the same as in the profile "
        "that elixir-search read");
    throw Error(info);
  }
  if (plan.accumulation_steps < 1) inconsistent("accumulation_steps is less than 1");
  if (scales_loss(plan.edits) && !plan.clips_gradients) {
    inconsistent("it scales the loss, but updates wait for no norm");
  }
  const auto needs = program::needs_loss_scale(program);
  if (needs && plan.optimizer != program::Optimizer::kNone && !scales_loss(plan.edits)) {
    inconsistent("it has no loss scale, but " + *needs);
  }
  if (plan.ranks_per_node < 1 || plan.world % plan.ranks_per_node != 0) {
    inconsistent(
        fmt::format("{} ranks cannot fill machines of {} each", plan.world, plan.ranks_per_node));
  }
  if (!replicas_fit(plan.world, plan.ranks_per_node, plan.replicas)) {
    inconsistent(
        fmt::format("{} ranks in machines of {} cannot hold {} replicas, each in one machine or "
                    "filling several",
                    plan.world,
                    plan.ranks_per_node,
                    plan.replicas));
  }
  const auto positions = positions_of(program);
  std::vector<bool> seen(program.parameters.size(), false);
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    check_chunk(plan, c, program, positions, seen);
  }
  const bool streams = std::any_of(plan.chunks.begin(), plan.chunks.end(), [](const Chunk& chunk) {
    return chunk.streams_update;
  });
  if (streams && plan.cache.update_piece_elements == 0) {
    inconsistent("optimizer state goes through the device, but update_piece_elements is 0");
  }
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) check_late_moments(plan, c);
  (void)locate_parameters(plan, program);
}

}  // namespace elixir::plan
