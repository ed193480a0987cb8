// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-train: runs a plan. See tools/train/.
#include <torch/version.h>

#include "core/error.h"
#include "runtime/ranks/apart.h"
#include "tools/common/end_process.h"
#include "tools/common/run_tool.h"
#include "tools/train/options.h"
#include "tools/train/run.h"

int main(int argc, char** argv) {
  elixir::tools::TrainOptions options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-train";
  info.summary =
      "Trains a model as a plan says, and compares what was predicted with what was measured.";
  info.examples = {{"elixir-train --plan plan.json --model gpt2.pt --data text/ --steps 300 -o run",
                    "train on the .txt and .py files below text/"},
                   {"elixir-train --resume run", "go on after an interruption"},
                   {"elixir-train --plan plan.json --model gpt2.pt --data text/ --dry-run",
                    "check everything and show the prediction"},
                   {"torchrun --nnodes 2 --nproc-per-node 8 --no-python elixir-train ...",
                    "on every machine, with a plan for 16 GPUs"}};
  info.details =
      "A plan for several GPUs is trained by as many processes. elixir-train starts them itself, "
      "on "
      "this machine, unless torchrun (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, "
      "MASTER_PORT) or srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS and others) has started one "
      "process "
      "for each. Those read plan, model and data on their own machine; rank 0 alone prints. Each "
      "writes its part of checkpoints, so all machines must have the run directory at the same "
      "path. "
      "They wait 25 s for each other, or ELIXIR_CONNECT_SECONDS. Ranks on several machines know "
      "each other by ELIXIR_JOB_SECRET, or by the content of ELIXIR_JOB_SECRET_FILE.";
  info.output = {"RUN_DIR", "run directory to make", "MODEL.run"};
  info.declare = [&](elixir::tools::Flags& flags) { declare_train_flags(flags, options); };
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", TORCH_VERSION}};
  };
  const int code = elixir::tools::run_tool(info, argc, argv, [&](elixir::tools::Context& context) {
    return elixir::tools::train(options, context);
  });
  // After a failure a thread may still be inside of a library, which an orderly end would wait for.
  if (code != 0 || elixir::runtime::works_apart()) elixir::tools::end_process_at_once(code);
  elixir::tools::end_process(code);
}
