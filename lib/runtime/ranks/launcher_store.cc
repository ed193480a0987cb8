// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/launcher_store.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/ranks/apart.h"
#include "runtime/ranks/wire.h"

C10_DECLARE_int(caffe2_log_level);

namespace elixir::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenReads{50};
constexpr std::chrono::seconds kForACall{5};

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

/// What the thread of the store has in common with those that ask.
struct Board {
  std::string host, key;
  int port = 0;
  std::atomic<bool> ends{false}, published{false};
  std::mutex mutex;
  std::optional<Endpoint> to_publish, read;
  std::string why_not = "it does not answer";
};

/// Until this is no longer wanted, or rank 0's address is published.
void look_after(Board& board) {
  const QuietStore quiet;
  while (!board.ends && !board.published) {
    try {
      c10d::TCPStoreOptions options;
      options.port = static_cast<std::uint16_t>(board.port);
      options.waitWorkers = false;
      options.timeout = kForACall;
      c10d::TCPStore store(board.host, options);
      while (!board.ends && !board.published) {
        std::optional<Endpoint> own;
        {
          const std::scoped_lock lock(board.mutex);
          own = board.to_publish;
          board.why_not = "rank 0 has not come";
        }
        if (own) {
          const std::string text = text_of(*own);
          store.set(board.key, std::vector<std::uint8_t>(text.begin(), text.end()));
          board.published = true;
        } else if (store.check({board.key})) {
          const std::vector<std::uint8_t> bytes = store.get(board.key);
          const std::scoped_lock lock(board.mutex);
          board.read = endpoint_of(std::string(bytes.begin(), bytes.end()));
          if (!board.read) board.why_not = "it has no address of rank 0";
        }
        std::this_thread::sleep_for(kBetweenReads);
      }
    } catch (const std::exception& error) {
      // The store's errors have long texts with backtraces.
      const std::string text = error.what();
      const std::scoped_lock lock(board.mutex);
      board.why_not = printable(text.substr(0, text.find('\n')));
    }
    std::this_thread::sleep_for(kBetweenReads);
  }
}

class TorchrunStore final : public LauncherStore {
 public:
  explicit TorchrunStore(std::shared_ptr<Board> board) : board_(std::move(board)) {
    run_apart([board = board_] { look_after(*board); });
  }
  ~TorchrunStore() override { board_->ends = true; }
  TorchrunStore(const TorchrunStore&) = delete;
  TorchrunStore& operator=(const TorchrunStore&) = delete;

  void publish(const Endpoint& rank_0) override {
    const std::scoped_lock lock(board_->mutex);
    board_->to_publish = rank_0;
  }
  [[nodiscard]] bool published() const override { return board_->published; }
  [[nodiscard]] std::optional<Endpoint> rank_0() override {
    const std::scoped_lock lock(board_->mutex);
    return board_->read;
  }
  [[nodiscard]] std::string why_not() const override {
    const std::scoped_lock lock(board_->mutex);
    return board_->why_not;
  }

 private:
  std::shared_ptr<Board> board_;
};

}  // namespace

std::unique_ptr<LauncherStore> make_launcher_store(const std::string& host,
                                                   int port,
                                                   const std::string& attempt) {
  auto board = std::make_shared<Board>();
  board->host = host;
  board->port = port;
  board->key = "elixir/" + attempt + "/rank-0";
  return std::make_unique<TorchrunStore>(std::move(board));
}

}  // namespace elixir::runtime
