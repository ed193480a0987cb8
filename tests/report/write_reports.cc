// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Writes reports of synthetic programs, for tests that check them from outside: a small
// transformer, one of OPT-175B's size, one whose names attack the formats, and one without
// operators. Given the path of a profile document, writes the reports of that document. Usage:
// write-reports DIRECTORY [PROFILE.json]
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/files.h"
#include "fakes/program_builder.h"
#include "hardware/hardware_profile.h"
#include "memory/step/training_step.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"
#include "report/page/profile_page.h"
#include "report/screen/profile_screen.h"
#include "report/trace/memory_snapshot.h"
#include "report/trace/pickle_writer.h"
#include "search/recomputation_savings.h"

namespace {

using elixir::Overwrite;
using elixir::program::Profile;
using elixir::program::Program;

/// `recomputes`: the report says what recomputing saves. Of a huge program that would take minutes
/// with sanitizers.
void write(const std::string& directory,
           const std::string& name,
           const Profile& profile,
           bool recomputes = true) {
  const auto table = elixir::operators::shipped_workspace_table(profile.program.target.sm);
  const auto predicted = [&](const Program& program) {
    return elixir::memory::predict_step(program, profile.optimizer, table, {});
  };
  const auto step = predicted(profile.program);
  const auto hardware = elixir::hardware::shipped_hardware_of(profile.program.target);
  elixir::search::RecomputationSavings savings;
  if (recomputes) {
    savings = elixir::search::recomputation_savings(
        profile.program, hardware ? &*hardware : nullptr, [&](const Program& edited) {
          return predicted(edited).memory.peak_allocated_bytes;
        });
  }
  const std::string path = directory + "/" + name;
  elixir::report::Style style;
  style.utf8 = true;
  elixir::write_file(path + ".txt",
                     elixir::report::profile_screen(profile, step, savings, style),
                     Overwrite::kAllow);
  elixir::write_file(
      path + ".html", elixir::report::profile_page(profile, step, savings), Overwrite::kAllow);
  elixir::write_file_streamed(path + ".pickle", Overwrite::kAllow, [&](const elixir::Sink& sink) {
    elixir::report::write_memory_snapshot(profile.program, step.events, step.placed, sink);
  });
}

/// Every kind of value that a pickle may have. snapshot_test.py expects the same values.
void write_values(elixir::report::PickleWriter& pickle) {
  pickle.begin_dict();
  pickle.text("integers");
  pickle.begin_list();
  for (int bits = 0; bits < 63; ++bits) {
    for (const std::int64_t more : {-1, 0, 1}) {
      for (const std::int64_t sign : {1, -1}) {
        pickle.integer(sign * (std::int64_t{1} << bits) + more);
      }
    }
  }
  pickle.integer(std::numeric_limits<std::int64_t>::max());
  pickle.integer(std::numeric_limits<std::int64_t>::min());
  pickle.end_list();
  pickle.text("scalars");
  pickle.begin_list();
  pickle.none();
  pickle.boolean(true);
  pickle.boolean(false);
  pickle.real(0.1);
  pickle.real(-0.0);
  pickle.real(std::numeric_limits<double>::infinity());
  pickle.text("");
  pickle.text(std::string_view("\xc2\xb5\xf0\x9f\x98\x80\n\0", 8));
  pickle.text("\xff(");
  pickle.end_list();
  pickle.text("nested");
  pickle.begin_list();
  pickle.begin_list();
  pickle.end_list();
  pickle.begin_dict();
  pickle.end_dict();
  pickle.begin_list();
  pickle.begin_list();
  pickle.integer(1);
  pickle.end_list();
  pickle.end_list();
  pickle.begin_dict();
  pickle.text("a");
  pickle.begin_dict();
  pickle.text("b");
  pickle.begin_list();
  pickle.end_list();
  pickle.end_dict();
  pickle.end_dict();
  pickle.end_list();
  pickle.text("many");
  pickle.begin_list();
  for (int i = 0; i < 2500; ++i) pickle.integer(i);
  pickle.end_list();
  pickle.text("dictionary");
  pickle.begin_dict();
  for (int i = 0; i < 2500; ++i) {
    pickle.text("key " + std::to_string(i));
    pickle.integer(i);
  }
  pickle.end_dict();
  pickle.text("again");
  pickle.begin_list();
  pickle.begin_list();
  pickle.text("shared");
  pickle.end_list();
  const std::uint32_t shared = pickle.remember();
  pickle.again(shared);
  pickle.again(shared);
  pickle.end_list();
  pickle.end_dict();
  pickle.finish();
}

Profile profile_of(const std::string& path, Program program) {
  Profile profile;
  profile.model_path = path;
  profile.program = std::move(program);
  profile.memory = elixir::memory::predict_step(profile.program, profile.optimizer, {}, {}).memory;
  profile.meta = elixir::Json::object();
  return profile;
}

/// Has as many operators and parameters as OPT-175B, in more layers, because a fake layer has fewer
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
  Program cuda = elixir::fakes::transformer(small);
  cuda.target = {.kind = elixir::program::Target::Kind::kCuda, .sm = 90};
  profile = profile_of("gpt2.pt", cuda);
  profile.memory.process_peak_bytes = *profile.memory.peak_reserved_bytes + 600'000'000;
  write(directory, "cuda", profile);
  Program large = huge();
  large.target = {.kind = elixir::program::Target::Kind::kCuda, .sm = 90};
  write(directory, "huge", profile_of("opt-175b.pt", large), /*recomputes=*/false);
  write(directory, "hostile", profile_of("<i>hostile</i>.pt", hostile()));
  elixir::write_file_streamed(
      directory + "/values.pickle", Overwrite::kAllow, [](const elixir::Sink& sink) {
        elixir::report::PickleWriter pickle(sink);
        write_values(pickle);
      });
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
