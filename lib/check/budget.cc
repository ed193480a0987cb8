// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "check/budget.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/units.h"

namespace elixir::check {
namespace {

constexpr ByQuantity<QuantityInfo> kQuantities{{
    {Quantity::kPeakAllocated, "peak_allocated_bytes", "peak allocated", Measure::kBytes},
    {Quantity::kPeakReserved, "peak_reserved_bytes", "peak reserved", Measure::kBytes},
    {Quantity::kProcess, "process_bytes", "process memory", Measure::kBytes},
    {Quantity::kActivations, "activations_bytes", "activations", Measure::kBytes},
    {Quantity::kHost, "host_bytes", "host memory", Measure::kBytes},
    {Quantity::kParameters, "parameters", "parameters", Measure::kCount},
    {Quantity::kStepTime, "step_ns", "step time", Measure::kNanoseconds},
    {Quantity::kMeasuredCalls, "measured_calls", "measured calls", Measure::kCount},
    {Quantity::kModelledCalls, "modelled_calls", "modelled calls", Measure::kCount},
}};

std::vector<std::string> keys(std::string_view prefix) {
  std::vector<std::string> result;
  for (const QuantityInfo& info : kQuantities) {
    result.push_back(fmt::format("{}{}", prefix, info.key));
  }
  return result;
}

Quantity quantity_of(std::string_view key) {
  const auto* const found = std::find_if(kQuantities.begin(),
                                         kQuantities.end(),
                                         [&](const QuantityInfo& info) { return info.key == key; });
  require(found != kQuantities.end(), "a budget key that only_keys() should have refused");
  return found->quantity;
}

/// Reads values and remembers their positions in the document.
class Reader {
 public:
  explicit Reader(const JsonDocument& document) : document_(document) {}

  [[nodiscard]] Budget read() const {
    const JsonCursor root = document_.root("elixir.budget", 1);
    root.only_keys({"schema", "schema_version", "meta", "require", "limits", "baseline", "models"});
    if (!root.has("require") && !root.has("limits") && !root.has("baseline") &&
        !root.has("models")) {
      throw root.error(ErrorCode::kJsonMissingKey, "the budget limits nothing")
          .help("give `require`, `limits`, `baseline` or `models`");
    }
    if (root.has("meta")) static_cast<void>(root.at("meta").members());
    Budget budget;
    for (const auto& [quantity, limit] : read_required_and_limits(root, Null::kRefused)) {
      budget.rules.limits[index_of(quantity)] = limit;
    }
    if (root.has("baseline")) {
      ModelRules rules;
      read_baseline(root.at("baseline"), Null::kRefused, rules);
      budget.rules.baseline = std::move(rules.baseline);
      budget.rules.max_increase = std::move(rules.max_increase);
      for (auto& [quantity, increase] : rules.max_increases) {
        budget.rules.max_increases[index_of(quantity)] = std::move(increase);
      }
    }
    if (root.has("models")) {
      for (const JsonCursor& item : root.at("models").items()) {
        budget.models.push_back(read_model(item));
      }
    }
    return budget;
  }

 private:
  /// Whether null may replace a value. Null removes a limit, so it is allowed only where there is
  /// one to remove.
  enum class Null { kRefused, kLifts };

  [[nodiscard]] Origin origin_of(const JsonCursor& cursor) const {
    Origin origin;
    origin.place.file = document_.name();
    origin.place.pointer = cursor.pointer();
    origin.place.line = document_.line_of(origin.place.pointer);
    return origin;
  }

  [[nodiscard]] Limit read_limit(const JsonCursor& cursor, const QuantityInfo& info) const {
    if (!cursor.raw().is_string()) return {cursor.non_negative(), origin_of(cursor)};
    const std::string text = cursor.string();
    const auto value = parse_value(info.measure, text);
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    if (!value || !has_unit) {
      throw cursor
          .error(
              ErrorCode::kJsonBadValue, "`{}` is not a value for a limit of {}", text, info.title)
          .help(value ? fmt::format("a number ({}), or text with a unit", *value)
                      : expected_value(info.measure, text));
    }
    return {*value, origin_of(cursor)};
  }

