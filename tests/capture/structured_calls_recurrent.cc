// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// cuDNN's recurrent layers, without dropout, whose state no generator can make.
#include "structured_calls.h"

#include <array>

namespace elixir::capture {
namespace {

/// The arguments of _cudnn_rnn. Modes: relu, tanh, LSTM, GRU.
Values layers(Random& random) {
  constexpr std::int64_t kLstm = 2;
  constexpr std::int64_t kMostWidth = 256;
  const std::int64_t mode = random.number(0, 3);
  constexpr std::array<std::int64_t, 4> kGates = {1, 1, 4, 3};
  const std::int64_t gates = kGates[static_cast<std::size_t>(mode)];
  const std::int64_t width = random.number(1, kMostWidth);
  const std::int64_t of_input = random.number(1, kMostWidth);
  const std::int64_t count = random.number(1, 3);
  const bool both_ways = random.number(0, 3) == 0;
  const bool biased = random.number(0, 3) > 0;
  const bool batch_first = random.coin();
  const std::int64_t steps = random.number(1, 64);
  const std::int64_t batch = random.number(1, 32);
  const std::int64_t directions = both_ways ? 2 : 1;
  const at::ScalarType dtype =
      random.one_of<at::ScalarType>({at::kFloat, at::kHalf, at::kBFloat16});
  c10::List<at::Tensor> weights;
  for (std::int64_t layer = 0; layer < count; ++layer) {
    const std::int64_t in = layer == 0 ? of_input : width * directions;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      weights.push_back(random.plain({gates * width, in}, dtype));
      weights.push_back(random.plain({gates * width, width}, dtype));
      for (int bias = 0; biased && bias < 2; ++bias) {
        weights.push_back(random.plain({gates * width}, dtype));
      }
    }
  }
  const Sizes of_states{count * directions, batch, width};
  const Sizes sizes = batch_first ? Sizes{batch, steps, of_input} : Sizes{steps, batch, of_input};
  return {random.plain(sizes, dtype),
          weights,
          biased ? 4 : 2,
          kNone,
          random.plain(of_states, dtype),
          mode == kLstm ? c10::IValue(random.plain(of_states, dtype)) : kNone,
          mode,
          width,
          0,
          count,
          batch_first,
          0.0,
          true,
          both_ways,
          Sizes{},
          kNone};
}

c10::IValue gradient_or_none(Random& random, const c10::IValue& result) {
  return random.coin() ? kNone : c10::IValue(gradient_of(random, result).contiguous());
}

/// After a forward pass: its results are output, states, reserve space and packed weights.
Values layers_backward(Random& random) {
  const Values f = layers(random);
  const Values r = results_of("aten::_cudnn_rnn", f);
  const bool has_memory = !f[5].isNone();
  Values values{f[0],
                f[1],
                f[2],
                r[4],
                f[4],
                f[5],
                r[0],
                gradient_of(random, r[0]).contiguous(),
                gradient_or_none(random, r[1]),
                has_memory ? gradient_or_none(random, r[2]) : kNone};
  values.insert(values.end(), f.begin() + 6, f.end());
  values.push_back(r[3]);
  values.emplace_back(c10::List<bool>({true, true, has_memory, random.number(0, 3) > 0}));
  return values;
}

}  // namespace

RandomCalls structured_recurrent_calls() {
  return {{"aten::_cudnn_rnn", layers}, {"aten::_cudnn_rnn_backward", layers_backward}};
}

}  // namespace elixir::capture
