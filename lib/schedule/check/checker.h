// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The state of the independent checker. It shares no code with lower() and trusts nothing that
// lower() computed. It walks the tasks of two steps in issue order and tracks the content of every
// buffer. With vector clocks it proves that two tasks that touch the same bytes, at least one of
// them writing, are ordered by streams, `after` and `after_previous`.
//
// One file for each part: check.cc has the walk, order.cc clocks and accesses, facts.cc what the
// program and the plan require, tasks.cc operators and blocks, offload.cc activations on the host,
// updates.cc gradients and updates, pieces.cc optimizer state that goes through the device,
// ranks.cc what several ranks share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedule/schedule.h"

namespace elixir::schedule {

inline constexpr std::size_t kMostProblems = 50;
/// Tasks wait for the step before and no earlier one, so two steps show every order.
inline constexpr int kSteps = 2;

/// The content of a buffer that several chunks share in turn.
struct Content {
  std::int32_t chunk = -1;
  enum class What : std::uint8_t {
    kNothing,
    kParameters,
    kOwnShard,  ///< of the parameters, in its place
    kGradients,
    kLanded,       ///< gradients of a micro-batch, before they are added up
    kReduced,      ///< the shard of gradients that all ranks have added up
    kState,        ///< a piece of optimizer state from the host
    kUpdatedState  ///< a piece of optimizer state after AdamW
  } what = What::kNothing;
  std::int64_t first_element = 0, elements = 0;  ///< of a piece
};

/// The latest tasks that touched some bytes, as Checker::now() counts.
struct Touched {
  TaskId write = -1;
  std::array<TaskId, kStreamCount> reads{};  ///< -1: none
  Touched() { reads.fill(-1); }
};

class Checker {
 public:
  Checker(const Schedule& schedule, const program::Program& program, const plan::Plan& plan)
      : schedule_(schedule), program_(program), plan_(plan) {}

  std::vector<std::string> run();

 private:
  /// Storages that no operator produces.
  enum class Fixed : std::uint8_t { kNo, kParameter, kBuffer, kInput, kConstant };

  template <class... Args>
  void problem(fmt::format_string<Args...> text, Args&&... args) {
    if (problems_.size() < kMostProblems) {
      problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
    }
  }
  template <class... Args>
  void problem_at(const Task& task, fmt::format_string<Args...> text, Args&&... args) {
    problem("task {} ({}): {}",
            task.id,
            name_of(task.kind),
            fmt::format(text, std::forward<Args>(args)...));
  }

  // --- Structure and order -----------------------------------------------------------------------
  bool structure_is_sound();
  void make_clocks();
  /// The task in this step, counted from the first task of the first step.
  [[nodiscard]] TaskId now(const Task& task) const;
  [[nodiscard]] const Task& task_of(TaskId in_run) const;
  /// Whether `before` has finished when `task` starts. Both are counted as now() does.
  [[nodiscard]] bool ordered(TaskId before, TaskId task) const;
  void touch(const Task& task, std::int64_t what, bool writes, const std::string& name);
  void touch_buffer(const Task& task, BufferId buffer, bool writes);
  void touch_storage(const Task& task, program::StorageId storage, bool writes);
  /// One parameter's part of a gradient buffer or, while that holds its chunk, a landing buffer.
  /// `of_step`: the step that made the gradient, when the buffer keeps gradients of several; not
  /// negative.
  void touch_gradient(
      const Task& task, BufferId buffer, std::int32_t parameter, bool writes, int of_step);
  void touch_gradient(const Task& task, BufferId buffer, std::int32_t parameter, bool writes) {
    touch_gradient(task, buffer, parameter, writes, step_);
  }
  /// The sums of squares of one parameter's gradient, wherever they are made.
  void touch_sums(const Task& task, std::int32_t parameter, bool writes);

  // --- The program's own rules, read again from its operators ------------------------------------
  [[nodiscard]] bool runs(const program::Operator& op) const;
  void read_program();
  void read_plan();
  void begin_step();

  // --- Buffers -----------------------------------------------------------------------------------
  [[nodiscard]] BufferId find(BufferRole role, std::int32_t chunk) const;
  void expect(BufferRole role, std::int32_t chunk, plan::Home home, std::int64_t bytes);
  void check_sharing(const Buffer& buffer);
  void check_turns(const Buffer& buffer, const Buffer& owner);
  void check_lending(const Buffer& buffer, const Buffer& owner);
  void check_buffers();
  /// Whether the chunk's parameters are one half of its masters.
  [[nodiscard]] bool is_split(const plan::Chunk& chunk) const;

