// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/fused/fused_source.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace elixir::replay {
namespace {

using operators::FusedPass;
using operators::FusedPasses;
using operators::FusedStep;
using Kind = FusedStep::Kind;

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kPlainThreads = 256;     // of a block without sums
constexpr std::int64_t kShortRowThreads = 128;  // of a block with a row for each warp
constexpr std::int64_t kChunksInRegisters = 4;  // of a row, of each thread
constexpr std::size_t kRegistersOfInputs = 96;  // that passes share
constexpr std::int64_t kMostUnrolled = 8;
constexpr std::int64_t kVectorBytes = 16;

std::int64_t quotient(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}

std::int64_t threads_per_block(const FusedForm& form) {
  if (form.threads_per_row == 0) return kPlainThreads;
  return form.threads_per_row == kWarp ? kShortRowThreads : form.threads_per_row;
}

char letter_of(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kBFloat16:
      return 'b';
    case c10::kHalf:
      return 'h';
    case c10::kBool:
      return 't';
    default:
      return 'f';
  }
}

/// Reads and writes chunks. `left`: columns of the row from the chunk on.
constexpr const char* kPrelude = R"(
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
struct alignas(16) Vector { u32 part[4]; };
struct alignas(8) Flags { unsigned char flag[8]; };

__device__ __forceinline__ float wide_f(float x) { return x; }
__device__ __forceinline__ float wide_b(u16 x) {
  return __uint_as_float(static_cast<u32>(x) << 16);
}
__device__ __forceinline__ float wide_h(u16 x) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(x));
  return result;
}
__device__ __forceinline__ float wide_t(unsigned char x) { return x != 0 ? 1.0f : 0.0f; }
__device__ __forceinline__ float narrow_f(float x) { return x; }
__device__ __forceinline__ u16 narrow_b(float x) {
  u16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}
__device__ __forceinline__ u16 narrow_h(float x) {
  u16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return result;
}

#define ELIXIR_SINGLE(letter, type)                                                        \
  __device__ __forceinline__ float one_##letter(i64 data, i64 at) {                         \
    return wide_##letter(reinterpret_cast<const type*>(data)[at]);                          \
  }
ELIXIR_SINGLE(f, float)
ELIXIR_SINGLE(b, u16)
ELIXIR_SINGLE(h, u16)
ELIXIR_SINGLE(t, unsigned char)

#define ELIXIR_SLOW_LOAD(letter, type)                                                      \
  const type* from = reinterpret_cast<const type*>(data) + at;                              \
  _Pragma("unroll") for (int i = 0; i < 8; ++i) to[i] = i < left ? wide_##letter(from[i]) : 0.0f;

__device__ __forceinline__ void load_f(i64 data, i64 at, i64 left, bool aligned, float (&to)[8]) {
  if (aligned && left >= 8) {
    const float4* from = reinterpret_cast<const float4*>(reinterpret_cast<const float*>(data) + at);
    const float4 low = from[0], high = from[1];
    to[0] = low.x; to[1] = low.y; to[2] = low.z; to[3] = low.w;
    to[4] = high.x; to[5] = high.y; to[6] = high.z; to[7] = high.w;
    return;
  }
  ELIXIR_SLOW_LOAD(f, float)
}
/// 8 numbers of 16 bits as they are; 0 beyond the row.
__device__ __forceinline__ Vector read_16(i64 data, i64 at, i64 left, bool aligned) {
  const u16* from = reinterpret_cast<const u16*>(data) + at;
  if (aligned && left >= 8) return *reinterpret_cast<const Vector*>(from);
  Vector result;
  _Pragma("unroll") for (int i = 0; i < 4; ++i) {
    const u32 low = 2 * i < left ? from[2 * i] : 0;
    const u32 high = 2 * i + 1 < left ? from[2 * i + 1] : 0;
    result.part[i] = low | high << 16;
  }
  return result;
}
#define ELIXIR_LOAD(letter)                                                                 \
  __device__ __forceinline__ void widen_##letter(const Vector& from, float (&to)[8]) {      \
    _Pragma("unroll") for (int i = 0; i < 4; ++i) {                                         \
      to[2 * i] = wide_##letter(static_cast<u16>(from.part[i]));                            \
      to[2 * i + 1] = wide_##letter(static_cast<u16>(from.part[i] >> 16));                  \
    }                                                                                       \
  }                                                                                         \
  __device__ __forceinline__ void load_##letter(                                            \
      i64 data, i64 at, i64 left, bool aligned, float (&to)[8]) {                           \
    widen_##letter(read_16(data, at, left, aligned), to);                                   \
  }
