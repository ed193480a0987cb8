// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "schedule/plans.h"

namespace elixir::plan {
namespace {

Plan plan_for(const program::Program& program) {
  fakes::LayoutOptions options;
  options.chunk_bytes = 4096;
  options.parameters = Home::kHost;
  options.blocks = 2;
  Plan plan = fakes::lay_out(program, options);
  plan.programs = {{.role = "train", .fingerprint = program::fingerprint(program)}};
  plan.hardware = {
      .fingerprint = std::string(64, '0'), .device_kind = program::DeviceKind::kCpu, .sm = 0};
  plan.strategy = "optimal";
  plan.budgets = {
      .gpu_memory_bytes = 1 << 20, .host_memory_bytes = 1 << 30, .gpu_context_bytes = 0};
  plan.predicted = {
      .step_ns = 12,
      .streams = {{.stream = "compute", .busy_ns = 9}},
      .peak_allocated_bytes = 3,
      .host_bytes = 4,
      .operators_measured = 10,
      .operators_total = 12,
      .traffic = {
          .host_to_device_bytes = 5, .device_to_host_bytes = 6, .fetches = 7, .evictions = 8}};
  return plan;
}

Plan parsed(const std::string& text) {
  return parse_plan(*JsonDocument::parse(text, "plan.json"));
}

void expect_refused(ErrorCode code, const std::function<void()>& what) {
  try {
    what();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, code) << error.what();
  }
}

TEST(Plan, WrittenAndReadIsTheSameDocument) {
  const program::Program program = fakes::transformer({});
  const std::string text = dump(to_json(plan_for(program)));
  const Plan again = parsed(text);
  EXPECT_EQ(dump(to_json(again)), text);
  check_against(again, program);
}

TEST(Plan, SaysWhichBeta2ItsMomentsNeed) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  EXPECT_EQ(parsed(dump(to_json(plan))).beta2, 0.999);
  plan.moment_dtype = program::DType::kBFloat16;
  plan.beta2 = beta2_of(plan.moment_dtype);
  Json document = to_json(plan);
  EXPECT_EQ(document["beta2"], 0.95);
  EXPECT_EQ(parsed(dump(document)).beta2, 0.95);
  document["beta2"] = 0.999;
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
  // An older plan lacks it.
  document.erase("beta2");
  EXPECT_EQ(parsed(dump(document)).beta2, 0.95);
  document["moment_dtype"] = "fp32";
  EXPECT_EQ(parsed(dump(document)).beta2, 0.999);
}

TEST(Plan, SaysHowFarItsTimeMayBeTrusted) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  plan.predicted.spread = 0.25;
  plan.predicted.disturbed = {"matmul", "operators"};
  Json document = to_json(plan);
  EXPECT_EQ(parsed(dump(document)).predicted.spread, 0.25);
  EXPECT_EQ(parsed(dump(document)).predicted.disturbed, plan.predicted.disturbed);
  document["predicted"]["spread"] = -1;
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
  // An older plan lacks both.
  document["predicted"].erase("spread");
  document["predicted"].erase("disturbed");
  EXPECT_TRUE(parsed(dump(document)).predicted.disturbed.empty());
}

TEST(Plan, IsNotForOptimizersThatNothingTrainsWith) {
  Json document = to_json(plan_for(fakes::mlp({8, 8}, 2)));
  document["optimizer"] = "sgd";
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
}

TEST(Plan, SaysWhoUpdatesAChunk) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  plan.chunks[0].optimizer_home = Home::kHost;
  plan.chunks[0].streams_update = true;
  plan.cache.update_piece_elements = 2 * kPieceUnitElements;
  Json document = to_json(plan);
  EXPECT_EQ(document["chunks"][0]["update_on"], "device");
  const Plan again = parsed(dump(document));
  EXPECT_TRUE(again.chunks[0].streams_update);
  EXPECT_EQ(again.cache.update_piece_elements, 2 * kPieceUnitElements);
  // An older plan updates where the state lives.
  document["chunks"][0].erase("update_on");
  document["cache"].erase("update_piece_elements");
  EXPECT_FALSE(parsed(dump(document)).chunks[0].streams_update);
}

