// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Writes the documents for command-line tests of the planning half: profiles of a synthetic
// transformer for the CPU and for a GPU, and hardware profiles of machines with round numbers.
// Usage: write-fakes DIRECTORY
#include <cstdio>
#include <map>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "hardware/operator_cost.h"
#include "memory/step/timeline.h"
#include "operators/operator_key.h"
#include "program/document.h"
#include "program/lifetimes.h"

namespace {

void write(const std::string& directory, bool cuda) {
  elixir::fakes::TransformerOptions options;
  options.layers = 3;
  options.hidden = 256;
  options.vocabulary = 2000;
  options.tokens = 32;
  options.dtype = cuda ? elixir::program::DType::kBFloat16 : elixir::program::DType::kFloat32;
  elixir::program::Profile profile;
  profile.model_path = "fake.pt";
  profile.program = elixir::fakes::transformer(options);
  if (cuda) profile.program.target = {.kind = elixir::program::Target::Kind::kCuda, .sm = 90};
  profile.memory = elixir::memory::summarise(profile.program, profile.optimizer);
  profile.meta = elixir::Json::object();
  const std::string kind = cuda ? "cuda" : "cpu";
  elixir::write_file_streamed(
      directory + "/" + kind + ".profile.json",
      elixir::Overwrite::kAllow,
      [&](const elixir::Sink& sink) { elixir::program::write_profile(profile, sink); });

  elixir::hardware::HardwareProfile machine = elixir::fakes::machine(cuda);
  machine.meta = elixir::Json::object();
  elixir::write_file(directory + "/" + kind + ".json",
                     elixir::dump(elixir::hardware::to_json(machine)),
                     elixir::Overwrite::kAllow);
  // The same machine, with every operator of the program measured.
  std::map<std::string, elixir::hardware::OperatorTime> measured;
  for (const elixir::program::Operator& op : profile.program.operators) {
    const std::string key = elixir::operators::operator_key(op);
    measured[key] = {.key = key, .time_ns = elixir::fakes::figure(5000), .workspace_bytes = 0};
  }
  for (const auto& [key, time] : measured) machine.operators.push_back(time);
  elixir::write_file(directory + "/" + kind + "-measured.json",
                     elixir::dump(elixir::hardware::to_json(machine)),
                     elixir::Overwrite::kAllow);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write-fakes DIRECTORY\n", stderr);
    return 2;
  }
  write(argv[1], false);
  write(argv[1], true);
  elixir::hardware::HardwareProfile pair = elixir::fakes::machine_of(2);
  pair.meta = elixir::Json::object();
  elixir::write_file(std::string(argv[1]) + "/cuda-pair.json",
                     elixir::dump(elixir::hardware::to_json(pair)),
                     elixir::Overwrite::kAllow);
  return 0;
}
