// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Facts about a call that are known before it runs: that it is slow, or that no program can hold
// it.
#include <string>

#include <c10/core/GradMode.h>

#include "capture/decompositions/decompositions.h"
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
