// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/evidence/known_without_scratch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "operators/scratch/call_script.h"
#include "operators/scratch/evidence/call_form.h"
#include "operators/scratch/script_builder.h"

namespace elixir::operators {
namespace {

using program::Operator;
using program::Program;
using program::TensorRef;

/// New geometry on the same storage: no kernel runs. Source: ATen/native/TensorShape.cpp,
/// TensorConversions.cpp. Names without overloads, because all overloads are views.
constexpr std::array<std::string_view, 37> kViews = {"aten::_conj",
                                                     "aten::_neg_view",
                                                     "aten::_reshape_alias",
                                                     "aten::_unsafe_view",
                                                     "aten::alias",
                                                     "aten::as_strided",
                                                     "aten::as_strided_",
                                                     "aten::chunk",
                                                     "aten::detach",
                                                     "aten::detach_",
                                                     "aten::diagonal",
                                                     "aten::expand",
                                                     "aten::imag",
                                                     "aten::lift_fresh",
                                                     "aten::movedim",
                                                     "aten::narrow",
                                                     "aten::permute",
                                                     "aten::real",
                                                     "aten::select",
                                                     "aten::slice",
                                                     "aten::split",
                                                     "aten::split_with_sizes",
                                                     "aten::squeeze",
                                                     "aten::squeeze_",
                                                     "aten::swapaxes",
                                                     "aten::t",
                                                     "aten::t_",
                                                     "aten::transpose",
                                                     "aten::transpose_",
                                                     "aten::unbind",
                                                     "aten::unfold",
                                                     "aten::unsqueeze",
                                                     "aten::unsqueeze_",
                                                     "aten::view",
                                                     "aten::view_as",
                                                     "aten::view_as_complex",
                                                     "aten::view_as_real"};

/// Results that no kernel fills. Source: ATen/native/TensorFactories.cpp.
constexpr std::array<std::string_view, 6> kEmpty = {"aten::empty",
                                                    "aten::empty_like",
                                                    "aten::empty_permuted",
                                                    "aten::empty_strided",
                                                    "aten::new_empty",
                                                    "aten::new_empty_strided"};

/// Elementwise operators that LibTorch writes with those of kElementwise: a number becomes a tensor
/// on the host (ATen/native/BinaryOps.cpp), relu clamps (Activation.cpp). And kernels of one
/// TensorIterator that are not structured (UnaryOps.cpp, Fill.cpp).
constexpr std::array<std::string_view, 16> kWrittenWithElementwise = {"aten::abs",
                                                                      "aten::abs_",
                                                                      "aten::add.Scalar",
                                                                      "aten::add_.Scalar",
                                                                      "aten::div.Scalar",
                                                                      "aten::div.Scalar_mode",
                                                                      "aten::div_.Scalar",
                                                                      "aten::div_.Scalar_mode",
                                                                      "aten::fill_.Scalar",
                                                                      "aten::mul.Scalar",
                                                                      "aten::mul_.Scalar",
                                                                      "aten::relu",
                                                                      "aten::relu_",
                                                                      "aten::sub.Scalar",
                                                                      "aten::sub_.Scalar",
                                                                      "aten::zero_"};

/// A result that is filled with a number, with a copy, or with both. A copy within one GPU needs no
/// temporary memory: ATen/native/cuda/Copy.cu, copy_requires_temporaries. Source of the others:
/// TensorFactories.cpp, TensorConversions.cpp, PadNd.cpp, TensorShape.cpp (`slice_backward`,
/// `select_backward`).
constexpr std::array<std::string_view, 16> kCopiesAndFills = {"aten::_to_copy",
                                                              "aten::clone",
                                                              "aten::constant_pad_nd",
                                                              "aten::copy_",
                                                              "aten::full",
                                                              "aten::full_like",
                                                              "aten::new_full",
                                                              "aten::new_ones",
                                                              "aten::new_zeros",
                                                              "aten::ones",
                                                              "aten::ones_like",
                                                              "aten::scalar_tensor",
                                                              "aten::select_backward",
                                                              "aten::slice_backward",
                                                              "aten::zeros",
                                                              "aten::zeros_like"};

template <class Names>
bool names(const Names& list, std::string_view name) {
  return std::binary_search(list.begin(), list.end(), name);
}

/// nullptr when no argument has a tensor.
const TensorRef* first_tensor(const Operator& op) {
  const TensorRef* first = nullptr;
  program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
    if (first == nullptr) first = &tensor;
  });
  return first;
}

