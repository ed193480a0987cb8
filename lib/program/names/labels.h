// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Text for people about the parts of a program. Names come from the model's file. Nothing here is
// escaped: the caller must escape.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "program/program.h"

namespace elixir::program {

/// "bfloat16[8,1024,768]".
[[nodiscard]] std::string geometry_of(const TensorRef& tensor);

/// The module's path; "(model)" for the root, whose path is empty.
[[nodiscard]] std::string module_label(const std::string& path);
/// The module of a call; "(unattributed)" when the module is unknown.
[[nodiscard]] std::string module_label(const Program& program, const Operator& op);

/// "optimizer state".
[[nodiscard]] std::string label_of(Category category);
/// "forward".
[[nodiscard]] std::string label_of(Phase phase);

/// One unit for all figures of work that are shown together.
struct WorkUnit {
  std::string_view name;  ///< "TFLOP"
  double flops = 1;
};
/// TFLOP, GFLOP or MFLOP: the largest in which `most` is at least one.
[[nodiscard]] WorkUnit work_unit(std::int64_t most);
/// The number without the unit: "2,214", "0.438".
[[nodiscard]] std::string in_unit(std::int64_t flops, const WorkUnit& unit);

struct StorageLabel {
  std::string tensor;  ///< its geometry, or its bytes when no tensor uses it
  std::string origin;  ///< a parameter's name, or "aten::mm in h.0.attn"
};

/// Describes what storages hold and what made them. The program must outlive this.
class StorageLabels {
 public:
  explicit StorageLabels(const Program& program);
  [[nodiscard]] StorageLabel of(StorageId id) const;

 private:
  const Program& program_;
  std::map<StorageId, StorageLabel> known_;  // parameters, buffers, inputs, gradients
};

}  // namespace elixir::program
