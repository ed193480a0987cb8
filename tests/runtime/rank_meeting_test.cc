// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// How ranks meet, and what strangers at their ports can do: nothing but to be silent. Each rank is
// a thread of this process. Without LibTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/ranks/gate.h"
#include "runtime/ranks/rendezvous.h"

namespace elixir::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr const char* kVersion = "Elixir 1";
constexpr const char* kSecret = "the secret of this job";

int free_port() {
  const Listening listening = listen_at("127.0.0.1", 0);
  return port_of(listening.sockets.front());
}

/// How one rank's meeting ended.
struct Outcome {
  std::optional<Error> error;
  std::vector<int> sums;  ///< from its communicators
};

/// All tasks and messages of a rank that has met the others, in short.
std::vector<int> work_of(const RankWays& ways) {
  std::vector<int> sums;
  for (Communicator* way : {ways.ranks().steps, ways.ranks().control}) {
    const int own = 10 + ways.ranks().rank();
    std::vector<int> all(static_cast<std::size_t>(ways.ranks().world()));
    way->all_gather(all.data(), &own, sizeof own);
    int sum = 0;
    for (const int each : all) sum += each;
    sums.push_back(sum);
  }
  return sums;
}

class Meetings : public testing::Test {
 protected:
  StartedRank rank(int number, int world) const {
    StartedRank started;
    started.rank = number;
    started.world = world;
    started.local_rank = number;
    started.local_world = world;
    started.master_host = "127.0.0.1";
    started.master_port = port;
    started.secret = kSecret;
    return started;
  }
  std::future<Outcome> start(const StartedRank& started,
                             std::unique_ptr<LauncherStore> store = nullptr,
                             const std::string& version = kVersion) const {
    return std::async(std::launch::async,
                      [started, version, patience = patience, store = std::move(store)]() mutable {
                        Outcome outcome;
                        try {
                          const RankWays ways = meet(started, version, patience, std::move(store));
                          outcome.sums = work_of(ways);
                        } catch (const Error& error) {
                          outcome.error = error;
                        }
                        return outcome;
                      });
  }
  static void expect_met(std::vector<std::future<Outcome>>& ranks) {
    const int world = static_cast<int>(ranks.size());
    const int sum = 10 * world + world * (world - 1) / 2;
    for (auto& rank : ranks) {
      const Outcome outcome = rank.get();
      ASSERT_FALSE(outcome.error) << outcome.error->what();
      EXPECT_THAT(outcome.sums, testing::ElementsAre(sum, sum));
    }
  }
  static void expect_error(std::future<Outcome>& rank,
                           ErrorCode code,
                           const testing::Matcher<const std::string&>& message) {
    const Outcome outcome = rank.get();
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->info().code, code) << outcome.error->what();
    EXPECT_THAT(outcome.error->info().message, message);
  }
  /// A stranger's connection, once somebody listens there.
  static Socket connect(int port) {
    const Addresses addresses = addresses_of("127.0.0.1", port);
    for (const auto end = Clock::now() + seconds(5); Clock::now() < end;) {
      TriedSocket tried = begin_to_connect(addresses.all.front());
      pollfd polled{tried.socket.get(), POLLOUT, 0};
      ::poll(&polled, 1, 1000);
      if (tried.socket.open() && error_of(tried.socket.get()).empty()) {
        return std::move(tried.socket);
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    ADD_FAILURE() << "nobody listens at " << port;
    return {};
  }
  static void send(const Socket& socket, const std::string& bytes) {
    static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  static std::string greeting(int rank, int world, Channel channel = Channel::kMeeting) {
    Hello hello;
    hello.channel = channel;
    hello.rank = rank;
    hello.world = world;
    hello.attempt = "0";
    return encoded(MessageType::kHello, encode(hello));
  }
  static std::string receive(const Socket& socket, std::size_t bytes) {
    std::string got(bytes, '\0');
    std::size_t have = 0;
    while (have < bytes) {
      pollfd polled{socket.get(), POLLIN, 0};
      if (::poll(&polled, 1, 2000) <= 0) break;
      const ssize_t part = ::recv(socket.get(), got.data() + have, bytes - have, 0);
      if (part <= 0) break;
      have += static_cast<std::size_t>(part);
    }
    got.resize(have);
    return got;
  }
  static bool is_ended(const Socket& socket) { return receive(socket, 1).empty(); }

  int port = free_port();
  milliseconds patience{20'000};
};

TEST_F(Meetings, AllRanksAreConnectedByEveryWay) {
  std::vector<std::future<Outcome>> ranks;
  for (int i = 4; i >= 0; --i) ranks.push_back(start(rank(i, 5)));
  expect_met(ranks);
}

TEST_F(Meetings, RanksThatComeLateAreWaitedFor) {
  std::vector<std::future<Outcome>> ranks;
  ranks.push_back(start(rank(1, 3)));
  std::this_thread::sleep_for(milliseconds(300));
  ranks.push_back(start(rank(0, 3)));
  std::this_thread::sleep_for(milliseconds(300));
  ranks.push_back(start(rank(2, 3)));
  expect_met(ranks);
}

TEST_F(Meetings, PatienceCountsFromWhenAllAreThere) {
  patience = milliseconds(1500);
  std::vector<std::future<Outcome>> ranks;
  ranks.push_back(start(rank(0, 2)));
  std::this_thread::sleep_for(milliseconds(1200));
  ranks.push_back(start(rank(1, 2)));
  expect_met(ranks);
}

TEST_F(Meetings, OnlyTheInterfaceOfTheMasterIsListenedOn) {
  auto rank_0 = start(rank(0, 2));
  connect(port);
  // On Linux all of 127.0.0.0/8 is the loopback interface; who listens everywhere listens here.
  const TriedSocket other = begin_to_connect(addresses_of("127.0.0.2", port).all.front());
  pollfd polled{other.socket.get(), POLLOUT, 0};
  ::poll(&polled, 1, 1000);
  EXPECT_THAT(error_of(other.socket.get()), HasSubstr("refused"));
  auto rank_1 = start(rank(1, 2));
  EXPECT_FALSE(rank_0.get().error);
  EXPECT_FALSE(rank_1.get().error);
}

TEST_F(Meetings, AMissingRankIsNamedToAllThatHaveCome) {
  patience = milliseconds(1000);
  auto rank_0 = start(rank(0, 3)), rank_2 = start(rank(2, 3));
  for (auto* each : {&rank_0, &rank_2}) {
    expect_error(
        *each, ErrorCode::kRanksCannotConnect, HasSubstr("rank 1 has not come within 1 s"));
  }
}

TEST_F(Meetings, AMissingRank0IsNamed) {
  patience = milliseconds(500);
  auto rank_1 = start(rank(1, 2));
  expect_error(rank_1,
               ErrorCode::kRanksCannotConnect,
               AllOf(HasSubstr("nobody answers"), HasSubstr("refused")));
}

TEST_F(Meetings, ARankThatEndsBeforeAllHaveComeMayComeAgain) {
  auto rank_0 = start(rank(0, 3));
  {
    Gate gate({1, 3, "0", kSecret}, {});
    gate.seek(0, Channel::kMeeting, "127.0.0.1", port);
    std::vector<Arrival> arrivals;
    while (arrivals.empty()) arrivals = gate.wait(Clock::now() + seconds(1));
    const Entry entry{kVersion, {"gpu08", "127.0.0.1", 1}};
    arrivals.front().connection.send(MessageType::kEntry, encode(entry));
  }
  std::this_thread::sleep_for(milliseconds(200));
  std::vector<std::future<Outcome>> ranks;
  ranks.push_back(std::move(rank_0));
  for (int i = 1; i < 3; ++i) ranks.push_back(start(rank(i, 3)));
  expect_met(ranks);
}

TEST_F(Meetings, TwoProcessesWithOneRankAreNamedToAll) {
  auto rank_0 = start(rank(0, 3)), rank_1 = start(rank(1, 3)), again = start(rank(1, 3));
  for (auto* each : {&rank_0, &rank_1, &again}) {
    expect_error(*each, ErrorCode::kRanksContradict, HasSubstr("two processes are rank 1 of 3"));
  }
}

TEST_F(Meetings, AnotherNumberOfRanksIsNamedToAll) {
  auto rank_0 = start(rank(0, 2)), rank_1 = start(rank(1, 3));
  for (auto* each : {&rank_0, &rank_1}) {
    expect_error(*each,
                 ErrorCode::kRanksContradict,
                 AllOf(HasSubstr("as one of 3 ranks"), HasSubstr("as one of 2")));
  }
}

TEST_F(Meetings, AnotherVersionIsNamedToAll) {
  auto rank_0 = start(rank(0, 2)), rank_1 = start(rank(1, 2), nullptr, "Elixir 2");
  for (auto* each : {&rank_0, &rank_1}) {
    expect_error(
        *each, ErrorCode::kRanksDiffer, AllOf(HasSubstr("is Elixir 1"), HasSubstr("is Elixir 2")));
  }
}

TEST_F(Meetings, ARankOfAnotherStartIsNotLetIn) {
  patience = milliseconds(700);
  StartedRank old = rank(1, 2);
  old.attempt = "1";
  auto rank_0 = start(rank(0, 2)), rank_1 = start(old);
  const Outcome outcome = rank_0.get();
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->info().notes,
              testing::Contains(HasSubstr("is of another start of this job")));
  EXPECT_TRUE(rank_1.get().error);
}

TEST_F(Meetings, AWrongSecretIsNamedOnBothSides) {
  patience = milliseconds(1000);
  for (const char* wrong : {"", "the secret of another job"}) {
    StartedRank mistaken = rank(1, 2);
    mistaken.secret = wrong;
    auto rank_0 = start(rank(0, 2)), rank_1 = start(mistaken);
    expect_error(
        rank_1, ErrorCode::kRanksCannotConnect, HasSubstr("does not have the secret of this job"));
    const Outcome outcome = rank_0.get();
    ASSERT_TRUE(outcome.error);
    EXPECT_THAT(outcome.error->info().message, HasSubstr("rank 1 has not come"));
    EXPECT_THAT(outcome.error->info().notes,
                testing::Contains(AllOf(HasSubstr("127.0.0.1"), HasSubstr("another job secret"))));
  }
}

/// A start beside strangers takes no second longer.
class Strangers : public Meetings {
 protected:
  void expect_quick_start(int world = 2) {
    const auto began = Clock::now();
    std::vector<std::future<Outcome>> ranks = std::move(early);
    for (int i = static_cast<int>(ranks.size()); i < world; ++i)
      ranks.push_back(start(rank(i, world)));
    expect_met(ranks);
    EXPECT_LT(Clock::now() - began, seconds(1));
  }
  std::vector<std::future<Outcome>> early;  ///< ranks 0 and up
};

TEST_F(Strangers, SilentOnesCostNobodyTime) {
  early.push_back(start(rank(0, 2)));
  std::vector<Socket> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(connect(port));
  expect_quick_start();
}

TEST_F(Strangers, JunkIsIgnored) {
  early.push_back(start(rank(0, 2)));
  std::mt19937 random(1);
  std::string noise(4096, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  std::vector<Socket> kept;
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"),
                                   noise,
                                   std::string(100, '\0'),
                                   encoded_head(MessageType::kHello, 0xFFFFFFFFU),
                                   encoded_head(MessageType::kTable, 64 << 20),
                                   encoded(MessageType::kHello, "x"),
                                   encoded(MessageType::kGo, ""),
                                   greeting(1, 2).substr(0, 20)}) {
    for (int i = 0; i < 5; ++i) {
      kept.push_back(connect(port));
      send(kept.back(), bytes);
    }
  }
  expect_quick_start();
}

TEST_F(Strangers, NoneTakesTheOthersPlace) {
  early.push_back(start(rank(0, 2)));
  // As a rank, but without the secret; on every channel.
  for (const Channel channel :
       {Channel::kMeeting, Channel::kSteps, Channel::kControl, Channel::kSigns}) {
    const Socket stranger = connect(port);
    const std::string hello = greeting(1, 2, channel);
    send(stranger, hello);
    const std::string answer = receive(stranger, FrameHead::kBytes + kNonceBytes + kDigestBytes);
    const auto challenge = decode_challenge(answer.substr(FrameHead::kBytes));
    ASSERT_TRUE(challenge);
    // The digest that rank 0 has made itself, and one with the empty secret.
    std::string said = hello.substr(FrameHead::kBytes);
    said += view_of(challenge->nonce);
    const Digest own = digest_of("", Purpose::kConnector, said);
    const bool reflects = channel != Channel::kControl;
    send(stranger, encoded(MessageType::kProof, view_of(reflects ? challenge->proof : own)));
    EXPECT_TRUE(is_ended(stranger));
  }
  expect_quick_start();
}

TEST_F(Strangers, AProofIsNotTakenTwice) {
  // What a rank says to another one, as somebody on the wire hears it.
  auto rank_0 = start(rank(0, 3));
  const Socket stranger = connect(port);
  const std::string hello = greeting(1, 3);
  send(stranger, hello);
  const std::string answer = receive(stranger, FrameHead::kBytes + kNonceBytes + kDigestBytes);
  const auto challenge = decode_challenge(answer.substr(FrameHead::kBytes));
  ASSERT_TRUE(challenge);
  std::string said = hello.substr(FrameHead::kBytes);
  said += view_of(challenge->nonce);
  const std::string proof =
      encoded(MessageType::kProof, view_of(digest_of(kSecret, Purpose::kConnector, said)));
  send(stranger, proof);
  EXPECT_EQ(receive(stranger, FrameHead::kBytes), encoded(MessageType::kWelcome, ""))
      << "the right proof is right";
  const Socket again = connect(port);
  send(again, hello);
  receive(again, answer.size());
  send(again, proof);
  EXPECT_TRUE(is_ended(again));
  ::shutdown(stranger.get(), SHUT_RDWR);
  auto rank_1 = start(rank(1, 3)), rank_2 = start(rank(2, 3));
  for (auto* each : {&rank_0, &rank_1, &rank_2}) EXPECT_FALSE(each->get().error);
}

TEST_F(Strangers, AFloodOfConnectionsDelaysNobody) {
  early.push_back(start(rank(0, 2)));
  std::atomic<bool> ends{false};
  std::thread flood([&] {
    std::vector<Socket> kept;
    for (int i = 0; !ends; ++i) {
      kept.push_back(connect(port));
      if (i % 2 == 0) send(kept.back(), greeting(1, 2));
      if (kept.size() > 600) kept.erase(kept.begin());
    }
  });
  std::this_thread::sleep_for(milliseconds(200));
  const auto began = Clock::now();
  early.push_back(start(rank(1, 2)));
  // The flood stops where rank 0 no longer listens: connect() waits for it.
  for (auto& each : early) EXPECT_FALSE(each.get().error);
  EXPECT_LT(Clock::now() - began, seconds(1));
  ends = true;
  const Listening listening = listen_at("127.0.0.1", port);
  flood.join();
  early.clear();
}

TEST_F(Strangers, OneThatListensInThePlaceOfRank0IsNotBelieved) {
  patience = milliseconds(1500);
  const Listening listening = listen_at("127.0.0.1", port);
  auto rank_1 = start(rank(1, 2));
  pollfd polled{listening.sockets.front().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&polled, 1, 2000), 1);
  SocketAddress from;
  const TriedSocket taken = accept_one(listening.sockets.front(), from);
  EXPECT_EQ(receive(taken.socket, greeting(1, 2).size()).size(), greeting(1, 2).size());
  send(taken.socket, encoded(MessageType::kChallenge, encode(Challenge{})));
  EXPECT_TRUE(is_ended(taken.socket)) << "no proof was sent";
  expect_error(rank_1, ErrorCode::kRanksCannotConnect, HasSubstr("nobody answers at 127.0.0.1"));
}

