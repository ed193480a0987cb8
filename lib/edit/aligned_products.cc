// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/aligned_products.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "operators/own.h"
#include "program/arguments/arguments.h"
#include "program/lifetimes.h"
#include "program/references.h"

namespace elixir::edit {
namespace {

using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr std::int64_t kLargeDimension = 1024;

/// A product of two matrices, or of each two of a batch.
struct Product {
  const TensorRef* left = nullptr;
  const TensorRef* right = nullptr;
  const TensorRef* result = nullptr;

  [[nodiscard]] std::int64_t rows() const { return left->sizes[left->sizes.size() - 2]; }
  [[nodiscard]] std::int64_t inner() const { return left->sizes.back(); }
  [[nodiscard]] std::int64_t columns() const { return right->sizes.back(); }
  /// The sizes go together.
  [[nodiscard]] bool fits() const {
    program::Ints expected = left->sizes;
    expected.back() = columns();
    program::Ints of_right = left->sizes;
    of_right[of_right.size() - 2] = inner();
    of_right.back() = columns();
    return result->sizes == expected && right->sizes == of_right;
  }
};

std::int64_t elements_to_align(const TensorRef& tensor) {
  return std::max<std::int64_t>(1, operators::kAlignedBytes / program::element_bytes(tensor.dtype));
}

bool has_rank(const TensorRef* tensor, std::size_t rank) {
  return tensor != nullptr && tensor->sizes.size() == rank;
}

/// Whether the result is the whole of a storage, row by row.
bool is_whole_storage(const TensorRef& result, const Program& program) {
  std::int64_t stride = 1;
  for (std::size_t d = result.sizes.size(); d-- > 0;) {
    if (result.strides[d] != stride) return false;
    stride *= result.sizes[d];
  }
  return result.offset == 0 && program.storages[result.storage].bytes == result.bytes();
}

/// Factors may be integers or not.
bool is_one(const program::Arguments& call, std::string_view name) {
  return call.integer(name) == 1 || call.number(name) == 1.0;
}

/// nullopt: `op` is no product that can be aligned.
std::optional<Product> product_of(const Program& program, const Operator& op) {
  const bool with_bias = op.name == "aten::addmm";
  const bool batch = op.name == "aten::bmm";
  const bool known = with_bias || batch || op.name == "aten::mm";
  if (!known || !op.overload.empty() || op.outputs.size() != 1) return std::nullopt;
  const program::Arguments call(op);
  Product product;
  product.left = call.tensor(with_bias ? "mat1" : "self");
  product.right = call.tensor("mat2");
  product.result = std::get_if<TensorRef>(&op.outputs[0]);
  const std::size_t rank = batch ? 3 : 2;
  if (!has_rank(product.left, rank) || !has_rank(product.right, rank) ||
      !has_rank(product.result, rank)) {
    return std::nullopt;
  }
  const program::DType dtype = product.result->dtype;
  if (!program::is_floating(dtype) || product.left->dtype != dtype ||
      product.right->dtype != dtype || !product.fits() || product.result->numel() <= 0 ||
      product.inner() <= 0 || !is_whole_storage(*product.result, program)) {
    return std::nullopt;
  }
  if (!with_bias) return product;
  const TensorRef* bias = call.tensor("self");
  // A split sum would round the bias twice.
  const bool whole_sum = product.inner() % elements_to_align(*product.left) == 0;
  if (bias == nullptr || bias->dtype != dtype || bias->sizes != program::Ints{product.columns()} ||
      !whole_sum || !is_one(call, "beta") || !is_one(call, "alpha")) {
    return std::nullopt;
  }
  return product;
}

bool is_unaligned(const Product& product) {
  const std::int64_t unit = elements_to_align(*product.result);
  const std::array<std::int64_t, 3> sizes = {product.rows(), product.inner(), product.columns()};
  return std::any_of(sizes.begin(), sizes.end(), [unit](std::int64_t size) {
    return size >= kLargeDimension && size % unit != 0;
  });
}

/// Gives the rows of one storage a greater distance.
class RowPadding {
 public:
  /// `dense` is a result that is the whole of its storage.
  explicit RowPadding(const TensorRef& dense)
      : storage_(dense.storage),
        rows_(dense.numel() / dense.sizes.back()),
        columns_(dense.sizes.back()) {
    const std::int64_t unit = elements_to_align(dense);
    stride_ = (columns_ + unit - 1) / unit * unit;
    bytes_ = rows_ * stride_ * program::element_bytes(dense.dtype);
  }

  /// Not for rows so short that padding would multiply them.
  [[nodiscard]] bool pads() const {
    return stride_ != columns_ && rows_ > 1 && stride_ < 2 * columns_;
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] StorageId storage() const { return storage_; }

