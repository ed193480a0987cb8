// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/gate.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace elixir::runtime {
namespace {

using std::chrono::milliseconds;

/// A rank answers at once. Whoever takes longer is none, or has to try again.
constexpr milliseconds kForGreeting{5000};
constexpr milliseconds kBetweenAttempts{200};
/// Times are looked at so often, if nothing comes.
constexpr milliseconds kBetweenGlances{50};
constexpr std::size_t kMostStrangers = 256, kMostAcceptedAtOnce = 64;
constexpr int kMostUnderWay = 64;  ///< connections that this rank makes at once
constexpr std::size_t kMostClaims = 16;
constexpr const char* kNoAnswer = "no answer";
constexpr const char* kNoRank = "what listens there does not answer as a rank does";

bool no_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

Error too_few_descriptors() {
  return Error(ErrorCode::kRanksCannotConnect,
               "connecting ranks: this process or machine has no file descriptors left")
      .help("raise the limit of open files (ulimit -n); a rank needs three for every other rank");
}

}  // namespace

Gate::Gate(Badge own, std::vector<Socket> listening)
    : own_(std::move(own)), listening_(std::move(listening)) {}

void Gate::seek(int to, Channel channel, const std::string& host, int port) {
  const auto known = std::find_if(sought_.begin(), sought_.end(), [&](const Sought& sought) {
    return sought.to == to && sought.channel == channel;
  });
  if (known != sought_.end()) {
    if (known->host == host && known->port == port) return;
    sought_.erase(known);
  }
  Sought& sought = sought_.emplace_back();
  sought.to = to;
  sought.port = port;
  sought.channel = channel;
  sought.host = host;
}

