// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/refused/allowed_operators.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "capture/record/graph/inner_blocks.h"

namespace elixir::capture {
namespace {

using Names = std::unordered_set<std::string_view>;

/// Operators that take a text, an object or any number of arguments, but only compute.
const Names& takes_text() {
  static const Names names{
      "aten::Delete",
      "aten::Float",
      "aten::Int",
      "aten::__contains__",
      "aten::__getitem__",
      "aten::__interpolate",
      "aten::__is__",
      "aten::__isnot__",
      "aten::__upsample",
      "aten::_assert_async",
      "aten::_assert_scalar",
      "aten::_convolution_mode",
      "aten::_functional_assert_async",
      "aten::_functional_assert_scalar",
      "aten::_linalg_check_errors",
      "aten::_linalg_eigh",
      "aten::_linalg_svd",
      "aten::_segment_reduce_backward",
      "aten::_set_item",
      "aten::_sparse_log_softmax",
      "aten::_sparse_mm",
      "aten::_sparse_mm_reduce_impl",
      "aten::_sparse_mm_reduce_impl_backward",
      "aten::_sparse_softmax",
      "aten::add",
      "aten::align_to",
      "aten::all",
      "aten::any",
      "aten::append",
      "aten::argsort",
      "aten::capitalize",
      "aten::cat",
      "aten::center",
      "aten::clear",
      "aten::concat",
      "aten::concatenate",
      "aten::conv1d",
      "aten::conv2d",
      "aten::conv3d",
      "aten::copy",
      "aten::count",
      "aten::cummax",
      "aten::cummin",
      "aten::cumprod",
      "aten::cumprod_",
      "aten::cumsum",
      "aten::cumsum_",
      "aten::dequantize",
      "aten::device",
      "aten::diagonal",
      "aten::dict",
      "aten::div",
      "aten::div_",
      "aten::divide",
      "aten::divide_",
      "aten::einsum",
      "aten::empty",
      "aten::endswith",
      "aten::eq",
      "aten::expandtabs",
      "aten::fft_fft",
      "aten::fft_fft2",
      "aten::fft_fftn",
      "aten::fft_hfft",
      "aten::fft_hfft2",
      "aten::fft_hfftn",
      "aten::fft_ifft",
      "aten::fft_ifft2",
      "aten::fft_ifftn",
      "aten::fft_ihfft",
      "aten::fft_ihfft2",
      "aten::fft_ihfftn",
      "aten::fft_irfft",
      "aten::fft_irfft2",
      "aten::fft_irfftn",
      "aten::fft_rfft",
      "aten::fft_rfft2",
      "aten::fft_rfftn",
      "aten::find",
      "aten::flatten",
      "aten::format",
      "aten::full",
      "aten::gather",
      "aten::ge",
      "aten::gelu",
      "aten::gelu_",
      "aten::gelu_backward",
      "aten::get",
      "aten::get_autocast_dtype",
      "aten::gt",
      "aten::hash",
      "aten::index",
      "aten::index_add",
      "aten::index_copy",
      "aten::index_copy_",
      "aten::index_fill",
      "aten::index_fill_",
      "aten::index_reduce",
      "aten::index_reduce_",
      "aten::index_select",
      "aten::insert",
      "aten::isalnum",
      "aten::isalpha",
      "aten::isdecimal",
      "aten::isdigit",
      "aten::isidentifier",
      "aten::islower",
      "aten::isnumeric",
      "aten::isprintable",
      "aten::isspace",
      "aten::istitle",
      "aten::isupper",
      "aten::items",
      "aten::join",
      "aten::keys",
      "aten::kthvalue",
      "aten::le",
      "aten::len",
      "aten::linalg_cond",
      "aten::linalg_eigh",
      "aten::linalg_eigvalsh",
      "aten::linalg_lstsq",
      "aten::linalg_matrix_norm",
      "aten::linalg_norm",
      "aten::linalg_qr",
      "aten::linalg_svd",
      "aten::linalg_svdvals",
      "aten::list",
      "aten::ljust",
      "aten::log_softmax",
      "aten::logcumsumexp",
      "aten::logsumexp",
      "aten::lower",
      "aten::lstrip",
      "aten::lt",
      "aten::max",
      "aten::mean",
      "aten::median",
      "aten::meshgrid",
      "aten::min",
      "aten::mode",
      "aten::nanmedian",
      "aten::nanquantile",
      "aten::ne",
      "aten::norm",
      "aten::ones",
      "aten::ord",
      "aten::pad",
      "aten::pad_sequence",
      "aten::partition",
      "aten::percentFormat",
      "aten::pop",
      "aten::popitem",
      "aten::prod",
      "aten::quantile",
      "aten::rand",
      "aten::randn",
      "aten::refine_names",
      "aten::remove",
      "aten::rename",
      "aten::rename_",
      "aten::replace",
      "aten::rfind",
      "aten::rindex",
      "aten::rjust",
      "aten::rpartition",
      "aten::rsplit",
      "aten::rstrip",
      "aten::scatter",
      "aten::scatter_",
      "aten::scatter_add",
      "aten::scatter_reduce",
      "aten::scatter_reduce_",
      "aten::searchsorted",
      "aten::segment_reduce",
      "aten::select",
      "aten::setdefault",
      "aten::size",
      "aten::slice",
      "aten::softmax",
      "aten::sort",
      "aten::sorted",
      "aten::split",
      "aten::splitlines",
      "aten::squeeze",
      "aten::squeeze_",
      "aten::startswith",
      "aten::std",
      "aten::std_mean",
      "aten::stft",
      "aten::str",
      "aten::stride",
      "aten::strip",
      "aten::sum",
      "aten::swapcase",
      "aten::title",
      "aten::transpose",
      "aten::unbind",
      "aten::unflatten",
      "aten::update",
      "aten::upper",
      "aten::values",
      "aten::var",
      "aten::var_mean",
      "aten::wait",
      "aten::warn",
      "aten::zeros",
      "aten::zfill",
      "prim::AutogradAdd",
      "prim::AutogradAllNonZero",
      "prim::AutogradAllZero",
      "prim::AutogradAnyNonZero",
      "prim::BroadcastSizes",
      "prim::ChunkSizes",
      "prim::ConstantChunk",
      "prim::IfThenElse",
      "prim::ModuleContainerIndex",
      "prim::Print",
      "prim::RaiseException",
      "prim::StringIndex",
      "prim::TupleIndex",
      "prim::TupleUnpack",
      "prim::VarConcat",
      "prim::VarStack",
      "prim::awaitable_nowait",
      "prim::tolist",
      "prim::unchecked_cast",
  };
  return names;
}

/// Operators that do more than arithmetic: they reach memory shared with files, or of devices, or
/// the process's random generator.
const Names& reaches_out() {
  static const Names names{
      "aten::_cudnn_init_dropout_state",
      "aten::_cufft_clear_plan_cache",
      "aten::_cufft_set_plan_cache_max_size",
      "aten::_pin_memory",
      "aten::manual_seed",
      "aten::pin_memory",
      "aten::record_stream",
  };
  return names;
}

/// Nodes of a graph that are not operators: constants, control flow, lists, attributes, calls.
const Names& is_structure() {
  static const Names names{
      "prim::Closure",
      "prim::Constant",
      "prim::CreateObject",
      "prim::CallFunction",
      "prim::CallMethod",
      "prim::DictConstruct",
      "prim::Drop",
      "prim::EnumName",
      "prim::EnumValue",
      "prim::Enter",
      "prim::Exit",
      "prim::Function",
      "prim::GetAttr",
      "prim::Guard",
      "prim::HasAttr",
      "prim::If",
      "prim::ListComprehension",
      "prim::ListConstruct",
      "prim::ListUnpack",
      "prim::Load",
      "prim::Loop",
      "prim::Return",
      "prim::SetAttr",
      "prim::Store",
      "prim::TupleConstruct",
      "prim::TupleIndex",
      "prim::TupleSlice",
      "prim::TupleUnpack",
      "prim::Uninitialized",
      "prim::annotate",
      "prim::awaitable",
      "prim::awaitableClosure",
      "prim::fork",
      "prim::forkClosure",
      "prim::isinstance",
      "prim::unchecked_cast",
      "prim::unchecked_unwrap_optional",
  };
  return names;
}

bool is_text_or_object(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::StringType:
    case c10::TypeKind::ClassType:
    case c10::TypeKind::InterfaceType:
    case c10::TypeKind::AnyType:
    case c10::TypeKind::AnyClassType:
    case c10::TypeKind::AnyListType:
    case c10::TypeKind::AnyTupleType:
    case c10::TypeKind::AnyEnumType:
    case c10::TypeKind::EnumType:
    case c10::TypeKind::CapsuleType:
    case c10::TypeKind::PyObjectType:
    case c10::TypeKind::RRefType:
    case c10::TypeKind::FunctionType:
    case c10::TypeKind::FutureType:
    case c10::TypeKind::AwaitType:
    case c10::TypeKind::QuantizerType:
      return true;
    default:
      break;
  }
  const auto contained = type.containedTypes();
  return std::any_of(contained.begin(), contained.end(), [](const c10::TypePtr& inner) {
    return is_text_or_object(*inner);
  });
}

bool in_namespace(std::string_view name, std::string_view prefix) {
  return name.substr(0, prefix.size()) == prefix;
}

/// Classes written in C++. No graph shows what their methods do.
bool is_foreign_class(const c10::Type& type) {
  const auto* named = dynamic_cast<const c10::NamedType*>(&type);
  return named != nullptr && named->name() &&
         in_namespace(named->name()->qualifiedName(), "__torch__.torch.classes");
}

/// The part of a node that is not allowed; empty when it may run.
std::string refused_part(const torch::jit::Node& node) {
  const std::string name = node.kind().toQualString();
  for (const auto& values : {node.inputs(), node.outputs()}) {
    for (const torch::jit::Value* value : values) {
      if (is_foreign_class(*value->type())) {
        return name + " of " + value->type()->repr_str();
      }
    }
  }
  if (is_structure().count(name) != 0) return {};
  const torch::jit::Operator* op = node.maybeOperator();
  return op != nullptr && is_allowed(op->schema()) ? std::string() : name;
}

/// Uses a worklist, because a file can nest to any depth.
void check_graph(torch::jit::Graph& graph, const std::string& function) {
  std::vector<torch::jit::Block*> open{graph.block()};
  while (!open.empty()) {
    torch::jit::Block* const block = open.back();
    open.pop_back();
    for (torch::jit::Node* node : block->nodes()) {
      const std::string refused = refused_part(*node);
      if (!refused.empty()) throw refused_operator(refused, "function " + function);
      for (torch::jit::Block* inner : inner_blocks(*node)) open.push_back(inner);
    }
  }
}

}  // namespace

