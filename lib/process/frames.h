// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Messages through a pipe between this process and a program that it started: a type, a length, and
// that many bytes. The other side may be hostile: a length is checked against a limit, and memory
// is taken only for bytes that have come.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elixir::process {

/// The first bytes of a message.
struct FrameHeader {
  std::uint32_t type = 0;
  std::uint64_t bytes = 0;
};

/// Reads the header of the next message; nullopt when the other side has closed the pipe before it.
/// Throws kIoError when the pipe ends inside the header or cannot be read.
[[nodiscard]] std::optional<FrameHeader> read_header(int descriptor);
/// Reads the bytes behind a header. Throws kIoError when it says more than `most_bytes`, and when
/// the pipe ends before all have come.
[[nodiscard]] std::string read_body(int descriptor,
                                    const FrameHeader& header,
                                    std::uint64_t most_bytes);
/// The same into memory that has room for exactly `bytes`. Throws kIoError when the header says
/// another length.
void read_body_into(int descriptor, const FrameHeader& header, void* buffer, std::uint64_t bytes);

/// Writes a message as a whole. Throws kIoError when the other side no longer reads.
void write_frame(int descriptor, std::uint32_t type, std::string_view bytes);

}  // namespace elixir::process
