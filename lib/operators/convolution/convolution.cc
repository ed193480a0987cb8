// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/convolution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "operators/convolution/memory_format.h"
#include "operators/operator_key.h"
#include "program/workspace_answers.h"

namespace elixir::operators {
namespace {

using program::DType;
using program::TensorRef;
using Sizes = std::vector<std::int64_t>;

bool is_sequences(const TensorRef& tensor) {
  return tensor.sizes.size() == kSequenceRank;
}

/// LibTorch runs a convolution of sequences as one of images of height 1.
TensorRef as_image(TensorRef tensor) {
  if (!is_sequences(tensor)) return tensor;
  tensor.strides.insert(tensor.strides.begin() + 2, tensor.sizes[2] * tensor.strides[2]);
  tensor.sizes.insert(tensor.sizes.begin() + 2, 1);
  return tensor;
}

enum class Backend : std::uint8_t { kCudnn, kDepthwise, kOther };

/// One call, with sequences as images and one value for every dimension of an image.
struct Convolution {
  TensorRef input, weight;
  Sizes stride, padding, dilation, output_padding;
  std::int64_t groups = 1;
  bool transposed = false;
  bool cudnn_allowed = true;

  [[nodiscard]] std::size_t rank() const { return input.sizes.size(); }
  [[nodiscard]] bool is_empty() const { return input.numel() == 0 || weight.numel() == 0; }
  [[nodiscard]] bool is_depthwise() const {
    return !transposed && groups > 1 && input.sizes[1] == groups &&
           weight.sizes[0] % input.sizes[1] == 0;
  }
};

Sizes of_image(Sizes values, std::size_t dimensions, std::int64_t of_height_one) {
  if (values.size() == 1) values.assign(dimensions, values[0]);
  if (dimensions == 1) values.insert(values.begin(), of_height_one);
  return values;
}

bool all_are_sizes(const Sizes& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return value >= 0 && value <= kMostConvolutionSize;
  });
}

