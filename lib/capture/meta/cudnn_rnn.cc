// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of cuDNN's recurrent layers (ATen/native/cudnn/RNN.cpp).
#include <vector>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"
#include "operators/cudnn_rnn.h"

namespace elixir::capture {
namespace {

using operators::CudnnRnn;
using program::Target;

/// The layers of a forward or backward call.
struct Layers {
  CudnnRnn rnn;
  bool batch_first, training;

  explicit Layers(const Call& call) : batch_first(call.flag("batch_first")) {
    const at::Tensor input = call.tensor("input");
    TORCH_CHECK(input.dim() == 3, "input must have 3 dimensions, got ", input.dim());
    rnn.mode = static_cast<CudnnRnn::Mode>(call.integer("mode"));
    rnn.dtype = to_dtype(input.scalar_type());
    rnn.hidden_width = call.integer("hidden_size");
    rnn.projection_width = call.integer("proj_size");
    rnn.layers = call.integer("num_layers");
    rnn.directions = call.flag("bidirectional") ? 2 : 1;
    rnn.has_dropout = call.number("dropout") > 0;
    rnn.steps = input.size(batch_first ? 1 : 0);
    rnn.batch = input.size(batch_first ? 0 : 1);
    rnn.input_width = input.size(2);
    training = call.flag("train");
    check(call.tensors("weight").size(), call.integer("weight_stride0"));
  }

  /// A tensor with (step, sequence, width) in memory, transposed to sequence first if the layers
  /// need it.
  [[nodiscard]] at::Tensor rows(std::int64_t width, const at::Tensor& like) const {
    const at::Tensor made = new_empty({rnn.steps, rnn.batch, width}, like);
    return batch_first ? made.transpose(0, 1) : made;
  }
  [[nodiscard]] at::Tensor states(std::int64_t width, const at::Tensor& like) const {
    return new_empty({rnn.layers * rnn.directions, rnn.batch, width}, like);
  }

 private:
  /// Checks that the number of layers matches the weights. Later code relies on it and loops over
  /// them.
  void check(std::size_t weights, std::int64_t each) const {
    constexpr std::int64_t kMostEach = 5;
    constexpr std::int64_t kModes = 4;
    const auto mode = static_cast<std::int64_t>(rnn.mode);
    TORCH_CHECK(mode >= 0 && mode < kModes, "Unrecognized cuDNN RNN mode ", mode);
    TORCH_CHECK(rnn.hidden_width > 0 && rnn.projection_width >= 0,
                "hidden_size must be positive, got ",
                rnn.hidden_width);
    TORCH_CHECK(each >= 2 && each <= kMostEach && rnn.layers > 0 &&
                    weights % static_cast<std::size_t>(each * rnn.directions) == 0 &&
                    weights / static_cast<std::size_t>(each * rnn.directions) ==
                        static_cast<std::size_t>(rnn.layers),
                "got an incorrect number of RNN parameters: ",
                weights,
                " for ",
                rnn.layers,
                " layers");
  }
};

void check_state(const at::Tensor& state, const at::Tensor& expected, const char* what) {
  TORCH_CHECK(state.sizes().equals(expected.sizes()),
              "Expected ",
              what,
              " size ",
              expected.sizes(),
              ", got ",
              state.sizes());
  TORCH_CHECK(state.is_contiguous(), "rnn: ", what, " is not contiguous");
}

/// check_attributes: all tensors have the input's dtype.
void check_recurrent_dtypes(const Call& call) {
  const at::ScalarType dtype = call.tensor("input").scalar_type();
  const auto check = [dtype](const char* what, const at::Tensor& tensor) {
    TORCH_CHECK(!tensor.defined() || tensor.scalar_type() == dtype,
                "Input and ",
                what,
                " tensors are not the same dtype, found input tensor with ",
                dtype,
                " and ",
                what,
                " tensor with ",
                tensor.scalar_type());
  };
  check("hidden", call.tensor("hx"));
  check("hidden", call.tensor_or_undefined("cx"));
  for (const at::Tensor& weight : call.tensors("weight")) check("parameter", weight);
}

/// LibTorch copies each weight into its part of the packed ones, which has the sizes that the input
/// and the states want.
void check_weights(const CudnnRnn& rnn, const Call& call) {
  const std::vector<at::Tensor> weights = call.tensors("weight");
  const auto each = static_cast<std::size_t>(call.integer("weight_stride0"));
  const std::int64_t rows = product_of(rnn.gates(), rnn.hidden_width, "hidden_size");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i / each) / rnn.directions;
    const bool of_input = i % each == 0;
    const bool projection = rnn.projection_width > 0 && i % each + 1 == each;
    Sizes wanted{rows};
    if (of_input) wanted.push_back(rnn.layer_input_width(layer));
    if (i % each == 1) wanted.push_back(rnn.recurrent_width());
    if (projection) wanted = {rnn.projection_width, rnn.hidden_width};
    const at::Tensor& weight = weights[i];
    TORCH_CHECK(!(of_input && layer == 0 && weight.dim() == 2) || weight.size(0) != rows ||
                    weight.size(1) == rnn.input_width,
                "input.size(-1) must be equal to input_size. Expected ",
                weight.size(1),
                ", got ",
                rnn.input_width);
    TORCH_CHECK(weight.numel() == c10::multiply_integers(wanted),
                "Expected a weight of layer ",
                layer,
                " of size ",
                wanted,
                " for an input of width ",
                rnn.input_width,
                " and hidden states of width ",
                rnn.recurrent_width(),
                ", got ",
                weight.sizes());
  }
}

