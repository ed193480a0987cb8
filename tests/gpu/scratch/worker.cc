// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "gpu/scratch/worker.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/version.h>

#include "gpu/scratch/trial.h"

namespace elixir::tests {
namespace {

constexpr std::int64_t kDrawsPerPart = 50;
constexpr unsigned kLongestPartSeconds = 30;
constexpr std::int64_t kFewCalls = 20;
constexpr std::size_t kFaultsPerOperator = 3;
constexpr const char* kLost = "device lost";
constexpr int kDeviceLost = 3;  ///< exit code

/// FNV-1a, because std::hash may differ between libraries.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

class SilentWarnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

void append(const std::string& file, const nlohmann::json& line) {
  std::ofstream out(file, std::ios::app);
  out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

std::string machine(const Bench& bench) {
  if (!bench.on_cuda()) return "LibTorch " TORCH_VERSION ", CPU";
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  return fmt::format("LibTorch {}, CUDA {}.{}, cuDNN {}, {}",
                     TORCH_VERSION,
                     runtime / 1000,
                     runtime % 1000 / 10,
                     at::detail::getCUDAHooks().versionCuDNN(),
                     at::cuda::getCurrentDeviceProperties()->name);
}

/// Sizes that no later operator asks for may stay in the allocator's pools.
void give_back_much_memory() {
  constexpr std::int64_t kMuch = std::int64_t{4} << 30;  // several processes may share a GPU
  const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  if (statistics.reserved_bytes[0].current > kMuch) {
    c10::cuda::CUDACachingAllocator::emptyCache();
  }
}

/// The calls of one operator, in parts.
class OperatorRun {
 public:
  OperatorRun(const Subject& subject, const Bench& bench, const Settings& settings)
      : subject_(subject), bench_(bench), settings_(settings) {}

  [[nodiscard]] bool done() const {
    constexpr std::int64_t kDrawsPerCall = 4;
    const bool hopeless = accepted_ == 0 && drawn_ >= 2 * kDrawsPerPart;
    return accepted_ >= settings_.calls_per_operator || hopeless ||
           drawn_ >= kDrawsPerCall * settings_.calls_per_operator || took_long();
  }
  /// Adds to the evidence. Returns false when the device is lost.
  bool part(std::int64_t first_draw, Evidence& evidence) {
    for (std::int64_t i = 0; i < kDrawsPerPart && !done(); ++i) {
      const std::uint64_t seed = hash_of(subject_.op) + (settings_.seed << 32U) +
                                 static_cast<std::uint64_t>(first_draw + i);
      const std::int64_t before = evidence.calls;
      if (!try_call(subject_, bench_, seed, evidence)) return false;
      accepted_ += evidence.calls - before;
      ++drawn_;
    }
    return true;
  }

 private:
  /// Compiling the kernels of some operators takes seconds; so does cuDNN's choice for attention.
  [[nodiscard]] bool took_long() const {
    const bool by_plan = subject_.op.find("attention") != std::string::npos ||
                         subject_.op.find("convolution") != std::string::npos;
    const auto most = std::chrono::seconds(accepted_ < kFewCalls || by_plan ? 6 : 2);
    return std::chrono::steady_clock::now() - begin_ > most;
  }

  const Subject& subject_;
  const Bench& bench_;
  const Settings& settings_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t accepted_ = 0, drawn_ = 0;
};

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Where a worker starts.
struct Place {
  std::size_t op = 0;
  std::int64_t draw = 0;
};

/// Starts a worker, waits for its end, and says how it ended. "" at the end of the work.
std::string run_once(const std::string& executable,
                     const std::string& file,
                     const Place& place,
                     std::int64_t until) {
  std::vector<std::string> words{executable,
                                 "--worker",
                                 file,
                                 std::to_string(place.op),
                                 std::to_string(place.draw),
                                 std::to_string(until)};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, executable.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + executable);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == kDeviceLost) return kLost;
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit code {}", WEXITSTATUS(status));
}

/// What workers wrote.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  /// Takes in what is new. Returns where the last worker was; nullopt when it called nothing.
  std::optional<Place> read() {
    std::optional<Place> place;
    std::ifstream in(file_);
    in.seekg(position_);
    for (std::string line; std::getline(in, line);) {
      position_ += static_cast<std::streamoff>(line.size()) + 1;
      const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_discarded()) continue;  // the worker ended while it wrote
      if (json.contains("machine")) machine_ = json.at("machine");
      if (json.contains("draw")) {
        place = Place{json.at("at").get<std::size_t>(), json.at("draw").get<std::int64_t>()};
        op_ = json.at("name");
      }
      if (json.contains("operator")) add(json.get<Evidence>());
    }
    return place;
  }
  void add_fault(const std::string& how) {
    Evidence part;
    part.op = op_;
    part.faults.push_back(how);
    add(part);
  }
  [[nodiscard]] AllEvidence take() const {
    AllEvidence all;
    for (const auto& entry : by_name_) all.operators.push_back(entry.second);
    all.machine = machine_;
    return all;
  }
  [[nodiscard]] std::size_t faults() const {
    const auto found = by_name_.find(op_);
    return found == by_name_.end() ? 0 : found->second.faults.size();
  }

 private:
  void add(const Evidence& part) {
    Evidence& whole = by_name_[part.op];
    whole.op = part.op;
    whole.add(part);
  }
  std::string file_, machine_, op_;
  std::streamoff position_ = 0;
  std::map<std::string, Evidence> by_name_;
};

}  // namespace

