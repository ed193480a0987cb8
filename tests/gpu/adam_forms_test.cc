// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares every form of AdamW on the GPU with the CPU, bit by bit. Scalars, clip factor and found
// infinity are in device memory. Skipped without a GPU.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "adam_problem.h"
#include "device_problem.h"
#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

const reference::Hyper kHyper = {3e-4, 0.9, 0.95, 1e-8, 0.1};

class CudaAdamForms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_gpu()) GTEST_SKIP() << "no GPU";
  }
};

/// One value in device memory.
template <class T>
class DeviceValue {
 public:
  explicit DeviceValue(T value) {
    require_cuda(cudaMalloc(&memory_, sizeof(T)));
    require_cuda(cudaMemcpy(memory_, &value, sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceValue(const DeviceValue&) = delete;
  DeviceValue& operator=(const DeviceValue&) = delete;
  ~DeviceValue() { static_cast<void>(cudaFree(memory_)); }
  [[nodiscard]] T* get() const { return static_cast<T*>(memory_); }
  [[nodiscard]] T value() const {
    T value;
    require_cuda(cudaMemcpy(&value, memory_, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
  }

 private:
  void* memory_ = nullptr;
};

TEST_F(CudaAdamForms, GiveTheBitsOfTheCpuForEveryLengthAndAlignment) {
  for (const AdamForm& form : all_adam_forms()) {
    for (const std::size_t n : {0U, 1U, 31U, 255U, 256U, 257U, 511U, 70001U, 1000003U}) {
      for (const std::size_t shift : {0U, 3U}) {
        AdamProblem host(form, n, n);
        DeviceProblem device(host, shift);
        for (int step = 1; step <= 4; ++step) {
          host.draw_gradients(step);
          device.write_gradients(host);
          // A divisor of one, a power of two, and another number.
          const AdamScalars scalars =
              scalars_of(kHyper, step, step, step == 1 ? 1.0F : 0.7F, step == 2 ? 65536.0 : 1.0);
          adam_cpu(host.arrays(), scalars, best_isa());
          adam_cuda(device.arrays(), scalars, nullptr);
        }
        AdamProblem got = host;
        device.read(got);
        ASSERT_EQ(got.first_difference(host), "") << "shift " << shift;
      }
    }
  }
}

TEST_F(CudaAdamForms, ReadTheClipFactorFromDeviceMemory) {
  for (const AdamForm& form : all_adam_forms()) {
    AdamProblem host(form, 5003, 1);
    DeviceProblem device(host);
    const DeviceValue<Clip> clip(Clip{.norm = 4.0F, .factor = 0.25F, .held_back = 0});
    adam_cpu(host.arrays(), scalars_of(kHyper, 3, 3, 0.25F), best_isa());
    adam_cuda(device.arrays(), scalars_of(kHyper, 3, 3, 1.0F), nullptr, {}, clip.get());
    AdamProblem got = host;
    device.read(got);
    ASSERT_EQ(got.first_difference(host), "");
  }
}

TEST_F(CudaAdamForms, AnUpdateThatIsHeldBackLeavesWhatTheCpuLeaves) {
  constexpr Clip kHeldBack{
      .norm = 1.0F, .factor = std::numeric_limits<float>::quiet_NaN(), .held_back = 1};
  ThreadPool pool(2);
  for (const AdamForm& form : all_adam_forms()) {
    for (const std::size_t shift : {0U, 1U}) {
      AdamProblem host(form, 5003, 1);
      std::fill(host.storage().parameter.begin(), host.storage().parameter.end(), 0x11);
      DeviceProblem device(host, shift);
      const DeviceValue<Clip> clip(kHeldBack);
      const DeviceValue<std::uint32_t> report(0);
      adam_cpu(host.arrays(), scalars_of(kHyper, 1, 1, 1.0F), best_isa(), pool, {}, &kHeldBack);
      adam_cuda(device.arrays(),
                scalars_of(kHyper, 1, 1, 1.0F),
                nullptr,
                {nullptr, report.get()},
                clip.get());
      AdamProblem got = host;
      device.read(got);
      ASSERT_EQ(got.first_difference(host), "");
      EXPECT_EQ(report.value(), 0U);
    }
  }
}

TEST_F(CudaAdamForms, FoundInfinityInDeviceMemoryLeavesEveryStateUntouched) {
  for (const AdamForm& form : all_adam_forms()) {
    AdamProblem host(form, 5003, 1);
    DeviceProblem device(host);
    const AdamProblem before = host;
    const DeviceValue<std::uint32_t> found(1), none(0);
    adam_cuda(device.arrays(), scalars_of(kHyper, 1, 1, 1.0F), nullptr, {found.get(), nullptr});
    AdamProblem got = host;
    device.read(got);
    ASSERT_EQ(got.first_difference(before), "");
    adam_cuda(device.arrays(), scalars_of(kHyper, 1, 1, 1.0F), nullptr, {none.get(), nullptr});
    device.read(got);
    ASSERT_GT(got.differences(before), 4500U);
  }
}

/// The report of one pass over `host` with gradients of 1e-4; `report` is in device memory.
std::uint32_t report_of(AdamProblem& host) {
  DeviceProblem device(host);
  const DeviceValue<std::uint32_t> report(0);
  adam_cuda(device.arrays(), scalars_of(kHyper, 1, 1, 1.0F), nullptr, {nullptr, report.get()});
  return report.value();
}

TEST_F(CudaAdamForms, ReportWhatIsNotFinite) {
  const float infinity = -std::numeric_limits<float>::infinity();
  for (const Element parameter : {Element::kFloat32, Element::kBFloat16}) {
    const AdamForm form = {Element::kFloat32, parameter, false, Element::kFloat32};
    for (const std::size_t at : {0U, 300U, 4999U, 5002U}) {
      AdamProblem quiet(form, 5003, 1);
      AdamProblem::Storage& storage = quiet.storage();
      for (std::size_t i = 0; i < quiet.size(); ++i) {
        const float values[] = {0.5F, 0.0F, 0.0F, 1e-4F};
        std::memcpy(storage.master.data() + 4 * i, &values[0], 4);
        std::memcpy(storage.moment1.data() + 4 * i, &values[1], 4);
        std::memcpy(storage.moment2.data() + 4 * i, &values[2], 4);
        std::memcpy(storage.gradient.data() + 4 * i, &values[3], 4);
      }
      EXPECT_EQ(report_of(quiet), 0U);
      const auto with = [&](std::vector<std::uint8_t> AdamProblem::Storage::*array, float value) {
        AdamProblem problem = quiet;
        std::memcpy((problem.storage().*array).data() + 4 * at, &value, 4);
        return report_of(problem);
      };
      EXPECT_EQ(with(&AdamProblem::Storage::gradient, infinity), 1U) << at;
      EXPECT_EQ(with(&AdamProblem::Storage::master, infinity), 1U) << at;
      EXPECT_EQ(with(&AdamProblem::Storage::moment2, -infinity), 1U) << at;
      // The master is finite; a bf16 parameter is not.
      EXPECT_EQ(with(&AdamProblem::Storage::master, std::numeric_limits<float>::max()),
                parameter == Element::kBFloat16 ? 1U : 0U);
    }
  }
}

TEST_F(CudaAdamForms, ReportIntoHostMemory) {
  std::uint32_t* report = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&report), sizeof *report, cudaHostAllocMapped),
            cudaSuccess);
  *report = 0;
  const AdamForm form = {Element::kFloat32, std::nullopt, false, Element::kFloat32};
  AdamProblem host(form, 5003, 1);
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(host.storage().gradient.data() + 4 * 77, &infinity, 4);
  DeviceProblem device(host);
  adam_cuda(device.arrays(), scalars_of(kHyper, 1, 1, 1.0F), nullptr, {nullptr, report});
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*report, 1U);
  cudaFreeHost(report);
}

TEST_F(CudaAdamForms, ClipFactorOnTheDeviceHasTheBitsOfTheHost) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(0.0F, 10.0F);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 1023U, 1024U, 1025U, 5000U, 70001U}) {
    for (const double most : {1.0, 0.3, 1e9}) {
      std::vector<float> sums(count);
      for (float& sum : sums) sum = uniform(random);
      std::vector<std::uint8_t> bytes(count * sizeof(float));
      if (count > 0) std::memcpy(bytes.data(), sums.data(), bytes.size());
      const DeviceBytes device(bytes, 0);
      const DeviceValue<Clip> clip(Clip{.norm = -1.0F, .factor = -1.0F, .held_back = 7});
      clip_cuda(device.as<float>(), count, most, clip.get(), nullptr);
      const Clip expected = clip_cpu(sums, most);
      EXPECT_EQ(clip.value().norm, expected.norm) << count;
      EXPECT_EQ(clip.value().factor, expected.factor) << count;
      EXPECT_EQ(clip.value().held_back, 0U) << count;
    }
  }
}

