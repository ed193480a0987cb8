// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether tests run under AddressSanitizer. It makes them five to twenty times as slow and looks for other mistakes:
// there, a few of many alike must do.

#if defined(__SANITIZE_ADDRESS__)
#define ELIXIR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ELIXIR_ADDRESS_SANITIZER 1
#endif
#endif

namespace elixir::fakes {

#ifdef ELIXIR_ADDRESS_SANITIZER
inline constexpr bool kUnderAddressSanitizer = true;
#else
inline constexpr bool kUnderAddressSanitizer = false;
#endif

}  // namespace elixir::fakes
