// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/machine.h"

#include "core/units.h"
#include "train/support.h"

namespace elixir::runtime {
namespace {

using program::DeviceChoice;
using test::error_of;

plan::Plan plan_for(DeviceKind kind) {
  plan::Plan plan;
  plan.hardware.device_kind = kind;
  plan.hardware.sm = kind == DeviceKind::kCuda ? 90 : 0;
  plan.budgets.gpu_memory_bytes = 8_GiB;
  plan.budgets.host_memory_bytes = 16_GiB;
  return plan;
}

Machine machine_with_gpu() {
  Machine machine;
  machine.host_memory_bytes = 16_GiB;
  machine.gpu = Machine::Gpu{"H200", 90, 8_GiB};
  return machine;
}

Machine machine_without_gpu() {
  Machine machine;
  machine.host_memory_bytes = 16_GiB;
  machine.why_no_gpu = "none found";
  return machine;
}

TEST(Machine, AutoTakesThePlansDevice) {
  EXPECT_EQ(choose_device(DeviceChoice::kAuto, plan_for(DeviceKind::kCuda), machine_with_gpu()),
            DeviceKind::kCuda);
  EXPECT_EQ(choose_device(DeviceChoice::kAuto, plan_for(DeviceKind::kCpu), machine_with_gpu()),
            DeviceKind::kCpu);
  EXPECT_EQ(choose_device(DeviceChoice::kCpu, plan_for(DeviceKind::kCpu), machine_without_gpu()),
            DeviceKind::kCpu);
}

TEST(Machine, NoGpuWhenOneIsAskedForSaysWhy) {
  for (const DeviceChoice wanted : {DeviceChoice::kAuto, DeviceChoice::kCuda}) {
    const ErrorInfo info = error_of(
        [&] { (void)choose_device(wanted, plan_for(DeviceKind::kCuda), machine_without_gpu()); });
    EXPECT_EQ(info.code, ErrorCode::kNoGpu);
    EXPECT_NE(info.message.find("none found"), std::string::npos);
  }
  EXPECT_EQ(error_of([&] {
              (void)choose_device(
                  DeviceChoice::kCuda, plan_for(DeviceKind::kCpu), machine_without_gpu());
            }).code,
            ErrorCode::kNoGpu);
}

TEST(Machine, AnotherCpuThanThePlansIsRefusedInOneSentence) {
  plan::Plan plan = plan_for(DeviceKind::kCpu);
  Machine machine = machine_without_gpu();
  plan.hardware.isa = program::CpuIsa::kAvx512CoreBf16;
  machine.isa = program::CpuIsa::kAvx512CoreBf16;
  EXPECT_EQ(choose_device(DeviceChoice::kAuto, plan, machine), DeviceKind::kCpu);
  machine.isa = program::CpuIsa::kAvx2;
  const ErrorInfo info = error_of([&] { (void)choose_device(DeviceChoice::kAuto, plan, machine); });
  EXPECT_EQ(info.code, ErrorCode::kWrongMachineKind);
  EXPECT_EQ(info.message,
            "the plan is for cpu:avx512_core_bf16, this machine's CPU is cpu:avx2: LibTorch "
            "dispatches other operators on it");
  EXPECT_NE(info.help.at(0).find("--target cpu:avx2"), std::string::npos);
  // An older plan without an instruction set matches every CPU.
  plan.hardware.isa = program::CpuIsa::kUnsaid;
  EXPECT_EQ(choose_device(DeviceChoice::kAuto, plan, machine), DeviceKind::kCpu);
}

TEST(Machine, AnotherKindThanThePlansIsRefused) {
  EXPECT_EQ(error_of([&] {
              (void)choose_device(
                  DeviceChoice::kCpu, plan_for(DeviceKind::kCuda), machine_with_gpu());
            }).code,
            ErrorCode::kWrongMachineKind);
  EXPECT_EQ(error_of([&] {
              (void)choose_device(
                  DeviceChoice::kCuda, plan_for(DeviceKind::kCpu), machine_with_gpu());
            }).code,
            ErrorCode::kWrongMachineKind);
  plan::Plan older = plan_for(DeviceKind::kCuda);
  older.hardware.sm = 80;
  EXPECT_EQ(
      error_of([&] { (void)choose_device(DeviceChoice::kAuto, older, machine_with_gpu()); }).code,
      ErrorCode::kWrongMachineKind);
}

TEST(Machine, OneByteLessThanABudgetIsTooSmall) {
  Machine small_host = machine_with_gpu();
  --small_host.host_memory_bytes;
  Machine small_gpu = machine_with_gpu();
  --small_gpu.gpu->memory_bytes;
  for (const Machine& machine : {small_host, small_gpu}) {
    EXPECT_EQ(error_of([&] {
                (void)choose_device(DeviceChoice::kAuto, plan_for(DeviceKind::kCuda), machine);
              }).code,
              ErrorCode::kMachineTooSmall);
  }
  EXPECT_EQ(error_of([&] {
              (void)choose_device(DeviceChoice::kAuto, plan_for(DeviceKind::kCpu), small_host);
            }).code,
            ErrorCode::kMachineTooSmall);
}

TEST(Machine, BothArenasOfTheCpuDeviceMustFitTogether) {
  plan::Plan plan = plan_for(DeviceKind::kCpu);
  plan.predicted.peak_allocated_bytes = 8_GiB;
  plan.predicted.host_bytes = 8_GiB;
  EXPECT_EQ(choose_device(DeviceChoice::kAuto, plan, machine_without_gpu()), DeviceKind::kCpu);
  plan.predicted.host_bytes += 1;
  EXPECT_EQ(
      error_of([&] { (void)choose_device(DeviceChoice::kAuto, plan, machine_without_gpu()); }).code,
      ErrorCode::kMachineTooSmall);
}

TEST(Machine, ThisMachineHasMemory) {
  EXPECT_GT(this_machine().host_memory_bytes, 64_MiB);
}

}  // namespace
}  // namespace elixir::runtime
