// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <nccl.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "measure/collectives/collectives.h"
#include "measure/machine/cuda_resources.h"
#include "replay/cuda_status.h"

namespace elixir::measure {
namespace {

using replay::check_cuda;

/// Values repeat with this period. Counts are multiples of it, so that every rank's part begins
/// with the same value.
constexpr std::int64_t kPeriod = 8;
constexpr std::int64_t kCheckedElements = 1 << 16;

void check_nccl(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw Error(ErrorCode::kDeviceFailure, "{}: {}", what, ncclGetErrorString(result));
}

struct Rank {
  explicit Rank(int device) : device(device) {}
  int device;
  ncclComm_t communicator = nullptr;
  std::unique_ptr<CudaStreamOwner> stream;
  std::unique_ptr<CudaEvent> end;
  at::Tensor send, receive;
};

at::Tensor pattern(std::int64_t n, int device) {
  // Counts in integers, because fp32 is exact only up to 2^24.
  return at::arange(n,
                    at::TensorOptions()
                        .device(at::kCUDA, static_cast<c10::DeviceIndex>(device))
                        .dtype(at::kInt))
      .remainder_(kPeriod)
      .to(at::kFloat);
}

/// Checks that both ends of `part` are `scale` times the pattern plus `offset`.
void expect_pattern(const at::Tensor& part, double scale, double offset, int device) {
  const std::int64_t n = std::min(part.numel(), kCheckedElements) / kPeriod * kPeriod;
  const at::Tensor wanted = pattern(n, device).mul_(scale).add_(offset);
  const std::int64_t last = part.numel() / kPeriod * kPeriod - n;
  for (const std::int64_t at : {std::int64_t{0}, last}) {
    require(part.narrow(0, at, n).equal(wanted), "a collective gave a wrong result");
  }
}

}  // namespace

struct CollectiveGroup::State {
  std::vector<Rank> ranks;
  std::unique_ptr<CudaStreamOwner> timer;
  std::unique_ptr<CudaEvent> start, end;