  [[nodiscard]] std::vector<std::pair<Quantity, std::optional<Limit>>> read_limits(
      const JsonCursor& cursor, Null null) const {
    static const std::vector<std::string> kKeys = keys("max_");
    cursor.only_keys(kKeys);
    std::vector<std::pair<Quantity, std::optional<Limit>>> limits;
    constexpr std::size_t kPrefixBytes = 4;
    for (const auto& member : cursor.members()) {
      const QuantityInfo& info =
          info_of(quantity_of(std::string_view(member.first).substr(kPrefixBytes)));
      std::optional<Limit> limit;
      if (!member.second.is_null() || null == Null::kRefused) {
        limit = read_limit(member.second, info);
      }
      limits.emplace_back(info.quantity, std::move(limit));
    }
    return limits;
  }

  [[nodiscard]] Increase read_increase(const JsonCursor& cursor) const {
    constexpr double kLargestPercent = 1e6;
    const bool is_text = cursor.raw().is_string();
    const std::optional<double> percent =
        is_text ? parse_percent(cursor.string()) : std::optional<double>(cursor.number());
    if (!percent || *percent < 0 || *percent > kLargestPercent) {
      throw cursor
          .error(ErrorCode::kJsonBadValue, "{} is not an increase in percent", cursor.raw().dump())
          .help("a number from 0 to 1000000, or text such as \"2%\" or \"0.5%\"");
    }
    return {*percent, origin_of(cursor)};
  }

  /// `require` and `limits` of an object, where it has them.
  [[nodiscard]] std::vector<std::pair<Quantity, std::optional<Limit>>> read_required_and_limits(
      const JsonCursor& cursor, Null null) const {
    std::vector<std::pair<Quantity, std::optional<Limit>>> limits;
    if (cursor.has("require")) {
      const JsonCursor required = cursor.at("require");
      limits = limits_of(required.choice(kRequired), origin_of(required));
    }
    if (!cursor.has("limits")) return limits;
    for (auto& limit : read_limits(cursor.at("limits"), null)) {
      if (cursor.has("require") && counts_labels(limit.first)) {
        throw cursor.at("limits")
            .at(fmt::format("max_{}", info_of(limit.first).key))
            .error(
                ErrorCode::kJsonBadValue, "`require` limits {} already", info_of(limit.first).title)
            .help("give one of them");
      }
      limits.push_back(std::move(limit));
    }
    return limits;
  }

  void read_baseline(const JsonCursor& cursor, Null null, ModelRules& rules) const {
    if (cursor.is_null() && null == Null::kLifts) {
      rules.lifts_baseline = true;
      return;
    }
    cursor.only_keys({"path", "max_increase_percent"});
    if (cursor.has("path")) {
      const JsonCursor path = cursor.at("path");
      if (path.string().empty()) {
        throw path.error(ErrorCode::kJsonBadValue, "the path is empty")
            .help("a file or a directory");
      }
      const std::filesystem::path directory = std::filesystem::path(document_.name()).parent_path();
      rules.baseline = BaselinePath{(directory / path.string()).string(), origin_of(path)};
    }
    if (!cursor.has("max_increase_percent")) return;
    const JsonCursor increase = cursor.at("max_increase_percent");
    if (!increase.raw().is_object()) {
      rules.max_increase = read_increase(increase);
      return;
    }
    static const std::vector<std::string> kKeys = keys("");
    increase.only_keys(kKeys);
    for (const auto& member : increase.members()) {
      rules.max_increases.emplace_back(quantity_of(member.first), read_increase(member.second));
    }
  }

  [[nodiscard]] static std::string read_glob(const JsonCursor& cursor) {
    std::string glob = cursor.string();
    if (glob.empty() || glob.find('/') != std::string::npos) {
      throw cursor.error(ErrorCode::kJsonBadValue, "`{}` matches no file name", glob)
          .help("a glob for the name alone, without directories: \"gpt2*.profile.json\"");
    }
    return glob;
  }

