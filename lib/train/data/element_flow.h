// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Follows the elements of one input through the calls of forward, to learn how a program uses them:
// which element of the input a call reads, and whether that element still has the value that the
// data gave it. Elements and values are followed through calls whose effect is known here. Any
// other call, and any other write, ends the knowledge of the elements that it makes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "program/program.h"

namespace elixir::train {

/// The call's first argument; nullptr when it is not a tensor.
[[nodiscard]] const program::TensorRef* first_tensor(const program::Operator& op);

/// Whether the call is the last part of a cross-entropy, whose argument `target` holds the classes.
[[nodiscard]] bool is_class_loss(const program::Operator& op);

/// What is known of one element of a tensor.
class Element {
 public:
  /// An element that comes from no known element of the input.
  Element() = default;
  /// The element of the input at `position`, counted in the order of its dimensions.
  static Element of_input(std::int32_t position) { return Element(position); }
  /// The same element after a call that may have changed its value.
  [[nodiscard]] Element changed() const { return keeps_value() ? Element(~code_) : *this; }

  [[nodiscard]] bool known() const { return code_ != kUnknown; }
  /// Whether it has the value that the data gave it.
  [[nodiscard]] bool keeps_value() const { return code_ >= 0; }
  /// Position in the input. Only when known().
  [[nodiscard]] std::int32_t position() const { return code_ >= 0 ? code_ : ~code_; }

 private:
  explicit Element(std::int32_t code) : code_(code) {}
  static constexpr std::int32_t kUnknown = std::numeric_limits<std::int32_t>::min();
  std::int32_t code_ = kUnknown;  ///< the position, complemented when the value may have changed
};

class ElementFlow {
 public:
  /// Of an input with more than kMostElements elements nothing is known.
  explicit ElementFlow(const program::TensorRef& input);

  /// Follows one more call. Calls must come in the program's order.
  void follow(const program::Operator& op);

  /// The elements of `tensor` as the next call would read them, in the order of its dimensions.
  /// Empty when none is known. nullptr is a tensor without elements.
  [[nodiscard]] std::vector<Element> elements(const program::TensorRef* tensor) const;

  static constexpr std::int64_t kMostElements = std::int64_t{1} << 23;

 private:
  /// A storage with elements of the input.
  struct Holder {
    program::DType dtype = program::DType::kInt64;
    std::int32_t version = 0;
    std::vector<Element> elements;  ///< by offset in the storage
  };

  [[nodiscard]] std::vector<Element> made_by(const program::Operator& op,
                                             const program::TensorRef& made) const;
  [[nodiscard]] std::vector<Element> joined(const program::Operator& op,
                                            const program::TensorRef& made) const;
  [[nodiscard]] std::vector<Element> padded(const program::Operator& op,
                                            const program::TensorRef& made) const;
  [[nodiscard]] std::vector<Element> copied(const program::TensorRef* from,
                                            const program::TensorRef& made) const;
  [[nodiscard]] std::vector<Element> changed(const program::Operator& op,
                                             const program::TensorRef& made) const;
  void write(const program::TensorRef& made, const std::vector<Element>& elements);

  std::map<program::StorageId, Holder> holders_;
};

}  // namespace elixir::train
