// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The side of every rank other than 0 in a meeting.
#include <utility>

#include <fmt/format.h>

#include "runtime/ranks/meeting.h"

namespace elixir::runtime {
namespace {

/// Rank 0's limits are those that count: this rank waits a little longer, for what it has to say.
constexpr std::chrono::seconds kForRank0{5};

class GuestMeeting final : public Meeting {
 public:
  using Meeting::Meeting;

  RankWays run() override {
    find_rank_0();
    try {
      await_table();
      connect_all();
      await_go();
    } catch (const Error& error) {
      if (!told_) tell_rank_0(error.info());
      throw;
    }
    return ways();
  }

 private:
  void find_rank_0() {
    if (!store_) gate_->seek(0, Channel::kMeeting, started_.master_host, started_.master_port);
    const Deadline deadline = Clock::now() + patience_;
    for (;;) {
      if (const auto endpoint = store_ ? store_->rank_0() : std::nullopt) {
        gate_->seek(0, Channel::kMeeting, endpoint->host, endpoint->port);
      }
      for (Arrival& arrival : gate_->wait(deadline)) {
        if (arrival.channel != Channel::kMeeting || arrival.rank != 0) continue;
        rank_0_ = std::move(arrival.connection);
        rank_0_.expect({MessageType::kTable, MessageType::kGo, MessageType::kFailure});
        if (own_.address.empty()) {  // there was no way to the master
          own_.address = address_towards(started_.master_host, started_.master_port);
        }
        rank_0_.send(MessageType::kEntry, encode(Entry{version_, own_}));
        return;
      }
      if (Clock::now() > deadline) throw nobody_answers();
    }
  }

  [[nodiscard]] Error nobody_answers() const {
    std::string why = gate_->why_not(0);
    if (why.empty()) why = fmt::format("the launcher's store: {}", store_->why_not());
    return cannot(fmt::format("nobody answers at {}: {}", master(), why))
        .help(
            "MASTER_ADDR and MASTER_PORT must name the host of rank 0 and a port of it that this "
            "host can reach, and that nothing else uses; start all ranks within {} s",
            patience_seconds());
  }

  /// Keeps connections of other ranks, and returns the next frame of rank 0.
  [[nodiscard]] std::optional<Frame> turn(Deadline until) {
    for (Arrival& arrival : gate_->wait(until, {&rank_0_})) keep(std::move(arrival));
    rank_0_.flush();
    auto frame = rank_0_.receive();
    if (frame && frame->type == MessageType::kFailure) {
      told_ = true;
      if (auto failure = decode_failure(frame->payload)) throw Error(std::move(*failure));
      throw lost_rank_0(kNoRankSends);
    }
    if (!frame && rank_0_.ended()) throw lost_rank_0(rank_0_.why_ended());
    return frame;
  }

  [[nodiscard]] Error lost_rank_0(const std::string& why) {
    told_ = true;  // it is not there to be told
    return cannot(fmt::format("rank 0 at {} was lost before all were connected: {}", master(), why))
        .help("what rank 0 says itself comes first");
  }

  void await_table() {
    const Deadline deadline = Clock::now() + patience_ + kForRank0;
    for (;;) {
      if (const auto frame = turn(deadline)) {
        auto table = decode_table(frame->payload, started_.world);
        if (frame->type != MessageType::kTable || !table) throw lost_rank_0(kNoRankSends);
        table_ = std::move(*table);
        // It has been reached there.
        if (!store_) table_.front().address = started_.master_host;
        return;
      }
      if (Clock::now() > deadline) throw lost_rank_0("it says nothing");
    }
  }

  /// With those below this rank; those above connect themselves.
  void connect_all() {
    for (int other = 0; other < started_.rank; ++other) {
      const Place& place = table_[static_cast<std::size_t>(other)];
      for (const Channel channel : {Channel::kSteps, Channel::kControl, Channel::kSigns}) {
        gate_->seek(other, channel, place.address, place.port);
      }
    }
    const Deadline deadline = Clock::now() + patience_;
    while (!all_connected()) {
      if (turn(deadline)) throw lost_rank_0(kNoRankSends);
      if (Clock::now() > deadline) throw have_not_connected();
    }
    rank_0_.send(MessageType::kReady);
  }

  [[nodiscard]] Error have_not_connected() const {
    const int rank = first_unconnected();
    const Place& place = table_[static_cast<std::size_t>(rank)];
    const std::string what = rank > started_.rank
                                 ? fmt::format("rank {} on {} has not connected within {} s",
                                               rank,
                                               place.host,
                                               patience_seconds())
                                 : fmt::format("cannot reach rank {} on {} at {}, port {}: {}",
                                               rank,
                                               place.host,
                                               place.address,
                                               place.port,
                                               gate_->why_not(rank));
    return cannot(what).help("no firewall may close ports between the hosts of the ranks");
  }

  void await_go() {
    const Deadline deadline = Clock::now() + patience_ + kForRank0;
    for (;;) {
      if (const auto frame = turn(deadline)) {
        if (frame->type != MessageType::kGo) throw lost_rank_0(kNoRankSends);
        return;
      }
      if (Clock::now() > deadline) throw lost_rank_0("it says nothing");
    }
  }

  /// What stops this rank stops all.
  void tell_rank_0(const ErrorInfo& failure) noexcept {
    try {
      rank_0_.send(MessageType::kFailure, encode(failure));
      rank_0_.finish_when_sent();
      const Deadline deadline = Clock::now() + kForReaders;
      while (!rank_0_.ended() && Clock::now() < deadline) {
        static_cast<void>(gate_->wait(deadline, {&rank_0_}));
        rank_0_.flush();
        while (rank_0_.receive()) {  // until it ends, too
        }
      }
    } catch (const std::exception&) {  // then it notices it by itself
    }
  }

  Connection rank_0_;
  bool told_ = false;  ///< rank 0 knows of the failure, or is gone
};

}  // namespace

std::unique_ptr<Meeting> make_guest(const StartedRank& started,
                                    const std::string& version,
                                    std::chrono::milliseconds patience,
                                    std::unique_ptr<LauncherStore> store) {
  return std::make_unique<GuestMeeting>(started, version, patience, std::move(store));
}

}  // namespace elixir::runtime