  // --- Tasks -------------------------------------------------------------------------------------
  void visit(const Task& task);
  bool on_stream(const Task& task, Stream stream);
  bool needs_chunk(const Task& task);
  void load_inputs(const Task& task);
  void compute(const Task& task);
  void execute(const Task& task, const program::Operator& op);
  void read(const Task& task, const program::Operator& op, const program::TensorRef& tensor);
  void read_parameter(const Task& task, const program::Operator& op, std::int32_t parameter);
  void close(const Task& task);
  void fetch(const Task& task);
  void evict(const Task& task);
  [[nodiscard]] bool trains(std::int32_t parameter) const;
  void store_gradient(const Task& task);
  /// The task writes gradients of its chunk to a landing buffer. False, and a problem, when it
  /// names none with room for `bytes`.
  bool land(const Task& task, std::int64_t bytes);
  void land_gradient(const Task& task, std::int32_t parameter);
  /// The task reads a gradient where it has landed.
  void take_landed(const Task& task, std::int32_t parameter);
  void accumulate(const Task& task);
  /// Reads every gradient of a chunk from `buffer`. Reports gradients that are not complete.
  void read_gradients(const Task& task, BufferId buffer);
  void norm(const Task& task);
  /// The task makes the sums of squares of its parameter's gradient, which is complete.
  void sum_squares(const Task& task);
  void clip(const Task& task);
  void move_gradients(const Task& task);
  /// Before a task writes gradients of its chunk into memory that chunks share.
  void take_turn(const Task& task, BufferId gradients);
  void update(const Task& task);
  /// Whether the chunk's moments are made a step later.
  [[nodiscard]] bool makes_moments_late(std::int32_t chunk) const;
  /// The number of steps whose gradients the chunk's buffer keeps apart.
  [[nodiscard]] int kept_gradients(std::int32_t chunk) const;
  /// The task reads all gradients of its chunk that were made `steps_ago` steps ago.
  void touch_older_gradients(const Task& task, int steps_ago);
  void update_moments(const Task& task);
  /// Moments that are made late, by a task that reads or writes all of them.
  void touch_moments(const Task& task, bool writes);
  /// That a chunk's moments are still to be made: updates say so, and kUpdateMoments makes them.
  void touch_owed_moments(const Task& task);
  void move_parameters(const Task& task);
  void read_loss(const Task& task);

  // --- Optimizer state that goes through the device in pieces ------------------------------------
  void touch_piece(const Task& task, BufferId buffer, bool writes);
  /// Bytes of the master and moments of one element.
  [[nodiscard]] std::int64_t state_bytes(const plan::Chunk& chunk) const;
  /// Whether the task is about the part of a streamed chunk that begins at `next`.
  bool is_next_piece(const Task& task, std::int64_t next);
  /// Whether the buffer holds this piece.
  bool holds_piece(const Task& task, BufferId buffer, Content::What what);
  void load_state(const Task& task);
  void update_piece(const Task& task);
  void store_state(const Task& task);
  /// Elements of the chunk that one rank holds.
  [[nodiscard]] std::int64_t elements_of(std::int32_t chunk) const;

  // --- What several ranks share ------------------------------------------------------------------
  [[nodiscard]] bool several_ranks() const { return plan_.world > 1; }
  /// Whether a rank has only a part of each chunk.
  [[nodiscard]] bool is_sharded() const { return plan::grid_of(plan_).shards() > 1; }
  /// Whether operators read the chunk at home.
  [[nodiscard]] bool read_at_home(const plan::Chunk& chunk) const;
  /// Bytes of a rank's gradients of the chunk, in the dtype that the ranks exchange.
  [[nodiscard]] std::int64_t exchanged_bytes(const plan::Chunk& chunk) const;
  /// Bytes that a rank receives: parts of all ranks, or its shard of NCCL's sum.
  [[nodiscard]] std::int64_t received_bytes(const plan::Chunk& chunk) const;
  void check_shared_buffers();
  /// A block that the chunk may be loaded into.
  bool is_block_for(const Task& task, BufferId buffer);
  void gather(const Task& task);
  void collect_gradient(const Task& task);
  /// Whether the gradient is among the results of the operator.
  [[nodiscard]] bool is_gradient_of(std::int32_t parameter, const program::Operator& op) const;
  /// The task's `op` writes a gradient to its chunk's block.
  void make_direct(const Task& task, const DirectGradient& direct, const program::Operator& op);
  /// The parameter's gradient of one more micro-batch comes to its chunk's `block`.
  void collect(const Task& task, std::int32_t parameter, BufferId block);
  void reduce(const Task& task);
  void store_shard(const Task& task);
  void accumulate_shard(const Task& task);
  /// Whether the task is about a chunk with gradients, in the running micro-batch.
  bool is_of_trained_chunk(const Task& task);
  /// The chunk's gradients of one more micro-batch are in `buffer`, at home.
  void add_reduced(const Task& task, BufferId buffer);
  void sum_squares_of_chunk(const Task& task);
  void gather_sums(const Task& task);
  void share_buffers(const Task& task);
  void touch_module_buffer(const Task& task, program::StorageId storage, bool writes);

