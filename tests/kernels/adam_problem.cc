// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "adam_problem.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace elixir::kernels {
namespace {

/// splitmix64's mixing function.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// One element in 16 may get any bit pattern, but not in every step, so that its states stay
/// ordinary for a while.
float draw(std::uint64_t seed, std::uint64_t stream, std::size_t element, float scale) {
  const std::uint64_t random = mix(seed ^ mix(stream ^ mix(element)));
  if (mix(seed + element) % 16 == 0 && random % 8 == 0) {
    return reference::from_bits(static_cast<std::uint32_t>(random >> 32));
  }
  const float unit = static_cast<float>(static_cast<std::int64_t>(random) >> 40) * 0x1p-23F;
  // Exponents over a wide range, sometimes down to denormal squares.
  const int down = static_cast<int>(random % 11);
  return std::ldexp(unit * scale, down == 10 ? -70 : -down);
}

template <class T>
T read(const std::vector<std::uint8_t>& from, std::size_t i) {
  T value;
  std::memcpy(&value, from.data() + i * sizeof(T), sizeof(T));
  return value;
}
template <class T>
void write(std::vector<std::uint8_t>& to, std::size_t i, T value) {
  std::memcpy(to.data() + i * sizeof(T), &value, sizeof(T));
}

float read_as(Element type, const std::vector<std::uint8_t>& from, std::size_t i) {
  switch (type) {
    case Element::kFloat32:
      return read<float>(from, i);
    case Element::kBFloat16:
      return reference::bfloat16_value(read<std::uint16_t>(from, i));
    case Element::kFloat16:
      break;
  }
  return reference::float16_value(read<std::uint16_t>(from, i));
}
void write_as(Element type, std::vector<std::uint8_t>& to, std::size_t i, float value) {
  switch (type) {
    case Element::kFloat32:
      write(to, i, value);
      return;
    case Element::kBFloat16:
      write(to, i, reference::to_bfloat16(value));
      return;
    case Element::kFloat16:
      write(to, i, reference::to_float16(value));
      return;
  }
}

bool same_as(Element type,
             const std::vector<std::uint8_t>& a,
             const std::vector<std::uint8_t>& b,
             std::size_t i) {
  switch (type) {
    case Element::kFloat32:
      return reference::same(read<float>(a, i), read<float>(b, i));
    case Element::kBFloat16:
      return reference::same_bfloat16(read<std::uint16_t>(a, i), read<std::uint16_t>(b, i));
    case Element::kFloat16:
      break;
  }
  return reference::same_float16(read<std::uint16_t>(a, i), read<std::uint16_t>(b, i));
}

const char* name_of(Element type) {
  switch (type) {
    case Element::kFloat32:
      return "fp32";
    case Element::kBFloat16:
      return "bf16";
    case Element::kFloat16:
      break;
  }
  return "fp16";
}

}  // namespace

std::vector<AdamForm> all_adam_forms() {
  std::vector<AdamForm> forms;
  for (const Element gradient : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
    for (const Element moment : {Element::kFloat32, Element::kBFloat16}) {
      forms.push_back({gradient, std::nullopt, false, moment});
      for (const Element parameter : {Element::kFloat32, Element::kBFloat16, Element::kFloat16}) {
        forms.push_back({gradient, parameter, false, moment});
      }
      forms.push_back({gradient, Element::kBFloat16, true, moment});
    }
  }
  return forms;
}

std::string name_of(const AdamForm& form) {
  std::ostringstream text;
  text << name_of(form.gradient) << " gradient, "
       << (form.split       ? "split"
           : form.parameter ? name_of(*form.parameter)
                            : "no")
       << " parameter, " << name_of(form.moment) << " moments";
  return text.str();
}

AdamScalars scalars_of(const reference::Hyper& hyper,
                       std::int64_t step,
                       int micro_batches,
                       float clip,
                       double loss_scale) {
  return make_adam_scalars({hyper.lr, hyper.beta1, hyper.beta2, hyper.eps, hyper.weight_decay},
                           step,
                           micro_batches,
                           clip,
                           loss_scale);
}

AdamProblem::AdamProblem(const AdamForm& form, std::size_t n, std::uint64_t seed, std::size_t first)
    : form_(form), n_(n), seed_(seed), first_(first) {
  storage_.moment1.resize(n * bytes_of(form.moment));
  storage_.moment2.resize(n * bytes_of(form.moment));
  storage_.gradient.resize(n * bytes_of(form.gradient));
  if (form.parameter) storage_.parameter.assign(n * bytes_of(*form.parameter), 0x2A);
  if (form.split) {
    storage_.lower.resize(n * sizeof(std::int16_t));
  } else {
    storage_.master.resize(n * sizeof(float));
  }
  for (std::size_t i = 0; i < n; ++i) {
    const float p = draw(seed, 1, first + i, 1.0F);
    if (form.split) {
      const reference::Split halves = reference::split(p);
      write(storage_.parameter, i, halves.upper);
      write(storage_.lower, i, halves.lower);
    } else {
      write(storage_.master, i, p);
    }
    write_as(form.moment, storage_.moment1, i, draw(seed, 2, first + i, 1e-3F));
    write_as(form.moment, storage_.moment2, i, std::fabs(draw(seed, 3, first + i, 1e-6F)));
  }
  draw_gradients(0);
}

