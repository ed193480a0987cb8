// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "cudnn/backend.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::cudnn {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorCode::kMissingFeature, "this cuDNN has no {}", name)
        .help("Elixir asks cuDNN 9, which LibTorch 2.11 uses");
  }
}

}  // namespace

Library::Library() {
  void* library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    throw Error(ErrorCode::kMissingFeature, "cuDNN cannot be loaded: {}", ::dlerror())
        .help("it comes with LibTorch for CUDA: examples/setup.sh without --cpu");
  }
  find(library, "cudnnBackendCreateDescriptor", create);
  find(library, "cudnnBackendDestroyDescriptor", destroy);
  find(library, "cudnnBackendSetAttribute", set);
  find(library, "cudnnBackendGetAttribute", get);
  find(library, "cudnnBackendFinalize", finalize);
  find(library, "cudnnCreate", create_handle);
  find(library, "cudnnGetLastErrorString", last_error_);
  find(library, "cudnnGetVersion", version_);
}

std::string Library::version() const {
  constexpr std::size_t kMajor = 10'000, kMinor = 100;
  const std::size_t number = version_();
  return fmt::format("{}.{}.{}", number / kMajor, number % kMajor / kMinor, number % kMinor);
}

void Library::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> text{};
  last_error_(text.data(), text.size());
  throw Failure(fmt::format("{}: status {}, {}", what, static_cast<int>(status), text.data()));
}

Descriptor::Descriptor(const Library& library, cudnnBackendDescriptorType_t type)
    : library_(&library) {
  library.check(library.create(type, &raw_), "creating a descriptor");
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : library_(other.library_), raw_(std::exchange(other.raw_, nullptr)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(raw_, other.raw_);
  return *this;
}

Descriptor::~Descriptor() {
  if (raw_ != nullptr) library_->destroy(raw_);
}

void Descriptor::set(cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type,
                     std::int64_t count,
                     const void* values) {
  library_->check(library_->set(raw_, name, type, count, values), "setting an attribute");
}

void Descriptor::set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  cudnnBackendDescriptor_t raw = value.raw();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<const void*>(&raw));
}

void Descriptor::finalize(const char* what) {
  library_->check(library_->finalize(raw_), what);
}

std::int64_t Descriptor::get(cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type,
                             std::int64_t count,
                             void* values) const {
  std::int64_t found = 0;
  library_->check(library_->get(raw_, name, type, count, &found, values), "reading an attribute");
  return found;
}

std::int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

}  // namespace elixir::cudnn
