// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Measures ways in which GPUs can tell each other that a part of an exchange may come and has come
// (runtime/ranks/peer_copies.h): how long an exchange takes whose parts are small, and one whose
// parts are large, alone, beside copies between the GPUs and the host, and beside these and cores
// that copy memory. Then it asks whether a stream could write a counter while others wait. Needs
// two GPUs that reach each other's memory. No result but the time is checked.
//
// usage: exchange_benchmark [--rounds N] [--json]   by default 9 rounds; figures are medians
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "benchmarks/arguments.h"
#include "benchmarks/gpu_streams.h"
#include "benchmarks/median.h"

namespace elixir::benchmarks {
namespace {

constexpr std::size_t kCopiedBytes = std::size_t{32} << 20;
constexpr std::array<std::size_t, 2> kPartBytes{4096, std::size_t{32} << 20};
constexpr std::size_t kLineBytes = 64;  // a counter has a cache line of its own
constexpr int kCounters = 2;            // a place is free, a part has arrived

struct Options {
  long rounds = 9;
  bool json = false;
};

struct Way {
  const char* name;
  bool on_gpu;      ///< counters are in the GPUs' memory, not in the host's
  bool for_all;     ///< a rank has one counter that all read, not one for each other rank
  bool in_batches;  ///< one call of the driver writes and waits
};
constexpr std::array<Way, 5> kWays{{
    {"a counter for each other rank, one call each", false, false, false},
    {"a counter for each other rank", false, false, true},
    {"one counter for all", false, true, true},
    {"a counter for each other rank, GPUs' memory", true, false, true},
    {"one counter for all, GPUs' memory", true, true, true},
}};

/// What a thread does. When it fails, the others wait for it on the GPU: the process ends.
template <class Work>
void or_exit(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "exchange_benchmark: {}\n", error.what());
    std::_Exit(4);
  }
}

PFN_cuStreamBatchMemOp_v11070 batch_call() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned int kCuda12 = 12000;
  check(cudaGetDriverEntryPointByVersion(
      "cuStreamBatchMemOp", &found, kCuda12, cudaEnableDefault, &result));
  if (found == nullptr) throw std::runtime_error("the driver has no cuStreamBatchMemOp");
  return reinterpret_cast<PFN_cuStreamBatchMemOp_v11070>(found);
}

CUstreamBatchMemOpParams write_of(std::uint64_t address, std::uint32_t value) {
  CUstreamBatchMemOpParams operation{};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = address;
  operation.writeValue.value = value;
  return operation;
}
CUstreamBatchMemOpParams wait_for(std::uint64_t address, std::uint32_t least) {
  CUstreamBatchMemOpParams operation{};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = address;
  operation.waitValue.value = least;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return operation;
}