  /// Queues one collective on every GPU, with `count` elements in total.
  void queue(CollectiveOperation operation, std::size_t count) {
    const std::size_t part = count / ranks.size();
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (Rank& rank : ranks) {
      const void* send = rank.send.data_ptr();
      void* receive = rank.receive.data_ptr();
      const cudaStream_t stream = rank.stream->get();
      ncclResult_t result = ncclSuccess;
      switch (operation) {
        case CollectiveOperation::kAllGather:
          result = ncclAllGather(send, receive, part, ncclFloat, rank.communicator, stream);
          break;
        case CollectiveOperation::kReduceScatter:
          result =
              ncclReduceScatter(send, receive, part, ncclFloat, ncclSum, rank.communicator, stream);
          break;
        case CollectiveOperation::kAllReduce:
          result =
              ncclAllReduce(send, receive, count, ncclFloat, ncclSum, rank.communicator, stream);
          break;
        case CollectiveOperation::kBroadcast:
          result = ncclBroadcast(send, receive, count, ncclFloat, 0, rank.communicator, stream);
          break;
      }
      check_nccl(result, "an NCCL collective");
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }

  void check(CollectiveOperation operation, std::size_t count) const {
    const auto n = static_cast<std::int64_t>(ranks.size());
    const auto whole = static_cast<std::int64_t>(count);
    const double sum_of_ranks = static_cast<double>(n * (n - 1)) / 2;
    for (const Rank& rank : ranks) {
      const DeviceScope there(rank.device);
      check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      switch (operation) {
        case CollectiveOperation::kAllGather:
          for (std::int64_t from = 0; from < n; ++from) {
            expect_pattern(rank.receive.narrow(0, from * (whole / n), whole / n),
                           1,
                           static_cast<double>(from),
                           rank.device);
          }
          break;
        case CollectiveOperation::kReduceScatter:
          expect_pattern(rank.receive.narrow(0, 0, whole / n),
                         static_cast<double>(n),
                         sum_of_ranks,
                         rank.device);
          break;
        case CollectiveOperation::kAllReduce:
          expect_pattern(
              rank.receive.narrow(0, 0, whole), static_cast<double>(n), sum_of_ranks, rank.device);
          break;
        case CollectiveOperation::kBroadcast:
          expect_pattern(rank.receive.narrow(0, 0, whole), 1, 0, rank.device);
          break;
      }
    }
  }
};

std::optional<std::string> collectives_unavailable(int gpus) {
  if (gpus < 2) return "this machine has one GPU";
  return std::nullopt;
}

CollectiveGroup::CollectiveGroup(int gpus, std::size_t most_bytes)
    : state_(std::make_unique<State>()) {
  std::vector<int> devices(static_cast<std::size_t>(gpus));
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<ncclComm_t> communicators(devices.size());
  check_nccl(ncclCommInitAll(communicators.data(), gpus, devices.data()), "ncclCommInitAll");
  const auto elements = static_cast<std::int64_t>(most_bytes / sizeof(float));
  for (const int device : devices) {
    const DeviceScope there(device);
    Rank rank(device);
    rank.communicator = communicators[static_cast<std::size_t>(device)];
    rank.stream = std::make_unique<CudaStreamOwner>();
    rank.end = std::make_unique<CudaEvent>(cudaEventDisableTiming);
    rank.send = pattern(elements, device).add_(device);
    rank.receive = at::empty({elements}, rank.send.options());
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    state_->ranks.push_back(std::move(rank));
  }
  const DeviceScope first(0);
  state_->timer = std::make_unique<CudaStreamOwner>();
  state_->start = std::make_unique<CudaEvent>();
  state_->end = std::make_unique<CudaEvent>();
}

CollectiveGroup::~CollectiveGroup() {
  for (Rank& rank : state_->ranks) {
    (void)cudaStreamSynchronize(rank.stream->get());
    (void)ncclCommDestroy(rank.communicator);
  }
}

std::vector<double> CollectiveGroup::seconds(CollectiveOperation operation,
                                             std::size_t bytes,
                                             int calls,
                                             const Sampling& sampling) {
  State& state = *state_;
  const std::size_t per_rank = state.ranks.size() * static_cast<std::size_t>(kPeriod);
  const std::size_t count = std::max<std::size_t>(1, bytes / sizeof(float) / per_rank) * per_rank;
  for (Rank& rank : state.ranks) {
    const DeviceScope there(rank.device);
    rank.receive.zero_();
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  const DeviceScope first(0);
  std::vector<double> seconds = sample(sampling, [&] {
    hold(state.timer->get());
    state.start->record(state.timer->get());
    for (Rank& rank : state.ranks) {
      check_cuda(cudaStreamWaitEvent(rank.stream->get(), state.start->get(), 0),
                 "cudaStreamWaitEvent");
    }
    for (int call = 0; call < calls; ++call) state.queue(operation, count);
    for (Rank& rank : state.ranks) {
      {
        const DeviceScope there(rank.device);
        rank.end->record(rank.stream->get());
      }
      check_cuda(cudaStreamWaitEvent(state.timer->get(), rank.end->get(), 0),
                 "cudaStreamWaitEvent");
    }
    state.end->record(state.timer->get());
    return seconds_between(*state.start, *state.end) / calls;
  });
  state.check(operation, count);
  return seconds;
}

/// All-gathers, with one queued ahead.
class CollectiveWork : public ContendingWork {
 public:
  CollectiveWork(int gpus, std::size_t bytes) : group_(gpus, bytes), count_(bytes / sizeof(float)) {
    for (std::unique_ptr<CudaEvent>& event : done_) {
      event = std::make_unique<CudaEvent>(cudaEventBlockingSync | cudaEventDisableTiming);
    }
  }
  [[nodiscard]] std::string name() const override { return "all_gather"; }
  void run_unit() override {
    const DeviceScope first(0);
    for (int call = 0; call < kCallsPerUnit; ++call) {
      group_.state_->queue(CollectiveOperation::kAllGather, count_);
    }
    // All GPUs finish together, so the first one's end is enough.
    done_[turn_]->record(group_.state_->ranks.front().stream->get());
    turn_ = 1 - turn_;
    if (queued_) done_[turn_]->wait();
    queued_ = true;
  }
  void finish() override {
    for (const Rank& rank : group_.state_->ranks) {
      check_cuda(cudaStreamSynchronize(rank.stream->get()), "cudaStreamSynchronize");
    }
    queued_ = false;
  }

 private:
  static constexpr int kCallsPerUnit = 8;
  CollectiveGroup group_;
  std::size_t count_;
  std::unique_ptr<CudaEvent> done_[2];
  std::size_t turn_ = 0;
  bool queued_ = false;
};

std::unique_ptr<ContendingWork> make_collective_work(int gpus, std::size_t bytes) {
  return std::make_unique<CollectiveWork>(gpus, bytes);
}

}  // namespace elixir::measure
