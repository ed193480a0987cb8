// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "random_calls.h"

#include <ATen/core/Reduction.h>

namespace elixir::capture {
namespace {

/// The kernel of multilabel_margin_loss takes time by the square of the number of classes, in one
/// thread block per sample.
constexpr std::int64_t kFewClasses = 64;

std::int64_t dimension_or_zero(Random& random, const Sizes& sizes) {
  const auto count = static_cast<std::int64_t>(sizes.size());
  return count == 0 ? 0 : random.number(-count, count - 1);
}
Sizes some_dimensions(Random& random, const Sizes& sizes) {
  Sizes some;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (random.coin()) some.push_back(static_cast<std::int64_t>(d));
  }
  return some;
}

RandomCall whole(const std::string& op) {
  return {op, [](Random& random) {
            return Values{random.tensor(random.any_sizes(0, 5), random.any_dtype())};
          }};
}
RandomCall along(const std::string& op) {
  return {op, [](Random& random) {
            const Sizes sizes = random.any_sizes(0, 4);
            return Values{random.tensor(sizes, random.any_dtype()),
                          dimension_or_zero(random, sizes),
                          random.coin()};
          }};
}

/// An input and a target that broadcast or have equal sizes, and a reduction.
struct LossArguments {
  at::Tensor gradient, input, target;
  std::int64_t reduction;

  explicit LossArguments(Random& random) : reduction(random.number(0, 2)) {
    const Sizes sizes = random.any_sizes(0, 5);
    const at::ScalarType dtype = random.floating();
    input = random.tensor(sizes, dtype);
    target = random.tensor(sizes, dtype);
    gradient = random.tensor(reduction == at::Reduction::None ? sizes : Sizes{}, dtype);
  }
};

/// Logits of (N, C, …), classes of (N, …).
struct Classes {
  at::Tensor gradient, input, target;
  std::int64_t reduction;

  Classes(Random& random, const Sizes& sizes, at::ScalarType dtype)
      : input(random.tensor(sizes, dtype)), reduction(random.number(0, 2)) {
    Sizes others = sizes;
    others.erase(others.begin() + 1);
    target = random.indices(others, sizes[1]);
    gradient = random.tensor(reduction == at::Reduction::None ? others : Sizes{}, dtype);
  }
};

}  // namespace

RandomCalls random_reduction_calls() {
  RandomCalls calls;
  for (const char* op :
       {"aten::max", "aten::min", "aten::median", "aten::nanmedian", "aten::_aminmax"}) {
    calls.push_back(whole(op));
  }
  for (const char* op :
       {"aten::median.dim", "aten::nanmedian.dim", "aten::mode", "aten::_aminmax.dim"}) {
    calls.push_back(along(op));
  }
  for (const char* op : {"aten::std.correction",
                         "aten::var.correction",
                         "aten::std_mean.correction",
                         "aten::var_mean.correction"}) {
    calls.push_back({op, [](Random& random) {
                       const Sizes sizes = random.any_sizes(0, 5);
                       const bool all = random.number(0, 3) == 0;
                       return Values{random.tensor(sizes, random.floating()),
                                     all ? kNone : c10::IValue(some_dimensions(random, sizes)),
                                     random.coin() ? 1.0 : 0.0,
                                     random.coin()};
                     }});
  }
  calls.insert(
      calls.end(),
      {{"aten::prod",
        [](Random& random) {
          const bool typed = random.coin();
          return Values{random.tensor(random.any_sizes(0, 4), random.any_dtype()),
                        typed ? c10::IValue(static_cast<std::int64_t>(at::kDouble)) : kNone};
        }},
       {"aten::nansum",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          const bool all = random.number(0, 3) == 0;
          return Values{random.tensor(sizes, random.any_dtype()),
                        all ? kNone : c10::IValue(some_dimensions(random, sizes)),
                        random.coin(),
                        kNone};
        }},
       {"aten::count_nonzero.dim_IntList",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          return Values{random.tensor(sizes, random.any_dtype()), some_dimensions(random, sizes)};
        }},
       {"aten::trace",
        [](Random& random) { return Values{random.tensor(random.sizes(2), random.any_dtype())}; }},
       {"aten::kthvalue",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(0, 4);
          return Values{random.tensor(sizes, random.any_dtype()),
                        1,
                        dimension_or_zero(random, sizes),
                        random.coin()};
        }},
       {"aten::_logcumsumexp",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 4);
          return Values{random.tensor(sizes, random.floating()), dimension_or_zero(random, sizes)};
        }},
       {"aten::histc", [](Random& random) {
          return Values{
              random.tensor(random.any_sizes(0, 3), random.floating()), random.number(1, 6), 0, 1};
        }}});
  return calls;
}

