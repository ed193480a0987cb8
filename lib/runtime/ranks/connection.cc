// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace elixir::runtime {
namespace {

bool is_for_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Connection::Connection(Socket socket, std::initializer_list<MessageType> expected)
    : socket_(std::move(socket)) {
  reader_.expect(expected);
}

void Connection::seal(const Digest& key, bool made_it) {
  seal_ = Seal{.key = key, .made_it = made_it};
  reader_.allow_more(kDigestBytes);
}

Digest Connection::digest_of_frame(const Seal& seal,
                                   bool from_connector,
                                   std::uint64_t number,
                                   std::string_view frame) {
  return digest_of(view_of(seal.key),
                   from_connector ? Purpose::kFromConnector : Purpose::kFromListener,
                   MessageWriter().number(number).fixed(frame).take());
}

void Connection::send(MessageType type, std::string_view payload) {
  if (ended()) return;
  std::string frame = encoded(type, payload);
  if (seal_) {
    const std::string head = encoded_head(type, payload.size() + kDigestBytes);
    frame.replace(0, head.size(), head);
    frame += view_of(digest_of_frame(*seal_, seal_->made_it, seal_->sent++, frame));
  }
  unsent_ += frame;
  flush();
}

void Connection::flush() {
  while (!unsent_.empty() && !ended()) {
    const ssize_t sent =
        ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && is_for_later(errno)) return;
    // What the other side has sent before it ended is still to be read.
    if (sent < 0) return unsent_.clear();
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
  if (finishes_ && !ended()) ::shutdown(socket_.get(), SHUT_WR);
}

std::optional<Frame> Connection::receive() {
  std::array<char, 4096> part;
  while (!ended()) {
    if (auto frame = reader_.next()) {
      if (seal_) open_seal(*frame);
      if (ended()) return std::nullopt;
      return frame;
    }
    const std::size_t wanted = std::min(reader_.wanted(), part.size());
    if (wanted == 0) {
      end(kNoRankSends);
      break;
    }
    const ssize_t received = ::recv(socket_.get(), part.data(), wanted, MSG_DONTWAIT);
    if (received > 0) {
      reader_.take({part.data(), static_cast<std::size_t>(received)});
    } else if (received == 0 || errno == ECONNRESET || errno == EPIPE) {
      end(kHasEnded);
    } else if (is_for_later(errno)) {
      return std::nullopt;
    } else {
      end(std::strerror(errno));
    }
  }
  return std::nullopt;
}

void Connection::open_seal(Frame& frame) {
  const std::size_t bytes = frame.payload.size();
  if (bytes < kDigestBytes) return end(kNoRankSends);
  const std::string_view payload = std::string_view(frame.payload).substr(0, bytes - kDigestBytes);
  std::string sealed = encoded_head(frame.type, bytes);
  sealed += payload;
  const Digest right = digest_of_frame(*seal_, !seal_->made_it, seal_->received++, sealed);
  if (!is_same(view_of(right), std::string_view(frame.payload).substr(payload.size()))) {
    return end(kNoRankSends);
  }
  frame.payload.resize(payload.size());
}

void Connection::end(std::string why) {
  if (!ended()) why_ended_ = std::move(why);
}

short Connection::events() const {
  return static_cast<short>(has_unsent() ? POLLIN | POLLOUT : POLLIN);
}

void Connection::finish_when_sent() {
  finishes_ = true;
  flush();
}

}  // namespace elixir::runtime
