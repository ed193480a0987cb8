// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What torchrun's and SLURM's variables say. Bad ones: test_started_ranks.py.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tools/train/ranks/variables.h"

namespace elixir::tools {
namespace {

/// `set` must outlive them.
Variables variables_of(const std::map<std::string, std::string>& set) {
  return [&set](const std::string& name) -> const char* {
    const auto found = set.find(name);
    return found == set.end() ? nullptr : found->second.c_str();
  };
}

std::optional<runtime::StartedRank> started(const std::map<std::string, std::string>& set) {
  return started_rank(variables_of(set));
}

std::map<std::string, std::string> of_torchrun() {
  return {{"RANK", "5"},
          {"WORLD_SIZE", "8"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "4"},
          {"MASTER_ADDR", "gpu08"},
          {"MASTER_PORT", "29500"}};
}

std::map<std::string, std::string> of_srun() {
  return {{"SLURM_JOB_ID", "1234567"},
          {"SLURM_STEP_ID", "2"},
          {"SLURM_STEP_NUM_TASKS", "11"},
          {"SLURM_PROCID", "9"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NODEID", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"},
          {"SLURM_STEP_NODELIST", "gpu[08-09,14]"}};
}

TEST(RankVariables, WithoutThemElixirTrainStartsTheRanks) {
  EXPECT_FALSE(started({}));
  EXPECT_FALSE(started({{"MASTER_ADDR", "gpu08"}, {"LOCAL_RANK", "0"}}));
}

TEST(RankVariables, TorchrunStartsRanks) {
  const auto rank = started(of_torchrun());
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 5);
  EXPECT_EQ(rank->world, 8);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_world, 4);
  EXPECT_EQ(rank->master_host, "gpu08");
  EXPECT_EQ(rank->master_port, 29500);
  EXPECT_FALSE(rank->store_is_there);
}

TEST(RankVariables, TorchrunLeavesOneThreadWhereNobodyChose) {
  const auto too_few = [](const std::map<std::string, std::string>& set, int cores) {
    return has_too_few_threads(variables_of(set), cores);
  };
  EXPECT_TRUE(too_few({{"TORCHELASTIC_RUN_ID", "none"}, {"OMP_NUM_THREADS", "1"}}, 16));
  EXPECT_FALSE(too_few({{"TORCHELASTIC_RUN_ID", "none"}, {"OMP_NUM_THREADS", "1"}}, 1));
  EXPECT_FALSE(too_few({{"TORCHELASTIC_RUN_ID", "none"}, {"OMP_NUM_THREADS", "8"}}, 16));
  EXPECT_FALSE(too_few({{"OMP_NUM_THREADS", "1"}}, 16));
  EXPECT_FALSE(too_few({{"TORCHELASTIC_RUN_ID", "none"}}, 16));
}

TEST(RankVariables, TorchrunsAgentKeepsTheStoreOverAttempts) {
  auto set = of_torchrun();
  set["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  set["TORCHELASTIC_RESTART_COUNT"] = "3";
  EXPECT_TRUE(started(set)->store_is_there);
  EXPECT_EQ(started(set)->attempt, "3");
}

TEST(RankVariables, OneProcessOfTorchrunIsNoRank) {
  auto set = of_torchrun();
  set["RANK"] = set["LOCAL_RANK"] = "0";
  set["WORLD_SIZE"] = set["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_FALSE(started(set));
}

TEST(RankVariables, SrunStartsRanks) {
  const auto rank = started(of_srun());
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->rank, 9);
  EXPECT_EQ(rank->world, 11);
  EXPECT_EQ(rank->local_rank, 1);
  EXPECT_EQ(rank->local_world, 3);
  EXPECT_EQ(rank->master_host, "gpu08");
  auto other_step = of_srun();
  other_step["SLURM_STEP_ID"] = "3";
  EXPECT_NE(started(other_step)->master_port, rank->master_port);
  auto other_node = of_srun();
  other_node["SLURM_NODEID"] = "1";
  EXPECT_EQ(started(other_node)->local_world, 4);
}

TEST(RankVariables, ABatchScriptHasNotBeenStartedAsARank) {
  EXPECT_FALSE(started({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}));
}

TEST(RankVariables, MasterAddrComesBeforeTheListOfHosts) {
  auto set = of_srun();
  set["MASTER_ADDR"] = "10.0.0.1";
  set["MASTER_PORT"] = "4000";
  EXPECT_EQ(started(set)->master_host, "10.0.0.1");
  EXPECT_EQ(started(set)->master_port, 4000);
}

TEST(RankVariables, TheFirstHostOfAListIsRead) {
  EXPECT_EQ(first_host("gpu08"), "gpu08");
  EXPECT_EQ(first_host("login,gpu[1-3]"), "login");
  EXPECT_EQ(first_host("gpu[08-11,14],login"), "gpu08");
  EXPECT_EQ(first_host("gpu[14]"), "gpu14");
  EXPECT_EQ(first_host("rack[2-3]-node,other"), "rack2-node");
  EXPECT_EQ(first_host("gpu[08"), "");
}

TEST(RankVariables, EachRankOfAMachineSeesAGpuOfItsOwn) {
  EXPECT_EQ(gpu_of_rank(nullptr, 2, 4), "2");
  EXPECT_EQ(gpu_of_rank("4,5,6,7", 2, 4), "6");
  EXPECT_EQ(gpu_of_rank("GPU-1a,GPU-2b", 1, 2), "GPU-2b");
  EXPECT_EQ(gpu_of_rank("3", 1, 2), "3") << "the launcher has chosen";
  EXPECT_EQ(gpu_of_rank("4,5", 2, 4), "") << "there is none";
}

}  // namespace
}  // namespace elixir::tools
