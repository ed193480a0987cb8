// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The driver's management library of a machine with a GPU, with what LibTorch's allocator calls. It
// knows its own GPU but not the tests' fake one. It proves that the tests do not depend on the
// machine.
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
