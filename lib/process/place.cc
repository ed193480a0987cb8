// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "process/place.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::process {
namespace {

constexpr std::size_t kPageBytes = 4096;
using Text = std::array<char, 256>;  // ends with a zero, unless the program is hostile

struct Page {
  Text op, module;
};
static_assert(sizeof(Page) <= kPageBytes);

Page* own = nullptr;

void copy(Text& to, std::string_view from) noexcept {
  const std::size_t count = std::min(from.size(), to.size() - 1);
  std::memcpy(to.data(), from.data(), count);
  to[count] = '\0';
}

std::string printable(const Text& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\0') break;
    shown += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return shown;
}

}  // namespace

PlacePage::PlacePage() : file_(memfd_create("place", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // Sealed, because to read a page that the other side has cut off would be a signal.
  if (file_.get() >= 0 && ::ftruncate(file_.get(), kPageBytes) == 0 &&
      ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    page_ = ::mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, file_.get(), 0);
  }
  if (page_ == nullptr || page_ == MAP_FAILED) {
    throw Error(ErrorCode::kIoError,
                "cannot share a page of memory: {}",
                std::generic_category().message(errno));
  }
}

PlacePage::~PlacePage() {
  ::munmap(page_, kPageBytes);
}

std::string PlacePage::text() const {
  Page copied;
  std::memcpy(&copied, page_, sizeof copied);
  const std::string op = printable(copied.op);
  const std::string module = printable(copied.module);
  if (op.empty() || module.empty()) return op + module;
  return fmt::format("{} in {}", op, module);
}

void attach_place(int descriptor) noexcept {
  void* page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (page != MAP_FAILED) own = static_cast<Page*>(page);
}

void note_operator(std::string_view name) noexcept {
  if (own != nullptr) copy(own->op, name);
}

void note_module(std::string_view place) noexcept {
  if (own != nullptr) copy(own->module, place);
}

}  // namespace elixir::process
