// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Prints as JSON the total cost, by a machine's cost model, of all executed calls of a program (on
// a GPU the time of their kernels), for tests/gpu/check_operators.py.
//
// usage: list_costs MODEL.profile.json HARDWARE.json
#include <array>
#include <cstdio>
#include <exception>

#include "core/json.h"
#include "hardware/hardware_profile.h"
#include "hardware/operator_cost.h"
#include "program/document.h"
#include "program/lifetimes.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: list_costs MODEL.profile.json HARDWARE.json\n", stderr);
    return 2;
  }
  try {
    using elixir::hardware::OperatorCost;
    const elixir::program::Program program = elixir::program::load_profile(argv[1]).program;
    const elixir::hardware::CostModel model(elixir::hardware::load_hardware(argv[2]));
    const auto lifetimes = elixir::program::analyse_lifetimes(program);
    const std::array<const char*, 3> names = {"measured", "interpolated", "roofline"};
    std::array<double, 3> time_ns{};
    std::array<int, 3> calls{};
    for (const auto& op : program.operators) {
      if (!lifetimes.executed[static_cast<std::size_t>(op.id)]) continue;
      const OperatorCost cost = model.cost(op);
      time_ns.at(static_cast<std::size_t>(cost.source)) += cost.kernel_ns;
      ++calls.at(static_cast<std::size_t>(cost.source));
    }
    elixir::Json document = elixir::Json::object();
    for (std::size_t i = 0; i < names.size(); ++i) {
      document[names.at(i)] = {{"calls", calls.at(i)}, {"time_ns", time_ns.at(i)}};
    }
    std::printf("%s\n", document.dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
