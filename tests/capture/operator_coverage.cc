// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operator_coverage.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>

#include "capture/meta/meta_kernels.h"
#include "core/files.h"
#include "scratch_labels.h"

namespace elixir::capture {
namespace {

using c10::DispatchKey;

/// The content of derivatives.yaml: the operators with a formula, and every word of the formulas.
struct Derivatives {
  std::set<std::string> operators, words;

  explicit Derivatives(const std::string& path) {
    std::istringstream lines(read_file(path));
    const std::string entry = "- name: ";
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind('#', 0) == 0) continue;
      if (line.rfind(entry, 0) == 0) {
        const std::size_t end = line.find('(');
        operators.insert(line.substr(entry.size(), end - entry.size()));
        continue;
      }
      add_words(line);
    }
  }

  /// In-place operators share the formula of the out-of-place form.
  [[nodiscard]] bool of(const std::string& name) const {
    if (operators.count(name) != 0) return true;
    const std::size_t end = std::min(name.find('.'), name.size());
    return end > 1 && name[end - 1] == '_' &&
           operators.count(std::string(name).erase(end - 1, 1)) != 0;
  }

 private:
  void add_words(const std::string& line) {
    std::string word;
    for (const char c : line + ' ') {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
      } else if (!word.empty()) {
        words.insert(word);
        word.clear();
      }
    }
  }
};

struct Reason {
  std::string_view part;  ///< of the name
  std::string_view why;
};

constexpr std::string_view kLayout =
    "its tensors are sparse, nested or opaque: a program holds strided ones";
constexpr std::string_view kDevice = "of a device that is not a target";
constexpr std::string_view kData = "the size of its result depends on values";
constexpr std::string_view kInside = "runs inside an operator that is recorded whole";
constexpr std::string_view kQuantized = "its tensors are quantised: a program holds none";
constexpr std::string_view kForwardMode = "of forward-mode derivatives alone";
constexpr std::string_view kNeverCalled = "LibTorch composes it otherwise and never calls it";
constexpr std::string_view kInternal = "for LibTorch's own tests and tools";

/// The first match wins. A name matches when it contains the part.
constexpr std::array kReasons{
    Reason{"mps", kDevice},
    Reason{"miopen", kDevice},
    Reason{"sparse", kLayout},
    Reason{"_cslt", kLayout},
    Reason{"coalesce", kLayout},
    Reason{"hspmm", kLayout},
    Reason{"sspaddmm", kLayout},
    Reason{"_spdiags", kLayout},
    Reason{"_spsolve", kLayout},
    Reason{"to_dense", kLayout},
    Reason{"dense_dim", kLayout},
    Reason{"_dimI", kLayout},
    Reason{"_dimV", kLayout},
    Reason{"nnz", kLayout},
    Reason{"_indices", kLayout},
    Reason{"_values", kLayout},
    Reason{"nested", kLayout},
    Reason{"jagged", kLayout},
    Reason{"to_padded_tensor", kLayout},
    Reason{"_mkldnn_reshape", kLayout},
    Reason{"_mkldnn_transpose", kLayout},
    Reason{"mkldnn_adaptive_avg_pool2d", kLayout},
    Reason{"mkldnn_linear", kLayout},
    Reason{"mkldnn_max_pool", kLayout},
    Reason{"to_mkldnn", kLayout},
    Reason{"mkldnn_reorder", kLayout},
    Reason{"masked_select", kData},
    Reason{"masked_scatter_backward", kData},
    Reason{"nonzero", kData},
    Reason{"unique", kData},
    Reason{"bincount", kData},
    Reason{"histogram", kData},
    Reason{"repeat_interleave.Tensor", kData},
    Reason{"_local_scalar_dense", kData},
    Reason{"from_file", kData},
    Reason{"quantize_per", kQuantized},
    Reason{"quantized_", kQuantized},
    Reason{"_affine_quantized", kQuantized},
    Reason{"_quantized_tensor", kQuantized},
    Reason{"empty_quantized", kQuantized},
    Reason{"dequantize", kQuantized},
    Reason{"int_repr", kQuantized},
    Reason{"q_per_channel", kQuantized},
    Reason{"q_scale", kQuantized},
    Reason{"q_zero_point", kQuantized},
    Reason{"qscheme", kQuantized},
    Reason{"_slow_conv2d", kInside},
    Reason{"slow_conv3d_forward", kInside},
    Reason{"slow_conv_dilated", kInside},
    Reason{"slow_conv_transpose3d", kInside},
    Reason{"_conv_depthwise2d", kInside},
    Reason{"conv_depthwise3d", kInside},
    Reason{"cudnn_convolution", kInside},
    Reason{"_attention_forward", kInside},
    Reason{"_attention_backward", kInside},
    Reason{"_compute_linear_combination", kInside},
    Reason{"_make_per_", kQuantized},
    Reason{"_ctc_loss.Tensor", kData},
    Reason{"_ctc_loss_backward.Tensor", kData},
    Reason{"_jvp", kForwardMode},
    Reason{"linear_backward", kLayout},
    Reason{"matmul_backward", kLayout},
    Reason{"max_pool2d_backward", kDevice},
    Reason{"cudnn_affine_grid_generator", kNeverCalled},
    Reason{"_test_", kInternal},
    Reason{"_foobar", kInternal},
    Reason{"_validate_compressed", kLayout},
    Reason{"_copy_from", kDevice},
    Reason{"record_stream", kInternal},
};

