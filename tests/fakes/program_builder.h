// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Small programs for tests of the planning half, made without LibTorch. They look like captured
// programs: forward and backward calls on (storage, version), views that are not executed, calls
// that write, gradients of parameters. They are only for planning and are never run.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::fakes {

using program::DType;
using program::Ints;
using program::TensorRef;

/// Records calls. The tensors of a call always mean the newest version of their storage.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(DType dtype = DType::kFloat32,
                          program::Target target = {.kind = program::Target::Kind::kCpu, .sm = 0});

  struct ParameterOptions {
    bool trained = true;
    std::vector<std::string> other_names = {};  ///< ties
  };
  TensorRef parameter(const std::string& name, Ints sizes, const ParameterOptions& options);
  TensorRef parameter(const std::string& name, Ints sizes);
  TensorRef buffer(const std::string& name, Ints sizes);
  TensorRef input(const std::string& name, Ints sizes, DType dtype = DType::kInt64);
  TensorRef constant(Ints sizes, DType dtype = DType::kFloat32);

  /// A call with one fresh result.
  TensorRef call(const std::string& name,
                 const std::vector<TensorRef>& arguments,
                 Ints sizes,
                 std::int64_t flops = 0);
  /// A call that gives a view of its argument: a replay skips it.
  TensorRef view(const std::string& name, const TensorRef& of, Ints sizes);
  /// A call that writes `into` and returns it.
  TensorRef write(const std::string& name,
                  const TensorRef& into,
                  const std::vector<TensorRef>& arguments);

  /// A call with all arguments of its schema. `results` give the geometry of fresh results, and get
  /// their storages.
  void append(const std::string& name,
              std::vector<program::Argument> arguments,
              const std::vector<TensorRef*>& results);

  /// The call that was added last.
  [[nodiscard]] program::Operator& last() { return program_.operators.back(); }

  void set_loss(const TensorRef& loss);
  void set_gradient(const TensorRef& parameter, const TensorRef& gradient);
  void start_backward() { phase_ = program::Phase::kBackward; }
  /// Sets the module of all later calls, and adds it if needed. At first it is the root, "".
  void set_module(const std::string& path);
  [[nodiscard]] const std::string& module() const { return program_.modules[module_]; }

  [[nodiscard]] DType dtype() const { return dtype_; }
  /// Whether backward computes a gradient of the tensor: trained parameters and results of calls.
  [[nodiscard]] bool wants_gradient(const TensorRef& tensor) const {
    return wants_gradient_[tensor.storage];
  }
  /// The program of all calls so far, with categories and eager lifetimes.
  [[nodiscard]] program::Program build() const;

 private:
  program::StorageId add_storage(const TensorRef& tensor, program::Category category);
  [[nodiscard]] TensorRef newest(const TensorRef& tensor) const;
  program::Operator& add_operator(const std::string& name, const std::vector<TensorRef>& arguments);

  DType dtype_;
  program::Program program_;
  program::Phase phase_ = program::Phase::kForward;
  std::size_t module_ = 0;
  std::vector<std::int32_t> version_;
  std::vector<bool> wants_gradient_;
};

/// Layers with backward, as in autograd: gradients of values that are used twice are added up.
class ModelBuilder {
 public:
  explicit ModelBuilder(DType dtype = DType::kFloat32) : builder_(dtype) {}
  ModelBuilder(const ModelBuilder&) = delete;  // the tape points here
  ModelBuilder& operator=(const ModelBuilder&) = delete;
  ProgramBuilder& raw() { return builder_; }

  TensorRef linear(const TensorRef& x, const TensorRef& weight, const TensorRef& bias);
  TensorRef matmul(const TensorRef& x, const TensorRef& weight);
  TensorRef gelu(const TensorRef& x);
  TensorRef relu_in_place(const TensorRef& x);
  TensorRef layer_norm(const TensorRef& x, const TensorRef& weight, const TensorRef& bias);
  TensorRef add(const TensorRef& x, const TensorRef& y);
  TensorRef embedding(const TensorRef& indices, const TensorRef& weight);
  TensorRef attention(const TensorRef& qkv);
  /// Ends the forward pass with a scalar, then runs every backward.
  void loss(const TensorRef& x);
  [[nodiscard]] program::Program build() const { return builder_.build(); }
  /// Adds later parts of a gradient in place if nothing else holds it.
  void accumulate_in_place() { in_place_ = true; }

 private:
  /// Registers a step of backward. It runs in the module that is current now.
  void on_backward(std::function<void()> step);
  void give(const TensorRef& to, const TensorRef& gradient);
  [[nodiscard]] TensorRef gradient_of(const TensorRef& of) const;

  ProgramBuilder builder_;
  bool in_place_ = false;
  std::map<program::StorageId, TensorRef> gradients_;
  std::vector<std::function<void()>> tape_;
};

/// Linear layers with bias, with GELU between them.
[[nodiscard]] program::Program mlp(const std::vector<std::int64_t>& widths,
                                   std::int64_t batch,
                                   DType dtype = DType::kFloat32);

/// Linear layers without bias: nothing but matrix products.
[[nodiscard]] program::Program products(const std::vector<std::int64_t>& widths,
                                        std::int64_t batch);

struct TransformerOptions {
  int layers = 2;
  std::int64_t hidden = 64;
  std::int64_t vocabulary = 256;
  std::int64_t tokens = 32;
  bool tied = true;       ///< the head's weight is the embedding's
  int frozen_layers = 0;  ///< the first ones
  DType dtype = DType::kFloat32;
};
/// Modules as in GPT-2: wte, h.0.ln_1, h.0.attn, …, lm_head.
[[nodiscard]] program::Program transformer(const TransformerOptions& options);

/// A program with random sizes, ties, frozen and unused parameters, in-place calls, constants and
/// shared gradients.
[[nodiscard]] program::Program random_program(std::uint64_t seed);

}  // namespace elixir::fakes
