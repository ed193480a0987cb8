// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "cudnn/convolution_plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace elixir::cudnn {
namespace {

using operators::ConvolutionEngine;
using operators::ConvolutionPass;
using operators::ConvolutionQuery;
using program::DType;
using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t kAlignmentBytes = 32;
/// With a description alone cuDNN takes a GPU to have so many multiprocessors.
constexpr std::int32_t kMostTargets = 18;

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

Sizes dense_strides(const Sizes& sizes, bool channels_last) {
  Sizes strides(sizes.size());
  std::int64_t stride = 1;
  const auto place = [&](std::size_t dimension) {
    strides[dimension] = stride;
    stride *= sizes[dimension];
  };
  if (channels_last) place(1);
  for (std::size_t d = sizes.size() - 1; d > 1; --d) place(d);
  if (!channels_last) place(1);
  place(0);
  return strides;
}

/// The attributes of an operation that differ between the three passes.
struct PassAttributes {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};

PassAttributes attributes_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::kInputGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::kFilterGradient:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    case ConvolutionPass::kForward:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

/// Asks about one convolution. The descriptors that an operation names live as long as this.
class Question {
 public:
  Question(const Library& library, const Device& device, const ConvolutionQuery& query)
      : library_(library),
        device_(device),
        x_(tensor(query, query.input, 'x')),
        w_(tensor(query, query.filter, 'w')),
        y_(tensor(query, query.output(), 'y')),
        convolution_(geometry(query)),
        operation_(library, attributes_of(query.pass).operation),
        graph_(library, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const PassAttributes pass = attributes_of(query.pass);
    operation_.set(pass.x, x_);
    operation_.set(pass.w, w_);
    operation_.set(pass.y, y_);
    operation_.set(pass.convolution, convolution_);
    set_scale(pass.alpha, query.dtype, 1);
    set_scale(pass.beta, query.dtype, 0);
    operation_.finalize("the convolution");
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
    device_.bind_graph(graph_);
    graph_.finalize("the graph of the convolution");
  }

  [[nodiscard]] ConvolutionEngine answer() const {
    std::string last_failure = "cuDNN offers no engine";
    for (const auto mode : {CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
      for (const Descriptor& config : configs(mode)) {
        try {
          if (auto found = engine_of(config)) return std::move(*found);
        } catch (const Failure& failure) {
          last_failure = failure.what();  // LibTorch takes the next one, too
        }
      }
    }
    throw Failure(last_failure);
  }

 private:
  [[nodiscard]] Descriptor tensor(const ConvolutionQuery& query,
                                  const Sizes& sizes,
                                  std::int64_t name) const {
    Descriptor made(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const cudnnDataType_t type = type_of(query.dtype);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, dense_strides(sizes, query.channels_last));
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Sizes{name});
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Sizes{kAlignmentBytes});
    made.finalize("a tensor");
    return made;
  }

