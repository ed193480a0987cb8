// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Prints the predicted requests of a profile's program to the CUDA allocator in three steps, for
// the scripts beside it. One entry per line:
//   a ALLOCATION BYTES CALL STORAGE   an allocation (-1: no call, no storage)
//   f ALLOCATION                      its end
//   s                                 the end of a step
//   k CALL KEY                        a call whose scratch memory only a library knows
//
// usage: list_events MODEL.profile.json [TABLE.json]
#include <cstdio>
#include <exception>

#include "memory/step/training_events.h"
#include "operators/operator_key.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"

namespace {

using elixir::memory::TrainingEvents;

void print(const TrainingEvents& events) {
  std::size_t step = 0;
  for (std::size_t i = 0; i < events.events.size(); ++i) {
    const auto& event = events.events[i];
    const auto& allocation = events.allocations[static_cast<std::size_t>(event.allocation)];
    if (event.frees) {
      std::printf("f %d\n", event.allocation);
    } else {
      std::printf("a %d %lld %d %d\n",
                  event.allocation,
                  static_cast<long long>(allocation.bytes),
                  allocation.at,
                  allocation.storage);
    }
    if (step < events.step_ends.size() && i + 1 == events.step_ends[step]) {
      std::printf("s\n");
      ++step;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: list_events MODEL.profile.json [TABLE.json]\n", stderr);
    return 2;
  }
  try {
    constexpr int kSteps = 3;
    const elixir::program::Profile profile = elixir::program::load_profile(argv[1]);
    const elixir::program::Program& program = profile.program;
    elixir::operators::WorkspaceTable table;
    if (argc > 2) {
      table = elixir::operators::parse_workspace_table(*elixir::JsonDocument::load(argv[2]));
    }
    const auto scripts = elixir::operators::call_scripts(
        program, elixir::operators::cuda_traits(program.target), table);
    print(elixir::memory::training_events(program, profile.optimizer, scripts, kSteps));
    for (const auto& op : program.operators) {
      if (elixir::operators::is_library_call(op)) {
        std::printf("k %d %s\n", op.id, elixir::operators::operator_key(op).c_str());
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
