// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/scalar_type.h"
#include "core/error.h"
#include "core/json.h"
#include "kernels/gradient.h"
#include "kernels/thread_pool.h"

namespace elixir::train {
namespace {

constexpr std::size_t kListedNames = 20;

std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(kListedNames, names.size());
  std::string text = fmt::format(
      "`{}`", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), "`, `"));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

/// Every prefix "a.", "a.b.", … of `names` that leaves one of `wanted`, and how often each does.
/// The work is that of reading the names: a suffix is looked up only where its length is that of a
/// wanted name.
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

/// Finds the file's name for a program's name under a pair of prefixes, of which one is empty.
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

kernels::Element element_of(program::DType dtype) {
  return dtype == program::DType::kBFloat16  ? kernels::Element::kBFloat16
         : dtype == program::DType::kFloat16 ? kernels::Element::kFloat16
                                             : kernels::Element::kFloat32;
}

/// `value` in the geometry of `want`. fp32 -> bf16 and fp16 round as the optimizer does (DESIGN,
/// Arithmetic).
at::Tensor converted(const at::Tensor& value,
                     const program::TensorRef& want,
                     kernels::ThreadPool& pool) {
  at::Tensor source = value;
  const bool narrow =
      want.dtype == program::DType::kBFloat16 || want.dtype == program::DType::kFloat16;
  if (narrow && (source.scalar_type() == at::kFloat || source.scalar_type() == at::kDouble)) {
    const at::Tensor wide = source.to(at::kFloat).contiguous();
    at::Tensor rounded =
        at::empty_like(wide, at::TensorOptions().dtype(capture::scalar_type(want.dtype)));
    kernels::convert_cpu(rounded.mutable_data_ptr(),
                         element_of(want.dtype),
                         wide.const_data_ptr<float>(),
                         static_cast<std::size_t>(wide.numel()),
                         pool);
    source = rounded;
  }
  if (source.scalar_type() == capture::scalar_type(want.dtype) &&
      source.sizes().equals(want.sizes) && source.strides().equals(want.strides)) {
    return source;
  }
  at::Tensor result = at::empty_strided(
      want.sizes, want.strides, at::TensorOptions().dtype(capture::scalar_type(want.dtype)));
  result.copy_(source);
  return result;
}

/// An archive has the weights of all parameters, or of none (saved from the meta device): anything
/// between is damage, and drawing the rest would hide it. kWeightsMismatch.
void require_all_or_none(const program::Program& program,
                         const ArchiveData& archive,
                         const NameMatch& match) {
  std::vector<std::string> missing;
  bool some = false;
  for (const program::Parameter& parameter : program.parameters) {
    if (match.file_name.count(parameter.name) != 0) continue;
    if (archive.has(parameter.name)) {
      some = true;
    } else {
      missing.push_back(parameter.name);
    }
  }
  if (!some || missing.empty()) return;
  ErrorInfo info;
  info.code = ErrorCode::kWeightsMismatch;
  info.message = fmt::format("the model has no data for {} of its {} parameters: {}",
                             missing.size(),
                             program.parameters.size(),
                             listed(missing));
  info.where = SourcePos{archive.path, "", std::nullopt, std::nullopt};
  info.help = {"export the model again, pass --weights, or --init to initialise every parameter"};
  throw Error(std::move(info));
}

}  // namespace

WeightFiles WeightFiles::open(const std::string& path) {
  WeightFiles files;
  const bool is_index = std::filesystem::path(path).extension() == ".json";
  if (!is_index) {
    const auto file = Safetensors::open(path);
    for (const SafetensorsEntry& entry : file->entries()) {
      files.tensors_.emplace(entry.name, Place{file, &entry});
    }
    return files;
  }
  const auto document = JsonDocument::load(path);
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::map<std::string, std::shared_ptr<const Safetensors>> opened;
  for (const auto& member : document->root().at("weight_map").members()) {
    const std::string file_name = member.second.string();
    if (std::filesystem::path(file_name).has_parent_path()) {
      member.second.fail(ErrorCode::kJsonBadValue, "must name a file beside the index");
    }
    auto& file = opened[file_name];
    if (!file) file = Safetensors::open((directory / file_name).string());
    const SafetensorsEntry* entry = file->find(member.first);
    if (entry == nullptr) {
      member.second.fail(ErrorCode::kWeightsMismatch,
                         fmt::format("`{}` has no tensor `{}`", file_name, member.first),
                         {"index and shards are of different checkpoints"});
    }
    files.tensors_.emplace(member.first, Place{file, entry});
  }
  return files;
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> names;
  for (const auto& each : tensors_) names.push_back(each.first);
  return names;
}

