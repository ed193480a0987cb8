// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Scripts of convolutions against those that were recorded on an H200. The workspaces are the
// answers of cuDNN on an H100, where the table has them; everything around them comes from the
// rule.
#include "operators/convolution/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "operators/operator_key.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/workspace_table.h"

#include "../scratch/single_call.h"

namespace elixir::operators {
namespace {

using Parts = std::vector<std::string_view>;

/// The parts of "a,b[1,2],(3,4)" between commas outside of brackets.
Parts parts_of(std::string_view text) {
  Parts parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || (text[at] == ',' && depth == 0)) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    } else if (text[at] == '[' || text[at] == '(') {
      ++depth;
    } else if (text[at] == ']' || text[at] == ')') {
      --depth;
    }
  }
  return parts;
}

Ints integers_of(std::string_view list) {
  Ints values;
  for (const std::string_view part : parts_of(list)) {
    std::int64_t value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    values.push_back(value);
  }
  return values;
}

/// "bfloat16[1,3]/[3,1]"
TensorRef tensor_of(std::string_view text) {
  const std::size_t sizes = text.find('['), strides = text.find("/[");
  TensorRef tensor;
  tensor.dtype = *program::dtype_named(text.substr(0, sizes));
  tensor.sizes = integers_of(text.substr(sizes + 1, strides - sizes - 2));
  tensor.strides = integers_of(text.substr(strides + 2, text.size() - strides - 3));
  return tensor;
}

program::Argument argument_of(std::string_view text) {
  if (text == "-") return program::None{};
  if (text == "true" || text == "false") return text == "true";
  if (text.substr(0, 2) == "b(") {
    Bools mask;
    for (const char bit : text.substr(2, text.size() - 3)) mask.push_back(bit == '1');
    return mask;
  }
  if (text.front() == '(') return integers_of(text.substr(1, text.size() - 2));
  return integers_of(text).front();
}

/// The call that has the key. Its results matter by their number alone.
Call call_of(std::string_view key) {
  const std::size_t open = key.find('(');
  Call call{std::string(key.substr(0, open))};
  std::size_t outputs = 1;
  for (const std::string_view part : parts_of(key.substr(open + 1, key.size() - open - 2))) {
    if (part.find("]/[") != std::string_view::npos) {
      call.tensor_argument(tensor_of(part));
    } else {
      const program::Argument argument = argument_of(part);
      if (const auto* mask = std::get_if<Bools>(&argument)) {
        outputs = static_cast<std::size_t>(std::count(mask->begin(), mask->end(), true));
      }
      call.argument(argument);
    }
  }
  for (std::size_t i = 0; i < outputs; ++i) call.output(tensor({1}));
  return call;
}

/// A script with outputs by position, and releases that follow each other in order.
std::vector<std::string> normal(const std::vector<ScriptStep>& steps) {
  std::vector<std::string> words;
  std::vector<program::StorageId> outputs;
  std::vector<std::int64_t> held;
  std::size_t releases = 0;
  for (const ScriptStep& step : steps) {
    if (step.kind == ScriptStep::Kind::kRelease) {
      words.push_back("-" + std::to_string(held.at(static_cast<std::size_t>(step.temporary))));
      ++releases;
      std::sort(words.end() - static_cast<std::ptrdiff_t>(releases), words.end());
      continue;
    }
    releases = 0;
    if (step.kind == ScriptStep::Kind::kOutput) {
      words.push_back("o" + std::to_string(outputs.size()));
      outputs.push_back(step.storage);
    } else {
      words.push_back("+" + std::to_string(step.bytes));
      held.push_back(step.bytes);
    }
  }
  return words;
}

TEST(RecordedConvolutions, AskForWhatTheRuleSays) {
  WorkspaceTable recorded = shipped_workspace_table(90);
  WorkspaceTable asked;
  asked.queries = recorded.queries;
  int compared = 0;
  for (const auto& [key, steps] : recorded.calls) {
    const Call call = call_of(key);
    const Program program = call.program();
    ASSERT_EQ(operator_key(program.operators[0]), key);
    if (!is_convolution(program.operators[0])) continue;
    if (!unknown_convolutions(program, asked).empty()) continue;  // depends on the single GPU
    WorkspaceTable one;
    one.calls.emplace(key, steps);
    const CudaTraits traits = cuda_traits(kHopper);
    const CallScript expected = call_scripts(program, traits, one).at(0);
    const CallScript by_rule = call_scripts(program, traits, asked).at(0);
    EXPECT_EQ(normal(by_rule.steps), normal(expected.steps)) << key;
    EXPECT_EQ(by_rule.source, ScriptSource::kMeasured) << key;
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

}  // namespace
}  // namespace elixir::operators
