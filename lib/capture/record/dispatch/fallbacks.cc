// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/fallbacks.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <c10/util/Exception.h>
#include <torch/library.h>

#include "capture/record/arguments/call.h"
#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/missing_kernel.h"
#include "capture/record/dispatch/session.h"
#include "capture/record/refused/allowed_operators.h"
#include "capture/record/refused/arithmetic_trap.h"
#include "capture/record/refused/enumerations.h"

namespace elixir::capture {
namespace {

using torch::jit::Stack;

c10::DispatchKeySet after(c10::DispatchKeySet keys, c10::DispatchKey key) {
  return keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, key);
}

c10::ArrayRef<c10::IValue> arguments_of(const c10::OperatorHandle& op, const Stack& stack) {
  const std::size_t count = op.schema().arguments().size();
  return c10::ArrayRef<c10::IValue>(stack.data() + stack.size() - count, count);
}

void replace_by_results(const c10::OperatorHandle& op, Stack& stack, Values results) {
  stack.resize(stack.size() - op.schema().arguments().size());
  for (c10::IValue& result : results) stack.push_back(std::move(result));
}

bool any_meta(c10::ArrayRef<c10::IValue> arguments) {
  bool found = false;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) { found |= tensor.is_meta(); });
  }
  return found;
}

// --- Above autograd ------------------------------------------------------------------------------

class InFlight {
 public:
  InFlight(Session& session, const std::string& name) : session_(session) {
    session_.in_flight.push_back(&name);
  }
  ~InFlight() { session_.in_flight.pop_back(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  Session& session_;
};

/// A graph traced in another dtype names it in casts and factories; converting the weights is then
/// not enough.
void refuse_fixed_dtype(Session& session,
                        const Session::OperatorFacts& facts,
                        c10::ArrayRef<c10::IValue> arguments) {
  if (!session.required_dtype || !facts.dtype_argument || !session.in_flight.empty() ||
      session.phase != program::Phase::kForward) {
    return;
  }
  const c10::IValue& value = arguments[*facts.dtype_argument];
  if (!value.isInt()) return;
  const at::ScalarType dtype = value.toScalarType();
  if (!at::isFloatingType(dtype) || dtype == *session.required_dtype) return;
  Error error = Error(ErrorCode::kDtypeFixedByGraph,
                      "the graph fixes dtype {} in {} ({})",
                      c10::toString(dtype),
                      session.place(),
                      facts.name)
                    .help("export the model in the dtype it is to be trained in");
  session.keep_failure(error);
  throw error;
}

/// Looked up once an operator and thread. Calls that LibTorch makes inside others come by here too.
void check_allowed(const c10::OperatorHandle& op, Session* session) {
  static thread_local std::unordered_map<c10::OperatorName, bool> known;
  const auto [found, fresh] = known.try_emplace(op.operator_name(), false);
  if (fresh) found->second = is_allowed(op.schema());
  note_operator(found->first.name.c_str());
  if (found->second) return;
  const Error error =
      refused_operator(found->first.name, session == nullptr ? "its code" : session->place());
  if (session != nullptr) session->keep_failure(error);
  throw error;
}

void choose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Session* session = Session::current();
  check_allowed(op, session);
  check_enumerations(op.schema(), arguments_of(op, *stack));
  if (session == nullptr) {
    op.redispatchBoxed(after(keys, kChooseKey), stack);
    return;
  }
  const Session::OperatorFacts& facts = session->facts_of(op);
  if (session->depth == 0) refuse_fixed_dtype(*session, facts, arguments_of(op, *stack));
  if (session->where == CaptureOn::kMeta && session->depth == 0) {
    if (!facts.choices.empty()) {
      const Values arguments = arguments_of(op, *stack).vec();
      const Call call(op.schema(), arguments);
      for (const Choice* choice : facts.choices) {
        if (choice->inside != nullptr && session->enclosing() != choice->inside) continue;
        if (!any_meta(arguments) || !choice->when(session->target, call)) continue;
        const InFlight deeper(*session, facts.name);
        replace_by_results(op, *stack, choice->call(session->target, call));
        return;
      }
    }
    // x.to(target device) and new_zeros(…, device=target) of a meta tensor stay on meta.
    const c10::ArrayRef<c10::IValue> arguments = arguments_of(op, *stack);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].isDevice() && arguments[i].toDevice().type() == session->device.type() &&
          any_meta(arguments)) {
        (*stack)[stack->size() - arguments.size() + i] = c10::Device(c10::kMeta);
      }
    }
  }
  const InFlight deeper(*session, facts.name);
  op.redispatchBoxed(after(keys, kChooseKey), stack);
}

// --- Below autograd ------------------------------------------------------------------------------

/// Tensors that are one, or of different sizes, are compared without a look at their values.
bool compared_by_geometry(const Session::OperatorFacts& facts, const Call& call) {
  return facts.name == "aten::equal" &&
         known_equal(call.tensor("self"), call.tensor("other")).has_value();
}

