// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/weights.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "kernels/gradient.h"
#include "kernels/thread_pool.h"
#include "runtime/state/element.h"
#include "train/weights/initialization.h"
#include "train/weights/name_match.h"
#include "train/weights/weight_files.h"

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

/// `value` in the geometry of `want`. fp32 -> bf16 and fp16 round as the optimizer does
/// (docs/design/arithmetic.md).
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
                         runtime::element_of(want.dtype),
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

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type() || !a.sizes().equals(b.sizes())) return false;
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  return left.nbytes() == 0 ||
         std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0;
}

/// An archive has the weights of all parameters, or of none (saved from the meta device). Anything
/// else is damage, and random values for the rest would hide it: throws kWeightsMismatch.
void require_all_or_none(const program::Program& program,
                         const ArchiveData& archive,
                         const NameMatch& match) {
  std::vector<std::string> missing;
  bool some = false;
  for (const program::Parameter& parameter : program.parameters) {
    if (match.file_name.count(parameter.name) != 0 || parameter.tensor.numel() == 0) continue;
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

/// The source of one tensor's data.
struct Origin {
  enum class From { kFile, kArchive, kRecipe };
  From from = From::kRecipe;
  program::TensorRef tensor;
  std::string file_name;  ///< kFile: its name in the file
  Initializer rule;       ///< kRecipe
};

/// Reads or draws each tensor when it is requested. All decisions were made before.
class OriginReader {
 public:
  OriginReader(std::map<std::string, Origin> origins,
               WeightFiles files,
               const ArchiveData& archive,
               std::uint64_t seed)
      : origins_(std::move(origins)),
        files_(std::move(files)),
        read_archive_(archive.read),
        seed_(seed) {}

  at::Tensor read(const std::string& name) {
    const auto found = origins_.find(name);
    require(found != origins_.end(), "weights asked for a name that the program does not have");
    if (!pool_) pool_.emplace(at::get_num_threads());
    const Origin& origin = found->second;
    const program::TensorRef& tensor = origin.tensor;
    switch (origin.from) {
      case Origin::From::kFile:
        return converted(files_.read(origin.file_name), tensor, *pool_);
      case Origin::From::kArchive:
        return converted(read_archive_(name), tensor, *pool_);
      case Origin::From::kRecipe:
        break;
    }
    return converted(
        initialize(origin.rule, name, seed_, tensor.sizes, tensor.dtype, *pool_), tensor, *pool_);
  }

 private:
  std::map<std::string, Origin> origins_;
  WeightFiles files_;
  std::function<at::Tensor(const std::string&)> read_archive_;
  std::uint64_t seed_;
  std::optional<kernels::ThreadPool> pool_;
};

/// The steps of choose_weights(), in order.
class Chooser {
 public:
  Chooser(const program::Program& program, const ArchiveData& archive, const WeightOptions& options)
      : program_(program), archive_(archive), options_(options) {}

  ChosenWeights choose() {
    if (options_.weights_path) open_files();
    if (archive_.recipe_json) {
      recipe_ = parse_recipe(*archive_.recipe_json, archive_.path + ":initialization.json");
    }
    if (options_.missing == MissingWeights::kRefuse) {
      require_all_or_none(program_, archive_, match_);
    }
    choose_parameters();
    choose_buffers();
    const auto reader = std::make_shared<OriginReader>(
        std::move(origins_), std::move(files_), archive_, options_.seed);
    chosen_.source = [reader](const std::string& name) { return reader->read(name); };
    return std::move(chosen_);
  }

 private:
  void open_files();
  [[nodiscard]] std::vector<std::string> wrong_shapes() const;
  void require_fit() const;
  void require_tied() const;
  void tell_names();
  void choose_parameters();
  [[noreturn]] void refuse_random(const std::vector<std::string>& frozen) const;
  [[nodiscard]] std::optional<Initializer> rule_of(const program::Parameter& parameter) const;
  void tell_initialized(const std::vector<std::string>& names, std::int64_t by_default);
  void choose_buffers();
  [[noreturn]] void fail_without_data(const std::vector<std::string>& buffers) const;

  const program::Program& program_;
  const ArchiveData& archive_;
  const WeightOptions& options_;
  WeightFiles files_;
  NameMatch match_;
  InitializationRecipe recipe_;
  std::map<std::string, Origin> origins_;
  ChosenWeights chosen_;
};

void Chooser::open_files() {
  files_ = WeightFiles::open(*options_.weights_path);
  chosen_.files = files_.paths();
  match_ = match_names(files_.names(), program_);
  require_fit();
  tell_names();
}

std::vector<std::string> Chooser::wrong_shapes() const {
  std::vector<std::string> wrong;
  const auto check_one = [&](const std::string& file_name, const program::TensorRef& tensor) {
    const SafetensorsEntry& entry = files_.entry(file_name);
    const bool both_floating =
        entry.dtype && program::is_floating(*entry.dtype) == program::is_floating(tensor.dtype);
    if (entry.sizes == tensor.sizes && both_floating) return;
    wrong.push_back(fmt::format("`{}` is {} [{}] in the file, {} [{}] in the model",
                                file_name,
                                entry.dtype_text,
                                fmt::join(entry.sizes, ", "),
                                program::name_of(tensor.dtype),
                                fmt::join(tensor.sizes, ", ")));
  };
  const auto check = [&](const std::string& name, const program::TensorRef& tensor) {
    const auto found = match_.file_name.find(name);
    if (found == match_.file_name.end()) return;
    check_one(found->second, tensor);
    const auto others = match_.other_names.find(name);
    if (others == match_.other_names.end()) return;
    for (const std::string& other : others->second) check_one(other, tensor);
  };
  for (const program::Parameter& parameter : program_.parameters) {
    check(parameter.name, parameter.tensor);
  }
  for (const program::Buffer& buffer : program_.buffers) check(buffer.name, buffer.tensor);
  return wrong;
}

void Chooser::require_fit() const {
  const std::vector<std::string> wrong = wrong_shapes();
  const bool refuse = !match_.missing.empty() &&
                      (options_.missing == MissingWeights::kRefuse || match_.file_name.empty());
  if (!refuse && wrong.empty()) return require_tied();
  ErrorInfo info;
  info.code = ErrorCode::kWeightsMismatch;
  info.message = fmt::format(
      "the weights do not fit the model: {} of {} parameters missing, {} of another shape, {} "
      "unexpected names",
      match_.missing.size(),
      program_.parameters.size(),
      wrong.size(),
      match_.unexpected.size());
  info.where = SourcePos{*options_.weights_path, "", std::nullopt, std::nullopt};
  if (!match_.missing.empty()) info.notes.push_back("missing: " + listed(match_.missing));
  if (!match_.unexpected.empty()) info.notes.push_back("unexpected: " + listed(match_.unexpected));
  for (std::size_t i = 0; i < std::min(kListedNames, wrong.size()); ++i) {
    info.notes.push_back(wrong[i]);
  }
  if (wrong.empty() && match_.file_name.empty()) {
    info.help.push_back("pass the weights of this model: no name of the file is one of its names");
  } else if (wrong.empty()) {
    info.help.push_back("pass the weights of this model, or --init to initialise what is missing");
  }
  throw Error(std::move(info));
}

void Chooser::require_tied() const {
  std::vector<std::string> apart;
  for (const auto& [name, others] : match_.other_names) {
    const std::string& first = match_.file_name.at(name);
    const at::Tensor value = files_.read(first);
    for (const std::string& other : others) {
      if (same_bytes(value, files_.read(other))) continue;
      apart.push_back(fmt::format("`{}` and `{}`", first, other));
    }
  }
  if (apart.empty()) return;
  throw Error(ErrorCode::kWeightsMismatch,
              SourcePos{*options_.weights_path, "", std::nullopt, std::nullopt},
              "names of one tensor of the model have other values in the file: {}",
              fmt::join(apart, ", "))
      .note("the model ties them: it has one tensor for both names")
      .help("leave one of the names out of the file, or export a model that does not tie them");
}

void Chooser::tell_names() {
  const bool of_model = match_.file_prefix.empty();
  const std::string& stripped = of_model ? match_.model_prefix : match_.file_prefix;
  if (!stripped.empty()) {
    chosen_.messages.push_back(fmt::format("weights: prefix `{}` of the {} names is stripped",
                                           stripped,
                                           of_model ? "model's" : "file's"));
  }
  if (!match_.unexpected.empty()) {
    chosen_.unused.push_back(fmt::format("weights: {} names of the file are not in the model: {}",
                                         match_.unexpected.size(),
                                         listed(match_.unexpected)));
  }
}

void Chooser::choose_parameters() {
  std::vector<std::string> initialized, frozen;
  std::int64_t by_default = 0, discarded = 0;
  for (const program::Parameter& parameter : program_.parameters) {
    Origin origin;
    origin.tensor = parameter.tensor;
    const auto in_file = match_.file_name.find(parameter.name);
    if (in_file != match_.file_name.end()) {
      origin.from = Origin::From::kFile;
      origin.file_name = in_file->second;
      ++chosen_.from_file;
    } else if (options_.missing == MissingWeights::kRefuse && archive_.has(parameter.name)) {
      origin.from = Origin::From::kArchive;
      ++chosen_.from_archive;
    } else {
      const auto rule = rule_of(parameter);
      if (!rule) ++by_default;
      origin.rule = rule ? *rule : default_initializer(parameter);
      initialized.push_back(parameter.name);
      ++chosen_.initialized;
      if (!parameter.requires_grad && parameter.tensor.numel() > 0)
        frozen.push_back(parameter.name);
      if (archive_.has(parameter.name)) ++discarded;
    }
    origins_.emplace(parameter.name, std::move(origin));
  }
  if (!frozen.empty()) refuse_random(frozen);
  if (discarded > 0) {
    chosen_.unused.push_back(
        fmt::format("--init replaces weights that the model file has: {} of {} parameters",
                    discarded,
                    program_.parameters.size()));
  }
  if (!initialized.empty()) tell_initialized(initialized, by_default);
}

void Chooser::refuse_random(const std::vector<std::string>& frozen) const {
  throw Error(ErrorCode::kWeightsMismatch,
              SourcePos{archive_.path, "", std::nullopt, std::nullopt},
              "{} frozen parameter{} would be drawn at random, and no step would change {}: {}",
              frozen.size(),
              frozen.size() == 1 ? "" : "s",
              frozen.size() == 1 ? "it" : "them",
              listed(frozen))
      .help("pass their values with --weights; --init then draws the others")
      .help("or leave --init out, if the model file has them");
}

std::optional<Initializer> Chooser::rule_of(const program::Parameter& parameter) const {
  for (const std::string& name : parameter.names) {
    const auto rule = recipe_.find(name);
    if (rule != recipe_.end()) return rule->second;
  }
  return std::nullopt;
}

void Chooser::tell_initialized(const std::vector<std::string>& names, std::int64_t by_default) {
  std::string text =
      fmt::format("{} of {} parameters are initialised", names.size(), program_.parameters.size());
  if (by_default == 0) {
    text += " by the exporter's recipe";
  } else if (by_default == chosen_.initialized) {
    text += " by default: norm weights 1, biases 0, the rest normal with deviation 0.02";
  } else {
    text += fmt::format(
        ", {} by the exporter's recipe, {} by default (norm weights 1, biases 0, "
        "the rest normal with deviation 0.02)",
        chosen_.initialized - by_default,
        by_default);
  }
  if (options_.weights_path) text += ", not in the weights file: " + listed(names);
  chosen_.messages.push_back(std::move(text));
}

void Chooser::choose_buffers() {
  std::vector<std::string> without_data;
  for (const program::Buffer& buffer : program_.buffers) {
    Origin origin;
    origin.tensor = buffer.tensor;
    const auto in_file = match_.file_name.find(buffer.name);
    if (in_file != match_.file_name.end()) {
      origin.from = Origin::From::kFile;
      origin.file_name = in_file->second;
    } else if (archive_.has(buffer.name)) {
      origin.from = Origin::From::kArchive;
    } else {
      without_data.push_back(buffer.name);
    }
    origins_.emplace(buffer.name, std::move(origin));
  }
  if (!without_data.empty()) fail_without_data(without_data);
}

void Chooser::fail_without_data(const std::vector<std::string>& buffers) const {
  ErrorInfo info;
  info.code = ErrorCode::kBufferWithoutData;
  info.message = fmt::format("no data for {} of the model: {}",
                             buffers.size() == 1 ? "a buffer" : "buffers",
                             listed(buffers));
  info.where = SourcePos{archive_.path, "", std::nullopt, std::nullopt};
  info.notes = {
      "a model saved from the meta device keeps shapes alone, and buffers cannot be "
      "initialised"};
  info.help = {
      "export the model with its buffers on the CPU (examples/export_hf.py --meta does), "
      "or pass --weights with them"};
  throw Error(std::move(info));
}

}  // namespace

ChosenWeights choose_weights(const program::Program& program,
                             const ArchiveData& archive,
                             const WeightOptions& options) {
  return Chooser(program, archive, options).choose();
}

}  // namespace elixir::train
