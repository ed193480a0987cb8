// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/canonical.h"

#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"

namespace elixir::program {
namespace {

/// The shortest text that reads back as the same double. Integers keep a ".0", so that 1.0 differs
/// from 1.
void append_double(std::string& out, double value) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_not_of("-0123456789", begin) == std::string::npos) out += ".0";
}

template <class Range, class Append>
void append_list(std::string& out, char open, char close, const Range& values, Append append) {
  out += open;
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    append(value);
  }
  out += close;
}

void append_ints(std::string& out, const std::vector<std::int64_t>& values) {
  fmt::format_to(std::back_inserter(out), "{}", fmt::join(values, ","));
}

struct ArgumentWriter {
  std::string& out;
  void operator()(const None& /*none*/) const { out += "None"; }
  void operator()(bool value) const { out += value ? "True" : "False"; }
  void operator()(std::int64_t value) const {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
  void operator()(double value) const { append_double(out, value); }
  void operator()(const std::complex<double>& value) const {
    out += "complex(";
    append_double(out, value.real());
    out += ',';
    append_double(out, value.imag());
    out += ')';
  }
  void operator()(const std::string& value) const {
    // The length comes first, so that no content can imitate other text.
    fmt::format_to(std::back_inserter(out), "{}:\"{}\"", value.size(), value);
  }
  void operator()(const Ints& values) const {
    out += '[';
    append_ints(out, values);
    out += ']';
  }
  void operator()(const Doubles& values) const {
    append_list(out, '[', ']', values, [this](double value) { append_double(out, value); });
  }
  void operator()(const Bools& values) const {
    append_list(out, '[', ']', values, [this](bool value) { out += value ? "True" : "False"; });
  }
  void operator()(const DeviceName& device) const { out += "device:" + device.name; }
  void operator()(const TensorRef& tensor) const { append_canonical(out, tensor); }
  void operator()(const Tensors& tensors) const {
    append_list(out, '{', '}', tensors, [this](const std::optional<TensorRef>& tensor) {
      if (tensor) {
        append_canonical(out, *tensor);
      } else {
        out += "None";
      }
    });
  }
};

template <class Range>
void append_arguments(std::string& out, const Range& arguments) {
  append_list(out, '(', ')', arguments, [&out](const Argument& argument) {
    append_canonical(out, argument);
  });
}

}  // namespace

void append_canonical(std::string& out, const TensorRef& tensor) {
  fmt::format_to(
      std::back_inserter(out), "s{}.{}:{}[", tensor.storage, tensor.version, name_of(tensor.dtype));
  append_ints(out, tensor.sizes);
  out += '|';
  append_ints(out, tensor.strides);
  if (tensor.offset != 0) fmt::format_to(std::back_inserter(out), "+{}", tensor.offset);
  out += ']';
  if (tensor.wrapped_number) out += 'w';
  if (tensor.conjugate) out += '*';
  if (tensor.negative) out += '-';
}

void append_canonical(std::string& out, const Argument& argument) {
  std::visit(ArgumentWriter{out}, argument);
}

std::string canonical_text(const Operator& op) {
  std::string out = op.phase == Phase::kForward ? "F " : "B ";
  out += op.name;
  if (!op.overload.empty()) out += "." + op.overload;
  append_arguments(out, op.arguments);
  out += " -> ";
  append_arguments(out, op.outputs);
  if (op.repeats >= 0) out += fmt::format(" repeats {}", op.repeats);
  return out;
}

std::string fingerprint(const Program& program) {
  Sha256 hash;
  const auto line = [&hash](const std::string& text) {
    hash.update(text);
    hash.update("\n");
  };
  const auto tensor_line = [&line](std::string head, const TensorRef& tensor) {
    append_canonical(head, tensor);
    line(head);
  };
  line("elixir program 2");
  line(program.target.text());
  for (const Parameter& parameter : program.parameters) {
    std::string head = fmt::format("parameter {}", parameter.requires_grad ? "trained" : "frozen");
    for (const std::string& name : parameter.names)
      head += fmt::format(" {}:{}", name.size(), name);
    head += ' ';
    append_canonical(head, parameter.tensor);
    head += " gradient ";
    if (parameter.gradient) append_canonical(head, *parameter.gradient);
    line(head);
  }
  for (const Buffer& buffer : program.buffers)
    tensor_line(fmt::format("buffer {}:{} ", buffer.name.size(), buffer.name), buffer.tensor);
  for (const Input& input : program.inputs)
    tensor_line(fmt::format("input {}:{} ", input.name.size(), input.name), input.tensor);
  for (const Storage& storage : program.storages) {
    line(fmt::format(
        "storage {} {}{}", storage.bytes, storage.content_digest, storage.on_host ? " host" : ""));
  }
  for (const Operator& op : program.operators) {
    line(fmt::format("{} flops {}", canonical_text(op), op.flops));
  }
  tensor_line("loss ", program.loss);
  return hash.hex();
}

}  // namespace elixir::program