const SafetensorsEntry& WeightFiles::entry(const std::string& name) const {
  return *tensors_.at(name).entry;
}

at::Tensor WeightFiles::read(const std::string& name) const {
  const Place& place = tensors_.at(name);
  return place.file->tensor(*place.entry);
}

std::vector<std::string> WeightFiles::paths() const {
  std::set<std::string> paths;
  for (const auto& each : tensors_) paths.insert(each.second.file->path());
  return {paths.begin(), paths.end()};
}

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
    // A prefix adds at most the names that it leaves.
    for (const auto& [prefix, leaves] : dotted_prefixes(file_names, model_names)) {
      if (plain + leaves > most) consider(prefix, "");
    }
    for (const auto& [prefix, leaves] : dotted_prefixes(model_names, file_names)) {
      if (plain + leaves > most) consider("", prefix);
    }
  }
  std::set<std::string> taken;
  for (const program::Parameter& parameter : program.parameters) {
    if (const auto found = matcher.find(parameter.names, best.file_prefix, best.model_prefix)) {
      best.file_name.emplace(parameter.name, *found);
      taken.insert(*found);
    } else {
      best.missing.push_back(parameter.name);
    }
    // A file may hold a tied parameter under each of its names.
    for (const std::string& name : parameter.names) {
      if (const auto found = matcher.find({name}, best.file_prefix, best.model_prefix)) {
        taken.insert(*found);
      }
    }
  }
  for (const program::Buffer& buffer : program.buffers) {
    if (const auto found = matcher.find(buffer.names, best.file_prefix, best.model_prefix)) {
      best.file_name.emplace(buffer.name, *found);
      taken.insert(*found);
    }
  }
  for (const std::string& name : file_names) {
    if (taken.count(name) == 0) best.unexpected.push_back(name);
  }
  return best;
}

