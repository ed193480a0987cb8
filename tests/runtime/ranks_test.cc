// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Several ranks, each a process with a CPU device: every placement gives the same bits, and those of
// one process with as many micro-batches.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/socket_communicator.h"
#include "runtime/training.h"
#include "schedule/reordered.h"

namespace elixir::runtime {
namespace {

constexpr program::Target kCpu{program::Target::Kind::kCpu, 0};
constexpr int kFailed = 9;

/// A socket between each two ranks: [rank][other].
std::vector<std::vector<int>> connected(int world) {
  std::vector<std::vector<int>> sockets(static_cast<std::size_t>(world),
                                        std::vector<int>(static_cast<std::size_t>(world), -1));
  for (int a = 0; a < world; ++a) {
    for (int b = a + 1; b < world; ++b) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) throw std::runtime_error("socketpair");
      sockets[a][b] = pair[0];
      sockets[b][a] = pair[1];
    }
  }
  return sockets;
}

std::unique_ptr<Communicator> communicator_of(int rank, std::vector<std::vector<int>>& sockets) {
  for (std::size_t other = 0; other < sockets.size(); ++other) {
    if (static_cast<int>(other) == rank) continue;
    for (const int socket : sockets[other]) {
      if (socket >= 0) ::close(socket);
    }
  }
  return make_socket_communicator(rank, std::move(sockets[static_cast<std::size_t>(rank)]));
}

