// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/socket_communicator.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::runtime {
namespace {

constexpr const char* kEnded = "it has ended";

/// What goes to another rank and what comes from there, as far as it is not done.
struct Transfer {
  int peer = -1;
  const char* send = nullptr;
  std::size_t send_bytes = 0;
  char* receive = nullptr;
  std::size_t receive_bytes = 0;

  [[nodiscard]] bool done() const { return send_bytes == 0 && receive_bytes == 0; }
};

class SocketCommunicator final : public Communicator {
 public:
  SocketCommunicator(int rank, std::vector<int> sockets, const Heartbeat* heartbeat)
      : rank_(rank), sockets_(std::move(sockets)), heartbeat_(heartbeat) {
    for (const int socket : sockets_) {
      if (socket >= 0) ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
    }
  }
  ~SocketCommunicator() override {
    for (const int socket : sockets_) {
      if (socket >= 0) ::close(socket);
    }
  }
  SocketCommunicator(const SocketCommunicator&) = delete;
  SocketCommunicator& operator=(const SocketCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return static_cast<int>(sockets_.size()); }

  using Communicator::all_gather;
  void all_gather(const plan::RankGroup& group,
                  void* all,
                  const void* own,
                  std::int64_t part_bytes) override {
    const auto bytes = static_cast<std::size_t>(part_bytes);
    char* mine = part(all, group.position(rank_), part_bytes);
    if (mine != own) std::memcpy(mine, own, bytes);
    std::vector<Transfer> transfers;
    for (int position = 0; position < group.count; ++position) {
      const int peer = group.rank(position);
      if (peer == rank_) continue;
      transfers.push_back({peer, mine, bytes, part(all, position, part_bytes), bytes});
    }
    exchange(std::move(transfers));
  }
  void all_to_all(const plan::RankGrid& grid,
                  void* to,
                  const void* from,
                  std::int64_t part_bytes) override {
    const auto bytes = static_cast<std::size_t>(part_bytes);
    std::memcpy(part(to, rank_, part_bytes), part(from, grid.part_of(rank_), part_bytes), bytes);
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < world(); ++peer) {
      if (peer == rank_) continue;
      transfers.push_back({peer,
                           part(from, grid.part_of(peer), part_bytes),
                           bytes,
                           part(to, peer, part_bytes),
                           bytes});
    }
    exchange(std::move(transfers));
  }
  void broadcast(int root, void* data, std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(bytes);
    auto* memory = static_cast<char*>(data);
    if (rank_ != root) return exchange({{root, nullptr, 0, memory, size}});
    std::vector<Transfer> transfers;
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank_) transfers.push_back({peer, memory, size, nullptr, 0});
    }
    exchange(std::move(transfers));
  }

  [[nodiscard]] std::optional<std::string> lost() const override {
    return heartbeat_ == nullptr ? std::nullopt : heartbeat_->lost();
  }
  void tell_loss() const override {
    if (heartbeat_ != nullptr) heartbeat_->tell_loss();
  }

 private:
  static char* part(void* all, int position, std::int64_t bytes) {
    return static_cast<char*>(all) + position * bytes;
  }
  static const char* part(const void* all, int position, std::int64_t bytes) {
    return static_cast<const char*>(all) + position * bytes;
  }

  /// All at once: if each rank first sent everything and then received, all of them could wait for
  /// each other.
  void exchange(std::vector<Transfer> transfers) {
    std::vector<pollfd> polled;
    while (true) {
      std::erase_if(transfers, [](const Transfer& transfer) { return transfer.done(); });
      if (transfers.empty()) return;
      polled.clear();
      for (const Transfer& transfer : transfers) {
        const int events =
            (transfer.send_bytes > 0 ? POLLOUT : 0) | (transfer.receive_bytes > 0 ? POLLIN : 0);
        polled.push_back(
            {sockets_[static_cast<std::size_t>(transfer.peer)], static_cast<short>(events), 0});
      }
      constexpr int kMilliseconds = 200;  // then the heartbeat is asked
      const int ready = ::poll(polled.data(), polled.size(), kMilliseconds);
      if (ready < 0 && errno != EINTR) {
        throw Error(ErrorCode::kRankLost, "waiting for other ranks: {}", std::strerror(errno));
      }
      if (ready <= 0) {
        check_signs_of_life();
        continue;
      }
      for (std::size_t i = 0; i < transfers.size(); ++i) {
        if (polled[i].revents != 0) advance(transfers[i]);
      }
    }
  }

  void advance(Transfer& transfer) {
    const int socket = sockets_[static_cast<std::size_t>(transfer.peer)];
    if (transfer.send_bytes > 0) {
      const ssize_t sent = ::send(socket, transfer.send, transfer.send_bytes, MSG_NOSIGNAL);
      if (sent < 0 && !is_for_later(errno)) fail(transfer.peer, text_of_error(errno));
      if (sent > 0) {
        transfer.send += sent;
        transfer.send_bytes -= static_cast<std::size_t>(sent);
      }
    }
    if (transfer.receive_bytes > 0) {
      const ssize_t received = ::recv(socket, transfer.receive, transfer.receive_bytes, 0);
      if (received == 0) fail(transfer.peer, kEnded);
      if (received < 0 && !is_for_later(errno)) fail(transfer.peer, text_of_error(errno));
      if (received > 0) {
        transfer.receive += received;
        transfer.receive_bytes -= static_cast<std::size_t>(received);
      }
    }
  }

  void check_signs_of_life() const {
    if (heartbeat_ == nullptr) return;
    if (const auto lost = heartbeat_->hangs()) throw Error(ErrorCode::kRankLost, *lost);
  }

  static std::string text_of_error(int error) {
    return error == ECONNRESET || error == EPIPE ? kEnded : std::strerror(error);
  }
  static bool is_for_later(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
  }
  [[noreturn]] void fail(int peer, const std::string& why) const {
    throw Error(ErrorCode::kRankLost,
                heartbeat_ == nullptr
                    ? fmt::format("rank {} lost rank {} of {}: {}", rank_, peer, world(), why)
                    : heartbeat_->loss_of(peer, why));
  }

  int rank_;
  std::vector<int> sockets_;
  const Heartbeat* heartbeat_;
};

}  // namespace

std::unique_ptr<Communicator> make_socket_communicator(int rank,
                                                       std::vector<int> sockets,
                                                       const Heartbeat* heartbeat) {
  return std::make_unique<SocketCommunicator>(rank, std::move(sockets), heartbeat);
}

}  // namespace elixir::runtime
