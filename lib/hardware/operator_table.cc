// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/operator_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "hardware/line_fit.h"

namespace elixir::hardware {
namespace {

/// With fewer calls, a fit would only describe those calls.
constexpr std::size_t kLeastForFit = 8;
/// No interpolation between neighbours that differ by more than this factor in work (bytes or
/// operations), because such different sizes run different code.
constexpr double kWidestSpan = 256;
/// The correction of a neighbour farther away than this factor is not used.
constexpr double kFarthestNeighbour = 16;
constexpr double kTolerance = 1e-9;
/// Calls farther off the line have their own efficiency.
constexpr double kAgreement = 0.2;
constexpr char kUnaligned = '~';  // in a kind, after a tensor with unaligned rows

/// The numbers of a list such as "64,32]". Stops at the first character that is not part of it.
std::vector<std::int64_t> numbers_in(const char* at, const char* end) {
  std::vector<std::int64_t> numbers;
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) break;
    numbers.push_back(value);
    if (next >= end || *next != ',') break;
    at = next + 1;
  }
  return numbers;
}

/// "10" for a transposed matrix, "01" for a dense one, "e" for a dimension without memory.
std::string order_of(const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> order(strides.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return strides[a] > strides[b];
  });
  std::string text;
  for (const std::size_t dimension : order) {
    text += strides[dimension] == 0 ? std::string("e") : std::to_string(dimension);
  }
  return text;
}

/// The size of the dtype at the end of `text`; that of fp32 if there is none.
std::int64_t element_bytes_of(const std::string& text) {
  const std::size_t start = text.find_last_of("(,{;") + 1;
  const auto dtype = program::dtype_named(std::string_view(text).substr(start));
  return program::element_bytes(dtype.value_or(program::DType::kFloat32));
}

/// Whether the rows of a matrix begin at multiples of 16 bytes, both its own and those of the
/// matrix it is multiplied into. Kernels move such memory in wide pieces. A product of other
/// matrices takes several times as long.
bool rows_aligned(const std::vector<std::int64_t>& sizes,
                  const std::vector<std::int64_t>& strides,
                  std::int64_t element_bytes) {
  constexpr std::int64_t kWideBytes = 16;
  const auto aligned = [&](std::int64_t elements) {
    return elements * element_bytes % kWideBytes == 0;
  };
  return sizes.size() < 2 ||
         (aligned(sizes.back()) && std::all_of(strides.begin(), strides.end(), [&](auto stride) {
            return stride == 1 || aligned(stride);
          }));
}

bool is_number_start(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.';
}

double distance(const OperatorWork& a, const OperatorWork& b) {
  const auto along = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(x, 1)) /
                             static_cast<double>(std::max<std::int64_t>(y, 1))));
  };
  return std::max(along(a.touched_bytes, b.touched_bytes), along(a.flops, b.flops));
}

bool no_more(const OperatorWork& a, const OperatorWork& b) {
  return a.touched_bytes <= b.touched_bytes && a.flops <= b.flops;
}

}  // namespace

std::string operator_kind(const std::string& key) {
  std::string kind;
  const char* at = key.data();
  const char* const end = key.data() + key.size();
  bool value_start = false;  // an argument begins here
  while (at < end) {
    const char c = *at;
    if (c == '[') {
      // [sizes]/[strides]: keep only the order of the strides, and whether rows are aligned.
      const char* close = std::find(at, end, ']');
      const char* open = std::find(close, end, '[');
      const char* last = std::find(open, end, ']');
      if (last == end) break;
      const std::vector<std::int64_t> sizes = numbers_in(at + 1, close + 1);
      const std::vector<std::int64_t> strides = numbers_in(open + 1, last);
      const std::int64_t element_bytes = element_bytes_of(kind);
      kind += '/';
      kind += order_of(strides);
      if (!rows_aligned(sizes, strides, element_bytes)) kind += kUnaligned;
      at = last + 1;
      value_start = false;
    } else if (value_start && is_number_start(c)) {
      if (c == '-' && (at + 1 == end || !is_number_start(at[1]))) {
        kind += c;  // an argument without a value
        ++at;
      } else {
        kind += '#';
        while (at < end && *at != ',' && *at != ')' && *at != ';' && *at != '}') ++at;
      }
      value_start = false;
    } else if (value_start && c == '(') {
      kind += '#';
      at = std::min(end, std::find(at, end, ')') + 1);
      value_start = false;
    } else {
      kind += c;
      value_start = c == '(' || c == ',' || c == '{' || c == ';';
      ++at;
    }
  }
  return kind;
}

