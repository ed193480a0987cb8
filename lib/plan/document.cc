// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Reading and writing of `elixir.plan`.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "plan/plan.h"

namespace elixir::plan {
namespace {

using program::DType;

std::string_view name_of_home(Home home) {
  return home == Home::kDevice ? "device" : "host";
}

Home read_home(const JsonCursor& cursor) {
  return cursor.choice({"device", "host"}) == "device" ? Home::kDevice : Home::kHost;
}

/// Any: which ones a parameter may have, program::is_trainable() says.
DType read_dtype(const JsonCursor& cursor) {
  const std::string name = cursor.string();
  const auto dtype = program::dtype_named(name);
  if (!dtype) throw cursor.error(ErrorCode::kJsonBadValue, "unknown dtype `{}`", name);
  return *dtype;
}

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

/// Refuses figures larger than any machine's memory, so that sums over a plan cannot overflow.
std::int64_t read_bytes(const JsonCursor& cursor) {
  const std::int64_t value = cursor.non_negative();
  if (value > kMostBytes) {
    throw cursor.error(ErrorCode::kJsonBadValue, "{} bytes are more than any machine has", value)
        .help("at most {}", kMostBytes);
  }
  return value;
}

/// Limits, because the size of a schedule grows with these numbers.
constexpr int kMostMicroBatches = 65'536;
constexpr int kMostBlocks = 1'000'000;

int read_int(const JsonCursor& cursor,
             int smallest,
             int largest = std::numeric_limits<int>::max()) {
  const std::int64_t value = cursor.integer();
  if (value < smallest || value > largest) {
    throw cursor.error(ErrorCode::kJsonBadValue, "{} is out of range", value)
        .help("a number from {} to {}", smallest, largest);
  }
  return static_cast<int>(value);
}

/// Missing in older plans.
DType read_moment_dtype(const JsonCursor& root) {
  if (!root.has("moment_dtype")) return DType::kFloat32;
  return root.at("moment_dtype").choice(kMomentDTypes);
}

/// Missing in older plans.
double read_beta2(const JsonCursor& root, DType moments) {
  if (!root.has("beta2")) return beta2_of(moments);
  const double beta2 = root.at("beta2").number();
  const double largest = largest_beta2_of(moments);
  if (beta2 < 0 || beta2 >= 1 || beta2 > largest) {
    throw root.at("beta2")
        .error(ErrorCode::kJsonBadValue, "a beta2 of {} does not go with these moments", beta2)
        .help("a number from 0 to {}", largest < 1 ? fmt::format("{:.3f}", largest) : "below 1");
  }
  return beta2;
}

/// Missing in older plans.
std::int64_t read_piece(const JsonCursor& cache) {
  if (!cache.has("update_piece_elements")) return 0;
  const JsonCursor cursor = cache.at("update_piece_elements");
  const std::int64_t elements = read_bytes(cursor);
  if (elements % kPieceUnitElements != 0) {
    throw cursor
        .error(ErrorCode::kJsonBadValue, "{} is no multiple of {}", elements, kPieceUnitElements)
        .help("0, or a multiple of {}", kPieceUnitElements);
  }
  return elements;
}

Json write_chunk(const Chunk& chunk) {
  Json parameters = Json::array();
  for (const ChunkParameter& parameter : chunk.parameters) {
    parameters.push_back({{"name", parameter.name}, {"offset_bytes", parameter.offset_bytes}});
  }
  return {
      {"bytes", chunk.bytes},
      {"dtype", name_of(chunk.dtype)},
      {"kind", chunk.kind == Chunk::Kind::kPublic ? "public" : "private"},
      {"parameter_home", name_of_home(chunk.parameter_home)},
      {"gradient_home", name_of_home(chunk.gradient_home)},
      {"gradient_dtype", name_of(chunk.gradient_dtype)},
      {"optimizer_home", name_of_home(chunk.optimizer_home)},
      {"update_on", name_of_home(chunk.streams_update ? Home::kDevice : chunk.optimizer_home)},
      {"late_moments", chunk.late_moments},
      {"parameters", std::move(parameters)},
  };
}

Chunk read_chunk(const JsonCursor& cursor) {
  cursor.only_keys({"bytes",
                    "dtype",
                    "kind",
                    "parameter_home",
                    "gradient_home",
                    "gradient_dtype",
                    "optimizer_home",
                    "update_on",
                    "late_moments",
                    "parameters"});
  Chunk chunk;
  chunk.bytes = read_bytes(cursor.at("bytes"));
  chunk.dtype = read_dtype(cursor.at("dtype"));
  chunk.kind = cursor.at("kind").choice({"public", "private"}) == "public" ? Chunk::Kind::kPublic
                                                                           : Chunk::Kind::kPrivate;
  chunk.parameter_home = read_home(cursor.at("parameter_home"));
  chunk.gradient_home = read_home(cursor.at("gradient_home"));
  chunk.gradient_dtype = read_dtype(cursor.at("gradient_dtype"));
  chunk.optimizer_home = read_home(cursor.at("optimizer_home"));
  if (cursor.has("update_on")) {  // missing in older plans
    const Home update_on = read_home(cursor.at("update_on"));
    if (update_on == Home::kHost && chunk.optimizer_home == Home::kDevice) {
      throw cursor.at("update_on")
          .error(ErrorCode::kJsonBadValue, "state that lives on the device is updated there")
          .help("\"device\"");
    }
    chunk.streams_update = update_on != chunk.optimizer_home;
  }
  if (cursor.has("late_moments")) {  // older plans lack it
    chunk.late_moments = cursor.at("late_moments").boolean();
  }
  for (const JsonCursor& entry : cursor.at("parameters").items()) {
    entry.only_keys({"name", "offset_bytes"});
    chunk.parameters.push_back(
        {.name = entry.at("name").string(), .offset_bytes = read_bytes(entry.at("offset_bytes"))});
  }
  return chunk;
}

Json write_predicted(const Predicted& predicted) {
  Json streams = Json::array();
  for (const StreamTime& stream : predicted.streams) {
    streams.push_back({{"stream", stream.stream}, {"busy_ns", stream.busy_ns}});
    if (stream.critical_ns) streams.back()["critical_ns"] = *stream.critical_ns;
  }
  return {
      {"step_ns", predicted.step_ns},
      {"streams", std::move(streams)},
      {"peak_allocated_bytes", predicted.peak_allocated_bytes},
      {"host_bytes", predicted.host_bytes},
      {"operators_measured", predicted.operators_measured},
      {"operators_total", predicted.operators_total},
      {"spread", predicted.spread},
      {"disturbed", predicted.disturbed},
      {"traffic",
       {{"host_to_device_bytes", predicted.traffic.host_to_device_bytes},
        {"device_to_host_bytes", predicted.traffic.device_to_host_bytes},
        {"fetches", predicted.traffic.fetches},
        {"evictions", predicted.traffic.evictions},
        {"collective_bytes", predicted.traffic.collective_bytes}}},
  };
}

Predicted read_predicted(const JsonCursor& cursor) {
  cursor.only_keys({"step_ns",
                    "streams",
                    "peak_allocated_bytes",
                    "host_bytes",
                    "operators_measured",
                    "operators_total",
                    "spread",
                    "disturbed",
                    "traffic"});
  Predicted predicted;
  predicted.step_ns = cursor.at("step_ns").non_negative();
  for (const JsonCursor& entry : cursor.at("streams").items()) {
    entry.only_keys({"stream", "busy_ns", "critical_ns"});
    StreamTime& stream = predicted.streams.emplace_back();
    stream.stream = entry.at("stream").string();
    stream.busy_ns = entry.at("busy_ns").non_negative();
    if (entry.has("critical_ns")) stream.critical_ns = entry.at("critical_ns").non_negative();
  }
  predicted.peak_allocated_bytes = read_bytes(cursor.at("peak_allocated_bytes"));
  predicted.host_bytes = read_bytes(cursor.at("host_bytes"));
  predicted.operators_total = cursor.at("operators_total").non_negative();
  const JsonCursor measured = cursor.at("operators_measured");
  predicted.operators_measured = measured.non_negative();
  if (predicted.operators_measured > predicted.operators_total) {
    throw measured.error(ErrorCode::kJsonBadValue, "more calls are measured than there are");
  }
  if (cursor.has("spread")) {  // missing in older plans
    predicted.spread = cursor.at("spread").number();
    if (predicted.spread < 0) {
      throw cursor.at("spread").error(ErrorCode::kJsonBadValue, "a spread is not negative");
    }
  }
  if (cursor.has("disturbed")) {  // likewise
    for (const JsonCursor& figure : cursor.at("disturbed").items()) {
      predicted.disturbed.push_back(figure.string());
    }
  }
  const JsonCursor traffic = cursor.at("traffic");
  traffic.only_keys(
      {"host_to_device_bytes", "device_to_host_bytes", "fetches", "evictions", "collective_bytes"});
  predicted.traffic = {
      .host_to_device_bytes = read_bytes(traffic.at("host_to_device_bytes")),
      .device_to_host_bytes = read_bytes(traffic.at("device_to_host_bytes")),
      .fetches = traffic.at("fetches").non_negative(),
      .evictions = traffic.at("evictions").non_negative(),
      // Older plans lack it; they are for one rank.
      .collective_bytes =
          traffic.has("collective_bytes") ? read_bytes(traffic.at("collective_bytes")) : 0,
  };
  return predicted;
}

constexpr NameTable<Edit::Kind, 7> kEditKinds{{{Edit::Kind::kRecompute, "recompute"},
                                               {Edit::Kind::kFuseLoss, "fuse-loss"},
                                               {Edit::Kind::kAlignProducts, "align-products"},
                                               {Edit::Kind::kFuseElementwise, "fuse-elementwise"},
                                               {Edit::Kind::kOffload, "offload"},
                                               {Edit::Kind::kAverageTokens, "average-tokens"},
                                               {Edit::Kind::kScaleLoss, "scale-loss"}}};

Json write_edit(const Edit& edit) {
  Json entry = {{"edit", kEditKinds.name_of(edit.kind)}};
  if (edit.kind == Edit::Kind::kRecompute || edit.kind == Edit::Kind::kOffload) {
    entry["storages"] = edit.storages;
  }
  if (edit.kind == Edit::Kind::kOffload) entry["window_bytes"] = edit.window_bytes;
  if (edit.kind == Edit::Kind::kAlignProducts) entry["products"] = edit.products;
  return entry;
}

std::vector<program::StorageId> read_storages(const JsonCursor& entry) {
  std::vector<program::StorageId> storages;
  for (const JsonCursor& storage : entry.at("storages").items()) {
    storages.push_back(read_int(storage, 0));
  }
  return storages;
}

Edit read_edit(const JsonCursor& entry) {
  Edit edit;
  edit.kind = entry.at("edit").choice(kEditKinds);
  switch (edit.kind) {
    case Edit::Kind::kFuseLoss:
    case Edit::Kind::kFuseElementwise:
    case Edit::Kind::kAverageTokens:
    case Edit::Kind::kScaleLoss:
      entry.only_keys({"edit"});
      break;
    case Edit::Kind::kRecompute:
      entry.only_keys({"edit", "storages"});
      edit.storages = read_storages(entry);
      break;
    case Edit::Kind::kOffload:
      entry.only_keys({"edit", "storages", "window_bytes"});
      edit.storages = read_storages(entry);
      edit.window_bytes = read_bytes(entry.at("window_bytes"));
      break;
    case Edit::Kind::kAlignProducts:
      entry.only_keys({"edit", "products"});
      for (const JsonCursor& product : entry.at("products").items()) {
        edit.products.push_back(read_int(product, 0));
      }
      break;
  }
  return edit;
}

std::vector<Edit> read_edits(const JsonCursor& edits) {
  std::vector<Edit> result;
  for (const JsonCursor& entry : edits.items()) result.push_back(read_edit(entry));
  return result;
}

void read_edits_into(Plan& plan, const JsonCursor& root) {
  plan.edits = read_edits(root.at("edits"));
  const auto fingerprint = root.nullable("edited_fingerprint");
  if (fingerprint) plan.edited_fingerprint = fingerprint->string();
  if (plan.edits.empty() && fingerprint) {
    throw fingerprint->error(ErrorCode::kJsonBadValue, "a plan without edits edits no program")
        .help("null");
  }
  if (!plan.edits.empty() && !fingerprint) {
    throw root.at("edited_fingerprint")
        .error(ErrorCode::kJsonBadValue, "a plan with edits says which program they lead to")
        .help("the fingerprint of the edited program");
  }
  // Missing in older plans.
  if (!root.has("arithmetic")) return;
  const JsonCursor arithmetic = root.at("arithmetic");
  const Arithmetic of_edits = arithmetic_of(plan.edits);
  if (arithmetic.choice(kArithmetics) != of_edits) {
    throw arithmetic.error(ErrorCode::kJsonBadValue, "the plan's edits are not of this arithmetic")
        .help(std::string(name_of(of_edits)));
  }
}

/// Missing in older plans.
program::CpuIsa read_instruction_set(const JsonCursor& hardware, program::DeviceKind device_kind) {
  if (!hardware.has("instruction_set")) return program::CpuIsa::kUnsaid;
  const auto name = hardware.nullable("instruction_set");
  if (!name) return program::CpuIsa::kUnsaid;
  const auto isa = program::parse_cpu_isa(name->string());
  if (!isa) {
    throw name->error(ErrorCode::kJsonBadValue, "unknown instruction set")
        .help("one of {}, or null", program::cpu_isa_names());
  }
  if (device_kind != program::DeviceKind::kCpu) {
    throw name->error(ErrorCode::kJsonBadValue, "a cuda plan has no instruction set").help("null");
  }
  return *isa;
}

/// Older plans name the world alone, or no replicas.
void read_ranks_into(Plan& plan, const JsonCursor& root) {
  plan.world = read_int(root.at("world"), 1, kMostRanks);
  plan.ranks_per_node = plan.world;
  if (root.has("ranks_per_node")) {
    const JsonCursor ranks = root.at("ranks_per_node");
    plan.ranks_per_node = read_int(ranks, 1, plan.world);
    if (plan.world % plan.ranks_per_node != 0) {
      throw ranks.error(
          ErrorCode::kJsonBadValue,
          fmt::format("{} ranks cannot fill machines of {} each", plan.world, plan.ranks_per_node));
    }
  }
  if (root.has("replicas")) {
    const JsonCursor replicas = root.at("replicas");
    plan.replicas = read_int(replicas, 1, plan.world);
    if (!replicas_fit(plan.world, plan.ranks_per_node, plan.replicas)) {
      throw replicas
          .error(ErrorCode::kJsonBadValue,
                 fmt::format("{} ranks in machines of {} cannot hold {} replicas",
                             plan.world,
                             plan.ranks_per_node,
                             plan.replicas))
          .help("a replica is in one machine, or fills several");
    }
  }
  const auto choose = [&](const char* key, const auto& names, auto* choice) {
    const auto chosen = root.has(key) ? root.nullable(key) : std::optional<JsonCursor>();
    if (chosen) *choice = chosen->choice(names);
  };
  choose("reduce", kReduces, &plan.reduce);
  choose("reduce_dtype", kReduceDTypes, &plan.reduce_dtype);
  choose("reduce_per", kReducePers, &plan.reduce_per);
}

/// Parts that pass one by one may be too much together.
void check_total(const Plan& plan, const JsonCursor& root) {
  std::int64_t bytes = 0;
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    bytes += plan.chunks[c].bytes;
    if (bytes > kMostBytes) {
      throw root.at("chunks").error(ErrorCode::kJsonBadValue,
                                    "the chunks have more bytes than any machine");
    }
  }
  if (plan.cache.blocks > kMostBytes / std::max<std::int64_t>(plan.cache.block_bytes, 1)) {
    throw root.at("cache").error(ErrorCode::kJsonBadValue,
                                 "{} blocks of {} bytes are more than any machine has",
                                 plan.cache.blocks,
                                 plan.cache.block_bytes);
  }
}

}  // namespace

