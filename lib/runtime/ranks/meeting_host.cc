// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Rank 0's side of a meeting.
#include <algorithm>
#include <list>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/interrupt.h"
#include "runtime/ranks/meeting.h"

namespace elixir::runtime {
namespace {

class HostMeeting final : public Meeting {
 public:
  using Meeting::Meeting;

  RankWays run() override {
    try {
      if (store_) store_->publish({own_.address, own_.port});
      await_all();
      connect_all();
      return ways();
    } catch (const Error& error) {
      tell_all(error.info());
      throw;
    }
  }

 private:
  /// A rank that has proven itself.
  struct Guest {
    int rank = -1, world = 0;
    Connection connection;
    std::optional<Place> place;
    bool ready = false;
  };

  /// Lets arrivals in, and hears what guests say.
  void turn(Deadline until) {
    std::vector<const Connection*> connections;
    for (const Guest& guest : guests_) connections.push_back(&guest.connection);
    for (Arrival& arrival : gate_->wait(until, connections)) {
      if (arrival.channel != Channel::kMeeting) {
        keep(std::move(arrival));
        continue;
      }
      Guest& guest = guests_.emplace_back();
      guest.rank = arrival.rank;
      guest.world = arrival.world;
      guest.connection = std::move(arrival.connection);
      guest.connection.expect({MessageType::kEntry, MessageType::kReady, MessageType::kFailure});
    }
  }

  void hear_all() {
    for (Guest& guest : guests_) {
      guest.connection.flush();
      while (const auto frame = guest.connection.receive()) hear(guest, *frame);
    }
  }

  void hear(Guest& guest, const Frame& frame) {
    if (frame.type == MessageType::kReady) {
      guest.ready = true;
    } else if (frame.type == MessageType::kFailure) {
      if (auto failure = decode_failure(frame.payload)) throw Error(std::move(*failure));
      guest.connection.end(kNoRankSends);
    } else if (auto entry = decode_entry(frame.payload)) {
      seat(guest, std::move(*entry));
    } else {
      guest.connection.end(kNoRankSends);
    }
  }

  void seat(Guest& guest, Entry entry) {
    if (guest.world != started_.world) {
      throw Error(ErrorCode::kRanksContradict,
                  "rank {} on {} was started as one of {} ranks, rank {} on {} as one of {}",
                  guest.rank,
                  entry.place.host,
                  guest.world,
                  started_.rank,
                  own_.host,
                  started_.world)
          .help("start all with the same WORLD_SIZE");
    }
    for (const Guest& other : guests_) {
      if (other.rank != guest.rank || !other.place || other.connection.ended()) continue;
      throw Error(ErrorCode::kRanksContradict,
                  "two processes are rank {} of {}, on {} and {}",
                  guest.rank,
                  started_.world,
                  other.place->host,
                  entry.place.host)
          .help("give each process a RANK of its own, from 0 to WORLD_SIZE - 1");
    }
    if (entry.version != version_) {
      throw Error(ErrorCode::kRanksDiffer,
                  "rank {} on {} is {}, rank {} on {} is {}",
                  guest.rank,
                  entry.place.host,
                  entry.version,
                  started_.rank,
                  own_.host,
                  version_)
          .help("install the same Elixir on all hosts");
    }
    guest.place = std::move(entry.place);
  }

  /// nullptr: it has not come, or has gone again.
  [[nodiscard]] Guest* seated(int rank) {
    for (Guest& guest : guests_) {
      if (guest.rank == rank && guest.place && !guest.connection.ended()) return &guest;
    }
    return nullptr;
  }

  void await_all() {
    const Deadline deadline = Clock::now() + patience_;
    for (;;) {
      throw_if_interrupted();
      turn(deadline);
      hear_all();
      forget_gone();
      std::vector<int> missing;
      for (int rank = 1; rank < started_.world; ++rank) {
        if (seated(rank) == nullptr) missing.push_back(rank);
      }
      if (missing.empty()) return;
      if (Clock::now() > deadline) throw have_not_come(missing);
    }
  }

  /// They may come again until all have.
  void forget_gone() {
    for (const Guest& guest : guests_) {
      if (!guest.connection.ended() || !guest.place) continue;
      gone_.push_back(fmt::format("rank {} on {} had come: {}",
                                  guest.rank,
                                  guest.place->host,
                                  guest.connection.why_ended()));
    }
    guests_.remove_if([](const Guest& guest) { return guest.connection.ended(); });
  }

