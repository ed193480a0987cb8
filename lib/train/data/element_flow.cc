// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/data/element_flow.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "program/arguments/writes.h"

namespace elixir::train {
namespace {

using program::TensorRef;

/// Calls whose result has the elements of one argument, each with its value.
bool copies(const std::string& name) {
  return name == "aten::clone" || name == "aten::contiguous" || name == "aten::_to_copy" ||
         name == "aten::copy_";
}

/// Calls that leave each element where it is, and may give it another value.
bool changes_values(const std::string& name) {
  static const std::set<std::string_view> kChange = {"aten::clamp",
                                                     "aten::clamp_",
                                                     "aten::clamp_max",
                                                     "aten::clamp_max_",
                                                     "aten::clamp_min",
                                                     "aten::clamp_min_",
                                                     "aten::masked_fill",
                                                     "aten::masked_fill_",
                                                     "aten::where"};
  return kChange.count(name) != 0;
}

/// Whether an integer keeps its value in another dtype. What int32 cannot hold is no token.
bool keeps_integers(program::DType from, program::DType to) {
  if (from == to) return true;
  const auto is_signed = [](program::DType dtype) {
    return dtype == program::DType::kInt64 || dtype == program::DType::kInt32 ||
           dtype == program::DType::kInt16 || dtype == program::DType::kInt8;
  };
  if (!is_signed(to) || !(is_signed(from) || from == program::DType::kUInt8)) return false;
  const std::int64_t from_bytes = program::element_bytes(from);
  const std::int64_t to_bytes = program::element_bytes(to);
  return is_signed(from) ? to_bytes >= std::min<std::int64_t>(from_bytes, 4)
                         : to_bytes > from_bytes;
}

/// Whether the flow looks at the view's elements one by one.
bool is_small(const TensorRef& tensor) {
  if (tensor.offset < 0 || tensor.strides.size() != tensor.sizes.size() ||
      tensor.numel() > ElementFlow::kMostElements) {
    return false;
  }
  std::int64_t last = tensor.offset;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    std::int64_t reach = 0;
    if (tensor.sizes[d] < 0 || tensor.strides[d] < 0) return false;
    if (tensor.sizes[d] == 0) return true;
    if (__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last) || last >= 4 * ElementFlow::kMostElements) {
      return false;
    }
  }
  return true;
}

/// The offsets of a small view's elements, in the order of its dimensions.
std::vector<std::int64_t> offsets_of(const TensorRef& tensor) {
  std::vector<std::int64_t> offsets{tensor.offset};
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    std::vector<std::int64_t> finer;
    finer.reserve(offsets.size() * static_cast<std::size_t>(tensor.sizes[d]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < tensor.sizes[d]; ++i) {
        finer.push_back(offset + i * tensor.strides[d]);
      }
    }
    offsets = std::move(finer);
  }
  return offsets;
}

/// The view as a call sees it that wants `sizes`; nullopt when they do not fit.
std::optional<TensorRef> broadcast(const TensorRef& tensor,
                                   const std::vector<std::int64_t>& sizes) {
  if (tensor.sizes.size() > sizes.size()) return std::nullopt;
  TensorRef wide = tensor;
  const std::size_t added = sizes.size() - tensor.sizes.size();
  wide.sizes.insert(wide.sizes.begin(), added, 1);
  wide.strides.insert(wide.strides.begin(), added, 0);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (wide.sizes[d] == sizes[d]) continue;
    if (wide.sizes[d] != 1) return std::nullopt;
    wide.sizes[d] = sizes[d];
    wide.strides[d] = 0;
  }
  return wide;
}

}  // namespace

const TensorRef* first_tensor(const program::Operator& op) {
  return op.arguments.empty() ? nullptr : std::get_if<TensorRef>(&op.arguments.front());
}

bool is_class_loss(const program::Operator& op) {
  return op.name == "aten::nll_loss_forward" || op.name == "aten::nll_loss2d_forward";
}

ElementFlow::ElementFlow(const TensorRef& input) {
  if (!is_small(input)) return;
  std::vector<Element> all(static_cast<std::size_t>(input.numel()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = Element::of_input(static_cast<std::int32_t>(i));
  }
  write(input, all);
}

std::vector<Element> ElementFlow::elements(const TensorRef* tensor) const {
  if (tensor == nullptr) return {};
  const auto found = holders_.find(tensor->storage);
  if (found == holders_.end()) return {};
  const Holder& holder = found->second;
  if (holder.dtype != tensor->dtype || !is_small(*tensor)) return {};
  std::vector<Element> read;
  bool known = false;
  for (const std::int64_t offset : offsets_of(*tensor)) {
    const bool held = offset < static_cast<std::int64_t>(holder.elements.size());
    read.push_back(held ? holder.elements[static_cast<std::size_t>(offset)] : Element());
    known |= read.back().known();
  }
  if (!known) read.clear();
  return read;
}

std::vector<Element> ElementFlow::copied(const TensorRef* from, const TensorRef& made) const {
  if (from == nullptr || holders_.count(from->storage) == 0) return {};
  std::vector<Element> read;
  if (from->numel() == made.numel()) {
    read = elements(from);
  } else if (const auto wide = broadcast(*from, made.sizes)) {
    read = elements(&*wide);
  }
  if (!keeps_integers(from->dtype, made.dtype)) {
    for (Element& element : read) element = element.changed();
  }
  return read;
}

std::vector<Element> ElementFlow::changed(const program::Operator& op,
                                          const TensorRef& made) const {
  std::vector<Element> merged;
  program::for_each_tensor(op.arguments, [&](const TensorRef& argument) {
    const std::vector<Element> read = copied(&argument, made);
    merged.resize(std::max(merged.size(), read.size()));
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (!merged[i].known()) merged[i] = read[i].changed();
    }
  });
  return merged;
}