ELIXIR_LOAD(b)
ELIXIR_LOAD(h)
__device__ __forceinline__ void load_t(i64 data, i64 at, i64 left, bool aligned, float (&to)[8]) {
  if (aligned && left >= 8) {
    const Flags from =
        *reinterpret_cast<const Flags*>(reinterpret_cast<const unsigned char*>(data) + at);
    _Pragma("unroll") for (int i = 0; i < 8; ++i) to[i] = wide_t(from.flag[i]);
    return;
  }
  ELIXIR_SLOW_LOAD(t, unsigned char)
}

#define ELIXIR_SLOW_STORE(letter, type)                                                     \
  type* to = reinterpret_cast<type*>(data) + at;                                            \
  _Pragma("unroll") for (int i = 0; i < 8; ++i) if (i < left) to[i] = narrow_##letter(from[i]);

__device__ __forceinline__ void store_f(
    i64 data, i64 at, i64 left, bool aligned, const float (&from)[8]) {
  if (aligned && left >= 8) {
    float4* to = reinterpret_cast<float4*>(reinterpret_cast<float*>(data) + at);
    to[0] = make_float4(from[0], from[1], from[2], from[3]);
    to[1] = make_float4(from[4], from[5], from[6], from[7]);
    return;
  }
  ELIXIR_SLOW_STORE(f, float)
}
#define ELIXIR_STORE(letter)                                                                \
  __device__ __forceinline__ void store_##letter(                                           \
      i64 data, i64 at, i64 left, bool aligned, const float (&from)[8]) {                   \
    if (aligned && left >= 8) {                                                             \
      Vector to;                                                                            \
      _Pragma("unroll") for (int i = 0; i < 4; ++i) {                                       \
        to.part[i] = static_cast<u32>(narrow_##letter(from[2 * i])) |                       \
                     static_cast<u32>(narrow_##letter(from[2 * i + 1])) << 16;              \
      }                                                                                     \
      *reinterpret_cast<Vector*>(reinterpret_cast<u16*>(data) + at) = to;                   \
      return;                                                                               \
    }                                                                                       \
    ELIXIR_SLOW_STORE(letter, u16)                                                          \
  }
ELIXIR_STORE(b)
ELIXIR_STORE(h)
#define ELIXIR_STORE_ONE(letter, type)                                                      \
  __device__ __forceinline__ void store_one_##letter(i64 data, i64 at, float value) {       \
    reinterpret_cast<type*>(data)[at] = narrow_##letter(value);                             \
  }
ELIXIR_STORE_ONE(f, float)
ELIXIR_STORE_ONE(b, u16)
ELIXIR_STORE_ONE(h, u16)

__device__ __forceinline__ float sum_of_chunk(const float (&v)[8], i64 left) {
  float w[8];
  _Pragma("unroll") for (int i = 0; i < 8; ++i) w[i] = i < left ? v[i] : 0.0f;
  return ((w[0] + w[1]) + (w[2] + w[3])) + ((w[4] + w[5]) + (w[6] + w[7]));
}
/// The same in every lane: a sum of two does not depend on their order.
__device__ __forceinline__ float sum_of_warp(float value) {
  _Pragma("unroll") for (int mask = 16; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, mask);
  }
  return value;
}
)";

