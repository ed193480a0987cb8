// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Matrix products, softmax, losses, norms, attention, recurrent cells.
#include "structured_calls.h"

#include <algorithm>

#include <ATen/ops/empty.h>

namespace elixir::capture {
namespace {

c10::IValue tensor_or_none(Random& random, const Sizes& sizes, at::ScalarType dtype) {
  return random.coin() ? kNone : c10::IValue(random.operand(sizes, dtype));
}

void add_products(RandomCalls& calls) {
  calls.push_back(
      {"aten::mm", [](Random& random) {
         const Sizes s = random.sizes(3);
         const at::ScalarType dtype = product_dtype(random);
         return Values{random.tensor({s[0], s[1]}, dtype), random.tensor({s[1], s[2]}, dtype)};
       }});
  calls.push_back({"aten::bmm", [](Random& random) {
                     const Sizes s = random.sizes(4);
                     const at::ScalarType dtype = product_dtype(random);
                     return Values{random.tensor({s[0], s[1], s[2]}, dtype),
                                   random.tensor({s[0], s[2], s[3]}, dtype)};
                   }});
  calls.push_back({"aten::mv", [](Random& random) {
                     const Sizes s = random.sizes(2);
                     const at::ScalarType dtype = product_dtype(random);
                     return Values{random.tensor(s, dtype), random.tensor({s[1]}, dtype)};
                   }});
  for (const char* op : {"aten::mm.dtype", "aten::bmm.dtype"}) {
    const bool batched = std::string(op) == "aten::bmm.dtype";
    calls.push_back({op, [batched](Random& random) {
                       const Sizes s = random.sizes(4);
                       const at::ScalarType dtype = random.coin() ? at::kHalf : at::kBFloat16;
                       Sizes left{s[1], s[2]};
                       Sizes right{s[2], s[3]};
                       if (batched) {
                         left.insert(left.begin(), s[0]);
                         right.insert(right.begin(), s[0]);
                       }
                       return Values{random.tensor(left, dtype),
                                     random.tensor(right, dtype),
                                     static_cast<std::int64_t>(random.coin() ? at::kFloat : dtype)};
                     }});
  }
  for (const char* name :
       {"addmm", "addmm_", "addmv", "addmv_", "addr", "addr_", "baddbmm", "baddbmm_", "addbmm_"}) {
    const std::string text = name;
    const bool in_place = text.back() == '_';
    const std::string base = in_place ? text.substr(0, text.size() - 1) : text;
    calls.push_back({"aten::" + text, [base, in_place](Random& random) {
                       const Sizes s = random.sizes(4);
                       const at::ScalarType dtype = product_dtype(random);
                       Sizes self{s[1], s[3]};
                       Sizes left{s[1], s[2]};
                       Sizes right{s[2], s[3]};
                       if (base == "addmv") {
                         self = {s[1]};
                         right = {s[2]};
                       } else if (base == "addr") {
                         left = {s[1]};
                         right = {s[3]};
                       } else if (base != "addmm") {
                         left.insert(left.begin(), s[0]);
                         right.insert(right.begin(), s[0]);
                         if (base == "baddbmm") self.insert(self.begin(), s[0]);
                       }
                       if (!in_place && base != "addmv" && random.coin()) self.erase(self.begin());
                       return Values{random.tensor(self, dtype, !in_place),
                                     random.tensor(left, dtype),
                                     random.tensor(right, dtype),
                                     random.number(0, 2),
                                     1};
                     }});
  }
  calls.push_back({"aten::_euclidean_dist", [](Random& random) {
                     const Sizes s = random.sizes(4);
                     return Values{random.tensor({s[0], s[1], s[2]}, at::kFloat),
                                   random.tensor({s[0], s[3], s[2]}, at::kFloat)};
                   }});
  calls.push_back({"aten::_trilinear", [](Random& random) {
                     const Sizes s = random.sizes(4);
                     return Values{random.tensor({s[0], s[1]}, at::kFloat),
                                   random.tensor({s[2], s[1], s[3]}, at::kFloat),
                                   random.tensor({s[0], s[3]}, at::kFloat),
                                   Sizes{1, 3},
                                   Sizes{0},
                                   Sizes{1, 2},
                                   Sizes{2, 3},
                                   1};
                   }});
}

std::int64_t any_dimension(Random& random, const Sizes& sizes) {
  return random.number(0, static_cast<std::int64_t>(sizes.size()) - 1);
}

void add_softmax(RandomCalls& calls) {
  for (const char* op : {"aten::_softmax", "aten::_log_softmax"}) {
    calls.push_back(
        {op, [](Random& random) {
           const Sizes sizes = random.any_sizes(1, 4);
           const at::ScalarType dtype = random.floating();
           const bool widened =
               dtype == at::kHalf && random.space().device.is_cuda() && random.coin();
           return Values{random.tensor(sizes, dtype), any_dimension(random, sizes), widened};
         }});
  }
  for (const char* op : {"aten::_softmax_backward_data", "aten::_log_softmax_backward_data"}) {
    calls.push_back({op, [](Random& random) {
                       const Sizes sizes = random.any_sizes(1, 4);
                       const at::ScalarType dtype = random.floating();
                       return Values{random.tensor(sizes, dtype),
                                     random.tensor(sizes, dtype),
                                     any_dimension(random, sizes),
                                     static_cast<std::int64_t>(dtype)};
                     }});
  }
}

/// A matrix that 32-bit offsets in bytes do not reach.
at::Tensor beyond_32_bits(Random& random, at::ScalarType dtype) {
  constexpr std::int64_t kReach = std::int64_t{1} << 31;
  constexpr std::int64_t kMostBeyond = std::int64_t{1} << 28;
  const std::int64_t columns = random.one_of<std::int64_t>({1, 3, 16, 768, 1024, 4096});
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t elements = kReach / bytes + random.number(1, kMostBeyond);
  return at::empty({elements / columns + 1, columns},
                   at::TensorOptions().dtype(dtype).device(random.space().device));
}

/// Arguments of sum and mean: input, dimensions, whether they are kept, dtype. On a GPU, one input
/// in 32 is too large for one kernel.
Values reduction(Random& random) {
  const at::ScalarType dtype = random.floating();
  const bool large = random.space().device.is_cuda() && random.number(0, 31) == 0;
  const at::Tensor input =
      large ? beyond_32_bits(random, dtype) : random.tensor(random.any_sizes(0, 5), dtype);
  Sizes dimensions;
  for (std::int64_t d = 0; d < input.dim(); ++d) {
    if (random.coin()) dimensions.push_back(d);
  }
  const bool other_dtype = random.number(0, 3) == 0;
  return {input,
          dimensions,
          random.coin(),
          other_dtype ? c10::IValue(static_cast<std::int64_t>(random.floating())) : kNone};
}

/// Arguments of nll_loss_forward: input, target, weight, reduction, ignored index.
Values nll(Random& random) {
  const Sizes s = random.sizes(2);
  const at::ScalarType dtype = random.floating();
  return {random.tensor({s[0], s[1]}, dtype),
          random.indices({s[0]}, s[1]),
          tensor_or_none(random, {s[1]}, dtype),
          random.number(0, 2),
          -100};
}

void add_reductions(RandomCalls& calls) {
  calls.push_back({"aten::sum.dim_IntList", reduction});
  calls.push_back({"aten::mean.dim", reduction});
}

void add_losses(RandomCalls& calls) {
  calls.push_back({"aten::nll_loss_forward", nll});
  calls.push_back({"aten::nll_loss_backward", [](Random& random) {
                     Values forward = nll(random);
                     forward[0] = forward[0].toTensor().contiguous();
                     const Values results = results_of("aten::nll_loss_forward", forward);
                     Values values{gradient_of(random, results[0])};
                     values.insert(values.end(), forward.begin(), forward.end());
                     values.push_back(results[1]);
                     return values;
                   }});
  calls.push_back({"aten::binary_cross_entropy_with_logits", [](Random& random) {
                     const Sizes sizes = random.any_sizes(1, 4);
                     const at::ScalarType dtype = random.floating();
                     return Values{random.tensor(sizes, dtype),
                                   random.tensor(sizes, dtype),
                                   tensor_or_none(random, sizes, dtype),
                                   random.coin() ? tensor_or_none(random, {sizes.back()}, dtype)
                                                 : c10::IValue(random.tensor({sizes.back()},
                                                                             random.any_dtype())),
                                   random.number(0, 2)};
                   }});
  for (const char* name : {"mse_loss", "soft_margin_loss", "smooth_l1_loss", "huber_loss"}) {
    const std::string text = name;
    const bool has_beta = text == "smooth_l1_loss" || text == "huber_loss";
    const auto draw = [has_beta](Random& random, bool backward) {
      const Sizes sizes = random.any_sizes(0, 4);
      const at::ScalarType dtype = random.floating();
      const std::int64_t reduction = random.number(0, 2);
      Values values;
      if (backward) values.emplace_back(random.tensor(reduction == 0 ? sizes : Sizes{}, dtype));
      values.emplace_back(random.tensor(sizes, dtype));
      values.emplace_back(random.tensor(sizes, dtype));
      values.emplace_back(reduction);
      if (has_beta) values.emplace_back(1.0);
      return values;
    };
    calls.push_back({"aten::" + text, [draw](Random& random) { return draw(random, false); }});
    calls.push_back(
        {"aten::" + text + "_backward", [draw](Random& random) { return draw(random, true); }});
  }
}

/// Arguments of cudnn_batch_norm: input, weight, bias, running mean and variance, training,
/// momentum, epsilon.
Values batch_norm(Random& random) {
  Sizes sizes = random.any_sizes(2, 5);
  const at::ScalarType dtype = random.floating();
  const at::ScalarType of_weights =
      dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
  const Sizes channels{sizes[1]};
  return {random.tensor(sizes, dtype),
          random.plain(channels, of_weights),
          random.plain(channels, of_weights),
          random.plain(channels, of_weights),
          random.plain(channels, of_weights),
          true,
          0.1,
          1e-5};
}

void add_norms(RandomCalls& calls) {
  calls.push_back({"aten::cudnn_batch_norm", batch_norm});
  calls.push_back({"aten::cudnn_batch_norm_backward", [](Random& random) {
                     Values forward = batch_norm(random);
                     const at::Tensor input = forward[0].toTensor();
                     const at::MemoryFormat format = input.suggest_memory_format();
                     forward[0] = input.contiguous(format);
                     const Values r = results_of("aten::cudnn_batch_norm", forward);
                     return Values{forward[0],
                                   gradient_of(random, r[0]).contiguous(format),
                                   forward[1],
                                   forward[3],
                                   forward[4],
                                   r[1],
                                   r[2],
                                   1e-5,
                                   r[3]};
                   }});
  calls.push_back({"aten::_batch_norm_no_update", [](Random& random) {
                     Values values = batch_norm(random);
                     values.erase(values.begin() + 5);
                     return values;
                   }});
  calls.push_back({"aten::_native_batch_norm_legit_no_training", [](Random& random) {
                     Values values = batch_norm(random);
                     values.erase(values.begin() + 5);
                     return values;
                   }});
  const auto rms = [](Random& random) {
    const Sizes sizes = random.any_sizes(1, 4);
    const at::ScalarType dtype = random.floating();
    return Values{random.tensor(sizes, dtype),
                  Sizes{sizes.back()},
                  tensor_or_none(random, {sizes.back()}, dtype),
                  1e-5};
  };
  calls.push_back({"aten::_fused_rms_norm", rms});
  calls.push_back({"aten::_fused_rms_norm_backward", [rms](Random& random) {
                     const Values forward = rms(random);
                     const Values r = results_of("aten::_fused_rms_norm", forward);
                     return Values{gradient_of(random, r[0]),
                                   forward[0],
                                   forward[1],
                                   r[1],
                                   forward[2],
                                   c10::List<bool>({true, !forward[2].isNone()})};
                   }});
}

/// Query, key and value of fused attention; heads times rows times width as models have them.
struct Heads {
  at::Tensor query, key, value;
  std::int64_t batch, heads, rows, columns;
  bool causal;
  double dropout;

