// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/parameter_store.h"

#include <algorithm>
#include <cstring>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "kernels/gradient.h"
#include "kernels/split_master.h"
#include "kernels/thread_pool.h"
#include "replay/replay_call.h"
#include "runtime/state/element.h"

namespace elixir::runtime {

using schedule::BufferRole;

ParameterStore::ParameterStore(Device& device,
                               const program::Program& program,
                               const plan::Plan& plan,
                               const BufferStore& buffers,
                               const std::vector<ParameterLayout>& layouts,
                               const Ranks& ranks)
    : device_(device),
      program_(program),
      plan_(plan),
      buffers_(buffers),
      layouts_(layouts),
      ranks_(ranks),
      grid_(plan::grid_of(plan)),
      pool_(at::get_num_threads()) {}

std::size_t ParameterStore::position(const std::string& parameter) const {
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    const std::vector<std::string>& names = program_.parameters[i].names;
    if (program_.parameters[i].name == parameter ||
        std::find(names.begin(), names.end(), parameter) != names.end()) {
      return i;
    }
  }
  throw Error(ErrorCode::kInternal, "the program has no parameter {}", parameter);
}

namespace {

BufferRole role_of(StatePart part, const plan::Chunk& chunk) {
  switch (part) {
    case StatePart::kMaster:
      return plan::master_is_parameter(chunk) ? BufferRole::kParameters : BufferRole::kMaster;
    case StatePart::kMoment1:
      return BufferRole::kMoment1;
    case StatePart::kMoment2:
      return BufferRole::kMoment2;
    case StatePart::kGradient:
      return BufferRole::kGradients;
    case StatePart::kParameter:
      break;
  }
  return BufferRole::kParameters;
}

/// What lies in the `index`-th of a chunk's pieces of `piece` elements, counted in the parameter.
HeldElements of_piece(int index, std::int64_t piece, const ParameterLayout& layout) {
  const std::int64_t begin = std::max<std::int64_t>(index * piece - layout.first_element, 0);
  const std::int64_t end = std::min((index + 1) * piece - layout.first_element, layout.elements);
  if (end <= begin) return {};
  return {begin, end - begin};
}

}  // namespace

ParameterStore::Found ParameterStore::find(std::size_t parameter, StatePart part) const {
  const ParameterLayout& layout = layouts_[parameter];
  const plan::Chunk& chunk = plan_.chunks[layout.chunk];
  program::DType dtype = program::DType::kFloat32;
  switch (part) {
    case StatePart::kParameter:
      dtype = program_.parameters[parameter].tensor.dtype;
      break;
    case StatePart::kGradient:
      dtype = chunk.gradient_dtype;
      break;
    case StatePart::kMaster:
      break;
    case StatePart::kMoment1:
    case StatePart::kMoment2:
      dtype = plan_.moment_dtype;
      break;
  }
  if (part != StatePart::kParameter && !layout.trained) return {nullptr, dtype};
  void* memory = buffers_.find(role_of(part, chunk), layout.chunk);
  require(memory != nullptr, "a trained chunk lacks a buffer");
  const std::int64_t width =
      part == StatePart::kMaster ? plan::master_bytes(plan_, chunk) : program::element_bytes(dtype);
  const HeldElements held = held_by(ranks_.rank(), layout);
  const std::int64_t shard_begin =
      grid_.shard_of(ranks_.rank()) * plan::shard_elements(plan_, chunk);
  const std::int64_t at = layout.first_element + held.first - shard_begin;
  char* first = static_cast<char*>(memory) + (held.count > 0 ? at * width : 0);
  if (part == StatePart::kGradient) {
    first += plan::gradient_offset_bytes(plan_, chunk, gradient_step_);
  }
  return {first, dtype, width, held.count};
}

HeldElements ParameterStore::held_by(int rank, const ParameterLayout& layout) const {
  const std::int64_t shard = plan::shard_elements(plan_, plan_.chunks[layout.chunk]);
  return of_piece(grid_.shard_of(rank), shard, layout);
}

