// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/training_run.h"

#include <signal.h>

#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <torch/csrc/jit/api/module.h>

#include "core/interrupt.h"
#include "core/units.h"
#include "schedule/plans.h"
#include "train/run/resume.h"
#include "train/support.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

using test::content_of;
using test::error_of;

/// Runs a given function after each step.
class Watcher : public RunObserver {
 public:
  explicit Watcher(std::function<void(const StepRecord&)> after = {}) : after_(std::move(after)) {}
  void step_done(const StepRecord& record) override {
    losses.push_back(record.report.loss);
    if (record.held_out_loss) held_out.push_back(record.step);
    if (after_) after_(record);
  }
  void evaluated_untrained(double loss) override { untrained = loss; }
  void stopping(std::int64_t steps_done) override { stopped_after = steps_done; }

  std::vector<double> losses;
  std::vector<std::int64_t> held_out;  ///< steps after which it was measured
  std::optional<double> untrained;
  std::optional<std::int64_t> stopped_after;

 private:
  std::function<void(const StepRecord&)> after_;
};

/// A linear model of eight numbers, trained on sixty-four samples.
class TrainingRunTest : public testing::Test {
 protected:
  void SetUp() override {
    torch::jit::Module module("Line");
    module.register_parameter("weight", at::full({8, 1}, 0.5).requires_grad_(true), false);
    module.define(
        "def forward(self, x: Tensor, y: Tensor) -> Tensor:\n"
        "    return torch.mse_loss(torch.mm(x, self.weight), y)\n");
    module.save(directory_.file("line.pt"));
    const auto x = [] { return at::linspace(-1, 1, 64 * 8).reshape({64, 8}); };
    write_safetensors(
        directory_.file("line.safetensors"),
        {{"x", program::DType::kFloat32, {64, 8}, x},
         {"y", program::DType::kFloat32, {64, 1}, [&] { return x().sum(1, /*keepdim=*/true); }}},
        {},
        Overwrite::kRefuse);
    const capture::Model model = capture::Model::load(directory_.file("line.pt"));
    capture::Options wanted;
    wanted.target = *program::Target::parse("cpu");
    wanted.inputs = {*capture::InputSpec::parse("x:float32[4,8]"),
                     *capture::InputSpec::parse("y:float32[4,1]")};
    inputs_.captured = capture::capture(model, wanted);
    wanted.mode = program::Mode::kEvaluate;
    wanted.backward = false;
    inputs_.held_out.emplace().program = capture::capture(model, wanted);
    const program::Program& program = inputs_.captured.program;
    inputs_.fingerprint = program::fingerprint(program);
    inputs_.plan = fakes::lay_out(program, {});
    inputs_.plan.programs = {{"train", inputs_.fingerprint}};
    inputs_.plan.hardware = {"", program::DeviceKind::kCpu, 0, program.target.isa};
    inputs_.plan.budgets.gpu_memory_bytes = 64_MiB;
    inputs_.plan.budgets.host_memory_bytes = 64_MiB;
    inputs_.weights = [model](const std::string& name) { return model.read(name); };
    const DataFiles files = find_data({directory_.file("line.safetensors")}, std::nullopt);
    inputs_.data_format = files.format;
    inputs_.data = Dataset::open(files, program, 1);
    inputs_.held_out->data = Dataset::open(files, inputs_.held_out->program.program, 1);
    options_.steps = 6;
    options_.learning_rate = {LearningRate::Schedule::kConstant, 0.01, 0, 6};
  }
  void TearDown() override { clear_interrupt(); }

  RunResult train(RunDirectory& directory,
                  RunObserver& observer,
                  const std::optional<FoundCheckpoint>& from = std::nullopt) {
    TrainingRun run(inputs_, options_, from, observer);
    run.begin(directory, {});
    return run.train();
  }
  [[nodiscard]] RunDirectory create(const std::string& name) const {
    return RunDirectory::create(directory_.file(name), Overwrite::kRefuse);
  }
  [[nodiscard]] static std::vector<std::int64_t> steps_logged(const RunDirectory& directory) {
    std::istringstream lines(content_of(directory.directory().file("metrics.jsonl")));
    std::vector<std::int64_t> steps;
    for (std::string line; std::getline(lines, line);) {
      steps.push_back(Json::parse(line)["step"].get<std::int64_t>());
    }
    return steps;
  }

  test::TemporaryDirectory directory_;
  RunInputs inputs_;
  RunOptions options_;
};

std::vector<std::int64_t> timed_steps(const StepRange& run) {
  std::vector<std::int64_t> timed;
  for (std::int64_t step = run.first; step <= run.last; ++step) {
    if (times_tasks(step, run)) timed.push_back(step);
  }
  return timed;
}

TEST(TimedSteps, AreFollowedByAnotherWhereThereIsOne) {
  using Steps = std::vector<std::int64_t>;
  EXPECT_EQ(timed_steps({1, 1}), Steps({1}));
  EXPECT_EQ(timed_steps({1, 2}), Steps({1, 2}));  // the first warms up
  EXPECT_EQ(timed_steps({1, 3}), Steps({2}));
  EXPECT_EQ(timed_steps({1, 15}), Steps({14}));
  EXPECT_EQ(timed_steps({1, 16}), Steps({15}));
  EXPECT_EQ(timed_steps({1, 40}), Steps({15, 31, 39}));
  EXPECT_EQ(timed_steps({30, 31}), Steps({30, 31}));
  EXPECT_EQ(timed_steps({30, 47}), Steps({31, 46}));
}