std::string why_not_covered(const std::string& name) {
  const auto found = std::find_if(kReasons.begin(), kReasons.end(), [&](const Reason& reason) {
    return name.find(reason.part) != std::string::npos;
  });
  return found == kReasons.end() ? std::string() : std::string(found->why);
}

bool has_out_arguments(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(),
                     schema.arguments().end(),
                     [](const auto& argument) { return argument.is_out(); });
}

Coverage coverage_of(const c10::OperatorHandle& op, const std::string& full_name) {
  if (find_geometry(full_name).rule != nullptr) return Coverage::kRule;
  if (op.hasKernelForDispatchKey(DispatchKey::Meta)) return Coverage::kMeta;
  for (const DispatchKey key : {DispatchKey::CompositeExplicitAutograd,
                                DispatchKey::CompositeExplicitAutogradNonFunctional,
                                DispatchKey::CompositeImplicitAutograd}) {
    if (op.hasKernelForDispatchKey(key)) return Coverage::kComposite;
  }
  return Coverage::kNone;
}

std::string source_of(Coverage coverage) {
  switch (coverage) {
    case Coverage::kRule:
      return "rule";
    case Coverage::kMeta:
      return "Meta kernel";
    case Coverage::kComposite:
      return "its parts";
    case Coverage::kNone:
      return "not covered";
  }
  return {};
}

/// Joins overloads of one operator with the same source into one line.
std::string table(const std::vector<OperatorRow>& rows, bool differentiable) {
  std::map<std::string, std::map<std::string, std::string>> sources;  // operator, source, overloads
  for (const OperatorRow& row : rows) {
    if (row.differentiable != differentiable || row.coverage == Coverage::kNone) continue;
    const std::size_t dot = row.name.find('.');
    std::string& overloads = sources[row.name.substr(0, dot)][source_of(row.coverage)];
    if (dot == std::string::npos) continue;
    overloads += (overloads.empty() ? "." : " .") + row.name.substr(dot + 1);
  }
  std::string text = "| operator | overloads | geometry from |\n| --- | --- | --- |\n";
  for (const auto& [name, by_source] : sources) {
    for (const auto& [source, overloads] : by_source) {
      text += "| `" + name + "` | " + overloads + " | " + source + " |\n";
    }
  }
  return text;
}

std::string uncovered(const std::vector<OperatorRow>& rows, bool differentiable) {
  std::map<std::string, std::string> by_reason;
  for (const OperatorRow& row : rows) {
    if (row.differentiable != differentiable || row.coverage != Coverage::kNone) continue;
    std::string& names = by_reason[row.why_not.empty() ? "a rule is missing" : row.why_not];
    names += (names.empty() ? "`" : " `") + row.name + "`";
  }
  std::string text = "| why | operators |\n| --- | --- |\n";
  for (const auto& [why, names] : by_reason) text += "| " + why + " | " + names + " |\n";
  return text;
}

