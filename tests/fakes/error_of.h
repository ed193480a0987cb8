// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The error that a piece of code throws, for tests that look at its code, place and words.

#include <gtest/gtest.h>

#include "core/error.h"

namespace elixir::tests {

/// What `body` throws; fails the test when it throws nothing.
template <class Body>
ErrorInfo error_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.info();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace elixir::tests
