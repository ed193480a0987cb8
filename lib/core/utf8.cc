// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/utf8.h"

namespace elixir {
namespace {

struct Range {
  unsigned char low, high;
};

/// The range of the second byte (Unicode, table 3-7). Later bytes are always 80 to BF.
Range second_byte(unsigned char lead) {
  switch (lead) {
    case 0xe0:
      return {0xa0, 0xbf};
    case 0xed:
      return {0x80, 0x9f};
    case 0xf0:
      return {0x90, 0xbf};
    case 0xf4:
      return {0x80, 0x8f};
    default:
      return {0x80, 0xbf};
  }
}

}  // namespace

std::size_t utf8_sequence_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xf0 && lead < 0xf5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    const Range range = i == 1 ? second_byte(lead) : Range{0x80, 0xbf};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < range.low || byte > range.high) return 0;
  }
  return length;
}

std::string well_formed_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_bytes(text);
    result += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace elixir
