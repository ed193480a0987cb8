// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The optimizer's part of a step: norm, clip factor and AdamW over the trained ranges of each
// chunk. Frozen parameters and parameters without a gradient have no range: no state, no update, no
// decay.
//
// The caller must run one step at a time: begin_step(), the passes that complete gradients with
// sums_of() each, clip(), update() for each chunk. Norm and clip factor stay where they are needed:
// no pass on the device waits for the host. The passes also detect values that are not finite: a
// norm that is not finite holds back every update, which then changes nothing, and an update that
// is not finite marks its chunk. After the step the caller must ask finite().

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/gradient.h"
#include "runtime/device/stream_operations.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/trainer_options.h"

namespace elixir::runtime {

class OptimizerPass {
 public:
  /// The arrays of one chunk, or of a piece of it, each from the first element on. `parameters` may
  /// be the master itself.
  struct Chunk {
    void* master;  ///< fp32; lower halves where `splits`
    bool splits;   ///< parameters are the upper halves
    void* moment1;
    void* moment2;
    program::DType moment_type;
    const void* gradients;  ///< of the first of `turns`
    program::DType gradient_type;
    void* parameters;
    program::DType parameter_type;
    std::int64_t first_element = 0;  ///< of a piece: in the chunk
    std::int64_t elements = 0;       ///< of a piece; 0: the whole chunk
    /// Gradients of so many steps take turns, so far apart: step s is at s % turns.
    int turns = 1;
    std::int64_t turn_bytes = 0;

    [[nodiscard]] const char* gradients_of(std::int64_t step) const {
      return static_cast<const char*>(gradients) + step % turns * turn_bytes;
    }
  };

  OptimizerPass(const program::Program& program,
                const plan::Plan& plan,
                const OptimizerOptions& options,
                const std::vector<ParameterLayout>& layouts,
                int rank);

  /// Clip factors on the host: of this step and of the two before, whose moments may be made while
  /// this step begins.
  static constexpr std::size_t kHostClips = 3;

  /// Memory that the passes share. All streams may use the host's part. The device's part, the
  /// schedule's buffers of roles kGradientSums and kRankSums, is for the streams of the GPU alone.
  struct Memory {
    void* device_sums;  ///< sums() floats of a whole replica, then a kernels::Clip
    float* rank_sums;   ///< sums() floats that passes of this rank make; the same with one rank
    float* host_sums;   ///< sums()
    kernels::Clip* host_clips;  ///< kHostClips
    std::uint32_t* marks;       ///< marks()
  };
  [[nodiscard]] std::size_t sums() const { return sum_count_; }
  [[nodiscard]] std::size_t marks() const { return ranges_.size(); }
  void set_memory(const Memory& memory);

  struct Step {
    std::int64_t number = 1;
    std::int64_t update = 1;  ///< its number if it is made: skipped steps do not count
    double learning_rate = 0;
    int micro_batches = 1;  ///< of all ranks
    double loss_scale = 1;
  };
  void begin_step(const Step& step);
  /// Where the pass that completes the gradient of a parameter leaves its sums of squares.
  [[nodiscard]] kernels::BlockSums sums_of(std::int32_t parameter) const;
  /// The parts of a chunk's trained parameters that this rank holds, each with its place for sums
  /// of squares.
  [[nodiscard]] std::vector<kernels::SummedPart> parts_of(std::int32_t chunk) const;
  /// With several ranks: copies the sums of all ranks of a replica to the device memory of each of
  /// them.
  void gather_sums(StreamOperations& operations) const;
  /// Computes norm and factor from all sums. Runs on the device.
  void clip(StreamOperations& operations) const;
  /// Runs where `operations` do. A chunk with late moments then owes the moments of this step: the
  /// host has made parameters and masters alone; the device has made moments, too, which nobody
  /// keeps.
  void update(std::int32_t index,
              const Chunk& chunk,
              plan::Home where,
              StreamOperations& operations);
  /// While nothing runs.
  [[nodiscard]] bool owes_moments() const;
  /// When a chunk makes the moments that it owes: if its turn comes before the step after the last
  /// one, or in any case.
  enum class Due : std::uint8_t { kInTurn, kAll };
  /// Makes the moments that the chunk owes, of up to two steps, from the gradients of these steps.
  /// Does nothing if it owes none. Runs on the host.
  void make_moments(std::int32_t index, const Chunk& chunk, Due due, StreamOperations& operations);