/// All GPUs of this process. Its memory is freed with the process.
class Gpus {
 public:
  explicit Gpus(int count) : count_(count), batch_(batch_call()) {
    // The last one is the gate.
    const std::size_t counters =
        (static_cast<std::size_t>(count * count * kCounters) + 1) * kLineBytes;
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, counters, cudaHostAllocPortable | cudaHostAllocMapped));
    std::memset(memory, 0, counters);
    on_host_ = reinterpret_cast<std::uint64_t>(memory);
    for (int gpu = 0; gpu < count; ++gpu) {
      check(cudaSetDevice(gpu));
      for (int peer = 0; peer < count; ++peer) {
        if (peer != gpu) check(cudaDeviceEnablePeerAccess(peer, 0));
      }
      check(cudaMalloc(&memory, kPartBytes.back() * static_cast<std::size_t>(count)));
      parts_.push_back(static_cast<char*>(memory));
      check(cudaMalloc(&memory, counters));
      check(cudaMemset(memory, 0, counters));
      check(cudaDeviceSynchronize());
      on_gpu_.push_back(reinterpret_cast<std::uint64_t>(memory));
      streams_.push_back(make_stream());
    }
  }
  /// Microseconds of an exchange in which each GPU sends `bytes` to each other one, of the slowest.
  double microseconds(const Way& way, std::size_t bytes) {
    // All are enqueued before the first begins, so that no thread is waited for: a stream takes
    // some 1,000 calls.
    constexpr int kCalls = 512, kCallsForEachPeer = 5;
    const int exchanges = std::max(1, kCalls / kCallsForEachPeer / (count_ - 1));
    ++gate_;
    std::barrier enqueued(count_ + 1);
    std::vector<double> times(static_cast<std::size_t>(count_));
    std::vector<std::thread> threads;
    for (int gpu = 0; gpu < count_; ++gpu) {
      threads.emplace_back([&, gpu] {
        or_exit([&] {
          check(cudaSetDevice(gpu));
          std::uint32_t count = done_;
          std::array<cudaEvent_t, 2> events{};
          for (cudaEvent_t& event : events) check(cudaEventCreate(&event));
          const cudaStream_t stream = streams_[static_cast<std::size_t>(gpu)];
          CUstreamBatchMemOpParams open = wait_for(gate_address(), gate_);
          check(batch_(stream, 1, &open, 0));
          exchange(way, gpu, bytes, ++count);  // the others may begin later
          check(cudaEventRecord(events[0], stream));
          for (int i = 0; i < exchanges; ++i) exchange(way, gpu, bytes, ++count);
          check(cudaEventRecord(events[1], stream));
          enqueued.arrive_and_wait();
          check(cudaEventSynchronize(events[1]));
          float ms = 0;
          check(cudaEventElapsedTime(&ms, events[0], events[1]));
          for (cudaEvent_t event : events) check(cudaEventDestroy(event));
          times[static_cast<std::size_t>(gpu)] = 1e3 * static_cast<double>(ms) / exchanges;
        });
      });
    }
    enqueued.arrive_and_wait();
    open_gate();
    for (std::thread& thread : threads) thread.join();
    done_ += static_cast<std::uint32_t>(exchanges) + 1;
    return *std::max_element(times.begin(), times.end());
  }

  /// Whether a stream of the highest priority can write while many others wait for a counter in the
  /// host's memory.
  bool can_write_beside_waits() {
    constexpr int kWaiting = 40;
    check(cudaSetDevice(0));
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    cudaStream_t writing = nullptr;
    check(cudaStreamCreateWithPriority(&writing, cudaStreamNonBlocking, highest));
    std::vector<cudaStream_t> waiting(kWaiting);
    for (cudaStream_t& stream : waiting) stream = make_stream();
    ++gate_;
    CUstreamBatchMemOpParams operation = wait_for(gate_address(), gate_);
    for (const cudaStream_t stream : waiting) check(batch_(stream, 1, &operation, 0));
    operation = write_of(on_gpu_[0], done_);
    check(batch_(writing, 1, &operation, 0));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady && std::chrono::steady_clock::now() < until) {
      status = cudaStreamQuery(writing);
    }
    open_gate();
    if (status != cudaErrorNotReady) check(status);
    check(cudaDeviceSynchronize());
    for (const cudaStream_t stream : waiting) check(cudaStreamDestroy(stream));
    check(cudaStreamDestroy(writing));
    return status == cudaSuccess;
  }

 private:
  static void check(cudaError_t status) { benchmarks::check(status); }
  static void check(CUresult result) {
    if (result != CUDA_SUCCESS)
      throw std::runtime_error(fmt::format("the driver's error {}", static_cast<int>(result)));
  }

  void exchange(const Way& way, int gpu, std::size_t bytes, std::uint32_t count) {
    const cudaStream_t stream = streams_[static_cast<std::size_t>(gpu)];
    for (int counter = 0; counter < kCounters; ++counter) {
      std::vector<CUstreamBatchMemOpParams> operations;
      for (int i = 1; i < count_; ++i) {
        const int peer = (gpu + i) % count_;
        if (!way.for_all) operations.push_back(write_of(address(way, counter, peer, gpu), count));
      }
      if (way.for_all) operations.push_back(write_of(address(way, counter, gpu, gpu), count));
      for (int i = 1; i < count_; ++i) {
        const int peer = (gpu + i) % count_;
        const int place = way.for_all ? peer : gpu;
        operations.push_back(wait_for(address(way, counter, place, peer), count));
      }
      const std::size_t at_once = way.in_batches ? operations.size() : 1;
      for (std::size_t i = 0; i < operations.size(); i += at_once) {
        check(batch_(stream, static_cast<unsigned>(at_once), &operations[i], 0));
      }
      if (counter > 0) continue;
      for (int i = 1; i < count_; ++i) {
        const std::size_t place = static_cast<std::size_t>(gpu) * kPartBytes.back();
        char* const there = parts_[static_cast<std::size_t>((gpu + i) % count_)] + place;
        char* const here = parts_[static_cast<std::size_t>(gpu)] + place;
        check(cudaMemcpyAsync(there, here, bytes, cudaMemcpyDefault, stream));
      }
    }
  }
  /// The address of the counter of GPU `place` that `written_by` writes.
  [[nodiscard]] std::uint64_t address(const Way& way,
                                      int counter,
                                      int place,
                                      int written_by) const {
    const int index = (place * count_ + written_by) * kCounters + counter;
    const std::uint64_t begin = way.on_gpu ? on_gpu_[static_cast<std::size_t>(place)] : on_host_;
    return begin + static_cast<std::uint64_t>(index) * kLineBytes;
  }

  [[nodiscard]] std::uint64_t gate_address() const {
    return on_host_ + static_cast<std::uint64_t>(count_ * count_ * kCounters) * kLineBytes;
  }
  void open_gate() const {
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(gate_address())).store(gate_);
  }

  int count_;
  PFN_cuStreamBatchMemOp_v11070 batch_;
  std::uint64_t on_host_ = 0;
  std::vector<std::uint64_t> on_gpu_;  // by GPU
  std::vector<char*> parts_;           // likewise, with a place for each GPU's part
  std::vector<cudaStream_t> streams_;  // likewise
  std::uint32_t done_ = 0;             // exchanges
  std::uint32_t gate_ = 0;             // streams wait until the gate's counter is as large
};

