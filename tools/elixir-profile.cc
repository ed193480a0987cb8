// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-profile MODEL.pt: captures the training step of a TorchScript model without a GPU and
// without reading its weights, reports what it needs, and writes the program as MODEL.profile.json.
// It links no LibTorch: elixir-capture, a process that may touch nothing, reads the model.

#include <string>
#include <utility>
#include <vector>

#include "tools/common/end_process.h"
#include "tools/common/run_tool.h"
#include "tools/profile/options.h"
#include "tools/profile/run.h"

int main(int argc, char** argv) {
  elixir::tools::ProfileOptions options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-profile";
  info.summary = "Finds out what a training step of a TorchScript model needs, without a GPU.";
  info.examples = {
      {"elixir-profile gpt2.pt", "for an H200, with the input shapes the model was traced with"},
      {"elixir-profile gpt2.pt --html gpt2.html --gpu-memory 24GiB",
       "with a page for a browser; does it fit, and up to which batch?"},
      {"elixir-profile gpt2.pt --target cpu --batch 8", "for this machine's CPU, eight rows"},
      {"elixir-profile gpt2.pt --batch 1-64*2",
       "1, 2, 4, ... 64 rows: a table, a profile for each"},
      {"elixir-profile net.pt --input 'image:float32[8,3,224,224]' --loss cross-entropy",
       "a scripted model that returns logits; the last input is the label"}};
  info.output = {"FILE",
                 "where to write the profile",
                 "MODEL.profile.json; of several batch sizes MODEL.bN.profile.json"};
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", ELIXIR_LIBTORCH_VERSION}};
  };
  info.declare = [&options](elixir::tools::Flags& flags) { declare_profile_flags(flags, options); };
  info.details =
      "Memory is that of eager autograd on the target, from the second step on. Allocated is what "
      "LibTorch's allocator counts: tensors and, on CUDA targets, the scratch memory that calls "
      "take; on the CPU libraries take theirs elsewhere. Reserved is for CUDA targets alone: "
      "LibTorch's caching allocator simulated over the first steps, on a device of any size.\n\n"
      "What recomputing activations would save is read off the edited program. Its time is "
      "modelled "
      "with the figures shipped for the target's GPU; other targets show no time.\n\n"
      "--gpu-memory compares with process memory where it is known, else with reserved, else with "
      "allocated memory, and says which. The largest batch is found by capturing again.";
  const int code =
      elixir::tools::run_tool(info, argc, argv, [&options](elixir::tools::Context& context) {
        return run_profile(options, context);
      });
  elixir::tools::end_process(code);
}