ChosenWeights choose_weights(const program::Program& program,
                             const ArchiveData& archive,
                             const WeightOptions& options) {
  ChosenWeights chosen;
  auto files = std::make_shared<WeightFiles>();
  NameMatch match;
  std::vector<std::string> wrong_shapes;
  if (options.weights_path) {
    *files = WeightFiles::open(*options.weights_path);
    chosen.files = files->paths();
    match = match_names(files->names(), program);
    const auto check = [&](const std::string& name, const program::TensorRef& tensor) {
      const auto found = match.file_name.find(name);
      if (found == match.file_name.end()) return;
      const SafetensorsEntry& entry = files->entry(found->second);
      const bool both_floating =
          entry.dtype && program::is_floating(*entry.dtype) == program::is_floating(tensor.dtype);
      if (entry.sizes != tensor.sizes || !both_floating) {
        wrong_shapes.push_back(fmt::format("`{}` is {} [{}] in the file, {} [{}] in the model",
                                           name,
                                           entry.dtype_text,
                                           fmt::join(entry.sizes, ", "),
                                           program::name_of(tensor.dtype),
                                           fmt::join(tensor.sizes, ", ")));
      }
    };
    for (const program::Parameter& parameter : program.parameters) {
      check(parameter.name, parameter.tensor);
    }
    for (const program::Buffer& buffer : program.buffers) check(buffer.name, buffer.tensor);

    const bool refuse = !match.missing.empty() && options.missing == MissingWeights::kRefuse;
    if (refuse || !wrong_shapes.empty()) {
      ErrorInfo info;
      info.code = ErrorCode::kWeightsMismatch;
      info.message = fmt::format(
          "the weights do not fit the model: {} of {} parameters missing, {} "
          "of another shape, {} unexpected names",
          match.missing.size(),
          program.parameters.size(),
          wrong_shapes.size(),
          match.unexpected.size());
      info.where = SourcePos{*options.weights_path, "", std::nullopt, std::nullopt};
      if (!match.missing.empty()) info.notes.push_back("missing: " + listed(match.missing));
      if (!match.unexpected.empty()) {
        info.notes.push_back("unexpected: " + listed(match.unexpected));
      }
      for (std::size_t i = 0; i < std::min(kListedNames, wrong_shapes.size()); ++i) {
        info.notes.push_back(wrong_shapes[i]);
      }
      if (wrong_shapes.empty()) {
        info.help.push_back(
            "pass the weights of this model, or --init to initialise what is missing");
      }
      throw Error(std::move(info));
    }
    const std::string& stripped =
        match.file_prefix.empty() ? match.model_prefix : match.file_prefix;
    if (!stripped.empty()) {
      chosen.messages.push_back(fmt::format("weights: prefix `{}` of the {} names is stripped",
                                            stripped,
                                            match.file_prefix.empty() ? "model's" : "file's"));
    }
    if (!match.unexpected.empty()) {
      chosen.messages.push_back(
          fmt::format("weights: {} names of the file are not in the model: {}",
                      match.unexpected.size(),
                      listed(match.unexpected)));
    }
  }

  InitializationRecipe recipe;
  if (archive.recipe_json) {
    recipe = parse_recipe(*archive.recipe_json, archive.path + ":initialization.json");
  }
  // Decided here, once: name -> where from.
  enum class From { kFile, kArchive, kRecipe };
  struct Entry {
    From from = From::kRecipe;
    program::TensorRef tensor;
    Initializer rule;
  };
  auto entries = std::make_shared<std::map<std::string, Entry>>();
  std::vector<std::string> initialized;
  std::int64_t by_default = 0;
  if (options.missing == MissingWeights::kRefuse) require_all_or_none(program, archive, match);
  for (const program::Parameter& parameter : program.parameters) {
    Entry entry;
    entry.tensor = parameter.tensor;
    if (match.file_name.count(parameter.name) != 0) {
      entry.from = From::kFile;
      ++chosen.from_file;
    } else if (options.missing == MissingWeights::kRefuse && archive.has(parameter.name)) {
      entry.from = From::kArchive;
      ++chosen.from_archive;
    } else {
      const auto rule = std::find_if(
          parameter.names.begin(), parameter.names.end(), [&](const std::string& name) {
            return recipe.count(name) != 0;
          });
      if (rule != parameter.names.end()) {
        entry.rule = recipe.at(*rule);
      } else {
        entry.rule = default_initializer(parameter);
        ++by_default;
      }
      initialized.push_back(parameter.name);
      ++chosen.initialized;
    }
    entries->emplace(parameter.name, std::move(entry));
  }
  if (!initialized.empty()) {
    std::string text = fmt::format(
        "{} of {} parameters are initialised", initialized.size(), program.parameters.size());
    if (by_default == 0) {
      text += " by the exporter's recipe";
    } else if (by_default == chosen.initialized) {
      text += " by default: norm weights 1, biases 0, the rest normal with deviation 0.02";
    } else {
      text += fmt::format(
          ", {} by the exporter's recipe, {} by default (norm weights 1, biases 0, "
          "the rest normal with deviation 0.02)",
          chosen.initialized - by_default,
          by_default);
    }
    if (options.weights_path) text += ", not in the weights file: " + listed(initialized);
    chosen.messages.push_back(std::move(text));
  }
  std::vector<std::string> empty_buffers;
  for (const program::Buffer& buffer : program.buffers) {
    Entry entry;
    entry.tensor = buffer.tensor;
    if (match.file_name.count(buffer.name) != 0) {
      entry.from = From::kFile;
    } else if (archive.has(buffer.name)) {
      entry.from = From::kArchive;
    } else {
      empty_buffers.push_back(buffer.name);
    }
    entries->emplace(buffer.name, std::move(entry));
  }
  if (!empty_buffers.empty()) {
    ErrorInfo info;
    info.code = ErrorCode::kBufferWithoutData;
    info.message = fmt::format("no data for {} of the model: {}",
                               empty_buffers.size() == 1 ? "a buffer" : "buffers",
                               listed(empty_buffers));
    info.where = SourcePos{archive.path, "", std::nullopt, std::nullopt};
    info.notes = {
        "a model saved from the meta device keeps shapes alone, and buffers cannot be "
        "initialised"};
    info.help = {
        "export the model with its buffers on the CPU (examples/export_hf.py --meta does), "
        "or pass --weights with them"};
    throw Error(std::move(info));
  }
  const auto file_names =
      std::make_shared<std::map<std::string, std::string>>(std::move(match.file_name));
  const std::uint64_t seed = options.seed;
  const auto read_archive = archive.read;
  const auto pool = std::make_shared<std::optional<kernels::ThreadPool>>();
  chosen.source = [entries, files, file_names, seed, read_archive, pool](const std::string& name) {
    const auto found = entries->find(name);
    require(found != entries->end(), "weights asked for a name that the program does not have");
    if (!*pool) pool->emplace(at::get_num_threads());
    const Entry& entry = found->second;
    switch (entry.from) {
      case From::kFile:
        return converted(files->read(file_names->at(name)), entry.tensor, **pool);
      case From::kArchive:
        return converted(read_archive(name), entry.tensor, **pool);
      case From::kRecipe:
        break;
    }
    return converted(
        initialize(entry.rule, name, seed, entry.tensor.sizes, entry.tensor.dtype, **pool),
        entry.tensor,
        **pool);
  };
  return chosen;
}

}  // namespace elixir::train