/// cudnn/ConvShared.cpp and Conv_v8.cpp, split_batch_dim_to_32bit_out.
bool has_too_many_elements_for_cudnn(const program::Operator& op) {
  bool any = false;
  const auto look = [&any](const TensorRef& tensor) {
    any = any || tensor.numel() > std::numeric_limits<std::int32_t>::max();
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return any;
}

/// nullopt for a call that LibTorch would refuse.
std::optional<Convolution> read(const ScriptBuilder& script) {
  const TensorRef* input = script.tensor("input");
  const TensorRef* weight = script.tensor("weight");
  if (input == nullptr || weight == nullptr || input->sizes.size() != weight->sizes.size()) {
    return std::nullopt;
  }
  if (input->sizes.size() < kSequenceRank || input->sizes.size() > kVolumeRank) return std::nullopt;
  const std::size_t dimensions = input->sizes.size() - 2;
  const program::Arguments& call = script.arguments();
  Convolution of;
  // Sequences become contiguous first, lest their image be taken for one with channels last.
  of.input =
      as_image(is_sequences(*input) ? in_row_major_order(input->sizes, input->dtype) : *input);
  of.weight = as_image(*weight);
  of.stride = of_image(call.integers("stride"), dimensions, 1);
  of.padding = of_image(call.integers("padding"), dimensions, 0);
  of.dilation = of_image(call.integers("dilation"), dimensions, 1);
  of.output_padding = of_image(call.integers("output_padding"), dimensions, 0);
  of.groups = script.integer("groups", 1);
  of.transposed = script.flag("transposed");
  if (call.have("cudnn_enabled")) of.cudnn_allowed = script.flag("cudnn_enabled");
  for (const Sizes* list : {&of.stride, &of.padding, &of.dilation, &of.output_padding}) {
    if (list->size() != of.rank() - 2 || !all_are_sizes(*list)) return std::nullopt;
  }
  if (!all_are_sizes(of.input.sizes) || !all_are_sizes(of.weight.sizes)) return std::nullopt;
  if (of.groups < 1 || of.groups > kMostConvolutionSize) return std::nullopt;
  return of;
}

/// cudnn_conv_suggest_memory_format().
bool runs_channels_last(const TensorRef& a, const TensorRef& b) {
  if (a.dtype == DType::kFloat64 || b.dtype == DType::kFloat64) return false;
  return suggests_channels_last(a) || suggests_channels_last(b);
}

/// For which depthwise convolutions in half precision LibTorch prefers cuDNN to its own kernel
/// (check_cudnn_depthwise_workload_with_filter).
bool cudnn_is_faster(const Convolution& of) {
  constexpr std::int64_t kFewChannels = 32, kNarrow = 7;
  constexpr std::int64_t kManyChannels = 512, kChannelsOfWide = 256, kChannelsOfNarrow = 128;
  constexpr std::int64_t kWide = 28, kSmallBatch = 16;
  const std::int64_t batch = of.input.sizes[0], channels = of.input.sizes[1];
  const std::int64_t height = of.input.sizes[2], width = of.input.sizes[3];
  const std::int64_t filter = of.weight.sizes[3], stride = of.stride[1];
  if (channels < kFewChannels || of.dilation[0] != 1 || of.dilation[1] != 1) return false;
  if (of.stride[0] != stride && height != 1) return false;
  if (height == 1 && stride == 1) return true;
  if (of.weight.sizes[2] != filter) return false;
  if (filter != 1 && filter != 3 && filter != 5) return false;
  if (width < kNarrow) return false;
  if (stride == 1) return true;
  if (stride != 2) return false;
  if (batch == 1) return filter != 1 || width <= kWide;
  if (filter == 1) {
    return batch <= kSmallBatch && channels >= kChannelsOfNarrow && width <= kNarrow;
  }
  return channels >= kManyChannels || (channels >= kChannelsOfWide && width >= kWide);
}

Backend backend_of(const Convolution& of) {
  for (std::size_t i = 0; i < of.stride.size(); ++i) {
    if (of.transposed && of.output_padding[i] >= of.stride[i]) return Backend::kOther;
  }
  if (!of.cudnn_allowed) return Backend::kOther;
  if (!of.is_depthwise() || runs_channels_last(of.input, of.weight)) return Backend::kCudnn;
  if (of.rank() != kImageRank) return Backend::kOther;
  const bool half = of.input.dtype == DType::kFloat16 && of.weight.dtype == DType::kFloat16;
  return half && cudnn_is_faster(of) ? Backend::kCudnn : Backend::kDepthwise;
}

/// Writes one call, step by step.
class Writer {
 public:
  Writer(ScriptBuilder& script, const Convolution& of, const AnswerConvolution& answer)
      : script_(script), of_(of), answer_(answer) {}

  void forward() {
    const bool format = runs_channels_last(of_.input, of_.weight);
    const TensorRef input = dense_in(of_.input, format);
    const int input_copy = copy_unless_dense(of_.input, format);
    next_output();
    if (of_.transposed) {
      pass(ConvolutionPass::kInputGradient, result_sizes(), input, of_.weight, format);
    } else {
      pass(ConvolutionPass::kForward, input.sizes, input, of_.weight, format);
    }
    script_.release(input_copy);
  }

  void backward(const TensorRef& gradient, const std::array<bool, 3>& wanted) {
    const bool format = runs_channels_last(of_.input, of_.weight);
    const int input_copy = wanted[1] ? copy_unless_dense(of_.input, format) : -1;
    const TensorRef input = wanted[1] ? dense_in(of_.input, format) : of_.input;
    const bool gradient_format = suggests_channels_last(input);
    const int gradient_copy = copy_unless_dense(gradient, gradient_format);
    const TensorRef dense = dense_in(gradient, gradient_format);
    const Sizes& image = of_.transposed ? dense.sizes : input.sizes;
    if (wanted[0]) {
      next_output();
      pass(of_.transposed ? ConvolutionPass::kForward : ConvolutionPass::kInputGradient,
           image,
           dense,
           of_.weight,
           runs_channels_last(dense, of_.weight));
    }
    if (wanted[1]) filter_gradient(dense, input, image);
    script_.release(gradient_copy);
    script_.release(input_copy);
    if (wanted[2]) bias_gradient(gradient);
  }

  void depthwise_forward() {
    copy_unless_dense(of_.input, false);
    copy_unless_dense(of_.weight, false);
    script_.outputs();
  }

  void depthwise_backward(const TensorRef& gradient, const std::array<bool, 3>& wanted) {
    const int gradient_copy = copy_unless_dense(gradient, false);
    if (wanted[1]) {
      const int input_copy = copy_unless_dense(of_.input, false);
      script_.output(wanted[0] ? 1 : 0);
      script_.release(input_copy);
    }
    if (wanted[0]) {
      const int weight_copy = copy_unless_dense(of_.weight, false);
      script_.output(0);
      script_.release(weight_copy);
    }
    script_.release(gradient_copy);
    if (wanted[2]) bias_gradient(gradient);
  }

 private:
  void next_output() { script_.output(outputs_++); }

  int copy_unless_dense(const TensorRef& tensor, bool channels_last) {
    return is_dense_in(tensor, channels_last) ? -1 : script_.temporary(tensor.bytes());
  }

  /// The sizes of a transposed convolution's result.
  [[nodiscard]] Sizes result_sizes() const {
    Sizes sizes{of_.input.sizes[0], of_.weight.sizes[1] * of_.groups};
    for (std::size_t i = 0; i < of_.stride.size(); ++i) {
      sizes.push_back((of_.input.sizes[i + 2] - 1) * of_.stride[i] - 2 * of_.padding[i] +
                      of_.dilation[i] * (of_.weight.sizes[i + 2] - 1) + of_.output_padding[i] + 1);
    }
    return sizes;
  }

  /// A pass that reads `image` and a filter: both are copied into the format of the result.
  void pass(ConvolutionPass kind,
            const Sizes& input,
            const TensorRef& image,
            const TensorRef& filter,
            bool channels_last) {
    const int filter_copy = copy_unless_dense(filter, channels_last);
    const int image_copy = copy_unless_dense(image, channels_last);
    workspace(kind, input, channels_last);
    script_.release(image_copy);
    script_.release(filter_copy);
  }

  void filter_gradient(const TensorRef& gradient, const TensorRef& input, const Sizes& image) {
    const bool channels_last = runs_channels_last(input, gradient);
    const int gradient_copy = copy_unless_dense(gradient, channels_last);
    const int input_copy = copy_unless_dense(input, channels_last);
    next_output();
    workspace(ConvolutionPass::kFilterGradient, image, channels_last);
    script_.release(input_copy);
    script_.release(gradient_copy);
  }

  void workspace(ConvolutionPass kind, const Sizes& input, bool channels_last) {
    const ConvolutionQuery query{.pass = kind,
                                 .dtype = of_.input.dtype,
                                 .channels_last = channels_last,
                                 .input = input,
                                 .filter = of_.weight.sizes,
                                 .stride = of_.stride,
                                 .padding = of_.padding,
                                 .dilation = of_.dilation,
                                 .groups = of_.groups};
    const auto known = answer_(query);
    if (!known || !known->measured) script_.modelled();
    script_.release(script_.temporary(known ? known->bytes : bytes_read(script_.op())));
  }

  /// Its sum over everything but the channels.
  void bias_gradient(const TensorRef& gradient) {
    script_.outputs();
    Sizes dimensions{0};
    for (std::size_t d = 2; d < gradient.sizes.size(); ++d) {
      dimensions.push_back(static_cast<std::int64_t>(d));
    }
    script_.reduce(gradient, dimensions, gradient.dtype);
  }

  ScriptBuilder& script_;
  const Convolution& of_;
  const AnswerConvolution& answer_;
  std::size_t outputs_ = 0;
};

}  // namespace