  [[nodiscard]] ModelRules read_model(const JsonCursor& cursor) const {
    cursor.only_keys({"files", "require", "limits", "baseline"});
    ModelRules model;
    model.origin = origin_of(cursor);
    const JsonCursor files = cursor.at("files");
    if (files.raw().is_string()) {
      model.files.push_back(read_glob(files));
    } else {
      for (const JsonCursor& item : files.items()) model.files.push_back(read_glob(item));
      if (model.files.empty()) throw files.error(ErrorCode::kJsonBadValue, "the list is empty");
    }
    model.limits = read_required_and_limits(cursor, Null::kLifts);
    if (cursor.has("baseline")) read_baseline(cursor.at("baseline"), Null::kLifts, model);
    return model;
  }

  const JsonDocument& document_;
};

}  // namespace

const ByQuantity<QuantityInfo>& quantities() {
  return kQuantities;
}

const QuantityInfo& info_of(Quantity quantity) {
  return kQuantities[index_of(quantity)];
}

std::vector<std::pair<Quantity, std::optional<Limit>>> limits_of(Required required,
                                                                 const Origin& origin) {
  std::optional<Limit> measured;
  std::optional<Limit> modelled;
  if (required == Required::kExact) measured = Limit{.value = 0, .origin = origin};
  if (required != Required::kModelled) modelled = Limit{.value = 0, .origin = origin};
  return {{Quantity::kMeasuredCalls, measured}, {Quantity::kModelledCalls, modelled}};
}

std::optional<std::int64_t> parse_value(Measure measure, std::string_view text) {
  switch (measure) {
    case Measure::kBytes:
      return parse_bytes(text);
    case Measure::kNanoseconds:
      return parse_duration_ns(text);
    case Measure::kCount:
      return parse_count(text);
  }
  return std::nullopt;
}

std::string expected_value(Measure measure, std::string_view text) {
  switch (measure) {
    case Measure::kBytes:
      return expected_bytes(text);
    case Measure::kNanoseconds:
      return "a time such as 250ms or 1.5s; units: ns us ms s min h";
    case Measure::kCount:
      return "a count such as 124439808, 125M or 1.3B; units: k M B T";
  }
  return "";
}

std::string format_value(Measure measure, std::int64_t value) {
  switch (measure) {
    case Measure::kBytes:
      return format_bytes(value);
    case Measure::kNanoseconds:
      return format_ns(static_cast<double>(value));
    case Measure::kCount:
      return format_count(value);
  }
  return "";
}

bool Rules::limits_increase() const {
  return max_increase || std::any_of(max_increases.begin(),
                                     max_increases.end(),
                                     [](const auto& increase) { return increase.has_value(); });
}

bool Rules::empty() const {
  return !limits_increase() && std::none_of(limits.begin(), limits.end(), [](const auto& limit) {
    return limit.has_value();
  });
}

bool matches(const ModelRules& model, const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return std::any_of(model.files.begin(), model.files.end(), [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

Rules rules_for(const Budget& budget, const std::string& path) {
  Rules rules = budget.rules;
  for (const ModelRules& model : budget.models) {
    if (!matches(model, path)) continue;
    for (const auto& [quantity, limit] : model.limits) rules.limits[index_of(quantity)] = limit;
    if (model.lifts_baseline) {
      rules.baseline.reset();
      rules.max_increase.reset();
      rules.max_increases = {};
    }
    if (model.baseline) rules.baseline = model.baseline;
    if (!model.max_increase && model.max_increases.empty()) continue;
    rules.max_increase = model.max_increase;
    rules.max_increases = {};
    for (const auto& [quantity, increase] : model.max_increases) {
      rules.max_increases[index_of(quantity)] = increase;
    }
  }
  return rules;
}

Budget load_budget(const std::string& path) {
  return parse_budget(*JsonDocument::load(path));
}

Budget parse_budget(const JsonDocument& document) {
  return Reader(document).read();
}

}  // namespace elixir::check
