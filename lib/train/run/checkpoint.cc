// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "train/input_file.h"
#include "train/run/shards/shard_index.h"
#include "train/run/shards/stored_tensors.h"
#include "train/weights/safetensors.h"

namespace elixir::train {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".unfinished-";
constexpr std::string_view kRemoved = ".removed-";

[[noreturn]] void bad(const std::string& path,
                      std::string message,
                      std::vector<std::string> notes = {}) {
  Error error = file_error(ErrorCode::kBadCheckpoint, path, std::move(message));
  for (std::string& note : notes) error.note(std::move(note));
  throw error;
}

/// Counts the bytes of tensors as they are written.
class Written {
 public:
  Written(const TrainingState& state, const std::function<void(double)>& progress)
      : progress_(progress) {
    for (const auto* tensors : {&state.model, &state.optimizer}) {
      for (const StateTensor& each : *tensors) total_bytes_ += bytes_of(each);
    }
  }
  /// Called before the tensor is read. All earlier tensors have been written then.
  void begin(const StateTensor& tensor) {
    if (progress_) progress_(static_cast<double>(bytes_) / static_cast<double>(total_bytes_));
    bytes_ += bytes_of(tensor);
  }

 private:
  static std::int64_t bytes_of(const StateTensor& tensor) {
    std::int64_t bytes = program::element_bytes(tensor.dtype);
    for (const std::int64_t size : tensor.sizes) bytes *= size;
    return bytes;
  }
  const std::function<void(double)>& progress_;
  std::int64_t bytes_ = 0, total_bytes_ = 1;
};

std::vector<SafetensorsSource> sources_of(const std::vector<StateTensor>& tensors,
                                          Written& written) {
  std::vector<SafetensorsSource> sources;
  sources.reserve(tensors.size());
  for (const StateTensor& each : tensors) {
    sources.push_back({each.name, each.dtype, each.sizes, [&each, &written] {
                         written.begin(each);
                         return each.read();
                       }});
  }
  return sources;
}

std::string name_of_step(std::int64_t step) {
  return fmt::format("{}{:010}", kPrefix, step);
}

/// The step of a checkpoint of this name; nullopt where it is no name of one, like that of a copy.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (name.rfind(kPrefix, 0) != 0) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || rest != end || name_of_step(step) != name) return std::nullopt;
  return step;
}

/// Names of finished checkpoints, newest first.
std::vector<std::string> finished(const Directory& checkpoints) {
  std::vector<std::string> names = checkpoints.names();
  std::erase_if(names, [](const std::string& name) { return !step_of(name); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return step_of(a) > step_of(b);
  });
  return names;
}

void remove_checkpoint(const Directory& checkpoints, const std::string& name) {
  const std::string hidden = std::string(kRemoved) + name;
  checkpoints.remove(hidden);
  // Renames first, so that a kill during the removal does not leave half a checkpoint under its
  // final name.
  checkpoints.rename(name, hidden);
  checkpoints.remove(hidden);
}

/// Digest of state.json's own content.
std::string digest_of(Json document) {
  document.erase("digest");
  return sha256_hex(dump(document));
}

Json to_json(const std::optional<runtime::LossScaleState>& state) {
  if (!state) return nullptr;
  return {{"scale", state->scale},
          {"good_steps", state->good_steps},
          {"overflows", state->overflows},
          {"skipped_steps", state->skipped_steps}};
}

runtime::LossScaleState read_loss_scale(const JsonCursor& document, std::int64_t steps) {
  document.only_keys({"scale", "good_steps", "overflows", "skipped_steps"});
  runtime::LossScaleState state;
  state.scale = document.at("scale").number();
  if (state.scale <= 0 || state.scale > runtime::kLargestLossScale) {
    throw document.at("scale").error(
        ErrorCode::kJsonBadValue, "a number above 0 and up to {}", runtime::kLargestLossScale);
  }
  state.good_steps = document.at("good_steps").non_negative();
  state.overflows = document.at("overflows").non_negative();
  state.skipped_steps = document.at("skipped_steps").non_negative();
  if (state.skipped_steps > steps) {
    throw document.at("skipped_steps")
        .error(ErrorCode::kJsonBadValue, "more than the {} steps that were done", steps);
  }
  return state;
}

