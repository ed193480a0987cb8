// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/cudnn: questions to cuDNN, without LibTorch and without running anything. It belongs to the
// program elixir-cudnn alone, because cuDNN aborts the process where it lacks a library.
//
// Here: cuDNN's backend API (developer guide, "Backend API") with errors as exceptions and
// descriptors that destroy themselves. The library is loaded when asked for, so that programs start
// without it.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <cudnn.h>

namespace elixir::cudnn {

/// A call of cuDNN failed. Callers decide whether that is an answer or an error.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The functions of the loaded library.
class Library {
 public:
  /// Loads libcudnn.so.9 as the system finds it. Throws Error (kMissingFeature).
  Library();
  [[nodiscard]] std::string version() const;  ///< "9.19.0"
  /// Throws Failure with `what` unless `status` is a success.
  void check(cudnnStatus_t status, const char* what) const;

  decltype(&cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnCreate) create_handle = nullptr;

 private:
  decltype(&cudnnGetLastErrorString) last_error_ = nullptr;
  decltype(&cudnnGetVersion) version_ = nullptr;
};

/// A backend descriptor. Its library must outlive it.
class Descriptor {
 public:
  Descriptor(const Library& library, cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] cudnnBackendDescriptor_t raw() const { return raw_; }
  void set(cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type,
           std::int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  void finalize(const char* what);
  /// Returns how many values there are; writes at most `count`.
  std::int64_t get(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type,
                   std::int64_t count,
                   void* values) const;
  [[nodiscard]] std::int64_t integer(cudnnBackendAttributeName_t name) const;

 private:
  const Library* library_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace elixir::cudnn
