// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/name_match.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>

namespace elixir::train {
namespace {

/// Every prefix "a.", "a.b.", … of `names` that leaves one of `wanted`, with its number of
/// occurrences. The work is linear in the length of the names: a suffix is looked up only if some
/// wanted name has its length.
std::map<std::string, std::size_t> dotted_prefixes(const std::vector<std::string>& names,
                                                   const std::vector<std::string>& wanted) {
  const std::unordered_set<std::string_view> known(wanted.begin(), wanted.end());
  std::size_t longest = 0;
  for (const std::string& name : wanted) longest = std::max(longest, name.size());
  std::map<std::string, std::size_t> prefixes;
  for (const std::string& name : names) {
    const std::size_t first = name.size() > longest ? name.size() - longest - 1 : 0;
    for (std::size_t dot = name.find('.', first); dot != std::string::npos;
         dot = name.find('.', dot + 1)) {
      if (known.count(std::string_view(name).substr(dot + 1)) != 0) {
        ++prefixes[name.substr(0, dot + 1)];
      }
    }
  }
  return prefixes;
}

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// Finds the file's name for a program's name, given two prefixes of which one is empty.
class Matcher {
 public:
  explicit Matcher(const std::vector<std::string>& file_names)
      : file_names_(file_names.begin(), file_names.end()) {}

  [[nodiscard]] std::optional<std::string> find(const std::vector<std::string>& names,
                                                const std::string& file_prefix,
                                                const std::string& model_prefix) const {
    for (const std::string& name : names) {
      if (!model_prefix.empty() && starts_with(name, model_prefix)) {
        std::string stripped = name.substr(model_prefix.size());
        if (file_names_.count(stripped) != 0) return stripped;
      }
      if (!file_prefix.empty() && file_names_.count(file_prefix + name) != 0) {
        return file_prefix + name;
      }
      if (file_names_.count(name) != 0) return name;
    }
    return std::nullopt;
  }

 private:
  std::unordered_set<std::string> file_names_;
};

}  // namespace

NameMatch match_names(const std::vector<std::string>& file_names, const program::Program& program) {
  const Matcher matcher(file_names);
  std::vector<std::string> model_names;
  for (const program::Parameter& parameter : program.parameters) {
    model_names.insert(model_names.end(), parameter.names.begin(), parameter.names.end());
  }
  NameMatch best;
  std::size_t most = 0;
  const auto consider = [&](const std::string& file_prefix, const std::string& model_prefix) {
    std::size_t found = 0;
    for (const program::Parameter& parameter : program.parameters) {
      if (matcher.find(parameter.names, file_prefix, model_prefix)) ++found;
    }
    if (found > most) {
      most = found;
      best.file_prefix = file_prefix;
      best.model_prefix = model_prefix;
    }
  };
  consider("", "");
  const std::size_t plain = most;
  if (most < program.parameters.size()) {
    // A prefix can match at most as many additional names as it leaves.
    for (const auto& [prefix, leaves] : dotted_prefixes(file_names, model_names)) {
      if (plain + leaves > most) consider(prefix, "");
    }
    for (const auto& [prefix, leaves] : dotted_prefixes(model_names, file_names)) {
      if (plain + leaves > most) consider("", prefix);
    }
  }
  std::set<std::string> taken;
  const auto take = [&](const std::string& first_name, const std::vector<std::string>& names) {
    const auto found = matcher.find(names, best.file_prefix, best.model_prefix);
    if (!found) return false;
    best.file_name.emplace(first_name, *found);
    taken.insert(*found);
    // A file may contain a tied tensor under each of its names.
    for (const std::string& name : names) {
      const auto other = matcher.find({name}, best.file_prefix, best.model_prefix);
      if (other && taken.insert(*other).second) best.other_names[first_name].push_back(*other);
    }
    return true;
  };
  for (const program::Parameter& parameter : program.parameters) {
    if (!take(parameter.name, parameter.names)) best.missing.push_back(parameter.name);
  }
  for (const program::Buffer& buffer : program.buffers) (void)take(buffer.name, buffer.names);
  for (const std::string& name : file_names) {
    if (taken.count(name) == 0) best.unexpected.push_back(name);
  }
  return best;
}

}  // namespace elixir::train