std::string expression(const FusedStep& step) {
  const auto [a, b, c] = step.operands;
  switch (step.kind) {
    case Kind::kConstant:
      return fmt::format("__uint_as_float(0x{:08x}u)",
                         std::bit_cast<std::uint32_t>(static_cast<float>(step.constant)));
    case Kind::kAdd:
      return fmt::format("v{} + v{}", a, b);
    case Kind::kSub:
      return fmt::format("v{} - v{}", a, b);
    case Kind::kMul:
      return fmt::format("v{} * v{}", a, b);
    case Kind::kDiv:
      return fmt::format("v{} / v{}", a, b);
    case Kind::kNeg:
      return fmt::format("-v{}", a);
    case Kind::kSqrt:
      return fmt::format("sqrtf(v{})", a);
    case Kind::kRsqrt:
      return fmt::format("rsqrtf(v{})", a);
    case Kind::kExp:
      return fmt::format("expf(v{})", a);
    case Kind::kTanh:
      return fmt::format("tanhf(v{})", a);
    case Kind::kErf:
      return fmt::format("erff(v{})", a);
    case Kind::kPow:
      return fmt::format("powf(v{}, v{})", a, b);
    case Kind::kLessEqual:
      return fmt::format("v{} <= v{} ? 1.0f : 0.0f", a, b);
    case Kind::kWhere:
      return fmt::format("v{} != 0.0f ? v{} : v{}", a, b, c);
    case Kind::kInput:
    case Kind::kSum:
      break;
  }
  return "0.0f";
}

class SourceWriter {
 public:
  SourceWriter(const FusedJob& job, const FusedForm& form)
      : job_(job), form_(form), passes_(job.passes()), in_registers_(job.inputs.size(), false) {
    choose_registers();
  }

  std::string write() {
    text_ = kPrelude;
    write_argument();
    line("extern \"C\" __global__ void __launch_bounds__({}) {}(const Argument a) {{",
         threads_per_block(form_),
         kFusedKernelName);
    line("typedef {} count;", form_.wide ? "i64" : "u32");
    if (form_.threads_per_row == 0) {
      write_plain();
    } else {
      write_rows();
    }
    line("}}");
    return std::move(text_);
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_ += fmt::vformat(format, fmt::make_format_args(values...));
    text_ += '\n';
  }

  [[nodiscard]] std::size_t tensors() const { return job_.inputs.size() + job_.outputs.size(); }
  /// Inputs come first.
  [[nodiscard]] const FusedTensor& tensor(std::size_t t) const {
    return t < job_.inputs.size() ? job_.inputs[t] : job_.outputs[t - job_.inputs.size()];
  }
  [[nodiscard]] const FusedStep& step(std::int32_t s) const {
    return (*job_.program)[static_cast<std::size_t>(s)];
  }