bool is_convolution(const program::Operator& op) {
  return op.name == "aten::_convolution" || op.name == "aten::convolution" ||
         op.name == "aten::convolution_backward";
}

void write_convolution(ScriptBuilder& script, const AnswerConvolution& answer) {
  const auto of = read(script);
  const Backend backend = of ? backend_of(*of) : Backend::kOther;
  // Neither cuDNN nor the depthwise kernel for images: never recorded.
  if (backend == Backend::kOther) return estimate_library_call(script);
  if (of->is_empty()) return;
  // LibTorch splits the batch of larger convolutions, and asks cuDNN for each part. Never recorded.
  if (has_too_many_elements_for_cudnn(script.op())) return estimate_library_call(script);
  const TensorRef& input = *script.tensor("input");
  if (is_sequences(input) && !is_contiguous(input)) script.temporary(input.bytes());
  Writer writer(script, *of, answer);
  const TensorRef* gradient =
      script.op().name == "aten::convolution_backward" ? script.tensor("grad_output") : nullptr;
  if (gradient == nullptr) {
    script.measured();
    return backend == Backend::kCudnn ? writer.forward() : writer.depthwise_forward();
  }
  if (gradient->sizes.size() != input.sizes.size()) {
    return estimate_library_call(script);
  }
  const program::Bools mask = script.arguments().booleans("output_mask");
  std::array<bool, 3> wanted{};
  if (mask.size() != wanted.size()) return estimate_library_call(script);
  std::copy(mask.begin(), mask.end(), wanted.begin());
  script.measured();
  const TensorRef image = as_image(*gradient);
  if (backend == Backend::kCudnn) {
    writer.backward(image, wanted);
  } else {
    writer.depthwise_backward(image, wanted);
  }
}

