// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/adam_chunks.h"

#include <cmath>

#include "core/error.h"
#include "kernels/gradient.h"
#include "kernels/split_master.h"
#include "measure/host/host_memory.h"

namespace elixir::measure {
namespace {

using kernels::AdamArrays;
using kernels::Element;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kArrays = 5;

std::size_t piece_bytes(std::size_t parameters) {
  return parameters * AdamChunks::kBytesPerParameter + kArrays * kAlignment;
}

std::size_t chunk_count(std::size_t parameters, const SpreadMemory& memory) {
  const bool one =
      parameters < AdamChunks::kFewParameters && piece_bytes(parameters) <= memory.stripe_bytes();
  return one ? 1 : SpreadMemory::kStripes;
}

kernels::AdamPass kernel_pass(hardware::AdamWrites writes) {
  return writes == hardware::AdamWrites::kParameters ? kernels::AdamPass::kParameters
         : writes == hardware::AdamWrites::kMoments  ? kernels::AdamPass::kMoments
                                                     : kernels::AdamPass::kWhole;
}

/// Random parameters and gradients, and moments of zero.
AdamArrays chunk_at(char* piece, const AdamPass& pass, std::size_t n, kernels::ThreadPool& pool) {
  const auto next = [&piece](std::size_t bytes) {
    char* const begin = piece;
    piece += (bytes + kAlignment - 1) / kAlignment * kAlignment;
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
  char* const gradient = next(n * kernels::bytes_of(pass.gradient));
  chunk.gradient = gradient;
  if (narrow) chunk.parameter = next(n * 2);
  // Both moments together have room for the fp32 values from which the others are made.
  auto* const values = static_cast<float*>(chunk.moment1);
  fill_random(values, n, pool);
  if (narrow) {
    kernels::convert_cpu(gradient, pass.gradient, values, n, pool);
  } else {
    fill_random(reinterpret_cast<float*>(gradient), n, pool);
  }
  if (pass.split) {
    chunk.lower = reinterpret_cast<std::int16_t*>(next(n * 2));
    kernels::split_master_cpu(
        values, static_cast<std::uint16_t*>(chunk.parameter), chunk.lower, n, pool);
  } else {
    chunk.master = reinterpret_cast<float*>(next(n * sizeof(float)));
    fill_random(chunk.master, n, pool);
  }
  for (void* moment : {chunk.moment1, chunk.moment2}) {
    fill_bytes(moment, moment_bytes, 0, pool);
  }
  return chunk;
}

}  // namespace

AdamChunks::AdamChunks(const AdamPass& pass,
                       std::size_t parameters,
                       SpreadMemory& memory,
                       kernels::ThreadPool& pool)
    : pool_(pool),
      pieces_(memory.take(chunk_count(parameters, memory),
                          piece_bytes(parameters / chunk_count(parameters, memory)))),
      jobs_(pieces_.count()) {
  const std::size_t n = parameters / pieces_.count();
  for (std::size_t i = 0; i < pieces_.count(); ++i) {
    chunks_.push_back(chunk_at(pieces_[i], pass, n, pool));
  }
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
