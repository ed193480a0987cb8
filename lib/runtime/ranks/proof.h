// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How two ranks prove to each other that they have the secret of their job, without sending it:
// HMAC-SHA-256, by OpenSSL's libcrypto. An empty secret proves nothing.

#include <array>
#include <string>
#include <string_view>

namespace elixir::runtime {

inline constexpr std::size_t kNonceBytes = 32, kDigestBytes = 32;
using Nonce = std::array<char, kNonceBytes>;  ///< used once
using Digest = std::array<char, kDigestBytes>;

/// What a digest is for. No digest for one purpose is right for another.
enum class Purpose : char {
  kListener = 'l',       ///< who has accepted a connection proves itself
  kConnector = 'c',      ///< who has made it proves itself
  kSession = 's',        ///< the key of the frames that follow
  kFromListener = 'L',   ///< a frame of a session
  kFromConnector = 'C',  ///< likewise, the other way
};

/// From the system. Throws kIoError when it has none.
[[nodiscard]] Nonce fresh_nonce();

[[nodiscard]] Digest digest_of(std::string_view key, Purpose purpose, std::string_view data);

/// In the same time wherever they differ.
[[nodiscard]] bool is_same(std::string_view a, std::string_view b);

/// Of a nonce or a digest.
template <std::size_t kBytes>
[[nodiscard]] std::string_view view_of(const std::array<char, kBytes>& bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace elixir::runtime
