// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-bench: measures this machine and writes a hardware profile.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "core/error.h"
#include "core/files.h"
#include "core/units.h"
#include "hardware/hardware_profile.h"
#include "measure/gpu_probe.h"
#include "measure/measure.h"
#include "program/document.h"
#include "report/table.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {
namespace {

struct Options {
  bool list = false, quick = false;
  std::vector<std::string> only;
  std::vector<std::string> operators;
  std::optional<std::string> into;
  std::string device = "auto";
  std::string name;
};

std::vector<std::string> split_commas(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    std::size_t begin = 0;
    while (begin <= value.size()) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end > begin) parts.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

measure::DeviceChoice device_choice(const std::string& name) {
  if (name == "cpu") return measure::DeviceChoice::kCpu;
  if (name == "cuda") return measure::DeviceChoice::kCuda;
  return measure::DeviceChoice::kAuto;
}

// --- --list
// ---------------------------------------------------------------------------------------------------

Answer list_measurements(const Options& options, Context& context) {
  measure::Bench bench;
  const bool gpu = !measure::gpu_unavailable() && options.device != "cpu";
  bench.device = gpu ? measure::DeviceKind::kCuda : measure::DeviceKind::kCpu;
  Json list = Json::array();
  std::string text;
  for (const measure::Measurement& m : measure::measurements()) {
    const std::optional<std::string> waived = m.waive(bench);
    list.push_back({{"name", m.name},
                    {"meaning", m.meaning},
                    {"method", m.method},
                    {"full_s", m.full_s},
                    {"quick_s", m.quick_s},
                    {"waived", waived ? Json(*waived) : Json(nullptr)}});
    text +=
        fmt::format("{}\n  what  {}\n  how   {}\n  takes about {:.1f} s, {:.1f} s with --quick\n",
                    m.name,
                    m.meaning,
                    m.method,
                    m.full_s,
                    m.quick_s);
    if (waived) text += fmt::format("  waived here, because {}\n", *waived);
  }
  context.document() = {{"measurements", list}};
  context.print(text);
  return Answer::kYes;
}

// --- The table
// --------------------------------------------------------------------------------------------------

struct Scale {
  double factor;
  const char* unit;
};
constexpr Scale kGigabytes = {1e-9, "GB/s"};
constexpr Scale kGigaparameters = {1e-9, "Gparam/s"};
constexpr Scale kTeraflops = {1e-12, "TFLOP/s"};
constexpr Scale kMicroseconds = {1e-3, "us"};

class Results {
 public:
  void add(const std::string& what, const hardware::Figure& figure, Scale scale) {
    table_.row({what,
                fmt::format("{:.4g}", figure.median * scale.factor),
                scale.unit,
                fmt::format("{:.1f}", figure.spread * 100),
                fmt::format("{}", figure.samples),
                figure.method});
  }
  void add(const std::string& what, const std::optional<hardware::Figure>& figure, Scale scale) {
    if (figure) add(what, *figure, scale);
  }
  void add(const std::string& what, const std::vector<hardware::LinkRate>& rates) {
    for (const hardware::LinkRate& rate : rates) {
      add(what, rate.bytes_per_s, kGigabytes);
      add(what + ", 4 KiB", rate.latency_ns, kMicroseconds);
    }
  }
  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  report::Table table_{{{"measured", "", report::Align::kLeft},
                        {"median", ""},
                        {"unit", "", report::Align::kLeft},
                        {"spread", "%"},
                        {"samples", ""},
                        {"how", "", report::Align::kLeft}}};
};

std::string summary_of(const hardware::HardwareProfile& profile) {
  std::string text = fmt::format("{}, {} CPUs ({} threads used), {} host memory\n",
                                 profile.machine.cpu,
                                 profile.machine.logical_cpus,
                                 profile.machine.threads,
                                 format_bytes(profile.machine.host_memory_bytes));
  for (const hardware::Gpu& gpu : profile.gpus) {
    text += fmt::format("{}, sm_{}, {} ({} of it taken by the context)\n",
                        gpu.name,
                        gpu.sm,
                        format_bytes(gpu.memory_bytes),
                        format_bytes(gpu.context_bytes));
  }
  Results results;
  results.add("host-to-device", profile.links.host_to_device);
  results.add("device-to-host", profile.links.device_to_host);
  results.add("both-at-once", profile.links.both_at_once);
  results.add("pageable-host-to-device", profile.links.pageable_host_to_device);
  results.add("device-copy", profile.device_copy_bytes_per_s, kGigabytes);
  results.add("host-copy", profile.host_copy_bytes_per_s, kGigabytes);
  for (const hardware::AdamRate& rate : profile.adam_cpu) {
    results.add("adam-cpu " + rate.dtype, rate.params_per_s, kGigaparameters);
  }
  for (const hardware::AdamRate& rate : profile.adam_gpu) {
    results.add("adam-gpu " + rate.dtype, rate.params_per_s, kGigaparameters);
  }
  for (const hardware::ComputeRate& rate : profile.compute) {
    results.add("matmul " + rate.dtype, rate.matmul_flop_per_s, kTeraflops);
  }
  results.add("launch", profile.launch_ns, kMicroseconds);
  text += '\n' + results.text();
  if (!profile.operators.empty()) {
    text += fmt::format("\n{} distinct operator calls measured\n", profile.operators.size());
  }
  for (const auto& [measurement, reason] : profile.waived) {
    text += fmt::format("waived: {}, because {}\n", measurement, reason);
  }
  return text;
}

// --- Measuring
// --------------------------------------------------------------------------------------------------

/// Where the profile goes. With --into and no -o, the file itself is replaced.
struct Destination {
  std::string path;
  bool in_place = false;
};

Destination prepare_destination(const Options& options, Context& context) {
  if (options.into && !context.output()) {
    check_output(*options.into, Overwrite::kAllow);
    return {*options.into, true};
  }
  return {context.prepare_output("hardware.json"), false};
}

Answer work(const Options& options, Context& context) {
  if (options.list) return list_measurements(options, context);

  // Everything that can be wrong is found before the long part.
  const Destination destination = prepare_destination(options, context);
  measure::Request request;
  request.device = device_choice(options.device);
  request.effort = options.quick ? measure::Effort::kQuick : measure::Effort::kFull;
  request.name = options.name;
  if (!options.only.empty()) {
    request.only = split_commas(options.only);
    measure::check_names(*request.only);
  } else if (options.into && !options.operators.empty()) {
    request.only = std::vector<std::string>{};
  }
  if (options.into) request.into = hardware::load_hardware(*options.into);
  std::vector<program::Profile> profiles;
  profiles.reserve(options.operators.size());
  for (const std::string& path : options.operators) {
    profiles.push_back(program::load_profile(path));
    request.programs.push_back(&profiles.back().program);
  }

  auto progress = context.progress();
  request.progress = [&](double fraction, std::string_view what) {
    progress->update(fraction, fmt::format("measuring {}", what));
  };
  measure::Outcome outcome = measure::measure(request);
  progress.reset();

  outcome.profile.meta = make_meta("elixir-bench", context.argv());
  const Json document = to_json(outcome.profile);
  if (destination.in_place) {
    write_file(destination.path, dump(document), Overwrite::kAllow);
  } else {
    context.write_output(destination.path, dump(document));
  }
  context.document() = document;
  context.print(summary_of(outcome.profile));
  if (outcome.interrupted) {
    context.warn("stopped early; the profile holds what was finished", {});
    throw_if_interrupted();
  }
  context.hint(fmt::format("next: elixir-search --profile MODEL.profile.json --hardware {}",
                           destination.path));
  return Answer::kYes;
}

constexpr const char* kDetails =
    "Every figure in the document has its median, its spread (third minus first quartile over the\n"
    "median), the number of samples and the method. Nothing is a constant; what cannot be "
    "measured\n"
    "here is waived with the reason, and that is no error. docs/metrics.md explains each figure.\n"
    "\n"
    "--operators runs every distinct operator call of a program on this machine and adds its time\n"
    "and the memory it needs besides its results. Predictions are then made of measured times, "
    "and\n"
    "predicted memory on the CPU device is exact. With --into the results join an existing "
    "profile\n"
    "of this machine, and that file is replaced unless -o names another.\n"
    "\n"
    "LibTorch's number of threads (OMP_NUM_THREADS) is the number of threads measured with. "
    "Measure\n"
    "on an otherwise idle machine. Clocks, power and GPU settings are never changed.";

}  // namespace
}  // namespace elixir::tools