RandomCalls random_loss_calls() {
  RandomCalls calls;
  for (const char* op : {"aten::mse_loss_backward", "aten::binary_cross_entropy_backward"}) {
    const bool weighted = std::string(op) == "aten::binary_cross_entropy_backward";
    calls.push_back({op, [weighted](Random& random) {
                       const LossArguments a(random);
                       Values values{a.gradient, a.input, a.target};
                       if (weighted) values.push_back(kNone);
                       values.emplace_back(a.reduction);
                       return values;
                     }});
  }
  for (const char* op : {"aten::smooth_l1_loss_backward", "aten::huber_loss_backward"}) {
    calls.push_back({op, [](Random& random) {
                       const LossArguments a(random);
                       return Values{a.gradient, a.input, a.target, a.reduction, 1.0};
                     }});
  }
  calls.insert(
      calls.end(),
      {{"aten::huber_loss",
        [](Random& random) {
          const LossArguments a(random);
          return Values{a.input, a.target, a.reduction, 1.0};
        }},
       {"aten::binary_cross_entropy",
        [](Random& random) {
          const LossArguments a(random);
          return Values{a.input, a.target, kNone, a.reduction};
        }},
       {"aten::nll_loss2d_forward",
        [](Random& random) {
          const Classes a(random, random.sizes(4), random.floating());
          return Values{a.input, a.target, kNone, a.reduction, -100};
        }},
       {"aten::nll_loss2d_backward",
        [](Random& random) {
          const Classes a(random, random.sizes(4), random.floating());
          return Values{a.gradient,
                        a.input.contiguous(),
                        a.target,
                        kNone,
                        a.reduction,
                        -100,
                        random.plain({}, a.input.scalar_type())};
        }},
       {"aten::multi_margin_loss",
        [](Random& random) {
          const Classes a(random, random.sizes(2), random.floating());
          return Values{a.input, a.target, 1, 1, kNone, a.reduction};
        }},
       {"aten::multi_margin_loss_backward",
        [](Random& random) {
          const Classes a(random, random.sizes(2), random.floating());
          return Values{a.gradient, a.input, a.target, 1, 1, kNone, a.reduction};
        }},
       {"aten::multilabel_margin_loss_forward",
        [](Random& random) {
          const Sizes sizes = random.any_sizes(1, 2, kFewClasses);
          return Values{random.tensor(sizes, random.floating()),
                        random.indices(sizes, sizes.back()),
                        random.number(0, 2)};
        }},
       {"aten::multilabel_margin_loss_backward",
        [](Random& random) {
          const Sizes sizes = random.sizes(2, kFewClasses);
          const at::ScalarType dtype = random.floating();
          const std::int64_t reduction = random.number(0, 2);
          return Values{
              random.tensor(reduction == at::Reduction::None ? Sizes{sizes[0]} : Sizes{}, dtype),
              random.tensor(sizes, dtype),
              random.indices(sizes, sizes[1]),
              reduction,
              random.plain(sizes, dtype)};
        }},
       {"aten::_ctc_loss",
        [](Random& random) {
          const std::int64_t steps = random.number(3, 8);
          const std::int64_t batch = random.number(1, 4);
          const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
          Sizes lengths;
          for (std::int64_t i = 0; i < batch; ++i) lengths.push_back(random.number(1, 3));
          return Values{random.tensor({steps, batch, 5}, dtype),
                        random.indices({batch, 3}, 4).add_(1),
                        Sizes(static_cast<std::size_t>(batch), steps),
                        lengths,
                        0,
                        false};
        }},
       {"aten::_ctc_loss_backward", [](Random& random) {
          const std::int64_t steps = random.number(3, 8);
          const std::int64_t batch = random.number(1, 4);
          const at::ScalarType dtype = random.coin() ? at::kFloat : at::kDouble;
          return Values{random.tensor({batch}, dtype),
                        random.tensor({steps, batch, 5}, dtype),
                        random.indices({batch, 3}, 4).add_(1),
                        Sizes(static_cast<std::size_t>(batch), steps),
                        Sizes(static_cast<std::size_t>(batch), 2),
                        random.plain({batch}, dtype),
                        random.plain({batch, steps, 5}, dtype),
                        0,
                        false};
        }}});
  return calls;
}

}  // namespace elixir::capture
