// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/profile_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/units.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "report/page/module_table.h"

namespace elixir::report {
namespace {

using program::Profile;
using ::testing::HasSubstr;
using ::testing::Not;

Profile page_profile(program::Program program) {
  Profile profile;
  profile.model_path = "somewhere/model.pt";
  profile.program = std::move(program);
  profile.memory = memory::predict_step(profile.program, profile.optimizer, {}, {}).memory;
  profile.meta = {{"started_at", "now"}};
  return profile;
}

std::string page_of(const Profile& profile) {
  const auto predicted = [&](const program::Program& program) {
    return memory::predict_step(program, profile.optimizer, {}, {});
  };
  const hardware::HardwareProfile hardware = fakes::machine(true);
  const auto savings =
      search::recomputation_savings(profile.program, &hardware, [&](const auto& edited) {
        return predicted(edited).memory.peak_allocated_bytes;
      });
  return profile_page(profile, predicted(profile.program), savings);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(ProfilePage, IsTheSameForTheSameProfileWhateverItsMeta) {
  Profile profile = page_profile(fakes::transformer({}));
  const std::string page = page_of(profile);
  profile.meta = {{"started_at", "later"}};
  EXPECT_EQ(page_of(profile), page);
}

TEST(ProfilePage, ShowsReservedAndProcessOnceTheyAreKnown) {
  Profile profile = page_profile(fakes::transformer({}));
  EXPECT_EQ(count(page_of(profile), "not computed"), 2U);
  profile.memory.peak_reserved_bytes = 7_MiB;
  EXPECT_EQ(count(page_of(profile), "not computed"), 1U);
  EXPECT_THAT(page_of(profile), HasSubstr("7,168.0"));
  profile.memory.process_peak_bytes = 9_MiB;
  EXPECT_EQ(count(page_of(profile), "not computed"), 0U);
}

TEST(ProfilePage, ShowsWhatRecomputingSaves) {
  const std::string page = page_of(page_profile(fakes::transformer({.layers = 3})));
  EXPECT_THAT(page, HasSubstr("<th>time, modelled, %</th>"));
  EXPECT_THAT(page, HasSubstr("<td>norms and elementwise</td><td>-"));
  EXPECT_THAT(page, HasSubstr("<td>all but the blocks&#39;"));
  EXPECT_THAT(page, HasSubstr("<p>in 3 blocks; at least "));
  EXPECT_THAT(page_of(page_profile(fakes::ProgramBuilder().build())),
              HasSubstr("<p>recomputing saves nothing: there are no blocks</p>"));
}

TEST(ProfilePage, SmallWorkIsInGflop) {
  Profile profile = page_profile(fakes::transformer({}));
  for (program::Operator& op : profile.program.operators) op.flops = 0;
  program::Operator& op = profile.program.operators.front();
  op.flops = 2'500'000'000;
  EXPECT_THAT(page_of(profile), HasSubstr("2.5 <small>GFLOP</small>"));
  EXPECT_THAT(page_of(profile), Not(HasSubstr("TFLOP")));
  op.flops = 2'500'000;
  EXPECT_THAT(page_of(profile), HasSubstr("2.5 <small>MFLOP</small>"));
  op.flops = 2'500'000'000'000;
  EXPECT_THAT(page_of(profile), HasSubstr("2.5 <small>TFLOP</small>"));
}

TEST(ProfilePage, NamesReachItEscaped) {
  fakes::ProgramBuilder builder;
  const std::string evil = "<script>alert('x')</script>";
  const auto x = builder.input(evil, {4}, program::DType::kFloat32);
  const auto weight = builder.parameter(evil + ".weight", {4});
  builder.set_module(evil);
  builder.call(evil, {x, weight}, {4});
  Profile profile = page_profile(builder.build());
  profile.model_path = evil;
  const std::string page = page_of(profile);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
  EXPECT_EQ(count(page, "<script"), 2U);  // the data, the script
}

TEST(ProfilePage, AHostileNameDoesNotMakeItLarge) {
  fakes::ProgramBuilder builder;
  for (int i = 0; i < 50; ++i) {
    builder.set_module(std::to_string(i) + std::string(100000, 'x'));
    builder.call(std::string(100000, 'y') + std::to_string(i), {}, {128});
  }
  EXPECT_LT(page_of(page_profile(builder.build())).size(), 300000U);
}

TEST(ProfilePage, OfNoOperatorsHasNoPicture) {
  const std::string page = page_of(page_profile(fakes::ProgramBuilder().build()));
  EXPECT_THAT(page, HasSubstr("The program has no operators."));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(ProfilePage, AsksNothingOfTheNetwork) {
  const std::string page = page_of(page_profile(fakes::transformer({})));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part : {" src=", " href=", "url(http", "@import", "fetch(", "XMLHttp"}) {
    EXPECT_THAT(page, Not(HasSubstr(part)));
  }
}

TEST(ModuleTable, CountsWhatHasNoRow) {
  std::vector<memory::ModuleMemory> tree(1);
  for (int i = 0; i < 10; ++i) {
    memory::ModuleMemory module;
    module.name = module.path = "m" + std::to_string(i);
    module.parent = 0;
    module.operators = 1;
    module.parameters_bytes = 1_KiB;
    tree[0].children.push_back(static_cast<std::int32_t>(tree.size()));
    tree.push_back(module);
  }
  const ByteUnit unit = unit_for(0);
  EXPECT_EQ(count(module_table(tree, unit, 11), "<tr data-depth"), 11U);
  const std::string cut = module_table(tree, unit, 4);
  EXPECT_EQ(count(cut, "<tr data-depth"), 5U);
  EXPECT_THAT(cut, HasSubstr("… 7 more</td><td>7.0</td>"));
}

}  // namespace
}  // namespace elixir::report
