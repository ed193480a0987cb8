// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The two boxed dispatcher fallbacks. Above autograd (key DeferredInit), calls are replaced by the
// target's choices. Below autograd (key Fake), the outermost calls are recorded and, on meta, run
// by geometry rules. The fallbacks act only on threads with a Session and a CaptureScope.

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace elixir::capture {

inline constexpr c10::DispatchKey kChooseKey = c10::DispatchKey::DeferredInit;
inline constexpr c10::DispatchKey kRecordKey = c10::DispatchKey::Fake;

/// Sends this thread's calls through the fallbacks while it lives.
class CaptureScope {
  c10::impl::IncludeDispatchKeyGuard include_{c10::DispatchKeySet({kChooseKey, kRecordKey})};
};

/// While it lives, this thread's calls bypass the fallbacks. For calls that capture itself makes.
class OutsideCapture {
  c10::impl::ExcludeDispatchKeyGuard exclude_{c10::DispatchKeySet({kChooseKey, kRecordKey})};
};

}  // namespace elixir::capture