void OperatorTable::add(const OperatorTime& time) {
  constexpr double kLeastNs =
      1e-3;  // below, nothing was measured, and squares leave the range of numbers
  if (!time.touched_bytes || !time.flops || time.time_ns.median < kLeastNs) return;
  program::DType dtype = program::DType::kFloat32;
  if (time.key.find("bfloat16") != std::string::npos) {
    dtype = program::DType::kBFloat16;
  } else if (time.key.find("float16") != std::string::npos) {
    dtype = program::DType::kFloat16;
  }
  kinds_[operator_kind(time.key)].push_back(
      {{*time.touched_bytes, *time.flops, dtype}, time.time_ns.median});
  ++points_;
}

void OperatorTable::fit(const Prior& prior) {
  fit_ = Fit{};
  if (points_ < kLeastForFit) return;
  // Splits the calls into those limited by memory and those limited by arithmetic, by the prior.
  std::vector<TimedBytes> memory, arithmetic;
  for (const auto& [kind, points] : kinds_) {
    const bool aligned = kind.find(kUnaligned) == std::string::npos;
    for (const Point& point : points) {
      OperatorWork idle = point.work;
      idle.flops = 0;
      const double memory_ns = prior(idle), all_ns = prior(point.work);
      if (all_ns <= memory_ns) {
        memory.push_back({memory_ns, point.time_ns});
      } else if (aligned) {
        arithmetic.push_back({all_ns, point.time_ns});
      }
    }
  }
  const auto fit = [](const std::vector<TimedBytes>& points, std::size_t least, Line& line) {
    const auto found = fit_line_of_most(points, kAgreement, least);
    if (found) line = {found->latency_s, 1 / found->bytes_per_s};
  };
  fit(memory, kLeastForFit, fit_.memory);
  fit(arithmetic, kLeastForFit / 2, fit_.arithmetic);
}

double OperatorTable::fitted_ns(const OperatorWork& work, const Prior& prior) const {
  OperatorWork idle = work;
  idle.flops = 0;
  const double memory_ns = prior(idle), all_ns = prior(work);
  const double by_memory = fit_.memory.start_ns + memory_ns * fit_.memory.slowdown;
  if (all_ns <= memory_ns) return by_memory;
  return std::max(by_memory, fit_.arithmetic.start_ns + all_ns * fit_.arithmetic.slowdown);
}

OperatorTable::Estimate OperatorTable::estimate(const std::string& key,
                                                const OperatorWork& work,
                                                const Prior& prior) const {
  const double own = fitted_ns(work, prior);
  if (kinds_.empty() || own <= 0) return {own, false};
  const auto kind = kinds_.find(operator_kind(key));
  if (kind == kinds_.end()) return {own, false};

  const Point *below = nullptr, *above = nullptr, *nearest = nullptr;
  const auto closer = [&](const Point& point, const Point* than) {
    return than == nullptr || distance(point.work, work) < distance(than->work, work);
  };
  for (const Point& point : kind->second) {
    if (no_more(point.work, work) && closer(point, below)) below = &point;
    if (no_more(work, point.work) && closer(point, above)) above = &point;
    if (closer(point, nearest)) nearest = &point;
  }
  const auto correction = [&](const Point& point) {
    return std::log(point.time_ns / std::max(fitted_ns(point.work, prior), kTolerance));
  };
  if (below != nullptr && above != nullptr) {
    const double left = distance(below->work, work), right = distance(work, above->work);
    if (left + right <= std::log(kWidestSpan)) {
      const double t = left + right > kTolerance ? left / (left + right) : 0.5;
      return {own * std::exp((1 - t) * correction(*below) + t * correction(*above)), true};
    }
  }
  if (distance(nearest->work, work) <= std::log(kFarthestNeighbour)) {
    return {own * std::exp(correction(*nearest)), false};
  }
  return {own, false};
}

}  // namespace elixir::hardware