Arithmetic arithmetic_of(const std::vector<Edit>& edits) {
  Arithmetic arithmetic = Arithmetic::kAsEager;
  for (const Edit& edit : edits) {
    if (edit.kind == Edit::Kind::kFuseElementwise) return Arithmetic::kFusedElementwise;
    if (edit.kind == Edit::Kind::kFuseLoss || edit.kind == Edit::Kind::kAlignProducts) {
      arithmetic = Arithmetic::kFused;
    }
  }
  return arithmetic;
}

namespace {

bool has_edit(const std::vector<Edit>& edits, Edit::Kind kind) {
  return std::any_of(
      edits.begin(), edits.end(), [kind](const Edit& edit) { return edit.kind == kind; });
}

}  // namespace

Average average_of(const std::vector<Edit>& edits) {
  return has_edit(edits, Edit::Kind::kAverageTokens) ? Average::kTokens : Average::kMicroBatches;
}

bool scales_loss(const std::vector<Edit>& edits) {
  return has_edit(edits, Edit::Kind::kScaleLoss);
}

bool takes_loss_gradient(const std::vector<Edit>& edits) {
  return has_edit(edits, Edit::Kind::kAverageTokens) || scales_loss(edits);
}

bool waits_for_norm(const std::vector<Edit>& edits, double clip_norm) {
  return clip_norm > 0 || scales_loss(edits);
}

