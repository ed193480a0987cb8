// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares CUDA kernels with the CPU's: identical bits (any NaN equals any NaN). Skipped without a
// GPU.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::kernels {
namespace {

void check(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

/// A device copy of a host array, at a given distance from an aligned address.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const std::vector<T>& from, std::size_t offset) : n_(from.size()), offset_(offset) {
    check(cudaMalloc(&base_, (n_ + offset + 1) * sizeof(T)));
    if (n_ > 0) check(cudaMemcpy(get(), from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceArray() { cudaFree(base_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  [[nodiscard]] T* get() const { return static_cast<T*>(base_) + offset_; }
  [[nodiscard]] std::vector<T> host() const {
    std::vector<T> to(n_);
    if (n_ > 0) check(cudaMemcpy(to.data(), get(), n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  void* base_ = nullptr;
  std::size_t n_, offset_;
};

bool nan_bits(float value) {
  return std::isnan(value);
}
bool same(float a, float b) {
  return (nan_bits(a) && nan_bits(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}
bool same16(std::uint16_t a, std::uint16_t b, Element type) {
  const std::uint16_t infinity = type == Element::kBFloat16 ? 0x7F80 : 0x7C00;
  return ((a & 0x7FFF) > infinity && (b & 0x7FFF) > infinity) || a == b;
}

class CudaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  }
  ThreadPool pool_{2};
  std::mt19937 random_{20261121};

  /// Any bit pattern is possible, including denormals, infinities and NaN. Most values are
  /// ordinary.
  float value(float scale) {
    if (random_() % 10 == 0) {
      const auto bits = static_cast<std::uint32_t>(random_());
      float any = 0;
      std::memcpy(&any, &bits, sizeof any);
      return any;
    }
    return std::normal_distribution<float>()(random_) * scale;
  }
  std::vector<float> values(std::size_t n, float scale) {
    std::vector<float> out(n);
    for (float& x : out) x = value(scale);
    return out;
  }
  std::vector<std::uint16_t> bits16(std::size_t n, Element type, float scale) {
    std::vector<std::uint16_t> out(n);
    convert_cpu(out.data(), type, values(n, scale).data(), n, pool_);
    return out;
  }
};

const std::size_t kSizes[] = {
    0, 1, 2, 3, 4, 5, 31, 255, 1023, 1024, 1025, 65535, 65536, 65537, 1000003};
const Element kTypes[] = {Element::kFloat32, Element::kBFloat16, Element::kFloat16};

TEST_F(CudaKernels, AdamGivesTheBitsOfTheCpu) {
  for (const std::size_t n : kSizes) {
    for (const Element gradient : kTypes) {
      for (const Element parameter : kTypes) {
        for (const bool separate : {true, false}) {
          if (!separate && parameter != Element::kFloat32) continue;
          for (const std::size_t offset : {std::size_t{0}, std::size_t{3}}) {
            if (n > 70000 && offset > 0) continue;
            std::vector<float> p = values(n, 1), m = values(n, 1e-3F), v = values(n, 1e-6F);
            for (float& x : v) x = std::fabs(x);
            const std::vector<float> g32 = values(n, 1e-2F);
            const std::vector<std::uint16_t> g16 = gradient == Element::kFloat32
                                                       ? std::vector<std::uint16_t>(n)
                                                       : bits16(n, gradient, 1e-2F);
            std::vector<float> out32(n, 3.0F);
            std::vector<std::uint16_t> out16(n, 7);
            const DeviceArray<float> dp(p, offset), dm(m, offset), dv(v, offset), dg32(g32, offset),
                dout32(out32, offset);
            const DeviceArray<std::uint16_t> dg16(g16, offset), dout16(out16, offset);
            const bool wide_g = gradient == Element::kFloat32;
            const bool wide_p = parameter == Element::kFloat32;
            const auto pick = [](bool wide, void* a, void* b) { return wide ? a : b; };
            AdamArrays host = {p.data(),
                               m.data(),
                               v.data(),
                               wide_g ? static_cast<const void*>(g32.data()) : g16.data(),
                               gradient,
                               separate ? pick(wide_p, out32.data(), out16.data()) : nullptr,
                               parameter,
                               n};
            AdamArrays device = {dp.get(),
                                 dm.get(),
                                 dv.get(),
                                 pick(wide_g, dg32.get(), dg16.get()),
                                 gradient,
                                 separate ? pick(wide_p, dout32.get(), dout16.get()) : nullptr,
                                 parameter,
                                 n};
            for (int step = 1; step <= 4; ++step) {
              const AdamScalars scalars = make_adam_scalars({1e-3, 0.9, 0.95, 1e-8, 0.1},
                                                            step,
                                                            step % 2 == 0 ? 3 : 1,
                                                            step > 2 ? 0.7F : 1.0F);
              adam_cpu(host, scalars, best_isa(), pool_);
              adam_cuda(device, scalars, nullptr);
            }
            check(cudaDeviceSynchronize());
            const auto gp = dp.host(), gm = dm.host(), gv = dv.host(), gout32 = dout32.host();
            const auto gout16 = dout16.host();
            for (std::size_t i = 0; i < n; ++i) {
              ASSERT_TRUE(same(p[i], gp[i]) && same(m[i], gm[i]) && same(v[i], gv[i]) &&
                          same(out32[i], gout32[i]) && same16(out16[i], gout16[i], parameter))
                  << "element " << i << " of " << n << " gradient " << static_cast<int>(gradient)
                  << " parameter " << static_cast<int>(parameter) << " offset " << offset << ": "
                  << p[i] << " and " << gp[i];
            }
          }
        }
      }
    }
  }
}

TEST_F(CudaKernels, AdamAgreesOnMillionsOfParametersOverTwentySteps) {
  constexpr std::size_t kMany = 8000007;
  std::vector<float> p = values(kMany, 1), m(kMany), v(kMany);
  std::vector<std::uint16_t> out(kMany);
  const DeviceArray<float> dp(p, 0), dm(m, 0), dv(v, 0);
  const DeviceArray<std::uint16_t> dout(out, 0);
  for (int step = 1; step <= 20; ++step) {
    const std::vector<std::uint16_t> g = bits16(kMany, Element::kBFloat16, 1e-2F);
    const DeviceArray<std::uint16_t> dg(g, 0);
    const AdamScalars scalars = make_adam_scalars({3e-4, 0.9, 0.999, 1e-8, 0.01}, step, 1, 0.9F);
    adam_cpu({p.data(),
              m.data(),
              v.data(),
              g.data(),
              Element::kBFloat16,
              out.data(),
              Element::kBFloat16,
              kMany},
             scalars,
             best_isa(),
             pool_);
    adam_cuda({dp.get(),
               dm.get(),
               dv.get(),
               dg.get(),
               Element::kBFloat16,
               dout.get(),
               Element::kBFloat16,
               kMany},
              scalars,
              nullptr);
    check(cudaDeviceSynchronize());
  }
  const auto gp = dp.host(), gm = dm.host(), gv = dv.host();
  const auto gout = dout.host();
  std::size_t different = 0;
  for (std::size_t i = 0; i < kMany; ++i) {
    different += !(same(p[i], gp[i]) && same(m[i], gm[i]) && same(v[i], gv[i]) &&
                   same16(out[i], gout[i], Element::kBFloat16));
  }
  EXPECT_EQ(different, 0U);
}

TEST_F(CudaKernels, SumSquaresGivesTheBitsOfTheCpu) {
  for (const Element type : kTypes) {
    for (const std::size_t n : kSizes) {
      for (const float divisor : {1.0F, 3.0F}) {
        std::vector<float> g32(n);
        for (float& x : g32) x = std::normal_distribution<float>()(random_) * 1e-2F;
        std::vector<std::uint16_t> g16(n);
        if (type != Element::kFloat32) convert_cpu(g16.data(), type, g32.data(), n, pool_);
        std::vector<float> expected(norm_blocks(n), -1.0F);
        const void* host =
            type == Element::kFloat32 ? static_cast<const void*>(g32.data()) : g16.data();
        sum_squares_cpu(host, type, n, divisor, expected.data(), best_isa(), pool_);
        const DeviceArray<float> d32(g32, 0), sums(std::vector<float>(expected.size(), -2.0F), 0);
        const DeviceArray<std::uint16_t> d16(g16, 0);
        const void* device =
            type == Element::kFloat32 ? static_cast<const void*>(d32.get()) : d16.get();
        sum_squares_cuda(device, type, n, divisor, sums.get(), nullptr);
        check(cudaDeviceSynchronize());
        const auto got = sums.host();
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same(got[i], expected[i])) << n;
      }
    }
  }
}

/// More parts than one launch takes, aligned and not, some of them empty.
TEST_F(CudaKernels, SumsOfSquaresOfPartsAreThoseOfEachPart) {
  for (const Element type : kTypes) {
    std::vector<SummedPart> parts;
    std::size_t elements = 0, blocks = 0;
    for (int i = 0; i < 230; ++i) {
      const std::size_t n = i % 7 == 3    ? 0
                            : i % 50 == 0 ? 3 * kNormBlockElements + static_cast<std::size_t>(i)
                                          : 1 + static_cast<std::size_t>(i) * 37 % 5000;
      parts.push_back({elements, n, {nullptr, i % 2 == 0 ? 1.0F : 3.0F}});
      elements += n + static_cast<std::size_t>(i % 5);
      blocks += norm_blocks(n);
    }
    const bool wide = type == Element::kFloat32;
    const std::vector<float> g32 = values(elements, 1e-2F);
    const std::vector<std::uint16_t> g16 =
        wide ? std::vector<std::uint16_t>(1) : bits16(elements, type, 1e-2F);
    const DeviceArray<float> d32(g32, 0), sums(std::vector<float>(blocks, -2.0F), 0);
    const DeviceArray<std::uint16_t> d16(g16, 0);
    std::vector<float> expected(blocks, -1.0F);
    std::size_t block = 0;
    for (SummedPart& part : parts) {
      part.squares.sums = sums.get() + block;
      const void* host = wide ? static_cast<const void*>(g32.data()) : g16.data();
      sum_squares_cpu(element_at(host, type, part.first_element),
                      type,
                      part.elements,
                      part.squares.divisor,
                      expected.data() + block,
                      best_isa(),
                      pool_);
      block += norm_blocks(part.elements);
    }
    sum_squares_of_parts_cuda(
        wide ? static_cast<const void*>(d32.get()) : d16.get(), type, parts, nullptr);
    check(cudaDeviceSynchronize());
    const auto got = sums.host();
    for (std::size_t i = 0; i < blocks; ++i) ASSERT_TRUE(same(got[i], expected[i])) << i;
  }
}

/// Any bits, NaN and infinities among them, at aligned and other addresses.
TEST_F(CudaKernels, PassesThatStoreAndSumGiveTheBitsOfTheCpu) {
  for (const Element type : kTypes) {
    for (const std::size_t n : kSizes) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        for (const float divisor : {1.0F, 3.0F}) {
          const std::vector<float> g32 = values(n, 1e-2F);
          const std::vector<std::uint16_t> g16 =
              type == Element::kFloat32 ? std::vector<std::uint16_t>(n) : bits16(n, type, 1e-2F);
          const bool wide = type == Element::kFloat32;
          const DeviceArray<float> d32(g32, offset), copy32(std::vector<float>(n), offset);
          const DeviceArray<std::uint16_t> d16(g16, offset),
              copy16(std::vector<std::uint16_t>(n), offset);
          const void* host = wide ? static_cast<const void*>(g32.data()) : g16.data();
          const void* device = wide ? static_cast<const void*>(d32.get()) : d16.get();
          void* copy = wide ? static_cast<void*>(copy32.get()) : copy16.get();
          std::vector<float> expected(norm_blocks(n), -1.0F);
          const DeviceArray<float> sums(std::vector<float>(expected.size(), -2.0F), 0);
          const auto expect_sums = [&](const char* what) {
            check(cudaDeviceSynchronize());
            const auto got = sums.host();
            for (std::size_t i = 0; i < got.size(); ++i) {
              ASSERT_TRUE(same(got[i], expected[i])) << what << ", " << n << ", block " << i;
            }
          };
          sum_squares_cpu(host, type, n, divisor, expected.data(), best_isa(), pool_);
          sum_squares_cuda(device, type, n, divisor, sums.get(), nullptr);
          expect_sums("sums alone");
          copy_and_sum_squares_cuda(copy, device, type, n, {sums.get(), divisor}, nullptr);
          expect_sums("copy");
          if (wide) {
            EXPECT_EQ(std::memcmp(copy32.host().data(), g32.data(), n * sizeof(float)), 0);
          } else {
            EXPECT_TRUE(copy16.host() == g16);
          }
          std::vector<float> sum(n, 1.0F);
          const DeviceArray<float> dsum(sum, offset);
          for (const Accumulate how : {Accumulate::kFirst, Accumulate::kAdd, Accumulate::kAdd}) {
            accumulate_cpu(
                sum.data(), host, type, n, how, best_isa(), pool_, {expected.data(), divisor});
            accumulate_cuda(dsum.get(), device, type, n, how, nullptr, {sums.get(), divisor});
            expect_sums("accumulate");
            const auto got = dsum.host();
            for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same(got[i], sum[i])) << i;
          }
        }
      }
    }
  }
}

TEST_F(CudaKernels, AccumulateAndUpcastGiveTheBitsOfTheCpu) {
  for (const Element type : kTypes) {
    for (const std::size_t n : kSizes) {
      for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
        const std::vector<float> g32 = values(n, 1e-2F);
        const std::vector<std::uint16_t> g16 =
            type == Element::kFloat32 ? std::vector<std::uint16_t>(n) : bits16(n, type, 1e-2F);
        std::vector<float> sum(n, 1.0F);
        const DeviceArray<float> d32(g32, offset), dsum(sum, offset);
        const DeviceArray<std::uint16_t> d16(g16, offset);
        const void* host =
            type == Element::kFloat32 ? static_cast<const void*>(g32.data()) : g16.data();
        const void* device =
            type == Element::kFloat32 ? static_cast<const void*>(d32.get()) : d16.get();
        for (const Accumulate how : {Accumulate::kFirst, Accumulate::kAdd, Accumulate::kAdd}) {
          accumulate_cpu(sum.data(), host, type, n, how, best_isa(), pool_);
          accumulate_cuda(dsum.get(), device, type, n, how, nullptr);
        }
        check(cudaDeviceSynchronize());
        auto got = dsum.host();
        for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same(got[i], sum[i])) << i << " of " << n;
        upcast_cpu(sum.data(), host, type, n, pool_);
        upcast_cuda(dsum.get(), device, type, n, nullptr);
        check(cudaDeviceSynchronize());
        got = dsum.host();
        for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(same(got[i], sum[i])) << i << " of " << n;
      }
    }
  }
}

TEST_F(CudaKernels, PoisonIsNaN) {
  const DeviceArray<float> memory(std::vector<float>(1000, 1.0F), 0);
  poison_cuda(memory.get(), 999 * sizeof(float), nullptr);
  check(cudaDeviceSynchronize());
  const auto got = memory.host();
  for (std::size_t i = 0; i < 999; ++i) ASSERT_TRUE(std::isnan(got[i]));
  EXPECT_EQ(got[999], 1.0F);
}

}  // namespace
}  // namespace elixir::kernels
