// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the parts of a program are called in front of people. Names come from the model's file:
// nothing here is escaped.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "program/program.h"

namespace elixir::program {

/// "bfloat16[8,1024,768]".
[[nodiscard]] std::string geometry_of(const TensorRef& tensor);

/// "(model)" for the root, which has no name.
[[nodiscard]] std::string module_label(const std::string& path);
/// Likewise for the module of a call; "(unattributed)" when nobody knows it.
[[nodiscard]] std::string module_label(const Program& program, const Operator& op);

/// "optimizer state".
[[nodiscard]] std::string label_of(Category category);
/// "forward".
[[nodiscard]] std::string label_of(Phase phase);

/// One unit for all the work that is shown together.
struct WorkUnit {
  std::string_view name;  ///< "TFLOP"
  double flops = 1;
};
/// TFLOP, GFLOP or MFLOP: the largest of which `most` is at least one.
[[nodiscard]] WorkUnit work_unit(std::int64_t most);
/// Without the unit: "2,214", "0.438".
[[nodiscard]] std::string in_unit(std::int64_t flops, const WorkUnit& unit);

struct StorageLabel {
  std::string tensor;  ///< its geometry, or its bytes when no tensor shows it
  std::string origin;  ///< a parameter's name, or "aten::mm in h.0.attn"
};

/// What storages hold and who made them. The program must outlive this.
class StorageLabels {
 public:
  explicit StorageLabels(const Program& program);
  [[nodiscard]] StorageLabel of(StorageId id) const;

 private:
  const Program& program_;
  std::map<StorageId, StorageLabel> known_;  // parameters, buffers, inputs, gradients
};

}  // namespace elixir::program