  /// Inputs that several passes read stay in registers where a thread has few.
  void choose_registers() {
    if (form_.threads_per_row == 0 || form_.chunks_per_thread > kChunksInRegisters) return;
    std::vector<std::size_t> readers(job_.inputs.size(), 0);
    for (const FusedPass& pass : passes_.passes) {
      for (const std::int32_t s : pass.element_steps) {
        if (step(s).kind == Kind::kInput) ++readers[static_cast<std::size_t>(step(s).operands[0])];
      }
    }
    const auto floats = static_cast<std::size_t>(form_.chunks_per_thread * kChunkColumns);
    std::size_t used = 0;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const std::size_t registers = is_16_bits(i) ? floats / 2 : floats;
      if (readers[i] < 2 || used + registers > kRegistersOfInputs) continue;
      in_registers_[i] = true;
      used += registers;
    }
  }

  /// Whether the tensor has 16 bits a number: it waits in registers as it is, two numbers in each.
  [[nodiscard]] bool is_16_bits(std::size_t t) const {
    return tensor(t).dtype == c10::kBFloat16 || tensor(t).dtype == c10::kHalf;
  }

  void write_argument() {
    line("struct Argument {{");
    line("i64 rows, columns, chunks, aligned;");
    for (std::size_t d = 0; d < job_.row_sizes.size(); ++d) line("i64 size{};", d);
    for (std::size_t t = 0; t < tensors(); ++t) {
      line("i64 data{};", t);
      for (std::size_t d = 0; d < job_.row_sizes.size(); ++d) line("i64 stride{}_{};", t, d);
    }
    line("}};");
  }

  /// Where the row begins in each tensor.
  void write_offsets() {
    for (std::size_t t = 0; t < tensors(); ++t) line("i64 at{} = 0;", t);
    const std::size_t dimensions = job_.row_sizes.size();
    if (dimensions == 0) return;
    line("count rest = row;");
    for (std::size_t d = dimensions; d-- > 0;) {
      if (d > 0) {
        line("const count next{0} = rest / static_cast<count>(a.size{0});", d);
        line("const i64 index{0} = rest - next{0} * static_cast<count>(a.size{0});", d);
        line("rest = next{};", d);
      } else {
        line("const i64 index0 = rest;");
      }
      for (std::size_t t = 0; t < tensors(); ++t)
        line("at{0} += index{1} * a.stride{0}_{1};", t, d);
    }
  }

  void write_row_steps(const FusedPass& pass) {
    for (const std::int32_t s : pass.row_steps) {
      if (step(s).kind != Kind::kInput) {
        line("const float v{} = {};", s, expression(step(s)));
        continue;
      }
      const auto t = static_cast<std::size_t>(step(s).operands[0]);
      line("const float v{0} = one_{1}(a.data{2}, at{2});", s, letter_of(tensor(t).dtype), t);
    }
  }

  /// What reads and writes of a chunk begin with: `data, at + column, left, aligned`.
  static std::string place(std::size_t t) {
    return fmt::format("a.data{0}, at{0} + column, left, (a.aligned >> {0}) & 1", t);
  }
  /// `load_{b}(data, at + column, left, aligned`, as for `store_`.
  [[nodiscard]] std::string access(const char* what, std::size_t t) const {
    return fmt::format("{}_{}({}", what, letter_of(tensor(t).dtype), place(t));
  }

  /// The chunk at `column`, of which the row has `left` columns.
  void write_chunk(const FusedPass& pass, bool is_last, const char* first_of_row) {
    for (const std::int32_t s : pass.element_steps) {
      if (step(s).kind != Kind::kInput) continue;
      const auto t = static_cast<std::size_t>(step(s).operands[0]);
      if (in_registers_[t] && is_16_bits(t)) {
        line("float chunk{}[8];", s);
        line("widen_{}(kept{}[k], chunk{});", letter_of(tensor(t).dtype), t, s);
      } else if (in_registers_[t]) {
        line("float (&chunk{})[8] = kept{}[k];", s, t);
      } else {
        line("float chunk{}[8];", s);
        line("{}, chunk{});", access("load", t), s);
      }
    }
    for (const std::int32_t s : pass.sums) line("float part{}[8];", s);
    for (std::size_t o = 0; is_last && o < job_.outputs.size(); ++o) {
      if (!job_.outputs[o].per_row) line("float result{}[8];", o);
    }
    line("#pragma unroll");
    line("for (int i = 0; i < 8; ++i) {{");
    for (const std::int32_t s : pass.element_steps) {
      if (step(s).kind == Kind::kInput) {
        line("const float v{0} = chunk{0}[i];", s);
      } else {
        line("const float v{} = {};", s, expression(step(s)));
      }
    }
    for (const std::int32_t s : pass.sums) line("part{}[i] = v{};", s, step(s).operands[0]);
    for (std::size_t o = 0; is_last && o < job_.outputs.size(); ++o) {
      if (!job_.outputs[o].per_row) line("result{}[i] = v{};", o, job_.stored[o]);
    }
    line("}}");
    for (const std::int32_t s : pass.sums) line("total{0} += sum_of_chunk(part{0}, left);", s);
    for (std::size_t o = 0; is_last && o < job_.outputs.size(); ++o) {
      const std::size_t t = job_.inputs.size() + o;
      if (!job_.outputs[o].per_row) {
        line("{}, result{});", access("store", t), o);
      } else {
        line("if ({3}) store_one_{1}(a.data{0}, at{0}, v{2});",
             t,
             letter_of(tensor(t).dtype),
             job_.stored[o],
             first_of_row);
      }
    }
  }

  void write_plain() {
    line("const count total = static_cast<count>(a.rows * a.chunks);");
    line("const count step = static_cast<count>(gridDim.x) * {};", kPlainThreads);
    line(
        "for (count id = static_cast<count>(blockIdx.x) * {} + threadIdx.x; id < total; id += "
        "step) {{",
        kPlainThreads);
    if (job_.row_sizes.empty()) {
      line("const i64 column = static_cast<i64>(id) * 8;");
    } else {
      line("const count row = id / static_cast<count>(a.chunks);");
      line("const i64 column = static_cast<i64>(id - row * static_cast<count>(a.chunks)) * 8;");
    }
    line("const i64 left = a.columns - column;");
    write_offsets();
    write_row_steps(passes_.passes.front());
    write_chunk(passes_.passes.front(), true, "column == 0");
    line("}}");
  }

  void write_rows() {
    const std::int64_t threads = form_.threads_per_row;
    if (threads == kWarp) {
      line("const count row = static_cast<count>(blockIdx.x) * {} + threadIdx.x / 32;",
           kShortRowThreads / kWarp);
      line("const int lane = threadIdx.x % 32;");
      line("if (row >= static_cast<count>(a.rows)) return;");
    } else {
      line("const count row = blockIdx.x;");
      line("const int lane = threadIdx.x;");
      line("(void)row;");
    }
    write_offsets();
    for (std::size_t t = 0; t < in_registers_.size(); ++t) {
      if (!in_registers_[t]) continue;
      const std::int64_t count = form_.chunks_per_thread;
      if (is_16_bits(t)) {
        line("Vector kept{}[{}];", t, count);
      } else {
        line("float kept{}[{}][8];", t, count);
      }
    }
    write_kept();
    for (std::size_t p = 0; p < passes_.passes.size(); ++p) {
      const FusedPass& pass = passes_.passes[p];
      write_row_steps(pass);
      for (const std::int32_t s : pass.sums) line("float total{} = 0.0f;", s);
      open_chunks();
      write_chunk(pass, p + 1 == passes_.passes.size(), "column == 0");
      line("}}");
      line("}}");
      for (const std::int32_t s : pass.sums) write_sum(s);
    }
  }

  void open_chunks() {
    line("#pragma unroll {}",
         form_.chunks_per_thread <= kMostUnrolled ? form_.chunks_per_thread : 1);
    line("for (int k = 0; k < {}; ++k) {{", form_.chunks_per_thread);
    line("const i64 column = (static_cast<i64>(lane) + k * {}) * 8;", form_.threads_per_row);
    line("const i64 left = a.columns - column;");
    line("if (left > 0) {{");
  }

  void write_kept() {
    if (std::find(in_registers_.begin(), in_registers_.end(), true) == in_registers_.end()) return;
    open_chunks();
    for (std::size_t t = 0; t < in_registers_.size(); ++t) {
      if (!in_registers_[t]) continue;
      if (is_16_bits(t)) {
        line("kept{}[k] = read_16({});", t, place(t));
      } else {
        line("{}, kept{}[k]);", access("load", t), t);
      }
    }
    line("}}");
    line("}}");
  }

  /// Each sum has shared memory of its own, so that none waits for the readers of another.
  void write_sum(std::int32_t s) {
    line("total{0} = sum_of_warp(total{0});", s);
    const std::int64_t warps = form_.threads_per_row / kWarp;
    if (warps > 1) {
      line("__shared__ float of_warps{}[{}];", s, warps);
      line("if (lane % 32 == 0) of_warps{0}[lane / 32] = total{0};", s);
      line("__syncthreads();");
      line("total{0} = lane % 32 < {1} ? of_warps{0}[lane % 32] : 0.0f;", s, warps);
      line("total{0} = sum_of_warp(total{0});", s);
    }
    line("const float v{0} = total{0};", s);
  }

  const FusedJob& job_;
  const FusedForm& form_;
  const FusedPasses passes_;
  std::vector<bool> in_registers_;  ///< by input
  std::string text_;
};

