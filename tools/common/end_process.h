// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How the tools that load LibTorch end.

namespace elixir::tools {

/// Ends this process with `code` as main would. Without a GPU, objects that libraries hold are left
/// to the system: LibTorch takes a quarter of a second to destroy its own. With one, libraries and
/// profilers have an end of their own to come to.
[[noreturn]] void end_process(int code);

/// The same at once, whatever libraries and other threads are doing.
[[noreturn]] void end_process_at_once(int code);

}  // namespace elixir::tools
