// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

namespace elixir::runtime {
namespace {

constexpr int kTcp = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

std::string last_error() {
  return std::strerror(errno);
}

/// For poll(): at least 0.
int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

/// False when the deadline has passed.
bool wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd polled{socket, events, 0};
    const int ready = ::poll(&polled, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

struct Addresses {
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> first{nullptr, &::freeaddrinfo};
  std::string why_not;
};

Addresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  Addresses addresses;
  if (error != 0) {
    addresses.why_not = ::gai_strerror(error);
  } else {
    addresses.first.reset(found);
  }
  return addresses;
}

void send_at_once(int socket) {
  const int yes = 1;
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
}

TriedSocket connect_to(const addrinfo& address, Deadline deadline) {
  Socket socket(::socket(address.ai_family, kTcp, 0));
  if (!socket.open()) return {{}, last_error()};
  send_at_once(socket.get());
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) {
    return {std::move(socket), ""};
  }
  if (errno != EINPROGRESS) return {{}, last_error()};
  if (!wait_for(socket.get(), POLLOUT, deadline)) return {{}, "no answer"};
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return {{}, std::strerror(error)};
  return {std::move(socket), ""};
}

/// With IPv6, addresses of IPv4 are listened on too.
TriedSocket listen_with(int family, int port) {
  Socket socket(::socket(family, kTcp, 0));
  if (!socket.open()) return {{}, last_error()};
  const int yes = 1, no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    auto& wanted = reinterpret_cast<sockaddr_in6&>(address);
    wanted.sin6_family = AF_INET6;
    wanted.sin6_addr = in6addr_any;
    wanted.sin6_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof wanted;
  } else {
    auto& wanted = reinterpret_cast<sockaddr_in&>(address);
    wanted.sin_family = AF_INET;
    wanted.sin_addr.s_addr = htonl(INADDR_ANY);
    wanted.sin_port = htons(static_cast<std::uint16_t>(port));
    size = sizeof wanted;
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return {{}, last_error()};
  }
  return {std::move(socket), ""};
}

}  // namespace

Socket::~Socket() {
  if (open()) ::close(descriptor_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    if (open()) ::close(descriptor_);
    descriptor_ = other.release();
  }
  return *this;
}

TriedSocket listen_on(int port) {
  TriedSocket tried = listen_with(AF_INET6, port);
  if (tried.socket.open()) return tried;
  return listen_with(AF_INET, port);  // a machine without IPv6
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

TriedSocket connect_to(const std::string& host, int port, Deadline deadline) {
  const Addresses addresses = addresses_of(host, port);
  TriedSocket tried{{}, addresses.why_not};
  for (const addrinfo* one = addresses.first.get(); one != nullptr; one = one->ai_next) {
    tried = connect_to(*one, deadline);
    if (tried.socket.open()) break;
  }
  return tried;
}

Socket accept_from(const Socket& listening, Deadline deadline) {
  while (wait_for(listening.get(), POLLIN, deadline)) {
    Socket socket(::accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open()) continue;  // whoever it was has gone again
    send_at_once(socket.get());
    return socket;
  }
  return {};
}

bool send_all(int socket, const void* data, std::size_t bytes, Deadline deadline) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      next += sent;
      bytes -= static_cast<std::size_t>(sent);
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return false;
    } else if (!wait_for(socket, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t bytes, Deadline deadline) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received = ::recv(socket, next, bytes, 0);
    if (received > 0) {
      next += received;
      bytes -= static_cast<std::size_t>(received);
    } else if (received == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
      return false;
    } else if (!wait_for(socket, POLLIN, deadline)) {
      return false;
    }
  }
  return true;
}

std::string address_towards(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  for (const addrinfo* one = addresses.first.get(); one != nullptr; one = one->ai_next) {
    // Connecting a datagram socket sends nothing; it asks the routes.
    const Socket socket(::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.open() || ::connect(socket.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&own),
                      size,
                      text.data(),
                      text.size(),
                      nullptr,
                      0,
                      NI_NUMERICHOST) == 0) {
      return text.data();
    }
  }
  return "";
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

}  // namespace elixir::runtime