  Heads(Random& random, const std::vector<at::ScalarType>& dtypes)
      : batch(random.number(1, 4)),
        heads(random.number(1, 4)),
        rows(std::max<std::int64_t>(1, random.sizes(1)[0] % kMostRows)),
        columns(random.coin() ? rows : random.number(1, kMostRows)),
        causal(rows == columns && random.coin()),
        dropout(random.coin() ? 0.0 : 0.1) {
    const at::ScalarType dtype = random.one_of(dtypes);
    const std::int64_t width = random.one_of<std::int64_t>({8, 16, 32, 64, 64, 80, 96, 128, 256});
    const bool by_row = random.coin();  // (batch, row, head, width) in memory
    const auto make = [&](std::int64_t length) {
      return by_row ? random.plain({batch, length, heads, width}, dtype).transpose(1, 2)
                    : random.plain({batch, heads, length, width}, dtype);
    };
    query = make(rows);
    key = make(columns);
    value = make(columns);
  }
  [[nodiscard]] c10::IValue mask(Random& random) const {
    if (causal || random.coin()) return kNone;
    constexpr std::int64_t kAlignment = 8;
    const std::int64_t padded = (columns + kAlignment - 1) / kAlignment * kAlignment;
    const Sizes sizes{batch, random.coin() ? heads : 1, rows, padded};
    return random.plain(sizes, query.scalar_type())
        .slice(3, 0, columns)
        .expand({batch, heads, rows, columns});
  }