bool is_allowed(const c10::FunctionSchema& schema) {
  const std::string& name = schema.name();
  if (name == "elixir::enter_module" || name == "elixir::leave_module") return true;
  if (!in_namespace(name, "aten::") && !in_namespace(name, "prim::")) return false;
  if (reaches_out().count(name) != 0) return false;
  const auto text = [](const c10::Argument& argument) {
    return is_text_or_object(*argument.real_type());
  };
  const bool plain = !schema.is_vararg() &&
                     std::none_of(schema.arguments().begin(), schema.arguments().end(), text);
  return plain || takes_text().count(name) != 0;
}

Error refused_operator(const std::string& op, const std::string& place) {
  return Error(ErrorCode::kUnsupportedModel,
               "the model calls {} in {}, which could do more than compute on tensors",
               op,
               place)
      .help(
          "a model is run on shapes alone, and may not reach files, processes, other "
          "machines or classes of other libraries: take the call out of the module");
}

Error refused_on_real_data(const std::string& op, const std::string& place) {
  return Error(ErrorCode::kUnsupportedModel,
               "the model calls {} on constants in {}, which Elixir does not compute",
               op,
               place)
      .help(
          "compute the constant before the model is exported, and keep it in a buffer; or write it "
          "with other operators");
}

Error refused_view(const std::string& op, const std::string& place) {
  return Error(ErrorCode::kUnsupportedModel, "{} in {} makes a view beyond its storage", op, place)
      .help("look at the sizes, strides and offset that the model gives to it");
}

void refuse_what_is_not_allowed(const torch::jit::Module& module) {
  for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
    const std::string name = function->qualname().qualifiedName();
    const torch::jit::GraphFunction* graph = torch::jit::tryToGraphFunction(*function);
    if (graph == nullptr) throw refused_operator(name, "the module");
    check_graph(*graph->graph(), name);
  }
}

}  // namespace elixir::capture