/// What torchrun's store has, and a stranger can change.
class FakeStore final : public LauncherStore {
 public:
  struct State {
    std::mutex mutex;
    std::optional<Endpoint> honest, forged;
  };
  explicit FakeStore(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void publish(const Endpoint& rank_0) override {
    const std::scoped_lock lock(state_->mutex);
    state_->honest = rank_0;
  }
  [[nodiscard]] bool published() const override { return true; }
  [[nodiscard]] std::optional<Endpoint> rank_0() override {
    const std::scoped_lock lock(state_->mutex);
    return state_->forged ? state_->forged : state_->honest;
  }
  [[nodiscard]] std::string why_not() const override { return "rank 0 has not come"; }

 private:
  std::shared_ptr<State> state_;
};

class Stores : public Strangers {
 protected:
  std::future<Outcome> start_with_store(int number, int world) {
    StartedRank started = rank(number, world);
    started.store_is_there = true;
    return start(started, std::make_unique<FakeStore>(state));
  }
  std::shared_ptr<FakeStore::State> state = std::make_shared<FakeStore::State>();
};

TEST_F(Stores, PublishWhereRank0Listens) {
  std::vector<std::future<Outcome>> ranks;
  for (int i = 2; i >= 0; --i) ranks.push_back(start_with_store(i, 3));
  expect_met(ranks);
}

TEST_F(Stores, AForgedAddressPreventsAStartAndNothingElse) {
  patience = milliseconds(700);
  const Listening stranger = listen_at("127.0.0.1", 0);
  state->forged = Endpoint{"127.0.0.1", port_of(stranger.sockets.front())};
  auto rank_0 = start_with_store(0, 2), rank_1 = start_with_store(1, 2);
  expect_error(rank_0, ErrorCode::kRanksCannotConnect, HasSubstr("rank 1 has not come"));
  expect_error(rank_1, ErrorCode::kRanksCannotConnect, HasSubstr("nobody answers"));
}

TEST_F(Stores, AnAddressThatIsCorrectedIsTaken) {
  const Listening stranger = listen_at("127.0.0.1", 0);
  state->forged = Endpoint{"127.0.0.1", port_of(stranger.sockets.front())};
  std::vector<std::future<Outcome>> ranks;
  for (int i = 0; i < 2; ++i) ranks.push_back(start_with_store(i, 2));
  std::this_thread::sleep_for(milliseconds(300));
  {
    const std::scoped_lock lock(state->mutex);
    state->forged.reset();
  }
  expect_met(ranks);
}

// It lets both sides prove themselves, and changes what they say afterwards.
TEST_F(Stores, AStrangerBetweenTwoRanksCannotSendThemElsewhere) {
  patience = milliseconds(1500);
  Listening between = listen_at("127.0.0.1", 0);
  state->forged = Endpoint{"127.0.0.1", port_of(between.sockets.front())};
  auto rank_0 = start_with_store(0, 2), rank_1 = start_with_store(1, 2);
  std::atomic<bool> ends{false};
  std::atomic<int> relayed{0};
  std::thread relay([&] {
    while (!ends) {
      pollfd polled{between.sockets.front().get(), POLLIN, 0};
      if (::poll(&polled, 1, 50) <= 0) continue;
      SocketAddress from;
      const TriedSocket taken = accept_one(between.sockets.front(), from);
      int honest = 0;
      {
        const std::scoped_lock lock(state->mutex);
        honest = state->honest ? state->honest->port : 0;
      }
      if (honest == 0) continue;
      const Socket there = connect(honest);
      // Hello, Challenge, Proof, Welcome as they are; of the frame of rank 1's place, one bit.
      const std::size_t hello = greeting(1, 2).size();
      const std::size_t challenge = FrameHead::kBytes + kNonceBytes + kDigestBytes;
      send(there, receive(taken.socket, hello));
      send(taken.socket, receive(there, challenge));
      send(there, receive(taken.socket, FrameHead::kBytes + kDigestBytes));
      const std::string welcome = receive(there, FrameHead::kBytes);
      if (welcome == encoded(MessageType::kWelcome, "")) ++relayed;
      send(taken.socket, welcome);
      const std::string head = receive(taken.socket, FrameHead::kBytes);
      const auto decoded = decoded_head(head, kDigestBytes);
      if (!decoded) continue;
      std::string entry = receive(taken.socket, decoded->payload_bytes);
      entry.front() ^= 1;
      send(there, head + entry);
      EXPECT_TRUE(is_ended(there)) << "rank 0 takes nothing that was changed";
    }
  });
  EXPECT_TRUE(rank_0.get().error);
  EXPECT_TRUE(rank_1.get().error);
  ends = true;
  relay.join();
  EXPECT_GE(relayed, 1) << "else this test shows nothing";
}

TEST_F(Meetings, WithoutDescriptorsTheMessageSaysSo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Listening listening = listen_at("127.0.0.1", port);
  Gate gate({0, 2, "0", kSecret}, std::move(listening.sockets));
  const Socket waits = connect(port);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(::dup(0));  // the lowest that is free
  ::close(static_cast<int>(none.rlim_cur));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string message;
  try {
    for (int i = 0; i < 20; ++i) static_cast<void>(gate.wait(Clock::now() + milliseconds(50)));
  } catch (const Error& error) {
    message = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(message, HasSubstr("no file descriptors left"));
}

}  // namespace
}  // namespace elixir::runtime
