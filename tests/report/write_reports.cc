// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Writes reports of synthetic programs, for tests that look at them from outside: a small
// transformer, one of OPT-175B's size, one whose names attack the formats, one without operators.
// With the path of a profile document, the reports of that. Usage: write-reports DIRECTORY
// [PROFILE.json]
#include <cstdio>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "fakes/program_builder.h"
#include "memory/timeline.h"
#include "program/document.h"
#include "report/profile_page.h"
#include "report/profile_screen.h"

namespace {

using elixir::Overwrite;
using elixir::program::Profile;
using elixir::program::Program;

void write(const std::string& directory, const std::string& name, const Profile& profile) {
  const auto timeline =
      elixir::memory::make_timeline(profile.program, profile.memory.optimizer_bytes);
  const std::string path = directory + "/" + name;
  elixir::report::Style style;
  style.utf8 = true;
  elixir::write_file(
      path + ".txt", elixir::report::profile_screen(profile, timeline, style), Overwrite::kAllow);
  elixir::write_file(
      path + ".html", elixir::report::profile_page(profile, timeline), Overwrite::kAllow);
}

Profile profile_of(const std::string& path, Program program) {
  Profile profile;
  profile.model_path = path;
  profile.program = std::move(program);
  profile.memory = elixir::memory::summarise(profile.program, profile.optimizer);
  profile.meta = elixir::Json::object();
  return profile;
}

/// As many operators and parameters as OPT-175B has, in more layers than it: a fake layer has fewer
/// calls than a real one.
Program huge() {
  elixir::fakes::TransformerOptions options;
  options.layers = 381;
  options.hidden = 6272;
  options.vocabulary = 50272;
  options.tokens = 2048;
  options.dtype = elixir::program::DType::kBFloat16;
  return elixir::fakes::transformer(options);
}

Program hostile() {
  elixir::fakes::ProgramBuilder builder;
  const std::string script = "</script><script>alert(1)</script>";
  const auto x = builder.input("x\"><img src=x onerror=alert(1)>", {64, 64});
  const auto weight = builder.parameter(script + ".weight'\"&amp;\n\t\x01\xff", {512, 64});
  builder.set_module(script);
  const auto y = builder.call("aten::<b>mm</b>", {x, weight}, {64, 512}, 1000);
  builder.set_module("\xe2\x80\xa8.\xf0\x9f\x98\x80.\x1b[31m]]>-->");
  const auto z = builder.call("aten::`${alert(1)}`", {y}, {64, 512});
  builder.set_module("");
  builder.set_loss(builder.call("aten::mean", {z}, {}));
  builder.start_backward();
  builder.set_module(script);
  builder.set_gradient(weight, builder.call("aten::mm", {y, z}, {512, 64}));
  return builder.build();
}

void write_fakes(const std::string& directory) {
  elixir::fakes::TransformerOptions small;
  small.layers = 12;
  small.hidden = 768;
  small.vocabulary = 50257;
  small.tokens = 2048;
  small.dtype = elixir::program::DType::kBFloat16;
  Profile profile = profile_of("gpt2.pt", elixir::fakes::transformer(small));
  write(directory, "small", profile);
  profile.memory.peak_reserved_bytes = profile.memory.peak_allocated_bytes * 21 / 20;
  profile.memory.process_peak_bytes = *profile.memory.peak_reserved_bytes + 600'000'000;
  write(directory, "complete", profile);
  write(directory, "huge", profile_of("opt-175b.pt", huge()));
  write(directory, "hostile", profile_of("<i>hostile</i>.pt", hostile()));
  write(directory, "empty", profile_of("empty.pt", elixir::fakes::ProgramBuilder().build()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fputs("usage: write-reports DIRECTORY [PROFILE.json]\n", stderr);
    return 2;
  }
  try {
    if (argc == 2) {
      write_fakes(argv[1]);
    } else {
      write(argv[1], "profile", elixir::program::load_profile(argv[2]));
    }
  } catch (const elixir::Error& error) {
    std::fprintf(stderr, "write-reports: %s\n", error.what());
    return 1;
  }
  return 0;
}
