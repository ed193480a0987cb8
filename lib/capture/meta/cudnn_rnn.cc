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

/// Where mode, hidden_size, proj_size, num_layers, batch_first, dropout, train, bidirectional
/// begin.
constexpr std::size_t kForwardMode = 6;
constexpr std::size_t kBackwardMode = 10;

struct Layers {
  CudnnRnn rnn;
  bool batch_first, training;

  Layers(const Values& a, std::size_t mode) : batch_first(a[mode + 4].toBool()) {
    const at::Tensor input = a[0].toTensor();
    TORCH_CHECK(input.dim() == 3, "input must have 3 dimensions, got ", input.dim());
    rnn.mode = static_cast<CudnnRnn::Mode>(a[mode].toInt());
    rnn.dtype = to_dtype(input.scalar_type());
    rnn.hidden_width = a[mode + 1].toInt();
    rnn.projection_width = a[mode + 2].toInt();
    rnn.layers = a[mode + 3].toInt();
    rnn.directions = a[mode + 7].toBool() ? 2 : 1;
    rnn.has_dropout = a[mode + 5].toDouble() > 0;
    rnn.steps = input.size(batch_first ? 1 : 0);
    rnn.batch = input.size(batch_first ? 0 : 1);
    rnn.input_width = input.size(2);
    training = a[mode + 6].toBool();
    check(a[1].toTensorVector().size(), a[2].toInt());
  }

  /// (step, sequence, width) in memory, seen with the sequence first if the layers want it so.
  [[nodiscard]] at::Tensor rows(std::int64_t width, const at::Tensor& like) const {
    const at::Tensor made = new_empty({rnn.steps, rnn.batch, width}, like);
    return batch_first ? made.transpose(0, 1) : made;
  }
  [[nodiscard]] at::Tensor states(std::int64_t width, const at::Tensor& like) const {
    return new_empty({rnn.layers * rnn.directions, rnn.batch, width}, like);
  }

 private:
  /// As many layers as there are weights: what follows counts on it, and loops over them.
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

/// input, weight, weight_stride0, weight_buf, hx, cx, mode, …: output, hy, cy, reserve, weight_buf.
Values cudnn_rnn(const Target&, const Values& a) {
  const Layers layers(a, kForwardMode);
  const CudnnRnn& rnn = layers.rnn;
  const at::Tensor input = a[0].toTensor();
  const at::Tensor memory = tensor_or_undefined(a[5]);
  const at::Tensor hidden = layers.states(rnn.recurrent_width(), a[4].toTensor());
  check_state(a[4].toTensor(), hidden, "hx");
  const at::Tensor last_memory =
      memory.defined() ? layers.states(rnn.hidden_width, memory) : new_empty({0}, a[4].toTensor());
  if (memory.defined()) check_state(memory, last_memory, "cx");
  const at::Tensor packed = tensor_or_undefined(a[3]);
  return {layers.rows(rnn.directions * rnn.recurrent_width(), input),
          hidden,
          last_memory,
          new_empty({layers.training ? rnn.reserve_bytes() : 0}, input, at::kByte),
          packed.defined() ? packed : new_empty({rnn.weight_elements()}, input)};
}

/// Views of the packed weights' gradient: the matrices of all layers and directions, then their
/// biases. Parameters without a bias, of which cuDNN has none, get gradients of their own.
c10::List<at::Tensor> weight_gradients(const Layers& layers, const Values& a) {
  const CudnnRnn& rnn = layers.rnn;
  const std::vector<at::Tensor> weights = a[1].toTensorVector();
  const std::int64_t each = a[2].toInt();
  const std::int64_t with_biases = rnn.projection_width > 0 ? 5 : 4;
  c10::List<at::Tensor> gradients;
  if (each != with_biases) {
    for (const at::Tensor& weight : weights) gradients.push_back(contiguous_like(weight));
    return gradients;
  }
  const at::Tensor packed = new_empty({rnn.weight_elements()}, a[3].toTensor());
  std::int64_t matrices = 0;
  std::int64_t biases = rnn.matrix_elements();
  for (const at::Tensor& weight : weights) {
    std::int64_t& offset = weight.dim() == 1 ? biases : matrices;
    gradients.push_back(packed.narrow(0, offset, weight.numel()).view(weight.sizes()));
    offset += weight.numel();
  }
  return gradients;
}

/// input, weight, weight_stride0, weight_buf, hx, cx, output, three gradients, mode, …,
/// batch_sizes, dropout_state, reserve, output_mask: gradients of input, hx, cx, and of the
/// weights.
Values cudnn_rnn_backward(const Target&, const Values& a) {
  constexpr std::size_t kMask = 21;
  const Layers layers(a, kBackwardMode);
  TORCH_CHECK(layers.training, "cudnn RNN backward can only be called in training mode");
  const at::Tensor input = a[0].toTensor();
  const at::Tensor memory = tensor_or_undefined(a[5]);
  return {layers.rows(layers.rnn.input_width, input),
          contiguous_like(a[4].toTensor()),
          memory.defined() ? contiguous_like(memory) : at::Tensor(),
          a[kMask].toBoolList()[3] ? weight_gradients(layers, a) : c10::List<at::Tensor>()};
}

}  // namespace

const Rules kCudnnRnnRules = {
    {"aten::_cudnn_rnn", &cudnn_rnn},
    {"aten::_cudnn_rnn_backward", &cudnn_rnn_backward},
};

}  // namespace elixir::capture
