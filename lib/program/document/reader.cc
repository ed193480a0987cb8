// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Reading of the profile document, operator by operator.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/files.h"
#include "program/document.h"
#include "program/document/check.h"
#include "program/document/schema.h"
#include "program/workspace_answers.h"

namespace elixir::program {
namespace {

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
  static const Keys kKeys{"storage",
                          "version",
                          "sizes",
                          "strides",
                          "offset",
                          "dtype",
                          "wrapped_number",
                          "conjugate",
                          "negative"};
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
  // Rare, so written only where they are true.
  if (cursor.has("conjugate")) tensor.conjugate = cursor.at("conjugate").boolean();
  if (cursor.has("negative")) tensor.negative = cursor.at("negative").boolean();
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

/// Operators may come before or after the table of modules, so paths are resolved when both are
/// read.
struct ReadOperators {
  std::vector<Operator> operators;
  std::vector<std::string> modules;  ///< by operator; see `attributed`
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

std::int64_t bytes_figure(const JsonCursor& value) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  const std::int64_t read = value.non_negative();
  if (read > kMostBytes) {
    throw value.error(ErrorCode::kJsonBadValue, "{} bytes are more than any memory", read);
  }
  return read;
}

/// The operators of one label, whose calls add up to `all`.
std::vector<LabelledOperator> read_labelled(const JsonCursor& cursor,
                                            std::int64_t all,
                                            std::string_view label) {
  const auto count = [all, label](const JsonCursor& value) {
    const std::int64_t read = value.non_negative();
    if (read > all) {
      throw value.error(ErrorCode::kJsonBadValue, "{} calls, but {} are {}", read, all, label);
    }
    return read;
  };
  std::vector<LabelledOperator> operators;
  std::int64_t named = 0;
  for (const JsonCursor& item : cursor.items()) {
    item.only_keys({"name", "calls", "known_bytes", "modules"});
    LabelledOperator op{.name = item.at("name").string(),
                        .calls = count(item.at("calls")),
                        .known_bytes = bytes_figure(item.at("known_bytes")),
                        .modules = {}};
    std::int64_t in_modules = 0;
    if (item.has("modules")) {
      for (const JsonCursor& module : item.at("modules").items()) {
        module.only_keys({"path", "calls"});
        op.modules.push_back(
            {.path = module.at("path").string(), .calls = count(module.at("calls"))});
        in_modules = std::min(in_modules + op.modules.back().calls, all + 1);
      }
    }
    if (in_modules > op.calls) {
      throw item.at("modules").error(
          ErrorCode::kJsonBadValue, "the modules have more than its {} calls", op.calls);
    }
    // Stops before a sum of hostile numbers overflows.
    named = std::min(named + op.calls, all + 1);
    operators.push_back(std::move(op));
  }
  if (named != all) {
    throw cursor.error(
        ErrorCode::kJsonBadValue, "the operators do not add up to the {} {} calls", all, label);
  }
  return operators;
}

MayBeOff read_may_be_off(const JsonCursor& cursor) {
  cursor.only_keys({"peak_allocated_bytes", "peak_reserved_bytes", "process_peak_bytes"});
  const auto maybe = [&](std::string_view key) {
    const auto value = cursor.nullable(key);
    return value ? std::optional<std::int64_t>(bytes_figure(*value)) : std::nullopt;
  };
  return {.allocated_bytes = maybe("peak_allocated_bytes"),
          .reserved_bytes = maybe("peak_reserved_bytes"),
          .process_bytes = maybe("process_peak_bytes")};
}

Certainty read_certainty(const JsonCursor& cursor, std::size_t calls) {
  static const Keys kKeys{"exact_calls",
                          "measured_calls",
                          "modelled_calls",
                          "measured_operators",
                          "modelled_operators",
                          "modelled_bytes_at_peak",
                          "may_be_off",
                          "reasons"};
  cursor.only_keys(kKeys);
  const auto most = static_cast<std::int64_t>(calls);
  const auto count = [most](const JsonCursor& value) {
    const std::int64_t read = value.non_negative();
    if (read > most) {
      throw value.error(ErrorCode::kJsonBadValue, "{} calls, but the program has {}", read, most);
    }
    return read;
  };
  Certainty certainty{.exact_calls = count(cursor.at("exact_calls")),
                      .measured_calls = count(cursor.at("measured_calls")),
                      .modelled_calls = count(cursor.at("modelled_calls")),
                      .measured_operators = {},
                      .modelled_operators = {},
                      .modelled_bytes_at_peak = bytes_figure(cursor.at("modelled_bytes_at_peak")),
                      .may_be_off = {},
                      .reasons = {}};
  certainty.modelled_operators =
      read_labelled(cursor.at("modelled_operators"), certainty.modelled_calls, "modelled");
  // Documents before 1.5 do not have the rest.
  if (cursor.has("measured_operators")) {
    certainty.measured_operators =
        read_labelled(cursor.at("measured_operators"), certainty.measured_calls, "measured");
  }
  if (cursor.has("may_be_off")) certainty.may_be_off = read_may_be_off(cursor.at("may_be_off"));
  if (cursor.has("reasons")) {
    for (const JsonCursor& reason : cursor.at("reasons").items()) {
      certainty.reasons.push_back(reason.string());
    }
  }
  if (certainty.calls() != most) {
    throw cursor.error(ErrorCode::kJsonBadValue,
                       "labels of {} calls, but the program has {}",
                       certainty.calls(),
                       most);
  }
  return certainty;
}

Workspace read_workspace(const JsonCursor& cursor, std::size_t operators) {
  cursor.only_keys({"operator", "bytes"});
  Workspace workspace{.made_at = std::nullopt, .bytes = bytes_figure(cursor.at("bytes"))};
  if (const auto made_at = cursor.nullable("operator")) {
    const std::int64_t id = made_at->non_negative();
    if (id >= static_cast<std::int64_t>(operators)) {
      throw made_at->error(ErrorCode::kJsonBadValue, "there is no operator {}", id);
    }
    workspace.made_at = static_cast<OperatorId>(id);
  }
  return workspace;
}

/// Reads the memory of a step with `operators` operators, `calls` calls of which have a label.
MemorySummary read_memory(const JsonCursor& cursor,
                          bool with_certainty,
                          std::size_t operators,
                          std::size_t calls) {
  static const Keys kKeys{"parameters_bytes",
                          "buffers_bytes",
                          "gradients_bytes",
                          "optimizer_bytes",
                          "activations_peak_bytes",
                          "peak_allocated_bytes",
                          "peak_reserved_bytes",
                          "process_peak_bytes",
                          "certainty",
                          "workspaces_at_peak"};
  cursor.only_keys(kKeys);
  const auto maybe = [&](std::string_view key) {
    const auto value = cursor.nullable(key);
    return value ? std::optional<std::int64_t>(bytes_figure(*value)) : std::nullopt;
  };
  std::optional<Certainty> certainty;
  if (with_certainty) {
    if (const auto value = cursor.nullable("certainty")) certainty = read_certainty(*value, calls);
  }
  const std::int64_t peak_allocated_bytes = bytes_figure(cursor.at("peak_allocated_bytes"));
  std::vector<Workspace> workspaces;
  std::int64_t together_bytes = 0;
  if (cursor.has("workspaces_at_peak")) {
    for (const JsonCursor& item : cursor.at("workspaces_at_peak").items()) {
      workspaces.push_back(read_workspace(item, operators));
      // Stops before a sum of hostile numbers overflows.
      together_bytes += workspaces.back().bytes;
      if (together_bytes > peak_allocated_bytes) {
        throw item.error(ErrorCode::kJsonBadValue,
                         "the workspaces take more than the peak of {} bytes",
                         peak_allocated_bytes);
      }
    }
  }
  return {.parameters_bytes = bytes_figure(cursor.at("parameters_bytes")),
          .buffers_bytes = bytes_figure(cursor.at("buffers_bytes")),
          .gradients_bytes = bytes_figure(cursor.at("gradients_bytes")),
          .optimizer_bytes = bytes_figure(cursor.at("optimizer_bytes")),
          .activations_peak_bytes = bytes_figure(cursor.at("activations_peak_bytes")),
          .peak_allocated_bytes = peak_allocated_bytes,
          .peak_reserved_bytes = maybe("peak_reserved_bytes"),
          .process_peak_bytes = maybe("process_peak_bytes"),
          .certainty = std::move(certainty),
          .workspaces_at_peak = std::move(workspaces)};
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
  static const Keys kBufferKeys{"name", "names", "tensor", "mutated", "persistent"};
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
    program.buffers.push_back(
        {.name = item.at("name").string(),
         .names = read_names(item.at("names")),
         .tensor = read_tensor(item.at("tensor")),
         .mutated = item.at("mutated").boolean(),
         .persistent = !item.has("persistent") || item.at("persistent").boolean()});
  }
  for (const JsonCursor& item : cursor.at("modules").items())
    program.modules.push_back(item.string());
  program.loss = read_tensor(cursor.at("loss"));
  program.draws_random = cursor.at("draws_random").boolean();
}

/// Elements that were read are null now. Any other element was not a record.
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

Profile load_profile(const std::string& path) {
  return read_profile(read_file(path), path);
}

Profile read_profile(std::string text, const std::string& name) {
  Profile profile;
  Program& program = profile.program;
  ReadOperators read;
  const auto document = JsonDocument::parse(
      std::move(text),
      name,
      kProfileSchema,
      1,
      {{"operators", [&read](const JsonCursor& cursor) { read_operator(cursor, read); }},
       {"storages",
        [&program](const JsonCursor& cursor) { read_storage(cursor, program.storages); }}},
      // That of OPT-175B has 13,690 operators, of which one at a time is in memory.
      {.bytes = kLargestWholeFileBytes});
  const JsonCursor root = document->root(kProfileSchema, 1);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "model",
                  "inputs",
                  "target",
                  "precision",
                  "mode",
                  "optimizer",
                  "optimizer_form",
                  "clips_gradients",
                  "memory",
                  "unattributed_operators",
                  "workspaces",
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
  program.precision = root.at("precision").choice(kPrecisions);
  program.mode = root.at("mode").choice(kModes);
  profile.optimizer = root.at("optimizer").choice(kOptimizers);
  if (root.has("optimizer_form")) {
    profile.optimizer_form = root.at("optimizer_form").choice(kOptimizerForms);
  }
  if (root.has("clips_gradients")) {
    profile.clips_gradients = root.at("clips_gradients").boolean();
  }
  const bool with_certainty = root.at("schema_version").string() != kVersionWithoutCertainty;
  profile.memory =
      read_memory(root.at("memory"),
                  with_certainty,
                  read.operators.size(),
                  read.operators.size() + (profile.optimizer_use().is_torch() ? 1 : 0));
  profile.unattributed_operators = root.at("unattributed_operators").non_negative();
  if (root.has("workspaces")) {
    if (const auto answers = root.nullable("workspaces")) {
      program.workspaces =
          std::make_shared<const WorkspaceAnswers>(read_workspace_answers(*answers));
    }
  }
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
