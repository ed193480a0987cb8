// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// TCP connections between machines, with time limits. What fails says why as a text, because only
// the caller knows what it means. Sockets are non-blocking, closed by exec, and send at once
// (TCP_NODELAY).

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace elixir::runtime {

using Deadline = std::chrono::steady_clock::time_point;

/// Owns a descriptor; -1: none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }
  /// The caller owns it from then on.
  [[nodiscard]] int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

struct TriedSocket {
  Socket socket;
  std::string why_not;  ///< empty with a socket
};

/// Listens on all addresses of this machine. Port 0: any that is free.
[[nodiscard]] TriedSocket listen_on(int port);
[[nodiscard]] int port_of(const Socket& listening);
/// `host`: a name or an address. Tries each of its addresses once.
[[nodiscard]] TriedSocket connect_to(const std::string& host, int port, Deadline deadline);
/// Waits for somebody who connects; none when the deadline has passed.
[[nodiscard]] Socket accept_from(const Socket& listening, Deadline deadline);

/// Whole messages. False: the other side is gone, or the deadline has passed.
[[nodiscard]] bool send_all(int socket, const void* data, std::size_t bytes, Deadline deadline);
[[nodiscard]] bool receive_all(int socket, void* data, std::size_t bytes, Deadline deadline);

/// The address of this machine that packets to `host` carry; empty when it has no address.
[[nodiscard]] std::string address_towards(const std::string& host, int port);
/// What this machine calls itself.
[[nodiscard]] std::string host_name();
/// Whether only this machine itself can be reached by it.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace elixir::runtime
