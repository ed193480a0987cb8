// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Writing of the profile document, as a stream.
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/document.h"
#include "program/document/schema.h"
#include "program/workspace_answers.h"

namespace elixir::program {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

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
      R"({{"storage":{},"version":{},"sizes":[{}],"strides":[{}],"offset":{},"dtype":"{}","wrapped_number":{}{}{}}})",
      tensor.storage,
      tensor.version,
      fmt::join(tensor.sizes, ","),
      fmt::join(tensor.strides, ","),
      tensor.offset,
      name_of(tensor.dtype),
      tensor.wrapped_number,
      tensor.conjugate ? R"(,"conjugate":true)" : "",
      tensor.negative ? R"(,"negative":true)" : "");
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

std::string indented(const Json& value, std::string_view by = "  ") {
  std::string text = dump(value);
  text.pop_back();  // final newline
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += by;
  }
  return out;
}

void print_model(Stream& out, const std::string& model_path, const Program& program) {
  out.print(
      "  \"model\": {{\n    \"path\": {},\n    \"fingerprint\": \"{}\",\n    \"parameter_count\": "
      "{},\n",
      json_string(model_path),
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
    return fmt::format(R"({{"name":{},"names":{},"tensor":{},"mutated":{},"persistent":{}}})",
                       json_string(buffer.name),
                       names_json(buffer.names),
                       tensor_json(buffer.tensor),
                       buffer.mutated,
                       buffer.persistent);
  });
  out.print(",\n");
  print_lines(out, "    ", "modules", program.modules, [](const std::string& module) {
    return json_string(module);
  });
  out.print(",\n    \"loss\": {},\n    \"draws_random\": {}\n  }},\n",
            tensor_json(program.loss),
            program.draws_random);
}

void print_storages(Stream& out, const std::vector<Storage>& storages) {
  print_lines(out, "  ", "storages", storages, [](const Storage& storage) {
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
}

void print_operators(Stream& out, const Program& program) {
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
}

}  // namespace

Json to_json(const MemorySummary& memory) {
  Json workspaces = Json::array();
  for (const Workspace& workspace : memory.workspaces_at_peak) {
    workspaces.push_back(
        {{"operator", value_or_null(workspace.made_at)}, {"bytes", workspace.bytes}});
  }
  return {{"parameters_bytes", memory.parameters_bytes},
          {"buffers_bytes", memory.buffers_bytes},
          {"gradients_bytes", memory.gradients_bytes},
          {"optimizer_bytes", memory.optimizer_bytes},
          {"activations_peak_bytes", memory.activations_peak_bytes},
          {"peak_allocated_bytes", memory.peak_allocated_bytes},
          {"peak_reserved_bytes", value_or_null(memory.peak_reserved_bytes)},
          {"process_peak_bytes", value_or_null(memory.process_peak_bytes)},
          {"certainty", memory.certainty ? to_json(*memory.certainty) : Json(nullptr)},
          {"workspaces_at_peak", std::move(workspaces)}};
}

void write_profile(const Profile& profile, const Sink& sink) {
  const Program& program = profile.program;
  Stream out(sink);
  out.print("{{\n  \"schema\": \"{}\",\n  \"schema_version\": \"{}\",\n  \"meta\": {},\n",
            kProfileSchema,
            kProfileVersion,
            indented(profile.meta));
  print_model(out, profile.model_path, program);
  print_lines(out, "  ", "inputs", program.inputs, [](const Input& input) {
    return fmt::format(
        R"({{"name":{},"tensor":{}}})", json_string(input.name), tensor_json(input.tensor));
  });
  out.print(
      ",\n  \"target\": \"{}\",\n  \"precision\": {},\n  \"mode\": {},\n  \"optimizer\": {},\n  "
      "\"optimizer_form\": {},\n  \"clips_gradients\": {},\n",
      program.target.text(),
      json_string(std::string(name_of(program.precision))),
      json_string(std::string(name_of(program.mode))),
      json_string(std::string(name_of(profile.optimizer))),
      json_string(std::string(name_of(profile.optimizer_form))),
      profile.clips_gradients);
  out.print("  \"memory\": {},\n", indented(to_json(profile.memory)));
  out.print("  \"unattributed_operators\": {},\n", profile.unattributed_operators);
  out.print("  \"workspaces\": {},\n",
            program.workspaces ? indented(to_json(*program.workspaces)) : "null");
  print_storages(out, program.storages);
  out.print(",\n");
  print_operators(out, program);
  out.print("\n}}\n");
  out.flush();
}

}  // namespace elixir::program
