// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
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

namespace fs = std::filesystem;

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

[[noreturn]] void fail_io(const std::string& path, const std::error_code& error) {
  const bool full = error.value() == ENOSPC || error.value() == EDQUOT;
  const bool denied = error.value() == EACCES || error.value() == EROFS || error.value() == EPERM;
  throw Error(full     ? ErrorCode::kDiskFull
              : denied ? ErrorCode::kOutputUnwritable
                       : ErrorCode::kIoError,
              "cannot write `{}`: {}",
              path,
              error.message());
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

/// Creates `directory` and syncs it.
void make_directory(const fs::path& directory) {
  std::error_code error;
  const bool made = fs::create_directories(directory, error);
  if (error) fail_io(directory.string(), error);
  if (made) sync_directory(fs::absolute(directory).lexically_normal().parent_path().string());
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
std::vector<std::string> finished(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator walk(directory, error), end; !error && walk != end;
       walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    if (step_of(name)) names.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw unreadable_directory(directory, error);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return step_of(a) > step_of(b);
  });
  return names;
}

void remove_checkpoint(const fs::path& directory, const std::string& name) {
  const fs::path hidden = directory / (std::string(kRemoved) + name);
  std::error_code error;
  fs::remove_all(hidden, error);
  // Renames first, so that a kill during the removal does not leave half a checkpoint under its
  // final name.
  fs::rename(directory / name, hidden, error);
  if (error) fail_io((directory / name).string(), error);
  fs::remove_all(hidden, error);
  if (error) fail_io(hidden.string(), error);
}

/// Digest of state.json's own content.
std::string digest_of(Json document) {
  document.erase("digest");
  return sha256_hex(dump(document));
}

Json state_document(const CheckpointInfo& info,
                    const CheckpointContent& content,
                    const Json& meta) {
  Json document;
  document["schema"] = "elixir.checkpoint";
  document["schema_version"] = kSchemaVersion;
  document["meta"] = meta;
  document["run_id"] = info.run_id;
  document["step"] = info.step;
  document["program_fingerprint"] = info.program_fingerprint;
  document["device"] = name_of(info.device);
  document["cpu_threads"] = info.cpu_threads;
  document["learning_rate"] = {{"schedule", name_of(info.learning_rate.schedule)},
                               {"base", info.learning_rate.base},
                               {"warmup_steps", info.learning_rate.warmup_steps},
                               {"steps", info.learning_rate.steps}};
  document["loss_scale"] = nullptr;
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

/// Not in documents of before there were ranks.
bool has_index(const JsonCursor& root) {
  return root.has("tensors") && !root.at("tensors").is_null();
}

/// Those of one process, or of all ranks.
std::vector<std::string> names_of_files(const JsonCursor& root) {
  std::vector<std::string> names;
  for (const JsonCursor& file : root.at("files").items()) {
    names.push_back(file.at("name").string());
  }
  const bool known = has_index(root)
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
void check_file(const JsonCursor& file, const std::string& directory) {
  const std::string path = (fs::path(directory) / file.at("name").string()).string();
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) bad(path, "`" + path + "` is missing");
  if (bytes != static_cast<std::uintmax_t>(file.at("bytes").non_negative())) {
    bad(path,
        fmt::format("`{}` has {} bytes, its checkpoint wrote {}",
                    path,
                    bytes,
                    file.at("bytes").non_negative()));
  }
  if (digest_of_file(path, OnInterrupt::kThrow) != file.at("digest").string()) {
    bad(path, "`" + path + "` is damaged: it does not have the digest its checkpoint wrote");
  }
}

CheckpointInfo read_state(const std::string& directory) {
  const auto document = JsonDocument::load(directory + "/" + kStateFile);
  const JsonCursor root = document->root("elixir.checkpoint", 1);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "run_id",
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
    bad(document->name(), "the document does not have its digest");
  }
  CheckpointInfo info;
  info.run_id = root.at("run_id").string();
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
  info.seed = static_cast<std::uint64_t>(root.at("random").at("seed").non_negative());
  info.data_format = root.at("data").at("format").string();
  info.rows_per_step = root.at("data").at("rows_per_step").non_negative();
  const std::vector<std::string> names = names_of_files(root);
  if (has_index(root)) static_cast<void>(read_index(root.at("tensors"), ranks_of_files(names)));
  for (const JsonCursor& file : root.at("files").items()) check_file(file, directory);
  return info;
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

CheckpointFile checkpoint_file(const std::string& directory, const std::string& name) {
  const std::string path = (fs::path(directory) / name).string();
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error) fail_io(path, error);
  return {name, static_cast<std::int64_t>(bytes), digest_of_file(path, OnInterrupt::kGoOn)};
}

