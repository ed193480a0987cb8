// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Facts about a call that are known before it runs: that it is slow, or that no program can hold
// it.
#include <string>

#include <c10/core/GradMode.h>

#include "capture/decompositions/decompositions.h"
#include "capture/meta/checks.h"
#include "capture/record/dispatch/session.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using program::Target;

void refuse_sparse(const char* op, const at::Tensor& source, bool sparse, const char* where) {
  Session* session = Session::current();
  if (!sparse || session == nullptr || !c10::GradMode::is_enabled() || !source.requires_grad()) {
    return;
  }
  session->refuse(Error(ErrorCode::kUnsupportedModel,
                        "the gradient of {} in {} is sparse, which no program holds",
                        op,
                        session->position().place())
                      .help("export the model with {}: the gradient is then dense", where));
}

}  // namespace

bool tells_of_expanded_mask(const Target& target, const Call& call) {
  Session* session = Session::current();
  if (session != nullptr && only_mask_is_expanded(target, call)) {
    session->hint(
        "attention runs unfused on CUDA, since its mask is expanded (stride 0 in the last "
        "dimension): fused kernels take it after mask.contiguous()");
  }
  return false;
}

bool tells_of_packed_layers(const Target&, const Call&) {
  if (Session* session = Session::current()) {
    session->hint(
        "recurrent layers over packed sequences are recorded step by step; CUDA fuses them in "
        "cuDNN, whose memory differs");
  }
  return false;
}

namespace {

/// In the words of the kernels' dispatch (cuda/Blas.cpp): they multiply floating and complex
/// numbers.
bool refuse_integers(const Call& call, const char* factor, const char* kernel) {
  const at::ScalarType dtype = call.tensor(factor).scalar_type();
  TORCH_CHECK(!at::isIntegralType(dtype, /*includeBool=*/true),
              "\"",
              kernel,
              "\" not implemented for '",
              dtype,
              "'");
  return false;
}

}  // namespace

bool refuses_integers_in_mm(const Target&, const Call& call) {
  return refuse_integers(call, "self", "addmm_cuda");
}
bool refuses_integers_in_addmm(const Target&, const Call& call) {
  return refuse_integers(call, "mat1", "addmm_cuda");
}
bool refuses_integers_in_bmm(const Target&, const Call& call) {
  return refuse_integers(call, "self", "baddbmm_cuda");
}
bool refuses_integers_in_baddbmm(const Target&, const Call& call) {
  return refuse_integers(call, "batch1", "baddbmm_cuda");
}

bool refuses_other_dtypes_in_mm(const Target&, const Call& call) {
  const at::Tensor left = call.tensor("self");
  const at::Tensor right = call.tensor("mat2");
  TORCH_CHECK(left.dtype() == right.dtype(),
              "expected mat1 and mat2 to have the same dtype, but got: ",
              left.dtype(),
              " != ",
              right.dtype());
  return false;
}
bool refuses_other_dtypes_in_bmm(const Target&, const Call& call) {
  check_dtype(call.tensor("mat2"), call.tensor("self").scalar_type());
  return false;
}
bool refuses_other_dtypes_in_mv(const Target&, const Call& call) {
  check_dtype(call.tensor("vec"), call.tensor("self").scalar_type());
  return false;
}

/// Kernels read weights in the input's dtype, and classes in int64 or, but for images, in uint8.
bool refuses_other_dtypes_in_nll_loss(const Target&, const Call& call) {
  check_dtype(call.tensor_or_undefined("weight"), call.tensor("self").scalar_type());
  const at::Tensor target = call.tensor("target");
  if (target.scalar_type() != at::kByte) check_dtype(target, at::kLong);
  return false;
}
bool refuses_other_dtypes_in_nll_loss2d(const Target&, const Call& call) {
  check_dtype(call.tensor_or_undefined("weight"), call.tensor("self").scalar_type());
  check_dtype(call.tensor("target"), at::kLong);
  return false;
}

bool refuses_statistics_of_one_value(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("input");
  TORCH_CHECK(
      Session::current() == nullptr || !call.flag("training") || input.numel() != input.size(1),
      "Expected more than 1 value per channel when training, got input size ",
      input.sizes());
  return false;
}

bool refuses_packing_by_lengths(const Target&, const Call&) {
  Session* session = Session::current();
  if (session != nullptr) {
    session->refuse_data_dependent(
        "aten::_pack_padded_sequence",
        "lengths of sequences are data: leave out pack_padded_sequence and run the layers over the "
        "padded batch, whose memory is that of sequences of full length");
  }
  return false;
}

bool refuses_lengths_in_tensors(const Target&, const Call&) {
  Session* session = Session::current();
  if (session != nullptr) {
    session->refuse_data_dependent(
        "aten::ctc_loss.Tensor",
        "lengths in tensors are data: pass input_lengths and target_lengths as lists of ints");
  }
  return false;
}

bool refuses_sparse_gradient(const Target&, const Call& call) {
  refuse_sparse("aten::embedding",
                call.tensor("weight"),
                call.flag("sparse"),
                "nn.Embedding(…, sparse=False)");
  return false;
}

bool refuses_sparse_gradient_of_bag(const Target&, const Call& call) {
  refuse_sparse("aten::embedding_bag",
                call.tensor("weight"),
                call.flag("sparse"),
                "nn.EmbeddingBag(…, sparse=False)");
  return false;
}

bool refuses_sparse_gradient_of_gather(const Target&, const Call& call) {
  refuse_sparse("aten::gather",
                call.tensor("self"),
                call.flag("sparse_grad"),
                "gather(…, sparse_grad=False)");
  return false;
}

}  // namespace elixir::capture
