// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/rank_training.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include "core/sanitizer.h"
#include "core/units.h"
#include "runtime/ranks/heartbeat.h"
#include "runtime/ranks/socket_communicator.h"

namespace elixir::runtime {
namespace {

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

/// Closes those of other ranks.
std::vector<int> sockets_of(int rank, const std::vector<std::vector<int>>& sockets) {
  for (std::size_t other = 0; other < sockets.size(); ++other) {
    if (static_cast<int>(other) == rank) continue;
    for (const int socket : sockets[other]) {
      if (socket >= 0) ::close(socket);
    }
  }
  return sockets[static_cast<std::size_t>(rank)];
}

/// What is in a file, which is removed. A state of megabytes is not read a character at a time.
std::string taken(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::filesystem::remove(path);
  return text;
}

/// The model of a training with its edits. For the CPU it is made once, with one thread: a process
/// that forks may have no other.
const TestModel& model_of(const RankTraining& training) {
  using Key = std::tuple<std::string, bool, std::size_t, bool>;
  static std::map<Key, std::unique_ptr<TestModel>> models;
  std::unique_ptr<TestModel>& model = models[Key(
      training.model, training.recomputes, training.offload_nth, training.loss_scale.has_value())];
  if (model) return *model;
  at::set_num_threads(1);
  const program::Target target = training.sm > 0
                                     ? program::Target{program::Target::Kind::kCuda, training.sm}
                                     : program::Target{program::Target::Kind::kCpu, 0};
  model = std::make_unique<TestModel>(model_path(training.model), 10, target);
  if (training.loss_scale) model->scale_loss();
  if (training.recomputes) model->recompute(edit::Recompute::kBlocks);
  if (training.offload_nth > 0) model->offload(training.offload_nth, 1 << 12);
  return *model;
}

/// So that all ranks inherit it. GPUs must not be touched before they are there.
void make_model_for_all(const RankTraining& training) {
  if (training.sm == 0) static_cast<void>(model_of(training).plan(kAllOnDevice));
}

}  // namespace

std::vector<std::string> on_ranks(int world, const std::function<std::string(const Ranks&)>& body) {
  const auto steps = connected(world);
  const auto control = connected(world);
  const auto beats = connected(world);
  std::vector<pid_t> children;
  std::vector<std::string> files;
  for (int rank = 0; rank < world; ++rank) {
    files.push_back(
        (std::filesystem::temp_directory_path() / fmt::format("ranks-{}-{}", ::getpid(), rank))
            .string());
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const Heartbeat heartbeat(sockets_of(rank, beats));
        const auto way = make_socket_communicator(rank, sockets_of(rank, steps), &heartbeat);
        const auto other_way =
            make_socket_communicator(rank, sockets_of(rank, control), &heartbeat);
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
  for (const auto* mesh : {&steps, &control, &beats}) {
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
    texts.push_back(taken(files[static_cast<std::size_t>(rank)]));
    if (!WIFEXITED(status)) texts.back() += fmt::format("status {}", status);
  }
  return texts;
}

std::string train(const RankTraining& training, const Ranks& ranks) {
  at::set_num_threads(1);
  if (training.takes_gpu_of_rank) {
    ::setenv("CUDA_VISIBLE_DEVICES", std::to_string(ranks.rank()).c_str(), 1);
  }
  const bool cuda = training.sm > 0;
  const TestModel& model = model_of(training);
  const Placement& placement = training.placement;
  plan::Plan plan = model.plan(placement);
  if (cuda) plan.budgets.gpu_memory_bytes = 8_GiB;  // the prediction lacks kernels' workspaces
  TrainerOptions options;
  options.optimizer = {.weight_decay = 0.1, .no_decay = {"*bias"}};
  options.optimizer.clip_norm = placement.clips ? 0.5 : 0.0;
  if (training.loss_scale) options.loss_scale = *training.loss_scale;
  options.seed = 11;
  options.cpu_threads = 1;
  options.poison_evicted = true;
  options.device = cuda ? DeviceKind::kCuda : DeviceKind::kCpu;
  options.deterministic = cuda;
  options.cpu_order = training.order;
  options.ranks = ranks;
  Trainer trainer(model.captured(), plan, options, model.weights());
  std::string bits;
  if (training.begins) training.begins(trainer, ranks);
  for (std::int64_t step = trainer.steps_done() + 1; step <= training.last_step; ++step) {
    if (ranks.rank() + 1 == ranks.world()) {
      if (step == training.dies_after_steps + 1) ::raise(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(training.late_ms));
    }
    const int first = ranks.rank() * placement.accumulation_steps;
    const StepReport report =
        trainer.step(model.batch(step, placement.accumulation_steps, first), 3e-3).report();
    for (const float loss : report.micro_losses) bits += bits_of(loss) + " ";
    if (report.loss_scale) {
      bits += fmt::format("scale {}{} ", *report.loss_scale, report.skipped ? " skipped" : "");
    }
    if (report.gradient_norm) bits += fmt::format("norm {:a} ", *report.gradient_norm);
    if (!cuda && report.memory.peak_device_bytes != plan.predicted.peak_allocated_bytes) {
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
  if (training.ends) training.ends(trainer, ranks);
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

std::string train_on_ranks(const RankTraining& training) {
  make_model_for_all(training);
  const std::vector<std::string> bits = on_ranks(
      training.placement.world, [&](const Ranks& ranks) { return train(training, ranks); });
  for (const std::string& other : bits) {
    EXPECT_EQ(other.substr(0, 6), bits.front().substr(0, 6));
    EXPECT_TRUE(other == bits.front()) << other.substr(0, 200);
  }
  EXPECT_NE(bits.front().substr(0, 6), "error:") << bits.front();
  return bits.front();
}

std::string train_alone(RankTraining training) {
  training.placement.world = 1;
  make_model_for_all(training);
  return on_ranks(1, [&](const Ranks&) { return train(training, {}); }).front();
}

std::vector<Placement> placements(int world) {
  using plan::Home;
  std::vector<Placement> all = {kAllOnDevice, kMomentsTogether, kAllOnHost, kStreamedUpdates};
  if (!kUnderAddressSanitizer) {
    all.insert(all.end(),
               {kLateMoments,
                kKeptGradients,
                kOptimizerOnHost,
                {Home::kDevice, Home::kHost, Home::kHost},
                {Home::kHost, Home::kDevice, Home::kDevice}});
  }
  for (Placement& placement : all) {
    placement.world = world;
    placement.clips = true;
    placement.chunks = 1;
  }
  return all;
}

}  // namespace elixir::runtime
