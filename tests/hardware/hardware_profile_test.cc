// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/hardware_profile.h"

#include <cstdlib>
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace elixir::hardware {
namespace {

Figure measured_figure(double median) {
  return {median, 0.02, 7, "test"};
}

HardwareProfile sample() {
  HardwareProfile p;
  p.name = "sample";
  p.device_kind = program::DeviceKind::kCuda;
  p.machine = {.cpu = "A CPU",
               .logical_cpus = 16,
               .threads = 15,
               .host_memory_bytes = std::int64_t{125} << 30};
  p.gpus = {{"NVIDIA H200", 90, 150109880320, 623706112}};
  p.links.host_to_device = {{1, measured_figure(55e9), measured_figure(5000)},
                            {2, measured_figure(100e9), measured_figure(6000)}};
  p.links.device_to_host = {{1, measured_figure(55e9), measured_figure(5000)}};
  p.links.both_at_once = {{1, measured_figure(101e9), measured_figure(5000)}};
  p.adam_cpu = {{"bf16", 1, measured_figure(6e9)}, {"fp32", 1, measured_figure(5e9)}};
  p.adam_gpu = {{"bf16", 1, measured_figure(138e9)}};
  p.adam_forms = {
      {"cpu", "bf16", "fp32", "split", 65536, measured_figure(7e9)},
      {"gpu", "fp16", "bf16", "separate", 1 << 20, measured_figure(150e9)},
      {"cpu", "bf16", "fp32", "split", 65536, measured_figure(8e9), AdamWrites::kParameters, 2}};
  p.compute = {{"bf16", measured_figure(799e12)}};
  p.device_copy_bytes_per_s = measured_figure(4.1e12);
  p.launch_ns = measured_figure(4000);
  p.operators = {{"aten::mm(b)", measured_figure(20), 512},
                 {"aten::mm(a)", measured_figure(10), 0}};
  p.waived = {{"host-copy", "for the test"}};
  p.noticed = {{"adam-cpu", "for the test"}};
  p.machine.topology = Topology{1, 8, {{0, 16, 1 << 30}}, {{1, "data", 49152, 2, 8}}};
  p.links.curves = {{Direction::kHostToDevice,
                     HostPages::kPinned,
                     LinkLine{4e3, 55e9, 0.1},
                     {{4096, measured_figure(4e3)}, {16384, measured_figure(5e3)}}},
                    {Direction::kDeviceToHost,
                     HostPages::kPinned,
                     std::nullopt,
                     {{4096, measured_figure(4e3)}, {16384, measured_figure(3e3)}}}};
  p.links.peers = {{0, 1, true, measured_figure(300e9), measured_figure(3e3)}};
  p.links.pinned_allocation =
      PinnedAllocation{1 << 30, measured_figure(1.5e9), measured_figure(9e9)};
  p.host_streams = {{"adam", 16, std::nullopt, measured_figure(170e9)},
                    {"copy", 8, 0, measured_figure(90e9)}};
  p.collectives = {
      {"all_gather", 2, measured_figure(2e4), {{4096, measured_figure(2e4), 2e8, 1e8}}}};
  p.disk =
      Disk{"/data", "io_uring", 2 << 20, 1 << 20, 32, measured_figure(1.8e9), measured_figure(1e9)};
  p.contention = {{"host_to_device", "adam_cpu", 1, measured_figure(1.2)},
                  {"host_to_device", "adam_cpu", 2, measured_figure(1.7)}};
  p.sustained = {{"bf16", 0.8, measured_figure(1.01)}, {"bf16", 1, measured_figure(1.07)}};
  p.operators[0].host_ns = measured_figure(3000);
  p.operators[0].persistent_bytes = 0;
  p.operators[0].touched_bytes = 4096;
  p.operators[0].flops = 8192;
  p.meta = {{"tool", "test"}};
  return p;
}

HardwareProfile parse(const Json& json) {
  return parse_hardware(*JsonDocument::parse(dump(json), "h.json"));
}

TEST(HardwareProfile, FiguresBeyondAnyMachineAreRefused) {
  const Json good = to_json(sample());
  struct Case {
    const char* pointer;
    Json value;
  };
  for (const Case& c : {
           Case{"/launch_ns/median", 1e300},
           Case{"/launch_ns/median", 1e16},
           Case{"/operators/0/time_ns/median", 1e16},
           Case{"/operators/0/workspace_bytes", 1LL << 62},
           Case{"/adam/cpu/0/params_per_s/median", 1e-300},
           Case{"/compute/0/matmul_flop_per_s/median", 1e300},
           Case{"/gpus/0/memory_bytes", 1LL << 62},
       }) {
    Json bad = good;
    bad[Json::json_pointer(c.pointer)] = c.value;
    try {
      (void)parse(bad);
      ADD_FAILURE() << c.pointer << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kJsonBadValue);
      EXPECT_EQ(error.info().where->pointer, c.pointer);
    }
  }
}

ErrorInfo failure(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.info();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(HardwareDocument, KeepsEverythingOverWritingAndReading) {
  const HardwareProfile p = sample();
  const HardwareProfile back = parse(to_json(p));
  EXPECT_EQ(dump(to_json(back)), dump(to_json(p)));
  EXPECT_EQ(back.gpus[0].sm, 90);
  EXPECT_EQ(back.links.host_to_device[1].gpus, 2);
  EXPECT_EQ(back.operators[0].key, "aten::mm(a)") << "operators are sorted by key";
  EXPECT_FALSE(back.host_copy_bytes_per_s);
  EXPECT_EQ(back.waived.at("host-copy"), "for the test");
  EXPECT_EQ(back.machine.topology->caches[0].bytes, 49152);
  EXPECT_EQ(back.links.curves[0].points[1].bytes, 16384);
  EXPECT_EQ(back.links.curves[0].line->bytes_per_s, 55e9);
  EXPECT_FALSE(back.links.curves[1].line);
  EXPECT_EQ(back.adam_forms[1].moments, "bf16");
  EXPECT_EQ(back.adam_forms[0].parameters, 65536);
  EXPECT_EQ(back.adam_forms[0].ranks, 1);
  EXPECT_EQ(back.adam_forms[2].ranks, 2);
  EXPECT_EQ(back.host_streams[1].numa_node, 0);
  EXPECT_FALSE(back.host_streams[0].numa_node);
  EXPECT_FALSE(back.operators[0].flops) << "what was not measured stays absent";
  EXPECT_EQ(back.operators[1].flops, 8192);
}

TEST(HardwareDocument, FingerprintIgnoresMetaAlone) {
  HardwareProfile p = sample();
  const std::string before = fingerprint(p);
  EXPECT_EQ(before.size(), 64U);
  p.meta["tool"] = "another";
  EXPECT_EQ(fingerprint(p), before);
  p.adam_gpu[0].params_per_s.median += 1;
  EXPECT_NE(fingerprint(p), before);
}

TEST(HardwareDocument, OfAnEarlierVersionIsReadAndKeepsItsFingerprint) {
  HardwareProfile p = sample();
  p.noticed.clear();
  p.machine.topology.reset();
  p.links.curves.clear();
  p.links.peers.clear();
  p.links.pinned_allocation.reset();
  p.host_streams.clear();
  p.adam_forms.clear();
  p.operators[0] = {"aten::mm(b)", measured_figure(20), 512};
  Json json = to_json(p);
  json.erase("noticed");
  json.erase("workspaces");
  json["machine"].erase("topology");
  json["machine"].erase("instruction_set");
  for (const char* key : {"curves", "peers", "pinned_allocation"}) json["links"].erase(key);
  json["host_memory"].erase("streams");
  json["adam"].erase("forms");
  for (Json& time : json["operators"]) {
    for (const char* key : {"host_ns", "persistent_bytes", "touched_bytes", "flops"}) {
      time.erase(key);
    }
  }
  const HardwareProfile back = parse(json);
  EXPECT_EQ(dump(to_json(back)), dump(to_json(p)));
  Json without_meta = json;
  without_meta.erase("meta");
  EXPECT_EQ(fingerprint(back), sha256_hex(dump(without_meta)));
}

TEST(HardwareDocument, KeepsAnswersOfCudnnOutsideOfItsFingerprint) {
  HardwareProfile asked = sample();
  const std::string before = fingerprint(asked);
  asked.workspaces = program::WorkspaceAnswers{
      .source = "cuDNN 9.19.0 on NVIDIA H200", .measured = true, .bytes = {{"a query", 4096}}};
  const HardwareProfile back = parse(to_json(asked));
  EXPECT_EQ(back.workspaces, asked.workspaces);
  EXPECT_EQ(fingerprint(back), before);
  Json twice = to_json(asked);
  twice["workspaces"]["queries"].push_back(twice["workspaces"]["queries"][0]);
  EXPECT_THROW(parse(twice), Error);
}

TEST(WorkspaceAnswers, OfTwoSourcesAreTheBetterOnesWhereBothAnswer) {
  const program::WorkspaceAnswers described{
      .source = "described", .measured = false, .bytes = {{"a", 1}, {"b", 2}}};
  const program::WorkspaceAnswers asked{.source = "asked", .measured = true, .bytes = {{"b", 3}}};
  const program::WorkspaceAnswers both = merged(described, asked);
  EXPECT_EQ(both.bytes, (std::map<std::string, std::int64_t>{{"a", 1}, {"b", 3}}));
  EXPECT_FALSE(both.measured);
  EXPECT_EQ(both.source, "asked, described");
  EXPECT_EQ(merged(asked, asked), asked);
  const program::WorkspaceAnswers of_all{
      .source = "asked", .measured = true, .bytes = {{"a", 1}, {"b", 3}}};
  EXPECT_EQ(merged(described, of_all), of_all);
}

TEST(HardwareDocument, RefusesDamagedDocumentsAtTheRightPlace) {
  struct Damage {
    std::function<void(Json&)> apply;
    ErrorCode code;
    std::string pointer;
  };
  const std::vector<Damage> damages = {
      {[](Json& j) { j["schema"] = "elixir.plan"; }, ErrorCode::kWrongSchema, "/schema"},
      {[](Json& j) { j.erase("compute"); }, ErrorCode::kJsonMissingKey, ""},
      {[](Json& j) { j["extra"] = 1; }, ErrorCode::kJsonUnknownKey, "/extra"},
      {[](Json& j) { j["device_kind"] = "tpu"; }, ErrorCode::kJsonBadValue, "/device_kind"},
      {[](Json& j) { j["gpus"] = Json::array(); }, ErrorCode::kJsonBadValue, "/gpus"},
      {[](Json& j) { j["machine"]["threads"] = 0; }, ErrorCode::kJsonBadValue, "/machine/threads"},
      {[](Json& j) { j["machine"]["threads"] = "2"; }, ErrorCode::kJsonType, "/machine/threads"},
      {[](Json& j) { j["adam"]["gpu"][0]["params_per_s"]["median"] = 0; },
       ErrorCode::kJsonBadValue,
       "/adam/gpu/0/params_per_s/median"},
      {[](Json& j) { j["adam"]["cpu"][1]["dtype"] = "int8"; },
       ErrorCode::kJsonBadValue,
       "/adam/cpu/1/dtype"},
      {[](Json& j) { j["links"]["device_to_host"][0]["bytes_per_s"]["median"] = -1; },
       ErrorCode::kJsonBadValue,
       "/links/device_to_host/0/bytes_per_s/median"},
      {[](Json& j) { j["operators"][1]["key"] = "aten::mm(a)"; },
       ErrorCode::kJsonBadValue,
       "/operators/1"},
      {[](Json& j) { j["operators"][0]["workspace_bytes"] = -512; },
       ErrorCode::kJsonBadValue,
       "/operators/0/workspace_bytes"},
      {[](Json& j) { j["disk"] = Json::object(); }, ErrorCode::kJsonMissingKey, "/disk"},
      {[](Json& j) { j["disk"]["engine"] = "tape"; }, ErrorCode::kJsonBadValue, "/disk/engine"},
      {[](Json& j) { j["links"]["curves"][0]["points"][1]["bytes"] = 4096; },
       ErrorCode::kJsonBadValue,
       "/links/curves/0/points/1"},
      {[](Json& j) { j["links"]["curves"][0]["bytes_per_s"] = 0; },
       ErrorCode::kJsonBadValue,
       "/links/curves/0/bytes_per_s"},
      {[](Json& j) { j["adam"]["forms"][1]["master"] = "halved"; },
       ErrorCode::kJsonBadValue,
       "/adam/forms/1/master"},
      {[](Json& j) { j["adam"]["forms"][0]["writes"] = "gradients"; },
       ErrorCode::kJsonBadValue,
       "/adam/forms/0/writes"},
      {[](Json& j) { j["links"]["peers"][0]["direct"] = 1; },
       ErrorCode::kJsonType,
       "/links/peers/0/direct"},
      {[](Json& j) { j["host_memory"]["streams"][0]["threads"] = 0; },
       ErrorCode::kJsonBadValue,
       "/host_memory/streams/0/threads"},
      {[](Json& j) { j["collectives"][0]["gpus"] = 1; },
       ErrorCode::kJsonBadValue,
       "/collectives/0/gpus"},
      {[](Json& j) { j["sustained"][1]["duty"] = 1.5; },
       ErrorCode::kJsonBadValue,
       "/sustained/1/duty"},
      {[](Json& j) { j["contention"][0]["slowdown"]["median"] = 0; },
       ErrorCode::kJsonBadValue,
       "/contention/0/slowdown/median"},
      {[](Json& j) { j["contention"][1]["gpus"] = 0; },
       ErrorCode::kJsonBadValue,
       "/contention/1/gpus"},
      {[](Json& j) { j["operators"][1]["flops"] = -1; },
       ErrorCode::kJsonBadValue,
       "/operators/1/flops"},
      {[](Json& j) { j["noticed"].push_back(j["noticed"][0]); },
       ErrorCode::kJsonBadValue,
       "/noticed/1"},
      {[](Json& j) { j["waived"].push_back(j["waived"][0]); },
       ErrorCode::kJsonBadValue,
       "/waived/1"},
  };
  for (const Damage& damage : damages) {
    Json json = to_json(sample());
    damage.apply(json);
    const ErrorInfo info = failure([&] { (void)parse(json); });
    EXPECT_EQ(info.code, damage.code) << damage.pointer << ": " << info.message;
    ASSERT_TRUE(info.where) << damage.pointer;
    if (damage.code != ErrorCode::kJsonUnknownKey) {
      EXPECT_EQ(info.where->pointer, damage.pointer) << info.message;
    }
    EXPECT_EQ(info.where->file, "h.json");
  }
}

class ShippedProfiles : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("elixir-profiles-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    write_file((directory_ / "laptop.json").string(), dump(to_json(sample())), Overwrite::kAllow);
    ::setenv("ELIXIR_PROFILES", directory_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ELIXIR_PROFILES");
    std::filesystem::remove_all(directory_);
  }
  std::filesystem::path directory_;
};

TEST_F(ShippedProfiles, AreFoundByNameAndByPath) {
  EXPECT_THAT(shipped_profiles(), ::testing::Contains("laptop"));
  EXPECT_EQ(load_hardware("laptop").name, "sample");
  EXPECT_EQ(load_hardware((directory_ / "laptop.json").string()).name, "sample");
}

TEST_F(ShippedProfiles, UnknownNamesGetASuggestion) {
  const ErrorInfo info = failure([] { (void)load_hardware("labtop"); });
  EXPECT_EQ(info.code, ErrorCode::kFileNotFound);
  EXPECT_THAT(info.help, ::testing::Contains("did you mean `laptop`?"));
  const ErrorInfo file = failure([] { (void)load_hardware("no/such.json"); });
  EXPECT_EQ(file.code, ErrorCode::kFileNotFound);
}

TEST_F(ShippedProfiles, AreChosenByTheGpuOfATarget) {
  const auto ship = [&](const std::string& name,
                        int sm,
                        std::size_t operators,
                        bool timed,
                        std::size_t gpus = 1) {
    HardwareProfile profile = sample();
    profile.name = name;
    profile.device_kind = program::DeviceKind::kCuda;
    profile.gpus.assign(gpus, {.name = "fake", .sm = sm, .memory_bytes = 1 << 30});
    profile.operators.clear();
    for (std::size_t i = 0; i < operators; ++i) {
      profile.operators.push_back({"call " + std::to_string(i), measured_figure(10), 0});
    }
    if (!timed) {
      profile.device_copy_bytes_per_s.reset();
      profile.waived["device-copy"] = "for the test";
    }
    write_file((directory_ / (name + ".json")).string(), dump(to_json(profile)), Overwrite::kAllow);
  };
  const auto found = [](int sm) {
    const auto profile = shipped_hardware_of({.kind = program::Target::Kind::kCuda, .sm = sm});
    return profile ? profile->name : "none";
  };
  ship("few", 75, 0, true);
  ship("many", 75, 2, true);
  ship("more", 75, 1, true);
  ship("lacking", 75, 3, false);
  ship("other", 80, 4, true);
  ship("a pair", 75, 5, true, 2);
  EXPECT_EQ(found(75), "many");
  EXPECT_EQ(found(80), "other");
  EXPECT_EQ(found(86), "none");
  EXPECT_FALSE(shipped_hardware_of({.kind = program::Target::Kind::kCpu}));
}

}  // namespace
}  // namespace elixir::hardware