HeldElements ParameterStore::held(const std::string& parameter, int rank) const {
  return held_by(rank, layouts_[position(parameter)]);
}

HeldElements ParameterStore::saved(const std::string& parameter, int rank) const {
  const ParameterLayout& layout = layouts_[position(parameter)];
  const std::int64_t shard = plan::shard_elements(plan_, plan_.chunks[layout.chunk]);
  return of_piece(grid_.part_of(rank), shard / grid_.replicas, layout);
}

bool ParameterStore::splits(std::size_t parameter) const {
  return plan::splits_master(plan_, plan_.chunks[layouts_[parameter].chunk]);
}

at::Tensor ParameterStore::converted(const at::Tensor& value, program::DType dtype) {
  const c10::ScalarType wanted = capture::scalar_type(dtype);
  if (value.scalar_type() == wanted) return value;
  if (wanted != c10::kBFloat16) return value.to(wanted);
  // LibTorch would round ties to even, but parameters round ties away from zero.
  const at::Tensor wide = value.to(c10::kFloat);
  at::Tensor rounded = at::empty(value.sizes(), at::TensorOptions().dtype(wanted));
  kernels::convert_cpu(rounded.mutable_data_ptr(),
                       kernels::Element::kBFloat16,
                       wide.const_data_ptr<float>(),
                       static_cast<std::size_t>(wide.numel()),
                       pool_);
  return rounded;
}

at::Tensor ParameterStore::read(const Found& from) const {
  at::Tensor tensor =
      at::empty({from.elements}, at::TensorOptions().dtype(capture::scalar_type(from.dtype)));
  device_.copy_now(tensor.mutable_data_ptr(), from.memory, from.elements * from.width);
  return tensor;
}

at::Tensor ParameterStore::get_own(std::size_t parameter, StatePart part) const {
  const Found found = find(parameter, part);
  if (!found.memory) return {};
  if (part == StatePart::kMaster && splits(parameter)) return joined_master(parameter, found);
  const at::Tensor tensor = read(found);
  const bool moment = part == StatePart::kMoment1 || part == StatePart::kMoment2;
  return moment ? tensor.to(c10::kFloat) : tensor;
}

at::Tensor ParameterStore::get_own(const std::string& parameter, StatePart part) const {
  return get_own(position(parameter), part);
}

at::Tensor ParameterStore::get(const std::string& parameter, StatePart part) const {
  const std::size_t p = position(parameter);
  const at::Tensor own = get_own(p, part);
  if (!own.defined()) return {};
  const program::TensorRef& ref = program_.parameters[p].tensor;
  at::Tensor whole =
      at::empty_strided(ref.sizes, ref.strides, at::TensorOptions().dtype(own.dtype()));
  const auto width = static_cast<std::int64_t>(own.element_size());
  char* all = static_cast<char*>(whole.mutable_data_ptr());
  const HeldElements here = held_by(ranks_.rank(), layouts_[p]);
  if (own.numel() > 0) std::memcpy(all + here.first * width, own.const_data_ptr(), own.nbytes());
  // The first ranks hold a replica together.
  for (int rank = 0; rank < grid_.shards() && grid_.shards() > 1; ++rank) {
    const HeldElements held = held_by(rank, layouts_[p]);
    ranks_.control->broadcast(rank, all + held.first * width, held.count * width);
  }
  return whole;
}

at::Tensor ParameterStore::joined_master(std::size_t parameter, const Found& lower) const {
  const at::Tensor upper = read(find(parameter, StatePart::kParameter));
  std::vector<std::int16_t> halves(static_cast<std::size_t>(lower.elements));
  device_.copy_now(halves.data(), lower.memory, lower.elements * lower.width);
  at::Tensor master = at::empty({lower.elements}, at::TensorOptions().dtype(c10::kFloat));
  kernels::join_master_cpu(static_cast<const std::uint16_t*>(upper.const_data_ptr()),
                           halves.data(),
                           master.mutable_data_ptr<float>(),
                           halves.size(),
                           pool_);
  return master;
}

