// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/archive/source_check.h"

#include <algorithm>
#include <exception>
#include <vector>

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parser.h>
#include <torch/csrc/jit/frontend/tree_views.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

using torch::jit::Expr;

Error runs_on_loading(const std::string& record, const std::string& what) {
  return Error(ErrorCode::kUnsupportedModel,
               "loading the model would run its code: {} in {}",
               what,
               record)
      .help(
          "export the model without it: a model is only run after its code was looked "
          "through");
}

/// Whether it consists of names: `a`, `a.b`, `a.b.c`.
bool is_name(const Expr& expression) {
  Expr part = expression;
  while (part.kind() == '.') part = torch::jit::Select(part).value();
  return part.kind() == torch::jit::TK_VAR;
}

/// Whether a call only writes a constant: float("inf"), annotate(List[int], []),
/// torch.device("cpu").
bool spells_constant(const Expr& callee, bool& first_is_type) {
  first_is_type = false;
  if (callee.kind() == torch::jit::TK_VAR) {
    const std::string name = torch::jit::Var(callee).name().name();
    first_is_type = name == "annotate";
    return first_is_type || name == "float" || name == "int" || name == "bool" ||
           name == "complex" || name == "str";
  }
  if (callee.kind() != '.') return false;
  const torch::jit::Select select(callee);
  return select.selector().name() == "device" && select.value().kind() == torch::jit::TK_VAR &&
         torch::jit::Var(select.value()).name().name() == "torch";
}

/// Uses a worklist, because literals nest.
bool is_literal(const Expr& expression) {
  std::vector<Expr> open{expression};
  const auto add = [&open](const auto& list) {
    for (const Expr& element : list) open.push_back(element);
  };
  while (!open.empty()) {
    const Expr next = open.back();
    open.pop_back();
    switch (next.kind()) {
      case torch::jit::TK_CONST:
      case torch::jit::TK_STRINGLITERAL:
      case torch::jit::TK_TRUE:
      case torch::jit::TK_FALSE:
      case torch::jit::TK_NONE:
        break;
      case torch::jit::TK_VAR:
      case '.':
        if (!is_name(next)) return false;
        break;
      case torch::jit::TK_UNARY_MINUS:
        open.emplace_back(next.tree()->tree(0));
        break;
      case torch::jit::TK_LIST_LITERAL:
        add(torch::jit::ListLiteral(next).inputs());
        break;
      case torch::jit::TK_TUPLE_LITERAL:
        add(torch::jit::TupleLiteral(next).inputs());
        break;
      case torch::jit::TK_DICT_LITERAL:
        add(torch::jit::DictLiteral(next).key_inputs());
        add(torch::jit::DictLiteral(next).value_inputs());
        break;
      case torch::jit::TK_APPLY: {
        const torch::jit::Apply call(next);
        bool first_is_type = false;
        if (!spells_constant(call.callee(), first_is_type) || !call.attributes().empty()) {
          return false;
        }
        bool skip = first_is_type;
        for (const Expr& input : call.inputs()) {
          if (!skip) open.push_back(input);
          skip = false;
        }
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

void check_function(const std::string& record, const torch::jit::Def& function) {
  const std::string name = function.name().name();
  if (name == "__setstate__") throw runs_on_loading(record, "a method __setstate__");
  for (const torch::jit::Param& parameter : function.decl().params()) {
    const auto value = parameter.defaultValue();
    if (value.present() && !is_literal(value.get())) {
      throw runs_on_loading(record, "the default of '" + parameter.ident().name() + "' of " + name);
    }
  }
}

void check_class(const std::string& record, const torch::jit::ClassDef& definition) {
  for (const torch::jit::Stmt& statement : definition.body()) {
    if (statement.kind() == torch::jit::TK_DEF) {
      check_function(record, torch::jit::Def(statement));
    } else if (statement.kind() == torch::jit::TK_ASSIGN) {
      const torch::jit::Assign assign(statement);
      // `__annotations__["0"] = Tensor` only names a type.
      if (assign.lhs().kind() != torch::jit::TK_VAR || !assign.rhs().present()) continue;
      if (!is_literal(assign.rhs().get())) {
        throw runs_on_loading(record,
                              "the constant '" + torch::jit::Var(assign.lhs()).name().name() + "'");
      }
    }
  }
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool names_foreign_class(const std::string& text) {
  return text.find("torch.classes") != std::string::npos ||
         text.find("torch\nclasses") != std::string::npos;
}

}  // namespace

void check_source(const std::string& record, const std::string& text) {
  if (names_foreign_class(text)) throw runs_on_loading(record, "an object of a C++ class");
  try {
    torch::jit::Parser parser(std::make_shared<torch::jit::Source>(text));
    torch::jit::Lexer& lexer = parser.lexer();
    while (lexer.cur().kind != torch::jit::TK_EOF) {
      if (lexer.cur().kind == torch::jit::TK_CLASS_DEF) {
        check_class(record, torch::jit::ClassDef(parser.parseClass()));
      } else if (lexer.cur().kind == torch::jit::TK_DEF) {
        check_function(record, torch::jit::Def(parser.parseFunction(/*is_method=*/false)));
      } else {
        lexer.next();  // `op_version_set = 1`, imports
      }
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    // The rest is not TorchScript. LibTorch parses a whole file before it defines anything.
  }
}

void refuse_code_that_runs_on_loading(const std::shared_ptr<Archive>& archive) {
  caffe2::serialize::PyTorchStreamReader reader(archive);
  for (const std::string& record : reader.getAllRecords()) {
    const bool code = ends_with(record, ".py");
    const bool objects = ends_with(record, ".pkl");
    if (record == "model.json") {
      throw Error(ErrorCode::kUnsupportedModel, "the archive is of PyTorch 1.3 or older")
          .help("export the model again with a newer version, up to torch 2.11");
    }
    if (!code && !objects) continue;
    const auto [data, size] = reader.getRecord(record);
    const std::string text(static_cast<const char*>(data.get()), size);
    if (code) {
      check_source(record, text);
    } else if (names_foreign_class(text)) {
      throw runs_on_loading(record, "an object of a C++ class");
    }
  }
}

}  // namespace elixir::capture
