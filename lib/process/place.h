// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where a program is, in a page of memory that the process which started it shares. After a crash
// the page still says which operator of which module ran. A page holds two short texts; it may hold
// anything, because a hostile model can write it.

#include <string>
#include <string_view>

#include "core/descriptor.h"

namespace elixir::process {

/// The page, as the process sees it that started the program.
class PlacePage {
 public:
  /// Throws kIoError.
  PlacePage();
  ~PlacePage();
  PlacePage(const PlacePage&) = delete;
  PlacePage& operator=(const PlacePage&) = delete;
  /// For the program.
  [[nodiscard]] int descriptor() const { return file_.get(); }
  /// "aten::take in module 'encoder'"; "" when the program has said nothing. Printable, at most a
  /// few hundred bytes.
  [[nodiscard]] std::string text() const;

 private:
  Descriptor file_;
  void* page_ = nullptr;
};

/// Makes this process say where it is in the page behind `descriptor`. Before, notes go nowhere.
void attach_place(int descriptor) noexcept;
/// The call that runs from now on. Costs a copy of the name.
void note_operator(std::string_view name) noexcept;
/// The module whose code runs from now on, as messages name it.
void note_module(std::string_view place) noexcept;

}  // namespace elixir::process