/// Whether every chunk begins at a multiple of what is read at once.
bool is_aligned(const FusedTensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(tensor.dtype));
  const std::int64_t unit = std::min(kVectorBytes, kChunkColumns * bytes);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is what matters
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data));
  return address % unit == 0 && std::all_of(tensor.row_strides.begin(),
                                            tensor.row_strides.end(),
                                            [&](std::int64_t s) { return s * bytes % unit == 0; });
}

}  // namespace

FusedForm fused_form(const FusedJob& job) {
  FusedForm form;
  const std::int64_t chunks = quotient(job.columns, kChunkColumns);
  if (job.sums) {
    constexpr std::int64_t kChunksOfThread = 2;
    // As many as leave none idle: 192 for a row of 3,072 columns.
    const std::int64_t warps = quotient(chunks, kWarp * kChunksOfThread);
    form.threads_per_row = std::min(warps * kWarp, kMostThreads);
    form.chunks_per_thread = quotient(chunks, form.threads_per_row);
  }
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  form.wide = job.rows >= most || chunks >= most || job.rows * chunks >= most;
  form.key = fmt::format("{};{};{};{};{};",
                         form.threads_per_row,
                         form.chunks_per_thread,
                         form.wide ? 1 : 0,
                         job.row_sizes.size(),
                         job.inputs.size());
  for (const auto* tensors : {&job.inputs, &job.outputs}) {
    for (const FusedTensor& tensor : *tensors) {
      form.key += letter_of(tensor.dtype);
      if (tensor.per_row) form.key += 'r';
    }
  }
  for (const std::int64_t step : job.stored) form.key += fmt::format(" {}", step);
  form.key += ';';
  form.key += job.text;
  return form;
}

