// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Frames over a connected socket. No call waits. Whatever was wrong ends the connection, and
// why_ended() says what it was.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/ranks/proof.h"
#include "runtime/ranks/tcp_socket.h"
#include "runtime/ranks/wire.h"

namespace elixir::runtime {

class Connection {
 public:
  Connection() = default;
  Connection(Socket socket, std::initializer_list<MessageType> expected);

  /// Other types that come from now on end the connection.
  void expect(std::initializer_list<MessageType> types) { reader_.expect(types); }
  /// From now on every frame carries a digest by `key` of itself, its number and its direction, so
  /// that nobody else adds, changes, repeats or leaves out one. `made_it`: this side has connected.
  void seal(const Digest& key, bool made_it);

  void send(MessageType type, std::string_view payload = {});
  /// Sends what the system takes now.
  void flush();
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  /// The next frame, if all of it has come.
  [[nodiscard]] std::optional<Frame> receive();

  /// The caller did not understand a frame.
  void end(std::string why);
  [[nodiscard]] bool ended() const { return !why_ended_.empty(); }
  [[nodiscard]] const std::string& why_ended() const { return why_ended_; }

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// For poll().
  [[nodiscard]] short events() const;
  /// Nothing more is sent by this side; the other side sees that once it has read the rest.
  void finish_when_sent();
  /// Nothing was read beyond the last frame.
  [[nodiscard]] Socket release() { return std::move(socket_); }

 private:
  struct Seal {
    Digest key{};
    bool made_it = false;
    std::uint64_t sent = 0, received = 0;
  };
  [[nodiscard]] static Digest digest_of_frame(const Seal& seal,
                                              bool from_connector,
                                              std::uint64_t number,
                                              std::string_view frame);
  void open_seal(Frame& frame);

  Socket socket_;
  FrameReader reader_;
  std::string unsent_, why_ended_;
  std::optional<Seal> seal_;
  bool finishes_ = false;
};

inline constexpr const char* kHasEnded = "it has ended";
inline constexpr const char* kNoRankSends = "it sends what no rank sends";

}  // namespace elixir::runtime
