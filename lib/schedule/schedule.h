// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The schedule: one training step as tasks on streams. The simulator and the runtime use the same
// object. Rules:
//  - `tasks` is in issue order. Tasks of one stream run in that order (updates of different moments
//  on the cpu stream
//    overlap, and end in it). `after` lists earlier tasks, of any stream, that must finish first;
//    their ids are smaller.
//  - Buffers are allocated before the first step and live until the end. Only operators' storages
//    are allocated and released during a step: an executed operator's fresh outputs when it starts,
//    and `Lifetimes::released_after` when it ends. Gradients and the loss are released by the
//    kCompute that lists them in `releases`, before its first operator (its `after` makes that
//    safe). So device memory depends on issue order alone, on every device.
//  - The kCompute ranges of a micro-batch follow each other without a gap and cover every operator
//    of the phases that run. Each micro-batch ends with an empty range (first == last), which
//    releases whatever is still alive.
//  - A chunk whose parameters live on the host is readable in a block from its kFetch until its
//    kEvict. There is a kEvict only when the block goes to another chunk. At the end of a step
//    every block is given up, because an update may have changed the chunks at home. So at the
//    start of the next step no block holds anything.
//  - Steps overlap: the tasks of a step are issued as soon as those of the step before are. Each
//    stream still runs its tasks in issue order, step after step. `after_previous` lists tasks of
//    the step before, of other streams, that must finish first; the first step has none to wait
//    for. So the optimizer updates chunks in the order in which the next forward needs them, while
//    that forward runs.
//  - Late moments of a step are made by the next one, before it writes gradients where theirs are
//  and
//    before its own updates; with several ranks after the gather of the chunk that the cores have
//    updated last. So between steps they are one step behind. Where gradients of several steps are
//    kept (Plan::kept_gradients), the chunk's buffer has room for all of them, and they take turns
//    in it: which part of it a task means follows from its step. Moments that are made every second
//    step are up to two steps behind, and updates make those of the step before for themselves:
//    whose turn it is, OptimizerPass decides.
//  - With clipping, whichever pass completes a gradient makes its sums of squares: on the device,
//  or
//    on the host where micro-batches are added up there.
//  - With several ranks every rank runs this schedule, on its own shards (plan.h), micro-batches
//  and
//    random numbers. A chunk is readable in a block from its kGather on. Collective tasks are
//    issued in the same order everywhere, because nothing of a schedule depends on the rank.
//  - A step is settled, which means all of its tasks have ended and it is known not to have failed,
//    before the next one issues anything but late moments, loads, fetches, gathers, and compute up
//    to its first loss or gradient. So at most two steps are under way, and a gradient that is not
//    finite is still there when it is found.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::schedule {

using TaskId = std::int32_t;
using BufferId = std::int32_t;

enum class Stream : std::uint8_t {
  kCompute,
  // Copies that belong to updates are apart from those of the next step, which must not queue
  // behind them.
  kDeviceUpdate,  ///< to the device
  kUpdateToHost,  ///< AdamW of what has been copied there, and back: what comes next need not wait
                  ///< for AdamW
  kHostToDevice,
  kDeviceToHost,
  kCollective,
  kReduce,  ///< apart from gathers, which operators wait for: they must not queue behind these
  kCpu
};
inline constexpr int kStreamCount = 8;
[[nodiscard]] std::string_view name_of(Stream stream);
[[nodiscard]] constexpr bool copies_to_device(Stream stream) {
  return stream == Stream::kDeviceUpdate || stream == Stream::kHostToDevice;
}
[[nodiscard]] constexpr bool copies_to_host(Stream stream) {
  return stream == Stream::kUpdateToHost || stream == Stream::kDeviceToHost;
}
/// Whether its tasks exchange something with other ranks.
[[nodiscard]] constexpr bool is_between_ranks(Stream stream) {
  return stream == Stream::kCollective || stream == Stream::kReduce;
}

enum class Arena : std::uint8_t { kDevice, kHost };

