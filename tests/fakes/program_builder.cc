// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "fakes/program_builder.h"

#include <algorithm>
#include <random>
#include <utility>

namespace elixir::fakes {

using program::Category;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::Storage;
using program::StorageId;

namespace {

TensorRef dense(Ints sizes, DType dtype) {
  TensorRef tensor;
  tensor.strides.resize(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= sizes[i];
  }
  tensor.sizes = std::move(sizes);
  tensor.dtype = dtype;
  return tensor;
}

}  // namespace

ProgramBuilder::ProgramBuilder(DType dtype, program::Target target) : dtype_(dtype) {
  program_.target = target;
  program_.modules = {""};
}

StorageId ProgramBuilder::add_storage(const TensorRef& tensor, Category category) {
  Storage storage;
  storage.id = static_cast<StorageId>(program_.storages.size());
  storage.bytes = tensor.bytes();
  storage.category = category;
  program_.storages.push_back(storage);
  version_.push_back(0);
  wants_gradient_.push_back(false);
  return storage.id;
}

TensorRef ProgramBuilder::newest(const TensorRef& tensor) const {
  TensorRef result = tensor;
  result.version = version_[tensor.storage];
  return result;
}

TensorRef ProgramBuilder::parameter(const std::string& name, Ints sizes) {
  return parameter(name, std::move(sizes), ParameterOptions{});
}

TensorRef ProgramBuilder::parameter(const std::string& name,
                                    Ints sizes,
                                    const ParameterOptions& options) {
  TensorRef tensor = dense(std::move(sizes), dtype_);
  tensor.storage = add_storage(tensor, Category::kParameter);
  wants_gradient_.back() = options.trained;
  program::Parameter parameter;
  parameter.name = name;
  parameter.names = {name};
  parameter.names.insert(
      parameter.names.end(), options.other_names.begin(), options.other_names.end());
  parameter.tensor = tensor;
  parameter.requires_grad = options.trained;
  program_.parameters.push_back(parameter);
  return tensor;
}

TensorRef ProgramBuilder::buffer(const std::string& name, Ints sizes) {
  TensorRef tensor = dense(std::move(sizes), dtype_);
  tensor.storage = add_storage(tensor, Category::kBuffer);
  program::Buffer buffer;
  buffer.name = name;
  buffer.names = {name};
  buffer.tensor = tensor;
  program_.buffers.push_back(buffer);
  return tensor;
}

TensorRef ProgramBuilder::input(const std::string& name, Ints sizes, DType dtype) {
  TensorRef tensor = dense(std::move(sizes), dtype);
  tensor.storage = add_storage(tensor, Category::kInput);
  program_.inputs.push_back({.name = name, .tensor = tensor});
  return tensor;
}

TensorRef ProgramBuilder::constant(Ints sizes, DType dtype) {
  TensorRef tensor = dense(std::move(sizes), dtype);
  tensor.storage = add_storage(tensor, Category::kConstant);
  program_.storages.back().content_digest = std::string(64, 'a');
  return tensor;
}

Operator& ProgramBuilder::add_operator(const std::string& name,
                                       const std::vector<TensorRef>& arguments) {
  Operator op;
  op.id = static_cast<OperatorId>(program_.operators.size());
  op.name = name;
  op.phase = phase_;
  op.module = static_cast<std::int32_t>(module_);
  for (const TensorRef& argument : arguments) op.arguments.emplace_back(newest(argument));
  program_.operators.push_back(std::move(op));
  return program_.operators.back();
}

TensorRef ProgramBuilder::call(const std::string& name,
                               const std::vector<TensorRef>& arguments,
                               Ints sizes,
                               std::int64_t flops) {
  Operator& op = add_operator(name, arguments);
  TensorRef result = dense(std::move(sizes), dtype_);
  result.storage = add_storage(result, Category::kTemporary);
  wants_gradient_.back() = true;
  program_.storages.back().allocated_at = op.id;
  op.outputs.emplace_back(result);
  op.flops = flops;
  return result;
}

TensorRef ProgramBuilder::view(const std::string& name, const TensorRef& of, Ints sizes) {
  Operator& op = add_operator(name, {of});
  TensorRef result = dense(std::move(sizes), of.dtype);
  result.storage = of.storage;
  op.outputs.emplace_back(newest(result));
  return newest(result);
}

TensorRef ProgramBuilder::write(const std::string& name,
                                const TensorRef& into,
                                const std::vector<TensorRef>& arguments) {
  std::vector<TensorRef> all = {into};
  all.insert(all.end(), arguments.begin(), arguments.end());
  Operator& op = add_operator(name, all);
  op.writes = true;
  ++version_[into.storage];
  op.outputs.emplace_back(newest(into));
  for (program::Buffer& buffer : program_.buffers) {
    if (buffer.tensor.storage == into.storage) buffer.mutated = true;
  }
  return newest(into);
}

void ProgramBuilder::append(const std::string& name,
                            std::vector<program::Argument> arguments,
                            const std::vector<TensorRef*>& results) {
  Operator& op = add_operator(name, {});
  op.arguments = std::move(arguments);
  for (TensorRef* result : results) {
    result->storage = add_storage(*result, Category::kTemporary);
    result->version = 0;
    program_.storages.back().allocated_at = op.id;
    op.outputs.emplace_back(*result);
  }
}

void ProgramBuilder::set_module(const std::string& path) {
  const auto found = std::find(program_.modules.begin(), program_.modules.end(), path);
  module_ = static_cast<std::size_t>(found - program_.modules.begin());
  if (found == program_.modules.end()) program_.modules.push_back(path);
}

void ProgramBuilder::set_loss(const TensorRef& loss) {
  program_.loss = newest(loss);
}

void ProgramBuilder::set_gradient(const TensorRef& parameter, const TensorRef& gradient) {
  for (program::Parameter& candidate : program_.parameters) {
    if (candidate.tensor.storage == parameter.storage) candidate.gradient = newest(gradient);
  }
}

Program ProgramBuilder::build() const {
  Program program = program_;
  const auto last = static_cast<OperatorId>(program.operators.size());
  for (const Operator& op : program.operators) {
    const auto touch = [&](const TensorRef& tensor) {
      Storage& storage = program.storages[tensor.storage];
      if (storage.allocated_at < 0) return;
      storage.freed_after = op.id;
      const bool made_in_forward =
          program.operators[storage.allocated_at].phase == program::Phase::kForward;
      if (made_in_forward && op.phase == program::Phase::kBackward) {
        storage.category = Category::kActivation;
      }
    };
    program::for_each_tensor(op.arguments, touch);
    program::for_each_tensor(op.outputs, touch);
  }
  for (const program::Parameter& parameter : program.parameters) {
    if (!parameter.gradient) continue;
    program.storages[parameter.gradient->storage].category = Category::kGradient;
    program.storages[parameter.gradient->storage].freed_after = last;
  }
  for (Storage& storage : program.storages) {
    if (storage.allocated_at < 0) storage.freed_after = last;
  }
  return program;
}

// --- Layers --------------------------------------------------------------------------------------

void ModelBuilder::on_backward(std::function<void()> step) {
  tape_.emplace_back([this, step = std::move(step), module = builder_.module()] {
    builder_.set_module(module);
    step();
  });
}

void ModelBuilder::give(const TensorRef& to, const TensorRef& gradient) {
  if (!builder_.wants_gradient(to)) return;
  const auto found = gradients_.find(to.storage);
  if (found == gradients_.end()) {
    gradients_.emplace(to.storage, gradient);
    return;
  }
  const auto holders = std::count_if(gradients_.begin(), gradients_.end(), [&](const auto& entry) {
    return entry.second.storage == found->second.storage;
  });
  if (in_place_ && holders == 1) {
    found->second = builder_.write("aten::add_", found->second, {gradient});
  } else {
    found->second = builder_.call("aten::add", {found->second, gradient}, to.sizes);
  }
}

TensorRef ModelBuilder::gradient_of(const TensorRef& of) const {
  TensorRef gradient = gradients_.at(of.storage);
  gradient.sizes = of.sizes;
  gradient.strides = of.strides;
  return gradient;
}

TensorRef ModelBuilder::linear(const TensorRef& x, const TensorRef& weight, const TensorRef& bias) {
  const std::int64_t rows = x.sizes[0], in = x.sizes[1], out = weight.sizes[0];
  const std::int64_t flops = 2 * rows * in * out;
  const TensorRef transposed = builder_.view("aten::t", weight, {in, out});
  const TensorRef y = builder_.call("aten::addmm", {bias, x, transposed}, {rows, out}, flops);
  on_backward([this, x, weight, bias, y, flops] {
    const TensorRef g = gradient_of(y);
    if (builder_.wants_gradient(bias)) give(bias, builder_.call("aten::sum", {g}, bias.sizes));
    if (builder_.wants_gradient(weight)) {
      give(weight, builder_.call("aten::mm", {g, x}, weight.sizes, flops));
    }
    if (builder_.wants_gradient(x)) {
      give(x, builder_.call("aten::mm", {g, weight}, x.sizes, flops));
    }
  });
  return y;
}

TensorRef ModelBuilder::matmul(const TensorRef& x, const TensorRef& weight) {
  const std::int64_t rows = x.sizes[0], in = x.sizes[1], out = weight.sizes[0];
  const std::int64_t flops = 2 * rows * in * out;
  const TensorRef transposed = builder_.view("aten::t", weight, {in, out});
  const TensorRef y = builder_.call("aten::mm", {x, transposed}, {rows, out}, flops);
  on_backward([this, x, weight, y, flops] {
    const TensorRef g = gradient_of(y);
    if (builder_.wants_gradient(weight)) {
      give(weight, builder_.call("aten::mm", {g, x}, weight.sizes, flops));
    }
    if (builder_.wants_gradient(x)) {
      give(x, builder_.call("aten::mm", {g, weight}, x.sizes, flops));
    }
  });
  return y;
}

TensorRef ModelBuilder::gelu(const TensorRef& x) {
  const TensorRef y = builder_.call("aten::gelu", {x}, x.sizes);
  on_backward([this, x, y] {
    give(x, builder_.call("aten::gelu_backward", {gradient_of(y), x}, x.sizes));
  });
  return y;
}

TensorRef ModelBuilder::relu_in_place(const TensorRef& x) {
  const TensorRef y = builder_.write("aten::relu_", x, {});
  on_backward([this, y] {
    // The gradient of the old value replaces that of the new value: one storage, two versions.
    gradients_[y.storage] = builder_.call("aten::threshold_backward", {gradient_of(y), y}, y.sizes);
  });
  return y;
}

TensorRef ModelBuilder::layer_norm(const TensorRef& x,
                                   const TensorRef& weight,
                                   const TensorRef& bias) {
  const TensorRef y = builder_.call("aten::native_layer_norm", {x, weight, bias}, x.sizes);
  on_backward([this, x, weight, bias, y] {
    const TensorRef g = gradient_of(y);
    if (builder_.wants_gradient(weight)) {
      give(weight, builder_.call("aten::norm_backward_weight", {g, x}, weight.sizes));
      give(bias, builder_.call("aten::norm_backward_bias", {g}, bias.sizes));
    }
    if (builder_.wants_gradient(x)) {
      give(x, builder_.call("aten::norm_backward_input", {g, x, weight}, x.sizes));
    }
  });
  return y;
}

TensorRef ModelBuilder::add(const TensorRef& x, const TensorRef& y) {
  const TensorRef z = builder_.call("aten::add", {x, y}, x.sizes);
  on_backward([this, x, y, z] {
    // Both share one gradient, as autograd does.
    const TensorRef g = gradient_of(z);
    give(x, g);
    give(y, g);
  });
  return z;
}

TensorRef ModelBuilder::embedding(const TensorRef& indices, const TensorRef& weight) {
  const TensorRef y =
      builder_.call("aten::embedding", {weight, indices}, {indices.numel(), weight.sizes[1]});
  on_backward([this, indices, weight, y] {
    if (!builder_.wants_gradient(weight)) return;
    const TensorRef g = gradient_of(y);
    give(weight, builder_.call("aten::embedding_dense_backward", {g, indices}, weight.sizes));
  });
  return y;
}

TensorRef ModelBuilder::attention(const TensorRef& qkv) {
  const std::int64_t rows = qkv.sizes[0], hidden = qkv.sizes[1] / 3;
  const std::int64_t flops = 4 * rows * rows * hidden;
  const TensorRef y = builder_.call("aten::attention", {qkv}, {rows, hidden}, flops);
  on_backward([this, qkv, y, flops] {
    const TensorRef g = gradient_of(y);
    give(qkv, builder_.call("aten::attention_backward", {g, qkv, y}, qkv.sizes, 2 * flops));
  });
  return y;
}

void ModelBuilder::loss(const TensorRef& x) {
  const TensorRef scalar = builder_.call("aten::mean", {x}, Ints{});
  builder_.set_loss(scalar);
  builder_.start_backward();
  const TensorRef ones = builder_.call("aten::ones_like", {scalar}, Ints{});
  gradients_[x.storage] = builder_.call("aten::mean_backward", {ones}, x.sizes);
  for (auto step = tape_.rbegin(); step != tape_.rend(); ++step) (*step)();
  for (const program::Parameter& parameter : builder_.build().parameters) {
    const auto found = gradients_.find(parameter.tensor.storage);
    if (found == gradients_.end()) continue;
    TensorRef gradient = found->second;
    gradient.sizes = parameter.tensor.sizes;
    gradient.strides = parameter.tensor.strides;
    builder_.set_gradient(parameter.tensor, gradient);
  }
}

// --- Models --------------------------------------------------------------------------------------

Program mlp(const std::vector<std::int64_t>& widths, std::int64_t batch, DType dtype) {
  ModelBuilder model(dtype);
  TensorRef x = model.raw().input("x", {batch, widths[0]}, dtype);
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    const std::string name = "layers." + std::to_string(i);
    const TensorRef weight = model.raw().parameter(name + ".weight", {widths[i + 1], widths[i]});
    const TensorRef bias = model.raw().parameter(name + ".bias", {widths[i + 1]});
    x = model.linear(x, weight, bias);
    if (i + 2 < widths.size()) x = model.gelu(x);
  }
  model.loss(x);
  return model.build();
}

