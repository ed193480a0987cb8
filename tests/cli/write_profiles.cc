// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Writes profiles of synthetic transformers for the tests of elixir-check. Usage: write-profiles
// DIRECTORY. The directory gets
//   gpt.profile.json        for a GPU, with reserved and process memory
//   asked.profile.json      as gpt, with workspaces that a library named
//   bert.profile.json       another one, smaller
//   cpu.profile.json        for the CPU: no reserved memory
//   grown/gpt.profile.json  as gpt, with a fourth layer
//   batch/gpt.profile.json  as gpt, with twice the tokens
//   modelled.profile.json   as gpt, with calls that nobody has looked at
//   measured.profile.json   as gpt, with calls that a library was measured for
//   old.profile.json        as gpt, of version 1.0, which did not say how certain its peaks are
//   hostile.profile.json    as gpt, with names that contain markup and commands
//   calling.profile.json    as cpu, and its last call opens a file
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "core/files.h"
#include "core/json.h"
#include "core/units.h"
#include "fakes/program_builder.h"
#include "memory/step/timeline.h"
#include "program/document.h"
#include "program/workspace_answers.h"

namespace {

using elixir::fakes::TransformerOptions;
using elixir::program::Program;
using elixir::program::Target;

constexpr const char* kHostile = "h.0.\n::error::<&\"'>]]>\x1b[31m%0A,:|`*\xed\xa0\x80";

/// All calls exact, but for the first ones.
elixir::program::Certainty certainty(const Program& program,
                                     std::int64_t measured,
                                     std::int64_t modelled) {
  elixir::program::Certainty labels;
  labels.measured_calls = measured;
  labels.modelled_calls = modelled;
  labels.exact_calls = static_cast<std::int64_t>(program.operators.size()) - measured - modelled;
  if (modelled > 0) {
    labels.modelled_operators = {
        {.name = "aten::sort.stable",
         .calls = modelled - 1,
         .modules = {{.path = "h.0.mlp", .calls = modelled - 1}}},
        {.name = "aten::_fft_r2c", .calls = 1, .known_bytes = 4096, .modules = {}}};
    labels.modelled_bytes_at_peak = 4096;
    labels.reasons = {"aten::sort.stable: no such call was recorded, and the peak may be more"};
  } else {
    labels.may_be_off = {.allocated_bytes = 0, .reserved_bytes = 0};
  }
  if (measured > 0) {
    labels.measured_operators = {{.name = "aten::convolution",
                                  .calls = measured,
                                  .known_bytes = 512,
                                  .modules = {{.path = "h.0.mlp", .calls = measured}}}};
  }
  return labels;
}

void write(const std::string& path,
           Program program,
           bool cuda,
           std::int64_t measured = 0,
           std::int64_t modelled = 0) {
  elixir::program::Profile profile;
  profile.model_path = "model.pt";
  profile.program = std::move(program);
  if (cuda) profile.program.target = {.kind = Target::Kind::kCuda, .sm = 90};
  profile.memory = elixir::memory::summarise(profile.program, profile.optimizer);
  if (cuda) {
    profile.memory.peak_reserved_bytes = profile.memory.peak_allocated_bytes + 2 * (1LL << 20);
    profile.memory.process_peak_bytes = *profile.memory.peak_reserved_bytes + 600 * (1LL << 20);
    profile.memory.certainty = certainty(profile.program, measured, modelled);
  }
  profile.meta = elixir::Json::object();
  elixir::write_file_streamed(path, elixir::Overwrite::kAllow, [&](const elixir::Sink& sink) {
    elixir::program::write_profile(profile, sink);
  });
}

/// The document as builds wrote it that did not know of `memory.certainty`.
void write_old(const std::string& path, const std::string& old_path) {
  elixir::Json document = elixir::Json::parse(elixir::read_file(path));
  document["schema_version"] = "1.0";
  document["memory"].erase("certainty");
  document["memory"].erase("workspaces_at_peak");
  elixir::write_file(old_path, elixir::dump(document), elixir::Overwrite::kAllow);
}

TransformerOptions options(int layers, std::int64_t tokens) {
  TransformerOptions options;
  options.layers = layers;
  options.hidden = 128;
  options.vocabulary = 500;
  options.tokens = tokens;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write-profiles DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  const auto at = [&](const char* name) { return (directory / name).string(); };
  std::filesystem::create_directories(directory / "grown");
  std::filesystem::create_directories(directory / "batch");
  constexpr std::int64_t kTokens = 64;
  const Program gpt = elixir::fakes::transformer(options(3, kTokens));
  write(at("gpt.profile.json"), gpt, true);
  write(at("bert.profile.json"), elixir::fakes::transformer(options(1, kTokens)), true);
  write(at("cpu.profile.json"), gpt, false);
  write(at("grown/gpt.profile.json"), elixir::fakes::transformer(options(4, kTokens)), true);
  write(at("batch/gpt.profile.json"), elixir::fakes::transformer(options(3, 2 * kTokens)), true);
  write(at("measured.profile.json"), gpt, true, 2);
  write(at("modelled.profile.json"), gpt, true, 2, 3);
  Program asked = gpt;
  asked.workspaces = std::make_shared<const elixir::program::WorkspaceAnswers>(
      elixir::program::WorkspaceAnswers{.source = "cuDNN 9.19.0", .measured = false, .bytes = {}});
  write(at("asked.profile.json"), asked, true);
  write_old(at("gpt.profile.json"), at("old.profile.json"));
  Program hostile = gpt;
  for (std::string& module : hostile.modules) {
    if (module == "h.0.mlp") module = kHostile;
  }
  write(at("hostile.profile.json"), hostile, true);
  Program calling = gpt;
  elixir::program::Operator& last = calling.operators.back();
  last.name = "aten::from_file";
  last.overload.clear();
  last.arguments = {std::string("victim"),
                    true,
                    std::int64_t{4},
                    elixir::program::None{},
                    elixir::program::None{},
                    elixir::program::None{},
                    elixir::program::None{}};
  write(at("calling.profile.json"), calling, false);
  return 0;
}