void ParameterStore::write_split(std::size_t parameter,
                                 const Found& lower,
                                 const at::Tensor& master) {
  const auto n = static_cast<std::size_t>(master.numel());
  std::vector<std::int16_t> halves(n);
  std::vector<std::uint16_t> parameters(n);
  kernels::split_master_cpu(
      master.const_data_ptr<float>(), parameters.data(), halves.data(), n, pool_);
  write(find(parameter, StatePart::kParameter), parameters.data());
  write(lower, halves.data());
}

void ParameterStore::write(const Found& to, const void* from) {
  device_.copy_now(to.memory, from, to.elements * to.width);
}

void ParameterStore::widen(const Found& master, const Found& parameter, const at::Tensor& value) {
  constexpr std::size_t kPieceElements = std::size_t{4} << 20;
  const kernels::Element type = element_of(parameter.dtype);
  const auto n = static_cast<std::size_t>(parameter.elements);
  const void* own = value.const_data_ptr();
  wide_.resize(std::max(wide_.size(), std::min(n, kPieceElements)));
  for (std::size_t done = 0; done < n; done += kPieceElements) {
    const std::size_t count = std::min(kPieceElements, n - done);
    kernels::upcast_cpu(wide_.data(), kernels::element_at(own, type, done), type, count, pool_);
    device_.copy_now(static_cast<float*>(master.memory) + done,
                     wide_.data(),
                     static_cast<std::int64_t>(count * sizeof(float)));
  }
}

void ParameterStore::set(const std::string& parameter, StatePart part, const at::Tensor& value) {
  const std::size_t p = position(parameter);
  const program::TensorRef& ref = program_.parameters[p].tensor;
  if (!value.defined() || !value.device().is_cpu() || !value.sizes().equals(ref.sizes)) {
    throw Error(ErrorCode::kWeightsMismatch,
                "a tensor of shape [{}] is wanted, [{}] given",
                fmt::join(ref.sizes, ", "),
                value.defined() ? fmt::format("{}", fmt::join(value.sizes(), ", "))
                                : std::string("nothing"))
        .note(fmt::format("{} of {}", name_of(part), parameter));
  }
  at::Tensor whole = value;
  if (!value.strides().equals(ref.strides)) {
    whole = at::empty_strided(ref.sizes, ref.strides, value.options());
    whole.copy_(value);
  }
  const HeldElements held = held_by(ranks_.rank(), layouts_[p]);
  set_own(
      parameter, part, whole.as_strided({held.count}, {1}, whole.storage_offset() + held.first));
}

void ParameterStore::set_own(const std::string& parameter,
                             StatePart part,
                             const at::Tensor& value) {
  const std::size_t p = position(parameter);
  const Found found = find(p, part);
  if (!found.memory) {
    throw Error(ErrorCode::kBadCheckpoint, "{} has no optimizer state in this run", parameter);
  }
  require(value.dim() == 1 && value.numel() == found.elements && value.is_contiguous(),
          "a rank gets other elements than it holds");
  const at::Tensor written = converted(value, found.dtype);
  if (part == StatePart::kMaster && splits(p)) return write_split(p, found, written);
  write(found, written.const_data_ptr());
  // Parameter and master must agree. In fp32 they are one.
  if (part == StatePart::kParameter) {
    const Found master = find(p, StatePart::kMaster);
    if (!master.memory || master.memory == found.memory) return;
    if (splits(p)) {
      const std::vector<std::int16_t> zeros(static_cast<std::size_t>(written.numel()));
      write(master, zeros.data());
    } else {
      widen(master, found, written);
    }
  } else if (part == StatePart::kMaster) {
    const Found narrow = find(p, StatePart::kParameter);
    if (narrow.memory != found.memory) {
      write(narrow, converted(written, narrow.dtype).const_data_ptr());
    }
  }
}

}  // namespace elixir::runtime