/// A core that copies memory, until it is destroyed.
class BackgroundCore {
 public:
  BackgroundCore()
      : memory_(2 * kCopiedBytes), thread_([this] {
          while (!stopping_.load()) {
            std::memcpy(memory_.data(), memory_.data() + kCopiedBytes, kCopiedBytes);
          }
        }) {}
  ~BackgroundCore() {
    stopping_.store(true);
    thread_.join();
  }
  BackgroundCore(const BackgroundCore&) = delete;
  BackgroundCore& operator=(const BackgroundCore&) = delete;

 private:
  std::vector<char> memory_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

void measure(Gpus& gpus, const Options& options, const char* beside, nlohmann::json& rows) {
  for (const std::size_t bytes : kPartBytes) {
    for (const Way& way : kWays) {
      std::vector<double> times;
      for (long round = 0; round < options.rounds; ++round) {
        times.push_back(gpus.microseconds(way, bytes));
      }
      rows.push_back({{"way", way.name},
                      {"beside", beside},
                      {"part_bytes", bytes},
                      {"exchange_us", median(times)}});
      if (options.json) continue;
      fmt::print(
          "{:<18} {:>6} KiB  {:<46} {:8.1f} us\n", beside, bytes >> 10, way.name, median(times));
    }
  }
}

int benchmark(const Options& options) {
  int count = 0;
  check(cudaGetDeviceCount(&count));
  if (count < 2) throw std::runtime_error("exchanges need two GPUs");
  Gpus gpus(count);
  nlohmann::json report = {
      {"gpus", count}, {"rounds", options.rounds}, {"rows", nlohmann::json::array()}};
  measure(gpus, options, "nothing", report["rows"]);
  {
    std::vector<std::unique_ptr<BackgroundCopies>> copies;
    for (int gpu = 0; gpu < count; ++gpu) {
      check(cudaSetDevice(gpu));
      copies.push_back(std::make_unique<BackgroundCopies>());
    }
    measure(gpus, options, "copies", report["rows"]);
    const std::vector<BackgroundCore> cores(
        std::max(1U, std::thread::hardware_concurrency() * 3 / 4));
    measure(gpus, options, "copies and cores", report["rows"]);
  }
  report["writes_beside_waits"] = gpus.can_write_beside_waits();
  if (options.json) {
    std::cout << report.dump(2) << '\n';
  } else {
    fmt::print("a stream {} write while 40 others wait\n",
               report["writes_beside_waits"].get<bool>() ? "can" : "cannot");
  }
  return 0;
}

}  // namespace
}  // namespace elixir::benchmarks

int main(int argc, char** argv) {
  elixir::benchmarks::Options options;
  return elixir::benchmarks::run({.name = "exchange_benchmark",
                                  .usage = "[--rounds N] [--json]",
                                  .numbers = {{"--rounds", &options.rounds}},
                                  .json = &options.json},
                                 argc,
                                 argv,
                                 [&] { return elixir::benchmarks::benchmark(options); });
}
