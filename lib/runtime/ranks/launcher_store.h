// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Under torchrun the agent listens at MASTER_PORT, with a c10d::TCPStore that whoever reaches it
// may read and write. Ranks use it for one thing: rank 0 leaves there at which address it listens.
// What is read there is not trusted, because rank 0 proves itself when it is connected to.
//
// The store's calls may wait without a limit, so they run apart. LibTorch prints what it also
// throws, and is kept quiet meanwhile.

#include <memory>
#include <optional>
#include <string>

namespace elixir::runtime {

/// Where something listens.
struct Endpoint {
  std::string host;
  int port = 0;
};
/// "10.0.0.1 29500", and back; nullopt: it is none.
[[nodiscard]] std::string text_of(const Endpoint& endpoint);
[[nodiscard]] std::optional<Endpoint> endpoint_of(const std::string& text);

class LauncherStore {
 public:
  virtual ~LauncherStore() = default;
  /// For the others. Before anything else, on rank 0 alone.
  virtual void publish(const Endpoint& rank_0) = 0;
  /// Whether publish() has done its work.
  [[nodiscard]] virtual bool published() const = 0;
  /// What rank 0 has published, as it was read last.
  [[nodiscard]] virtual std::optional<Endpoint> rank_0() = 0;
  /// What the store did not do, for a message.
  [[nodiscard]] virtual std::string why_not() const = 0;
};

/// At `host` and `port`. `attempt`: of this start of the job, since the store outlives it.
[[nodiscard]] std::unique_ptr<LauncherStore> make_launcher_store(const std::string& host,
                                                                 int port,
                                                                 const std::string& attempt);

}  // namespace elixir::runtime
