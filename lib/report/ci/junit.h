// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/report/ci: the result of a check in the formats that continuous integration reads.
//
// Checks as JUnit XML, which every continuous-integration service shows: a test suite a document, a
// test case a limit; a failed check is a failure, a waived one is skipped with its reason. The same
// checks give the same bytes (no times).

#include <string>
#include <string_view>

#include "check/budget_check.h"

namespace elixir::report {

[[nodiscard]] std::string junit_xml(const check::CheckReport& report);

/// `text` as XML 1.0 attribute or element content. Characters that XML does not allow become `?` or
/// `\xNN`.
[[nodiscard]] std::string xml_escape(std::string_view text);

}  // namespace elixir::report