Json to_json(const Plan& plan) {
  Json programs = Json::array();
  for (const ProgramOfPlan& program : plan.programs) {
    programs.push_back({{"role", program.role}, {"fingerprint", program.fingerprint}});
  }
  Json chunks = Json::array();
  for (const Chunk& chunk : plan.chunks) chunks.push_back(write_chunk(chunk));
  Json document;
  document["schema"] = "elixir.plan";
  document["schema_version"] = kSchemaVersion;
  document["meta"] = plan.meta.is_null() ? Json::object() : plan.meta;
  document["programs"] = std::move(programs);
  document["hardware"] = {
      {"fingerprint", plan.hardware.fingerprint},
      {"device_kind", name_of(plan.hardware.device_kind)},
      {"sm",
       plan.hardware.device_kind == program::DeviceKind::kCuda ? Json(plan.hardware.sm)
                                                               : Json(nullptr)},
      {"instruction_set",
       plan.hardware.isa == program::CpuIsa::kUnsaid
           ? Json(nullptr)
           : Json(std::string(program::name_of(plan.hardware.isa)))},
      {"cpu_threads",
       plan.hardware.cpu_threads > 0 ? Json(plan.hardware.cpu_threads) : Json(nullptr)},
  };
  document["strategy"] = plan.strategy;
  document["world"] = plan.world;
  document["ranks_per_node"] = plan.ranks_per_node;
  document["replicas"] = plan.replicas;
  const auto among_ranks = [&](std::string_view choice) {
    return text_or_null(plan.world > 1 ? std::string(choice) : std::string());
  };
  document["reduce"] = among_ranks(kReduces.name_of(plan.reduce));
  document["reduce_dtype"] = among_ranks(kReduceDTypes.name_of(plan.reduce_dtype));
  document["reduce_per"] = among_ranks(kReducePers.name_of(plan.reduce_per));
  document["budgets"] = {
      {"gpu_memory_bytes", plan.budgets.gpu_memory_bytes},
      {"host_memory_bytes", plan.budgets.host_memory_bytes},
      {"gpu_context_bytes", plan.budgets.gpu_context_bytes},
  };
  document["precision"] = name_of(plan.precision);
  document["optimizer"] = name_of(plan.optimizer);
  document["accumulation_steps"] = plan.accumulation_steps;
  document["clips_gradients"] = plan.clips_gradients;
  document["master"] = kMasters.name_of(plan.master);
  document["moment_dtype"] = kMomentDTypes.name_of(plan.moment_dtype);
  document["beta2"] = plan.beta2;
  document["kept_gradients"] = plan.kept_gradients;
  document["chunks"] = std::move(chunks);
  document["cache"] = {
      {"blocks", plan.cache.blocks},
      {"block_bytes", plan.cache.block_bytes},
      {"gradient_window_bytes", plan.cache.gradient_window_bytes},
      {"update_piece_elements", plan.cache.update_piece_elements},
  };
  Json edits = Json::array();
  for (const Edit& edit : plan.edits) edits.push_back(write_edit(edit));
  document["arithmetic"] = name_of(arithmetic_of(plan.edits));
  document["edits"] = std::move(edits);
  document["edited_fingerprint"] = text_or_null(plan.edited_fingerprint);
  document["predicted"] = write_predicted(plan.predicted);
  return document;
}

