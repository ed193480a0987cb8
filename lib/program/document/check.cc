// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/document/check.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "program/lifetimes.h"
#include "program/limits.h"

namespace elixir::program {
namespace {

/// Same shape, and the same strides wherever there is more than one element to step over.
bool same_memory_order(const TensorRef& a, const TensorRef& b) {
  if (a.sizes != b.sizes) return false;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    if (a.sizes[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

/// Throws at the place that breaks the program's own rules.
class Validator {
 public:
  Validator(const JsonDocument& document, const Program& program)
      : document_(document), program_(program) {}

  void run() const {
    const auto operators = static_cast<std::int64_t>(program_.operators.size());
    check_totals();
    for (const Storage& storage : program_.storages) {
      if (storage.allocated_at >= operators || storage.freed_after > operators ||
          storage.freed_after < storage.allocated_at) {
        fail(fmt::format("/storages/{}", storage.id),
             fmt::format("lives from operator {} to {} of {}",
                         storage.allocated_at,
                         storage.freed_after,
                         operators));
      }
    }
    for (const Operator& op : program_.operators) {
      if (op.name.starts_with("elixir::")) {
        fail(fmt::format("/operators/{}/name", op.id),
             fmt::format("{} is Elixir's own: no captured program has it", op.name));
      }
      check(fmt::format("/operators/{}/arguments", op.id), op.arguments);
      check(fmt::format("/operators/{}/outputs", op.id), op.outputs);
    }
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const Parameter& parameter = program_.parameters[i];
      const std::string place = fmt::format("/model/parameters/{}", i);
      check(place + "/tensor", parameter.tensor);
      if (!parameter.gradient) continue;
      check(place + "/gradient", *parameter.gradient);
      if (!same_memory_order(*parameter.gradient, parameter.tensor)) {
        fail(place + "/gradient", "the gradient has another shape than its parameter");
      }
    }
    for (std::size_t i = 0; i < program_.buffers.size(); ++i)
      check(fmt::format("/model/buffers/{}/tensor", i), program_.buffers[i].tensor);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      check(fmt::format("/inputs/{}/tensor", i), program_.inputs[i].tensor);
    check("/model/loss", program_.loss);
    check_owners();
    check_lifetimes();
  }

 private:
  /// Everything that exists before the step must have its own storage, of the right category.
  void check_owners() const {
    std::vector<bool> owned(program_.storages.size(), false);
    const auto own = [&](const std::string& place, const TensorRef& tensor, Category category) {
      const auto id = static_cast<std::size_t>(tensor.storage);
      const Storage& storage = program_.storages[id];
      if (storage.category != category || storage.allocated_at >= 0) {
        fail(place,
             fmt::format("storage {} is {} {}, not {}",
                         storage.id,
                         name_of(storage.category),
                         storage.allocated_at >= 0 ? "made in the step" : "from before the step",
                         name_of(category)));
      }
      if (owned[id] && category != Category::kBuffer) {
        fail(place, fmt::format("storage {} is that of another {}", storage.id, name_of(category)));
      }
      owned[id] = true;
    };
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      own(fmt::format("/model/parameters/{}/tensor", i),
          program_.parameters[i].tensor,
          Category::kParameter);
    }
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      own(fmt::format("/model/buffers/{}/tensor", i),
          program_.buffers[i].tensor,
          Category::kBuffer);
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      own(fmt::format("/inputs/{}/tensor", i), program_.inputs[i].tensor, Category::kInput);
    }
  }

  /// Calls may only read what earlier calls produced, and gradients must be produced.
  void check_lifetimes() const {
    try {
      const Lifetimes lifetimes = analyse_lifetimes(program_);
      for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
        if (program_.parameters[i].gradient && lifetimes.gradient_ready[i] < 0) {
          fail(fmt::format("/model/parameters/{}/gradient", i), "no operator makes the gradient");
        }
      }
    } catch (const Error& error) {
      // This would be a bug in a program of our own. In a document it is bad input.
      if (error.info().code != ErrorCode::kInternal) throw;
      fail("/operators", error.info().message);
    }
  }

