// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "check/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::check {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Budget parsed(const std::string& members, const std::string& name = "ci/budget.json") {
  return parse_budget(*JsonDocument::parse(
      "{\"schema\": \"elixir.budget\", \"schema_version\": \"1.0\",\n" + members + "}", name));
}

ErrorInfo refused(const std::string& members) {
  try {
    static_cast<void>(parsed(members));
  } catch (const Error& error) {
    return error.info();
  }
  ADD_FAILURE() << "accepted: " << members;
  return {};
}

std::optional<std::int64_t> limit(const Rules& rules, Quantity quantity) {
  const auto& found = rules.limits[index_of(quantity)];
  return found ? std::optional<std::int64_t>(found->value) : std::nullopt;
}

TEST(Budget, TakesNumbersInBaseUnitsAndTextWithUnits) {
  const Rules rules = rules_for(parsed(R"("limits": {"max_peak_allocated_bytes": "20GiB",
      "max_peak_reserved_bytes": 1000, "max_process_bytes": "1.5 GB", "max_activations_bytes": "7B",
      "max_host_bytes": 0, "max_parameters": "1.3B", "max_step_ns": "250ms"})"),
                                "x.json");
  EXPECT_EQ(limit(rules, Quantity::kPeakAllocated), 20_GiB);
  EXPECT_EQ(limit(rules, Quantity::kPeakReserved), 1000);
  EXPECT_EQ(limit(rules, Quantity::kProcess), 1'500'000'000);
  EXPECT_EQ(limit(rules, Quantity::kActivations), 7);
  EXPECT_EQ(limit(rules, Quantity::kHost), 0);
  EXPECT_EQ(limit(rules, Quantity::kParameters), 1'300'000'000);
  EXPECT_EQ(limit(rules, Quantity::kStepTime), 250'000'000);
  EXPECT_FALSE(rules.empty());
  EXPECT_FALSE(rules.limits_increase());
}

TEST(Budget, RequiresLabels) {
  const auto limits = [](const char* word) {
    const Rules rules = rules_for(
        parsed(fmt::format(R"("require": "{}", "limits": {{"max_step_ns": 1}})", word)), "x");
    return std::pair(limit(rules, Quantity::kMeasuredCalls),
                     limit(rules, Quantity::kModelledCalls));
  };
  using Limits = std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>;
  EXPECT_EQ(limits("exact"), Limits(0, 0));
  EXPECT_EQ(limits("measured"), Limits(std::nullopt, 0));
  EXPECT_EQ(limits("modelled"), Limits(std::nullopt, std::nullopt));
  const Budget budget = parsed(R"("require": "exact",
      "models": [{"files": "a", "require": "measured"}, {"files": "b", "require": "modelled"}])");
  EXPECT_EQ(budget.rules.limits[index_of(Quantity::kModelledCalls)]->origin.place.pointer,
            "/require");
  EXPECT_EQ(limit(rules_for(budget, "a"), Quantity::kMeasuredCalls), std::nullopt);
  EXPECT_EQ(limit(rules_for(budget, "a"), Quantity::kModelledCalls), 0);
  EXPECT_TRUE(rules_for(budget, "b").empty());
  EXPECT_EQ(refused(R"("require": "certain")").where->pointer, "/require");
  const ErrorInfo both = refused(R"("require": "exact", "limits": {"max_modelled_calls": 3})");
  EXPECT_EQ(both.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(both.where->pointer, "/limits/max_modelled_calls");
}

TEST(Budget, RemembersWhereALimitStands) {
  const Budget budget = parsed("\"limits\":\n{\"max_step_ns\":\n1}");
  const Origin& origin = budget.rules.limits[index_of(Quantity::kStepTime)]->origin;
  EXPECT_EQ(origin.flag, "");
  EXPECT_EQ(origin.place.file, "ci/budget.json");
  EXPECT_EQ(origin.place.pointer, "/limits/max_step_ns");
  EXPECT_EQ(origin.place.line, 4);
}

TEST(Budget, ModelsChangeWhatTheyNameInOrder) {
  const Budget budget = parsed(R"("limits": {"max_peak_allocated_bytes": 10, "max_parameters": 5},
    "models": [
      {"files": "gpt*.json", "limits": {"max_peak_allocated_bytes": 20}},
      {"files": ["x.json", "gpt[0-9].json"], "limits": {"max_parameters": null, "max_step_ns": 3}},
      {"files": "gpt2.*", "limits": {"max_peak_allocated_bytes": 30}}])");
  const Rules other = rules_for(budget, "gpt/other.json");
  EXPECT_EQ(limit(other, Quantity::kPeakAllocated), 10);
  EXPECT_EQ(limit(other, Quantity::kParameters), 5);
  const Rules named = rules_for(budget, "out/gpt-j.json");
  EXPECT_EQ(limit(named, Quantity::kPeakAllocated), 20);
  EXPECT_EQ(limit(named, Quantity::kParameters), 5);
  const Rules gpt2 = rules_for(budget, "out/gpt2.json");
  EXPECT_EQ(limit(gpt2, Quantity::kPeakAllocated), 30);
  EXPECT_EQ(limit(gpt2, Quantity::kParameters), std::nullopt);
  EXPECT_EQ(limit(gpt2, Quantity::kStepTime), 3);
}

TEST(Budget, BaselinesAreRelativeToTheDocument) {
  const std::string members = R"("baseline": {"path": "old/x.json", "max_increase_percent": "2%"})";
  EXPECT_EQ(parsed(members).rules.baseline->path, "ci/old/x.json");
  EXPECT_EQ(parsed(members, "budget.json").rules.baseline->path, "old/x.json");
  EXPECT_EQ(parsed(R"("baseline": {"path": "/abs/x.json"})").rules.baseline->path, "/abs/x.json");
  EXPECT_EQ(parsed(members).rules.max_increase->percent, 2.0);
}

TEST(Budget, IncreasesAreReplacedAsAWholeAndLiftedByNull) {
  const Budget budget = parsed(R"("baseline": {"path": "old",
      "max_increase_percent": {"peak_allocated_bytes": 0.5, "parameters": "0 %"}},
    "models": [{"files": "a", "baseline": {"max_increase_percent": 7}},
               {"files": "b", "baseline": {"path": "b.json"}},
               {"files": "c", "baseline": null}])");
  const auto own = [](const Rules& rules, Quantity quantity) {
    const auto& increase = rules.max_increases[index_of(quantity)];
    return increase ? increase->percent : -1;
  };
  const Rules all = rules_for(budget, "z");
  EXPECT_FALSE(all.max_increase);
  EXPECT_EQ(own(all, Quantity::kPeakAllocated), 0.5);
  EXPECT_EQ(own(all, Quantity::kParameters), 0.0);
  EXPECT_EQ(own(all, Quantity::kStepTime), -1);
  const Rules a = rules_for(budget, "a");
  EXPECT_EQ(a.max_increase->percent, 7);
  EXPECT_EQ(own(a, Quantity::kPeakAllocated), -1);
  EXPECT_EQ(a.baseline->path, "ci/old");
  const Rules b = rules_for(budget, "b");
  EXPECT_EQ(b.baseline->path, "ci/b.json");
  EXPECT_EQ(own(b, Quantity::kParameters), 0.0);
  const Rules c = rules_for(budget, "c");
  EXPECT_FALSE(c.baseline);
  EXPECT_FALSE(c.limits_increase());
  EXPECT_TRUE(c.empty());
}

TEST(Budget, UnknownKeysAreNamedWithTheNearest) {
  const ErrorInfo info = refused("\"limits\": {\n\"max_peak_alocated_bytes\": 1}");
  EXPECT_EQ(info.code, ErrorCode::kJsonUnknownKey);
  EXPECT_EQ(info.where->pointer, "/limits/max_peak_alocated_bytes");
  EXPECT_EQ(info.where->line, 3);
  EXPECT_THAT(info.help, Contains(HasSubstr("did you mean `max_peak_allocated_bytes`")));
  EXPECT_EQ(refused(R"("limit": {})").code, ErrorCode::kJsonUnknownKey);
  EXPECT_EQ(refused(R"("models": [{"files": "x", "limts": {}}])").where->pointer,
            "/models/0/limts");
  EXPECT_EQ(refused(R"("baseline": {"max_increase": 2})").code, ErrorCode::kJsonUnknownKey);
}

TEST(Budget, UnknownUnitsAreNamedWithWhatWouldBeRight) {
  const ErrorInfo info = refused(R"("limits": {"max_process_bytes": "20G"})");
  EXPECT_EQ(info.code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(info.where->pointer, "/limits/max_process_bytes");
  EXPECT_THAT(info.help, Contains("20GiB (1024) or 20GB (1000)"));
  EXPECT_THAT(refused(R"("limits": {"max_step_ns": "20GiB"})").help, Contains(HasSubstr("250ms")));
  EXPECT_THAT(refused(R"("limits": {"max_parameters": "20GiB"})").help,
              Contains(HasSubstr("1.3B")));
  // Text without a unit is ambiguous.
  EXPECT_EQ(refused(R"("limits": {"max_process_bytes": "20"})").code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(refused(R"("limits": {"max_process_bytes": ""})").code, ErrorCode::kJsonBadValue);
  for (const char* percent : {"\"2\"", "\"-2%\"", "-0.1", "1e7", "\"2 percent\"", "\"\""}) {
    const std::string text(percent);
    EXPECT_EQ(refused("\"baseline\": {\"max_increase_percent\": " + text + "}").code,
              ErrorCode::kJsonBadValue)
        << percent;
  }
}

TEST(Budget, WrongTypesAreRefused) {
  for (const char* members : {R"("limits": {"max_parameters": true})",
                              R"("limits": {"max_parameters": 1.5})",
                              R"("limits": {"max_parameters": null})",
                              R"("limits": 3)",
                              R"("baseline": null)",
                              R"("baseline": {"path": 3})",
                              R"("baseline": {"max_increase_percent": null})",
                              R"("models": {})",
                              R"("models": [{"files": 3}])",
                              R"("models": [{"files": [3]}])",
                              R"("meta": 3, "limits": {})"}) {
    EXPECT_EQ(refused(members).code, ErrorCode::kJsonType) << members;
  }
  EXPECT_EQ(refused(R"("limits": {"max_parameters": -1})").code, ErrorCode::kJsonBadValue);
  EXPECT_EQ(refused(R"("limits": {"max_parameters": 9223372036854775808})").code,
            ErrorCode::kJsonBadValue);
}

TEST(Budget, QuantitiesAreInTheOrderOfTheirIndices) {
  for (std::size_t i = 0; i < kQuantityCount; ++i) {
    EXPECT_EQ(index_of(quantities()[i].quantity), i);
  }
}

}  // namespace
}  // namespace elixir::check
