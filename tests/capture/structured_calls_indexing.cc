// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Indexing, scattering, sorting, views of given sizes. Every index is in range, because a GPU's
// kernel ends the context where the CPU's throws.
#include "structured_calls.h"

#include <algorithm>

namespace elixir::capture {
namespace {

/// A tensor, one of its dimensions, and indices along it.
struct Along {
  at::Tensor self;
  Sizes sizes;
  std::int64_t dimension, length;

  Along(Random& random, at::ScalarType dtype, bool overlapping)
      : sizes(random.any_sizes(1, 4)),
        dimension(random.number(0, static_cast<std::int64_t>(sizes.size()) - 1)),
        length(sizes[static_cast<std::size_t>(dimension)]) {
    self = random.tensor(sizes, dtype, overlapping);
  }
  [[nodiscard]] Sizes with_length(std::int64_t other) const {
    Sizes changed = sizes;
    changed[static_cast<std::size_t>(dimension)] = other;
    return changed;
  }
};

/// index_add and its like take one index for each slice.
void add_by_slices(RandomCalls& calls) {
  for (const char* name : {"index_add", "index_copy", "index_reduce"}) {
    const std::string text = name;
    for (const bool in_place : {false, true}) {
      calls.push_back(
          {"aten::" + text + (in_place ? "_" : ""), [text, in_place](Random& random) {
             const at::ScalarType dtype = random.floating();
             const Along a(random, dtype, !in_place);
             const std::int64_t count = random.number(1, a.length);
             Values values{a.self,
                           a.dimension,
                           random.indices({count}, a.length),
                           random.tensor(a.with_length(count), dtype)};
             if (text == "index_add") values.emplace_back(1);
             if (text == "index_reduce") {
               values.emplace_back(random.one_of<std::string>({"prod", "mean", "amax", "amin"}));
               values.emplace_back(random.coin());
             }
             return values;
           }});
    }
  }
  for (const bool in_place : {false, true}) {
    for (const bool scalar : {false, true}) {
      const std::string op = std::string("aten::index_fill") + (in_place ? "_" : "") +
                             (scalar ? ".int_Scalar" : ".int_Tensor");
      calls.push_back({op, [in_place, scalar](Random& random) {
                         const at::ScalarType dtype = random.any_dtype();
                         const Along a(random, dtype, !in_place);
                         const Sizes count{random.number(1, a.length)};
                         return Values{
                             a.self,
                             a.dimension,
                             random.indices(count, a.length),
                             scalar ? c10::IValue(1) : c10::IValue(random.plain({}, dtype))};
                       }});
    }
  }
}

/// gather and scatter take one index for each element.
void add_by_elements(RandomCalls& calls) {
  calls.push_back(
      {"aten::gather", [](Random& random) {
         const Along a(random, random.any_dtype(), true);
         const Sizes sizes = a.with_length(random.number(1, a.length));
         return Values{a.self, a.dimension, random.indices(sizes, a.length), random.coin()};
       }});
  struct Form {
    const char* name;
    const char* overload;
  };
  for (const Form& form : {Form{"scatter", "src"},
                           Form{"scatter", "value"},
                           Form{"scatter", "reduce"},
                           Form{"scatter", "value_reduce"},
                           Form{"scatter_add", ""},
                           Form{"scatter_reduce", "two"}}) {
    for (const bool in_place : {false, true}) {
      const std::string name = form.name;
      const std::string overload = form.overload;
      const std::string op =
          "aten::" + name + (in_place ? "_" : "") + (overload.empty() ? "" : "." + overload);
      calls.push_back({op, [name, overload, in_place](Random& random) {
                         const at::ScalarType dtype = random.floating();
                         const Along a(random, dtype, !in_place);
                         const Sizes sizes = a.with_length(random.number(1, a.length));
                         Values values{a.self, a.dimension, random.indices(sizes, a.length)};
                         const bool number = overload == "value" || overload == "value_reduce";
                         values.push_back(number ? c10::IValue(1.5)
                                                 : c10::IValue(random.tensor(sizes, dtype)));
                         if (overload == "reduce" || overload == "value_reduce") {
                           values.emplace_back(std::string(random.coin() ? "add" : "multiply"));
                         }
                         if (overload == "two") {
                           values.emplace_back(
                               random.one_of<std::string>({"sum", "prod", "mean", "amax", "amin"}));
                           values.emplace_back(random.coin());
                         }
                         return values;
                       }});
    }
  }
}

/// A tensor and an index for some of its first dimensions; the indices broadcast.
struct ByTensors {
  at::Tensor self;
  c10::List<std::optional<at::Tensor>> indices;
  Sizes result;