Json state_document(const CheckpointInfo& info,
                    const CheckpointContent& content,
                    const Json& meta) {
  Json document;
  document["schema"] = "elixir.checkpoint";
  document["schema_version"] = kSchemaVersion;
  document["meta"] = meta;
  document["run_id"] = info.run_id;
  document["attempt"] = to_json(info.attempt);
  document["step"] = info.step;
  document["program_fingerprint"] = info.program_fingerprint;
  document["device"] = name_of(info.device);
  document["cpu_threads"] = info.cpu_threads;
  document["learning_rate"] = {{"schedule", name_of(info.learning_rate.schedule)},
                               {"base", info.learning_rate.base},
                               {"warmup_steps", info.learning_rate.warmup_steps},
                               {"steps", info.learning_rate.steps}};
  document["loss_scale"] = to_json(info.loss_scale);
  document["random"] = {{"seed", info.seed}, {"next_step", info.step + 1}};
  document["data"] = {{"format", info.data_format},
                      {"rows_per_step", info.rows_per_step},
                      {"next_row", info.step * info.rows_per_step}};
  document["files"] = Json::array();
  for (const CheckpointFile& file : content.files) {
    document["files"].push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"digest", file.digest}});
  }
  document["tensors"] = content.tensors;
  document["digest"] = digest_of(document);
  return document;
}

/// Those of one process, or of all ranks.
std::vector<std::string> names_of_files(const JsonCursor& root) {
  std::vector<std::string> names;
  for (const JsonCursor& file : root.at("files").items()) {
    names.push_back(file.at("name").string());
  }
  const bool known = root.nullable("tensors")
                         ? ranks_of_files(names) > 0
                         : names == std::vector<std::string>{kModelFile, kOptimizerFile};
  if (known) return names;
  throw root.at("files").error(
      ErrorCode::kBadCheckpoint,
      "there must be `{}` and `{}`, or a file of each rank with their index",
      kModelFile,
      kOptimizerFile);
}

/// Its size and digest.
void check_file(const JsonCursor& file, const Directory& directory) {
  const std::string name = file.at("name").string();
  if (directory.kind_of(name) == Directory::Kind::kNothing) {
    bad(directory.file(name), "`" + directory.file(name) + "` is missing");
  }
  const auto stored = InputFile::open(directory, name);
  if (stored->size_bytes() != file.at("bytes").non_negative()) {
    bad(stored->path(),
        fmt::format("`{}` has {} bytes, its checkpoint wrote {}",
                    stored->path(),
                    stored->size_bytes(),
                    file.at("bytes").non_negative()));
  }
  if (digest_of_file(*stored, OnInterrupt::kThrow) != file.at("digest").string()) {
    bad(stored->path(),
        "`" + stored->path() + "` is damaged: it does not have the digest its checkpoint wrote");
  }
}

/// What state.json says. The files that it names are checked by check_files().
CheckpointInfo read_state(const JsonDocument& document) {
  const JsonCursor root = document.root("elixir.checkpoint", 1);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "run_id",
                  "attempt",
                  "step",
                  "program_fingerprint",
                  "device",
                  "cpu_threads",
                  "learning_rate",
                  "loss_scale",
                  "random",
                  "data",
                  "files",
                  "tensors",
                  "digest"});
  if (root.at("digest").string() != digest_of(root.raw())) {
    bad(document.name(), "the document does not have its digest");
  }
  CheckpointInfo info;
  info.run_id = root.at("run_id").string();
  info.attempt = read_attempt(root.at("attempt"));
  info.step = root.at("step").non_negative();
  info.program_fingerprint = root.at("program_fingerprint").string();
  info.device = root.at("device").choice(program::kDeviceKinds);
  constexpr std::int64_t kMostThreads = 8192;
  const std::int64_t threads = root.at("cpu_threads").integer();
  if (threads < 1 || threads > kMostThreads) {
    throw root.at("cpu_threads")
        .error(ErrorCode::kJsonBadValue, "{} threads: 1 to {} are possible", threads, kMostThreads);
  }
  info.cpu_threads = static_cast<int>(threads);
  const JsonCursor rate = root.at("learning_rate");
  info.learning_rate.schedule =
      *schedule_named(rate.at("schedule").choice({"constant", "linear", "cosine"}));
  info.learning_rate.base = rate.at("base").number();
  info.learning_rate.warmup_steps = rate.at("warmup_steps").non_negative();
  info.learning_rate.steps = rate.at("steps").non_negative();
  if (const auto scale = root.nullable("loss_scale")) {
    info.loss_scale = read_loss_scale(*scale, info.step);
  }
  info.seed = static_cast<std::uint64_t>(root.at("random").at("seed").non_negative());
  info.data_format = root.at("data").at("format").string();
  info.rows_per_step = root.at("data").at("rows_per_step").non_negative();
  return info;
}

