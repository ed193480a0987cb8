// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "structured_calls.h"

namespace elixir::capture {

RandomCalls structured_calls() {
  RandomCalls all;
  for (RandomCalls (*topic)() : {&structured_dense_calls,
                                 &structured_image_calls,
                                 &structured_indexing_calls,
                                 &structured_linalg_calls,
                                 &structured_recurrent_calls}) {
    for (RandomCall& call : topic()) all.push_back(std::move(call));
  }
  return all;
}

Values results_of(const std::string& op, Values arguments) {
  const std::size_t dot = op.find('.');
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      op.substr(0, dot).c_str(), dot == std::string::npos ? "" : op.substr(dot + 1).c_str());
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  handle.callBoxed(arguments);
  return arguments;
}

at::ScalarType product_dtype(Random& random) {
  return random.one_of<at::ScalarType>({at::kFloat, at::kBFloat16, at::kHalf, at::kDouble});
}

at::Tensor gradient_of(Random& random, const c10::IValue& result) {
  const at::Tensor& tensor = result.toTensor();
  return random.tensor(tensor.sizes().vec(), tensor.scalar_type(), /*overlapping=*/false);
}

}  // namespace elixir::capture
