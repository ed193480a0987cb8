// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A recorded trace small enough to follow by hand, and the header of an empty one.

namespace elixir::memory {

inline const char* const kHeader =
    "elixir-allocator-trace 1\n"
    "config\n"
    "device 1073741824\n"
    "capacity 1073741824\n"
    "allowed none\n";

/// Two small blocks and a large one; one block is freed. The addresses are as in a record.
inline const char* const kTrace =
    "elixir-allocator-trace 1\n"
    "config\n"
    "device 1073741824\n"
    "capacity 1073741824\n"
    "allowed 104857600\n"
    "# a comment, and an empty line\n"
    "\n"
    "s+ 2097152 0 @5000000\n"
    "a 100\n"
    "a 600\n"
    "s+ 20971520 1 @1000000\n"
    "a 3000000 1\n"
    "f 3\n"
    "p 3001856 23068672 3001344 23068672\n"
    "g @1000000 1 large 3000320a 17971200f\n"
    "g @5000000 0 small 512f 1024a 2095616f\n";

}  // namespace elixir::memory