TEST(Plan, SaysWhoseMomentsAreMadeLate) {
  const program::Program program = fakes::mlp({8, 8}, 2);
  Plan plan = plan_for(program);
  plan.chunks[0].optimizer_home = plan.chunks[0].gradient_home = Home::kHost;
  plan.chunks[0].late_moments = true;
  plan.kept_gradients = 2;
  check_against(plan, program);
  Json document = to_json(plan);
  EXPECT_TRUE(parsed(dump(document)).chunks[0].late_moments);
  EXPECT_EQ(parsed(dump(document)).kept_gradients, 2);
  document["chunks"][0].erase("late_moments");  // as in an older plan
  document.erase("kept_gradients");
  EXPECT_FALSE(parsed(dump(document)).chunks[0].late_moments);
  EXPECT_EQ(parsed(dump(document)).kept_gradients, 1);
  const auto refused = [&](auto change) {
    Plan broken = plan;
    change(broken);
    expect_refused(ErrorCode::kInconsistentPlan, [&] { check_against(broken, program); });
  };
  refused([](Plan& p) { p.clips_gradients = false; });
  refused([](Plan& p) { p.chunks[0].gradient_home = Home::kDevice; });
  refused([](Plan& p) { p.chunks[0].optimizer_home = Home::kDevice; });
}

TEST(Plan, OfCudaNamesItsComputeCapability) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  plan.hardware = {
      .fingerprint = std::string(64, '0'), .device_kind = program::DeviceKind::kCuda, .sm = 90};
  EXPECT_EQ(parsed(dump(to_json(plan))).hardware.sm, 90);
}

TEST(Plan, SaysForHowManyThreadsItIs) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  EXPECT_EQ(parsed(dump(to_json(plan))).hardware.cpu_threads, 0);
  plan.hardware.cpu_threads = 16;
  Json document = to_json(plan);
  EXPECT_EQ(parsed(dump(document)).hardware.cpu_threads, 16);
  document["hardware"].erase("cpu_threads");  // as in older plans
  EXPECT_EQ(parsed(dump(document)).hardware.cpu_threads, 0);
}

/// A plan of two ranks: one shard has parameters of 24 elements, the other is padding.
Plan plan_of_two(const program::Program& program) {
  Plan plan = plan_for(program);
  plan.world = plan.ranks_per_node = 2;
  const std::int64_t unit_bytes =
      kPieceUnitElements * program::element_bytes(program::DType::kFloat32);
  for (Chunk& chunk : plan.chunks) chunk.bytes = 2 * unit_bytes;
  plan.cache = {.blocks = 4, .block_bytes = 2 * unit_bytes};
  return plan;
}

TEST(Plan, SaysWhoSharesIt) {
  const program::Program program = fakes::mlp({8, 8, 8}, 2);
  Plan plan = plan_of_two(program);
  check_against(plan, program);
  plan.world = 6;
  plan.ranks_per_node = 3;
  plan.replicas = 2;
  plan.reduce = Reduce::kNccl;
  plan.reduce_dtype = ReduceDType::kParameters;
  plan.reduce_per = ReducePer::kStep;
  plan.predicted.traffic.collective_bytes = 77;
  Json document = to_json(plan);
  Plan again = parsed(dump(document));
  EXPECT_EQ(dump(to_json(again)), dump(document));
  EXPECT_EQ(again.world, 6);
  EXPECT_EQ(again.ranks_per_node, 3);
  EXPECT_EQ(again.replicas, 2);
  EXPECT_EQ(again.reduce, Reduce::kNccl);
  EXPECT_EQ(again.reduce_dtype, ReduceDType::kParameters);
  EXPECT_EQ(again.reduce_per, ReducePer::kStep);
  EXPECT_EQ(again.predicted.traffic.collective_bytes, 77);
  document["ranks_per_node"] = 4;
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
  document["ranks_per_node"] = 3;
  document["replicas"] = 4;
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
  // As in older plans.
  document.erase("ranks_per_node");
  document.erase("replicas");
  document.erase("reduce");
  document.erase("reduce_dtype");
  document.erase("reduce_per");
  document["predicted"]["traffic"].erase("collective_bytes");
  document["world"] = 1;
  again = parsed(dump(document));
  EXPECT_EQ(again.ranks_per_node, 1);
  EXPECT_EQ(again.replicas, 1);
  EXPECT_EQ(again.reduce, Reduce::kOrdered);
  EXPECT_EQ(again.reduce_per, ReducePer::kMicroBatch);
}

