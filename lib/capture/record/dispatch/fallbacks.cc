// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/fallbacks.h"

#include <cstddef>
#include <string>
#include <unordered_map>

#include <c10/util/Exception.h>
#include <torch/library.h>

#include "capture/record/arguments/call.h"
#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/boxed_call.h"
#include "capture/record/dispatch/meta_call.h"
#include "capture/record/dispatch/session.h"
#include "capture/record/refused/allowed_operators.h"
#include "capture/record/refused/enumerations.h"
#include "capture/record/refused/real_calls.h"
#include "process/place.h"

namespace elixir::capture {
namespace {

using torch::jit::Stack;

bool any_meta(c10::ArrayRef<c10::IValue> arguments) {
  bool found = false;
  for (const c10::IValue& value : arguments) {
    for_each_tensor(value, [&](const at::Tensor& tensor) { found |= tensor.is_meta(); });
  }
  return found;
}

// --- Above autograd ------------------------------------------------------------------------------

/// A graph traced in another dtype names it in casts and factories; converting the weights is then
/// not enough.
void refuse_fixed_dtype(Session& session,
                        const OperatorFacts& facts,
                        c10::ArrayRef<c10::IValue> arguments) {
  const StepPosition& position = session.position();
  if (!session.required_dtype() || !facts.dtype_argument || position.has_call_in_flight() ||
      position.phase() != program::Phase::kForward) {
    return;
  }
  const c10::IValue& value = arguments[*facts.dtype_argument];
  if (!value.isInt()) return;
  const at::ScalarType dtype = value.toScalarType();
  if (!at::isFloatingType(dtype) || dtype == *session.required_dtype()) return;
  session.refuse(Error(ErrorCode::kDtypeFixedByGraph,
                       "the graph fixes dtype {} in {} ({})",
                       c10::toString(dtype),
                       position.place(),
                       facts.name)
                     .help("export the model in the dtype that it will be trained in"));
}

/// Looked up once an operator and thread. Calls that LibTorch makes inside others come by here too.
void check_allowed(const c10::OperatorHandle& op, Session* session) {
  static thread_local std::unordered_map<c10::OperatorName, bool> known;
  const auto [found, fresh] = known.try_emplace(op.operator_name(), false);
  if (fresh) found->second = is_allowed(op.schema());
  process::note_operator(found->first.name);
  if (found->second) return;
  const std::string& name = found->first.name;
  if (session == nullptr) throw refused_operator(name, "its code");
  session->refuse(refused_operator(name, session->position().place()));
}

/// Whether a choice of the target has taken the place of the call.
bool replaced_by_choice(Session& session, const c10::OperatorHandle& op, Stack& stack) {
  const OperatorFacts& facts = session.facts_of(op);
  if (facts.decompositions.empty()) return false;
  const Values arguments = arguments_of(op, stack).vec();
  const Call call(op.schema(), arguments);
  for (const Decomposition* choice : facts.decompositions) {
    if (choice->inside != nullptr && session.position().enclosing() != choice->inside) continue;
    try {
      if (!any_meta(arguments) || !choice->when(session.target(), call)) continue;
      const StepPosition::CallInFlight deeper(session.position(), facts.name);
      replace_by_results(op, stack, choice->call(session.target(), call));
    } catch (const c10::Error& error) {
      session.findings().keep_message(facts.name, error.what_without_backtrace());
      throw;
    }
    return true;
  }
  return false;
}

/// x.to(target device) and new_zeros(…, device=target) of a meta tensor stay on meta.
void keep_on_meta(const Session& session, const c10::OperatorHandle& op, Stack& stack) {
  const c10::ArrayRef<c10::IValue> arguments = arguments_of(op, stack);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isDevice() && arguments[i].toDevice().type() == session.device().type() &&
        any_meta(arguments)) {
      stack[stack.size() - arguments.size() + i] = c10::Device(c10::kMeta);
    }
  }
}

/// LibTorch folds constants while it compiles a model's code.
void compute_while_loading(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  static const std::string kPlace = "its code";
  const std::string& name = op.operator_name().name;
  // One that is made of others is looked at through them.
  const bool made_of_others =
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  if (!made_of_others && !may_compute_constants(op)) throw refused_on_real_data(name, kPlace);
  op.redispatchBoxed(after(keys, kChooseKey), stack);
  if (!results_are_within_storage(op, *stack)) throw refused_view(name, kPlace);
  clear_uninitialised(op, *stack);
}

void choose(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Session* session = Session::current();
  check_allowed(op, session);
  check_enumerations(op.schema(), arguments_of(op, *stack));
  if (session == nullptr) {
    compute_while_loading(op, keys, stack);
    return;
  }
  const OperatorFacts& facts = session->facts_of(op);
  if (!session->in_recorded_call()) {
    refuse_fixed_dtype(*session, facts, arguments_of(op, *stack));
    if (session->on_meta()) {
      if (replaced_by_choice(*session, op, *stack)) return;
      keep_on_meta(*session, op, *stack);
    }
  }
  const StepPosition::CallInFlight deeper(session->position(), facts.name);
  op.redispatchBoxed(after(keys, kChooseKey), stack);
}

// --- Below autograd ------------------------------------------------------------------------------

void record(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  Session* session = Session::current();
  const auto run = [&] {
    if (session != nullptr && session->on_meta()) {
      run_on_meta(*session, op, keys, stack);
    } else {
      op.redispatchBoxed(after(keys, kRecordKey), stack);
    }
  };
  if (session == nullptr || session->in_recorded_call()) {
    run();
    return;
  }
  const Session::RecordedCall inside(*session);
  try {
    StepPosition& position = session->position();
    session->recorder().begin(op, *stack, position.phase(), position.module_of_call());
    process::note_module(position.place());
    run();
    if (!results_are_within_storage(op, *stack)) {
      throw refused_view(session->facts_of(op).name, position.place());
    }
    session->recorder().end(op, *stack);
  } catch (const UnheldDType& error) {
    session->refuse(Error(ErrorCode::kUnsupportedModel,
                          "{} in {} has a tensor of dtype {}, which programs do not hold",
                          session->facts_of(op).name,
                          session->position().place(),
                          error.dtype())
                        .help(kOtherDTypes));
  } catch (const Error& error) {
    session->findings().keep_failure(error);
    throw;
  } catch (const c10::Error& error) {
    session->findings().keep_message(session->facts_of(op).name, error.what_without_backtrace());
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
