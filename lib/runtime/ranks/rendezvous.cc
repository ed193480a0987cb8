// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/rendezvous.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/error.h"
#include "core/json.h"
#include "runtime/ranks/tcp_socket.h"

C10_DECLARE_int(caffe2_log_level);

namespace elixir::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenReads{50};
/// How long rank 0 keeps the store after a failure, so that the others read of it.
constexpr milliseconds kForReaders{2000};
constexpr int kMeshes = 3;  ///< steps, control, signs of life

milliseconds left_until(Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(1));
}

/// Whoever connects to a rank says who it is.
struct Greeting {
  std::uint64_t token = 0;  ///< rank 0's, from the store
  std::int32_t rank = -1, mesh = -1;
};

/// What a rank leaves at the store.
struct Entry {
  std::string version, host, address;
  int world = 0, port = 0;
  std::uint64_t token = 0;
};

/// LibTorch's store prints what it also throws.
class QuietStore {
 public:
  QuietStore() : level_(std::exchange(FLAGS_caffe2_log_level, kNothing)) {}
  ~QuietStore() { FLAGS_caffe2_log_level = level_; }
  QuietStore(const QuietStore&) = delete;
  QuietStore& operator=(const QuietStore&) = delete;

 private:
  static constexpr int kNothing = 4;
  int level_;
};

class Meeting {
 public:
  Meeting(StartedRank started, std::string version, milliseconds patience)
      : started_(std::move(started)),
        version_(std::move(version)),
        patience_(patience),
        deadline_(std::chrono::steady_clock::now() + patience),
        entries_(static_cast<std::size_t>(started.world)) {}

  RankWays run() {
    try {
      return connected();
    } catch (Error& error) {
      tell(error);
      throw;
    } catch (const std::exception& error) {
      // The store's own errors have long texts with backtraces.
      std::string text = error.what();
      text = text.substr(0, text.find('\n'));
      Error failure = cannot(fmt::format("{} at {} failed: {}", store(), master(), text));
      tell(failure);
      throw failure;
    }
  }

  /// The store waits without a limit for an answer, which never comes from something else at its
  /// port.
  [[nodiscard]] bool is_stuck() const {
    return needs_store_ && std::chrono::steady_clock::now() > deadline_ + 2 * kForReaders;
  }
  [[nodiscard]] Error no_answer() const {
    return cannot(fmt::format("what listens at {} does not answer as {}", master(), store()))
        .help(
            "if something else uses that port, end it or choose another MASTER_PORT for all ranks");
  }

 private:
  RankWays connected() {
    open_store();
    take_place();
    await_others();
    std::array<std::vector<int>, kMeshes> meshes = connect_all();
    needs_store_ = false;
    RankWays ways(started_.rank, meshes[0], meshes[1], meshes[2]);
    // The store must stay until everybody is connected.
    char own = 0;
    std::vector<char> all(static_cast<std::size_t>(started_.world));
    ways.ranks().control->all_gather(all.data(), &own, 1);
    return ways;
  }

  [[nodiscard]] std::string master() const {
    return fmt::format("{}:{}", started_.master_host, started_.master_port);
  }
  /// By who has it: if that one has ended or stopped, all that can be seen is its store.
  [[nodiscard]] std::string store() const {
    return started_.store_is_there ? "the launcher's store" : "the store of rank 0";
  }
  [[nodiscard]] std::string self() const {
    return fmt::format("rank {} of {} on {}", started_.rank, started_.world, host_name());
  }
  [[nodiscard]] Error cannot(const std::string& why) const {
    return Error(ErrorCode::kRanksCannotConnect, "{}: {}", self(), why);
  }

  void open_store() {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(started_.master_port);
    options.waitWorkers = false;
    const bool keeps_store = started_.rank == 0 && !started_.store_is_there;
    if (keeps_store) {
      TriedSocket listening = listen_on(started_.master_port);
      if (!listening.socket.open()) {
        throw cannot(
            fmt::format("cannot listen on port {}: {}", started_.master_port, listening.why_not))
            .help("set MASTER_PORT to a port that is free on {}, the same for all ranks",
                  started_.master_host);
      }
      options.isServer = true;
      options.masterListenFd = listening.socket.release();
    } else {
      await_master();
    }
    options.timeout = left_until(deadline_);
    store_ = c10::make_intrusive<c10d::TCPStore>(started_.master_host, options);
  }

  /// The store's own attempts cannot be told apart when they fail.
  void await_master() const {
    std::string why_not;
    do {
      const TriedSocket tried = connect_to(started_.master_host, started_.master_port, deadline_);
      if (tried.socket.open()) return;
      why_not = tried.why_not;
      std::this_thread::sleep_for(4 * kBetweenReads);
    } while (std::chrono::steady_clock::now() < deadline_);
    throw cannot(fmt::format("nobody answers at {}: {}", master(), why_not))
        .help(
            "MASTER_ADDR and MASTER_PORT must name the host of rank 0 and a port of it that this "
            "host can reach; start all ranks within {} s",
            patience_.count() / 1000);
  }

