// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/tcp_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

TriedSocket failed(int error) {
  return {{}, std::strerror(error), error};
}

const sockaddr* pointer(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

bool is_same_address(const SocketAddress& a, const SocketAddress& b) {
  return a.bytes == b.bytes && std::memcmp(&a.storage, &b.storage, a.bytes) == 0;
}

void send_at_once(int socket) {
  const int yes = 1;
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes));
}

TriedSocket listen_on(const SocketAddress& address) {
  Socket socket(::socket(address.storage.ss_family, kTcp, 0));
  if (!socket.open()) return failed(errno);
  const int yes = 1, no = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.storage.ss_family == AF_INET6) {
    // At all addresses of IPv6: those of IPv4, too.
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (::bind(socket.get(), pointer(address), address.bytes) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return failed(errno);
  }
  return {std::move(socket), "", 0};
}

}  // namespace

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
}

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

std::string text_of(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> text{};
  const int error = ::getnameinfo(
      pointer(address), address.bytes, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

Addresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  Addresses addresses;
  if (error != 0) {
    addresses.why_not = ::gai_strerror(error);
    return addresses;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress address;
    address.bytes = one->ai_addrlen;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    const bool known =
        std::any_of(addresses.all.begin(), addresses.all.end(), [&](const SocketAddress& other) {
          return is_same_address(address, other);
        });
    if (!known) addresses.all.push_back(address);
  }
  return addresses;
}

Listening listen_at(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  Listening listening{{}, addresses.why_not};
  for (const SocketAddress& address : addresses.all) {
    TriedSocket tried = listen_on(address);
    if (tried.socket.open()) {
      listening.sockets.push_back(std::move(tried.socket));
      if (port == 0) return listening;  // another address would have another port
    } else if (tried.error != EADDRNOTAVAIL && tried.error != EAFNOSUPPORT) {
      return {{}, tried.why_not};
    }
  }
  return listening;
}

Listening listen_everywhere(int port) {
  SocketAddress six, four;
  auto& of_six = reinterpret_cast<sockaddr_in6&>(six.storage);
  of_six.sin6_family = AF_INET6;
  of_six.sin6_addr = in6addr_any;
  of_six.sin6_port = htons(static_cast<std::uint16_t>(port));
  six.bytes = sizeof of_six;
  auto& of_four = reinterpret_cast<sockaddr_in&>(four.storage);
  of_four.sin_family = AF_INET;
  of_four.sin_addr.s_addr = htonl(INADDR_ANY);
  of_four.sin_port = htons(static_cast<std::uint16_t>(port));
  four.bytes = sizeof of_four;
  TriedSocket tried = listen_on(six);
  if (!tried.socket.open()) tried = listen_on(four);  // a machine without IPv6
  Listening listening{{}, tried.why_not};
  if (tried.socket.open()) listening.sockets.push_back(std::move(tried.socket));
  return listening;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

TriedSocket begin_to_connect(const SocketAddress& address) {
  Socket socket(::socket(address.storage.ss_family, kTcp, 0));
  if (!socket.open()) return failed(errno);
  send_at_once(socket.get());
  if (::connect(socket.get(), pointer(address), address.bytes) != 0 && errno != EINPROGRESS) {
    return failed(errno);
  }
  return {std::move(socket), "", 0};
}

std::string error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

TriedSocket accept_one(const Socket& listening, SocketAddress& from) {
  from.bytes = sizeof from.storage;
  Socket socket(::accept4(listening.get(),
                          reinterpret_cast<sockaddr*>(&from.storage),
                          &from.bytes,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.open()) return failed(errno);
  send_at_once(socket.get());
  return {std::move(socket), "", 0};
}

std::string address_towards(const std::string& host, int port) {
  for (const SocketAddress& address : addresses_of(host, port).all) {
    // Connecting a datagram socket sends nothing; it asks the routes.
    const Socket socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.open() || ::connect(socket.get(), pointer(address), address.bytes) != 0) continue;
    SocketAddress own;
    own.bytes = sizeof own.storage;
    auto* const storage = reinterpret_cast<sockaddr*>(&own.storage);
    if (::getsockname(socket.get(), storage, &own.bytes) != 0) continue;
    if (std::string text = text_of(own); !text.empty()) return text;
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
