// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether this is a build under AddressSanitizer. It is five to twenty times as slow and looks for
// other mistakes, so its tests take a few of many alike; and it looks for leaks when a process
// ends.

#if defined(__SANITIZE_ADDRESS__)
#define ELIXIR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ELIXIR_ADDRESS_SANITIZER 1
#endif
#endif

namespace elixir {

#ifdef ELIXIR_ADDRESS_SANITIZER
inline constexpr bool kUnderAddressSanitizer = true;
#else
inline constexpr bool kUnderAddressSanitizer = false;
#endif

}  // namespace elixir
