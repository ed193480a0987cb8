// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "gpu/scratch/evidence.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace elixir::tests {
namespace {

constexpr std::size_t kMismatchesKept = 5;
constexpr std::size_t kSizesKept = 12;

/// The counts, once for adding, writing and reading.
template <class Count>
void for_each_count(Count count) {
  count("drawn", &Evidence::drawn);
  count("calls", &Evidence::calls);
  count("exact", &Evidence::exact);
  count("measured", &Evidence::measured);
  count("modelled", &Evidence::modelled);
  count("other_sizes", &Evidence::other_sizes);
  count("other_peak", &Evidence::other_peak);
  count("other_order", &Evidence::other_order);
  count("without_scratch", &Evidence::without_scratch);
  count("modelled_without_scratch", &Evidence::modelled_without_scratch);
  count("modelled_as_predicted", &Evidence::modelled_as_predicted);
}

}  // namespace

void Evidence::add_mismatch(Mismatch mismatch) {
  if (mismatches.size() < kMismatchesKept) mismatches.push_back(std::move(mismatch));
}

void Evidence::add_scratch(std::int64_t bytes) {
  if (scratch_bytes.size() < kSizesKept) scratch_bytes.insert(bytes);
  largest_scratch_bytes = std::max(largest_scratch_bytes, bytes);
}

void Evidence::add(const Evidence& part) {
  for_each_count([&](const char*, std::int64_t Evidence::*count) { this->*count += part.*count; });
  if (refusal.empty()) refusal = part.refusal;
  for (const Mismatch& mismatch : part.mismatches) add_mismatch(mismatch);
  for (const std::int64_t bytes : part.scratch_bytes) add_scratch(bytes);
  largest_scratch_bytes = std::max(largest_scratch_bytes, part.largest_scratch_bytes);
  largest_elements = std::max(largest_elements, part.largest_elements);
  for (const auto& [dtype, count] : part.dtypes) dtypes[dtype] += count;
  for (const auto& [layout, count] : part.layouts) layouts[layout] += count;
  faults.insert(faults.end(), part.faults.begin(), part.faults.end());
}

void to_json(nlohmann::json& json, const Evidence& evidence) {
  json = {{"operator", evidence.op},
          {"refusal", evidence.refusal},
          {"scratch_bytes", evidence.scratch_bytes},
          {"largest_scratch_bytes", evidence.largest_scratch_bytes},
          {"largest_elements", evidence.largest_elements},
          {"dtypes", evidence.dtypes},
          {"layouts", evidence.layouts},
          {"faults", evidence.faults},
          {"mismatches", nlohmann::json::array()}};
  for_each_count(
      [&](const char* name, std::int64_t Evidence::*count) { json[name] = evidence.*count; });
  for (const Mismatch& mismatch : evidence.mismatches) {
    json["mismatches"].push_back({{"label", mismatch.label},
                                  {"kind", mismatch.kind},
                                  {"arguments", mismatch.arguments},
                                  {"predicted", mismatch.predicted},
                                  {"seen", mismatch.seen}});
  }
}

void from_json(const nlohmann::json& json, Evidence& evidence) {
  json.at("operator").get_to(evidence.op);
  json.at("refusal").get_to(evidence.refusal);
  json.at("scratch_bytes").get_to(evidence.scratch_bytes);
  json.at("largest_scratch_bytes").get_to(evidence.largest_scratch_bytes);
  json.at("largest_elements").get_to(evidence.largest_elements);
  json.at("dtypes").get_to(evidence.dtypes);
  json.at("layouts").get_to(evidence.layouts);
  json.at("faults").get_to(evidence.faults);
  for_each_count([&](const char* name, std::int64_t Evidence::*count) {
    json.at(name).get_to(evidence.*count);
  });
  for (const auto& mismatch : json.at("mismatches")) {
    evidence.mismatches.push_back({.label = mismatch.at("label"),
                                   .kind = mismatch.at("kind"),
                                   .arguments = mismatch.at("arguments"),
                                   .predicted = mismatch.at("predicted"),
                                   .seen = mismatch.at("seen")});
  }
}

}  // namespace elixir::tests
