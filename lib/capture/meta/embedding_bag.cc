// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of bags of embeddings.
#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

enum class BagMode { kSum = 0, kMean = 1, kMax = 2 };

/// weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
/// include_last_offset, padding_idx. Results: bags; the bag of each index; bag sizes; where maxima
/// came from.
struct Bag {
  at::Tensor weight, indices, offsets, sample_weights;
  BagMode mode;
  bool last_offset;
  std::int64_t padding;
  at::ScalarType index_dtype;
  std::int64_t bags;

  explicit Bag(const Values& a)
      : weight(a[0].toTensor()),
        indices(a[1].toTensor()),
        offsets(a[2].toTensor()),
        sample_weights(tensor_or_undefined(a[6])),
        mode(static_cast<BagMode>(a[4].toInt())),
        last_offset(a[7].toBool()),
        padding(a[8].toInt()),
        index_dtype(c10::promoteTypes(indices.scalar_type(), offsets.scalar_type())),
        bags(offsets.size(0) - (last_offset ? 1 : 0)) {
    TORCH_CHECK(weight.dim() == 2,
                "weight has to be a 2D Tensor, but got Tensor of dimension ",
                weight.dim());
    check_dim(offsets, 1, "offsets");
    check_dim(indices, 1, "input");
    TORCH_CHECK(mode == BagMode::kSum || mode == BagMode::kMean || mode == BagMode::kMax,
                "embedding_bag: mode has to be 0, 1 or 2, but got ",
                a[4].toInt());
    TORCH_CHECK(bags >= 0, "include_last_offset: numBags should be at least 1");
    TORCH_CHECK(!sample_weights.defined() || mode == BagMode::kSum,
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                "supported for mode='sum'");
  }

  /// The CPU sums bags whose rows are contiguous without a list of the indices' bags.
  [[nodiscard]] bool summed_directly() const {
    const at::ScalarType dtype = weight.scalar_type();
    return (dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16) &&
           weight.stride(1) == 1 && padding < 0 &&
           (!sample_weights.defined() || sample_weights.stride(0) == 1);
  }
  [[nodiscard]] at::Tensor integers(at::IntArrayRef sizes) const {
    return new_empty(sizes, indices, index_dtype);
  }
};

Values results(const Target& target, const Values& a, bool forward_only) {
  const Bag bag(a);
  const std::int64_t width = bag.weight.size(1);
  const at::Tensor output = new_empty({bag.bags, width}, bag.weight);
  const Sizes maxima = bag.mode == BagMode::kMax ? Sizes{bag.bags, width} : Sizes{0};
  if (is_cuda(target)) {
    return {output,
            bag.integers({bag.indices.size(0)}),
            bag.integers(bag.offsets.sizes()),
            bag.integers(maxima)};
  }
  const bool listed = bag.mode != BagMode::kSum || !bag.summed_directly();
  const bool counted = !forward_only || bag.mode != BagMode::kSum;
  const std::int64_t given = bag.offsets.size(0);
  const at::Tensor sizes = bag.integers({given}).narrow(0, 0, counted ? bag.bags : given);
  // The list is made with one element more than it has in the end.
  const std::int64_t count = bag.indices.size(0);
  return {output,
          listed ? bag.integers({count + 1}).narrow(0, 0, count) : bag.integers({0}),
          sizes,
          bag.integers(bag.mode == BagMode::kMax ? at::IntArrayRef(maxima) : sizes.sizes())};
}
Values embedding_bag(const Target& target, const Values& a) {
  return results(target, a, /*forward_only=*/false);
}
Values embedding_bag_forward_only(const Target& target, const Values& a) {
  return results(target, a, /*forward_only=*/true);
}

/// CUDA scatters the gradients of maxima in a kernel that LibTorch does not build for bfloat16.
void check_maxima(const Target& target, const at::Tensor& gradient, const c10::IValue& mode) {
  TORCH_CHECK(!is_cuda(target) || static_cast<BagMode>(mode.toInt()) != BagMode::kMax ||
                  gradient.scalar_type() != at::kBFloat16,
              "\"embedding_bag_backward_cuda_max\" not implemented for '",
              gradient.scalar_type(),
              "'");
}

/// gradient, indices, offsets, …, num_weights (6), scale_grad_by_freq, mode, sparse
Values backward(const Target& target, const Values& a) {
  const at::Tensor gradient = a[0].toTensor();
  check_maxima(target, gradient, a[8]);
  if (a[9].toBool()) C10_THROW_ERROR(NotImplementedError, "a sparse gradient of an embedding bag");
  return {new_empty({a[6].toInt(), gradient.size(1)}, gradient)};
}
/// gradient, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode
Values dense_backward(const Target& target, const Values& a) {
  const at::Tensor gradient = a[0].toTensor();
  check_maxima(target, gradient, a[7]);
  return {new_empty({a[5].toInt(), gradient.size(1)}, gradient)};
}
/// gradient, weight, indices
Values sample_weights_backward(const Target&, const Values& a) {
  return {new_empty({a[2].toTensor().size(0)}, a[0].toTensor())};
}

}  // namespace

const Rules kEmbeddingBagRules = {
    {"aten::_embedding_bag", &embedding_bag},
    {"aten::_embedding_bag_backward", &backward},
    {"aten::_embedding_bag_dense_backward", &dense_backward},
    {"aten::_embedding_bag_forward_only", &embedding_bag_forward_only},
    {"aten::_embedding_bag_per_sample_weights_backward", &sample_weights_backward},
};

}  // namespace elixir::capture
