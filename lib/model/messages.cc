// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "model/messages.h"

#include <limits>
#include <utility>

#include "core/json.h"

namespace elixir::model {
namespace {

constexpr const char* kName = "what the process says that reads the model";

// --- parts ---------------------------------------------------------------------------------------

std::vector<std::int64_t> read_counts(const JsonCursor& cursor) {
  std::vector<std::int64_t> counts;
  for (const JsonCursor& item : cursor.items()) counts.push_back(item.non_negative());
  return counts;
}

std::vector<std::string> read_texts(const JsonCursor& cursor) {
  std::vector<std::string> texts;
  for (const JsonCursor& item : cursor.items()) texts.push_back(item.string());
  return texts;
}

program::DType read_dtype(const JsonCursor& cursor) {
  const std::string name = cursor.string();
  const auto dtype = program::dtype_named(name);
  if (!dtype) throw cursor.error(ErrorCode::kJsonBadValue, "unknown dtype `{}`", name);
  return *dtype;
}

Json to_json(const Geometry& geometry) {
  return {{"dtype", program::name_of(geometry.dtype)},
          {"sizes", geometry.sizes},
          {"strides", geometry.strides},
          {"offset", geometry.offset}};
}

Geometry read_geometry(const JsonCursor& cursor) {
  cursor.only_keys({"dtype", "sizes", "strides", "offset"});
  Geometry geometry{.dtype = read_dtype(cursor.at("dtype")),
                    .sizes = read_counts(cursor.at("sizes")),
                    .strides = read_counts(cursor.at("strides")),
                    .offset = cursor.at("offset").non_negative()};
  if (geometry.sizes.size() != geometry.strides.size()) {
    throw cursor.error(ErrorCode::kJsonBadValue,
                       "{} sizes but {} strides",
                       geometry.sizes.size(),
                       geometry.strides.size());
  }
  return geometry;
}

Json to_json(const InputSpec& input) {
  return {{"name", input.name}, {"dtype", program::name_of(input.dtype)}, {"sizes", input.sizes}};
}

InputSpec read_input(const JsonCursor& cursor) {
  cursor.only_keys({"name", "dtype", "sizes"});
  return {.name = cursor.at("name").string(),
          .dtype = read_dtype(cursor.at("dtype")),
          .sizes = read_counts(cursor.at("sizes"))};
}

std::vector<InputSpec> read_inputs(const JsonCursor& cursor) {
  std::vector<InputSpec> inputs;
  for (const JsonCursor& item : cursor.items()) inputs.push_back(read_input(item));
  return inputs;
}

Json to_json(const Record& record) {
  return {{"name", record.name},
          {"offset", record.offset},
          {"bytes", record.bytes},
          {"checksum", record.checksum}};
}

Record read_record(const JsonCursor& cursor) {
  cursor.only_keys({"name", "offset", "bytes", "checksum"});
  const std::int64_t checksum = cursor.at("checksum").non_negative();
  if (checksum > std::numeric_limits<std::uint32_t>::max()) {
    throw cursor.at("checksum").error(ErrorCode::kJsonBadValue, "{} has over 32 bits", checksum);
  }
  return {.name = cursor.at("name").string(),
          .offset = static_cast<std::uint64_t>(cursor.at("offset").non_negative()),
          .bytes = static_cast<std::uint64_t>(cursor.at("bytes").non_negative()),
          .checksum = static_cast<std::uint32_t>(checksum)};
}

template <class Values>
Json array_of(const Values& values) {
  Json array = Json::array();
  for (const auto& value : values) array.push_back(to_json(value));
  return array;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// --- errors --------------------------------------------------------------------------------------

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostTexts = 64;

std::string shown(std::string text) {
  if (text.size() > kLongestText) text.resize(kLongestText);
  return text;
}

std::vector<std::string> shown(std::vector<std::string> texts) {
  if (texts.size() > kMostTexts) texts.resize(kMostTexts);
  for (std::string& text : texts) text = shown(std::move(text));
  return texts;
}

std::optional<SourcePos> read_place(const JsonCursor& cursor) {
  if (cursor.is_null()) return std::nullopt;
  cursor.only_keys({"file", "byte_offset"});
  SourcePos where{.file = shown(cursor.at("file").string())};
  if (const auto offset = cursor.nullable("byte_offset")) where.byte_offset = offset->integer();
  return where;
}

Json to_json(const std::optional<SourcePos>& where) {
  if (!where) return nullptr;
  return {{"file", where->file}, {"byte_offset", value_or_null(where->byte_offset)}};
}

}  // namespace

bool lies_within(const Geometry& geometry, std::int64_t storage_bytes) {
  std::int64_t last = geometry.offset;
  for (std::size_t i = 0; i < geometry.sizes.size(); ++i) {
    if (geometry.sizes[i] == 0) return true;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(geometry.sizes[i] - 1, geometry.strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return last < storage_bytes / program::element_bytes(geometry.dtype);
}

// --- messages ------------------------------------------------------------------------------------

std::string text_of(const Ready& ready) {
  return text_of(Json{{"restricted", ready.restricted}, {"why_not", ready.why_not}});
}

Ready read_ready(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  return {.restricted = root.at("restricted").boolean(),
          .why_not = shown(root.at("why_not").string())};
}

std::string text_of(const Opened& opened) {
  Json state = Json::array();
  for (const StateEntry& entry : opened.state) {
    state.push_back({{"names", entry.names},
                     {"geometry", to_json(entry.geometry)},
                     {"storage_bytes", entry.storage_bytes},
                     {"record", entry.record ? to_json(*entry.record) : Json(nullptr)},
                     {"first_byte", entry.first_byte}});
  }
  return text_of(Json{{"state", std::move(state)},
                      {"recipe", value_or_null(opened.recipe)},
                      {"says_persistent", opened.says_persistent}});
}

Opened read_opened(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  Opened opened;
  for (const JsonCursor& item : root.at("state").items()) {
    item.only_keys({"names", "geometry", "storage_bytes", "record", "first_byte"});
    StateEntry entry{
        .names = read_texts(item.at("names")),
        .geometry = read_geometry(item.at("geometry")),
        .storage_bytes = item.at("storage_bytes").non_negative(),
        .record = std::nullopt,
        .first_byte = static_cast<std::uint64_t>(item.at("first_byte").non_negative())};
    if (const auto record = item.nullable("record")) entry.record = read_record(*record);
    if (entry.names.empty()) {
      throw item.at("names").error(ErrorCode::kJsonBadValue, "a tensor without a name");
    }
    if (!lies_within(entry.geometry, entry.storage_bytes)) {
      throw item.at("geometry").error(ErrorCode::kJsonBadValue, "a view beyond its storage");
    }
    opened.state.push_back(std::move(entry));
  }
  if (const auto recipe = root.nullable("recipe")) opened.recipe = recipe->string();
  opened.says_persistent = root.at("says_persistent").boolean();
  return opened;
}

std::string text_of(const CaptureRequest& request) {
  const Options& options = request.options;
  return text_of(Json{{"target", options.target.text()},
                      {"inputs", array_of(options.inputs)},
                      {"batch", value_or_null(options.batch)},
                      {"precision", name_of(options.precision)},
                      {"mode", name_of(options.mode)},
                      {"loss", options.loss},
                      {"backward", options.backward},
                      {"with_constants", request.with_constants}});
}

CaptureRequest read_capture_request(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  CaptureRequest request;
  Options& options = request.options;
  const auto target = program::Target::parse(root.at("target").string());
  require(target.has_value(), "a capture is asked for a target that does not exist");
  options.target = *target;
  options.inputs = read_inputs(root.at("inputs"));
  if (const auto batch = root.nullable("batch")) options.batch = batch->integer();
  options.precision = root.at("precision").choice(program::kPrecisions);
  options.mode = root.at("mode").choice(program::kModes);
  options.loss = root.at("loss").string();
  options.backward = root.at("backward").boolean();
  request.with_constants = root.at("with_constants").boolean();
  return request;
}

std::string text_of(const CaptureNotes& notes) {
  Json constants = Json::array();
  for (const auto& [storage, geometry] : notes.constants) {
    constants.push_back({{"storage", storage}, {"geometry", to_json(geometry)}});
  }
  return text_of(Json{{"warnings", notes.warnings},
                      {"unattributed_operators", notes.unattributed_operators},
                      {"constants", std::move(constants)}});
}

CaptureNotes read_capture_notes(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  CaptureNotes notes;
  notes.warnings = shown(read_texts(root.at("warnings")));
  notes.unattributed_operators = root.at("unattributed_operators").non_negative();
  for (const JsonCursor& item : root.at("constants").items()) {
    const std::int64_t storage = item.at("storage").non_negative();
    if (storage > std::numeric_limits<program::StorageId>::max()) {
      throw item.at("storage").error(ErrorCode::kJsonBadValue, "{} is no storage", storage);
    }
    notes.constants.emplace(static_cast<program::StorageId>(storage),
                            read_geometry(item.at("geometry")));
  }
  return notes;
}

std::string text_of(const ExportRequest& request) {
  Json tensors = Json::array();
  for (const ExportRequest::Tensor& tensor : request.tensors) {
    tensors.push_back({{"names", tensor.names},
                       {"dtype", program::name_of(tensor.dtype)},
                       {"sizes", tensor.sizes}});
  }
  return text_of(Json{{"tensors", std::move(tensors)}, {"inputs", array_of(request.inputs)}});
}

ExportRequest read_export_request(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  ExportRequest request;
  for (const JsonCursor& item : root.at("tensors").items()) {
    request.tensors.push_back({.names = read_texts(item.at("names")),
                               .dtype = read_dtype(item.at("dtype")),
                               .sizes = read_counts(item.at("sizes"))});
  }
  request.inputs = read_inputs(root.at("inputs"));
  return request;
}

std::string text_of(const ErrorInfo& error) {
  return text_of(Json{{"code", static_cast<int>(error.code)},
                      {"message", error.message},
                      {"where", to_json(error.where)},
                      {"notes", error.notes},
                      {"help", error.help}});
}

ErrorInfo read_error(std::string text) {
  const auto document = JsonDocument::parse(std::move(text), kName);
  const JsonCursor root = document->root();
  const std::int64_t code = root.at("code").integer();
  if (code < static_cast<int>(ErrorCode::kNotTorchScript) ||
      code > static_cast<int>(ErrorCode::kWrongTarget)) {
    throw root.at("code").error(ErrorCode::kJsonBadValue, "no error of a model: {}", code);
  }
  return {.code = static_cast<ErrorCode>(code),
          .message = shown(root.at("message").string()),
          .where = read_place(root.at("where")),
          .notes = shown(read_texts(root.at("notes"))),
          .help = shown(read_texts(root.at("help")))};
}

}  // namespace elixir::model