TEST_F(CudaAdamForms, ANormThatIsNotFiniteHoldsUpdatesBack) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> sums(3000, 1.0F);
    sums[1234] = bad;
    std::vector<std::uint8_t> bytes(sums.size() * sizeof(float));
    std::memcpy(bytes.data(), sums.data(), bytes.size());
    const DeviceBytes device(bytes, 0);
    const DeviceValue<Clip> clip(Clip{});
    clip_cuda(device.as<float>(), sums.size(), 1.0, clip.get(), nullptr);
    EXPECT_EQ(clip.value().held_back, 1U);
    EXPECT_TRUE(std::isnan(clip.value().factor));
    EXPECT_EQ(clip_cpu(sums, 1.0).held_back, 1U);
  }
}

TEST_F(CudaAdamForms, NormAndCheckReportWhatIsNotFiniteAndNoOverflow) {
  constexpr std::size_t kMany = 140001;
  const AdamForm form = {Element::kFloat32, std::nullopt, false, Element::kFloat32};
  for (const std::size_t shift : {0U, 1U}) {
    const auto found = [&](float value, std::size_t at) {
      AdamProblem host(form, kMany, 1);
      for (std::size_t i = 0; i < kMany; ++i) {
        const float g = i == at ? value : 0.5F;
        std::memcpy(host.storage().gradient.data() + 4 * i, &g, 4);
      }
      const DeviceProblem device(host, shift);
      const DeviceBytes sums(std::vector<std::uint8_t>(norm_blocks(kMany) * sizeof(float)), 0);
      const DeviceValue<std::uint32_t> by_norm(0), by_check(0);
      const void* gradient = device.arrays().gradient;
      sum_squares_cuda(
          gradient, Element::kFloat32, kMany, 1.0F, sums.as<float>(), nullptr, by_norm.get());
      check_finite_cuda(gradient, Element::kFloat32, kMany, by_check.get(), nullptr);
      EXPECT_EQ(by_norm.value(), by_check.value());
      return by_check.value();
    };
    for (const std::size_t at : {std::size_t{0}, std::size_t{70001}, kMany - 1}) {
      EXPECT_EQ(found(3e38F, at), 0U) << "its square overflows, it is finite";
      EXPECT_EQ(found(std::numeric_limits<float>::infinity(), at), 1U);
      EXPECT_EQ(found(std::numeric_limits<float>::quiet_NaN(), at), 1U);
    }
  }
}

TEST_F(CudaAdamForms, StreamsLeaveStatesAndCarryTheGradientToTheParameter) {
  const Element wide = Element::kFloat32, narrow = Element::kBFloat16;
  for (const AdamForm& form : {AdamForm{narrow, narrow, false, wide},
                               AdamForm{narrow, narrow, false, narrow},
                               AdamForm{narrow, narrow, true, wide},
                               AdamForm{narrow, narrow, true, narrow},
                               AdamForm{wide, std::nullopt, false, wide}}) {
    AdamProblem host(form, 256 * 3000, 6);
    DeviceProblem device(host);
    adam_streams_cuda(device.arrays(), nullptr);
    AdamProblem got = host;
    device.read(got);
    if (!form.split && form.parameter) host.storage().parameter = host.storage().gradient;
    EXPECT_EQ(got.first_difference(host), "");
  }
}

}  // namespace
}  // namespace elixir::kernels