TEST(Plan, SaysHowMuchComesInWhileRanksAddUp) {
  Plan plan;
  plan.reduce = Reduce::kNccl;
  const Chunk chunk{.bytes = 1200, .dtype = program::DType::kBFloat16};
  EXPECT_FALSE(reduces_by_nccl(plan)) << "there is nobody else";
  plan.world = 6;
  EXPECT_TRUE(reduces_by_nccl(plan));
  EXPECT_EQ(received_bytes(plan, chunk), 200);
  plan.replicas = 2;
  EXPECT_EQ(received_bytes(plan, chunk), 400) << "a shard";
  plan.reduce = Reduce::kOrdered;
  EXPECT_EQ(received_bytes(plan, chunk), 1200);
}

TEST(Plan, SaysWhenRanksExchangeTheirGradients) {
  const program::DType bf16 = program::DType::kBFloat16;
  Plan plan;
  plan.reduce_per = ReducePer::kStep;
  plan.accumulation_steps = 3;
  const Chunk chunk{.bytes = 1000, .dtype = bf16};
  EXPECT_FALSE(reduces_once(plan)) << "there is nobody else";
  EXPECT_EQ(gradient_parts(plan), 3);
  plan.world = 2;
  EXPECT_TRUE(reduces_once(plan));
  EXPECT_EQ(gradient_parts(plan), 1);
  EXPECT_EQ(exchanged_dtype(plan, bf16), program::DType::kFloat32);
  EXPECT_EQ(exchanged_bytes(plan, chunk), 2000);
  plan.reduce_per = ReducePer::kMicroBatch;
  EXPECT_FALSE(reduces_once(plan));
  EXPECT_EQ(gradient_parts(plan), 3);
  EXPECT_EQ(exchanged_dtype(plan, bf16), bf16);
  EXPECT_EQ(exchanged_bytes(plan, chunk), 1000);
  plan.reduce_per = ReducePer::kStep;
  plan.accumulation_steps = 1;
  EXPECT_FALSE(reduces_once(plan)) << "each rank has one gradient alone";
}

TEST(Plan, ReplicasAreInOneMachineOrInAllOfSeveral) {
  EXPECT_TRUE(replicas_fit(8, 4, 1));
  EXPECT_TRUE(replicas_fit(8, 4, 2));
  EXPECT_TRUE(replicas_fit(8, 4, 4));
  EXPECT_TRUE(replicas_fit(8, 4, 8));
  EXPECT_FALSE(replicas_fit(8, 4, 3));
  EXPECT_FALSE(replicas_fit(8, 4, 0));
  EXPECT_FALSE(replicas_fit(12, 4, 2));
}