Plan parse_plan(const JsonDocument& document) {
  const JsonCursor root = document.root("elixir.plan", 1);
  root.only_keys({"schema",
                  "schema_version",
                  "meta",
                  "programs",
                  "hardware",
                  "strategy",
                  "world",
                  "ranks_per_node",
                  "replicas",
                  "reduce",
                  "reduce_dtype",
                  "reduce_per",
                  "budgets",
                  "precision",
                  "optimizer",
                  "accumulation_steps",
                  "clips_gradients",
                  "master",
                  "moment_dtype",
                  "beta2",
                  "kept_gradients",
                  "chunks",
                  "cache",
                  "arithmetic",
                  "edits",
                  "edited_fingerprint",
                  "predicted"});
  Plan plan;
  plan.meta = root.at("meta").raw();
  for (const JsonCursor& entry : root.at("programs").items()) {
    entry.only_keys({"role", "fingerprint"});
    plan.programs.push_back(
        {.role = entry.at("role").string(), .fingerprint = entry.at("fingerprint").string()});
  }
  const JsonCursor hardware = root.at("hardware");
  hardware.only_keys({"fingerprint", "device_kind", "sm", "instruction_set", "cpu_threads"});
  plan.hardware.fingerprint = hardware.at("fingerprint").string();
  plan.hardware.device_kind = hardware.at("device_kind").choice(program::kDeviceKinds);
  const auto sm = hardware.nullable("sm");
  if (plan.hardware.device_kind == program::DeviceKind::kCuda) {
    plan.hardware.sm = read_int(hardware.at("sm"), 1);
  } else if (sm) {
    throw sm->error(ErrorCode::kJsonBadValue, "a cpu plan has no compute capability").help("null");
  }
  plan.hardware.isa = read_instruction_set(hardware, plan.hardware.device_kind);
  if (hardware.has("cpu_threads") && hardware.nullable("cpu_threads")) {
    plan.hardware.cpu_threads = read_int(hardware.at("cpu_threads"), 1);
  }
  plan.strategy = root.at("strategy").string();
  read_ranks_into(plan, root);
  const JsonCursor budgets = root.at("budgets");
  budgets.only_keys({"gpu_memory_bytes", "host_memory_bytes", "gpu_context_bytes"});
  plan.budgets = {
      .gpu_memory_bytes = read_bytes(budgets.at("gpu_memory_bytes")),
      .host_memory_bytes = read_bytes(budgets.at("host_memory_bytes")),
      .gpu_context_bytes = read_bytes(budgets.at("gpu_context_bytes")),
  };
  plan.precision = root.at("precision").choice(program::kPrecisions);
  plan.optimizer = root.at("optimizer").choice(program::kTrainedOptimizers);
  plan.accumulation_steps = read_int(root.at("accumulation_steps"), 1, kMostMicroBatches);
  if (root.has("clips_gradients")) plan.clips_gradients = root.at("clips_gradients").boolean();
  plan.master = root.at("master").choice(kMasters);
  plan.moment_dtype = read_moment_dtype(root);
  plan.beta2 = read_beta2(root, plan.moment_dtype);
  if (root.has("kept_gradients")) {  // missing in older plans
    plan.kept_gradients = read_int(root.at("kept_gradients"), 1, kMostKeptGradients);
  }
  for (const JsonCursor& entry : root.at("chunks").items()) {
    plan.chunks.push_back(read_chunk(entry));
  }
  const JsonCursor cache = root.at("cache");
  cache.only_keys({"blocks", "block_bytes", "gradient_window_bytes", "update_piece_elements"});
  plan.cache = {
      .blocks = read_int(cache.at("blocks"), 0, kMostBlocks),
      .block_bytes = read_bytes(cache.at("block_bytes")),
      .gradient_window_bytes = read_bytes(cache.at("gradient_window_bytes")),
      .update_piece_elements = read_piece(cache),
  };
  check_total(plan, root);
  read_edits_into(plan, root);
  plan.predicted = read_predicted(root.at("predicted"));
  return plan;
}

Plan load_plan(const std::string& path) {
  return parse_plan(*JsonDocument::load(path));
}

}  // namespace elixir::plan
