// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_chunks.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/units.h"
#include "kernels/split_master.h"
#include "measure/host/host_memory.h"

namespace elixir::measure {
namespace {

using kernels::AdamArrays;
using kernels::Element;

constexpr std::int64_t kAlignment = 64;
constexpr std::size_t kArrays = 5;

std::size_t aligned(std::size_t bytes) {
  return static_cast<std::size_t>(round_up(static_cast<std::int64_t>(bytes), kAlignment));
}

std::size_t piece_bytes(std::size_t parameters) {
  return aligned(parameters * AdamChunks::kBytesPerParameter) + kArrays * aligned(1);
}

std::size_t stripe_count(std::size_t parameters, const SpreadMemory& memory) {
  const bool one =
      parameters < AdamChunks::kFewParameters && piece_bytes(parameters) <= memory.stripe_bytes();
  return one ? 1 : SpreadMemory::kStripes;
}

kernels::AdamPass kernel_pass(hardware::AdamWrites writes) {
  return writes == hardware::AdamWrites::kParameters ? kernels::AdamPass::kParameters
         : writes == hardware::AdamWrites::kMoments  ? kernels::AdamPass::kMoments
                                                     : kernels::AdamPass::kWhole;
}

/// All values are the same, a normal number in every dtype: a pass takes as long for any that are.
AdamArrays chunk_at(char* piece, const AdamPass& pass, std::size_t n, kernels::ThreadPool& pool) {
  constexpr int kByteOfValues = 0x3C;
  fill_bytes(piece, piece_bytes(n), kByteOfValues, pool);
  const auto next = [&piece](std::size_t bytes) {
    char* const begin = piece;
    piece += aligned(bytes);
    return begin;
  };
  const bool narrow = pass.gradient != Element::kFloat32;
  const std::size_t moment_bytes = n * kernels::bytes_of(pass.moments);
  AdamArrays chunk{};
  chunk.n = n;
  chunk.gradient_type = chunk.parameter_type = pass.gradient;
  chunk.moment_type = pass.moments;
  chunk.pass = kernel_pass(pass.writes);
  chunk.moment1 = next(moment_bytes);
  chunk.moment2 = next(moment_bytes);
  chunk.gradient = next(n * kernels::bytes_of(pass.gradient));
  if (narrow) chunk.parameter = next(n * 2);
  if (pass.split) {
    chunk.lower = reinterpret_cast<std::int16_t*>(next(n * 2));
  } else {
    chunk.master = reinterpret_cast<float*>(next(n * sizeof(float)));
  }
  return chunk;
}

}  // namespace

AdamChunks::AdamChunks(const AdamPass& pass,
                       std::size_t parameters,
                       SpreadMemory& memory,
                       kernels::ThreadPool& pool,
                       std::size_t most_in_chunk)
    : pool_(pool) {
  const std::size_t stripes = stripe_count(parameters, memory);
  const std::size_t in_stripe =
      stripes == 1 ? 1 : (parameters / stripes + most_in_chunk - 1) / most_in_chunk;
  const std::size_t n = parameters / (stripes * in_stripe);
  pieces_.emplace(memory.take(stripes, in_stripe * piece_bytes(n)));
  for (std::size_t place = 0; place < in_stripe; ++place) {
    for (std::size_t i = 0; i < stripes; ++i) {
      chunks_.push_back(chunk_at((*pieces_)[i] + place * piece_bytes(n), pass, n, pool));
    }
  }
  jobs_.resize(chunks_.size());
}

void AdamChunks::write(hardware::AdamWrites writes) {
  for (AdamArrays& chunk : chunks_) chunk.pass = kernel_pass(writes);
}

void AdamChunks::begin_next() {
  const std::size_t next = begun_ % count();
  const auto pass = static_cast<std::int64_t>(begun_++ / count()) + 1;
  const kernels::AdamScalars scalars = kernels::make_adam_scalars({}, pass, 1, 1.0F);
  if (pool_.caller() != kernels::Caller::kGivesJobs) {
    kernels::adam_cpu(chunks_[next], scalars, kernels::best_isa(), pool_);
    return;
  }
  pool_.wait_for(jobs_[next]);
  jobs_[next] = kernels::begin_adam_cpu(chunks_[next], scalars, kernels::best_isa(), pool_);
}

void AdamChunks::finish() {
  pool_.wait_idle();
}

void AdamChunks::require_finite() const {
  for (const AdamArrays& chunk : chunks_) {
    const std::size_t last = chunk.n - 1;
    float value = 0;
    if (chunk.lower == nullptr) {
      value = chunk.master[last];
    } else {
      kernels::join_master_cpu(static_cast<const std::uint16_t*>(chunk.parameter) + last,
                               chunk.lower + last,
                               &value,
                               1,
                               pool_);
    }
    require(std::isfinite(value), "AdamW gave a value that is not finite");
  }
}

}  // namespace elixir::measure