  /// The step that begin_step() began; 0 before the first.
  [[nodiscard]] std::int64_t step() const { return scalars().step; }
  /// The norm of this step, when its clip() is done; nullopt where updates wait for none.
  [[nodiscard]] std::optional<double> gradient_norm() const;
  /// Whether gradients and updates of this step were finite. Call it when all tasks are done.
  [[nodiscard]] bool finite() const;
  /// Whether chunk `index` has a value that is not finite, or may have one because the norm
  /// overflowed.
  [[nodiscard]] bool suspects(std::int32_t index) const;
  /// The norm is not finite, so no update was made.
  [[nodiscard]] bool norm_overflowed() const { return host_clip().held_back != 0; }

 private:
  struct Range {
    std::int64_t first_element, elements;
    bool decays;
  };
  /// What the passes of a step have in common.
  struct StepScalars {
    std::int64_t step = 0;
    kernels::AdamScalars plain{}, decaying{};  ///< without and with weight decay
  };
  /// Moments that are not made yet.
  struct Owed {
    std::int64_t step = 0;
    std::size_t slot = 0;
  };
  /// One pass over the trained ranges of a chunk or a piece. `earlier`: the step before, if its
  /// moments are owed.
  void pass(std::int32_t index,
            const Chunk& chunk,
            kernels::AdamPass what,
            const StepScalars& scalars,
            const std::optional<Owed>& earlier,
            const kernels::Clip* clip,
            std::uint32_t* report,
            StreamOperations& operations) const;
  [[nodiscard]] const StepScalars& scalars_of(const Owed& owed) const;
  [[nodiscard]] kernels::EarlierGradient earlier_gradient(const Chunk& chunk,
                                                          const Owed& owed) const;
  /// A range of sums that lie side by side.
  struct Sums {
    std::size_t first, count;
  };
  [[nodiscard]] float* device_sums() const { return static_cast<float*>(memory_.device_sums); }
  void note_sums(const plan::Plan& plan,
                 const program::Program& program,
                 const std::vector<ParameterLayout>& layouts);
  void note_ranges(const plan::Plan& plan, const std::vector<ParameterLayout>& layouts);
  /// Sums that were made on the host, to the device's.
  void move_sums(StreamOperations& operations) const;
  [[nodiscard]] kernels::Clip* device_clip() const;
  [[nodiscard]] const StepScalars& scalars() const { return slots_[current_]; }
  [[nodiscard]] kernels::Clip& host_clip() const { return memory_.host_clips[current_]; }

  /// A part of a parameter.
  struct Held {
    std::int32_t parameter;
    std::int64_t first_element, elements;
    std::size_t first_block;  ///< of the parameter
  };

  OptimizerOptions options_;
  plan::RankGrid grid_;
  int rank_ = 0;
  std::vector<std::vector<Range>> ranges_;  ///< by chunk
  std::vector<std::vector<Held>> held_;     ///< by chunk
  std::vector<std::size_t> first_sum_;      ///< by parameter
  std::vector<bool> sums_on_host_;          ///< by parameter
  std::vector<Sums> made_on_host_;
  std::size_t sum_count_ = 0;
  Memory memory_{};
  /// Scalars of this step and of the two before. A step touches only its own slot, because passes
  /// of the step before may still run while it begins.
  std::array<StepScalars, kHostClips> slots_;
  std::size_t current_ = 0;  ///< slot of this step, and of its clip factor
  struct LateMoments {
    bool late = false;
    int steps = 1;           ///< whose moments are made together
    int turn = 0;            ///< with two: before steps after even or odd ones
    std::vector<Owed> owed;  ///< the older one first
  };
  std::vector<LateMoments> late_;  ///< by chunk
  bool waits_for_norm_;
  float divisor_ = 1.0F;  ///< of the gradients of this step
};

}  // namespace elixir::runtime