enum class BufferRole : std::uint8_t {
  kParameters,       ///< a chunk's parameters at their home
  kBlock,            ///< one block of the rCache; `chunk` is -1
  kPrivateBlock,     ///< the block of a private chunk that operators do not read at home
  kGradients,        ///< a chunk's gradients at their home, in gradient_dtype; of up to three steps
  kGradientLanding,  ///< host, as the program makes them: where a micro-batch's gradients land
                     ///< before they are added up; `chunk` is -1; several take turns
  kMaster,
  kMoment1,
  kMoment2,        ///< fp32, at optimizer_home
  kDeviceStaging,  ///< device: gradients or parameters on their way from or to a device update;
                   ///< `chunk` is -1
  kUpdatePiece,    ///< device: a piece of optimizer state, gradients and parameters of a chunk that
                   ///< lives on the host (update_piece.h); `chunk` is -1; several take turns
  kHostStaging,    ///< host: likewise for a host update; `chunk` is -1; several take turns
  kModuleBuffer,   ///< one Program::buffers entry, device; `chunk` is its position
  kInput,          ///< one Program::inputs entry, device; `chunk` is its position
  kOffloaded,  ///< host, or device in memory of gradients: an activation that waits there; `chunk`
               ///< is the storage id of its copy
  kConstant,   ///< one constant of the program that is not on_host, device; `chunk` is its storage
               ///< id
  kGradientSums,  ///< device: sums of squares for the gradient norm (gradient_sums.h); `chunk` is
                  ///< -1
  // With several ranks:
  /// Device: a chunk's gradients before the ranks add them up, in plan::exchanged_dtype(). `chunk`
  /// is -1, or the one whose own it is: a private chunk, or any where ranks add up once a step.
  kGradientBlock,
  kExchange,        ///< device: plan::received_bytes() of the largest chunk; `chunk` is -1
  kReducedStaging,  ///< device: a shard's sum on its way to the host; `chunk` is -1; several take
                    ///< turns
  kRankSums,        ///< device: as kGradientSums, zero where other ranks make the sum
};

/// Whether what such a buffer holds is moved or added up elsewhere and then worth nothing. A block
/// is not meant, which keeps its chunk until another comes.
[[nodiscard]] bool is_passed_through(BufferRole role);

struct Buffer {
  BufferId id = -1;  ///< position in Schedule::buffers
  Arena arena = Arena::kDevice;
  BufferRole role = BufferRole::kParameters;
  std::int32_t chunk = -1;
  std::int64_t bytes = 0;
  /// The buffer whose memory it uses; -1: memory of its own (shared_gradients.h, lent_gradients.h).
  BufferId shares = -1;
  std::int64_t offset_bytes = 0;  ///< in that memory
};

enum class TaskKind : std::uint8_t {
  kLoadInputs,  ///< h2d: the micro-batch's inputs into the input buffers
  kCompute,     ///< compute: operators [first, last) of `program` that are executed
  kFetch,       ///< h2d: chunk's parameters, home -> block `destination`; of several ranks each its
                ///< shard, to the shard's place in the block
  kEvict,  ///< compute: the block `source` of `chunk` is given up; moves nothing (parameters are
           ///< clean)
  kStoreGradient,  ///< one parameter's gradient from the operator's storage into `destination` at
                   ///< its element offset. Device home: compute stream; micro-batch > 0 or several:
                   ///< convert/add in fp32. Host home: d2h, into the gradients (one micro-batch) or
                   ///< the landing buffer (several)
  kAccumulate,     ///< cpu: landing buffer converted into (micro-batch 0) or added to the fp32
                   ///< gradients, one parameter
  kGradientNorm,   ///< compute: sums of squares of one parameter's gradient, before it goes to the
                   ///< host, into `destination`
  kClip,           ///< compute: all sums of squares -> global norm and clip factor
  kMoveGradients,  ///< device-update or update-to-host: a chunk's gradients between home and
                   ///< staging, for an update elsewhere
  kUpdateMoments,  ///< cpu: the moments that the update of the step before has left to later
  ///< (plan::Chunk::late_moments), from its gradients, which are still in `source`. In
  ///< the first step there are none
  kUpdate,  ///< AdamW of a chunk at its optimizer home (compute or cpu): gradients `source` ->
            ///< parameters `destination` (their home, staging, or in fp32 the master itself). Of a
            ///< piece (update-to-host): in `source`; parameters that live on the device go home.
            ///< Of a chunk with late moments: of master and parameters alone
  kLoadState,   ///< device-update: a piece of a chunk's master, moments and, where they live on the
                ///< host, gradients to `destination`
  kStoreState,  ///< update-to-host: a piece of master, moments (unless they are late) and, where
                ///< they live on the host, parameters from `source` to their homes
  kMoveParameters,  ///< device-update or update-to-host: updated parameters from `source` (staging;
                    ///< in fp32 the master) to their home `destination`
  kReadLoss,        ///< d2h: the micro-batch's loss to the host
  kOffload,  ///< d2h: an activation to its buffer on the host, between the operators that begin and
             ///< end this in the program. To one on the device: compute
  kReload,   ///< h2d: back from there into the storage that backward reads, likewise. From the
             ///< device: compute
  // Places for later work: disk.

