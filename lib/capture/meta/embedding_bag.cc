// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of bags of embeddings.
#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

enum class BagMode { kSum = 0, kMean = 1, kMax = 2 };

/// The arguments that describe the bags. Results: the bags; the bag of each index; bag sizes;
/// positions of the maxima.
struct Bag {
  at::Tensor weight, indices, offsets, sample_weights;
  BagMode mode;
  bool last_offset;
  std::int64_t padding;
  at::ScalarType index_dtype;
  std::int64_t bags;

  explicit Bag(const Call& call)
      : weight(call.tensor("weight")),
        indices(call.tensor("indices")),
        offsets(call.tensor("offsets")),
        sample_weights(call.tensor_or_undefined("per_sample_weights")),
        mode(static_cast<BagMode>(call.integer("mode"))),
        last_offset(call.flag("include_last_offset")),
        padding(call.integer("padding_idx")),
        index_dtype(c10::promoteTypes(indices.scalar_type(), offsets.scalar_type())),
        bags(offsets.size(0) - (last_offset ? 1 : 0)) {
    TORCH_CHECK(weight.dim() == 2,
                "weight has to be a 2D Tensor, but got Tensor of dimension ",
                weight.dim());
    check_dim(offsets, 1, "offsets");
    check_dim(indices, 1, "input");
    TORCH_CHECK(mode == BagMode::kSum || mode == BagMode::kMean || mode == BagMode::kMax,
                "embedding_bag: mode has to be 0, 1 or 2, but got ",
                call.integer("mode"));
    TORCH_CHECK(bags >= 0, "include_last_offset: numBags should be at least 1");
    TORCH_CHECK(!sample_weights.defined() || mode == BagMode::kSum,
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                "supported for mode='sum'");
  }

  /// The CPU sums bags of contiguous rows directly, without a list of each index's bag.
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

Values results(const Target& target, const Call& call, bool forward_only) {
  const Bag bag(call);
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
  // The list is allocated with one element more than it has in the end.
  const std::int64_t count = bag.indices.size(0);
  return {output,
          listed ? bag.integers({count + 1}).narrow(0, 0, count) : bag.integers({0}),
          sizes,
          bag.integers(bag.mode == BagMode::kMax ? at::IntArrayRef(maxima) : sizes.sizes())};
}
Values embedding_bag(const Target& target, const Call& call) {
  return results(target, call, /*forward_only=*/false);
}
Values embedding_bag_forward_only(const Target& target, const Call& call) {
  return results(target, call, /*forward_only=*/true);
}

/// CUDA scatters the gradients of maxima in a kernel that LibTorch does not build for bfloat16.
void check_maxima(const Target& target, const at::Tensor& gradient, std::int64_t mode) {
  TORCH_CHECK(!is_cuda(target) || static_cast<BagMode>(mode) != BagMode::kMax ||
                  gradient.scalar_type() != at::kBFloat16,
              "\"embedding_bag_backward_cuda_max\" not implemented for '",
              gradient.scalar_type(),
              "'");
}

Values backward(const Target& target, const Call& call) {
  const at::Tensor gradient = call.tensor("grad");
  check_maxima(target, gradient, call.integer("mode"));
  if (call.flag("sparse"))
    C10_THROW_ERROR(NotImplementedError, "a sparse gradient of an embedding bag");
  return {new_empty({call.integer("num_weights"), gradient.size(1)}, gradient)};
}
Values dense_backward(const Target& target, const Call& call) {
  const at::Tensor gradient = call.tensor("grad");
  check_maxima(target, gradient, call.integer("mode"));
  return {new_empty({call.integer("num_weights"), gradient.size(1)}, gradient)};
}
Values sample_weights_backward(const Target&, const Call& call) {
  return {new_empty({call.tensor("indices").size(0)}, call.tensor("grad"))};
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
