// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/sort.h>

namespace elixir::capture {
namespace {

std::int64_t dimension_of(Random& random, const Sizes& sizes) {
  const auto count = static_cast<std::int64_t>(sizes.size());
  return random.number(-count, count - 1);
}

at::Tensor boundaries(Random& random) {
  return at::arange(4, at::TensorOptions().dtype(at::kFloat).device(random.space().device));
}

at::Tensor offsets_of_two(Random& random) {
  return at::arange(2, at::TensorOptions().dtype(at::kLong).device(random.space().device)).mul_(2);
}

/// weight, indices, offsets and the other arguments of a bag.
Values bag(Random& random) {
  const bool large = random.space().most_elements > 0 && random.coin();
  const std::int64_t rows = random.number(2, large ? 100'000 : 6);
  const std::int64_t count = random.number(1, large ? 50'000 : 8);
  const std::int64_t bags = random.number(1, large ? 5'000 : 4);
  const std::int64_t mode = random.number(0, 2);
  const bool last = random.coin();
  const at::ScalarType dtype = random.floating();
  const at::ScalarType index = random.coin() ? at::kLong : at::kInt;
  at::Tensor offsets =
      std::get<0>(at::sort(random.indices({bags + (last ? 1 : 0)}, count + 1, index)));
  offsets[0].fill_(0);
  if (last) offsets[bags].fill_(count);
  const bool weighted = mode == 0 && random.coin();
  return {random.tensor({rows, random.number(1, large ? 64 : 5)}, dtype),
          random.indices({count}, rows, index),
          offsets,
          false,
          mode,
          false,
          weighted ? c10::IValue(random.tensor({count}, dtype)) : kNone,
          last,
          random.coin() ? std::int64_t{-1} : std::int64_t{0}};
}

}  // namespace

RandomCalls random_indexing_calls() {
  return {
      {"aten::index_select",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4);
         const std::int64_t d = dimension_of(random, sizes);
         const auto at =
             static_cast<std::size_t>(d < 0 ? d + static_cast<std::int64_t>(sizes.size()) : d);
         return Values{random.tensor(sizes, random.any_dtype()),
                       d,
                       random.indices({random.number(0, 4)}, sizes[at])};
       }},
      {"aten::embedding",
       [](Random& random) {
         const Sizes sizes = random.sizes(2);
         return Values{random.tensor(sizes, random.floating()),
                       random.indices(random.any_sizes(0, 3), sizes[0]),
                       -1,
                       false,
                       false};
       }},
      {"aten::embedding_dense_backward",
       [](Random& random) {
         Sizes sizes = random.any_sizes(1, 3);
         const at::Tensor indices = random.indices(sizes, 4);
         sizes.push_back(random.number(1, 4));
         return Values{random.tensor(sizes, random.floating()), indices, 4, -1, random.coin()};
       }},
      {"aten::embedding_renorm_",
       [](Random& random) {
         return Values{random.tensor({5, 3}, at::kFloat, false), random.indices({4}, 5), 1.0, 2.0};
       }},
      {"aten::masked_scatter_",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 4);
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor(sizes, dtype, false),
                       random.plain(sizes, at::kBool),
                       random.tensor(sizes, dtype)};
       }},
      {"aten::put_",
       [](Random& random) {
         const at::ScalarType dtype = random.floating();
         const Sizes sizes = random.any_sizes(1, 2);
         return Values{random.tensor({3, 4}, dtype, false),
                       random.indices(sizes, 12),
                       random.tensor(sizes, dtype),
                       random.coin()};
       }},
      {"aten::where.self",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(0, 4);
         const auto shrunk = [&] {
           Sizes other = sizes;
           for (std::int64_t& size : other) size = random.number(0, 3) == 0 ? 1 : size;
           return other;
         };
         return Values{random.tensor(shrunk(), at::kBool),
                       random.tensor(shrunk(), random.any_dtype()),
                       random.tensor(shrunk(), random.any_dtype())};
       }},
      {"aten::roll",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 5);
         if (random.number(0, 3) == 0) {
           return Values{random.tensor(sizes, random.any_dtype()), Sizes{2}, Sizes{}};
         }
         Sizes shifts{random.number(-3, 3)};
         Sizes dimensions{dimension_of(random, sizes)};
         if (random.coin()) {
           shifts.push_back(random.number(-3, 3));
           dimensions.push_back(dimension_of(random, sizes));
         }
         return Values{random.tensor(sizes, random.any_dtype()), shifts, dimensions};
       }},
      {"aten::take",
       [](Random& random) {
         return Values{random.tensor({3, 4}, random.any_dtype()),
                       random.tensor(random.any_sizes(0, 4), at::kLong)};
       }},
      {"aten::bucketize.Tensor",
       [](Random& random) {
         return Values{random.tensor(random.any_sizes(0, 4), random.any_dtype()),
                       boundaries(random),
                       random.coin(),
                       random.coin()};
       }},
      {"aten::bucketize.Scalar",
       [](Random& random) {
         return Values{1.5, boundaries(random), random.coin(), false};
       }},
      {"aten::searchsorted.Tensor",
       [](Random& random) {
         return Values{boundaries(random),
                       random.tensor(random.any_sizes(0, 4), at::kFloat),
                       random.coin(),
                       random.coin(),
                       kNone,
                       kNone};
       }},
      {"aten::searchsorted.Scalar",
       [](Random& random) {
         return Values{boundaries(random), 1.5, random.coin(), random.coin(), kNone, kNone};
       }},
      {"aten::unfold_backward",
       [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 3);
         const std::int64_t d = random.number(0, static_cast<std::int64_t>(sizes.size()) - 1);
         const at::Tensor input = random.plain(sizes, random.floating());
         const std::int64_t size = random.number(1, sizes[static_cast<std::size_t>(d)]);
         const std::int64_t step = random.number(1, 2);
         return Values{input.unfold(d, size, step), sizes, d, size, step};
       }},
      {"aten::_embedding_bag", bag},
      {"aten::_embedding_bag_forward_only", bag},
      {"aten::_embedding_bag_dense_backward",
       [](Random& random) {
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor({2, 3}, dtype),
                       random.indices({4}, 5),
                       random.indices({4}, 2),
                       random.indices({2}, 2).add_(1),
                       random.indices({2, 3}, 5),
                       5,
                       false,
                       random.number(0, 2),
                       kNone,
                       -1};
       }},
      {"aten::_embedding_bag_backward",
       [](Random& random) {
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor({2, 3}, dtype),
                       random.indices({4}, 5),
                       offsets_of_two(random),
                       random.indices({4}, 2),
                       random.indices({2}, 2).add_(1),
                       random.indices({2, 3}, 5),
                       5,
                       false,
                       random.number(0, 2),
                       false,
                       kNone,
                       -1};
       }},
      {"aten::_embedding_bag_per_sample_weights_backward",
       [](Random& random) {
         const at::ScalarType dtype = random.floating();
         return Values{random.tensor({2, 3}, dtype),
                       random.tensor({5, 3}, dtype),
                       random.indices({4}, 5),
                       offsets_of_two(random),
                       random.indices({4}, 2),
                       0,
                       -1};
       }},
  };
}

}  // namespace elixir::capture