ContentWriter whole_tensors(const TrainingState& state, std::function<void(double)> progress) {
  return [&state, progress = std::move(progress)](const std::string& directory) {
    Written written(state, progress);
    CheckpointContent content;
    const auto write = [&](const char* name, const std::vector<StateTensor>& tensors) {
      const std::string path = (fs::path(directory) / name).string();
      write_safetensors(path, sources_of(tensors, written), {}, Overwrite::kRefuse);
      content.files.push_back(checkpoint_file(directory, name));
    };
    write(kModelFile, state.model);
    write(kOptimizerFile, state.optimizer);
    return content;
  };
}

UnfinishedDirectory::UnfinishedDirectory(const std::string& directory, const std::string& name)
    : path_((fs::path(directory) / (std::string(kUnfinished) + name)).string()) {
  make_directory(directory);
  std::error_code error;
  fs::remove_all(path_, error);
  fs::create_directory(path_, error);
  if (error) fail_io(path_, error);
}

UnfinishedDirectory::~UnfinishedDirectory() {
  std::error_code ignored;
  if (!leaves_) fs::remove_all(path_, ignored);
}

std::string write_checkpoint(const std::string& directory,
                             const CheckpointInfo& info,
                             const ContentWriter& write_content,
                             int keep,
                             const Json& meta) {
  const fs::path root(directory);
  const std::string name = name_of_step(info.step);
  UnfinishedDirectory unfinished(directory, name);
  try {
    const CheckpointContent content = write_content(unfinished.path());
    // Last, so that a directory with it has all files.
    write_file(unfinished.path() + "/" + kStateFile,
               dump(state_document(info, content, meta)),
               Overwrite::kRefuse);
    sync_directory(unfinished.path());
    // Replaces a damaged checkpoint of the same step (the run was resumed from an older one).
    if (fs::exists(root / name)) remove_checkpoint(root, name);
    fs::rename(unfinished.path(), root / name);
    unfinished.leave();
    sync_directory(directory);
  } catch (const fs::filesystem_error& failure) {
    fail_io(unfinished.path(), failure.code());
  } catch (const Error& failure) {
    if (failure.info().code == ErrorCode::kRankLost) unfinished.leave();
    throw;
  }
  std::vector<std::string> all = finished(directory);
  // Those of later steps are damaged, or the run would have gone on from there: they do not count.
  std::erase_if(all, [&](const std::string& each) { return step_of(each) > info.step; });
  for (std::size_t i = static_cast<std::size_t>(std::max(1, keep)); i < all.size(); ++i) {
    remove_checkpoint(root, all[i]);
  }
  return (root / name).string();
}

std::optional<FoundCheckpoint> newest_checkpoint(const std::string& directory,
                                                 const std::string& run_id) {
  FoundCheckpoint found;
  const std::vector<std::string> names = finished(directory);
  for (const std::string& name : names) {
    found.path = (fs::path(directory) / name).string();
    try {
      found.info = read_state(found.path);
    } catch (const Error& failure) {
      if (failure.info().code == ErrorCode::kIoError) throw;
      found.rejected.push_back(fmt::format("{}: {}", name, failure.info().message));
      continue;
    }
    if (found.info.run_id != run_id) {
      throw file_error(
          ErrorCode::kMixedRuns, found.path, "checkpoint `{}` is of another run", found.path)
          .help("put each run's files into a directory of its own");
    }
    return found;
  }
  if (names.empty()) return std::nullopt;
  bad(directory, "every checkpoint is damaged", found.rejected);
}

void check_tensors(const std::string& path, const std::vector<StateShard>& shards) {
  check_stored(StoredTensors::open(path), path, shards);
}

void restore_checkpoint(const std::string& path, const std::vector<StateShard>& shards) {
  const StoredTensors stored = StoredTensors::open(path);
  check_stored(stored, path, shards);
  for (const StateShard& shard : shards) {
    throw_if_interrupted();
    shard.write(stored.read(*stored.find(shard.name), shard.strides, shard.needed));
  }
}

void remove_leftovers(const std::string& directory) {
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator walk(directory, error), end; !error && walk != end;
       walk.increment(error)) {
    const std::string name = walk->path().filename().string();
    if (name.rfind(kUnfinished, 0) == 0 || name.rfind(kRemoved, 0) == 0) {
      leftovers.push_back(walk->path());
    }
  }
  for (const fs::path& path : leftovers) {
    fs::remove_all(path, error);
    if (error) fail_io(path.string(), error);
  }
}

}  // namespace elixir::train
