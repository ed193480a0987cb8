// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/convolution_query.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "operators/convolution/memory_format.h"

namespace elixir::operators {
namespace {

using program::DType;
using Sizes = std::vector<std::int64_t>;

constexpr NameTable<DType, 4> kDTypes{{{DType::kFloat32, "fp32"},
                                       {DType::kFloat64, "fp64"},
                                       {DType::kBFloat16, "bf16"},
                                       {DType::kFloat16, "fp16"}}};
constexpr NameTable<bool, 2> kLayouts{{{false, "nchw"}, {true, "nhwc"}}};

/// Takes the next word off `text`.
std::string_view next_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

/// "x=1,2,3" with the key "x"; empty for anything else.
Sizes next_sizes(std::string_view& text, char key) {
  std::string_view word = next_word(text);
  if (word.size() < 3 || word[0] != key || word[1] != '=') return {};
  word.remove_prefix(2);
  Sizes sizes;
  while (true) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end == word.data()) return {};
    sizes.push_back(size);
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
    if (word.empty()) return sizes;
    if (word.front() != ',') return {};
    word.remove_prefix(1);
  }
}

bool all_within(const Sizes& sizes, std::int64_t least) {
  return std::all_of(sizes.begin(), sizes.end(), [least](std::int64_t size) {
    return size >= least && size <= kMostConvolutionSize;
  });
}

}  // namespace

std::vector<std::int64_t> ConvolutionQuery::output() const {
  Sizes sizes{input[0], filter[0]};
  for (std::size_t i = 0; i < stride.size(); ++i) {
    const std::int64_t reach = dilation[i] * (filter[i + 2] - 1) + 1;
    sizes.push_back((input[i + 2] + 2 * padding[i] - reach) / stride[i] + 1);
  }
  return sizes;
}

bool is_possible(const ConvolutionQuery& query) {
  const std::size_t rank = query.input.size();
  if (kDTypes.name_of(query.dtype).empty()) return false;
  if (rank != kImageRank && rank != kVolumeRank) return false;
  if (query.filter.size() != rank) return false;
  for (const Sizes* list : {&query.stride, &query.padding, &query.dilation}) {
    if (list->size() != rank - 2) return false;
  }
  if (!all_within(query.input, 1) || !all_within(query.filter, 1)) return false;
  if (!all_within(query.stride, 1) || !all_within(query.dilation, 1)) return false;
  if (!all_within(query.padding, 0) || query.groups < 1) return false;
  if (query.groups > kMostConvolutionSize) return false;
  return query.filter[1] * query.groups == query.input[1] && all_within(query.output(), 1);
}

std::string text_of(const ConvolutionQuery& query) {
  return fmt::format("{} {} {} x={} w={} s={} p={} d={} g={}",
                     kConvolutionPasses.name_of(query.pass),
                     kDTypes.name_of(query.dtype),
                     kLayouts.name_of(query.channels_last),
                     fmt::join(query.input, ","),
                     fmt::join(query.filter, ","),
                     fmt::join(query.stride, ","),
                     fmt::join(query.padding, ","),
                     fmt::join(query.dilation, ","),
                     query.groups);
}

std::optional<ConvolutionQuery> parse_convolution_query(std::string_view text) {
  const auto pass = kConvolutionPasses.named(next_word(text));
  const auto dtype = kDTypes.named(next_word(text));
  const auto channels_last = kLayouts.named(next_word(text));
  if (!pass || !dtype || !channels_last) return std::nullopt;
  ConvolutionQuery query{.pass = *pass, .dtype = *dtype, .channels_last = *channels_last};
  query.input = next_sizes(text, 'x');
  query.filter = next_sizes(text, 'w');
  query.stride = next_sizes(text, 's');
  query.padding = next_sizes(text, 'p');
  query.dilation = next_sizes(text, 'd');
  const Sizes groups = next_sizes(text, 'g');
  if (groups.size() != 1 || !text.empty()) return std::nullopt;
  query.groups = groups[0];
  if (!is_possible(query)) return std::nullopt;
  return query;
}

}  // namespace elixir::operators