  [[nodiscard]] Error have_not_come(const std::vector<int>& missing) const {
    const bool one = missing.size() == 1;
    Error error = cannot(fmt::format("rank{} {} {} not come within {} s",
                                     one ? "" : "s",
                                     fmt::join(missing, ", "),
                                     one ? "has" : "have",
                                     patience_seconds()));
    for (const int rank : missing) {
      if (const std::string claims = gate_->claims_of(rank); !claims.empty()) {
        error.note("of those that said they are rank {}: {}", rank, claims);
      }
    }
    for (const std::string& note : gone_) error.note(note);
    if (store_ && !store_->published()) {
      error.note("the launcher's store at {}: {}", master(), store_->why_not());
    }
    error.help("start all {} ranks, with the same MASTER_ADDR and MASTER_PORT", started_.world);
    if (is_loopback(own_.address)) {
      error.help(
          "MASTER_ADDR={} is this machine alone: for ranks of other machines, set it to an "
          "address that they reach",
          started_.master_host);
    }
    return error;
  }

  void connect_all() {
    table_.push_back(own_);
    for (int rank = 1; rank < started_.world; ++rank) table_.push_back(*seated(rank)->place);
    for (Guest& guest : guests_) guest.connection.send(MessageType::kTable, encode(table_));
    // The others know better what they cannot reach, and say it first.
    const Deadline deadline = Clock::now() + patience_ + kForReaders;
    const auto is_ready = [](const Guest& guest) { return guest.ready || !guest.place; };
    while (!all_connected() || !std::all_of(guests_.begin(), guests_.end(), is_ready)) {
      throw_if_interrupted();
      turn(deadline);
      hear_all();
      for (const Guest& guest : guests_) {
        if (guest.connection.ended() && guest.place) {
          throw cannot(fmt::format("rank {} on {} was lost while all connected: {}",
                                   guest.rank,
                                   guest.place->host,
                                   guest.connection.why_ended()));
        }
      }
      if (Clock::now() > deadline) throw have_not_connected();
    }
    for (Guest& guest : guests_) guest.connection.send(MessageType::kGo);
    flush_all(Clock::now() + kForReaders);
  }

  [[nodiscard]] Error have_not_connected() const {
    const int rank = first_unconnected();
    if (rank < 0) {
      return cannot(fmt::format("not all ranks have connected within {} s", patience_seconds()));
    }
    return cannot(fmt::format("rank {} on {} has not connected within {} s",
                              rank,
                              table_[static_cast<std::size_t>(rank)].host,
                              patience_seconds()))
        .help("no firewall may close ports between the hosts of the ranks");
  }

  void flush_all(Deadline deadline) {
    const auto unsent = [](const Guest& guest) {
      return guest.connection.has_unsent() && !guest.connection.ended();
    };
    while (std::any_of(guests_.begin(), guests_.end(), unsent) && Clock::now() < deadline) {
      turn(deadline);
      for (Guest& guest : guests_) guest.connection.flush();
    }
  }

  /// What stops one stops all, also those that come meanwhile.
  void tell_all(const ErrorInfo& failure) noexcept {
    try {
      const std::string payload = encode(failure);
      const Deadline deadline = Clock::now() + kForReaders;
      std::size_t told = 0;
      const auto gone = [](const Guest& guest) { return guest.connection.ended(); };
      const auto others = static_cast<std::size_t>(started_.world) - 1;
      do {
        for (auto guest = std::next(guests_.begin(), static_cast<std::ptrdiff_t>(told));
             guest != guests_.end();
             ++guest, ++told) {
          guest->connection.send(MessageType::kFailure, payload);
          guest->connection.finish_when_sent();
        }
        for (Guest& guest : guests_) {
          guest.connection.flush();
          while (guest.connection.receive()) {  // until it ends, too
          }
        }
        const bool all_know =
            guests_.size() >= others && std::all_of(guests_.begin(), guests_.end(), gone);
        if (all_know) return;
        turn(deadline);
      } while (Clock::now() < deadline);
    } catch (const std::exception&) {  // then they notice it by themselves
    }
  }

  std::list<Guest> guests_;
  std::vector<std::string> gone_;  ///< of ranks that had come
};

}  // namespace

std::unique_ptr<Meeting> make_host(const StartedRank& started,
                                   const std::string& version,
                                   std::chrono::milliseconds patience,
                                   std::unique_ptr<LauncherStore> store) {
  return std::make_unique<HostMeeting>(started, version, patience, std::move(store));
}

}  // namespace elixir::runtime
