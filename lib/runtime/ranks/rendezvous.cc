// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/rendezvous.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "runtime/ranks/meeting.h"

namespace elixir::runtime {

bool StartedRank::on_one_machine() const {
  return local_world == world || master_host == "localhost" || is_loopback(master_host);
}

Meeting::Meeting(const StartedRank& started,
                 std::string version,
                 Milliseconds patience,
                 std::unique_ptr<LauncherStore> store)
    : started_(started),
      version_(std::move(version)),
      patience_(patience),
      store_(std::move(store)) {
  for (auto& mesh : meshes_) mesh.resize(static_cast<std::size_t>(started_.world));
  own_.host = host_name();
  Badge badge{started_.rank, started_.world, started_.attempt, started_.secret};
  gate_ = std::make_unique<Gate>(std::move(badge), listen());
}

std::vector<Socket> Meeting::listen() {
  const std::string& host = started_.master_host;
  const bool at_master_port = started_.rank == 0 && !started_.store_is_there;
  const int port = at_master_port ? started_.master_port : 0;
  own_.address = address_towards(host, started_.master_port);
  const bool known = !own_.address.empty();
  Listening listening;
  if (known && is_loopback(own_.address) && !started_.on_one_machine()) {
    own_.address = host;  // a name that leads elsewhere on other hosts
  } else {
    listening = listen_at(known && !at_master_port ? own_.address : host, port);
  }
  if (listening.sockets.empty() && listening.why_not.empty()) listening = listen_everywhere(port);
  if (listening.sockets.empty() && started_.rank == 0) {
    throw cannot(fmt::format("cannot listen on port {}: {}", port, listening.why_not))
        .help(
            "set MASTER_ADDR to a name or address of this host, and MASTER_PORT to a port that "
            "is free on it, the same for all ranks");
  }
  if (listening.sockets.empty()) listening = listen_everywhere(0);
  if (listening.sockets.empty()) {
    throw cannot(fmt::format("cannot listen on any port: {}", listening.why_not));
  }
  own_.port = port_of(listening.sockets.front());
  return std::move(listening.sockets);
}

void Meeting::keep(Arrival arrival) {
  const auto mesh = static_cast<std::size_t>(arrival.channel) - 1;
  if (arrival.rank >= started_.world) return;
  meshes_[mesh][static_cast<std::size_t>(arrival.rank)] = arrival.connection.release();
}

int Meeting::first_unconnected() const {
  for (int rank = 0; rank < started_.world; ++rank) {
    for (const auto& mesh : meshes_) {
      if (rank != started_.rank && !mesh[static_cast<std::size_t>(rank)].open()) return rank;
    }
  }
  return -1;
}

bool Meeting::all_connected() const {
  return first_unconnected() < 0;
}

RankWays Meeting::ways() {
  std::array<std::vector<int>, kMeshes> descriptors;
  for (std::size_t mesh = 0; mesh < meshes_.size(); ++mesh) {
    for (Socket& socket : meshes_[mesh]) descriptors[mesh].push_back(socket.release());
  }
  return RankWays(started_.rank,
                  std::move(descriptors[0]),
                  std::move(descriptors[1]),
                  std::move(descriptors[2]));
}

std::string Meeting::self() const {
  return fmt::format("rank {} of {} on {}", started_.rank, started_.world, host_name());
}

Error Meeting::cannot(const std::string& why) const {
  return Error(ErrorCode::kRanksCannotConnect, "{}: {}", self(), why);
}

std::string Meeting::master() const {
  return fmt::format("{}:{}", started_.master_host, started_.master_port);
}

RankWays meet(const StartedRank& started,
              const std::string& version,
              std::chrono::milliseconds patience,
              std::unique_ptr<LauncherStore> store) {
  const auto make = started.rank == 0 ? make_host : make_guest;
  return make(started, version, patience, std::move(store))->run();
}

}  // namespace elixir::runtime