Program products(const std::vector<std::int64_t>& widths, std::int64_t batch) {
  ModelBuilder model;
  TensorRef x = model.raw().input("x", {batch, widths.front()});
  for (std::size_t i = 1; i < widths.size(); ++i) {
    x = model.matmul(x, model.raw().parameter("w" + std::to_string(i), {widths[i], widths[i - 1]}));
  }
  model.loss(x);
  return model.build();
}

Program transformer(const TransformerOptions& options) {
  ModelBuilder model(options.dtype);
  ProgramBuilder& raw = model.raw();
  const std::int64_t h = options.hidden;
  const TensorRef tokens = raw.input("tokens", {options.tokens});
  ProgramBuilder::ParameterOptions ties;
  if (options.tied) ties.other_names = {"lm_head.weight"};
  const TensorRef table = raw.parameter("wte.weight", {options.vocabulary, h}, ties);
  raw.set_module("wte");
  TensorRef x = model.embedding(tokens, table);
  for (int i = 0; i < options.layers; ++i) {
    const std::string at = "h." + std::to_string(i) + ".";
    const ProgramBuilder::ParameterOptions how{.trained = i >= options.frozen_layers};
    const auto parameter = [&](const std::string& name, Ints sizes) {
      return raw.parameter(at + name, std::move(sizes), how);
    };
    const TensorRef norm1_weight = parameter("ln_1.weight", {h});
    const TensorRef norm1_bias = parameter("ln_1.bias", {h});
    const TensorRef qkv_weight = parameter("attn.c_attn.weight", {3 * h, h});
    const TensorRef qkv_bias = parameter("attn.c_attn.bias", {3 * h});
    const TensorRef out_weight = parameter("attn.c_proj.weight", {h, h});
    const TensorRef out_bias = parameter("attn.c_proj.bias", {h});
    const TensorRef norm2_weight = parameter("ln_2.weight", {h});
    const TensorRef norm2_bias = parameter("ln_2.bias", {h});
    const TensorRef up_weight = parameter("mlp.c_fc.weight", {4 * h, h});
    const TensorRef up_bias = parameter("mlp.c_fc.bias", {4 * h});
    const TensorRef down_weight = parameter("mlp.c_proj.weight", {h, 4 * h});
    const TensorRef down_bias = parameter("mlp.c_proj.bias", {h});
    const auto in = [&](const std::string& module) { raw.set_module(at + module); };
    in("ln_1");
    const TensorRef normed = model.layer_norm(x, norm1_weight, norm1_bias);
    in("attn");
    const TensorRef attended = model.attention(model.linear(normed, qkv_weight, qkv_bias));
    const TensorRef projected = model.linear(attended, out_weight, out_bias);
    raw.set_module("h." + std::to_string(i));
    x = model.add(x, projected);
    in("ln_2");
    const TensorRef normed2 = model.layer_norm(x, norm2_weight, norm2_bias);
    in("mlp");
    const TensorRef wide = model.gelu(model.linear(normed2, up_weight, up_bias));
    const TensorRef narrow = model.linear(wide, down_weight, down_bias);
    raw.set_module("h." + std::to_string(i));
    x = model.add(x, narrow);
  }
  raw.set_module("ln_f");
  const TensorRef norm_weight = raw.parameter("ln_f.weight", {h});
  const TensorRef norm_bias = raw.parameter("ln_f.bias", {h});
  x = model.layer_norm(x, norm_weight, norm_bias);
  const TensorRef head =
      options.tied ? table : raw.parameter("lm_head.weight", {options.vocabulary, h});
  raw.set_module("lm_head");
  const TensorRef logits = model.matmul(x, head);
  raw.set_module("");
  model.loss(logits);
  return model.build();
}

Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  ModelBuilder model(below(2) == 0 ? DType::kFloat32 : DType::kBFloat16);
  ProgramBuilder& raw = model.raw();
  if (below(2) == 0) model.accumulate_in_place();
  const std::int64_t width = 8 * (1 + below(24));
  const std::int64_t rows = 1 + below(40);
  TensorRef x = raw.input("x", {rows, width}, raw.dtype());
  const TensorRef statistics = raw.buffer("running", {width});
  const TensorRef scale = raw.constant({width}, raw.dtype());
  ProgramBuilder::ParameterOptions ties;
  ties.other_names = {"tied.weight"};
  const TensorRef shared = raw.parameter("shared.weight", {width, width}, ties);
  x = model.matmul(x, shared);
  const std::int64_t layers = 1 + below(8);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string at = "l." + std::to_string(i) + ".";
    const ProgramBuilder::ParameterOptions how{.trained = below(5) != 0};
    switch (below(6)) {
      case 0: {
        const TensorRef weight = raw.parameter(at + "weight", {width}, how);
        x = model.layer_norm(x, weight, raw.parameter(at + "bias", {width}, how));
        break;
      }
      case 1: {
        const std::int64_t inner = 8 * (1 + below(40));
        const TensorRef up = raw.parameter(at + "up.weight", {inner, width}, how);
        const TensorRef up_bias = raw.parameter(at + "up.bias", {inner}, how);
        const TensorRef wide = model.gelu(model.linear(x, up, up_bias));
        const TensorRef down = raw.parameter(at + "down.weight", {width, inner}, how);
        x = model.add(x, model.matmul(wide, down));
        break;
      }
      case 2:
        x = model.relu_in_place(model.matmul(x, raw.parameter(at + "weight", {width, width}, how)));
        break;
      case 3: {
        // Two parameters of the value's shape. Both share one gradient storage, which is also used
        // further up.
        const TensorRef position = raw.parameter(at + "position", {rows, width});
        const TensorRef offset = raw.parameter(at + "offset", {rows, width});
        x = model.add(model.add(x, position), offset);
        break;
      }
      case 4:
        x = model.matmul(x, shared);
        break;
      default: {
        raw.write("aten::lerp_", statistics, {x, scale});
        raw.call("aten::detached", {x}, {width});  // a result nobody reads
        const TensorRef weight = raw.parameter(at + "weight", {width, width}, how);
        x = model.linear(x, weight, raw.parameter(at + "bias", {width}, how));
        break;
      }
    }
  }
  raw.parameter("unused.weight", {3 + below(50)});
  model.loss(x);
  return model.build();
}

}  // namespace elixir::fakes
