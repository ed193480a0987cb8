// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random arrays for AdamW in any of its forms, the reference's step over them, and their comparison
// bit by bit. Values depend only on (seed, step, element), so that runs can be repeated in any
// order.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/adam.h"
#include "kernels/thread_pool.h"
#include "reference.h"

namespace elixir::kernels {

struct AdamForm {
  Element gradient;
  std::optional<Element> parameter;  ///< none: the master is the parameter
  bool split;                        ///< the parameter is bf16 then
  Element moment;
};
/// Every combination for which kernels exist.
[[nodiscard]] std::vector<AdamForm> all_adam_forms();
[[nodiscard]] std::string name_of(const AdamForm& form);

[[nodiscard]] AdamScalars scalars_of(const reference::Hyper& hyper,
                                     std::int64_t step,
                                     int micro_batches,
                                     float clip,
                                     double loss_scale = 1.0);

class AdamProblem {
 public:
  /// n elements, starting at element `first` of an endless sequence. Most values are ordinary. One
  /// element in 16 may have any bit pattern, including denormals, infinities and NaN.
  AdamProblem(const AdamForm& form, std::size_t n, std::uint64_t seed, std::size_t first = 0);

  /// The arrays, starting at element `offset`.
  [[nodiscard]] AdamArrays arrays(std::size_t offset = 0);
  /// Draws the gradients of another step.
  void draw_gradients(std::int64_t step);
  void draw_gradients(std::int64_t step, ThreadPool& pool);
  /// One step of the reference over elements from `offset` on. The gradient is divided and clipped
  /// like `scalars_of` with the same arguments.
  void reference_step(const reference::Hyper& hyper,
                      std::int64_t step,
                      int micro_batches,
                      float clip,
                      double loss_scale = 1.0,
                      std::size_t offset = 0);
  /// The number of elements that differ in any array. Any NaN equals any NaN.
  [[nodiscard]] std::size_t differences(const AdamProblem& other) const;
  /// Describes the first difference; empty without one.
  [[nodiscard]] std::string first_difference(const AdamProblem& other) const;

  [[nodiscard]] float master(std::size_t i) const;
  [[nodiscard]] float gradient(std::size_t i) const;
  [[nodiscard]] std::size_t size() const { return n_; }
  [[nodiscard]] const AdamForm& form() const { return form_; }

  /// The stored bytes. Arrays that the form does not have are empty.
  struct Storage {
    std::vector<std::uint8_t> master, moment1, moment2, gradient, parameter, lower;
  };
  [[nodiscard]] Storage& storage() { return storage_; }

 private:
  void draw_gradients(std::int64_t step, std::size_t begin, std::size_t end);
  [[nodiscard]] bool equal(const AdamProblem& other, std::size_t i) const;

  AdamForm form_;
  std::size_t n_;
  std::uint64_t seed_;
  std::size_t first_;
  Storage storage_;
};

}  // namespace elixir::kernels