  [[nodiscard]] std::string key(const std::string& name) const {
    return fmt::format("elixir/{}/{}", started_.attempt, name);
  }
  [[nodiscard]] std::string rank_key(int rank) const { return key(fmt::format("rank/{}", rank)); }
  void set(const std::string& name, const Json& value) {
    const std::string text = value.dump();
    store_->set(name, std::vector<std::uint8_t>(text.begin(), text.end()));
  }
  [[nodiscard]] std::optional<Json> get(const std::string& name) {
    if (!store_->check({name})) return std::nullopt;
    const std::vector<std::uint8_t> bytes = store_->get(name);
    return Json::parse(bytes.begin(), bytes.end(), nullptr, /*allow_exceptions=*/false);
  }

  /// What stops this rank stops all.
  void tell(const Error& error) noexcept {
    try {
      if (!store_) return;
      if (!told_) set_failure(error);
      if (started_.rank == 0 && !started_.store_is_there) std::this_thread::sleep_for(kForReaders);
    } catch (const std::exception&) {  // then they notice it by themselves
    }
  }
  void set_failure(const Error& error) {
    set(key("failure"),
        {{"code", static_cast<int>(error.info().code)},
         {"message", error.info().message},
         {"help", error.info().help}});
  }
  void check_failure() {
    const std::optional<Json> failure = get(key("failure"));
    if (!failure || !failure->is_object()) return;
    told_ = true;
    ErrorInfo info;
    info.code = static_cast<ErrorCode>(failure->value("code", 0));
    info.message = failure->value("message", "");
    info.help = failure->value("help", std::vector<std::string>{});
    throw Error(std::move(info));
  }

  void take_place() {
    TriedSocket listening = listen_on(0);
    if (!listening.socket.open()) {
      throw cannot(fmt::format("cannot listen on any port: {}", listening.why_not));
    }
    listening_ = std::move(listening.socket);
    if (store_->add(key(fmt::format("processes/{}", started_.rank)), 1) > 1) {
      const std::optional<Json> other = get(rank_key(started_.rank));
      throw Error(ErrorCode::kRanksContradict,
                  "two processes are rank {} of {}, on {} and {}",
                  started_.rank,
                  started_.world,
                  other ? other->value("host", "?") : "another host",
                  host_name())
          .help("give each process a RANK of its own, from 0 to WORLD_SIZE - 1");
    }
    // Whom the master's address leads to itself is reached by that address.
    std::string address = address_towards(started_.master_host, started_.master_port);
    if (address.empty() || is_loopback(address)) address = started_.master_host;
    std::uint64_t token = 0;
    if (started_.rank == 0) {
      token =
          static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    }
    set(rank_key(started_.rank),
        {{"version", version_},
         {"host", host_name()},
         {"address", address},
         {"port", port_of(listening_)},
         {"world", started_.world},
         {"token", token}});
  }

  void await_others() {
    for (;;) {
      check_failure();
      std::vector<int> missing;
      for (int rank = 0; rank < started_.world; ++rank) {
        std::optional<Entry>& entry = entries_[static_cast<std::size_t>(rank)];
        if (!entry) entry = read_entry(rank);
        if (!entry) missing.push_back(rank);
      }
      if (missing.empty()) return;
      if (std::chrono::steady_clock::now() > deadline_) {
        const bool one = missing.size() == 1;
        throw cannot(fmt::format("rank{} {} {} not come within {} s",
                                 one ? "" : "s",
                                 fmt::join(missing, ", "),
                                 one ? "has" : "have",
                                 patience_.count() / 1000))
            .help("start all {} ranks, with the same MASTER_ADDR and MASTER_PORT", started_.world);
      }
      std::this_thread::sleep_for(kBetweenReads);
    }
  }

  std::optional<Entry> read_entry(int rank) {
    const std::optional<Json> json = get(rank_key(rank));
    if (!json || !json->is_object()) return std::nullopt;
    Entry entry{.version = json->value("version", ""),
                .host = json->value("host", ""),
                .address = json->value("address", ""),
                .world = json->value("world", 0),
                .port = json->value("port", 0),
                .token = json->value("token", std::uint64_t{0})};
    if (entry.world != started_.world) {
      throw Error(ErrorCode::kRanksContradict,
                  "rank {} on {} was started as one of {} ranks, rank {} on {} as one of {}",
                  rank,
                  entry.host,
                  entry.world,
                  started_.rank,
                  host_name(),
                  started_.world)
          .help("start all with the same WORLD_SIZE");
    }
    if (entry.version != version_) {
      throw Error(ErrorCode::kRanksDiffer,
                  "rank {} on {} is {}, rank {} on {} is {}",
                  rank,
                  entry.host,
                  entry.version,
                  started_.rank,
                  host_name(),
                  version_)
          .help("install the same Elixir on all hosts");
    }
    return entry;
  }

