// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fuzzes programs with hostile operator calls. The input changes the calls of a small program,
// which is written with its correct fingerprint, read again and, if accepted, planned.
#include <algorithm>

#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "fuzz.h"
#include "memory/step/timeline.h"
#include "program/document.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace {

using elixir::program::Argument;
using elixir::program::Operator;
using elixir::program::Program;
using elixir::program::TensorRef;

/// The input as small numbers, followed by zeros.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool done() const { return at_ >= size_; }
  std::size_t next(std::size_t below) {
    const std::size_t value = at_ < size_ ? data_[at_] : 0;
    ++at_;
    return value % below;
  }
  std::int64_t size() {
    constexpr std::int64_t kSizes[] = {
        0, 1, 2, 3, 7, 64, -1, 1 << 20, 1L << 31, 1L << 40, 1L << 59, INT64_MAX, INT64_MIN};
    return kSizes[next(std::size(kSizes))];
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

void change(TensorRef& tensor, Numbers& numbers) {
  switch (numbers.next(6)) {
    case 0:
      if (!tensor.sizes.empty()) tensor.sizes[numbers.next(tensor.sizes.size())] = numbers.size();
      break;
    case 1:
      if (!tensor.strides.empty()) {
        tensor.strides[numbers.next(tensor.strides.size())] = numbers.size();
      }
      break;
    case 2:
      tensor.offset = numbers.size();
      break;
    case 3:
      tensor.storage = static_cast<elixir::program::StorageId>(numbers.next(256)) - 1;
      break;
    case 4:
      tensor.sizes.clear();
      tensor.strides.clear();
      break;
    default:
      tensor.dtype = static_cast<elixir::program::DType>(numbers.next(13));
  }
}

void change(Operator& call, Numbers& numbers) {
  constexpr const char* kNames[] = {"aten::mm",
                                    "aten::convolution",
                                    "aten::convolution_backward",
                                    "aten::_scaled_dot_product_flash_attention",
                                    "aten::_scaled_dot_product_efficient_attention",
                                    "aten::native_layer_norm_backward",
                                    "aten::native_batch_norm",
                                    "aten::embedding_dense_backward",
                                    "aten::_cudnn_rnn",
                                    "aten::lstm",
                                    "aten::sum",
                                    "aten::nll_loss_forward",
                                    "aten::_softmax",
                                    "aten::cat",
                                    "aten::sort",
                                    "aten::topk",
                                    "aten::index_put_"};
  switch (numbers.next(7)) {
    case 0:
      call.name = kNames[numbers.next(std::size(kNames))];
      break;
    case 1:
      if (!call.arguments.empty()) call.arguments.pop_back();
      break;
    case 2:
      call.arguments.emplace_back(numbers.size());
      break;
    case 3:
      call.arguments.emplace_back(elixir::program::Ints{numbers.size(), numbers.size()});
      break;
    case 4:
      call.flops = numbers.size();
      break;
    case 5:
      call.writes = !call.writes;
      break;
    default: {
      auto& values = numbers.next(2) == 0 ? call.arguments : call.outputs;
      if (values.empty()) break;
      Argument& value = values[numbers.next(values.size())];
      if (auto* tensor = std::get_if<TensorRef>(&value)) {
        change(*tensor, numbers);
      } else {
        value = elixir::program::None{};
      }
    }
  }
}

void plan_on(const elixir::program::Profile& profile) {
  const Program& program = profile.program;
  static_cast<void>(elixir::memory::summarise(program, profile.optimizer));
  const auto lifetimes = elixir::program::analyse_lifetimes(program);
  for (const bool cuda : {false, true}) {
    const elixir::hardware::CostModel cost(elixir::fakes::machine(cuda));
    elixir::fakes::LayoutOptions options;
    options.chunk_bytes = 4096;
    options.parameters = elixir::plan::Home::kHost;
    options.blocks = 4;
    const auto plan = elixir::fakes::lay_out(program, options);
    const auto schedule = elixir::schedule::lower(program, lifetimes, plan, {});
    static_cast<void>(elixir::schedule::simulate(schedule, program, lifetimes, plan, cost));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Numbers numbers(data, std::min<std::size_t>(size, 64));
  elixir::program::Profile profile;
  profile.program = elixir::fakes::random_program(numbers.next(16));
  profile.model_path = "input";
  profile.meta = elixir::Json::object();
  auto& operators = profile.program.operators;
  while (!numbers.done()) change(operators[numbers.next(operators.size())], numbers);
  elixir::fuzz::refuses_or_reads([&] {
    std::string text;
    elixir::program::write_profile(profile, [&](std::string_view piece) { text += piece; });
    const elixir::fuzz::InputFile file(text);
    plan_on(elixir::program::load_profile(file.path()));
  });
  return 0;
}
