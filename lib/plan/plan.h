// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The plan document (`elixir.plan`). It contains every choice, and nothing that can be derived. It
// refers to parameters by name, never by pointer or by an id of a process, so that any trainer that
// captures the same program can use it.
//
// Layout rule: inside a chunk, parameters are dense, start at multiples of 256 bytes and are padded
// with zeros. The gradient, master and moment buffers of a chunk have the same *element* layout in
// their own dtype.
// A plan is for one rank. With several ranks (`world`), a chunk is cut into equal shards. Each rank
// holds one shard of everything that the chunk keeps between uses, at the homes that the chunk
// names. There are as many shards as ranks in a replica (rank_grid.h); with one replica, as many as
// ranks. Shards are multiples of kPieceUnitElements, and no block of that many elements of a
// parameter, counted from its start, lies in two shards: so the sums of squares for the gradient
// norm are the same under every plan (docs/design/arithmetic.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/name_table.h"
#include "plan/rank_grid.h"
#include "program/program.h"

namespace elixir::plan {

/// Parameters, gradients and shards start at multiples of this.
inline constexpr std::int64_t kAlignmentBytes = 256;

/// Pieces of optimizer state and shards are multiples of this.
inline constexpr std::int64_t kPieceUnitElements = 65'536;

/// GPUs that a plan may be for.
inline constexpr int kMostRanks = 4096;

enum class Home : std::uint8_t { kDevice, kHost };

struct ChunkParameter {
  std::string name;
  std::int64_t offset_bytes = 0;
};

/// How fp32 masters of bf16 parameters are kept. Separate: in four bytes beside the parameter.
/// Split: when parameter and master have the same home, the parameter is the master's upper half,
/// and the lower half, two bytes, is beside it (kernels/split_master.h). Both give the same bits.
enum class Master : std::uint8_t { kSeparate, kSplit };
inline constexpr NameTable<Master, 2> kMasters{
    {{Master::kSeparate, "separate"}, {Master::kSplit, "split"}}};

inline constexpr NameTable<program::DType, 2> kMomentDTypes{
    {{program::DType::kFloat32, "fp32"}, {program::DType::kBFloat16, "bf16"}}};

/// The beta2 of plans with such moments: AdamW's usual one, and for bf16 one that lets them decay.
[[nodiscard]] constexpr double beta2_of(program::DType moments) {
  return moments == program::DType::kBFloat16 ? 0.95 : 0.999;
}
/// The largest that moments of the dtype can follow. Near a bf16 value the next one is a 256th to a
/// 512th of it away. A second moment that loses less than half of that in a step keeps its old
/// value: it can grow but never decay.
[[nodiscard]] constexpr double largest_beta2_of(program::DType moments) {
  return moments == program::DType::kBFloat16 ? 1 - 1.0 / 512 : 1;
}

struct Chunk {
  std::int64_t bytes = 0;  ///< parameters and padding, in `dtype`
  program::DType dtype = program::DType::kFloat32;
  std::vector<ChunkParameter> parameters;
  /// Private: holds one parameter that is used in several places (tied). It keeps its own block for
  /// the whole step.
  enum class Kind : std::uint8_t { kPublic, kPrivate } kind = Kind::kPublic;
  Home parameter_home = Home::kDevice;
  Home gradient_home = Home::kDevice;
  program::DType gradient_dtype = program::DType::kFloat32;  ///< see summed_dtype()
  Home optimizer_home = Home::kDevice;  ///< where master and moments are, and AdamW runs
  /// AdamW runs on the device although the state lives on the host: the state goes to the device in
  /// pieces, and back.
  bool streams_update = false;
  /// The update makes only parameters and masters, because the next forward waits for them alone.
  /// The next step makes the moments from the same gradients, beside its backward, when the host's
  /// memory has time. Requires clipping, and gradients and optimizer state on the host.
  bool late_moments = false;
};

/// The largest Plan::kept_gradients.
inline constexpr int kMostKeptGradients = 3;

struct Cache {
  std::int64_t blocks = 0;
  std::int64_t block_bytes = 0;
  /// Most bytes of gradients that wait for their copy to the host, beyond the one being computed.
  /// 0: compute waits for each copy.
  std::int64_t gradient_window_bytes = 0;
  /// Elements of a piece of optimizer state that goes through the device. 0: no chunk's state does.
  std::int64_t update_piece_elements = 0;
};

/// A change of the program before anything is planned on it. `schedule/edited_program.h` makes it.
struct Edit {
  /// Recompute: backward makes `storages` again, so that they need not be kept. Fuse loss: the
  /// loss works on the logits in place (edit/loss/fused_loss.h). Align products: `products` are
  /// split into what tensor cores like and a small rest (edit/aligned_products.h). Fuse
  /// elementwise: norms and elementwise operators become groups (edit/fusion/fuse_elementwise.h).
  /// Offload: `storages` wait on the host between forward and backward (edit/offload.h). Average
  /// tokens: micro-batches count by their labels (edit/loss/token_mean.h). Scale loss: gradients
  /// are those of the loss times a loss scale. Both take the gradient of the loss from an input
  /// (edit/loss/loss_gradient.h).
  enum class Kind : std::uint8_t {
    kRecompute,
    kFuseLoss,
    kAlignProducts,
    kFuseElementwise,
    kOffload,
    kAverageTokens,
    kScaleLoss
  } kind = Kind::kRecompute;
  std::vector<program::StorageId> storages = {};   ///< ids in the program before this edit
  std::vector<program::OperatorId> products = {};  ///< ids in the program before this edit
  std::int64_t window_bytes = 0;                   ///< kOffload: device memory for moving storages
};

/// What a plan promises about results. As eager: the results of LibTorch's operators, bit for bit
/// if the captured program gives them bit for bit. Fused: Elixir computes losses and unaligned
/// products, which rounds differently. Fused elementwise: Elixir computes norms and elementwise
/// operators, too. Within one arithmetic, all plans of a program give the same bits.
enum class Arithmetic : std::uint8_t { kAsEager, kFused, kFusedElementwise };
inline constexpr NameTable<Arithmetic, 3> kArithmetics{
    {{Arithmetic::kAsEager, "as-eager"},
     {Arithmetic::kFused, "fused"},
     {Arithmetic::kFusedElementwise, "fused-elementwise"}}};
[[nodiscard]] constexpr std::string_view name_of(Arithmetic arithmetic) {
  return kArithmetics.name_of(arithmetic);
}
/// The arithmetic that the edits lead to. Recomputing and offloading change no result.
[[nodiscard]] Arithmetic arithmetic_of(const std::vector<Edit>& edits);

/// What a step averages its loss over: the labels of all its micro-batches, or its micro-batches,
/// which count alike. The same where each has as many labels.
enum class Average : std::uint8_t { kTokens, kMicroBatches };
inline constexpr NameTable<Average, 2> kAverages{
    {{Average::kTokens, "tokens"}, {Average::kMicroBatches, "micro-batches"}}};
[[nodiscard]] Average average_of(const std::vector<Edit>& edits);
/// Whether gradients are those of the loss times a loss scale.
[[nodiscard]] bool scales_loss(const std::vector<Edit>& edits);
/// Whether the program's last input is the gradient of its loss (edit/loss/loss_gradient.h).
[[nodiscard]] bool takes_loss_gradient(const std::vector<Edit>& edits);
/// Whether updates wait for the norm of all gradients: to clip them, or to leave a step out whose
/// scaled gradients are not finite.
[[nodiscard]] bool waits_for_norm(const std::vector<Edit>& edits, double clip_norm);

/// The dtype that gradients are kept in after the ranks have added them up in fp32 and in rank
/// order. Parameters: rounded to the parameters' dtype.
enum class ReduceDType : std::uint8_t { kFloat32, kParameters };
inline constexpr NameTable<ReduceDType, 2> kReduceDTypes{
    {{ReduceDType::kFloat32, "fp32"}, {ReduceDType::kParameters, "parameters"}}};

/// When the ranks add up gradients: after each micro-batch, or once a step. Once a step, each rank
/// first adds up its own micro-batches, in fp32, over all elements of a chunk instead of its shard
/// alone. With one micro-batch both are the same.
enum class ReducePer : std::uint8_t { kMicroBatch, kStep };
inline constexpr NameTable<ReducePer, 2> kReducePers{
    {{ReducePer::kMicroBatch, "micro-batch"}, {ReducePer::kStep, "step"}}};

/// Who adds up the ranks' gradients: Elixir, in fp32 and in rank order, which does not depend on
/// the layout of chunks; or NCCL's reduce-scatter, in the exchanged dtype and in an order that NCCL
/// chooses. NCCL's sends less over a network.
enum class Reduce : std::uint8_t { kOrdered, kNccl };
inline constexpr NameTable<Reduce, 2> kReduces{
    {{Reduce::kOrdered, "ordered"}, {Reduce::kNccl, "nccl"}}};

struct ProgramOfPlan {
  std::string role;         ///< "train" (later "evaluate")
  std::string fingerprint;  ///< before any edit
};

/// What a machine needs to run the plan.
struct HardwareOfPlan {
  std::string fingerprint;  ///< of the planning hardware document; a mismatch is a warning
  program::DeviceKind device_kind = program::DeviceKind::kCpu;
  int sm = 0;  ///< compute capability times ten, cuda only
  /// Instruction set of the CPU that the program was captured for, cpu only. kUnsaid in older
  /// plans.
  program::CpuIsa isa = program::CpuIsa::kUnsaid;
  /// Threads of AdamW on the CPU, and of the CPU device. With fewer a step is slower than
  /// predicted. 0 in older plans.
  int cpu_threads = 0;
};

/// The budgets of one rank.
struct Budgets {
  std::int64_t gpu_memory_bytes =
      0;  ///< CPU device: device-arena bytes; CUDA: process bytes as NVML reports
  std::int64_t host_memory_bytes = 0;
  /// CUDA: the part of the GPU budget outside the allocator (context, libraries). 0 on the CPU
  /// device.
  std::int64_t gpu_context_bytes = 0;
};

/// What one step moves: all tasks on the copy streams, inputs and losses included.
struct Traffic {
  std::int64_t host_to_device_bytes = 0;
  std::int64_t device_to_host_bytes = 0;
  std::int64_t fetches = 0;
  std::int64_t evictions = 0;
  std::int64_t collective_bytes = 0;  ///< chunks gathered and reduced, all shards
};

struct StreamTime {
  std::string stream;
  std::int64_t busy_ns = 0;
  /// The part of `busy_ns` on the step's critical path. Only for a GPU; older plans lack it.
  std::optional<std::int64_t> critical_ns;
};

struct Predicted {
  std::int64_t step_ns = 0;
  std::vector<StreamTime> streams;
  std::int64_t peak_allocated_bytes = 0;  ///< device, 512-byte rounding
  std::int64_t host_bytes = 0;
  /// How reliable time and peak are: the number of calls that run, and how many of them have
  /// measured time and workspace. For the others the time is modelled and the workspace is an upper
  /// bound.
  std::int64_t operators_measured = 0, operators_total = 0;
  Traffic traffic;
  /// By what part of itself the step's time is uncertain: the spread of the figures behind it. 0 in
  /// older plans.
  double spread = 0;
  /// Figures behind it that other programs disturbed, or that have too few samples, as
  /// `elixir-bench --only` names them: nothing is promised. Empty in older plans.
  std::vector<std::string> disturbed;
  [[nodiscard]] bool all_measured() const { return operators_measured == operators_total; }
};

struct Plan {
  std::vector<ProgramOfPlan> programs;
  HardwareOfPlan hardware;
  std::string strategy;
  int world = 1;           ///< ranks that train together, each with a GPU
  int ranks_per_node = 1;  ///< ranks that share a machine's memory and links; divides `world`
  int replicas = 1;        ///< of parameters and their state among all ranks; divides `world`
  Reduce reduce = Reduce::kOrdered;
  ReduceDType reduce_dtype = ReduceDType::kFloat32;
  ReducePer reduce_per = ReducePer::kMicroBatch;
  Budgets budgets;
  program::Precision precision = program::Precision::kAsSaved;
  program::Optimizer optimizer = program::Optimizer::kAdamW;
  int accumulation_steps = 1;
  /// Updates wait for the norm of all gradients, which therefore exist at the same time.
  bool clips_gradients = true;
  Master master = Master::kSeparate;
  program::DType moment_dtype = program::DType::kFloat32;  ///< of AdamW's moments: fp32 or bf16
  /// Of AdamW, unless the run names another.
  double beta2 = beta2_of(program::DType::kFloat32);
  /// Number of gradient slots of a chunk with late moments: it keeps the gradients of so many
  /// steps. With 2, backward need not wait for step N-1's moments. With 3, moments are made every
  /// second step, two steps' together.
  int kept_gradients = 1;
  std::vector<Edit> edits;         ///< in this order
  std::string edited_fingerprint;  ///< of the program after all edits; empty without any
  std::vector<Chunk> chunks;
  Cache cache;
  Predicted predicted;
  Json meta;
};

/// Makes no moments late and keeps one step's gradients. For updates that wait for no norm: they
/// run in backward, and make moments and parameters together.
void make_moments_at_once(Plan& plan);

/// In fp32, when master and parameters have the same home, the master *is* the parameters.
/// Otherwise it is a separate buffer.
[[nodiscard]] bool master_is_parameter(const Chunk& chunk);
/// Whether the parameters are the upper halves of the chunk's masters.
[[nodiscard]] bool splits_master(const Plan& plan, const Chunk& chunk);
/// Bytes of one element of the master, wherever it is: 2 when only its lower half is kept.
[[nodiscard]] std::int64_t master_bytes(const Plan& plan, const Chunk& chunk);
/// The number of steps whose gradients the chunk keeps. More than one only if each step's gradients
/// come to their home once, as a whole: gradients that are added up there wait for the cores
/// anyway.
[[nodiscard]] int kept_gradients(const Plan& plan, const Chunk& chunk);
/// The number of steps whose late moments are made together: 1 or 2. It is 1 for state that goes
/// through the device, because 2 would need the gradient of the step before there, too.
[[nodiscard]] int moment_steps(const Plan& plan, const Chunk& chunk);
/// Bytes of the gradients that a rank keeps of the chunk, all kept steps together.
[[nodiscard]] std::int64_t kept_gradient_bytes(const Plan& plan, const Chunk& chunk);
/// Where the gradients of `step` begin in that memory: steps take turns.
[[nodiscard]] std::int64_t gradient_offset_bytes(const Plan& plan,
                                                 const Chunk& chunk,
                                                 std::int64_t step);
/// Whether any parameter of the chunk has a gradient in `program`. With an optimizer, a trained
/// chunk has gradient and optimizer buffers. With optimizer "none", gradients are dropped at once.
[[nodiscard]] bool is_trained(const Chunk& chunk, const program::Program& program);

/// The dtype in which a chunk of `dtype` keeps its gradients: `dtype` when one gradient is all
/// there is, and fp32 when several micro-batches or ranks add up, unless the plan rounds their sum.
[[nodiscard]] program::DType summed_dtype(const Plan& plan, program::DType dtype);
/// How many parts of a chunk's gradient come to its home in a step, to be added up there: one for
/// each micro-batch, or one when each rank has added up its micro-batches before.
[[nodiscard]] int gradient_parts(const Plan& plan);
/// With several ranks: whether each rank adds up its own micro-batches before the ranks add up.
[[nodiscard]] bool reduces_once(const Plan& plan);
/// With several ranks: the dtype in which the ranks exchange gradients of a chunk of `dtype`.
[[nodiscard]] program::DType exchanged_dtype(const Plan& plan, program::DType dtype);
/// With several ranks: bytes of a rank's gradients of a whole chunk, in the exchanged dtype.
[[nodiscard]] std::int64_t exchanged_bytes(const Plan& plan, const Chunk& chunk);
/// With several ranks: whether NCCL adds up.
[[nodiscard]] bool reduces_by_nccl(const Plan& plan);
/// With several ranks: bytes that each rank receives while the ranks add up the chunk's gradients:
/// a part from every rank, or the shard that NCCL has added up.
[[nodiscard]] std::int64_t received_bytes(const Plan& plan, const Chunk& chunk);
/// Which of the plan's ranks hold what.
[[nodiscard]] inline RankGrid grid_of(const Plan& plan) {
  return {.world = plan.world, .replicas = plan.replicas};
}
/// Whether `replicas` can be divided among the ranks: each inside one machine, or filling several
/// machines.
[[nodiscard]] bool replicas_fit(int world, int ranks_per_node, int replicas);
/// Elements of the chunk that a rank holds: all of them when every rank has a replica of its own.
[[nodiscard]] std::int64_t shard_elements(const Plan& plan, const Chunk& chunk);
/// Bytes of the shard in a dtype (parameters, gradients, fp32 master and moments).
[[nodiscard]] std::int64_t shard_bytes(const Plan& plan, const Chunk& chunk, program::DType dtype);
/// Whether operators read the chunk in a block instead of at home: because it lives on the host, or
/// because this rank has only a shard.
[[nodiscard]] bool needs_block(const Plan& plan, const Chunk& chunk);

/// Where a parameter of a program is.
struct Place {
  std::int32_t chunk = -1;        ///< position in Plan::chunks
  std::int64_t offset_bytes = 0;  ///< in the chunk's dtype
};
/// By position in Program::parameters. Throws kInconsistentPlan, naming the parameter, when the
/// plan lacks one.
[[nodiscard]] std::vector<Place> locate_parameters(const Plan& plan,
                                                   const program::Program& program);

[[nodiscard]] Plan load_plan(const std::string& path);
[[nodiscard]] Plan parse_plan(const JsonDocument& document);
[[nodiscard]] Json to_json(const Plan& plan);

/// `program` is the captured one, before any edit.
/// Throws kInconsistentPlan unless every parameter of `program` is in exactly one chunk, at an
/// aligned offset, inside the chunk and without overlap, with matching dtype, and blocks are large
/// enough; kPlanOfAnotherProgram when no entry of `programs` has the program's fingerprint.
void check_against(const Plan& plan, const program::Program& program);

}  // namespace elixir::plan
