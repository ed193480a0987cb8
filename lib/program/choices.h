// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What whoever trains chooses about a step, and the words for it in documents and flags.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/name_table.h"

namespace elixir::program {

/// Elixir trains with AdamW. The memory of the others is predicted.
enum class Optimizer : std::uint8_t {
  kAdamW,
  kAdam,
  kSgd,
  kSgdMomentum,
  kAdafactor,
  kRmsprop,
  kAdagrad,
  kNone
};
inline constexpr NameTable<Optimizer, 8> kOptimizers{{{Optimizer::kAdamW, "adamw"},
                                                      {Optimizer::kAdam, "adam"},
                                                      {Optimizer::kSgd, "sgd"},
                                                      {Optimizer::kSgdMomentum, "sgd-momentum"},
                                                      {Optimizer::kAdafactor, "adafactor"},
                                                      {Optimizer::kRmsprop, "rmsprop"},
                                                      {Optimizer::kAdagrad, "adagrad"},
                                                      {Optimizer::kNone, "none"}}};
/// Those of plans: Elixir trains with them.
inline constexpr NameTable<Optimizer, 2> kTrainedOptimizers{
    {{Optimizer::kAdamW, "adamw"}, {Optimizer::kNone, "none"}}};
[[nodiscard]] constexpr std::string_view name_of(Optimizer optimizer) {
  return kOptimizers.name_of(optimizer);
}

/// The class of torch.optim; empty for none.
inline constexpr NameTable<Optimizer, 7> kTorchOptimizers{{{Optimizer::kAdamW, "AdamW"},
                                                           {Optimizer::kAdam, "Adam"},
                                                           {Optimizer::kSgd, "SGD"},
                                                           {Optimizer::kSgdMomentum, "SGD"},
                                                           {Optimizer::kAdafactor, "Adafactor"},
                                                           {Optimizer::kRmsprop, "RMSprop"},
                                                           {Optimizer::kAdagrad, "Adagrad"}}};
[[nodiscard]] constexpr std::string_view torch_name_of(Optimizer optimizer) {
  return kTorchOptimizers.name_of(optimizer);
}

/// Whether one kernel of PyTorch 2.11 updates all parameters on a GPU.
[[nodiscard]] constexpr bool has_fused_form(Optimizer optimizer) {
  return optimizer != Optimizer::kAdafactor && optimizer != Optimizer::kRmsprop &&
         optimizer != Optimizer::kAdagrad;
}

/// Whether Elixir trains with it.
[[nodiscard]] constexpr bool is_trained(Optimizer optimizer) {
  return !kTrainedOptimizers.name_of(optimizer).empty();
}

/// Who updates parameters. elixir: Elixir's kernels, with fp32 masters and moments. The others are
/// torch.optim: many tensors at a time (foreach, its default on GPUs), all of it in one kernel
/// (fused), or tensor by tensor (loop).
enum class OptimizerForm : std::uint8_t { kElixir, kTorchForeach, kTorchFused, kTorchLoop };
inline constexpr NameTable<OptimizerForm, 4> kOptimizerForms{
    {{OptimizerForm::kElixir, "elixir"},
     {OptimizerForm::kTorchForeach, "torch-foreach"},
     {OptimizerForm::kTorchFused, "torch-fused"},
     {OptimizerForm::kTorchLoop, "torch-loop"}}};
[[nodiscard]] constexpr std::string_view name_of(OptimizerForm form) {
  return kOptimizerForms.name_of(form);
}

struct OptimizerUse {
  Optimizer optimizer;
  OptimizerForm form;
  bool clips = false;  ///< clips the norm of all gradients first
  /// An optimizer of which nothing else is said is Elixir's.
  constexpr OptimizerUse(  // NOLINT(google-explicit-constructor)
      Optimizer which,
      OptimizerForm how = OptimizerForm::kElixir,
      bool clipping = false)
      : optimizer(which), form(how), clips(clipping) {}
  /// Whether torch.optim updates anything.
  [[nodiscard]] constexpr bool is_torch() const {
    return form != OptimizerForm::kElixir && optimizer != Optimizer::kNone;
  }
  /// Whether clip_grad_norm_ does it. Elixir's kernels clip on their way.
  [[nodiscard]] constexpr bool clips_by_torch() const { return clips && is_torch(); }
  /// "adamw", "adamw (torch-foreach)", "adamw (torch-foreach, clip_grad_norm_)"
  [[nodiscard]] std::string text() const {
    std::string name(name_of(optimizer));
    if (!is_torch()) return name;
    return name + " (" + std::string(name_of(form)) + (clips ? ", clip_grad_norm_)" : ")");
  }
};

/// What capture was asked to make of parameters, activations and gradients.
enum class Precision : std::uint8_t { kAsSaved, kBFloat16, kFloat16 };
inline constexpr NameTable<Precision, 3> kPrecisions{{{Precision::kAsSaved, "as-saved"},
                                                      {Precision::kBFloat16, "bf16"},
                                                      {Precision::kFloat16, "fp16"}}};
[[nodiscard]] constexpr std::string_view name_of(Precision precision) {
  return kPrecisions.name_of(precision);
}

/// The training flag of the model's modules.
enum class Mode : std::uint8_t { kAsSaved, kTrain, kEvaluate };
inline constexpr NameTable<Mode, 3> kModes{
    {{Mode::kAsSaved, "as-saved"}, {Mode::kTrain, "train"}, {Mode::kEvaluate, "eval"}}};
[[nodiscard]] constexpr std::string_view name_of(Mode mode) {
  return kModes.name_of(mode);
}

/// What a program runs on.
enum class DeviceKind : std::uint8_t { kCpu, kCuda };
inline constexpr NameTable<DeviceKind, 2> kDeviceKinds{
    {{DeviceKind::kCpu, "cpu"}, {DeviceKind::kCuda, "cuda"}}};
[[nodiscard]] constexpr std::string_view name_of(DeviceKind kind) {
  return kDeviceKinds.name_of(kind);
}

/// The word of --device.
enum class DeviceChoice : std::uint8_t { kAuto, kCpu, kCuda };
inline constexpr NameTable<DeviceChoice, 3> kDeviceChoices{
    {{DeviceChoice::kAuto, "auto"}, {DeviceChoice::kCpu, "cpu"}, {DeviceChoice::kCuda, "cuda"}}};
[[nodiscard]] constexpr std::string_view name_of(DeviceChoice choice) {
  return kDeviceChoices.name_of(choice);
}
/// The kind that is asked for, else `automatic`.
[[nodiscard]] constexpr DeviceKind device_of(DeviceChoice choice, DeviceKind automatic) {
  return choice == DeviceChoice::kAuto  ? automatic
         : choice == DeviceChoice::kCpu ? DeviceKind::kCpu
                                        : DeviceKind::kCuda;
}

}  // namespace elixir::program
