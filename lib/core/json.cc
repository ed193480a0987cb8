// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/json.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "core/files.h"
#include "core/json/parse.h"
#include "core/json/place.h"
#include "elixir_config.h"

namespace elixir {
namespace {

void require_finite(const Json& value) {
  if (value.is_number_float()) {
    require(std::isfinite(value.get<double>()), "a document holds a number that is not finite");
  } else if (value.is_structured()) {
    for (const Json& item : value) require_finite(item);
  }
}

Json this_machine() {
  Json machine = Json::object();
  struct utsname system {};
  if (::uname(&system) == 0) {
    machine["host"] = system.nodename;
    machine["os"] = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  } else {
    machine["host"] = nullptr;
    machine["os"] = nullptr;
  }
  machine["cpu"] = nullptr;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos) {
      machine["cpu"] = line.substr(colon + 2);
      break;
    }
  }
  machine["logical_cpus"] = static_cast<std::int64_t>(::sysconf(_SC_NPROCESSORS_ONLN));
  return machine;
}

}  // namespace

// --- reading -------------------------------------------------------------------------------------

std::shared_ptr<const JsonDocument> JsonDocument::load(const std::string& path,
                                                       const JsonLimits& limits) {
  return parse(read_file(path, limits.bytes), path, limits);
}

std::shared_ptr<const JsonDocument> JsonDocument::load(
    const std::string& path,
    std::string_view schema,
    int major,
    const std::map<std::string, ElementVisitor>& streamed,
    const JsonLimits& limits) {
  return parse(read_file(path, limits.bytes), path, schema, major, streamed, limits);
}

std::shared_ptr<const JsonDocument> JsonDocument::parse(
    std::string text,
    std::string name,
    std::string_view schema,
    int major,
    const std::map<std::string, ElementVisitor>& streamed,
    const JsonLimits& limits) {
  auto document = std::make_shared<JsonDocument>();
  document->text_ = std::move(text);
  document->name_ = std::move(name);
  const auto done = [&](const std::string& key, Json& element) {
    const auto visitor = streamed.find(key);
    if (visitor == streamed.end()) return;
    // Writers put the schema first. If it comes later, the caller's root() finds the mistake.
    if (document->root().has("schema")) static_cast<void>(document->root(schema, major));
    visitor->second(JsonCursor(document.get(), &element));
    element = nullptr;
  };
  parse_json(document->text_, document->name_, document->value_, limits.values, done);
  return document;
}

std::shared_ptr<const JsonDocument> JsonDocument::parse(std::string text,
                                                        std::string name,
                                                        const JsonLimits& limits) {
  auto document = std::make_shared<JsonDocument>();
  document->text_ = std::move(text);
  document->name_ = std::move(name);
  parse_json(document->text_, document->name_, document->value_, limits.values, {});
  return document;
}

JsonCursor JsonDocument::root() const {
  return {this, &value_};
}

JsonCursor JsonDocument::root(std::string_view schema, int major) const {
  const JsonCursor root = this->root();
  if (!root.has("schema")) {
    throw root.error(ErrorCode::kWrongSchema,
                     "not an Elixir document: key `schema` is missing, expected `{}`",
                     schema);
  }
  const JsonCursor found = root.at("schema");
  if (found.string() != schema) {
    throw found.error(ErrorCode::kWrongSchema,
                      "the document is of schema `{}`, expected `{}`",
                      found.string(),
                      schema);
  }
  const JsonCursor version = root.at("schema_version");
  const std::string text = version.string();
  const std::string wanted = std::to_string(major) + ".";
  const bool well_formed =
      text.size() > wanted.size() && text.find_first_not_of("0123456789.") == std::string::npos;
  if (!well_formed || text.compare(0, wanted.size(), wanted) != 0) {
    throw version
        .error(ErrorCode::kWrongSchema,
               "schema version `{}` is not supported; this build reads {}.x",
               text,
               major)
        .help("write the document again with this version of Elixir");
  }
  return root;
}

std::optional<int> JsonDocument::line_of(const std::string& pointer) const {
  const auto offset = offset_of(text_, split_pointer(pointer));
  if (!offset) return std::nullopt;
  return line_at(text_, *offset);
}

std::optional<std::string> schema_of(const std::string& path) {
  return find_schema(read_file(path));
}

// --- writing -------------------------------------------------------------------------------------

Json make_meta(const std::string& tool, const std::vector<std::string>& argv) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);

  Json meta = Json::object();
  meta["tool"] = tool;
  meta["version"] = ELIXIR_VERSION;
  meta["argv"] = argv;
  meta["time"] = time.data();
  meta["machine"] = this_machine();
  return meta;
}

Json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string dump(const Json& value) {
  require_finite(value);
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace elixir