 private:
  static constexpr std::int64_t kMostRows = 2048;
};

void add_attention(RandomCalls& calls) {
  const std::vector<at::ScalarType> halves{at::kHalf, at::kBFloat16};
  const std::vector<at::ScalarType> wide{at::kHalf, at::kBFloat16, at::kFloat};
  const auto efficient = [wide](Random& random) {
    const Heads a(random, wide);
    return Values{a.query, a.key, a.value, a.mask(random), true, a.dropout, a.causal, kNone};
  };
  const auto cudnn = [halves](Random& random) {
    const Heads a(random, halves);
    return Values{a.query, a.key, a.value, a.mask(random), true, a.dropout, a.causal, false, kNone};
  };
  const auto flash = [halves](Random& random) {
    const Heads a(random, halves);
    return Values{a.query, a.key, a.value, a.dropout, a.causal, false, kNone};
  };
  calls.push_back({"aten::_scaled_dot_product_efficient_attention", efficient});
  calls.push_back({"aten::_scaled_dot_product_cudnn_attention", cudnn});
  calls.push_back({"aten::_scaled_dot_product_flash_attention", flash});
  calls.push_back(
      {"aten::_scaled_dot_product_efficient_attention_backward", [efficient](Random& random) {
         const Values f = efficient(random);
         const Values r = results_of("aten::_scaled_dot_product_efficient_attention", f);
         const at::Tensor mask = f[3].isNone() ? at::Tensor() : f[3].toTensor();
         return Values{gradient_of(random, r[0]),
                       f[0],
                       f[1],
                       f[2],
                       mask,
                       r[0],
                       r[1],
                       r[2],
                       r[3],
                       f[5],
                       c10::List<bool>({true, true, true, mask.defined() && random.coin()}),
                       f[6],
                       kNone};
       }});
  calls.push_back({"aten::_scaled_dot_product_cudnn_attention_backward", [cudnn](Random& random) {
                     const Values f = cudnn(random);
                     const Values r = results_of("aten::_scaled_dot_product_cudnn_attention", f);
                     const at::Tensor mask = f[3].isNone() ? at::Tensor() : f[3].toTensor();
                     return Values{gradient_of(random, r[0]),
                                   f[0],
                                   f[1],
                                   f[2],
                                   r[0],
                                   r[1],
                                   r[6],
                                   r[7],
                                   mask,
                                   r[2],
                                   r[3],
                                   r[4],
                                   r[5],
                                   f[5],
                                   f[6],
                                   kNone};
                   }});
  calls.push_back({"aten::_scaled_dot_product_flash_attention_backward", [flash](Random& random) {
                     const Values f = flash(random);
                     const Values r = results_of("aten::_scaled_dot_product_flash_attention", f);
                     return Values{gradient_of(random, r[0]),
                                   f[0],
                                   f[1],
                                   f[2],
                                   r[0],
                                   r[1],
                                   r[2],
                                   r[3],
                                   r[4],
                                   r[5],
                                   f[3],
                                   f[4],
                                   r[6],
                                   r[7],
                                   kNone};
                   }});
}

void add_cells(RandomCalls& calls) {
  const auto cell = [](std::int64_t gates) {
    return [gates](Random& random) {
      const Sizes s = random.sizes(2);
      const at::ScalarType dtype = random.one_of<at::ScalarType>({at::kFloat, at::kHalf});
      const bool biased = random.coin();
      const auto bias = [&] {
        return biased ? c10::IValue(random.plain({gates * s[1]}, dtype)) : kNone;
      };
      return Values{random.plain({s[0], gates * s[1]}, dtype),
                    random.plain({s[0], gates * s[1]}, dtype),
                    random.plain({s[0], s[1]}, dtype),
                    bias(),
                    bias()};
    };
  };
  constexpr std::int64_t kLstmGates = 4;
  constexpr std::int64_t kGruGates = 3;
  const auto lstm = cell(kLstmGates);
  const auto gru = cell(kGruGates);
  calls.push_back({"aten::_thnn_fused_lstm_cell", lstm});
  calls.push_back({"aten::_thnn_fused_gru_cell", gru});
  calls.push_back({"aten::_thnn_fused_lstm_cell_backward_impl", [lstm](Random& random) {
                     const Values f = lstm(random);
                     const Values r = results_of("aten::_thnn_fused_lstm_cell", f);
                     return Values{gradient_of(random, r[0]),
                                   gradient_of(random, r[1]),
                                   f[2],
                                   r[1],
                                   r[2],
                                   !f[3].isNone()};
                   }});
  calls.push_back({"aten::_thnn_fused_gru_cell_backward", [gru](Random& random) {
                     const Values f = gru(random);
                     const Values r = results_of("aten::_thnn_fused_gru_cell", f);
                     return Values{gradient_of(random, r[0]), r[1], !f[3].isNone()};
                   }});
}

}  // namespace

RandomCalls structured_dense_calls() {
  RandomCalls calls;
  add_products(calls);
  add_softmax(calls);
  add_reductions(calls);
  add_losses(calls);
  add_norms(calls);
  add_attention(calls);
  add_cells(calls);
  return calls;
}

}  // namespace elixir::capture
