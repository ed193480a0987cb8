// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/profile/measured.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/units.h"
#include "process/child.h"
#include "process/subprocess.h"
#include "report/profile/byte_unit.h"
#include "report/terminal/table.h"

namespace elixir::tools {
namespace {

constexpr const char* kPeaks[] = {"peak_allocated_bytes", "peak_reserved_bytes", "process_bytes"};
constexpr const char* kWays[] = {"autograd", "replay"};

/// The error that the other process printed as JSON.
Error error_of(const process::ProcessResult& result, const std::string& command) {
  const Json document = Json::parse(result.output, nullptr, /*allow_exceptions=*/false);
  if (document.is_object() && document.contains("diagnostics")) {
    for (const Json& diagnostic : document["diagnostics"]) {
      if (diagnostic.value("severity", "") != "error") continue;
      // "EX0601"
      const std::string code = diagnostic.value("code", "EX0901").substr(2);
      return Error(static_cast<ErrorCode>(std::stoi(code)),
                   std::string(diagnostic.value("message", "measuring failed")))
          .help(diagnostic.value("help", std::vector<std::string>{}));
    }
  }
  return Error(ErrorCode::kDeviceFailure,
               "measuring ended with exit code {} and printed no error",
               result.exit_code)
      .help("see what it says: {}", command);
}

Json measure_step(const ProfileOptions& options, const std::string& how) {
  const std::filesystem::path program = process::helper_program("elixir-measure-step");
  if (!std::filesystem::exists(program)) {
    throw Error(
        ErrorCode::kMissingFeature, "--measure needs {}, which is not there", program.string())
        .help("install Elixir whole, trainer included");
  }
  std::vector<std::string> arguments = step_arguments(options);
  arguments.insert(arguments.end(), {"--how", how, "--json", "--quiet"});
  std::vector<std::pair<std::string, std::string>> variables;
  variables.emplace_back("PYTORCH_ALLOC_CONF", options.allocator.value_or(""));
  const process::ProcessResult result = process::run_process(program, arguments, variables);
  if (result.exit_code != 0) {
    throw error_of(result, fmt::format("{} {}", program.string(), fmt::join(arguments, " ")));
  }
  return Json::parse(result.output).at("document");
}

std::optional<std::int64_t> figure(const Json& peaks, const char* key) {
  const Json& value = peaks.at(key);
  return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
}

std::string difference(std::optional<std::int64_t> predicted, std::int64_t measured) {
  constexpr double kPercent = 100.0;
  if (!predicted) return "-";
  if (*predicted == measured) return "equal";
  return fmt::format("{:+.3f} %",
                     kPercent * static_cast<double>(*predicted - measured) /
                         static_cast<double>(std::max<std::int64_t>(1, measured)));
}

std::string parting(const Json& step) {
  const Json& place = step.at("parts_at");
  if (place.is_null()) {
    return fmt::format("all {} requests and releases are as predicted",
                       format_count(step.at("events").get<std::int64_t>()));
  }
  std::string where = "outside of operators";
  if (!place.at("operator").is_null()) {
    where = fmt::format("at operator {}, {}",
                        place["operator"].get<std::int64_t>(),
                        place["name"].get<std::string>());
    if (!place.at("module").is_null()) {
      where += fmt::format(" in '{}'", place["module"].get<std::string>());
    }
  }
  return fmt::format(
      "after {} of {} requests and releases they part, in step {} {}: predicted {}, "
      "measured {}",
      format_count(place.at("events_before").get<std::int64_t>()),
      format_count(step.at("events").get<std::int64_t>()),
      place.at("step").get<int>(),
      where,
      place.at("predicted").get<std::string>(),
      place.at("measured").get<std::string>());
}

}  // namespace

Json measure_steps(const ProfileOptions& options) {
  Json measured = Json::object();
  for (const char* how : kWays) measured[how] = measure_step(options, how);
  return measured;
}

std::string measured_text(const Json& measured) {
  std::int64_t most = 0;
  for (const char* how : kWays) {
    for (const char* peak : kPeaks) {
      most = std::max(most, measured.at(how).at("measured").at(peak).get<std::int64_t>());
    }
  }
  const report::ByteUnit unit = report::unit_for(most);
  const std::string name(unit.name);
  report::Table table(
      {{"", "", report::Align::kLeft}, {"allocated", name}, {"reserved", name}, {"process", name}});
  const auto row = [&](const std::string& title, const Json& peaks) {
    std::vector<std::string> cells{title};
    for (const char* peak : kPeaks) {
      const auto bytes = figure(peaks, peak);
      cells.push_back(bytes ? report::in_unit(*bytes, unit) : "-");
    }
    table.row(std::move(cells));
  };
  std::string notes;
  for (const char* how : kWays) {
    const Json& step = measured.at(how);
    const bool replay = std::string_view(how) == "replay";
    const char* who = replay ? "Elixir's replay" : "LibTorch's autograd";
    row(fmt::format("{}, predicted", who), step.at("predicted"));
    row("  measured", step.at("measured"));
    std::vector<std::string> cells{"  difference"};
    for (const char* peak : kPeaks) {
      cells.push_back(difference(figure(step.at("predicted"), peak),
                                 step.at("measured").at(peak).get<std::int64_t>()));
    }
    table.row(std::move(cells));
    notes += fmt::format("{}: {}\n", who, parting(step));
  }
  return fmt::format("measured on {}, {} steps; process: all of the GPU that was in use\n{}{}",
                     measured.at("autograd").at("device").get<std::string>(),
                     measured.at("autograd").at("steps").get<int>(),
                     table.text(),
                     notes);
}

}  // namespace elixir::tools