  static constexpr long double kWidestElement = 16;

  static long double elements_of(const TensorRef& tensor) {
    long double elements = 1;
    for (const std::int64_t size : tensor.sizes) elements *= static_cast<long double>(size);
    return elements;
  }

  /// Sums over a program must fit into 64 bits, including optimizer state and rounding.
  void check_totals() const {
    constexpr long double kMostElements = 0x1p56L;
    long double bytes = 0;
    for (const Storage& storage : program_.storages) {
      bytes += static_cast<long double>(storage.bytes) + kAllocationUnitBytes;
      if (bytes > kMostBytes) {
        fail(fmt::format("/storages/{}", storage.id), "the storages are larger than any memory");
      }
    }
    long double flops = 0;
    for (const Operator& op : program_.operators) {
      flops += static_cast<long double>(op.flops);
      long double touched = 0;
      const auto touch = [&](const TensorRef& tensor) {
        touched += elements_of(tensor) * kWidestElement + kAllocationUnitBytes;
      };
      for_each_tensor(op.arguments, touch);
      for_each_tensor(op.outputs, touch);
      if (flops > kMostFlops || touched > kMostBytes) {
        fail(fmt::format("/operators/{}", op.id), "the operator's work is beyond any machine");
      }
    }
    long double elements = 0;
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      elements += elements_of(program_.parameters[i].tensor);
      if (elements > kMostElements) {
        fail(fmt::format("/model/parameters/{}/tensor", i),
             "the parameters have more elements than any memory");
      }
    }
  }

  [[noreturn]] void fail(const std::string& pointer, std::string message) const {
    ErrorInfo info;
    info.code = ErrorCode::kJsonBadValue;
    info.message = std::move(message);
    info.where = SourcePos{document_.name(), pointer, document_.line_of(pointer), std::nullopt};
    info.help = {"the file was changed by hand or is damaged: make it again with elixir-profile"};
    throw Error(std::move(info));
  }

  void check(const std::string& place, const std::vector<Argument>& arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (const auto* tensor = std::get_if<TensorRef>(&arguments[i])) {
        check_at(place, i, *tensor);
      } else if (const auto* list = std::get_if<Tensors>(&arguments[i])) {
        for (const auto& element : *list) {
          if (element) check_at(place, i, *element);
        }
      }
    }
  }

  void check_at(const std::string& place, std::size_t position, const TensorRef& tensor) const {
    const std::string problem = problem_of(tensor);
    if (!problem.empty()) fail(fmt::format("{}/{}", place, position), problem);
  }

  void check(const std::string& place, const TensorRef& tensor) const {
    const std::string problem = problem_of(tensor);
    if (!problem.empty()) fail(place, problem);
  }

  [[nodiscard]] std::string problem_of(const TensorRef& tensor) const {
    if (static_cast<std::size_t>(tensor.storage) >= program_.storages.size()) {
      return fmt::format("storage {} does not exist: the last is {}",
                         tensor.storage,
                         static_cast<std::int64_t>(program_.storages.size()) - 1);
    }
    // The last element of the view, in a type that hostile numbers cannot overflow.
    auto last = static_cast<long double>(tensor.offset);
    if (elements_of(tensor) > 0x1p56L) return "the tensor has more elements than any memory";
    for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
      if (tensor.sizes[d] == 0) return "";
      last += static_cast<long double>(tensor.sizes[d] - 1) *
              static_cast<long double>(tensor.strides[d]);
    }
    const Storage& storage = program_.storages[static_cast<std::size_t>(tensor.storage)];
    if ((last + 1) * static_cast<long double>(element_bytes(tensor.dtype)) >
        static_cast<long double>(storage.bytes)) {
      return fmt::format(
          "the view reaches beyond the {} bytes of storage {}", storage.bytes, tensor.storage);
    }
    return "";
  }

  const JsonDocument& document_;
  const Program& program_;
};

}  // namespace

void check_program(const JsonDocument& document, const Program& program) {
  Validator(document, program).run();
}

}  // namespace elixir::program