std::string counts(const std::vector<OperatorRow>& rows) {
  std::string text =
      "| | rule | Meta kernel | its parts | not covered, a rule is missing | cannot be in a "
      "program | all |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const bool differentiable : {true, false}) {
    std::map<std::string, int> number;
    int all = 0;
    for (const OperatorRow& row : rows) {
      if (row.differentiable != differentiable) continue;
      ++all;
      ++number[row.coverage == Coverage::kNone && !row.why_not.empty() ? "cannot"
                                                                       : source_of(row.coverage)];
    }
    text += differentiable ? "| with a derivative |" : "| without, named in derivatives |";
    for (const char* column : {"rule", "Meta kernel", "its parts", "not covered", "cannot"}) {
      text += " " + std::to_string(number[column]) + " |";
    }
    text += " " + std::to_string(all) + " |\n";
  }
  return text;
}

}  // namespace

std::vector<OperatorRow> operator_rows(const std::string& derivatives_yaml) {
  const Derivatives derivatives(derivatives_yaml);
  const std::string prefix = "aten::";
  std::vector<OperatorRow> rows;
  for (const c10::OperatorName& full : c10::Dispatcher::singleton().getAllOpNames()) {
    if (full.name.rfind(prefix, 0) != 0) continue;
    const auto op = c10::Dispatcher::singleton().findSchema(full);
    if (!op || has_out_arguments(op->schema())) continue;
    const std::string full_name = c10::toString(full);
    if (!op->hasKernelForDispatchKey(DispatchKey::Autograd)) continue;
    // Composed above autograd for every device without a kernel, with or without a formula.
    if (op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd) &&
        !op->hasKernelForDispatchKey(DispatchKey::Meta) &&
        find_geometry(full_name).rule == nullptr) {
      continue;
    }
    OperatorRow row;
    row.name = full_name.substr(prefix.size());
    row.differentiable = derivatives.of(row.name);
    if (!row.differentiable && derivatives.words.count(full.name.substr(prefix.size())) == 0)
      continue;
    row.coverage = coverage_of(*op, full_name);
    if (row.coverage == Coverage::kNone) row.why_not = why_not_covered(row.name);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return a.name < b.name;
  });
  return rows;
}

std::string operator_page(const std::vector<OperatorRow>& rows) {
  return "# Operators\n\n"
         "This page lists every operator of LibTorch 2.11 that has a derivative, and every other "
         "operator that a derivative's\n"
         "formula may call. It says whether a capture can follow the operator, and where the "
         "geometry of its results comes from.\n"
         "Operators that LibTorch composes above autograd are not listed, because a program holds "
         "their parts.\n"
         "`tests/capture/coverage_test.cc` generates the page from LibTorch's dispatcher and its "
         "`derivatives.yaml`. To write it\n"
         "again, run `ELIXIR_TEST_ACCEPT=1 meson test -C build operator-coverage`.\n\n" +
         counts(rows) +
         "\n"
         "- **rule**: a function of `lib/capture/meta/*.cc`. A test compares it with the CPU "
         "kernel on random arguments, or with a\n"
         "  GPU where only CUDA has the operator. In-place operators share the rule of their "
         "other form.\n"
         "- **Meta kernel**: LibTorch's own, in C++.\n"
         "- **its parts**: LibTorch composes it below autograd. It is one call of the program, "
         "and its parts give the geometry.\n\n"
         "How to add one: [adding-an-operator.md](adding-an-operator.md).\n\n" +
         scratch_section() +
         "\n"
         "## With a derivative, not covered\n\n" +
         uncovered(rows, true) + "\n## Without a derivative, not covered\n\n" +
         uncovered(rows, false) + "\n## With a derivative\n\n" + table(rows, true) +
         "\n## Without a derivative, called by derivatives\n\n" + table(rows, false);
}

}  // namespace elixir::capture
