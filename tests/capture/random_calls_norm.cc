// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>

namespace elixir::capture {
namespace {

c10::IValue maybe(Random& random, const Sizes& sizes, at::ScalarType dtype) {
  return random.coin() ? c10::IValue(random.operand(sizes, dtype)) : kNone;
}

/// In any layout: kernels copy what is not contiguous.
c10::IValue strided(Random& random, const Sizes& sizes, at::ScalarType dtype) {
  return random.coin() ? c10::IValue(random.tensor(sizes, dtype)) : kNone;
}

c10::List<bool> mask(Random& random, bool affine) {
  return c10::List<bool>({!affine || random.coin(), affine, affine});
}

}  // namespace

RandomCalls random_norm_calls() {
  return {
      {"aten::native_layer_norm",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4);
         const Sizes normalized(
             sizes.end() - random.number(1, static_cast<std::int64_t>(sizes.size())), sizes.end());
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor(sizes, dtype),
                       normalized,
                       strided(random, normalized, dtype),
                       strided(random, normalized, dtype),
                       1e-5};
       }},
      {"aten::native_layer_norm_backward",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 4);
         const Sizes normalized{sizes.back()};
         Sizes rows = sizes;
         rows.back() = 1;
         const at::ScalarType dtype = random.floating();
         const bool affine = random.coin();
         const c10::IValue weight = affine ? c10::IValue(random.tensor(normalized, dtype)) : kNone;
         return Values{random.tensor(sizes, dtype),
                       random.tensor(sizes, dtype),
                       normalized,
                       random.plain(rows, dtype),
                       random.plain(rows, dtype),
                       weight,
                       weight,
                       mask(random, affine)};
       }},
      {"aten::native_batch_norm",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const bool training = random.coin();
         const c10::IValue statistics =
             training && random.coin() ? kNone : c10::IValue(random.plain({sizes[1]}, dtype));
         const c10::IValue weight = maybe(random, {sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype),
                       weight,
                       weight,
                       statistics,
                       statistics,
                       training,
                       0.1,
                       1e-5};
       }},
      {"aten::native_batch_norm_backward",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const bool affine = random.coin();
         const at::Tensor statistics = random.plain({sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype),
                       random.tensor(sizes, dtype),
                       affine ? c10::IValue(random.plain({sizes[1]}, dtype)) : kNone,
                       statistics,
                       statistics,
                       statistics,
                       statistics,
                       random.coin(),
                       1e-5,
                       mask(random, affine)};
       }},
      {"aten::_native_batch_norm_legit",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const c10::IValue weight = maybe(random, {sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype),
                       weight,
                       weight,
                       random.plain({sizes[1]}, dtype),
                       random.plain({sizes[1]}, dtype),
                       random.coin(),
                       0.1,
                       1e-5};
       }},
      {"aten::_native_batch_norm_legit.no_stats",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const c10::IValue weight = maybe(random, {sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype), weight, weight, true, 0.1, 1e-5};
       }},
      {"aten::_batch_norm_with_update",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const c10::IValue weight = maybe(random, {sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype),
                       weight,
                       weight,
                       random.plain({sizes[1]}, dtype),
                       random.plain({sizes[1]}, dtype),
                       0.1,
                       1e-5};
       }},
      {"aten::batch_norm_backward",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(2, 5);
         const at::ScalarType dtype = random.floating();
         const at::Tensor statistics = random.plain({sizes[1]}, dtype);
         return Values{random.tensor(sizes, dtype),
                       random.tensor(sizes, dtype),
                       random.plain({sizes[1]}, dtype),
                       statistics,
                       statistics,
                       statistics,
                       statistics,
                       random.coin(),
                       1e-5,
                       mask(random, true),
                       random.plain({0}, at::kByte)};
       }},
      {"aten::native_group_norm",
       [](Random& random) {
         Sizes sizes = random.any_sizes(2, 5);
         sizes[1] *= 2;
         const at::ScalarType dtype = random.floating();
         const at::Tensor input = random.tensor(sizes, dtype);
         const c10::IValue weight = maybe(random, {sizes[1]}, dtype);
         return Values{input.contiguous(input.suggest_memory_format()),
                       weight,
                       weight,
                       sizes[0],
                       sizes[1],
                       input.numel() / (sizes[0] * sizes[1]),
                       2,
                       1e-5};
       }},
      {"aten::native_group_norm_backward", [](Random& random) {
         Sizes sizes = random.any_sizes(2, 5);
         sizes[1] *= 2;
         const at::ScalarType dtype = random.floating();
         const at::Tensor input = random.tensor(sizes, dtype);
         const at::MemoryFormat format = input.suggest_memory_format();
         const bool affine = random.coin();
         // LibTorch's kernel for channels last crashes if the input's gradient is not requested.
         c10::List<bool> wanted = mask(random, affine);
         if (format != at::MemoryFormat::Contiguous) wanted.set(0, true);
         return Values{random.tensor(sizes, dtype).contiguous(format),
                       input.contiguous(format),
                       random.plain({sizes[0], 2}, dtype),
                       random.plain({sizes[0], 2}, dtype),
                       affine ? c10::IValue(random.plain({sizes[1]}, dtype)) : kNone,
                       sizes[0],
                       sizes[1],
                       input.numel() / (sizes[0] * sizes[1]),
                       2,
                       wanted};
       }}};
}

