// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The schedule: one training step as tasks on streams. The simulator and the runtime use the same
// object. Rules:
//  - Order. `tasks` is in issue order, and the tasks of one stream run in that order. (Updates of
//    different moments on the cpu stream overlap, and end in that order.) `after` lists earlier
//    tasks, of any stream, that must finish first; their ids are smaller.
//  - Memory. Buffers are allocated before the first step and live until the end. Only operators'
//    storages are allocated and released during a step: an executed operator's fresh outputs when
//    it starts, and `Lifetimes::released_after` when it ends. Gradients and the loss are released
//    by the kCompute that lists them in `releases`, before its first operator (its `after` makes
//    that safe). So device memory depends on issue order alone, on every device.
//  - Compute. The kCompute ranges of a micro-batch follow each other without a gap and cover every
//    operator of the phases that run. Each micro-batch ends with an empty range (first == last),
//    which releases whatever is still alive.
//  - Blocks. A chunk whose parameters live on the host is readable in a block from its kFetch until
//    its kEvict. There is a kEvict only when the block goes to another chunk. Every block is given
//    up at the end of a step, because an update may have changed the chunks at home.
//  - Steps overlap. The tasks of step N+1 are issued as soon as the tasks of step N are. Each
//    stream still runs its tasks in issue order, step after step. `after_previous` lists tasks of
//    the step before, of other streams, that must finish first; the first step has none to wait
//    for. So the optimizer updates chunks in the order in which the next forward needs them, while
//    that forward runs.
//  - Late moments. Step N+1 computes step N's deferred moments before it overwrites the gradients
//    that they need, and before its own updates. With several ranks it starts them after the gather
//    of the chunk that the cores update last. So between steps late moments are one step behind.
//    When the plan keeps gradients of several steps (Plan::kept_gradients), the chunk's buffer has
//    a part for each of them, and steps take the parts in turn: the number of the step says which
//    part a task means. Moments that are made every second step are up to two steps behind; an
//    update in between makes the step before's moments for itself. OptimizerPass decides which step
//    it is.
//  - Clipping. The pass that completes a gradient also makes its sums of squares: on the device, or
//    on the host when micro-batches are added up there.
//  - Ranks. Every rank runs this schedule, on its own shards (plan.h), micro-batches and random
//    numbers. A chunk is readable in a block from its kGather on. Every rank issues collective
//    tasks in the same order, because nothing of a schedule depends on the rank.
//  - Settled steps. A step is settled when all of its tasks have ended and it is known not to have
//    failed. Until then the next step issues only late moments, loads, fetches, gathers, and
//    compute up to its first loss or gradient. So at most two steps are under way, and a gradient
//    that is not finite is still there when it is found.

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
  // Copies of updates have streams of their own, so that the next step's copies do not queue behind
  // them.
  kDeviceUpdate,  ///< to the device
  kUpdateToHost,  ///< AdamW of a piece on the device, and its way back to the host: loads of the
                  ///< next piece need not wait for it
  kHostToDevice,
  kDeviceToHost,
  kCollective,
  kReduce,  ///< apart from gathers: operators wait for gathers, which must not queue behind sums
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
  kParameters,    ///< a chunk's parameters at their home
  kBlock,         ///< one block of the rCache; `chunk` is -1
  kPrivateBlock,  ///< the block of a private chunk that operators do not read at home
  kGradients,  ///< a chunk's gradients at their home, in gradient_dtype; up to three steps' at once
  kGradientLanding,  ///< host: where a micro-batch's gradients land, in the program's dtype, before
                     ///< they are added up; `chunk` is -1; several take turns
  kMaster,
  kMoment1,
  kMoment2,        ///< fp32, at optimizer_home
  kDeviceStaging,  ///< device: gradients or parameters on their way from or to a device update;
                   ///< `chunk` is -1
  kUpdatePiece,    ///< device: a piece of optimizer state, gradients and parameters of a chunk that
                   ///< lives on the host (update_piece.h); `chunk` is -1; several take turns
  kHostStaging,    ///< host: gradients or parameters on their way from or to a host update; `chunk`
                   ///< is -1; several take turns
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
  /// is -1 when chunks take turns. A private chunk has a block of its own, and so has every chunk
  /// when ranks add up once a step.
  kGradientBlock,
  kExchange,        ///< device: plan::received_bytes() of the largest chunk; `chunk` is -1
  kReducedStaging,  ///< device: a shard's sum on its way to the host; `chunk` is -1; several take
                    ///< turns
  kRankSums,        ///< device: as kGradientSums, zero where other ranks make the sum
};