  ByTensors(Random& random, at::ScalarType dtype, bool overlapping) {
    const Sizes sizes = random.any_sizes(1, 4);
    self = random.tensor(sizes, dtype, overlapping);
    const Sizes of_indices = random.any_sizes(1, 2);
    const std::int64_t most = std::min<std::int64_t>(2, self.dim());
    const auto count = static_cast<std::size_t>(random.number(1, most));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t length = sizes[i];
      indices.push_back(random.indices(of_indices, length));
    }
    result = of_indices;
    std::int64_t elements = 1;
    for (std::size_t i = count; i < sizes.size(); ++i) {
      result.push_back(sizes[i]);
      elements *= sizes[i];
    }
    for (const std::int64_t size : of_indices) elements *= size;
    constexpr std::int64_t kMost = std::int64_t{1} << 26;
    TORCH_CHECK(elements < kMost, "a large product of indices and slices");
  }
};

void add_by_tensors(RandomCalls& calls) {
  for (const char* op : {"aten::index.Tensor", "aten::_unsafe_index.Tensor"}) {
    calls.push_back({op, [](Random& random) {
                       const ByTensors a(random, random.any_dtype(), true);
                       return Values{a.self, a.indices};
                     }});
  }
  for (const char* op : {"aten::index_put",
                         "aten::index_put_",
                         "aten::_index_put_impl_",
                         "aten::_unsafe_index_put"}) {
    const std::string text = op;
    const bool in_place = text.back() == '_';
    const bool checks = text == "aten::_index_put_impl_";
    calls.push_back(
        {op, [in_place, checks](Random& random) {
           const at::ScalarType dtype = random.floating();
           const ByTensors a(random, dtype, !in_place);
           const Sizes of_values = random.number(0, 3) == 0 ? Sizes{1} : a.result;
           Values values{a.self, a.indices, random.tensor(of_values, dtype), random.coin()};
           if (checks) values.emplace_back(random.coin());
           return values;
         }});
  }
  calls.push_back(
      {"aten::_unsafe_masked_index", [](Random& random) {
         const Sizes sizes = random.any_sizes(1, 2);
         c10::List<std::optional<at::Tensor>> indices;
         for (const std::int64_t size : sizes) {
           indices.push_back(random.indices(sizes, size));
         }
         return Values{
             random.tensor(sizes, random.floating()), random.plain(sizes, at::kBool), indices, 0.5};
       }});
  calls.push_back({"aten::_unsafe_masked_index_put_accumulate", [](Random& random) {
                     const Sizes sizes = random.any_sizes(1, 2);
                     const at::ScalarType dtype = random.floating();
                     c10::List<std::optional<at::Tensor>> indices;
                     for (const std::int64_t size : sizes) {
                       indices.push_back(random.indices(sizes, size));
                     }
                     return Values{random.tensor(sizes, dtype),
                                   random.plain(sizes, at::kBool),
                                   indices,
                                   random.tensor(sizes, dtype)};
                   }});
  for (const char* op : {"aten::put", "aten::put_"}) {
    const bool in_place = std::string(op) == "aten::put_";
    calls.push_back({op, [in_place](Random& random) {
                       const at::ScalarType dtype = random.floating();
                       const at::Tensor self =
                           random.tensor(random.any_sizes(1, 3), dtype, !in_place);
                       const Sizes count{random.number(1, self.numel())};
                       return Values{self,
                                     random.indices(count, self.numel()),
                                     random.plain(count, dtype),
                                     random.coin()};
                     }});
  }
  calls.push_back({"aten::take", [](Random& random) {
                     const at::Tensor self =
                         random.tensor(random.any_sizes(1, 3), random.any_dtype());
                     return Values{self, random.indices(random.any_sizes(0, 3), self.numel())};
                   }});
  for (const char* op : {"aten::masked_scatter", "aten::masked_scatter_"}) {
    const bool in_place = std::string(op) == "aten::masked_scatter_";
    calls.push_back({op, [in_place](Random& random) {
                       const Sizes sizes = random.any_sizes(1, 4);
                       const at::ScalarType dtype = random.floating();
                       return Values{random.tensor(sizes, dtype, !in_place),
                                     random.plain(sizes, at::kBool),
                                     random.tensor(sizes, dtype)};
                     }});
  }
  calls.push_back({"aten::masked_scatter_backward", [](Random& random) {
                     const Sizes sizes = random.any_sizes(1, 4);
                     return Values{random.tensor(sizes, random.floating()),
                                   random.plain(sizes, at::kBool),
                                   sizes};
                   }});
  calls.push_back(
      {"aten::embedding_renorm", [](Random& random) {
         const Sizes s = random.sizes(2);
         return Values{
             random.plain(s, at::kFloat), random.indices({random.number(1, s[0])}, s[0]), 1.0, 2.0};
       }});
  calls.push_back({"aten::embedding_dense_backward", [](Random& random) {
                     const Sizes s = random.sizes(2);
                     const std::int64_t rows = random.sizes(1)[0];
                     return Values{random.tensor(s, random.floating()),
                                   random.indices({s[0]}, rows),
                                   rows,
                                   random.coin() ? -1 : 0,
                                   random.number(0, 3) == 0};
                   }});
}

void add_parts(RandomCalls& calls) {
  calls.push_back({"aten::select_backward", [](Random& random) {
                     const Along a(random, random.floating(), true);
                     Sizes without = a.sizes;
                     without.erase(without.begin() + a.dimension);
                     return Values{random.tensor(without, random.floating()),
                                   a.sizes,
                                   a.dimension,
                                   random.number(0, a.length - 1)};
                   }});
  calls.push_back(
      {"aten::select_scatter", [](Random& random) {
         const at::ScalarType dtype = random.any_dtype();
         const Along a(random, dtype, true);
         Sizes without = a.sizes;
         without.erase(without.begin() + a.dimension);
         return Values{
             a.self, random.tensor(without, dtype), a.dimension, random.number(0, a.length - 1)};
       }});
  calls.push_back({"aten::slice_backward", [](Random& random) {
                     const Along a(random, random.floating(), true);
                     const std::int64_t start = random.number(0, a.length - 1);
                     return Values{
                         random.tensor(a.with_length(a.length - start), random.floating()),
                         a.sizes,
                         a.dimension,
                         start,
                         a.length,
                         1};
                   }});
  for (const char* op : {"aten::slice_scatter", "aten::slice_inverse"}) {
    const bool inverse = std::string(op) == "aten::slice_inverse";
    calls.push_back(
        {op, [inverse](Random& random) {
           const at::ScalarType dtype = random.any_dtype();
           const Along a(random, dtype, false);
           const std::int64_t start = random.number(0, a.length - 1);
           const at::Tensor part = inverse ? a.self.slice(a.dimension, start, a.length)
                                           : random.tensor(a.with_length(a.length - start), dtype);
           return Values{
               inverse ? part : a.self, inverse ? a.self : part, a.dimension, start, a.length, 1};
         }});
  }
  for (const char* op : {"aten::diagonal_backward", "aten::diagonal_scatter"}) {
    const bool scatter = std::string(op) == "aten::diagonal_scatter";
    calls.push_back({op, [scatter](Random& random) {
                       const Sizes sizes = random.sizes(2);
                       const at::ScalarType dtype = random.floating();
                       const at::Tensor part = random.tensor({std::min(sizes[0], sizes[1])}, dtype);
                       return scatter ? Values{random.tensor(sizes, dtype), part, 0, 0, 1}
                                      : Values{part, sizes, 0, 0, 1};
                     }});
  }
  for (const char* op : {"aten::as_strided", "aten::as_strided_", "aten::as_strided_scatter"}) {
    const bool scatter = std::string(op) == "aten::as_strided_scatter";
    calls.push_back({op, [scatter](Random& random) {
                       const Sizes s = random.sizes(2);
                       const at::ScalarType dtype = random.floating();
                       Values values{random.plain(s, dtype)};
                       if (scatter) values.emplace_back(random.tensor({s[1], s[0]}, dtype));
                       values.insert(values.end(), {Sizes{s[1], s[0]}, Sizes{1, s[1]}, 0});
                       return values;
                     }});
  }
  for (const char* op : {"aten::view", "aten::_unsafe_view", "aten::_reshape_copy"}) {
    calls.push_back({op, [](Random& random) {
                       const at::Tensor self =
                           random.plain(random.any_sizes(0, 4), random.any_dtype());
                       return Values{self, Sizes{self.numel()}};
                     }});
  }
  calls.push_back({"aten::_reshape_alias", [](Random& random) {
                     const at::Tensor self = random.plain(random.sizes(2), random.any_dtype());
                     return Values{self, Sizes{self.numel()}, Sizes{1}};
                   }});
  calls.push_back({"aten::view.dtype", [](Random& random) {
                     return Values{random.plain(random.any_sizes(1, 4), at::kFloat),
                                   static_cast<std::int64_t>(random.coin() ? at::kInt : at::kHalf)};
                   }});
  for (const char* op : {"aten::view_as_complex", "aten::view_as_real"}) {
    const bool to_real = std::string(op) == "aten::view_as_real";
    calls.push_back({op, [to_real](Random& random) {
                       Sizes sizes = random.any_sizes(0, 3);
                       if (!to_real) sizes.push_back(2);
                       return Values{random.plain(sizes, to_real ? at::kComplexFloat : at::kFloat)};
                     }});
  }
  for (const char* op : {"aten::permute", "aten::expand", "aten::repeat"}) {
    const std::string text = op;
    calls.push_back({op, [text](Random& random) {
                       const Sizes sizes = random.any_sizes(1, 4);
                       Sizes numbers;
                       for (std::size_t i = 0; i < sizes.size(); ++i) {
                         if (text == "aten::permute") {
                           numbers.push_back(static_cast<std::int64_t>(sizes.size() - 1 - i));
                         } else {
                           numbers.push_back(text == "aten::expand" ? sizes[i]
                                                                    : random.number(1, 2));
                         }
                       }
                       Values values{random.tensor(sizes, random.any_dtype()), numbers};
                       if (text == "aten::expand") values.emplace_back(false);
                       return values;
                     }});
  }
  for (const char* op : {"aten::split_with_sizes", "aten::unsafe_split_with_sizes"}) {
    calls.push_back({op, [](Random& random) {
                       const Along a(random, random.any_dtype(), true);
                       const std::int64_t first = random.number(0, a.length);
                       return Values{a.self, Sizes{first, a.length - first}, a.dimension};
                     }});
  }
  // As many results as the dimension is long: at most a few thousand.
  constexpr std::int64_t kLongest = 2000;
  for (const char* op : {"aten::split.Tensor", "aten::unsafe_split.Tensor"}) {
    calls.push_back({op, [](Random& random) {
                       const Sizes sizes{random.number(1, kLongest), random.number(1, kLongest)};
                       return Values{random.tensor(sizes, random.any_dtype()),
                                     random.number(1, 100),
                                     random.number(0, 1)};
                     }});
  }
  calls.push_back({"aten::unbind.int", [](Random& random) {
                     const Sizes sizes{random.number(1, kLongest), random.number(1, kLongest)};
                     return Values{random.tensor(sizes, random.any_dtype()), random.number(0, 1)};
                   }});
  calls.push_back({"aten::unfold", [](Random& random) {
                     const Along a(random, random.any_dtype(), true);
                     return Values{a.self, a.dimension, random.number(1, a.length), 1};
                   }});
  calls.push_back({"aten::_pack_padded_sequence", [](Random& random) {
                     const Sizes s = random.sizes(3);
                     return Values{
                         random.plain(s, random.floating()),
                         at::Tensor(random.plain({s[1]}, at::kLong).zero_().add_(s[0])).cpu(),
                         false};
                   }});
}

void add_order(RandomCalls& calls) {
  calls.push_back(
      {"aten::topk", [](Random& random) {
         const Along a(random, random.floating(), true);
         return Values{
             a.self, random.number(1, a.length), a.dimension, random.coin(), random.coin()};
       }});
  calls.push_back({"aten::kthvalue", [](Random& random) {
                     const Along a(random, random.floating(), true);
                     return Values{a.self, random.number(1, a.length), a.dimension, random.coin()};
                   }});
  calls.push_back({"aten::sort", [](Random& random) {
                     const Along a(random, random.any_dtype(), true);
                     return Values{a.self, a.dimension, random.coin()};
                   }});
  calls.push_back({"aten::sort.stable", [](Random& random) {
                     const Along a(random, random.any_dtype(), true);
                     return Values{a.self, random.coin(), a.dimension, random.coin()};
                   }});
}

}  // namespace

RandomCalls structured_indexing_calls() {
  RandomCalls calls;
  add_by_slices(calls);
  add_by_elements(calls);
  add_by_tensors(calls);
  add_parts(calls);
  add_order(calls);
  return calls;
}

}  // namespace elixir::capture