TEST(Plan, SaysWhichRanksHoldWhat) {
  const RankGrid grid{.world = 8, .replicas = 2};
  EXPECT_EQ(grid.shards(), 4);
  std::vector<int> parts;
  for (int rank = 0; rank < grid.world; ++rank) {
    parts.push_back(grid.part_of(rank));
    EXPECT_EQ(grid.part_of(rank) / grid.replicas, grid.shard_of(rank));
    for (const RankGroup& group : {grid.all(), grid.same_replica(rank), grid.same_shard(rank)}) {
      EXPECT_EQ(group.rank(group.position(rank)), rank);
    }
    EXPECT_EQ(grid.same_replica(rank).position(rank), grid.shard_of(rank));
    EXPECT_EQ(grid.same_shard(rank).position(rank), grid.replica_of(rank));
  }
  EXPECT_EQ(parts, (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
}

TEST(Plan, SumsOfSeveralAreKeptInFp32UnlessItSaysOtherwise) {
  const program::DType bf16 = program::DType::kBFloat16;
  Plan plan;
  EXPECT_EQ(summed_dtype(plan, bf16), bf16);
  plan.accumulation_steps = 2;
  EXPECT_EQ(summed_dtype(plan, bf16), program::DType::kFloat32);
  plan.accumulation_steps = 1;
  plan.world = 2;
  EXPECT_EQ(summed_dtype(plan, bf16), program::DType::kFloat32);
  plan.reduce_dtype = ReduceDType::kParameters;
  EXPECT_EQ(summed_dtype(plan, bf16), bf16);
  plan.accumulation_steps = 2;
  EXPECT_EQ(summed_dtype(plan, bf16), program::DType::kFloat32);
}

TEST(Plan, WhoseShardsAreUnequalOrCutABlockIsRefused) {
  const program::Program program = fakes::mlp({8, 8, 8}, 2);
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { p.world = 3, p.ranks_per_node = 3; },
      [](Plan& p) { p.ranks_per_node = 3; },
      [](Plan& p) { p.chunks[0].bytes += 256; },
      [](Plan& p) { p.cache.blocks = 0; },
      // In the middle of its elements the first shard ends.
      [](Plan& p) { p.chunks[0].parameters.back().offset_bytes = kPieceUnitElements * 4 - 16; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Plan plan = plan_of_two(program);
    changes[i](plan);
    SCOPED_TRACE(i);
    expect_refused(ErrorCode::kInconsistentPlan, [&] { check_against(plan, program); });
  }
}

TEST(Plan, NamesItsEdits) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  plan.edits = {{.kind = Edit::Kind::kRecompute, .storages = {3, 5}}};
  plan.edited_fingerprint = std::string(64, 'e');
  const Plan again = parsed(dump(to_json(plan)));
  ASSERT_EQ(again.edits.size(), 1);
  EXPECT_EQ(again.edits[0].storages, (std::vector<program::StorageId>{3, 5}));
  EXPECT_EQ(again.edited_fingerprint, plan.edited_fingerprint);
  EXPECT_EQ(dump(to_json(again)), dump(to_json(plan)));
}

TEST(Plan, SaysWhichArithmeticItsEditsHave) {
  Plan plan = plan_for(fakes::mlp({8, 8}, 2));
  EXPECT_EQ(to_json(plan)["arithmetic"], "as-eager");
  plan.edits = {{.kind = Edit::Kind::kFuseLoss, .storages = {}},
                {.kind = Edit::Kind::kAlignProducts, .products = {5, 8}},
                {.kind = Edit::Kind::kRecompute, .storages = {3}}};
  plan.edited_fingerprint = std::string(64, 'e');
  Json document = to_json(plan);
  EXPECT_EQ(document["arithmetic"], "fused");
  EXPECT_EQ(document["edits"][0], Json({{"edit", "fuse-loss"}}));
  EXPECT_EQ(document["edits"][1], Json({{"edit", "align-products"}, {"products", {5, 8}}}));
  EXPECT_EQ(parsed(dump(document)).edits[0].kind, Edit::Kind::kFuseLoss);
  EXPECT_EQ(parsed(dump(document)).edits[1].products, (std::vector<program::OperatorId>{5, 8}));
  plan.edits.push_back({.kind = Edit::Kind::kFuseElementwise});
  EXPECT_EQ(to_json(plan)["arithmetic"], "fused-elementwise");
  EXPECT_EQ(to_json(plan)["edits"][3], Json({{"edit", "fuse-elementwise"}}));
  EXPECT_EQ(parsed(dump(to_json(plan))).edits[3].kind, Edit::Kind::kFuseElementwise);
  document["arithmetic"] = "as-eager";
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(document)); });
  document.erase("arithmetic");  // an older plan
  EXPECT_EQ(arithmetic_of(parsed(dump(document)).edits), Arithmetic::kFused);
}