  /// Each rank connects to those below it. Who listens need not accept for that.
  std::array<std::vector<int>, kMeshes> connect_all() {
    std::array<std::vector<Socket>, kMeshes> sockets;
    for (auto& mesh : sockets) mesh.resize(static_cast<std::size_t>(started_.world));
    for (int other = 0; other < started_.rank; ++other) {
      for (int mesh = 0; mesh < kMeshes; ++mesh) {
        sockets[static_cast<std::size_t>(mesh)][static_cast<std::size_t>(other)] =
            connect_to_rank(other, mesh);
      }
    }
    for (int missing = kMeshes * (started_.world - 1 - started_.rank); missing > 0;) {
      Greeting greeting;
      Socket socket = accept_rank(greeting, sockets);
      if (!socket.open()) continue;
      sockets[static_cast<std::size_t>(greeting.mesh)][static_cast<std::size_t>(greeting.rank)] =
          std::move(socket);
      --missing;
    }
    std::array<std::vector<int>, kMeshes> descriptors;
    for (std::size_t mesh = 0; mesh < sockets.size(); ++mesh) {
      for (Socket& socket : sockets[mesh]) descriptors[mesh].push_back(socket.release());
    }
    return descriptors;
  }

  Socket connect_to_rank(int other, int mesh) {
    const Entry& entry = *entries_[static_cast<std::size_t>(other)];
    const Greeting greeting{entries_.front()->token, started_.rank, mesh};
    std::string why_not;
    do {
      TriedSocket tried = connect_to(entry.address, entry.port, deadline_);
      if (tried.socket.open() &&
          send_all(tried.socket.get(), &greeting, sizeof greeting, deadline_)) {
        return std::move(tried.socket);
      }
      why_not = tried.why_not;
      check_failure();
      std::this_thread::sleep_for(4 * kBetweenReads);
    } while (std::chrono::steady_clock::now() < deadline_);
    throw cannot(fmt::format("cannot reach rank {} on {} at {}, port {}: {}",
                             other,
                             entry.host,
                             entry.address,
                             entry.port,
                             why_not))
        .help("no firewall may close ports between the hosts of the ranks");
  }

  /// None when whoever has come is not a rank that is missed.
  Socket accept_rank(Greeting& greeting, const std::array<std::vector<Socket>, kMeshes>& have) {
    const auto soon = std::chrono::steady_clock::now() + 10 * kBetweenReads;
    Socket socket = accept_from(listening_, std::min<Deadline>(soon, deadline_));
    if (!socket.open()) {
      check_failure();
      if (std::chrono::steady_clock::now() > deadline_) throw_missing(have);
      return {};
    }
    const auto patience = std::chrono::steady_clock::now() + 40 * kBetweenReads;
    if (!receive_all(
            socket.get(), &greeting, sizeof greeting, std::min<Deadline>(patience, deadline_)) ||
        greeting.token != entries_.front()->token || greeting.rank <= started_.rank ||
        greeting.rank >= started_.world || greeting.mesh < 0 || greeting.mesh >= kMeshes) {
      return {};
    }
    return socket;
  }
  [[noreturn]] void throw_missing(const std::array<std::vector<Socket>, kMeshes>& have) const {
    for (int rank = started_.rank + 1; rank < started_.world; ++rank) {
      if (have.back()[static_cast<std::size_t>(rank)].open()) continue;
      throw cannot(fmt::format("rank {} on {} has not connected within {} s",
                               rank,
                               entries_[static_cast<std::size_t>(rank)]->host,
                               patience_.count() / 1000))
          .help("no firewall may close ports between the hosts of the ranks");
    }
    throw cannot("a rank has not connected");
  }

  StartedRank started_;
  std::string version_;
  milliseconds patience_;
  Deadline deadline_;
  QuietStore quiet_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
  Socket listening_;
  std::vector<std::optional<Entry>> entries_;  ///< by rank
  bool told_ = false;                          ///< another rank has told of the failure
  std::atomic<bool> needs_store_{true};
};

}  // namespace

RankWays meet(const StartedRank& started, const std::string& version, milliseconds patience) {
  const auto meeting = std::make_shared<Meeting>(started, version, patience);
  std::promise<RankWays> promise;
  std::future<RankWays> met = promise.get_future();
  // When the store is stuck, this thread is left behind: the process ends.
  std::thread([meeting, promise = std::move(promise)]() mutable {
    try {
      promise.set_value(meeting->run());
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  while (met.wait_for(4 * kBetweenReads) != std::future_status::ready) {
    if (meeting->is_stuck()) throw meeting->no_answer();
  }
  return met.get();
}

}  // namespace elixir::runtime