/// Whether `word` is one of the words of `text`.
bool lists_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (text.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

/// What kinds of tensors a call takes and gives.
struct Places {
  bool any = false;
  bool on_host = false;        ///< any on the host
  bool on_device = false;      ///< any on the device
  bool array_on_host = false;  ///< any on the host that has dimensions
  bool allocates_on_device = false;
  bool complex = false;            ///< any of a complex dtype
  std::int64_t most_elements = 0;  ///< of the largest one

  [[nodiscard]] bool on_host_alone() const { return any && !on_device; }
};

Places places_of(const Operator& op, const Program& program) {
  Places places;
  const auto look = [&](const TensorRef& tensor) {
    const auto& storage = program.storages.at(static_cast<std::size_t>(tensor.storage));
    places.any = true;
    (storage.on_host ? places.on_host : places.on_device) = true;
    if (storage.on_host && !tensor.sizes.empty()) places.array_on_host = true;
    if (!storage.on_host && storage.allocated_at == op.id) places.allocates_on_device = true;
    places.complex = places.complex || program::is_complex(tensor.dtype);
    places.most_elements = std::max(places.most_elements, tensor.numel());
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return places;
}

/// Whether the result has another dtype than the first tensor: `clamp` and `pow` with a number
/// convert their input first (conversion.cc).
bool converts(const Operator& op) {
  const TensorRef* input = first_tensor(op);
  const TensorRef* result = first_output(op);
  return input != nullptr && result != nullptr && input->dtype != result->dtype;
}

/// LibTorch converts indices of int32, and turns masks into positions. Both take memory.
bool indices_are_int64(const Operator& op) {
  if (op.name.find("index") == std::string::npos) return true;
  for (const program::Argument& argument : op.arguments) {
    const auto* indices = std::get_if<program::Tensors>(&argument);
    if (indices == nullptr) continue;
    for (const auto& each : *indices) {
      if (each && each->dtype != program::DType::kInt64) return false;
    }
  }
  return true;
}

/// Random calls had such dtypes beside that of the first tensor.
bool dtypes_were_tried(const Operator& op, program::DType first) {
  bool tried = true;
  program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
    tried = tried && (tensor.dtype == first || tensor.dtype == program::DType::kInt64 ||
                      tensor.dtype == program::DType::kBool);
  });
  return tried && indices_are_int64(op);
}

/// If the source names the operator but not this call, random calls say nothing.
bool is_named_by_source(const Operator& op) {
  const std::string full = full_name(op);
  return names(kViews, op.name) || names(kEmpty, op.name) || names(kCopiesAndFills, op.name) ||
         names(kElementwise, full) || names(kWrittenWithElementwise, full);
}

}  // namespace

bool is_on_host_alone(const Operator& op, const Program& program) {
  return places_of(op, program).on_host_alone();
}

bool without_scratch_by_source(const Operator& op, const Program& program) {
  const Places places = places_of(op, program);
  if (places.on_host_alone()) return true;
  if (names(kViews, op.name)) return !places.allocates_on_device;
  if (names(kEmpty, op.name)) return true;
  // A conjugated view is written out before most kernels (ConjugateFallback.cpp), and abs makes a
  // complex result first (UnaryOps.cpp).
  if (places.complex) return false;
  if (names(kCopiesAndFills, op.name)) return !places.on_host;
  if (rule_of(op.name) && converts(op)) return false;
  const std::string full = full_name(op);
  // Kernels take numbers on the host as arguments.
  return !places.array_on_host &&
         (names(kElementwise, full) || names(kWrittenWithElementwise, full));
}

bool is_recorded_form(std::string_view form) {
  return names(kRecordedForms, form);
}

bool was_tried(const Operator& op,
               const Program& program,
               const std::vector<TriedOperator>& tried) {
  const std::string full = full_name(op);
  const auto found = std::lower_bound(
      tried.begin(), tried.end(), full, [](const TriedOperator& entry, const std::string& name) {
        return entry.name < name;
      });
  if (found == tried.end() || found->name != full) return false;
  const Places places = places_of(op, program);
  if (places.complex || places.array_on_host) return false;
  if (places.most_elements > found->most_elements) return false;
  const TensorRef* first = first_tensor(op);
  return first != nullptr && lists_word(found->dtypes, program::name_of(first->dtype)) &&
         dtypes_were_tried(op, first->dtype);
}

WithoutScratch known_without_scratch(const Operator& op, const Program& program) {
  if (without_scratch_by_source(op, program)) return WithoutScratch::kBySource;
  const bool tried = !is_named_by_source(op) && was_tried(op, program, kTriedOperators);
  const bool evidence =
      tried || (is_within_32_bits(op) && is_recorded_form(call_form(op, program)));
  return evidence ? WithoutScratch::kByEvidence : WithoutScratch::kNotKnown;
}

std::vector<std::string_view> names_without_scratch_by_source() {
  std::vector<std::string_view> all(kElementwise);
  all.insert(all.end(), kViews.begin(), kViews.end());
  all.insert(all.end(), kEmpty.begin(), kEmpty.end());
  all.insert(all.end(), kWrittenWithElementwise.begin(), kWrittenWithElementwise.end());
  all.insert(all.end(), kCopiesAndFills.begin(), kCopiesAndFills.end());
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace elixir::operators