void check_files(const JsonDocument& document, const Directory& directory) {
  const JsonCursor root = document.root();
  const std::vector<std::string> names = names_of_files(root);
  if (const auto index = root.nullable("tensors")) {
    static_cast<void>(read_index(*index, ranks_of_files(names)));
  }
  for (const JsonCursor& file : root.at("files").items()) check_file(file, directory);
}

/// Whether it only means that this checkpoint is not what was written. What else there is must not
/// be mistaken for damage: the newest checkpoint may be whole.
bool is_damage(const Error& error) {
  switch (error.info().code) {
    case ErrorCode::kIoError:
    case ErrorCode::kFileUnreadable:
      return false;
    default:
      return exit_code_of(error.info().code) == exit_code_of(ErrorCode::kBadCheckpoint);
  }
}

void check_stored(const StoredTensors& stored,
                  const std::string& path,
                  const std::vector<StateShard>& shards) {
  for (const StateShard& shard : shards) {
    const StoredTensor* tensor = stored.find(shard.name);
    if (tensor == nullptr) bad(path, "no tensor `" + shard.name + "` in the checkpoint");
    if (tensor->dtype != shard.dtype || tensor->sizes != shard.sizes) {
      bad(path, fmt::format("`{}` has another dtype or shape in the checkpoint", shard.name));
    }
  }
  if (stored.count() != shards.size()) {
    bad(path,
        fmt::format("the checkpoint has {} tensors, this run {}", stored.count(), shards.size()));
  }
}

}  // namespace

CheckpointFile checkpoint_file(const Directory& directory, const std::string& name) {
  const auto file = InputFile::open(directory, name);
  return {name, file->size_bytes(), digest_of_file(*file, OnInterrupt::kGoOn)};
}

ContentWriter whole_tensors(const TrainingState& state, std::function<void(double)> progress) {
  return [&state, progress = std::move(progress)](const UnfinishedDirectory& unfinished) {
    Written written(state, progress);
    CheckpointContent content;
    const Directory& directory = unfinished.directory();
    const auto write = [&](const char* name, const std::vector<StateTensor>& tensors) {
      directory.write_streamed(
          name, Overwrite::kRefuse, safetensors_content(sources_of(tensors, written), {}));
      content.files.push_back(checkpoint_file(directory, name));
    };
    write(kModelFile, state.model);
    write(kOptimizerFile, state.optimizer);
    return content;
  };
}

UnfinishedDirectory::UnfinishedDirectory(const Directory& parent,
                                         const std::string& name,
                                         const std::string& attempt)
    : parent_(parent), name_(fmt::format("{}{}-{}", kUnfinished, name, attempt)) {
  parent.remove(name_);
  directory_ = parent.make(name_);
}

UnfinishedDirectory::~UnfinishedDirectory() {
  if (leaves_) return;
  try {
    parent_.remove(name_);
  } catch (const Error&) {  // remove_leftovers() will find it
  }
}

