// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/ranks/variables.h"

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.h"

namespace elixir::tools {
namespace {

constexpr int kMostRanks = 100'000;

std::optional<int> number_of(const Variables& variables, const std::string& name) {
  const char* text = variables(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view view(text);
  int value = -1;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < 0) {
    throw Error(ErrorCode::kRanksContradict, "{} is `{}`, which is no number of a rank", name, view)
        .help("unset it, or set it to a number of at least 0");
  }
  return value;
}

int needed_number(const Variables& variables, const std::string& name, const char* beside) {
  const std::optional<int> value = number_of(variables, name);
  if (value) return *value;
  throw Error(ErrorCode::kRanksContradict, "{} is set, but not {}", beside, name)
      .help("set both, or neither: then elixir-train starts the ranks of this machine itself");
}

std::string needed_text(const Variables& variables, const std::string& name, const char* beside) {
  const char* value = variables(name);
  if (value != nullptr && *value != '\0') return value;
  throw Error(ErrorCode::kRanksContradict, "{} is set, but not {}", beside, name)
      .help("set MASTER_ADDR to the host of rank 0, and MASTER_PORT to a free port there");
}

/// RANK, WORLD_SIZE and so on are those of torchrun, the others' of SLURM.
struct Names {
  std::string rank, world, local_rank, local_world;
};

void check_numbers(const runtime::StartedRank& started, const Names& names) {
  const auto check = [](int rank, const std::string& name, int world, const std::string& of) {
    if (world >= 1 && world <= kMostRanks && rank < world) return;
    throw Error(ErrorCode::kRanksContradict, "{} is {}, but {} is {}", name, rank, of, world)
        .help("{} counts from 0: it must be below {}", name, of);
  };
  check(started.rank, names.rank, started.world, names.world);
  check(started.local_rank, names.local_rank, started.local_world, names.local_world);
  if (started.local_world > started.world || started.local_rank > started.rank) {
    throw Error(ErrorCode::kRanksContradict,
                "rank {} of {} cannot be process {} of {} of its machine ({}, {})",
                started.rank,
                started.world,
                started.local_rank,
                started.local_world,
                names.local_rank,
                names.local_world)
        .help("a machine has at most all ranks; unset what torchrun or SLURM has not set");
  }
}

void check_port(int port) {
  if (port >= 1 && port <= 65535) return;
  throw Error(ErrorCode::kRanksContradict, "MASTER_PORT is {}", port).help("ports are 1 to 65535");
}

std::optional<runtime::StartedRank> by_torchrun(const Variables& variables) {
  const Names names{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
  const bool has_rank = variables(names.rank) != nullptr;
  if (!has_rank && variables(names.world) == nullptr) return std::nullopt;
  runtime::StartedRank started;
  started.rank = needed_number(variables, names.rank, "WORLD_SIZE");
  started.world = needed_number(variables, names.world, "RANK");
  // By hand, with one process a machine, the local ones may be left out.
  const auto local_rank = number_of(variables, names.local_rank);
  const auto local_world = number_of(variables, names.local_world);
  if (local_rank.has_value() != local_world.has_value()) {
    const bool has = local_rank.has_value();
    static_cast<void>(needed_number(variables,
                                    has ? names.local_world : names.local_rank,
                                    has ? "LOCAL_RANK" : "LOCAL_WORLD_SIZE"));
  }
  started.local_rank = local_rank.value_or(0);
  started.local_world = local_world.value_or(1);
  check_numbers(started, names);
  if (started.world == 1) return std::nullopt;
  started.master_host = needed_text(variables, "MASTER_ADDR", "RANK");
  started.master_port = needed_number(variables, "MASTER_PORT", "RANK");
  check_port(started.master_port);
  const char* agent = variables("TORCHELASTIC_USE_AGENT_STORE");
  started.store_is_there = agent != nullptr && std::string_view(agent) == "True";
  const char* attempt = variables("TORCHELASTIC_RESTART_COUNT");
  if (attempt != nullptr) started.attempt = attempt;
  return started;
}

/// srun sets SLURM_STEP_…; a batch script or a shell of salloc has not been started as a rank.
std::optional<runtime::StartedRank> by_slurm(const Variables& variables) {
  const Names names{
      "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "the ranks of this node"};
  const std::optional<int> world = number_of(variables, names.world);
  if (!world || *world == 1 || variables(names.rank) == nullptr) return std::nullopt;
  runtime::StartedRank started;
  started.world = *world;
  started.rank = needed_number(variables, names.rank, "SLURM_STEP_NUM_TASKS");
  started.local_rank = needed_number(variables, names.local_rank, "SLURM_PROCID");
  // "4(x2),3": one entry a node; the own one is SLURM_NODEID.
  const std::string tasks =
      needed_text(variables, "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NUM_TASKS");
  int node = needed_number(variables, "SLURM_NODEID", "SLURM_PROCID");
  started.local_world = 0;
  std::istringstream entries(tasks);
  for (std::string entry; node >= 0 && std::getline(entries, entry, ',');) {
    int count = 0, times = 1;
    const std::size_t repeated = entry.find("(x");
    const auto parse = [&entry](std::size_t from, int& value) {
      std::from_chars(entry.data() + from, entry.data() + entry.size(), value);
    };
    parse(0, count);
    if (repeated != std::string::npos) parse(repeated + 2, times);
    started.local_world = count;
    node -= times;
  }
  check_numbers(started, names);
  const char* address = variables("MASTER_ADDR");
  started.master_host =
      address != nullptr
          ? address
          : first_host(needed_text(variables, "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS"));
  if (started.master_host.empty()) {
    throw Error(ErrorCode::kRanksContradict,
                "SLURM_STEP_NODELIST is `{}`, which names no host",
                variables("SLURM_STEP_NODELIST"))
        .help("set MASTER_ADDR to the host of rank 0");
  }
  // Every step has a port of its own, below those that systems give to connections.
  constexpr int kFirstPort = 15'000, kPorts = 15'000, kStepsOfJob = 16;
  const int job = number_of(variables, "SLURM_JOB_ID").value_or(0);
  const int step = number_of(variables, "SLURM_STEP_ID").value_or(0);
  started.master_port = number_of(variables, "MASTER_PORT")
                            .value_or(kFirstPort + (job % kPorts * kStepsOfJob + step) % kPorts);
  check_port(started.master_port);
  return started;
}

}  // namespace

std::optional<runtime::StartedRank> started_rank(const Variables& variables) {
  std::optional<runtime::StartedRank> started = by_torchrun(variables);
  return started ? started : by_slurm(variables);
}

bool has_too_few_threads(const Variables& variables, int cores_of_rank) {
  const char* threads = variables("OMP_NUM_THREADS");
  return variables("TORCHELASTIC_RUN_ID") != nullptr && threads != nullptr &&
         std::string(threads) == "1" && cores_of_rank > 1;
}

std::string first_host(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',') return host;
  const std::size_t stop = list.find_first_of(",-]", end);
  if (stop == std::string::npos) return "";
  host += list.substr(end + 1, stop - end - 1);
  // What follows the brackets is a part of the name.
  const std::size_t closed = list.find(']', end);
  if (closed == std::string::npos) return "";
  return host + list.substr(closed + 1, list.find(',', closed) - closed - 1);
}

std::string gpu_of_rank(const char* visible, int local_rank, int local_world) {
  if (visible == nullptr) return std::to_string(local_rank);
  std::vector<std::string> gpus;
  std::istringstream all{std::string(visible)};
  for (std::string gpu; std::getline(all, gpu, ',');) gpus.push_back(gpu);
  const bool chosen = gpus.size() == 1 && local_world > 1;
  if (chosen) return visible;
  if (static_cast<std::size_t>(local_rank) < gpus.size()) {
    return gpus[static_cast<std::size_t>(local_rank)];
  }
  return "";
}

}  // namespace elixir::tools
