// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The driver's management library of a machine that has a GPU, as far as LibTorch's allocator asks:
// it knows its own GPU and not the tests'. Proves that they do not depend on the machine.
extern "C" {

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;

int nvmlInit_v2() {
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void*) {
  return kNotFound;
}
int nvmlDeviceGetNvLinkRemoteDeviceType() {
  return kNotFound;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2() {
  return kNotFound;
}
int nvmlDeviceGetComputeRunningProcesses() {
  return kNotFound;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}
int nvmlDeviceGetGpuFabricInfoV() {
  return kNotFound;
}
}