  // With several ranks, on the collective stream unless it says otherwise. Gradients go to their
  // chunk's block by kStoreGradient.
  kGather,  ///< all shards of a chunk's parameters to the block `destination` of every rank. A
            ///< rank's own comes from `source`, or is there when `source` is -1 (after kFetch)
  /// The gradients of a chunk in block `source` of every rank: each rank gets its shard from all of
  /// them, and adds them up in fp32, in rank order, into (the first of plan::gradient_parts()) or
  /// on top of `destination`: the gradients at home, or staging for the host. On the reduce stream.
  kReduce,
  kStoreShard,   ///< d2h: from staging `source` into the gradients (one part) or the landing
                 ///< buffer (several). There kAccumulate adds up whole shards: `parameter` is -1
  kGatherSums,   ///< `source` of all ranks -> `destination`: every sum of squares is one rank's
  kShareBuffers  ///< the module's buffers that the step changed: every rank gets those of rank 0
};
[[nodiscard]] std::string_view name_of(TaskKind kind);

/// A gradient that its operator writes to its chunk's block, at its offset, instead of new memory.
struct DirectGradient {
  std::int32_t parameter = -1;  ///< position in Program::parameters
  BufferId block = -1;
};

struct Task {
  TaskId id = -1;
  TaskKind kind = TaskKind::kCompute;
  Stream stream = Stream::kCompute;
  std::vector<TaskId> after;
  std::vector<TaskId> after_previous;  ///< of the step before; any ids
  std::int32_t program = 0;            ///< position in Plan::programs
  std::int32_t micro_batch = -1;
  program::OperatorId first = -1, last = -1;  ///< kCompute
  std::int32_t chunk = -1;
  std::int32_t parameter = -1;  ///< position in Program::parameters: kStoreGradient, kAccumulate
  BufferId source = -1, destination = -1;
  std::int64_t first_element = 0;   ///< of a piece: in the chunk
  std::int64_t elements = 0;        ///< of a piece; 0: the task is about the whole chunk
  program::StorageId storage = -1;  ///< kOffload, kReload: the one on the device
  std::int64_t bytes = 0;           ///< moved over the stream, or touched by the pass
  bool sums_squares =
      false;  ///< kStoreGradient, kAccumulate: the pass also makes the sums of squares
  /// kCompute only: storages of `micro_batch` to release before the first operator of the range.
  std::vector<program::StorageId> releases;
  /// kCompute only, with several ranks: of operators of the range. Nothing stores these gradients.
  std::vector<DirectGradient> direct;
};

struct Schedule {
  std::vector<Buffer> buffers;
  std::vector<Task> tasks;
  int micro_batches = 1;
  bool training = true;  ///< false: forward only, without gradients and update
};

/// Whether the thread that issues a stream's tasks waits for what they wait for, and not the GPU.
/// State is loaded faster than room for it comes free; what is enqueued before there is room holds
/// up fetches on other streams, by 20 to 50 ms each (docs/measured/slowdowns.md).
[[nodiscard]] constexpr bool waits_on_host(Stream stream) {
  return stream == Stream::kCpu || stream == Stream::kDeviceUpdate;
}

/// Who waits for the end of a task, other than its own stream. The host waits for its time, too:
/// for tasks before those of streams that wait on the host, for those that read a loss, and for the
/// last one of each stream.
enum class Awaited : std::uint8_t { kByNobody, kByStreams, kByHost };
/// By task id.
[[nodiscard]] std::vector<Awaited> awaited_ends(const Schedule& schedule);

/// Whether the sum of `reduce`, a kReduce, goes on top of what is in `destination`: of
/// micro-batches before, on the device. What goes to the host is added up there.
[[nodiscard]] bool adds_to_sum(const Task& reduce, const plan::Plan& plan);
/// Whether ranks that hold the same shard exchange the parts of it that `reduce`, a kReduce, has
/// added up. On the device that is enough once, after the last micro-batch. What goes to the host
/// is a whole shard each time.
[[nodiscard]] bool shares_parts(const Task& reduce, const plan::Plan& plan);

struct LoweringOptions {
  bool clip_gradients = false;  ///< updates wait for the global gradient norm
  bool training = true;         ///< false: only operators of the forward phase
};

/// Makes the tasks of one step. Belady's rule over the step's chunk uses chooses the block for each
/// chunk: the chunk with the farthest next use is evicted, ties by chunk id. A fetch is issued as
/// soon as the last use of the block's old chunk is issued, so that the host-to-device stream runs
/// as far ahead of compute as the blocks allow. Throws kInconsistentPlan when an operator needs
/// more chunks at once than there are blocks.
[[nodiscard]] Schedule lower(const program::Program& program,
                             const program::Lifetimes& lifetimes,
                             const plan::Plan& plan,
                             const LoweringOptions& options);

/// Checks a schedule without any code of lower(). Walks the tasks of two steps in a row and returns
/// every broken rule; empty when there is none. Examples: a parameter read before its fetch or
/// after its eviction, a storage read before it exists or after its release, an update before its
/// gradient is complete, a race between streams not ordered by `after`, a gradient never applied,
/// an operator missing or run twice, a forward-only schedule that writes.
[[nodiscard]] std::vector<std::string> check(const Schedule& schedule,
                                             const program::Program& program,
                                             const plan::Plan& plan);

}  // namespace elixir::schedule