std::string fused_source(const FusedJob& job, const FusedForm& form) {
  return SourceWriter(job, form).write();
}

FusedLaunch fused_launch(const FusedJob& job, const FusedForm& form) {
  const std::int64_t chunks = quotient(job.columns, kChunkColumns);
  FusedLaunch launch;
  launch.threads_per_block = threads_per_block(form);
  if (form.threads_per_row == 0) {
    constexpr std::int64_t kMostBlocks = 1 << 22;
    launch.blocks = std::min(kMostBlocks, quotient(job.rows * chunks, kPlainThreads));
  } else {
    launch.blocks =
        quotient(job.rows, form.threads_per_row == kWarp ? kShortRowThreads / kWarp : 1);
  }
  launch.argument = {job.rows, job.columns, chunks, 0};
  launch.argument.insert(launch.argument.end(), job.row_sizes.begin(), job.row_sizes.end());
  int position = 0;
  for (const auto* tensors : {&job.inputs, &job.outputs}) {
    for (const FusedTensor& tensor : *tensors) {
      if (is_aligned(tensor)) launch.argument[3] |= std::int64_t{1} << position;
      ++position;
      launch.argument.push_back(
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data)));
      launch.argument.insert(
          launch.argument.end(), tensor.row_strides.begin(), tensor.row_strides.end());
    }
  }
  return launch;
}

std::vector<const char*> fused_compile_options() {
  return {"--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"};
}

}  // namespace elixir::replay
