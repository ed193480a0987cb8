// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/document.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/document/check.h"

namespace elixir::program {
namespace {

constexpr const char* kSchema = "elixir.profile";
constexpr std::size_t kFlushBytes = 1 << 16;

// --- Writing -------------------------------------------------------------------------------------

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string float_value(double value) {
  if (std::isfinite(value)) return number(value);
  return fmt::format("\"{}\"", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

/// Collects text and hands it on in large pieces.
class Stream {
 public:
  explicit Stream(const Sink& sink) : sink_(sink) {}
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void flush() {
    sink_(buffer_);
    buffer_.clear();
  }

 private:
  const Sink& sink_;
  std::string buffer_;
};

std::string tensor_json(const TensorRef& tensor) {
  return fmt::format(
      R"({{"storage":{},"version":{},"sizes":[{}],"strides":[{}],"offset":{},"dtype":"{}","wrapped_number":{}}})",
      tensor.storage,
      tensor.version,
      fmt::join(tensor.sizes, ","),
      fmt::join(tensor.strides, ","),
      tensor.offset,
      name_of(tensor.dtype),
      tensor.wrapped_number);
}

template <class Range, class Text>
std::string list_json(const Range& values, Text text) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ',';
    out += text(value);
  }
  return out + "]";
}

struct ArgumentJson {
  std::string operator()(const None& /*none*/) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    return std::isfinite(value) ? number(value)
                                : fmt::format(R"({{"float":{}}})", float_value(value));
  }
  std::string operator()(const std::complex<double>& value) const {
    return fmt::format(
        R"({{"complex":[{},{}]}})", float_value(value.real()), float_value(value.imag()));
  }
  std::string operator()(const std::string& value) const { return json_string(value); }
  std::string operator()(const Ints& values) const {
    return fmt::format("[{}]", fmt::join(values, ","));
  }
  std::string operator()(const Doubles& values) const {
    return fmt::format(R"({{"floats":{}}})", list_json(values, float_value));
  }
  std::string operator()(const Bools& values) const {
    return fmt::format(R"({{"bools":{}}})", list_json(values, [](bool value) {
                         return std::string(value ? "true" : "false");
                       }));
  }
  std::string operator()(const DeviceName& device) const {
    return fmt::format(R"({{"device":{}}})", json_string(device.name));
  }
  std::string operator()(const TensorRef& tensor) const { return tensor_json(tensor); }
  std::string operator()(const Tensors& tensors) const {
    return fmt::format(R"({{"tensors":{}}})",
                       list_json(tensors, [](const std::optional<TensorRef>& tensor) {
                         return tensor ? tensor_json(*tensor) : std::string("null");
                       }));
  }
};

std::string arguments_json(const std::vector<Argument>& arguments) {
  return list_json(arguments,
                   [](const Argument& argument) { return std::visit(ArgumentJson{}, argument); });
}

std::string names_json(const std::vector<std::string>& names) {
  return list_json(names, [](const std::string& name) { return json_string(name); });
}

std::string optional_json(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : "null";
}

/// `"key": [` with one element a line.
template <class Range, class Text>
void print_lines(
    Stream& out, std::string_view indent, std::string_view key, const Range& values, Text text) {
  out.print("{}\"{}\": [", indent, key);
  bool first = true;
  for (const auto& value : values) {
    out.print("{}\n{}  {}", first ? "" : ",", indent, text(value));
    first = false;
  }
  out.print("{}]", first ? "" : fmt::format("\n{}", indent));
}

std::string indented(const Json& value) {
  std::string text = dump(value);
  text.pop_back();  // final newline
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

// --- Reading -------------------------------------------------------------------------------------

using Keys = std::vector<std::string>;

std::int32_t read_index(const JsonCursor& cursor, std::int64_t lowest) {
  const std::int64_t value = cursor.integer();
  if (value < lowest || value > std::numeric_limits<std::int32_t>::max()) {
    throw cursor.error(ErrorCode::kJsonBadValue, "{} is not an index of {} or more", value, lowest);
  }
  return static_cast<std::int32_t>(value);
}

Ints read_counts(const JsonCursor& cursor) {
  Ints values;
  for (const JsonCursor& item : cursor.items()) values.push_back(item.non_negative());
  return values;
}

TensorRef read_tensor(const JsonCursor& cursor) {
  static const Keys kKeys{
      "storage", "version", "sizes", "strides", "offset", "dtype", "wrapped_number"};
  cursor.only_keys(kKeys);
  TensorRef tensor;
  tensor.storage = read_index(cursor.at("storage"), 0);
  tensor.version = read_index(cursor.at("version"), 0);
  tensor.sizes = read_counts(cursor.at("sizes"));
  tensor.strides = read_counts(cursor.at("strides"));
  tensor.offset = cursor.at("offset").non_negative();
  const std::string name = cursor.at("dtype").string();
  const auto dtype = dtype_named(name);
  if (!dtype) throw cursor.at("dtype").error(ErrorCode::kJsonBadValue, "unknown dtype `{}`", name);
  tensor.dtype = *dtype;
  tensor.wrapped_number = cursor.at("wrapped_number").boolean();
  if (tensor.sizes.size() != tensor.strides.size()) {
    throw cursor.error(ErrorCode::kJsonBadValue,
                       "{} sizes but {} strides",
                       tensor.sizes.size(),
                       tensor.strides.size());
  }
  return tensor;
}

double read_float(const JsonCursor& cursor) {
  if (!cursor.raw().is_string()) return cursor.number();
  const std::string text = cursor.choice({"nan", "inf", "-inf"});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? kInfinity : -kInfinity;
}

Argument read_record_argument(const JsonCursor& cursor) {
  const Json& raw = cursor.raw();
  if (raw.contains("storage")) return read_tensor(cursor);
  static const Keys kKinds{"tensors", "floats", "bools", "device", "complex", "float"};
  cursor.only_keys(kKinds);
  if (raw.size() != 1)
    throw cursor.error(ErrorCode::kJsonBadValue, "an argument record has one key");
  if (raw.contains("tensors")) {
    Tensors tensors;
    for (const JsonCursor& item : cursor.at("tensors").items()) {
      tensors.push_back(item.is_null() ? std::nullopt
                                       : std::optional<TensorRef>(read_tensor(item)));
    }
    return tensors;
  }
  if (raw.contains("floats")) {
    Doubles values;
    for (const JsonCursor& item : cursor.at("floats").items()) values.push_back(read_float(item));
    return values;
  }
  if (raw.contains("bools")) {
    Bools values;
    for (const JsonCursor& item : cursor.at("bools").items()) values.push_back(item.boolean());
    return values;
  }
  if (raw.contains("device")) return DeviceName{cursor.at("device").string()};
  if (raw.contains("float")) return read_float(cursor.at("float"));
  const auto parts = cursor.at("complex").items();
  if (parts.size() != 2)
    throw cursor.error(ErrorCode::kJsonBadValue, "a complex number has two parts");
  return std::complex<double>(read_float(parts[0]), read_float(parts[1]));
}

Argument read_argument(const JsonCursor& cursor) {
  const Json& raw = cursor.raw();
  if (raw.is_null()) return None{};
  if (raw.is_boolean()) return raw.get<bool>();
  if (raw.is_number_float()) return cursor.number();
  if (raw.is_number()) return cursor.integer();
  if (raw.is_string()) return cursor.string();
  if (raw.is_object()) return read_record_argument(cursor);
  Ints values;
  for (const JsonCursor& item : cursor.items()) values.push_back(item.integer());
  return values;
}

std::vector<Argument> read_arguments(const JsonCursor& cursor) {
  std::vector<Argument> arguments;
  for (const JsonCursor& item : cursor.items()) arguments.push_back(read_argument(item));
  return arguments;
}

std::vector<std::string> read_names(const JsonCursor& cursor) {
  std::vector<std::string> names;
  for (const JsonCursor& item : cursor.items()) names.push_back(item.string());
  if (names.empty()) throw cursor.error(ErrorCode::kJsonBadValue, "no name");
  return names;
}

/// Operators arrive before or after the table of modules; paths are resolved once both are there.
struct ReadOperators {
  std::vector<Operator> operators;
  std::vector<std::string> modules;  ///< by operator; empty optional is null
  std::vector<bool> attributed;
};

void read_operator(const JsonCursor& cursor, ReadOperators& into) {
  static const Keys kKeys{
      "id", "name", "overload", "phase", "module", "arguments", "outputs", "writes", "flops"};
  cursor.only_keys(kKeys);
  Operator op;
  op.id = read_index(cursor.at("id"), 0);
  if (static_cast<std::size_t>(op.id) != into.operators.size()) {
    throw cursor.at("id").error(
        ErrorCode::kJsonBadValue, "operator {} at position {}", op.id, into.operators.size());
  }
  op.name = cursor.at("name").string();
  op.overload = cursor.at("overload").string();
  op.phase = cursor.at("phase").choice({"forward", "backward"}) == "forward" ? Phase::kForward
                                                                             : Phase::kBackward;
  const auto module = cursor.nullable("module");
  into.attributed.push_back(module.has_value());
  into.modules.push_back(module ? module->string() : std::string());
  op.arguments = read_arguments(cursor.at("arguments"));
  op.outputs = read_arguments(cursor.at("outputs"));
  op.writes = cursor.at("writes").boolean();
  op.flops = cursor.at("flops").non_negative();
  into.operators.push_back(std::move(op));
}

void read_storage(const JsonCursor& cursor, std::vector<Storage>& into) {
  static const Keys kKeys{
      "id", "bytes", "category", "allocated_at", "freed_after", "content_digest", "on_host"};
  cursor.only_keys(kKeys);
  Storage storage;
  storage.id = read_index(cursor.at("id"), 0);
  if (static_cast<std::size_t>(storage.id) != into.size()) {
    throw cursor.at("id").error(
        ErrorCode::kJsonBadValue, "storage {} at position {}", storage.id, into.size());
  }
  storage.bytes = cursor.at("bytes").non_negative();
  const std::string category = cursor.at("category").string();
  const auto known = category_named(category);
  if (!known)
    throw cursor.at("category").error(ErrorCode::kJsonBadValue, "unknown category `{}`", category);
  storage.category = *known;
  storage.allocated_at = read_index(cursor.at("allocated_at"), -1);
  storage.freed_after = read_index(cursor.at("freed_after"), -1);
  storage.content_digest = cursor.at("content_digest").string();
  storage.on_host = cursor.at("on_host").boolean();
  into.push_back(std::move(storage));
}

MemorySummary read_memory(const JsonCursor& cursor) {
  static const Keys kKeys{"parameters_bytes",
                          "buffers_bytes",
                          "gradients_bytes",
                          "optimizer_bytes",
                          "activations_peak_bytes",
                          "peak_allocated_bytes",
                          "peak_reserved_bytes",
                          "process_peak_bytes"};
  cursor.only_keys(kKeys);
  const auto bytes = [](const JsonCursor& value) {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
    const std::int64_t read = value.non_negative();
    if (read > kMostBytes) {
      throw value.error(ErrorCode::kJsonBadValue, "{} bytes are more than any memory", read);
    }
    return read;
  };
  const auto maybe = [&](std::string_view key) {
    const auto value = cursor.nullable(key);
    return value ? std::optional<std::int64_t>(bytes(*value)) : std::nullopt;
  };
  return {.parameters_bytes = bytes(cursor.at("parameters_bytes")),
          .buffers_bytes = bytes(cursor.at("buffers_bytes")),
          .gradients_bytes = bytes(cursor.at("gradients_bytes")),
          .optimizer_bytes = bytes(cursor.at("optimizer_bytes")),
          .activations_peak_bytes = bytes(cursor.at("activations_peak_bytes")),
          .peak_allocated_bytes = bytes(cursor.at("peak_allocated_bytes")),
          .peak_reserved_bytes = maybe("peak_reserved_bytes"),
          .process_peak_bytes = maybe("process_peak_bytes")};
}

void read_model(const JsonCursor& cursor, Profile& profile) {
  static const Keys kKeys{"path",
                          "fingerprint",
                          "parameter_count",
                          "parameters",
                          "buffers",
                          "modules",
                          "loss",
                          "draws_random"};
  static const Keys kParameterKeys{"name", "names", "tensor", "requires_grad", "gradient"};
  static const Keys kBufferKeys{"name", "names", "tensor", "mutated"};
  cursor.only_keys(kKeys);
  Program& program = profile.program;
  profile.model_path = cursor.at("path").string();
  for (const JsonCursor& item : cursor.at("parameters").items()) {
    item.only_keys(kParameterKeys);
    Parameter parameter;
    parameter.name = item.at("name").string();
    parameter.names = read_names(item.at("names"));
    if (parameter.names.front() != parameter.name)
      throw item.at("name").error(ErrorCode::kJsonBadValue, "`name` is not the first of `names`");
    parameter.tensor = read_tensor(item.at("tensor"));
    parameter.requires_grad = item.at("requires_grad").boolean();
    if (const auto gradient = item.nullable("gradient"))
      parameter.gradient = read_tensor(*gradient);
    program.parameters.push_back(std::move(parameter));
  }
  for (const JsonCursor& item : cursor.at("buffers").items()) {
    item.only_keys(kBufferKeys);
    program.buffers.push_back({.name = item.at("name").string(),
                               .names = read_names(item.at("names")),
                               .tensor = read_tensor(item.at("tensor")),
                               .mutated = item.at("mutated").boolean()});
  }
  for (const JsonCursor& item : cursor.at("modules").items())
    program.modules.push_back(item.string());
  program.loss = read_tensor(cursor.at("loss"));
  program.draws_random = cursor.at("draws_random").boolean();
}

/// Elements that were read are null now; what is left was no record.
void check_all_read(const JsonCursor& array, std::size_t read) {
  std::size_t elements = 0;
  for (const JsonCursor& item : array.items()) {
    ++elements;
    if (!item.is_null()) throw item.error(ErrorCode::kJsonType, "expected an object");
  }
  if (elements != read) throw array.error(ErrorCode::kJsonType, "expected objects, found null");
}

void resolve_modules(const JsonCursor& root, ReadOperators& read, Program& program) {
  std::unordered_map<std::string, std::int32_t> position;
  for (std::size_t i = 0; i < program.modules.size(); ++i)
    position.emplace(program.modules[i], static_cast<std::int32_t>(i));
  for (std::size_t i = 0; i < read.operators.size(); ++i) {
    if (!read.attributed[i]) continue;
    const auto found = position.find(read.modules[i]);
    if (found == position.end()) {
      throw root.at("operators")
          .error(ErrorCode::kJsonBadValue,
                 "operator {} is of module `{}`, which /model/modules does not list",
                 i,
                 read.modules[i]);
    }
    read.operators[i].module = found->second;
  }
  program.operators = std::move(read.operators);
}

}  // namespace

void write_profile(const Profile& profile, const Sink& sink) {
  const Program& program = profile.program;
  const MemorySummary& memory = profile.memory;
  Stream out(sink);
  out.print("{{\n  \"schema\": \"{}\",\n  \"schema_version\": \"{}\",\n  \"meta\": {},\n",
            kSchema,
            kSchemaVersion,
            indented(profile.meta));
  out.print(
      "  \"model\": {{\n    \"path\": {},\n    \"fingerprint\": \"{}\",\n    \"parameter_count\": "
      "{},\n",
      json_string(profile.model_path),
      fingerprint(program),
      program.parameter_count());
  print_lines(out, "    ", "parameters", program.parameters, [](const Parameter& parameter) {
    return fmt::format(R"({{"name":{},"names":{},"tensor":{},"requires_grad":{},"gradient":{}}})",
                       json_string(parameter.name),
                       names_json(parameter.names),
                       tensor_json(parameter.tensor),
                       parameter.requires_grad,
                       parameter.gradient ? tensor_json(*parameter.gradient) : "null");
  });
  out.print(",\n");
  print_lines(out, "    ", "buffers", program.buffers, [](const Buffer& buffer) {
    return fmt::format(R"({{"name":{},"names":{},"tensor":{},"mutated":{}}})",
                       json_string(buffer.name),
                       names_json(buffer.names),
                       tensor_json(buffer.tensor),
                       buffer.mutated);
  });
  out.print(",\n");
  print_lines(out, "    ", "modules", program.modules, [](const std::string& module) {
    return json_string(module);
  });
  out.print(",\n    \"loss\": {},\n    \"draws_random\": {}\n  }},\n",
            tensor_json(program.loss),
            program.draws_random);
  print_lines(out, "  ", "inputs", program.inputs, [](const Input& input) {
    return fmt::format(
        R"({{"name":{},"tensor":{}}})", json_string(input.name), tensor_json(input.tensor));
  });
  out.print(
      ",\n  \"target\": \"{}\",\n  \"precision\": {},\n  \"mode\": {},\n  \"optimizer\": {},\n",
      program.target.text(),
      json_string(program.precision),
      json_string(program.mode),
      json_string(profile.optimizer));
  out.print(
      "  \"memory\": {{\n    \"parameters_bytes\": {},\n    \"buffers_bytes\": {},\n    "
      "\"gradients_bytes\": {},\n    \"optimizer_bytes\": {},\n"
      "    \"activations_peak_bytes\": {},\n    \"peak_allocated_bytes\": {},\n    "
      "\"peak_reserved_bytes\": {},\n    \"process_peak_bytes\": {}\n  }},\n",
      memory.parameters_bytes,
      memory.buffers_bytes,
      memory.gradients_bytes,
      memory.optimizer_bytes,
      memory.activations_peak_bytes,
      memory.peak_allocated_bytes,
      optional_json(memory.peak_reserved_bytes),
      optional_json(memory.process_peak_bytes));
  out.print("  \"unattributed_operators\": {},\n", profile.unattributed_operators);
  print_lines(out, "  ", "storages", program.storages, [](const Storage& storage) {
    return fmt::format(
        R"({{"id":{},"bytes":{},"category":"{}","allocated_at":{},"freed_after":{},"content_digest":"{}","on_host":{}}})",
        storage.id,
        storage.bytes,
        name_of(storage.category),
        storage.allocated_at,
        storage.freed_after,
        storage.content_digest,
        storage.on_host);
  });
  out.print(",\n");
  print_lines(out, "  ", "operators", program.operators, [&program](const Operator& op) {
    return fmt::format(
        R"({{"id":{},"name":{},"overload":{},"phase":"{}","module":{},"arguments":{},"outputs":{},"writes":{},"flops":{}}})",
        op.id,
        json_string(op.name),
        json_string(op.overload),
        op.phase == Phase::kForward ? "forward" : "backward",
        op.module < 0 ? "null" : json_string(program.modules[static_cast<std::size_t>(op.module)]),
        arguments_json(op.arguments),
        arguments_json(op.outputs),
        op.writes,
        op.flops);
  });
  out.print("\n}}\n");
  out.flush();
}

Profile load_profile(const std::string& path) {
  Profile profile;
  Program& program = profile.program;
  ReadOperators read;
  const auto document = JsonDocument::load(
      path,
      kSchema,
      1,
      {{"operators", [&read](const JsonCursor& cursor) { read_operator(cursor, read); }},
       {"storages",
        [&program](const JsonCursor& cursor) { read_storage(cursor, program.storages); }}});
  const JsonCursor root = document->root(kSchema, 1);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "model",
                  "inputs",
                  "target",
                  "precision",
                  "mode",
                  "optimizer",
                  "memory",
                  "unattributed_operators",
                  "operators",
                  "storages"});
  profile.meta = root.at("meta").raw();
  read_model(root.at("model"), profile);
  for (const JsonCursor& item : root.at("inputs").items()) {
    item.only_keys({"name", "tensor"});
    program.inputs.push_back(
        {.name = item.at("name").string(), .tensor = read_tensor(item.at("tensor"))});
  }
  const std::string target = root.at("target").string();
  const auto parsed = Target::parse(target);
  if (!parsed)
    throw root.at("target")
        .error(ErrorCode::kJsonBadValue, "unknown target `{}`", target)
        .help("cpu:NAME with an instruction set ({}), cpu, or cuda:sm_NN such as cuda:sm_90",
              cpu_isa_names());
  program.target = *parsed;
  program.precision = root.at("precision").choice({"as-saved", "bf16", "fp16"});
  program.mode = root.at("mode").choice({"as-saved", "train", "eval"});
  profile.optimizer = root.at("optimizer").choice({"adamw", "adam", "sgd", "none"});
  profile.memory = read_memory(root.at("memory"));
  profile.unattributed_operators = root.at("unattributed_operators").non_negative();
  check_all_read(root.at("operators"), read.operators.size());
  check_all_read(root.at("storages"), program.storages.size());
  resolve_modules(root, read, program);
  check_program(*document, program);

  const JsonCursor model = root.at("model");
  if (model.at("parameter_count").non_negative() != program.parameter_count()) {
    throw model.at("parameter_count")
        .error(
            ErrorCode::kJsonBadValue, "the parameters have {} elements", program.parameter_count());
  }
  if (model.at("fingerprint").string() != fingerprint(program)) {
    throw model.at("fingerprint")
        .error(ErrorCode::kJsonBadValue, "the fingerprint is not that of the program in this file")
        .help("the file was changed by hand or is damaged: make it again with elixir-profile");
  }
  return profile;
}

}  // namespace elixir::program
