// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/module_buffers.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/ops/allclose.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "replay/replay_call.h"

namespace elixir::runtime {
namespace {

/// An expanded dimension has the memory of one element.
at::Tensor without_expanded(const at::Tensor& tensor, at::IntArrayRef strides) {
  at::Tensor part = tensor;
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if (strides[static_cast<std::size_t>(d)] == 0 && tensor.size(d) > 1) {
      part = part.narrow(d, 0, 1);
    }
  }
  return part;
}

/// `to` may be expanded.
void fill(const at::Tensor& to, const at::Tensor& value, const std::string& name) {
  const at::Tensor part = without_expanded(value, to.strides());
  constexpr bool kNanIsNan = true;
  if (part.numel() != value.numel() &&
      !at::allclose(value, part.expand_as(value), /*rtol=*/0, /*atol=*/0, kNanIsNan)) {
    throw Error(
        ErrorCode::kWeightsMismatch,
        "buffer {} is expanded: it holds {} of its {} elements, and the others cannot differ",
        name,
        part.numel(),
        value.numel());
  }
  without_expanded(to, to.strides()).copy_(part);
}

}  // namespace

const program::Buffer& buffer_named(const program::Program& program, const std::string& name) {
  for (const program::Buffer& buffer : program.buffers) {
    if (buffer.name == name ||
        std::find(buffer.names.begin(), buffer.names.end(), name) != buffer.names.end()) {
      return buffer;
    }
  }
  throw Error(ErrorCode::kInternal, "the program has no buffer {}", name);
}

void write_buffer(Device& device,
                  const c10::Storage& storage,
                  const program::Buffer& buffer,
                  const at::Tensor& value) {
  if (!value.defined() || !value.sizes().equals(buffer.tensor.sizes)) {
    throw Error(ErrorCode::kWeightsMismatch,
                "buffer {} must have shape [{}]",
                buffer.name,
                fmt::join(buffer.tensor.sizes, ", "));
  }
  // Copies the whole storage, so that strides and neighbours in it are kept.
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  std::vector<char> copy(static_cast<std::size_t>(bytes));
  device.copy_now(copy.data(), storage.data(), bytes);
  fill(replay::make_shell(replay::borrow_storage(copy.data(), bytes, c10::Device(c10::kCPU)),
                          buffer.tensor),
       value,
       buffer.name);
  device.copy_now(storage.mutable_data(), copy.data(), bytes);
}

at::Tensor read_buffer(Device& device, const c10::Storage& storage, const program::Buffer& buffer) {
  const auto bytes = static_cast<std::int64_t>(storage.nbytes());
  std::vector<char> copy(static_cast<std::size_t>(bytes));
  device.copy_now(copy.data(), storage.data(), bytes);
  return replay::make_shell(replay::borrow_storage(copy.data(), bytes, c10::Device(c10::kCPU)),
                            buffer.tensor)
      .clone();
}

}  // namespace elixir::runtime
