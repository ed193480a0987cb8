// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// TCP sockets between machines. What fails says why as a text, because only the caller knows what
// it means. Sockets are non-blocking, closed by exec, and send at once (TCP_NODELAY).

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace elixir::runtime {

using Deadline = std::chrono::steady_clock::time_point;

/// For poll(): at least 0.
[[nodiscard]] int milliseconds_until(Deadline deadline);

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
  int error = 0;        ///< errno
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
};
/// "10.0.0.1", "::1".
[[nodiscard]] std::string text_of(const SocketAddress& address);

struct Addresses {
  std::vector<SocketAddress> all;
  std::string why_not;  ///< empty with addresses
};
/// Of a name or an address.
[[nodiscard]] Addresses addresses_of(const std::string& host, int port);

struct Listening {
  std::vector<Socket> sockets;
  std::string why_not;  ///< empty with sockets
};
/// At each address of `host` that is one of this machine. None, without a reason, when none is.
[[nodiscard]] Listening listen_at(const std::string& host, int port);
/// At all addresses of this machine. Port 0: any that is free.
[[nodiscard]] Listening listen_everywhere(int port);
[[nodiscard]] int port_of(const Socket& listening);

/// Begins to connect. The socket can be written to when that is done; then error_of() says how.
[[nodiscard]] TriedSocket begin_to_connect(const SocketAddress& address);
/// Empty: none.
[[nodiscard]] std::string error_of(int socket);

/// Somebody who has connected, and from where; errno when nobody has (EAGAIN), or it failed.
[[nodiscard]] TriedSocket accept_one(const Socket& listening, SocketAddress& from);

/// The address of this machine that packets to `host` carry; empty when it has no address.
[[nodiscard]] std::string address_towards(const std::string& host, int port);
/// What this machine calls itself.
[[nodiscard]] std::string host_name();
/// Whether only this machine itself can be reached by it.
[[nodiscard]] bool is_loopback(const std::string& address);

}  // namespace elixir::runtime