std::vector<Arrival> Gate::wait(Deadline until, const std::vector<const Connection*>& others) {
  until = std::min<Deadline>(until, Clock::now() + kBetweenGlances);
  int under_way = 0;
  for (Sought& sought : sought_) {
    if (sought.state == Sought::State::kIdle && under_way < kMostUnderWay) begin(sought);
    if (sought.state != Sought::State::kIdle) ++under_way;
  }
  std::vector<pollfd> polled;
  for (const Socket& socket : listening_) polled.push_back({socket.get(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) {
    polled.push_back({stranger.connection.descriptor(), stranger.connection.events(), 0});
  }
  for (const Sought& sought : sought_) {
    const bool connecting = sought.state == Sought::State::kConnecting;
    // poll() ignores a descriptor of -1.
    polled.push_back({sought.connection.descriptor(),
                      connecting ? static_cast<short>(POLLOUT) : sought.connection.events(),
                      0});
  }
  for (const Connection* other : others) {
    polled.push_back({other->ended() ? -1 : other->descriptor(), other->events(), 0});
  }
  static_cast<void>(::poll(polled.data(), polled.size(), milliseconds_until(until)));

  std::vector<Arrival> arrivals;
  auto happened = polled.begin() + static_cast<std::ptrdiff_t>(listening_.size());
  for (Stranger& stranger : strangers_) {
    if (happened++->revents != 0) advance(stranger, arrivals);
    if (!stranger.done && Clock::now() - stranger.since > kForGreeting) {
      note_claim(stranger, "did not go on");
      stranger.done = true;
    }
  }
  for (Sought& sought : sought_) advance(sought, happened++->revents, arrivals);
  strangers_.remove_if([](const Stranger& stranger) { return stranger.done; });
  sought_.remove_if([](const Sought& sought) { return sought.to < 0; });
  accept_all();
  return arrivals;
}

std::string Gate::why_not(int to) const {
  for (const Sought& sought : sought_) {
    if (sought.to == to) return sought.why_not;
  }
  return "";
}

std::string Gate::claims_of(int rank) const {
  std::vector<std::string> whats;
  for (const Claim& claim : claims_) {
    const bool new_one = std::find(whats.begin(), whats.end(), claim.what) == whats.end();
    if (claim.rank == rank && new_one) whats.push_back(claim.what);
  }
  return fmt::format("{}", fmt::join(whats, "; "));
}

void Gate::accept_all() {
  const auto most_ranks =
      static_cast<std::size_t>(kChannels) * static_cast<std::size_t>(own_.world);
  for (const Socket& socket : listening_) {
    for (std::size_t accepted = 0; accepted < kMostAcceptedAtOnce; ++accepted) {
      SocketAddress from;
      TriedSocket tried = accept_one(socket, from);
      if (!tried.socket.open()) {
        if (!no_descriptors(tried.error)) break;  // nobody, or somebody who has gone again
        if (strangers_.empty()) throw too_few_descriptors();
        make_room();
        continue;
      }
      if (strangers_.size() >= std::max<std::size_t>(kMostStrangers, most_ranks)) make_room();
      Stranger& stranger = strangers_.emplace_back();
      stranger.connection = Connection(std::move(tried.socket), {MessageType::kHello});
      stranger.address = text_of(from);
      stranger.since = stranger.heard = Clock::now();
    }
  }
}

void Gate::make_room() {
  const auto silent =
      std::min_element(strangers_.begin(), strangers_.end(), [](const auto& a, const auto& b) {
        return std::pair(a.hello.has_value(), a.heard) < std::pair(b.hello.has_value(), b.heard);
      });
  strangers_.erase(silent);
}

Digest Gate::digest(Purpose purpose, const std::string& said) const {
  return digest_of(own_.secret, purpose, said);
}

void Gate::advance(Stranger& stranger, std::vector<Arrival>& arrivals) {
  Connection& connection = stranger.connection;
  connection.flush();
  while (!stranger.welcome && !stranger.done) {
    const auto frame = connection.receive();
    if (!frame) break;
    stranger.heard = Clock::now();
    if (frame->type == MessageType::kHello) {
      meet(stranger, *frame);
    } else {
      check(stranger, *frame);
    }
  }
  if (connection.ended() && !stranger.welcome) {
    if (stranger.hello) {
      note_claim(stranger,
                 connection.why_ended() == kHasEnded
                     ? "did not take this rank for one of its job: it has another job secret, "
                       "or none"
                     : connection.why_ended());
    }
    stranger.done = true;
  }
  if (!stranger.welcome || connection.has_unsent() || stranger.done) return;
  stranger.done = true;
  const Hello& hello = *stranger.hello;
  if (hello.channel == Channel::kMeeting) {
    connection.seal(digest(Purpose::kSession, stranger.said), /*made_it=*/false);
  }
  arrivals.push_back({hello.rank, hello.world, hello.channel, std::move(connection)});
}

void Gate::meet(Stranger& stranger, const Frame& frame) {
  stranger.hello = decode_hello(frame.payload);
  if (!stranger.hello || stranger.hello->to != own_.rank) {
    stranger.hello.reset();
    stranger.done = true;
    return;
  }
  const Hello& hello = *stranger.hello;
  // At a meeting it is said who is of how many; later all have agreed.
  const bool another_world = hello.channel != Channel::kMeeting && hello.world != own_.world;
  if (hello.attempt != own_.attempt || another_world) {
    note_claim(stranger, "is of another start of this job");
    stranger.done = true;
    return;
  }
  const Nonce nonce = fresh_nonce();
  stranger.said = frame.payload;
  stranger.said += view_of(nonce);
  stranger.connection.expect({MessageType::kProof});
  stranger.connection.send(MessageType::kChallenge,
                           encode(Challenge{nonce, digest(Purpose::kListener, stranger.said)}));
}

void Gate::check(Stranger& stranger, const Frame& proof) {
  if (!is_same(proof.payload, view_of(digest(Purpose::kConnector, stranger.said)))) {
    note_claim(stranger, "has another job secret, or none");
    stranger.done = true;
    return;
  }
  stranger.connection.expect({MessageType::kEntry, MessageType::kReady, MessageType::kFailure});
  stranger.connection.send(MessageType::kWelcome);
  stranger.welcome = true;
}

void Gate::note_claim(const Stranger& stranger, const std::string& what) {
  if (!stranger.hello) return;
  claims_.push_back(
      {stranger.hello->rank, fmt::format("somebody at {} {}", stranger.address, what)});
  if (claims_.size() > kMostClaims) claims_.pop_front();
}

void Gate::begin(Sought& sought) {
  if (Clock::now() < sought.until) return;
  if (sought.addresses.empty()) {
    Addresses found = addresses_of(sought.host, sought.port);
    if (found.all.empty()) {
      sought.why_not = found.why_not;
      sought.until = Clock::now() + kBetweenAttempts;
      return;
    }
    sought.addresses = std::move(found.all);
  }
  TriedSocket tried = begin_to_connect(sought.addresses.front());
  sought.addresses.erase(sought.addresses.begin());
  if (no_descriptors(tried.error)) {
    if (strangers_.empty()) throw too_few_descriptors();
    make_room();
  }
  if (!tried.socket.open()) return try_next(sought, tried.why_not);
  sought.connection = Connection(std::move(tried.socket), {MessageType::kChallenge});
  sought.state = Sought::State::kConnecting;
  sought.until = Clock::now() + kForGreeting;
}

void Gate::try_next(Sought& sought, std::string why_not) {
  sought.why_not = std::move(why_not);
  sought.state = Sought::State::kIdle;
  sought.connection = {};
  sought.until = Clock::now();
  if (sought.addresses.empty()) sought.until += kBetweenAttempts;
}

void Gate::advance(Sought& sought, short happened, std::vector<Arrival>& arrivals) {
  using State = Sought::State;
  if (sought.state == State::kIdle) return;
  if (happened == 0) {
    if (Clock::now() < sought.until) return;
    return try_next(sought, sought.state == State::kConnecting ? kNoAnswer : kNoRank);
  }
  if (sought.state == State::kConnecting) return greet(sought);
  sought.connection.flush();
  while (const auto frame = sought.connection.receive()) {
    if (sought.state == State::kGreeting) {
      answer(sought, *frame);
      if (sought.state != State::kProven) return;
      continue;
    }
    // Welcome.
    if (sought.channel == Channel::kMeeting) {
      sought.connection.seal(digest(Purpose::kSession, sought.said), /*made_it=*/true);
    }
    arrivals.push_back(
        {sought.to, own_.world, sought.channel, std::exchange(sought.connection, {})});
    sought.to = -1;  // no longer sought
    return;
  }
  if (!sought.connection.ended()) return;
  try_next(sought,
           sought.connection.why_ended() == kHasEnded
               ? "what listens there has ended the connection"
               : "what listens there is no rank of this version of Elixir");
}

void Gate::greet(Sought& sought) {
  std::string error = error_of(sought.connection.descriptor());
  if (!error.empty()) return try_next(sought, std::move(error));
  Hello hello;
  hello.channel = sought.channel;
  hello.rank = own_.rank;
  hello.to = sought.to;
  hello.world = own_.world;
  hello.attempt = own_.attempt;
  hello.nonce = fresh_nonce();
  sought.said = encode(hello);
  sought.connection.send(MessageType::kHello, sought.said);
  sought.state = Sought::State::kGreeting;
  // Until it answers; what an attempt before has found out says more.
  if (sought.why_not == kNoAnswer) sought.why_not = kNoRank;
}

void Gate::answer(Sought& sought, const Frame& frame) {
  const auto challenge = decode_challenge(frame.payload);
  if (challenge) sought.said += view_of(challenge->nonce);
  if (!challenge ||
      !is_same(view_of(challenge->proof), view_of(digest(Purpose::kListener, sought.said)))) {
    return try_next(sought,
                    "what listens there does not have the secret of this job; all ranks need the "
                    "same ELIXIR_JOB_SECRET");
  }
  sought.connection.send(MessageType::kProof, view_of(digest(Purpose::kConnector, sought.said)));
  sought.connection.expect({MessageType::kWelcome});
  sought.state = Sought::State::kProven;
}

}  // namespace elixir::runtime