TEST(Plan, HostileDocumentsGiveOneError) {
  const Json good = to_json(plan_for(fakes::mlp({8, 8}, 2)));
  struct Case {
    const char* pointer;
    Json value;
    ErrorCode code;
  };
  for (const Case& c : {
           Case{"/accumulation_steps", 0, ErrorCode::kJsonBadValue},
           Case{"/accumulation_steps", "1", ErrorCode::kJsonType},
           Case{"/accumulation_steps", 10'000'000, ErrorCode::kJsonBadValue},
           Case{"/clips_gradients", 1, ErrorCode::kJsonType},
           Case{"/cache/blocks", 2147483647, ErrorCode::kJsonBadValue},
           Case{"/world", 1LL << 40, ErrorCode::kJsonBadValue},
           Case{"/chunks/0/bytes", -1, ErrorCode::kJsonBadValue},
           Case{"/chunks/0/bytes", 1LL << 60, ErrorCode::kJsonBadValue},
           Case{"/chunks/0/parameter_home", "disk", ErrorCode::kJsonBadValue},
           Case{"/chunks/0/extra", 1, ErrorCode::kJsonUnknownKey},
           Case{"/chunks/0/update_on", "host", ErrorCode::kJsonBadValue},
           Case{"/cache/update_piece_elements", 1000, ErrorCode::kJsonBadValue},
           Case{"/cache/update_piece_elements", -65536, ErrorCode::kJsonBadValue},
           Case{"/cache/blocks", 1.5, ErrorCode::kJsonType},
           Case{"/hardware/sm", 90, ErrorCode::kJsonBadValue},
           Case{"/hardware/cpu_threads", 0, ErrorCode::kJsonBadValue},
           Case{"/optimizer", "lion", ErrorCode::kJsonBadValue},
           Case{"/predicted/operators_measured", 13, ErrorCode::kJsonBadValue},
           Case{"/edits", Json::array({1}), ErrorCode::kJsonType},
           Case{"/edits", {{{"edit", "fuse"}, {"storages", {1}}}}, ErrorCode::kJsonBadValue},
           Case{"/edits", {{{"edit", "recompute"}}}, ErrorCode::kJsonMissingKey},
           Case{"/edits", {{{"edit", "fuse-loss"}, {"storages", {1}}}}, ErrorCode::kJsonUnknownKey},
           Case{"/edits",
                {{{"edit", "fuse-elementwise"}, {"storages", {1}}}},
                ErrorCode::kJsonUnknownKey},
           Case{"/edits", {{{"edit", "recompute"}, {"storages", {-1}}}}, ErrorCode::kJsonBadValue},
           Case{"/edits", {{{"edit", "align-products"}}}, ErrorCode::kJsonMissingKey},
           Case{"/edits", {{{"edit", "offload"}, {"storages", {1}}}}, ErrorCode::kJsonMissingKey},
           Case{"/edits",
                {{{"edit", "offload"}, {"storages", {1}}, {"window_bytes", -1}}},
                ErrorCode::kJsonBadValue},
           Case{"/edits",
                {{{"edit", "align-products"}, {"products", {-1}}}},
                ErrorCode::kJsonBadValue},
           Case{"/edits",
                {{{"edit", "recompute"}, {"storages", {1}}}},  // leads to no fingerprint
                ErrorCode::kJsonBadValue},
           Case{"/edited_fingerprint", std::string(64, 'a'), ErrorCode::kJsonBadValue},
           Case{"/schema", "elixir.profile", ErrorCode::kWrongSchema},
       }) {
    Json bad = good;
    bad[Json::json_pointer(c.pointer)] = c.value;
    SCOPED_TRACE(c.pointer);
    expect_refused(c.code, [&] { (void)parsed(dump(bad)); });
  }
  // Each is possible, all together are not.
  Json together = good;
  together["cache"]["blocks"] = 16'384;
  together["cache"]["block_bytes"] = 1LL << 50;
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(together)); });
  together = good;
  for (int i = 0; i < 3; ++i) {
    Json chunk = good["chunks"][0];
    chunk["parameters"] = Json::array();
    chunk["bytes"] = 1LL << 49;
    together["chunks"].push_back(chunk);
  }
  expect_refused(ErrorCode::kJsonBadValue, [&] { (void)parsed(dump(together)); });
  Json missing = good;
  missing.erase("cache");
  expect_refused(ErrorCode::kJsonMissingKey, [&] { (void)parsed(dump(missing)); });
  expect_refused(ErrorCode::kJsonSyntax, [&] { (void)parsed("{\"schema\": "); });
}