RandomCalls random_attention_calls() {
  struct Heads {
    at::Tensor query, key, value;
    explicit Heads(Random& random) {
      const std::int64_t batch = random.number(1, 3);
      const std::int64_t heads = random.number(1, 4);
      const std::int64_t width = random.number(1, 4) * 4;
      const at::ScalarType dtype = random.floating();
      const auto make = [&](std::int64_t steps) {
        return random.coin() ? random.plain({batch, heads, steps, width}, dtype)
                             : random.plain({batch, steps, heads, width}, dtype).transpose(1, 2);
      };
      const std::int64_t keys = random.number(2, 6);
      query = make(random.number(2, 6));
      key = make(keys);
      value = make(keys);
    }
  };
  return {{"aten::_scaled_dot_product_flash_attention_for_cpu",
           [](Random& random) {
             const Heads heads(random);
             return Values{heads.query, heads.key, heads.value, 0.0, random.coin(), kNone, kNone};
           }},
          {"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
           [](Random& random) {
             const Heads heads(random);
             const bool causal = random.coin();
             const auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
                 heads.query, heads.key, heads.value, 0.0, causal);
             return Values{random.plain(output.sizes().vec(), output.scalar_type()),
                           heads.query,
                           heads.key,
                           heads.value,
                           output,
                           logsumexp,
                           0.0,
                           causal,
                           kNone,
                           kNone};
           }},
          {"aten::_masked_softmax",
           [](Random& random) {
             const Sizes sizes = random.any_sizes(2, 4);
             return Values{random.tensor(sizes, at::kFloat),
                           random.plain(sizes, at::kBool),
                           static_cast<std::int64_t>(sizes.size()) - 1,
                           2};
           }},
          {"aten::_masked_softmax_backward",
           [](Random& random) {
             const Sizes sizes = random.any_sizes(2, 4);
             return Values{random.tensor(sizes, at::kFloat),
                           random.tensor(sizes, at::kFloat),
                           random.plain(sizes, at::kBool),
                           static_cast<std::int64_t>(sizes.size()) - 1};
           }},
          {"aten::_safe_softmax", [](Random& random) {
             const Sizes sizes = random.any_sizes(1, 4);
             return Values{random.tensor(sizes, random.floating()),
                           static_cast<std::int64_t>(sizes.size()) - 1,
                           kNone};
           }}};
}

}  // namespace elixir::capture
