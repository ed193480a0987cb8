// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-train: runs a plan. See tools/train/.
#include <torch/version.h>

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
                    "check everything and show the prediction"}};
  info.output = {"RUN_DIR", "run directory to make", "MODEL.run"};
  info.declare = [&](elixir::tools::Flags& flags) { declare_train_flags(flags, options); };
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", TORCH_VERSION}};
  };
  return elixir::tools::run_tool(info, argc, argv, [&](elixir::tools::Context& context) {
    return elixir::tools::train(options, context);
  });
}