void ConvolutionPasses::add(const ConvolutionPasses& passes) {
  by_table += passes.by_table;
  by_library += passes.by_library;
  unanswered += passes.unanswered;
  other += passes.other;
}

ConvolutionPasses passes_of(const program::Operator& op,
                            const program::Program& program,
                            const WorkspaceTable& table) {
  ConvolutionPasses passes;
  if (!is_convolution(op)) return passes;
  if (table.calls.count(operator_key(op)) > 0) return {.by_table = 1};
  const program::WorkspaceAnswers* answers = program.workspaces.get();
  const AnswerConvolution count = [&](const ConvolutionQuery& query) {
    const std::string text = text_of(query);
    if (table.queries.count(text) > 0) {
      ++passes.by_table;
    } else if (answers != nullptr && answers->bytes.count(text) > 0) {
      ++passes.by_library;
    } else {
      ++passes.unanswered;
    }
    return std::optional(ConvolutionWorkspace{.bytes = 0, .measured = true});
  };
  const CudaTraits traits = cuda_traits(program.target);
  ScriptBuilder script(op, {}, program, traits);
  write_convolution(script, count);
  const bool is_whole_guess = script.finish().source == ScriptSource::kModelled;
  if (is_whole_guess) passes.other = 1;
  return passes;
}

std::vector<ConvolutionQuery> unknown_convolutions(const program::Program& program,
                                                   const WorkspaceTable& table) {
  std::vector<ConvolutionQuery> queries;
  std::unordered_set<std::string> seen;
  const AnswerConvolution collect = [&](const ConvolutionQuery& query) {
    if (!is_possible(query)) return std::optional<ConvolutionWorkspace>();
    const std::string text = text_of(query);
    if (table.queries.count(text) == 0 && seen.insert(text).second) queries.push_back(query);
    return std::optional<ConvolutionWorkspace>();
  };
  const CudaTraits traits = cuda_traits(program.target);
  for (const program::Operator& op : program.operators) {
    if (!is_convolution(op) || table.calls.count(operator_key(op)) > 0) continue;
    ScriptBuilder script(op, {}, program, traits);
    write_convolution(script, collect);
  }
  return queries;
}

}  // namespace elixir::operators