  /// Whether a view of the storage can be given as a view of the padded one: each of its dimensions
  /// goes along the columns of one row, or from row to row.
  [[nodiscard]] bool takes(const TensorRef& view) const {
    std::int64_t last_column = view.offset % columns_;
    for (std::size_t d = 0; d < view.sizes.size(); ++d) {
      if (view.sizes[d] == 1 || view.strides[d] % columns_ == 0) continue;
      last_column += (view.sizes[d] - 1) * view.strides[d];
    }
    return last_column < columns_;
  }
  void pad(TensorRef& view) const {
    view.offset = view.offset / columns_ * stride_ + view.offset % columns_;
    for (std::int64_t& stride : view.strides) {
      if (stride % columns_ == 0) stride = stride / columns_ * stride_;
    }
  }

 private:
  StorageId storage_;
  std::int64_t rows_, columns_, stride_ = 0, bytes_ = 0;
};

/// Fused losses, and sums (the gradient of a bias), whose results do not take over their strides.
bool reads_padded_rows(const Operator& op) {
  return op.name == operators::kFusedLoss || op.name == operators::kFusedLossBackward ||
         op.name == "aten::sum";
}

using Paddings = std::vector<std::optional<RowPadding>>;  // by storage

/// For results of listed products that only those and operators that read padded rows use.
Paddings paddings_of(Program& program, const std::vector<bool>& listed) {
  Paddings paddings(program.storages.size());
  for (const Operator& op : program.operators) {
    if (!listed[op.id]) continue;
    const RowPadding padding(std::get<TensorRef>(op.outputs[0]));
    if (padding.pads()) paddings[padding.storage()] = padding;
  }
  const auto refuse = [&](const TensorRef& tensor) { paddings[tensor.storage].reset(); };
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  for (const Operator& op : program.operators) {
    if (!lifetimes.executed[op.id] || listed[op.id] || reads_padded_rows(op)) continue;
    program::for_each_tensor(op.arguments, refuse);
    program::for_each_tensor(op.outputs, refuse);
  }
  // Whoever takes these expects them packed.
  for (const program::Parameter& parameter : program.parameters) {
    if (parameter.gradient) refuse(*parameter.gradient);
  }
  if (program.loss.storage >= 0) refuse(program.loss);
  program::for_each_reference(program, [&](const TensorRef& tensor) {
    const auto& padding = paddings[tensor.storage];
    if (padding && !padding->takes(tensor)) refuse(tensor);
  });
  return paddings;
}

void make_aligned(Operator& op) {
  const bool with_bias = op.name == "aten::addmm";
  const auto& result = std::get<TensorRef>(op.outputs[0]);
  op.name = with_bias                  ? operators::kAlignedProductWithBias
            : result.sizes.size() == 3 ? operators::kAlignedBatchProduct
                                       : operators::kAlignedProduct;
  op.arguments.resize(with_bias ? 3 : 2);  // without beta and alpha
  op.arguments.emplace_back(result.strides[result.strides.size() - 2]);
}

}  // namespace

std::vector<OperatorId> unaligned_products(const Program& program) {
  std::vector<OperatorId> found;
  if (program.target.kind != program::Target::Kind::kCuda) return found;
  for (const Operator& op : program.operators) {
    const auto product = product_of(program, op);
    if (!product || program::element_bytes(product->result->dtype) != 2) continue;
    if (is_unaligned(*product)) found.push_back(op.id);
  }
  return found;
}

std::optional<OperatorId> not_a_product(const Program& program,
                                        const std::vector<OperatorId>& products) {
  for (const OperatorId id : products) {
    const bool is_there = id >= 0 && static_cast<std::size_t>(id) < program.operators.size();
    if (!is_there || !product_of(program, program.operators[id])) return id;
  }
  return std::nullopt;
}

Program align_products(Program program, const std::vector<OperatorId>& products) {
  require(!not_a_product(program, products), "an operator to align is no product");
  std::vector<bool> listed(program.operators.size(), false);
  for (const OperatorId id : products) listed[id] = true;
  const Paddings paddings = paddings_of(program, listed);
  for (program::Storage& storage : program.storages) {
    if (paddings[storage.id]) storage.bytes = paddings[storage.id]->bytes();
  }
  program::for_each_reference(program, [&](TensorRef& tensor) {
    if (paddings[tensor.storage]) paddings[tensor.storage]->pad(tensor);
  });
  for (Operator& op : program.operators) {
    if (listed[op.id]) make_aligned(op);
  }
  return program::with_replay_lifetimes(std::move(program));
}

}  // namespace elixir::edit
