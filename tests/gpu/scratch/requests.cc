// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "gpu/scratch/requests.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/allocation_unit.h"

namespace elixir::tests {
namespace {

std::vector<std::int64_t> sorted_sizes(const Requests& requests) {
  std::vector<std::int64_t> sizes;
  for (const Request& request : requests.list) sizes.push_back(request.bytes);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<int> sorted(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

bool same_order(const Requests& a, const Requests& b) {
  return std::equal(a.list.begin(),
                    a.list.end(),
                    b.list.begin(),
                    b.list.end(),
                    [](const Request& x, const Request& y) {
                      return x.bytes == y.bytes && sorted(x.released) == sorted(y.released);
                    }) &&
         sorted(a.released_last) == sorted(b.released_last);
}

}  // namespace

std::vector<int> Requests::take() {
  return std::exchange(released_last, {});
}

std::int64_t Requests::peak_bytes() const {
  std::int64_t held = 0;
  std::int64_t peak = 0;
  for (const Request& request : list) {
    for (const int ended : request.released) {
      held -= rounded_allocation(list.at(static_cast<std::size_t>(ended)).bytes);
    }
    held += rounded_allocation(request.bytes);
    peak = std::max(peak, held);
  }
  return peak;
}

std::string Requests::text() const {
  std::string text;
  const auto add = [&text](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  for (const Request& request : list) {
    for (const int ended : request.released) add(fmt::format("-{}", ended));
    add(fmt::format("{}{}", request.result ? 'r' : '+', request.bytes));
  }
  for (const int ended : released_last) add(fmt::format("-{}", ended));
  return text;
}

Requests predicted_requests(const operators::CallScript& script) {
  using Kind = operators::ScriptStep::Kind;
  Requests requests;
  std::map<int, int> request_of;  // by temporary
  for (const operators::ScriptStep& step : script.steps) {
    if (step.once || step.kind == Kind::kPersistent) continue;
    if (step.kind == Kind::kRelease) {
      requests.release(request_of.at(step.temporary));
      continue;
    }
    if (step.kind == Kind::kTemporary) {
      request_of[step.temporary] = static_cast<int>(requests.list.size());
    }
    requests.add(step.bytes);
    requests.list.back().result = step.kind == Kind::kOutput;
  }
  return requests;
}

Difference difference(const Requests& predicted, const Requests& seen) {
  if (same_order(predicted, seen)) return Difference::kNone;
  if (sorted_sizes(predicted) != sorted_sizes(seen)) return Difference::kSizes;
  return predicted.peak_bytes() == seen.peak_bytes() ? Difference::kOrder : Difference::kPeak;
}

}  // namespace elixir::tests