TEST(Plan, OfAnotherProgramIsRefused) {
  const program::Program program = fakes::mlp({8, 8}, 2);
  Plan plan = plan_for(program);
  plan.programs[0].fingerprint[0] = plan.programs[0].fingerprint[0] == 'a' ? 'b' : 'a';
  expect_refused(ErrorCode::kPlanOfAnotherProgram, [&] { check_against(plan, program); });
}

TEST(Plan, ThatContradictsItsProgramIsRefused) {
  const program::Program program = fakes::mlp({8, 8, 8}, 2);
  const std::vector<std::function<void(Plan&)>> changes = {
      [](Plan& p) { p.chunks[0].parameters[0].name = "nobody"; },
      [](Plan& p) { p.chunks[0].parameters.pop_back(); },
      [](Plan& p) { p.chunks.push_back(p.chunks[0]); },
      [](Plan& p) { p.chunks[0].parameters[1].offset_bytes += 4; },
      [](Plan& p) { p.chunks[0].parameters[1].offset_bytes = 0; },
      [](Plan& p) { p.chunks[0].parameters[1].offset_bytes = 256 * (1LL << 40); },
      [](Plan& p) { p.chunks[0].bytes -= 256; },
      [](Plan& p) { p.chunks[0].bytes += 4; },
      [](Plan& p) { p.chunks[0].dtype = program::DType::kBFloat16; },
      [](Plan& p) { p.chunks[0].gradient_dtype = program::DType::kBFloat16; },
      [](Plan& p) { p.chunks[0].streams_update = true; },
      [](Plan& p) { p.cache.blocks = 0; },
      [](Plan& p) { p.cache.block_bytes -= 256; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Plan plan = plan_for(program);
    check_against(plan, program);
    changes[i](plan);
    SCOPED_TRACE(i);
    expect_refused(ErrorCode::kInconsistentPlan, [&] { check_against(plan, program); });
  }
}

TEST(Plan, ThatMixesTrainedAndFrozenParametersIsRefused) {
  program::Program program = fakes::mlp({8, 8, 8}, 2);
  Plan plan = plan_for(program);
  check_against(plan, program);
  ASSERT_GT(plan.chunks[0].parameters.size(), 1U);
  program.parameters[0].gradient = std::nullopt;
  plan.programs[0].fingerprint = program::fingerprint(program);
  expect_refused(ErrorCode::kInconsistentPlan, [&] { check_against(plan, program); });
}

TEST(Plan, MasterIsTheParameterInFp32AtOneHomeAlone) {
  Chunk chunk;
  EXPECT_TRUE(master_is_parameter(chunk));
  chunk.optimizer_home = Home::kHost;
  EXPECT_FALSE(master_is_parameter(chunk));
  chunk.parameter_home = Home::kHost;
  EXPECT_TRUE(master_is_parameter(chunk));
  chunk.dtype = program::DType::kBFloat16;
  EXPECT_FALSE(master_is_parameter(chunk));
}

TEST(Plan, StateBytesFollowTheElements) {
  Chunk chunk;
  chunk.bytes = 512;
  chunk.dtype = program::DType::kBFloat16;
  Plan plan;
  EXPECT_EQ(shard_bytes(plan, chunk, program::DType::kFloat32), 1024);
  EXPECT_EQ(shard_bytes(plan, chunk, program::DType::kBFloat16), 512);
  plan.world = 4;
  EXPECT_EQ(shard_elements(plan, chunk), 64);
  EXPECT_EQ(shard_bytes(plan, chunk, program::DType::kFloat32), 256);
}

TEST(Plan, PlacesAreByPositionInTheProgram) {
  const program::Program program = fakes::mlp({8, 8}, 2);
  const Plan plan = plan_for(program);
  const std::vector<Place> places = locate_parameters(plan, program);
  ASSERT_EQ(places.size(), program.parameters.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool found = false;
    for (const ChunkParameter& entry : plan.chunks[places[i].chunk].parameters) {
      found = found || (entry.name == program.parameters[i].name &&
                        entry.offset_bytes == places[i].offset_bytes);
    }
    EXPECT_TRUE(found);
  }
}

}  // namespace
}  // namespace elixir::plan