/// Runs `body` in a process for each rank; its text by rank. Nothing of LibTorch may run here.
std::vector<std::string> on_ranks(int world, const std::function<std::string(const Ranks&)>& body) {
  auto steps = connected(world);
  auto control = connected(world);
  std::vector<pid_t> children;
  std::vector<std::string> files;
  for (int rank = 0; rank < world; ++rank) {
    files.push_back(
        (std::filesystem::temp_directory_path() / fmt::format("ranks-{}-{}", ::getpid(), rank))
            .string());
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const auto way = communicator_of(rank, steps);
        const auto other_way = communicator_of(rank, control);
        const std::string text = body({.steps = way.get(), .control = other_way.get()});
        std::ofstream(files.back(), std::ios::binary) << text;
      } catch (const std::exception& error) {
        std::ofstream(files.back(), std::ios::binary) << "error: " << error.what();
        ::_exit(kFailed);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (auto* mesh : {&steps, &control}) {
    for (const auto& sockets : *mesh) {
      for (const int socket : sockets) {
        if (socket >= 0) ::close(socket);
      }
    }
  }
  std::vector<std::string> texts;
  for (int rank = 0; rank < world; ++rank) {
    int status = 0;
    ::waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
    std::ifstream file(files[static_cast<std::size_t>(rank)], std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    file.close();
    std::filesystem::remove(files[static_cast<std::size_t>(rank)]);
    if (!WIFEXITED(status)) texts.back() += fmt::format("status {}", status);
  }
  return texts;
}

/// Losses, norms and all state after some steps, as bits.
struct Training {
  std::string model = "gpt2-tiny-bf16";
  Placement placement;
  std::size_t offload_nth = 0;
  bool recomputes = false;
  CpuOrder order = {};
  int late_ms = 0;  ///< how long the last rank waits before each step
};

std::string train(const Training& training, const Ranks& ranks) {
  at::set_num_threads(1);
  TestModel model(model_path(training.model), 10, kCpu);
  if (training.recomputes) model.recompute(edit::Recompute::kBlocks);
  if (training.offload_nth > 0) model.offload(training.offload_nth, 1 << 12);
  const Placement& placement = training.placement;
  const plan::Plan plan = model.plan(placement);
  TrainerOptions options;
  options.optimizer = {.weight_decay = 0.1, .no_decay = {"*bias"}};
  options.optimizer.clip_norm = placement.clips ? 0.5 : 0.0;
  options.seed = 11;
  options.cpu_threads = 1;
  options.poison_evicted = true;
  options.cpu_order = training.order;
  options.ranks = ranks;
  Trainer trainer(model.captured(), plan, options, model.weights());
  std::string bits;
  for (std::int64_t step = 1; step <= 3; ++step) {
    if (ranks.rank() + 1 == ranks.world()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(training.late_ms));
    }
    const int first = ranks.rank() * placement.accumulation_steps;
    const StepReport report =
        trainer.step(model.batch(step, placement.accumulation_steps, first), 3e-3).report();
    for (const float loss : report.micro_losses) bits += bits_of(loss) + " ";
    if (report.gradient_norm) bits += fmt::format("norm {:a} ", *report.gradient_norm);
    if (report.memory.peak_device_bytes != plan.predicted.peak_allocated_bytes) {
      bits += fmt::format("{} bytes instead of {} ",
                          report.memory.peak_device_bytes,
                          plan.predicted.peak_allocated_bytes);
    }
    if (report.traffic.collective_bytes != plan.predicted.traffic.collective_bytes) {
      bits += fmt::format("{} bytes exchanged instead of {}",
                          report.traffic.collective_bytes,
                          plan.predicted.traffic.collective_bytes);
    }
  }
  for (const program::Parameter& parameter : trainer.program().parameters) {
    for (const StatePart part :
         {StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2}) {
      const at::Tensor value = trainer.state(parameter.name, part);
      if (!value.defined()) continue;
      bits += std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
    }
  }
  for (const program::Buffer& buffer : trainer.program().buffers) {
    const at::Tensor value = trainer.buffer(buffer.name);
    bits += std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
  }
  return bits;
}

/// The same on every rank.
std::string train_on_ranks(const Training& training) {
  const std::vector<std::string> bits = on_ranks(
      training.placement.world, [&](const Ranks& ranks) { return train(training, ranks); });
  for (const std::string& other : bits) {
    EXPECT_EQ(other.substr(0, 6), bits.front().substr(0, 6));
    EXPECT_TRUE(other == bits.front()) << other.substr(0, 200);
  }
  EXPECT_NE(bits.front().substr(0, 6), "error:") << bits.front();
  return bits.front();
}

/// In a process of its own, as one rank.
std::string train_alone(Training training) {
  training.placement.world = 1;
  return on_ranks(1, [&](const Ranks&) { return train(training, {}); }).front();
}

std::vector<Placement> placements(int world) {
  using plan::Home;
  std::vector<Placement> all = {kAllOnDevice,
                                kOptimizerOnHost,
                                kAllOnHost,
                                kStreamedUpdates,
                                {Home::kDevice, Home::kHost, Home::kHost},
                                {Home::kHost, Home::kDevice, Home::kDevice}};
  for (Placement& placement : all) {
    placement.world = world;
    placement.clips = true;
  }
  return all;
}

class Worlds : public testing::TestWithParam<int> {};

TEST_P(Worlds, HaveTheBitsOfOneProcessWithAsManyMicroBatches) {
  const int world = GetParam();
  Training alone{.placement = kAllOnDevice};
  alone.placement.clips = true;
  alone.placement.accumulation_steps = world;
  const std::string expected = train_alone(alone);
  for (std::size_t i = 0; i < placements(world).size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(train_on_ranks({.placement = placements(world)[i]}) == expected);
  }
}

TEST_P(Worlds, GiveTheSameBitsUnderEveryPlacementWithSeveralMicroBatches) {
  const int world = GetParam();
  std::string expected;
  for (const bool clips : {true, false}) {
    for (Placement placement : placements(world)) {
      placement.accumulation_steps = 2;
      placement.clips = clips;
      const std::string bits = train_on_ranks({.placement = placement});
      if (expected.empty()) expected = bits;
      EXPECT_TRUE(bits == expected);
    }
    expected.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Worlds, testing::Values(2, 3, 4));

TEST(Ranks, EveryModelHasTheBitsOfOneProcess) {
  for (const std::string model : {"opt-tiny", "llama-tiny", "bert-tiny", "t5-tiny", "vit-tiny"}) {
    SCOPED_TRACE(model);
    Training alone{.model = model};
    alone.placement.accumulation_steps = 2;
    alone.placement.clips = true;
    Training two{.model = model, .placement = kAllOnHost};
    two.placement.world = 2;
    two.placement.clips = true;
    EXPECT_TRUE(train_on_ranks(two) == train_alone(alone));
  }
}

TEST(Ranks, BuffersThatAStepChangesAreThoseOfTheFirst) {
  Training two{.model = "resnet-tiny", .placement = kAllOnHost};
  two.placement.world = 2;
  const std::string bits = train_on_ranks(two);
  two.placement = kAllOnDevice;
  two.placement.world = 2;
  EXPECT_TRUE(train_on_ranks(two) == bits);
}

TEST(Ranks, EditsChangeNoBits) {
  Training training{.placement = kAllOnHost};
  training.placement.world = 2;
  training.placement.accumulation_steps = 2;
  training.placement.clips = true;
  const std::string expected = train_on_ranks(training);
  training.recomputes = true;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.recomputes = false;
  training.offload_nth = 2;
  EXPECT_TRUE(train_on_ranks(training) == expected);
}

TEST(Ranks, SumsMayBeRoundedToTheParametersDtype) {
  std::string expected;
  for (Placement placement : placements(2)) {
    placement.reduce = plan::ReduceDType::kParameters;
    const std::string bits = train_on_ranks({.placement = placement});
    if (expected.empty()) expected = bits;
    EXPECT_TRUE(bits == expected);
  }
  EXPECT_FALSE(train_on_ranks({.placement = placements(2).front()}) == expected);
}

TEST(Ranks, OrdersAndDelaysChangeNoBits) {
  Training training{.placement = kAllOnHost};
  training.placement.world = 3;
  training.placement.clips = true;
  const std::string expected = train_on_ranks(training);
  training.order = {CpuOrder::Kind::kLanes};
  EXPECT_TRUE(train_on_ranks(training) == expected);
  training.late_ms = 150;
  EXPECT_TRUE(train_on_ranks(training) == expected);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    training.late_ms = 0;
    training.order = {CpuOrder::Kind::kShuffled, seed};
    EXPECT_TRUE(train_on_ranks(training) == expected) << seed;
  }
}

TEST(Ranks, OneThatEndsIsNamedByTheOthers) {
  const std::vector<std::string> texts = on_ranks(3, [](const Ranks& ranks) -> std::string {
    if (ranks.rank() == 1) return "gone";
    std::vector<char> all(3 << 20);
    try {
      for (;;) ranks.steps->all_gather(all.data(), all.data(), 1 << 20);
    } catch (const Error& error) {
      return fmt::format("{}: {}", code_text(error.info().code), error.info().message);
    }
  });
  EXPECT_EQ(texts[1], "gone");
  // Who sees it first ends too, so that the third may miss that one instead.
  const bool named = texts[0].find("EX0707: rank 0 lost rank 1 of 3") == 0 ||
                     texts[2].find("EX0707: rank 2 lost rank 1 of 3") == 0;
  EXPECT_TRUE(named) << texts[0] << "\n" << texts[2];
  EXPECT_EQ(texts[0].substr(0, 6), "EX0707");
  EXPECT_EQ(texts[2].substr(0, 6), "EX0707");
}

TEST(Ranks, APlanForAnotherNumberIsRefused) {
  Training training{.placement = kAllOnDevice};
  training.placement.world = 2;
  const std::string text = on_ranks(1, [&](const Ranks&) { return train(training, {}); }).front();
  EXPECT_NE(text.find("the plan is for 2 ranks, this training has 1"), std::string::npos) << text;
}

}  // namespace
}  // namespace elixir::runtime