std::string write_checkpoint(const Directory& checkpoints,
                             const CheckpointInfo& info,
                             const ContentWriter& write_content,
                             int keep,
                             const Json& meta) {
  const std::string name = name_of_step(info.step);
  UnfinishedDirectory unfinished(checkpoints, name, info.attempt.id);
  try {
    const CheckpointContent content = write_content(unfinished);
    // Last, so that a directory with it has all files.
    unfinished.directory().write(
        kStateFile, dump(state_document(info, content, meta)), Overwrite::kRefuse);
    unfinished.directory().sync();
    checkpoints.rename(unfinished.name(), name);
    unfinished.leave();
    checkpoints.sync();
  } catch (const Error& failure) {
    if (failure.info().code == ErrorCode::kRankLost) unfinished.leave();
    throw;
  }
  std::vector<std::string> all = finished(checkpoints);
  // Nobody goes on from those of later steps: they do not count.
  std::erase_if(all, [&](const std::string& each) { return step_of(each) > info.step; });
  for (std::size_t i = static_cast<std::size_t>(std::max(1, keep)); i < all.size(); ++i) {
    remove_checkpoint(checkpoints, all[i]);
  }
  return checkpoints.file(name);
}

Directory open_checkpoint(const Directory& checkpoints, const std::string& name) {
  std::optional<Directory> found = checkpoints.find(name);
  if (!found) bad(checkpoints.file(name), "`" + checkpoints.file(name) + "` is missing");
  return std::move(*found);
}

std::optional<FoundCheckpoint> newest_checkpoint(const Directory& checkpoints,
                                                 const RunIdentity& run) {
  FoundCheckpoint found;
  const std::vector<std::string> names = finished(checkpoints);
  for (const std::string& name : names) {
    found.name = name;
    found.path = checkpoints.file(name);
    try {
      const Directory directory = open_checkpoint(checkpoints, name);
      const auto document = load_state(directory);
      found.info = read_state(*document);
      if (found.info.run_id != run.run_id) {
        throw file_error(
            ErrorCode::kMixedRuns, found.path, "checkpoint `{}` is of another run", found.path)
            .help("put each run's files into a directory of its own");
      }
      if (!is_on_branch(run.attempts, found.info.attempt, found.info.step)) {
        found.rejected.push_back("checkpoint of an abandoned branch not used: " + name);
        continue;
      }
      if (name_of_step(found.info.step) != name) {
        bad(found.path, fmt::format("it is of step {}", found.info.step));
      }
      check_files(*document, directory);
    } catch (const Error& failure) {
      if (failure.info().code == ErrorCode::kMixedRuns) throw;
      if (!is_damage(failure)) {
        throw Error(failure)
            .note("an older checkpoint is not taken instead, because this one may be whole")
            .help("make it readable, or take {} away to go on from the one before it", found.path);
      }
      found.rejected.push_back(
          fmt::format("damaged checkpoint not used: {}: {}", name, failure.info().message));
      continue;
    }
    return found;
  }
  if (names.empty()) return std::nullopt;
  bad(checkpoints.path(), "there is no checkpoint to go on from", found.rejected);
}

std::vector<std::string> set_aside(const Directory& checkpoints,
                                   std::int64_t step,
                                   const std::string& attempt) {
  std::vector<std::string> moved;
  for (const std::string& name : finished(checkpoints)) {
    if (step_of(name) <= step) continue;
    constexpr std::size_t kShown = 8;
    moved.push_back(fmt::format("{}.before-{}", name, attempt.substr(0, kShown)));
    checkpoints.rename(name, moved.back());
  }
  if (!moved.empty()) checkpoints.sync();
  return moved;
}

void check_tensors(const Directory& checkpoint, const std::vector<StateShard>& shards) {
  check_stored(StoredTensors::open(checkpoint), checkpoint.path(), shards);
}

void restore_checkpoint(const Directory& checkpoint, const std::vector<StateShard>& shards) {
  const StoredTensors stored = StoredTensors::open(checkpoint);
  check_stored(stored, checkpoint.path(), shards);
  for (const StateShard& shard : shards) {
    throw_if_interrupted();
    shard.write(stored.read(*stored.find(shard.name), shard.strides, shard.needed));
  }
}

void remove_leftovers(const Directory& checkpoints) {
  for (const std::string& name : checkpoints.names()) {
    if (name.rfind(kUnfinished, 0) == 0 || name.rfind(kRemoved, 0) == 0) checkpoints.remove(name);
  }
}

}  // namespace elixir::train
