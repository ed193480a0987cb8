// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Trainings for the runtime's tests: a captured model file, hand-made plans for every placement,
// and the same run in plain eager LibTorch (tests/reference).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "edit/activations.h"
#include "plan/plan.h"
#include "reference/batches.h"
#include "runtime/trainer.h"
#include "schedule/simulate.h"

namespace elixir::runtime {

/// The homes of a chunk's state.
struct Placement {
  plan::Home parameters = plan::Home::kDevice;
  plan::Home gradients = plan::Home::kDevice;
  plan::Home optimizer = plan::Home::kDevice;
  int accumulation_steps = 1;
  bool clips = false;
  /// Optimizer state on the host goes through the device, in every chunk but each third.
  bool streams_updates = false;
  /// Moments are made late where they can be, in every chunk but each fourth.
  bool late_moments = false;
  int kept_gradients = 1;  ///< of chunks with late moments
  plan::Master master = plan::Master::kSplit;
  program::DType moments = program::DType::kFloat32;
  int world = 1, replicas = 1;
  plan::ReduceDType reduce = plan::ReduceDType::kFloat32;
  plan::Reduce reduced_by = plan::Reduce::kOrdered;
  plan::ReducePer reduce_per = plan::ReducePer::kMicroBatch;
  int chunks = 8;  ///< about so many, if there are as many parameters
};
inline constexpr Placement kAllOnDevice{};
inline constexpr Placement kOptimizerOnHost{.optimizer = plan::Home::kHost};
inline constexpr Placement kAllOnHost{plan::Home::kHost, plan::Home::kHost, plan::Home::kHost};
inline constexpr Placement kStreamedUpdates{
    plan::Home::kHost, plan::Home::kHost, plan::Home::kHost, 1, true, true};
/// With chunks of every kind: updated on the host or the device, moments late or not.
inline constexpr Placement kLateMoments{
    plan::Home::kHost, plan::Home::kHost, plan::Home::kHost, 1, true, true, true};
/// The same, with gradients of two steps for those with late moments.
inline constexpr Placement kKeptGradients{
    plan::Home::kHost, plan::Home::kHost, plan::Home::kHost, 1, true, true, true, 2};
/// The same, with those of three, so that moments of two steps are made together.
inline constexpr Placement kMomentsTogether{
    plan::Home::kHost, plan::Home::kHost, plan::Home::kHost, 1, true, true, true, 3};

/// The losses of every micro-batch, in order, as bits, and the final weights by name.
struct Outcome {
  std::vector<std::string> losses;
  std::map<std::string, std::string> weights;
};

/// Gradients by parameter, widened to fp32, in memory order.
using Gradients = std::map<std::string, std::vector<float>>;

struct TrainingRun {
  std::int64_t steps = 10;
  double learning_rate = 3e-3;
  OptimizerOptions optimizer{.weight_decay = 0.1, .no_decay = {"*bias"}};
  std::uint64_t seed = 11;
  int threads = 1;
};

/// One exported model, captured for the CPU device or a GPU.
class TestModel {
 public:
  /// `integer_range`: integer inputs are in [0, range). `batch` replaces that of the file.
  TestModel(const std::string& path,
            std::int64_t integer_range,
            program::Target target,
            std::optional<std::int64_t> batch = {});

  TestModel(const std::string& path, std::int64_t integer_range, const capture::Options& options);

  [[nodiscard]] const capture::Captured& captured() const { return captured_; }
  /// The program that runs: captured()'s, with what the edits below made of it.
  [[nodiscard]] const program::Program& program() const { return running_; }
  [[nodiscard]] const program::Lifetimes& lifetimes() const { return lifetimes_; }
  /// From now on plans make what `choice` says, and nothing else, a second time instead of keeping
  /// it.
  void recompute(edit::Recompute choice);
  /// From now on every `nth` activation that can waits on the host, after what else was edited.
  void offload(std::size_t nth, std::int64_t window_bytes);
  /// From now on plans fuse the loss. Before recompute(), which goes on from there.
  void fuse_loss();
  /// The same with all products aligned that can be, worth it or not.
  void align_products();
  /// From now on plans scale the loss. Before fuse_loss().
  void scale_loss();
  /// The same with norms and elementwise operators in groups.
  void fuse_elementwise();
  [[nodiscard]] TensorSource weights() const;
  /// Micro-batches from `first` on.
  [[nodiscard]] MicroBatches batch(std::int64_t step, int micro_batches, int first = 0) const;

  /// A plan with the fewest blocks that work, and its own prediction as both budgets. The
  /// workspaces are those of this machine's kernels.
  [[nodiscard]] plan::Plan plan(const Placement& placement) const;
  [[nodiscard]] schedule::Simulation simulate(const plan::Plan& plan,
                                              const schedule::Schedule& schedule) const;
  [[nodiscard]] schedule::Schedule lower(const plan::Plan& plan, bool clips) const;

  /// The same run in another process, in plain eager LibTorch.
  [[nodiscard]] Outcome eager(const TrainingRun& run,
                              int micro_batches,
                              const std::vector<std::string>& more = {}) const;
  /// Gradients of the first micro-batch of the same run, in plain eager LibTorch.
  [[nodiscard]] Gradients eager_gradients(const TrainingRun& run,
                                          std::vector<std::string> more = {}) const;

 private:
  void edit(const plan::Edit& edit);
  void measure_workspaces() const;

  std::string path_;
  capture::Model model_;
  capture::Captured captured_;
  std::vector<plan::Edit> edits_;
  program::Program running_;
  program::Lifetimes lifetimes_;
  std::vector<reference::InputShape> inputs_;
  mutable schedule::OperatorCosts costs_;  ///< workspaces are measured when first asked for
  mutable int measured_threads_ = 0;
};

/// The gradients of a trainer after its first step. They are its first moments, which equal the
/// gradients when beta1 is 0 and nothing is clipped.
[[nodiscard]] Gradients gradients_of(const Trainer& trainer);

/// The result of `run` in a trainer so far, in the format of `eager()`.
[[nodiscard]] std::string bits_of(float loss);
[[nodiscard]] std::map<std::string, std::string> weights_of(const Trainer& trainer);

/// The path of an exported model. ELIXIR_TEST_MODELS names the directory.
[[nodiscard]] std::string model_path(const std::string& name);

}  // namespace elixir::runtime