int main(int argc, char** argv) {
  using elixir::tools::Context;
  elixir::tools::Options options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-bench";
  info.summary = "Measures this machine: copies, optimizer, matrix products, a model's operators.";
  info.examples = {
      {"elixir-bench", "measure everything, write hardware.json"},
      {"elixir-bench --operators gpt.profile.json", "the same, and the model's operators"},
      {"elixir-bench --into hardware.json --operators gpt.profile.json", "add a model's operators"},
      {"elixir-bench --quick --only adam-cpu,matmul -o part.json", "two measurements, quickly"},
      {"elixir-bench --list", "what can be measured, and how"},
  };
  info.output = {
      "FILE", "where to write the hardware profile", "hardware.json, or the file of --into"};
  info.details = elixir::tools::kDetails;
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", TORCH_VERSION}};
  };
  info.declare = [&](elixir::tools::Flags& flags) {
    flags.group("What to measure");
    flags.toggle("--list", &options.list, "say what can be measured and how, measure nothing")
        .brief();
    flags
        .texts("--only",
               "NAME",
               &options.only,
               "only these measurements; repeat, or separate by commas")
        .brief();
    flags.toggle("--quick", &options.quick, "smaller sizes and fewer samples").brief();
    flags
        .texts("--operators",
               "PROFILE",
               &options.operators,
               "also every operator call of this model (MODEL.profile.json of elixir-profile)")
        .brief();
    flags.text("--into", "HARDWARE", &options.into, "add to this hardware profile of this machine")
        .brief();
    flags.choice("--device",
                 {"auto", "cpu", "cuda"},
                 &options.device,
                 "device to measure; auto is the GPU if there is one");
    flags.text("--name", "NAME", &options.name, "name of the profile")
        .default_text("cpu, or the GPU's");
    flags.exclusive({"--list", "--only"});
    flags.exclusive({"--list", "--operators"});
    flags.exclusive({"--list", "--into"});
  };
  return elixir::tools::run_tool(
      info, argc, argv, [&](Context& context) { return elixir::tools::work(options, context); });
}
