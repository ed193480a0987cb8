// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A tool that does only what its flags ask for, to test tools/common. --do selects what happens.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/log.h"
#include "tools/common/run_tool.h"

namespace {

using elixir::tools::Answer;
using elixir::tools::Context;

struct Options {
  std::string what = "nothing";
  std::string profile;
  std::optional<std::string> page;
  std::int64_t steps = 10;
  std::optional<std::int64_t> gpu_memory_bytes;
  std::optional<std::int64_t> host_memory_bytes;
  double lr = 1e-4;
  std::vector<double> betas{0.9, 0.999};
  std::vector<std::int64_t> batch;
  std::vector<std::string> inputs;
  std::string strategy = "optimal";
  bool dry_run = false;
};

Answer work(const Options& options, Context& context) {
  const std::string& what = options.what;
  if (what == "values") {
    context.document() = {{"profile", options.profile},
                          {"steps", options.steps},
                          {"gpu_memory_bytes", options.gpu_memory_bytes.value_or(-1)},
                          {"lr", options.lr},
                          {"betas", options.betas},
                          {"batch", options.batch},
                          {"inputs", options.inputs},
                          {"strategy", options.strategy},
                          {"dry_run", options.dry_run},
                          {"steps_given", context.given("--steps")}};
  } else if (what == "print") {
    context.print("a result\n");
    context.hint("next: nothing");
    elixir::log::info("some information");
    elixir::log::verbose("details");
    context.warn(
        "the GPU is warm: 85 \xc2\xb0"
        "C \xe2\x86\x92 slow",
        {"cool it"});
  } else if (what == "no") {
    context.document() = {{"binding_limit", "gpu_memory"}};
    context.print("no feasible plan\n");
    return Answer::kNo;
  } else if (what == "bug") {
    elixir::require(false, "blocks overlap");
  } else if (what == "exception") {
    throw std::runtime_error("vector went away");
  } else if (what == "odd") {
    throw 7;
  } else if (what == "memory") {
    throw std::bad_alloc();
  } else if (what == "gpu") {
    throw elixir::Error(elixir::ErrorCode::kNoGpu, "no GPU found").help("use --device cpu");
  } else if (what == "hostile") {
    throw elixir::Error(elixir::ErrorCode::kFileNotFound, "\x1b[2J\xff\r\x07");
  } else if (what == "write twice") {
    const std::string path = context.prepare_output("out.txt");
    if (options.page) context.write_output(*options.page, "page\n");
    context.write_output(path, "content\n");
  } else if (what == "replace directory") {
    context.files().replaces_directory("-o", context.output().value_or("out"));
  } else if (what == "write") {
    const std::string path = context.prepare_output("out.txt");
    context.write_output(path, "content\n");
    context.print("written\n");
  } else if (what == "much") {
    for (int i = 0; i < 200'000; ++i) context.print(fmt::format("line {}\n", i));
    context.write_output(context.prepare_output("out.txt"), "content\n");
  } else if (what == "finish") {
    const elixir::FinishesFirst first;
    context.write_output_streamed(context.prepare_output("out.txt"), [&](const elixir::Sink& sink) {
      sink("begun\n");
      std::this_thread::sleep_for(std::chrono::milliseconds(4000));
    });
  } else if (what == "wait" || what == "hang") {
    // A write in progress, so that an abrupt end has something to clean up.
    context.write_output_streamed(context.prepare_output("out.txt"), [&](const elixir::Sink& sink) {
      sink(std::string(1'000'000, 'x'));
      auto progress = context.progress();
      context.print("waiting\n");
      for (int i = 0; i < 1000; ++i) {
        progress->update(i / 1000.0, "waiting");
        if (what == "wait") elixir::throw_if_interrupted();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  } else if (what == "progress") {
    auto progress = context.progress();
    for (int i = 0; i <= 100; ++i) progress->update(i / 100.0, "working");
    elixir::log::info("done");
    context.print("result\n");
  }
  return Answer::kYes;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  elixir::tools::ToolInfo info;
  info.name = "example-tool";
  info.summary = "Does what a test asks for.";
  info.examples = {{"example-tool --profile x.json --do print", "prints something"}};
  info.output = {"FILE", "where to write", "out.txt"};
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", "none"}};
  };
  info.declare = [&](elixir::tools::Flags& flags) {
    flags.group("Inputs");
    flags.text("--profile", "FILE", &options.profile, "profile of the model").reads().required();
    flags.texts("--input", "SPEC", &options.inputs, "shape of an input, e.g. ids:int64[2,128]");
    flags.integers("--batch", "N[,N...]", &options.batch, elixir::tools::kPositive, "batch sizes");
    flags.group("Search space");
    flags.bytes("--gpu-memory", &options.gpu_memory_bytes, "bound of the process")
        .default_text("the machine's")
        .brief();
    flags.bytes("--host-memory", &options.host_memory_bytes, "bound of resident host memory");
    flags.choice("--strategy", {"optimal", "simple", "elixir"}, &options.strategy, "how to search");
    flags.group("Training");
    flags.integer("--steps", "N", &options.steps, {1, 1'000'000}, "optimizer steps");
    flags.number("--lr", "X", &options.lr, elixir::tools::kPositiveNumber, "learning rate");
    flags.numbers("--betas",
                  "B1,B2",
                  &options.betas,
                  {0, 1, elixir::tools::NumberRange::Ends::kMaxExcluded},
                  "decay of the moments");
    flags.toggle("--dry-run", &options.dry_run, "say what would be done");
    flags.text("--page", "FILE", &options.page, "where to write a page").writes();
    flags.text("--do", "WHAT", &options.what, "what happens").hidden();
    flags.exclusive({"--gpu-memory", "--host-memory"});
  };
  return elixir::tools::run_tool(
      info, argc, argv, [&](Context& context) { return work(options, context); });
}
