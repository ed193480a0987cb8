// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What a task costs the host beside its work, on the CPU device: the processor time of a step, less
// the time between the start and the end of each task's work (operators, copies, AdamW), per task.
// So it counts the executor, the device, two readings of the clock and, with lanes, the threads. Of
// the thread that issues tasks it is shown alone, too, because the GPU waits for that one.
// Every parameter has a chunk of its own on the host, so that there are many tasks and little work.
//
// Others may use the machine: of a step's processor time and of each task's work the least of all
// steps counts. The first is rarely at its least in every part, so the cost is rather too high. The
// work is timed where tasks run one after another on one thread; with lanes the same is subtracted.
//
// usage: task_benchmark MODEL.pt [STEPS]
#include <ctime>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/training.h"

namespace elixir::runtime {
namespace {

/// Processor time of the process or the calling thread.
double cpu_ns(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

struct StepCost {
  double all_ns = std::numeric_limits<double>::max();
  double caller_ns = all_ns;    ///< of the thread that issues tasks and runs operators
  std::vector<double> work_ns;  ///< by task
};

StepCost measure(const TestModel& model, const plan::Plan& plan, CpuOrder order, int steps) {
  TrainerOptions options;
  options.optimizer.clip_norm = 1.0;
  options.cpu_threads = 1;
  options.cpu_order = order;
  Trainer trainer(model.captured(), plan, options, model.weights());
  const MicroBatches batch = model.batch(1, plan.accumulation_steps);
  StepCost least;
  least.work_ns.assign(trainer.schedule().tasks.size(), least.all_ns);
  for (int step = 0; step < steps; ++step) {
    const double begin_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    const double caller_begin_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    const StepReport report = trainer.step(batch, 1e-6, {.time_tasks = true}).report();
    least.caller_ns = std::min(least.caller_ns, cpu_ns(CLOCK_THREAD_CPUTIME_ID) - caller_begin_ns);
    least.all_ns = std::min(least.all_ns, cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns);
    for (std::size_t i = 0; i < least.work_ns.size(); ++i) {
      const schedule::TaskTime& task = report.tasks[i];
      least.work_ns[i] = std::min(least.work_ns[i], task.end_ns - task.start_ns);
    }
  }
  return least;
}

int run(const std::string& path, int steps) {
  at::set_num_threads(1);
  constexpr std::int64_t kTokens = 10;
  const TestModel model(path, kTokens, program::Target{program::Target::Kind::kCpu, 0});
  Placement placement = kAllOnHost;
  placement.accumulation_steps = 2;
  placement.clips = true;
  placement.chunks = 1 << 20;
  const plan::Plan plan = model.plan(placement);
  const StepCost serial = measure(model, plan, {}, steps);
  const StepCost lanes = measure(model, plan, {CpuOrder::Kind::kLanes}, steps);
  const double all_work_ns = std::accumulate(serial.work_ns.begin(), serial.work_ns.end(), 0.0);
  const std::size_t tasks = serial.work_ns.size();
  double compute_ns = 0;
  for (const schedule::Task& task : model.lower(plan, placement.clips).tasks) {
    if (task.stream == schedule::Stream::kCompute) compute_ns += serial.work_ns[task.id];
  }
  const auto print = [&](const std::string& name, double all_ns, double work_ns) {
    std::cout << fmt::format(
        "{:<18} {:8.1f} us a step, {:8.1f} of it work, {} tasks: {:.2f} us each\n",
        name,
        1e-3 * all_ns,
        1e-3 * work_ns,
        tasks,
        1e-3 * (all_ns - work_ns) / static_cast<double>(tasks));
  };
  print("one by one", serial.all_ns, all_work_ns);
  print("lanes, all threads", lanes.all_ns, all_work_ns);
  print("lanes, the caller", lanes.caller_ns, compute_ns);
  return 0;
}

}  // namespace
}  // namespace elixir::runtime

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: task_benchmark MODEL.pt [STEPS]\n";
    return 2;
  }
  try {
    return elixir::runtime::run(argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : 200);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