TEST_F(TrainingRunTest, TrainsAllStepsAndLeavesOneCheckpoint) {
  RunDirectory directory = create("run");
  Watcher watcher;
  const RunResult result = train(directory, watcher);
  EXPECT_TRUE(result.all_steps_done);
  EXPECT_EQ(result.steps_done, 6);
  EXPECT_EQ(result.checkpoint_step, 6);
  EXPECT_EQ(result.first_loss, watcher.losses.front());
  EXPECT_EQ(result.last_loss, watcher.losses.back());
  EXPECT_LT(*result.held_out_loss, *result.first_held_out_loss);
  EXPECT_EQ(result.first_held_out_loss, watcher.untrained);
  EXPECT_EQ(watcher.held_out, (std::vector<std::int64_t>{6}));
  ASSERT_EQ(result.times.size(), 1U);
  EXPECT_FALSE(result.times.front().tasks.empty());
  EXPECT_EQ(steps_logged(directory), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Json::parse(content_of(directory.directory().file("config.json")))["run_id"],
            directory.run_id());
}

TEST_F(TrainingRunTest, AnInterruptedRunGoesOnAsIfItHadNotBeen) {
  Watcher whole;
  RunDirectory uninterrupted = create("whole");
  train(uninterrupted, whole);

  Watcher first([](const StepRecord& record) {
    if (record.step == 3) request_interrupt(SIGINT);
  });
  {
    RunDirectory directory = create("run");
    const RunResult result = train(directory, first);
    EXPECT_FALSE(result.all_steps_done);
    // The step that had started is finished.
    EXPECT_EQ(result.steps_done, 4);
    EXPECT_EQ(result.checkpoint_step, 4);
    EXPECT_EQ(first.stopped_after, 4);
  }
  clear_interrupt();
  RunDirectory directory = RunDirectory::open(directory_.file("run"));
  std::vector<std::string> warnings;
  const auto from = find_resume_point(
      directory.checkpoints(), directory.identity(), inputs_, [&](const std::string& text) {
        warnings.push_back(text);
      });
  ASSERT_TRUE(from.has_value());
  EXPECT_TRUE(warnings.empty());
  Watcher second;
  EXPECT_TRUE(train(directory, second, from).all_steps_done);
  EXPECT_FALSE(second.untrained.has_value());
  std::vector<double> losses = first.losses;
  losses.insert(losses.end(), second.losses.begin(), second.losses.end());
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(steps_logged(directory), steps_logged(uninterrupted));
}

TEST_F(TrainingRunTest, AFailureNamesTheCheckpointThatStays) {
  options_.checkpoints.every = 2;
  RunDirectory directory = create("run");
  Watcher watcher([](const StepRecord& record) {
    if (record.step == 5) throw Error(ErrorCode::kLossNotFinite, "the loss of step 5 is nan");
  });
  const ErrorInfo info = error_of([&] { train(directory, watcher); });
  ASSERT_EQ(info.notes.size(), 1U);
  EXPECT_NE(info.notes[0].find("the checkpoint of step 4 stays in"), std::string::npos);
}

TEST_F(TrainingRunTest, WithoutCheckpointsAFinishedRunLeavesNone) {
  options_.checkpoints.every = 0;
  options_.evaluate_every = 4;
  RunDirectory directory = create("run");
  Watcher watcher;
  EXPECT_EQ(train(directory, watcher).checkpoint_step, std::nullopt);
  EXPECT_EQ(watcher.held_out, (std::vector<std::int64_t>{4, 6}));
  EXPECT_FALSE(newest_checkpoint(directory.checkpoints(), directory.identity()).has_value());
}

TEST_F(TrainingRunTest, ACheckpointGoesOnWithAnyProgramOfTheSameState) {
  RunDirectory directory = create("run");
  Watcher watcher;
  train(directory, watcher);
  std::vector<std::string> warnings;
  const auto found = [&] {
    return find_resume_point(
        directory.checkpoints(), directory.identity(), inputs_, [&](const std::string& text) {
          warnings.push_back(text);
        });
  };
  EXPECT_EQ(found()->info.step, 6);
  EXPECT_TRUE(warnings.empty());
  inputs_.fingerprint = std::string(64, 'f');
  EXPECT_EQ(found()->info.step, 6);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("with the same parameters"), std::string::npos) << warnings[0];

  program::Program& program = inputs_.captured.program;
  const program::Program same = program;
  program.parameters[0].tensor.sizes = {1, 8};
  EXPECT_EQ(error_of([&] { (void)found(); }).code, ErrorCode::kPlanOfAnotherProgram);
  program = same;
  program.parameters[0].name = "another";
  EXPECT_EQ(error_of([&] { (void)found(); }).code, ErrorCode::kPlanOfAnotherProgram);
  program = same;
  program.parameters.clear();
  EXPECT_EQ(error_of([&] { (void)found(); }).code, ErrorCode::kPlanOfAnotherProgram);
}

}  // namespace
}  // namespace elixir::train