std::vector<Element> ElementFlow::joined(const program::Operator& op, const TensorRef& made) const {
  const auto* parts = std::get_if<program::Tensors>(&op.arguments.front());
  const auto* dim = op.arguments.size() > 1 ? std::get_if<std::int64_t>(&op.arguments[1]) : nullptr;
  const auto dimensions = static_cast<std::int64_t>(made.sizes.size());
  if (parts == nullptr || dim == nullptr || !is_small(made)) return {};
  const std::int64_t at = *dim < 0 ? *dim + dimensions : *dim;
  if (at < 0 || at >= dimensions) return {};
  const std::int64_t whole = made.sizes[static_cast<std::size_t>(at)];
  std::int64_t inner = 1;
  for (std::int64_t d = at + 1; d < dimensions; ++d)
    inner *= made.sizes[static_cast<std::size_t>(d)];
  std::vector<Element> all;
  std::int64_t begin = 0;
  for (const std::optional<TensorRef>& part : *parts) {
    if (!part || part->sizes.size() != made.sizes.size()) return {};
    const std::int64_t its = part->sizes[static_cast<std::size_t>(at)];
    if (its < 0 || its > whole - begin) return {};
    TensorRef as_part = made;
    as_part.sizes = part->sizes;
    const std::vector<Element> read = copied(&*part, as_part);
    if (!read.empty()) all.resize(static_cast<std::size_t>(made.numel()));
    for (std::size_t i = 0; i < read.size(); ++i) {
      const auto position = static_cast<std::int64_t>(i);
      const std::int64_t row = position / (its * inner);
      const std::int64_t to = row * whole * inner + begin * inner + position % (its * inner);
      if (to < made.numel()) all[static_cast<std::size_t>(to)] = read[i];
    }
    begin += its;
  }
  return all;
}

std::vector<Element> ElementFlow::padded(const program::Operator& op, const TensorRef& made) const {
  const TensorRef* from = first_tensor(op);
  const auto* pads =
      op.arguments.size() > 1 ? std::get_if<program::Ints>(&op.arguments[1]) : nullptr;
  if (from == nullptr || pads == nullptr || from->sizes.size() != made.sizes.size() ||
      pads->size() % 2 != 0 || pads->size() > 2 * made.sizes.size() || !is_small(made)) {
    return {};
  }
  const std::vector<Element> read = elements(from);
  if (read.empty()) return {};
  // A negative pad leaves elements out.
  std::vector<Element> all(static_cast<std::size_t>(made.numel()));
  std::vector<std::int64_t> at(made.sizes.size(), 0);
  for (const Element& element : read) {
    std::int64_t to = 0;
    bool inside = true;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::size_t pair = 2 * (at.size() - 1 - d);
      const std::int64_t moved = at[d] + (pair < pads->size() ? (*pads)[pair] : 0);
      inside = inside && moved >= 0 && moved < made.sizes[d];
      to = to * made.sizes[d] + (inside ? moved : 0);
    }
    if (inside) all[static_cast<std::size_t>(to)] = element;
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < from->sizes[d]) break;
      at[d] = 0;
    }
  }
  return all;
}

std::vector<Element> ElementFlow::made_by(const program::Operator& op,
                                          const TensorRef& made) const {
  if (op.arguments.empty()) return {};
  if (op.name == "aten::copy_") {
    return copied(op.arguments.size() > 1 ? std::get_if<TensorRef>(&op.arguments[1]) : nullptr,
                  made);
  }
  if (copies(op.name)) return copied(first_tensor(op), made);
  if (changes_values(op.name)) return changed(op, made);
  if (op.name == "aten::cat") return joined(op, made);
  if (op.name == "aten::constant_pad_nd") return padded(op, made);
  return {};
}

void ElementFlow::write(const TensorRef& made, const std::vector<Element>& elements) {
  const auto found = holders_.find(made.storage);
  if (!is_small(made) || (found != holders_.end() && found->second.dtype != made.dtype)) {
    if (found != holders_.end()) holders_.erase(found);
    return;
  }
  Holder& holder = holders_[made.storage];
  holder.dtype = made.dtype;
  holder.version = made.version;
  const std::vector<std::int64_t> offsets = offsets_of(made);
  if (elements.size() != offsets.size() && !elements.empty()) {
    holders_.erase(made.storage);
    return;
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto offset = static_cast<std::size_t>(offsets[i]);
    if (offset >= holder.elements.size()) holder.elements.resize(offset + 1);
    holder.elements[offset] = elements.empty() ? Element() : elements[i];
  }
}

void ElementFlow::follow(const program::Operator& op) {
  std::vector<std::pair<TensorRef, std::vector<Element>>> written;
  program::for_each_tensor(op.outputs, [&](const TensorRef& made) {
    const auto holder = holders_.find(made.storage);
    // The version that is there already: a view.
    if (holder != holders_.end() && holder->second.version == made.version) return;
    std::vector<Element> elements = made_by(op, made);
    if (holder == holders_.end() && elements.empty()) return;
    written.emplace_back(made, std::move(elements));
  });
  for (const TensorRef& tensor : program::unreturned_writes(op)) holders_.erase(tensor.storage);
  for (const auto& [made, elements] : written) write(made, elements);
}

}  // namespace elixir::train
