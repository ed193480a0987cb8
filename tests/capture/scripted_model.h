// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A model of a few lines, saved and loaded again.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "capture/capture.h"

namespace elixir::capture {

class ScriptedModel {
 public:
  ScriptedModel() = default;
  ~ScriptedModel() { std::filesystem::remove(path_); }
  ScriptedModel(const ScriptedModel&) = delete;
  ScriptedModel& operator=(const ScriptedModel&) = delete;

  ScriptedModel& parameter(const std::string& name, const at::Tensor& value) {
    module_.register_parameter(name, value.detach().set_requires_grad(true), false);
    return *this;
  }
  ScriptedModel& buffer(const std::string& name, const at::Tensor& value) {
    module_.register_buffer(name, value);
    return *this;
  }
  ScriptedModel& list(const std::string& name, const std::vector<at::Tensor>& values) {
    module_.register_attribute(
        name, c10::ListType::ofTensors(), c10::IValue(c10::List<at::Tensor>(values)));
    return *this;
  }
  /// `forward` is the body of forward(self, x).
  Model saved(const std::string& forward) {
    module_.define("def forward(self, x):\n" + forward);
    module_.save(path_);
    return Model::load(path_);
  }

  [[nodiscard]] at::Tensor value(const std::string& name) const {
    return module_.attr(name).toTensor();
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  torch::jit::Module module_{"__torch__.Scripted"};
  std::string path_ = std::filesystem::temp_directory_path() /
                      ("elixir-scripted-" + std::to_string(::getpid()) + ".pt");
};

/// For the CPU, with `x`.
inline Options options_for(const std::string& x) {
  Options options;
  options.target = *program::Target::parse("cpu");
  options.inputs = {*InputSpec::parse("x:" + x)};
  return options;
}

}  // namespace elixir::capture
