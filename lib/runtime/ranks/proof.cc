// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace elixir::runtime {

Nonce fresh_nonce() {
  Nonce nonce;
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    throw Error(ErrorCode::kIoError, "asking for random bytes: {}", std::strerror(errno));
  }
  return nonce;
}

Digest digest_of(std::string_view key, Purpose purpose, std::string_view data) {
  std::string text = "elixir rank ";
  text += static_cast<char>(purpose);
  text += data;
  const std::string key_text(key);  // HMAC() takes a null pointer for "the key of before"
  Digest digest{};
  unsigned int bytes = 0;
  const auto* const made = ::HMAC(::EVP_sha256(),
                                  key_text.c_str(),
                                  static_cast<int>(key_text.size()),
                                  reinterpret_cast<const unsigned char*>(text.data()),
                                  text.size(),
                                  reinterpret_cast<unsigned char*>(digest.data()),
                                  &bytes);
  require(made != nullptr && bytes == digest.size(), "libcrypto has no HMAC-SHA-256");
  return digest;
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace elixir::runtime