  [[nodiscard]] Descriptor geometry(const ConvolutionQuery& query) const {
    Descriptor made(library_, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnDataType_t type =
        query.dtype == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
    made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS,
             Sizes{static_cast<std::int64_t>(query.stride.size())});
    made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, query.padding);
    made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, query.padding);
    made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, query.dilation);
    made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, query.stride);
    made.finalize("the geometry of the convolution");
    return made;
  }

  void set_scale(cudnnBackendAttributeName_t name, DType dtype, int value) {
    if (dtype == DType::kFloat64) {
      const double scale = value;
      operation_.set(name, CUDNN_TYPE_DOUBLE, 1, &scale);
    } else {
      const auto scale = static_cast<float>(value);
      operation_.set(name, CUDNN_TYPE_FLOAT, 1, &scale);
    }
  }

  /// Configurations of engines, best first.
  [[nodiscard]] std::vector<Descriptor> configs(cudnnBackendHeurMode_t mode) const {
    Descriptor heuristics(library_, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    device_.bind_heuristics(heuristics);
    heuristics.finalize("the heuristics");
    return list(
        heuristics,
        CUDNN_ATTR_ENGINEHEUR_RESULTS,
        CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
        heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr));
  }

  /// The descriptors that an attribute holds: at most `most`.
  [[nodiscard]] std::vector<Descriptor> list(const Descriptor& of,
                                             cudnnBackendAttributeName_t name,
                                             cudnnBackendDescriptorType_t type,
                                             std::int64_t most) const {
    std::vector<Descriptor> made;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < most; ++i) raw.push_back(made.emplace_back(library_, type).raw());
    const std::int64_t count =
        of.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, static_cast<void*>(raw.data()));
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(std::min(count, most)), made.end());
    return made;
  }

  /// nullopt for an engine that LibTorch leaves out.
  [[nodiscard]] std::optional<ConvolutionEngine> engine_of(const Descriptor& config) const {
    Descriptor engine(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.raw();
    config.get(
        CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, static_cast<void*>(&raw));
    if (converts_inputs(engine)) return std::nullopt;
    ConvolutionEngine found;
    found.engine = engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
    found.knobs = knobs_of(config);
    Descriptor plan(library_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    device_.bind_plan(plan);
    plan.finalize("the plan");
    found.bytes = plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (!device_.is_here()) found.bytes_by_multiprocessors = bytes_by_multiprocessors(found);
    return found;
  }

  [[nodiscard]] static bool converts_inputs(const Descriptor& engine) {
    std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
    const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                          CUDNN_TYPE_NUMERICAL_NOTE,
                                          static_cast<std::int64_t>(notes.size()),
                                          notes.data());
    const auto last = notes.begin() + static_cast<std::ptrdiff_t>(count);
    return std::find(notes.begin(), last, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) != last;
  }

  [[nodiscard]] std::vector<operators::EngineKnob> knobs_of(const Descriptor& config) const {
    std::vector<operators::EngineKnob> knobs;
    for (const Descriptor& choice : list(config,
                                         CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                         CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
                                         CUDNN_KNOB_TYPE_COUNTS)) {
      cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_COUNTS;
      choice.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
      knobs.push_back({static_cast<int>(type), choice.integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)});
    }
    return knobs;
  }

  /// The workspaces of the same engine on fewer multiprocessors: 1, 2, … of them.
  [[nodiscard]] std::vector<std::int64_t> bytes_by_multiprocessors(
      const ConvolutionEngine& of) const {
    if (bytes_on(of, kMostTargets) < 0) return {};
    std::vector<std::int64_t> bytes;
    for (std::int32_t target = 1; target <= kMostTargets; ++target) {
      bytes.push_back(bytes_on(of, target));
    }
    return bytes;
  }

  /// -1 when the engine cannot run on so few.
  [[nodiscard]] std::int64_t bytes_on(const ConvolutionEngine& of, std::int32_t target) const {
    try {
      return bytes_of_target(of, target);
    } catch (const Failure&) {
      return -1;
    }
  }

  [[nodiscard]] std::int64_t bytes_of_target(const ConvolutionEngine& of,
                                             std::int32_t target) const {
    Descriptor engine(library_, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, Sizes{of.engine});
    engine.set(CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, &target);
    device_.bind_engine(engine);
    engine.finalize("the engine");
    Descriptor config(library_, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    std::vector<Descriptor> choices;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (const operators::EngineKnob& knob : of.knobs) {
      Descriptor& choice = choices.emplace_back(library_, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      const auto type = static_cast<cudnnBackendKnobType_t>(knob.type);
      choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
      choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, Sizes{knob.value});
      choice.finalize("a knob");
      raw.push_back(choice.raw());
    }
    if (!raw.empty()) {
      config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                 CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<std::int64_t>(raw.size()),
                 static_cast<const void*>(raw.data()));
    }
    config.finalize("the configuration");
    return config.integer(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
  }

  const Library& library_;
  const Device& device_;
  Descriptor x_, w_, y_, convolution_, operation_, graph_;
};

}  // namespace

ConvolutionEngine convolution_engine(const Library& library,
                                     const Device& device,
                                     const ConvolutionQuery& query) {
  return Question(library, device, query).answer();
}

}  // namespace elixir::cudnn
