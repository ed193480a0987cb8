// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// A cuBLASLt that computes nothing. cuDNN asks cuBLASLt which matrix products it can do, and takes
// it out of the choice when it does not start, as without a driver. This one starts and can do all.
//
// Its functions have cuBLASLt's names and as many arguments; handles and descriptors are memory of
// no meaning. Status 0 is CUBLAS_STATUS_SUCCESS, 15 CUBLAS_STATUS_NOT_SUPPORTED.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0, kNotSupported = 15;
constexpr std::size_t kDescriptorBytes = 512;
constexpr int kMajorVersion = 13, kMinorVersion = 1;

/// As cublasLtMatmulHeuristicResult_t.
struct HeuristicResult {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

int allocate(void** descriptor) {
  *descriptor = std::calloc(1, kDescriptorBytes);
  return kSuccess;
}

int clear(void* descriptor, std::size_t bytes) {
  std::memset(descriptor, 0, bytes);
  return kSuccess;
}

int read_nothing(void* value, std::size_t bytes, std::size_t* written) {
  std::memset(value, 0, bytes);
  if (written != nullptr) *written = bytes;
  return kSuccess;
}

void can(HeuristicResult* result) {
  std::memset(result, 0, sizeof *result);
  result->waves = 1;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): cuBLASLt's names.
extern "C" {

int cublasLtCreate(void** handle) {
  return allocate(handle);
}
int cublasLtDestroy(void* handle) {
  std::free(handle);
  return kSuccess;
}
int cublasLtGetProperty(int type, int* value) {
  *value = type == 0 ? kMajorVersion : type == 1 ? kMinorVersion : 0;
  return kSuccess;
}
std::size_t cublasLtGetVersion() {
  return 130'100;
}

int cublasLtMatmulDescCreate(void** descriptor, int, int) {
  return allocate(descriptor);
}
int cublasLtMatmulDescInit_internal(void* descriptor, std::size_t bytes, int, int) {
  return clear(descriptor, bytes);
}
int cublasLtMatmulDescDestroy(void*) {
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void*, int, const void*, std::size_t) {
  return kSuccess;
}
int cublasLtMatmulDescGetAttribute(
    void*, int, void* value, std::size_t bytes, std::size_t* written) {
  return read_nothing(value, bytes, written);
}

int cublasLtMatrixLayoutCreate(void** layout, int, std::uint64_t, std::uint64_t, std::int64_t) {
  return allocate(layout);
}
int cublasLtMatrixLayoutInit_internal(
    void* layout, std::size_t bytes, int, std::uint64_t, std::uint64_t, std::int64_t) {
  return clear(layout, bytes);
}
int cublasLtMatrixLayoutDestroy(void*) {
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void*, int, const void*, std::size_t) {
  return kSuccess;
}
int cublasLtMatrixLayoutGetAttribute(
    void*, int, void* value, std::size_t bytes, std::size_t* written) {
  return read_nothing(value, bytes, written);
}

int cublasLtMatmulPreferenceCreate(void** preference) {
  return allocate(preference);
}
int cublasLtMatmulPreferenceInit_internal(void* preference, std::size_t bytes) {
  return clear(preference, bytes);
}
int cublasLtMatmulPreferenceDestroy(void*) {
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, std::size_t) {
  return kSuccess;
}

int cublasLtMatmulAlgoGetHeuristic(void*,
                                   void*,
                                   void*,
                                   void*,
                                   void*,
                                   void*,
                                   void*,
                                   int wanted,
                                   HeuristicResult* results,
                                   int* count) {
  for (int i = 0; i < wanted; ++i) can(&results[i]);
  *count = wanted;
  return kSuccess;
}
int cublasLtMatmulAlgoCheck(
    void*, void*, void*, void*, void*, void*, const void*, HeuristicResult* result) {
  can(result);
  return kSuccess;
}
int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int, void*) {
  return kSuccess;
}
int cublasLtMatmulAlgoGetIds(
    void*, int, int, int, int, int, int, int wanted, int* ids, int* count) {
  if (wanted > 0) ids[0] = 0;
  *count = wanted > 0 ? 1 : 0;
  return kSuccess;
}
int cublasLtMatmulAlgoConfigSetAttribute(void*, int, const void*, std::size_t) {
  return kSuccess;
}
int cublasLtMatmulAlgoConfigGetAttribute(
    const void*, int, void* value, std::size_t bytes, std::size_t* written) {
  return read_nothing(value, bytes, written);
}
int cublasLtMatmulAlgoCapGetAttribute(
    const void*, int, void* value, std::size_t bytes, std::size_t* written) {
  return read_nothing(value, bytes, written);
}
int cublasLtMatmul() {
  return kNotSupported;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