  // --- Activations on the host -------------------------------------------------------------------
  /// The buffer and storages that belong together.
  struct Trip {
    program::StorageId leaves = -1, returns = -1;  ///< on the device
    program::OperatorId begins = -1;               ///< the operator that begins its way out
    std::int64_t bytes = 0;
    /// The buffers of gradients that come into the same memory, where it waits on the device.
    std::vector<BufferId> over;
    int offloaded_in = -1;  ///< micro-batch
    bool is_back = false;
    TaskId begun = -1;  ///< as now() counts: the range with that operator
  };
  /// Where an activation waits.
  void check_trip_memory(program::StorageId copy, Trip& trip);
  /// What an executed operator means for activations on the host.
  void movement(const Task& task, const program::Operator& op);
  /// The activation whose storage on the device the task moves. nullptr, and a problem, when
  /// `on_host` is not its buffer.
  Trip* trip_of(const Task& task, program::StorageId Trip::*on_device, BufferId on_host);
  void offload(const Task& task);
  void reload(const Task& task);
  /// The task reads or writes memory in which gradients come.
  void touch_lent(const Task& task, const Trip& trip, bool writes);
  void touch_lent_gradients(const Task& task, const Buffer& gradients, bool writes);
  /// Before a task writes gradients to a buffer.
  void take_back(const Task& task, BufferId buffer);

  // --- End of the step ---------------------------------------------------------------------------
  void check_end();

  const Schedule& schedule_;
  const program::Program& program_;
  const plan::Plan& plan_;
  /// Each rank adds up its micro-batches before all add up theirs, once.
  const bool reduces_once_ =
      plan_.world > 1 && schedule_.micro_batches > 1 && plan_.reduce_per == plan::ReducePer::kStep;
  /// Activations wait in memory of gradients that all exist at the end of the step.
  const bool lends_gradients_ = plan_.clips_gradients && schedule_.micro_batches == 1;
  const int parts_ = reduces_once_ ? 1 : schedule_.micro_batches;  ///< of a gradient, at its home
  std::vector<std::string> problems_;

  // By task, as now() counts: the latest finished task of each stream.
  std::vector<std::array<TaskId, kStreamCount>> clocks_;
  std::unordered_map<std::int64_t, Touched> touched_;

  // By storage.
  std::vector<Fixed> fixed_;
  std::vector<std::int32_t> parameter_of_;
  std::vector<bool> kept_, alive_;
  std::vector<program::OperatorId> last_use_;
  std::vector<std::int32_t> version_;
  std::vector<bool> awaited_;  // memory that a copy has not filled yet

  std::map<program::StorageId, Trip> trips_;           // by the storage of the copy on the host
  std::vector<bool> executed_;                         // by operator
  std::vector<std::int32_t> chunk_of_;                 // by parameter
  std::vector<std::vector<std::int32_t>> trained_in_;  // by chunk: parameters with gradients
  std::vector<int> stored_, summed_;    // by parameter: micro-batches, parts at home, so far
  std::vector<BufferId> landed_in_;     // by parameter; -1: has not landed
  std::vector<BufferId> collected_in_;  // by parameter: its chunk's block; -1: not yet
  bool sums_gathered_ = false;
  int shared_buffers_ = 0;
  std::vector<TaskId> summed_squares_;      // by parameter
  std::vector<bool> updated_, home_again_;  // by chunk
  std::vector<bool> gradients_used_;        // by chunk: the update has read them
  std::vector<TaskId> moments_made_;        // by chunk: late ones of the step before; -1: not yet
  // By chunk: elements of its state whose pieces have been loaded, updated and stored.
  std::vector<std::int64_t> pieces_loaded_, pieces_updated_, pieces_stored_;
  std::vector<program::OperatorId> next_operator_;  // by micro-batch
  std::vector<bool> closed_;                        // by micro-batch
  std::vector<int> losses_read_;                    // by micro-batch
  std::vector<Content> content_;                    // by buffer
  std::map<std::pair<BufferRole, std::int32_t>, BufferId> by_role_;
  const Task* clip_ = nullptr;
  int step_ = 0;
  int current_ = -1;
  int inputs_of_ = -1;
};

}  // namespace elixir::schedule
