// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Catches the error of a piece of code, for tests of its code, place and message.

#include <gtest/gtest.h>

#include "core/error.h"

namespace elixir::tests {

/// The error that `body` throws. The test fails when it throws none.
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