/// Runs one call on meta. CPU tensors stay real (constants, shape arithmetic); beside a meta tensor
/// they become meta for this call alone.
void run_on_meta(Session& session,
                 const c10::OperatorHandle& op,
                 c10::DispatchKeySet keys,
                 Stack* stack) {
  const Session::OperatorFacts& facts = session.facts_of(op);
  Values arguments = arguments_of(op, *stack).vec();
  bool has_tensor = false;
  bool has_meta = false;
  bool has_size = facts.factory_with_size;
  bool asks_for_meta = false;
  bool asks_for_target = false;
  bool has_device = false;
  at::ScalarType dtype = at::ScalarType::Undefined;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      has_tensor = true;
      has_meta |= tensor.is_meta();
      if (dtype == at::ScalarType::Undefined) dtype = tensor.scalar_type();
    });
    if (value.isDevice()) {
      has_device = true;
      asks_for_meta |= value.toDevice().is_meta();
      asks_for_target |= session.device.is_cuda() && value.toDevice().is_cuda();
    } else if (value.isIntList()) {
      has_size |= !value.toIntVector().empty();
    }
  }
  if (facts.dtype_argument && arguments[*facts.dtype_argument].isInt()) {
    dtype = arguments[*facts.dtype_argument].toScalarType();
  }
  // Floating point numbers that a CUDA target keeps on the device are not shape arithmetic: what is
  // made from them must be a device tensor too.
  asks_for_meta |= asks_for_target && at::isFloatingType(dtype);
  const auto put_back = [&] {
    std::copy(arguments.begin(), arguments.end(), stack->end() - std::ptrdiff_t(arguments.size()));
  };
  if (!has_meta && !asks_for_meta && (has_tensor || !has_size)) {  // data that is there; scalars
    if (has_device) {
      for (c10::IValue& value : arguments) {
        if (value.isDevice()) value = c10::Device(c10::kCPU);
      }
      put_back();
    }
    op.redispatchBoxed(after(keys, kRecordKey), stack);
    return;
  }
  const bool outermost = session.depth == 1;
  if (facts.reads_data && outermost && !compared_by_geometry(facts, Call(op.schema(), arguments))) {
    session.refuse_data_dependent(facts.name);
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isDevice()) arguments[i] = c10::Device(c10::kMeta);
    const auto* alias = op.schema().arguments()[i].alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    arguments[i] = map_tensors(arguments[i], [&](const at::Tensor& tensor) {
      if (tensor.is_meta()) return tensor;
      if (written) {
        Error error = Error(ErrorCode::kUnsupportedModel,
                            "{} in {} writes step data into a constant of the module",
                            facts.name,
                            session.place())
                          .help("register the tensor as a buffer");
        session.keep_failure(error);
        throw error;
      }
      if (outermost && tensor.dim() > 0 && !facts.copies) session.recorder.used_on_device(tensor);
      return to_meta(tensor);
    });
  }
  if (facts.geometry.rule != nullptr) {
    const OutsideCapture outside;
    try {
      replace_by_results(
          op, *stack, apply(facts.geometry, session.target, Call(op.schema(), arguments)));
      return;
    } catch (const c10::NotImplementedError&) {
      if (!outermost) throw;
      run_cpu_kernel_for_geometry(session, op, arguments, stack);
      return;
    }
  }
  put_back();
  // Factories still need BackendSelect.
  const c10::DispatchKeySet next =
      has_tensor ? c10::DispatchKeySet(c10::DispatchKey::Meta) : after(keys, kRecordKey);
  const std::size_t base = stack->size() - arguments.size();
  try {
    op.redispatchBoxed(next, stack);
  } catch (const c10::NotImplementedError&) {
    if (!outermost) throw;
    stack->resize(base);
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    run_cpu_kernel_for_geometry(session, op, arguments, stack);
  }
}

class Deeper {
 public:
  explicit Deeper(Session& session) : session_(session) { ++session_.depth; }
  ~Deeper() { --session_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Session& session_;
};

void record(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Session* session = Session::current();
  const auto run = [&] {
    if (session != nullptr && session->where == CaptureOn::kMeta) {
      run_on_meta(*session, op, keys, stack);
    } else {
      op.redispatchBoxed(after(keys, kRecordKey), stack);
    }
  };
  if (session == nullptr || session->depth > 0) {
    run();
    return;
  }
  const Deeper deeper(*session);
  try {
    session->recorder.begin(op, *stack, session->phase, session->module_of_call());
    run();
    session->recorder.end(op, *stack);
  } catch (const Error& error) {
    session->keep_failure(error);
    throw;
  } catch (const c10::Error& error) {
    session->keep_message(error.what_without_backtrace());
    throw;
  }
}

}  // namespace

// NOLINTBEGIN(misc-unused-parameters)
TORCH_LIBRARY_IMPL(_, DeferredInit, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&choose>());
}
TORCH_LIBRARY_IMPL(_, Fake, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&record>());
}
// NOLINTEND(misc-unused-parameters)

}  // namespace elixir::capture