/// Results: output, hy, cy, reserve, weight_buf.
Values cudnn_rnn(const Target&, const Call& call) {
  const Layers layers(call);
  const CudnnRnn& rnn = layers.rnn;
  check_recurrent_dtypes(call);
  const at::Tensor input = call.tensor("input");
  const at::Tensor memory = call.tensor_or_undefined("cx");
  const at::Tensor hidden = layers.states(rnn.recurrent_width(), call.tensor("hx"));
  check_state(call.tensor("hx"), hidden, "hx");
  const at::Tensor last_memory = memory.defined() ? layers.states(rnn.hidden_width, memory)
                                                  : new_empty({0}, call.tensor("hx"));
  if (memory.defined()) check_state(memory, last_memory, "cx");
  check_weights(rnn, call);
  const at::Tensor packed = call.tensor_or_undefined("weight_buf");
  return {layers.rows(rnn.directions * rnn.recurrent_width(), input),
          hidden,
          last_memory,
          new_empty({layers.training ? rnn.reserve_bytes() : 0}, input, at::kByte),
          packed.defined() ? packed : new_empty({rnn.weight_elements()}, input)};
}

/// Views of the gradient of the packed weights: the matrices of all layers and directions, then
/// their biases. cuDNN has no layers without bias, so parameters without a bias get separate
/// gradients.
c10::List<at::Tensor> weight_gradients(const Layers& layers, const Call& call) {
  const CudnnRnn& rnn = layers.rnn;
  const std::vector<at::Tensor> weights = call.tensors("weight");
  const std::int64_t each = call.integer("weight_stride0");
  const std::int64_t with_biases = rnn.projection_width > 0 ? 5 : 4;
  c10::List<at::Tensor> gradients;
  if (each != with_biases) {
    for (const at::Tensor& weight : weights) gradients.push_back(contiguous_like(weight));
    return gradients;
  }
  const at::Tensor packed = new_empty({rnn.weight_elements()}, call.tensor("weight_buf"));
  std::int64_t matrices = 0;
  std::int64_t biases = rnn.matrix_elements();
  for (const at::Tensor& weight : weights) {
    std::int64_t& offset = weight.dim() == 1 ? biases : matrices;
    gradients.push_back(packed.narrow(0, offset, weight.numel()).view(weight.sizes()));
    offset += weight.numel();
  }
  return gradients;
}

/// Results: gradients of input, hx, cx, and of the weights.
Values cudnn_rnn_backward(const Target&, const Call& call) {
  const Layers layers(call);
  TORCH_CHECK(layers.training, "cudnn RNN backward can only be called in training mode");
  const at::Tensor input = call.tensor("input");
  const at::Tensor memory = call.tensor_or_undefined("cx");
  return {layers.rows(layers.rnn.input_width, input),
          contiguous_like(call.tensor("hx")),
          memory.defined() ? contiguous_like(memory) : at::Tensor(),
          call.flags("output_mask")[3] ? weight_gradients(layers, call) : c10::List<at::Tensor>()};
}

}  // namespace

const Rules kCudnnRnnRules = {
    {"aten::_cudnn_rnn", &cudnn_rnn},
    {"aten::_cudnn_rnn_backward", &cudnn_rnn_backward},
};

}  // namespace elixir::capture
