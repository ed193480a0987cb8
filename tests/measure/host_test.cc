// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measurements of host memory.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.h"
#include "measure/host/host_memory.h"
#include "measure/host/streams.h"
#include "measure/measure.h"

namespace elixir::measure {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kCount = 3 * kStreamGrain;

TEST(Streams, MoveWhatTheySay) {
  kernels::ThreadPool pool(2);
  const HostMemory a(kCount * 4, pool), b(kCount * 4, pool), c(kCount * 4, pool);
  std::iota(b.as<float>(), b.as<float>() + kCount, 1.0F);
  std::iota(c.as<float>(), c.as<float>() + kCount, 0.5F);
  for (const Stores stores : {Stores::kPlain, Stores::kStreaming}) {
    stream_copy(a.as<float>(), b.as<float>(), kCount, stores, pool);
    EXPECT_TRUE(std::equal(a.as<float>(), a.as<float>() + kCount, b.as<float>()));
    stream_triad(a.as<float>(), b.as<float>(), c.as<float>(), 2.0F, kCount, stores, pool);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(a.as<float>()[i], b.as<float>()[i] + 2.0F * c.as<float>()[i]) << i;
    }
  }
}

TEST(HostMemory, IsLargerThanCachesAsFarAsTheyAreBelieved) {
  EXPECT_EQ(uncached_bytes(128_MiB, 32_MiB), 128_MiB);
  EXPECT_EQ(uncached_bytes(64_MiB, 32_MiB), 128_MiB);
  EXPECT_EQ(uncached_bytes(128_MiB, 300_MiB), 1200_MiB);
  EXPECT_EQ(uncached_bytes(128_MiB, 2_GiB), 4_GiB);
  EXPECT_EQ(uncached_bytes(128_MiB, 0), 128_MiB);  // the system does not say
}

Request quick_on_cpu(std::vector<std::string> only) {
  Request request;
  request.only = std::move(only);
  request.device = DeviceChoice::kCpu;
  request.effort = Effort::kQuick;
  return request;
}

TEST(HostStreams, AreMeasuredByKernelAndThreads) {
  const hardware::HardwareProfile p = measure(quick_on_cpu({"host-streams"})).profile;
  std::vector<std::string> with_all;
  for (const hardware::HostStream& stream : p.host_streams) {
    EXPECT_GT(stream.bytes_per_s.median, 1e8);
    EXPECT_GE(stream.bytes_per_s.samples, 3);
    if (stream.threads == p.machine.threads && !stream.numa_node) with_all.push_back(stream.kernel);
  }
  EXPECT_THAT(with_all, ::testing::ElementsAre("copy", "triad", "adam"));
  EXPECT_EQ(p.waived.count("host-streams"), 0U);
  ASSERT_TRUE(p.machine.topology);
  EXPECT_GE(p.machine.topology->cores, 1);
}

TEST(HostStreams, TakeLessAndSaySoWhereMemoryIsShort) {
  Request request = quick_on_cpu({"host-streams"});
  request.host_memory_bytes = 64_MiB;
  const hardware::HardwareProfile p = measure(request).profile;
  ASSERT_FALSE(p.host_streams.empty());
  EXPECT_THAT(p.noticed.at("host-streams"), HasSubstr("too little memory: passes over 16.0 MiB"));
}

TEST(Adam, TakesFewerParametersAndSaysSoWhereMemoryIsShort) {
  Request request = quick_on_cpu({"adam-cpu"});
  request.host_memory_bytes = 64_MiB;
  const hardware::HardwareProfile p = measure(request).profile;
  ASSERT_EQ(p.adam_cpu.size(), 3U);
  EXPECT_EQ(p.adam_cpu[1].dtype, "fp16");
  for (const hardware::AdamRate& rate : p.adam_cpu) EXPECT_GT(rate.params_per_s.median, 1e6);
  EXPECT_THAT(p.noticed.at("adam-cpu"), HasSubstr("too little memory"));
}

TEST(Adam, OfSeveralProcessesAtOnceIsMeasuredWhereThereAreSeveralGpus) {
  kernels::ThreadPool pool(2);
  SpreadMemory spread(64_MiB, pool, nullptr);
  Bench bench;
  bench.effort = Effort::kQuick;
  bench.pool = &pool;
  bench.spread = &spread;
  bench.memory_bytes = 64_MiB;
  bench.gpus = 4;  // two threads are for two processes
  const auto adam = std::find_if(measurements().begin(), measurements().end(), [](const auto& one) {
    return one.name == "adam-cpu";
  });
  ASSERT_NE(adam, measurements().end());
  hardware::HardwareProfile profile;
  adam->run(bench, profile);
  std::vector<int> ranks;
  for (const hardware::AdamRate& rate : profile.adam_cpu) {
    ranks.push_back(rate.ranks);
    EXPECT_GT(rate.params_per_s.median, 1e6);
    const char* together = "shared by 2 at once";
    EXPECT_EQ(rate.params_per_s.method.find(together) != std::string::npos, rate.ranks == 2);
  }
  EXPECT_THAT(ranks, ::testing::ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(Samples, OfEveryFigureAreHandedOver) {
  const Outcome outcome = measure(quick_on_cpu({"host-copy"}));
  ASSERT_EQ(outcome.samples.size(), 1U);
  EXPECT_EQ(outcome.samples[0].measurement, "host-copy");
  EXPECT_EQ(static_cast<std::int64_t>(outcome.samples[0].values.size()),
            outcome.profile.host_copy_bytes_per_s->samples);
}

}  // namespace
}  // namespace elixir::measure