Settings Settings::from_environment() {
  const auto text = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  Settings settings;
  if (const auto device = text("ELIXIR_SCRATCH_DEVICE"); !device.empty()) settings.device = device;
  if (const auto calls = text("ELIXIR_SCRATCH_CALLS"); !calls.empty()) {
    settings.calls_per_operator = std::stoll(calls);
  }
  if (const auto seed = text("ELIXIR_SCRATCH_SEED"); !seed.empty())
    settings.seed = std::stoull(seed);
  settings.only = text("ELIXIR_SCRATCH_ONLY");
  if (const auto part = text("ELIXIR_SCRATCH_PART"); !part.empty()) {
    settings.part = std::stoull(part);
    settings.parts = std::stoull(part.substr(part.find('/') + 1));
  }
  if (const auto seconds = text("ELIXIR_SCRATCH_SECONDS"); !seconds.empty()) {
    settings.seconds = std::stoll(seconds);
  }
  return settings;
}

int run_worker(const std::vector<std::string>& arguments) {
  const std::string& file = arguments.at(0);
  const Place first{std::stoull(arguments.at(1)), std::stoll(arguments.at(2))};
  const std::int64_t until = std::stoll(arguments.at(3));
  const Settings settings = Settings::from_environment();
  SilentWarnings silence;
  const c10::WarningUtils::WarningHandlerGuard silent(&silence);
  const std::vector<Subject> all = subjects();
  const Bench bench{c10::Device(settings.device == "cuda" ? "cuda:0" : "cpu")};
  append(file, {{"machine", machine(bench)}});
  for (std::size_t i = first.op; i < all.size(); ++i) {
    if (all[i].op.find(settings.only) == std::string::npos) continue;
    if (i % settings.parts != settings.part) continue;
    if (until > 0 && seconds_now() >= until) return 0;
    OperatorRun run(all[i], bench, settings);
    for (std::int64_t draw = i == first.op ? first.draw : 0; !run.done(); draw += kDrawsPerPart) {
      append(file, {{"at", i}, {"draw", draw}, {"name", all[i].op}});
      alarm(kLongestPartSeconds);  // ends this process when a call hangs
      at::manual_seed(settings.seed);
      Evidence evidence;
      evidence.op = all[i].op;
      const bool alive = run.part(draw, evidence);
      append(file, evidence);
      if (!alive) std::_Exit(kDeviceLost);
    }
    alarm(0);
    if (bench.on_cuda()) give_back_much_memory();
  }
  return 0;
}

AllEvidence collect(const std::string& executable, const std::string& file) {
  std::ofstream(file, std::ios::trunc).close();
  Reader reader(file);
  const Settings settings = Settings::from_environment();
  const std::int64_t until = settings.seconds > 0 ? seconds_now() + settings.seconds : 0;
  Place place;
  int workers = 0;
  for (bool more = true; more;) {
    ++workers;
    const std::string end = run_once(executable, file, place, until);
    const std::optional<Place> last = reader.read();
    more = !end.empty();
    if (!more) break;
    if (!last) throw std::runtime_error("a worker ended before its first call: " + end);
    if (end != kLost) reader.add_fault(end);
    const bool enough = reader.faults() >= kFaultsPerOperator;
    place = enough ? Place{last->op + 1, 0} : Place{last->op, last->draw + kDrawsPerPart};
  }
  AllEvidence all = reader.take();
  all.workers = workers;
  return all;
}

}  // namespace elixir::tests