/// Whether a buffer of this role only passes its content on: once the content is moved or added up
/// elsewhere, it is worth nothing. False for a block, which keeps its chunk until another comes.
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
  kFetch,  ///< h2d: chunk's parameters, home -> block `destination`; with several ranks each rank
           ///< its own shard, to the shard's place in the block
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
  kUpdateMoments,  ///< cpu: the moments that the step before has deferred
                   ///< (plan::Chunk::late_moments), from its gradients, which are still in
                   ///< `source`; nothing in the first step
  kUpdate,  ///< AdamW of a chunk at its optimizer home (compute or cpu): gradients `source` ->
            ///< parameters `destination` (their home, staging, or in fp32 the master itself). A
            ///< piece (update-to-host) is updated in `source`; parameters that live on the device
            ///< go home. With late moments it updates master and parameters alone
  kLoadState,   ///< device-update: a piece of a chunk's master, moments and, where they live on the
                ///< host, gradients to `destination`
  kStoreState,  ///< update-to-host: a piece of master, moments (unless they are late) and, where
                ///< they live on the host, parameters from `source` to their homes
  kMoveParameters,  ///< device-update or update-to-host: updated parameters from `source` (staging;
                    ///< in fp32 the master) to their home `destination`
  kReadLoss,        ///< d2h: the micro-batch's loss to the host
  kOffload,  ///< d2h: an activation to its buffer on the host, between the operators that begin and
             ///< end the copy in the program. On the compute stream when the buffer is on the
             ///< device
  kReload,   ///< h2d: the activation back from its buffer into the storage that backward reads,
             ///< between the operators that begin and end the copy. On the compute stream when the
             ///< buffer is on the device
  // Places for later work: disk.

  // With several ranks, on the collective stream unless it says otherwise. Gradients go to their
  // chunk's block by kStoreGradient.
  kGather,  ///< all shards of a chunk's parameters to the block `destination` of every rank. A
            ///< rank's own comes from `source`, or is there when `source` is -1 (after kFetch)
  /// The gradients of a chunk in block `source` of every rank: each rank gets its shard from all of
  /// them, and adds them up in fp32, in rank order, into (the first of plan::gradient_parts()) or
  /// on top of `destination`: the gradients at home, or staging for the host. On the reduce stream.
  kReduce,
  kStoreShard,  ///< d2h: from staging `source` into the gradients (one part) or the landing
                ///< buffer (several). There kAccumulate adds up whole shards: `parameter` is -1
  kGatherSums,  ///< `source` of all ranks -> `destination`: each sum of squares comes from the rank
                ///< that made it
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
  std::int64_t first_element = 0;   ///< a piece's first element, in the chunk
  std::int64_t elements = 0;        ///< a piece's elements; 0: the task is about the whole chunk
  program::StorageId storage = -1;  ///< kOffload, kReload: the one on the device
  std::int64_t bytes = 0;           ///< moved over the stream, or touched by the pass
  bool sums_squares =
      false;  ///< kStoreGradient, kAccumulate: the pass also makes the sums of squares
  /// kCompute only: storages of `micro_batch` to release before the first operator of the range.
  std::vector<program::StorageId> releases;
  /// kCompute only, with several ranks: gradients that operators of the range write to their
  /// blocks. No kStoreGradient follows for them.
  std::vector<DirectGradient> direct;
};

struct Schedule {
  std::vector<Buffer> buffers;
  std::vector<Task> tasks;
  int micro_batches = 1;
  bool training = true;  ///< false: forward only, without gradients and update
};

/// Whether the thread that issues the stream's tasks waits for their predecessors, instead of the
/// GPU. Reason: state is loaded faster than room for it comes free, and a copy that is enqueued
/// before there is room holds up fetches on other streams by 20 to 50 ms
/// (docs/measured/slowdowns.md).
[[nodiscard]] constexpr bool waits_on_host(Stream stream) {
  return stream == Stream::kCpu || stream == Stream::kDeviceUpdate;
}

/// Who waits for the end of a task, other than its own stream. The host waits for a task that
/// precedes one of a stream that waits on the host, for a task that reads a loss, and for the last
/// task of each stream.
enum class Awaited : std::uint8_t { kByNobody, kByStreams, kByHost };
/// By task id.
[[nodiscard]] std::vector<Awaited> awaited_ends(const Schedule& schedule);

/// Whether the sum of `reduce`, a kReduce, is added to the earlier micro-batches' sum in
/// `destination`. Only on the device: the host adds up what goes to the host.
[[nodiscard]] bool adds_to_sum(const Task& reduce, const plan::Plan& plan);
/// Whether ranks that hold the same shard exchange the parts of it that `reduce`, a kReduce, has
/// added up. On the device one exchange after the last micro-batch is enough. To the host goes a
/// whole shard each time.
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