void AdamProblem::draw_gradients(std::int64_t step) {
  draw_gradients(step, 0, n_);
}

void AdamProblem::draw_gradients(std::int64_t step, ThreadPool& pool) {
  pool.parallel_for(
      n_, 4096, [&](std::size_t begin, std::size_t end) { draw_gradients(step, begin, end); });
}

void AdamProblem::draw_gradients(std::int64_t step, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const float g = draw(seed_, 4 + static_cast<std::uint64_t>(step), first_ + i, 1e-2F);
    // Truncation is a cheap way to round to the gradient's dtype, and gives equally good random
    // values.
    if (form_.gradient == Element::kBFloat16) {
      write(storage_.gradient, i, static_cast<std::uint16_t>(reference::bits(g) >> 16));
    } else {
      write_as(form_.gradient, storage_.gradient, i, g);
    }
  }
}

AdamArrays AdamProblem::arrays(std::size_t offset) {
  AdamArrays all{};
  all.master = form_.split ? nullptr : reinterpret_cast<float*>(storage_.master.data());
  all.moment1 = storage_.moment1.data();
  all.moment2 = storage_.moment2.data();
  all.gradient = storage_.gradient.data();
  all.gradient_type = form_.gradient;
  all.parameter = form_.parameter ? storage_.parameter.data() : nullptr;
  all.parameter_type = form_.parameter.value_or(Element::kFloat32);
  all.n = n_;
  all.moment_type = form_.moment;
  all.lower = form_.split ? reinterpret_cast<std::int16_t*>(storage_.lower.data()) : nullptr;
  return slice(all, offset, n_);
}

float AdamProblem::master(std::size_t i) const {
  if (!form_.split) return read<float>(storage_.master, i);
  return reference::join(
      {read<std::uint16_t>(storage_.parameter, i), read<std::int16_t>(storage_.lower, i)});
}

float AdamProblem::gradient(std::size_t i) const {
  return read_as(form_.gradient, storage_.gradient, i);
}

void AdamProblem::reference_step(const reference::Hyper& hyper,
                                 std::int64_t step,
                                 int micro_batches,
                                 float clip,
                                 double loss_scale,
                                 std::size_t offset) {
  const auto divisor = static_cast<float>(micro_batches * loss_scale);
  for (std::size_t i = offset; i < n_; ++i) {
    float p = master(i);
    float m = read_as(form_.moment, storage_.moment1, i);
    float v = read_as(form_.moment, storage_.moment2, i);
    reference::adam(p, m, v, gradient(i), hyper, static_cast<int>(step), divisor, clip);
    write_as(form_.moment, storage_.moment1, i, m);
    write_as(form_.moment, storage_.moment2, i, v);
    if (form_.split) {
      const reference::Split halves = reference::split(p);
      write(storage_.parameter, i, halves.upper);
      write(storage_.lower, i, halves.lower);
      continue;
    }
    write(storage_.master, i, p);
    if (form_.parameter) write_as(*form_.parameter, storage_.parameter, i, p);
  }
}

bool AdamProblem::equal(const AdamProblem& other, std::size_t i) const {
  const Storage& a = storage_;
  const Storage& b = other.storage_;
  return same_as(form_.moment, a.moment1, b.moment1, i) &&
         same_as(form_.moment, a.moment2, b.moment2, i) &&
         same_as(form_.gradient, a.gradient, b.gradient, i) &&
         (!form_.parameter || same_as(*form_.parameter, a.parameter, b.parameter, i)) &&
         (form_.split ? read<std::int16_t>(a.lower, i) == read<std::int16_t>(b.lower, i)
                      : same_as(Element::kFloat32, a.master, b.master, i));
}

std::size_t AdamProblem::differences(const AdamProblem& other) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < n_; ++i) count += equal(other, i) ? 0 : 1;
  return count;
}

std::string AdamProblem::first_difference(const AdamProblem& other) const {
  for (std::size_t i = 0; i < n_; ++i) {
    if (equal(other, i)) continue;
    std::ostringstream text;
    const auto values = [&](const AdamProblem& of) {
      text << "(master " << of.master(i) << ", moments "
           << read_as(form_.moment, of.storage_.moment1, i) << " and "
           << read_as(form_.moment, of.storage_.moment2, i) << ")";
    };
    text << name_of(form_) << ", element " << i << " of " << n_ << ": ";
    values(*this);
    text << " and ";
    values(other);
    return text.str();
  }
  return {};
}

}  // namespace elixir::kernels
