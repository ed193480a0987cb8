// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/profile/run.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/units.h"
#include "memory/analysis/attribution.h"
#include "memory/analysis/fit.h"
#include "memory/analysis/profile_changes.h"
#include "report/page/profile_page.h"
#include "report/profile/byte_unit.h"
#include "report/profile/recomputation.h"
#include "report/screen/changes_screen.h"
#include "report/screen/profile_screen.h"
#include "report/terminal/table.h"
#include "report/trace/memory_snapshot.h"
#include "tools/profile/gpu_memory.h"
#include "tools/profile/measured.h"
#include "tools/profile/steps.h"

namespace elixir::tools {
namespace {

/// The part of the document about one profile.
Json summary(const program::Profile& profile, const std::string& output) {
  const program::MemorySummary& memory = profile.memory;
  return {{"profile", output},
          {"fingerprint", program::fingerprint(profile.program)},
          {"batch", value_or_null(Steps::batch_of(profile.program))},
          {"parameter_count", profile.program.parameter_count()},
          {"operators", profile.program.operators.size()},
          {"unattributed_operators", profile.unattributed_operators},
          {"memory", to_json(memory)}};
}

/// How certain the allocated peak is. On a CPU it counts tensors alone.
std::string label_of(const program::MemorySummary& memory) {
  if (!memory.certainty) return "of tensors";
  const program::Basis basis = memory.certainty->basis();
  const std::string name(program::name_of(basis));
  if (basis != program::Basis::kModelled) return name;
  return fmt::format(
      "{}; {}", name, program::off_text(memory.certainty->may_be_off.allocated_bytes));
}

bool is_modelled(const program::MemorySummary& memory) {
  return memory.certainty && memory.certainty->modelled_calls > 0;
}

std::string modelled_calls(const program::Certainty& certainty) {
  return certainty.modelled_calls == 1 ? "the scratch memory of one call is modelled"
                                       : fmt::format("the scratch memory of {} calls is modelled",
                                                     format_count(certainty.modelled_calls));
}

/// What there is to say about the steps of a sweep: each text once, with the batches that it is
/// about, in the order in which they came.
class BatchNotes {
 public:
  void add(const std::string& text, std::int64_t batch) {
    const auto found = std::find_if(
        notes_.begin(), notes_.end(), [&](const auto& note) { return note.first == text; });
    (found == notes_.end() ? notes_.emplace_back(text, std::vector<std::int64_t>()) : *found)
        .second.push_back(batch);
  }

  void tell(std::size_t batches, Context& context) const {
    for (const auto& [text, about] : notes_) {
      context.warn(fmt::format("{}: {}", name_of(about, batches), text));
    }
  }

 private:
  /// "all batches", "a batch of 8", "batches of 2, 4 and 8", "batches of 1, 2, 3 … 64".
  static std::string name_of(const std::vector<std::int64_t>& about, std::size_t batches) {
    constexpr std::size_t kMostNamed = 12;
    if (about.size() == 1) return fmt::format("a batch of {}", format_count(about.front()));
    if (about.size() == batches) return "all batches";
    std::vector<std::string> names;
    for (const std::int64_t batch : about) names.push_back(format_count(batch));
    const std::string last = names.back();
    names.pop_back();
    if (names.size() < kMostNamed) {
      return fmt::format("batches of {} and {}", fmt::join(names, ", "), last);
    }
    names.resize(kMostNamed - 1);
    return fmt::format("{} batches, {} … {}", about.size(), fmt::join(names, ", "), last);
  }

  std::vector<std::pair<std::string, std::vector<std::int64_t>>> notes_;
};

class ProfileRun {
 public:
  ProfileRun(const ProfileOptions& options, Context& context)
      : options_(options), context_(context) {}

  Answer run() {
    check_profile_options(options_, context_.output().has_value());
    return options_.batches.size() > 1 ? sweep() : one();
  }

 private:
  /// "dir/gpt2.pt" -> "gpt2" + `suffix`. As in every tool, in the current directory.
  [[nodiscard]] std::string beside(const std::string& suffix) const {
    return std::filesystem::path(options_.model).stem().string() + suffix;
  }

  void write_profile_to(const std::string& path, const program::Profile& profile) {
    context_.write_output_streamed(
        path, [&profile](const Sink& sink) { program::write_profile(profile, sink); });
  }

  void write_reports(const Steps::Step& step, const search::RecomputationSavings& savings) {
    const program::Profile& profile = step.profile;
    const memory::TrainingStep& prediction = step.prediction;
    if (options_.html) {
      write_file(
          *options_.html, report::profile_page(profile, prediction, savings), context_.overwrite());
    }
    if (options_.snapshot) {
      write_file_streamed(*options_.snapshot, context_.overwrite(), [&](const Sink& sink) {
        report::write_memory_snapshot(profile.program, prediction.events, prediction.placed, sink);
      });
    }
  }

  LargestBatchAnswer largest(Steps& steps) {
    auto progress = context_.progress();
    return find_largest_batch(steps, *options_.gpu_memory_bytes, [&](std::int64_t batch) {
      progress->update(-1, fmt::format("captures a batch of {}", format_count(batch)));
    });
  }

  /// The screen says why, so stderr does not: that would be the same lines twice.
  void warn_of_labels(const program::MemorySummary& memory) {
    if (!is_modelled(memory)) return;
    const std::string calls = modelled_calls(*memory.certainty);
    context_.warn(context_.json()
                      ? fmt::format("{}: {}", calls, fmt::join(memory.certainty->reasons, "; "))
                      : calls + "; why, and how far off that may be, is said below the peaks");
  }

  Json measure() {
    auto progress = context_.progress();
    progress->update(-1, "runs the step on the GPU");
    return measure_steps(options_);
  }

  Answer one() {
    // Checked before the output, so that an invalid model is reported first.
    Steps steps(options_, context_);
    const std::string output = context_.prepare_output(beside(".profile.json"));
    if (options_.html) check_output(*options_.html, context_.overwrite(), "--html");
    if (options_.snapshot) check_output(*options_.snapshot, context_.overwrite(), "--snapshot");
    // Read first, so that a bad file is found before the work.
    std::optional<memory::Attribution> before;
    if (options_.compare) before = memory::attribute(program::load_profile(*options_.compare));
    // First, because there may be no GPU to measure on.
    Json measured = options_.measure ? measure() : Json();
    const Steps::Step step = steps.capture(
        options_.batches.empty() ? std::nullopt : std::optional(options_.batches.front()));
    for (const std::string& warning : step.warnings) context_.warn(warning);
    const program::Profile& profile = step.profile;
    warn_of_labels(profile.memory);
    const search::RecomputationSavings savings = steps.savings(step);
    write_profile_to(output, profile);
    write_reports(step, savings);

    context_.document() = summary(profile, output);
    context_.document()["html"] = value_or_null(options_.html);
    context_.document()["snapshot"] = value_or_null(options_.snapshot);
    context_.document()["gpu_memory"] = nullptr;
    context_.document()["recomputation"] = report::to_json(savings);
    context_.document()["comparison"] = nullptr;
    context_.document()["measured"] = nullptr;
    if (!options_.loss.empty()) {
      context_.print(report::loss_line(profile.program, options_.loss));
    }
    context_.print(report::profile_screen(profile, step.prediction, savings, context_.out_style()));
    if (before) {
      const memory::ProfileChanges changes = compare(*before, memory::attribute(profile));
      context_.document()["comparison"] = report::to_json(changes);
      context_.print(fmt::format("\n{}\n", report::changes_screen(changes, *options_.compare)));
    }
    if (!measured.is_null()) {
      context_.print("\n" + measured_text(measured));
      context_.document()["measured"] = std::move(measured);
    }
    if (output != "-") context_.print(fmt::format("profile written to {}\n", output));
    if (options_.html) context_.print(fmt::format("page written to {}\n", *options_.html));
    if (options_.snapshot) {
      context_.print(fmt::format("snapshot written to {}\n", *options_.snapshot));
    }
    bool fits = true;
    if (options_.gpu_memory_bytes) {
      const std::int64_t limit = *options_.gpu_memory_bytes;
      const memory::KnownPeak peak = memory::best_known_peak(profile.memory);
      fits = peak.bytes <= limit;
      context_.print("\n" + fit_text(peak, limit));
      const LargestBatchAnswer answer = largest(steps);
      context_.print(largest_text(answer));
      context_.document()["gpu_memory"] =
          to_json(peak, Steps::batch_of(profile.program), limit, answer);
    }
    if (output != "-") {
      context_.hint(
          fmt::format("next: elixir-search --profile {} --hardware {}",
                      output,
                      options_.target.kind == program::Target::Kind::kCpu ? "cpu" : "h200"));
    }
    return fits ? Answer::kYes : Answer::kNo;
  }

  /// One row per batch size.
  [[nodiscard]] std::string table_of(const std::vector<program::MemorySummary>& rows) const {
    std::int64_t most = 0;
    for (const program::MemorySummary& memory : rows) {
      most = std::max(most, memory::best_known_peak(memory).bytes);
    }
    const report::ByteUnit unit = report::unit_for(most);
    const std::string name(unit.name);
    std::vector<report::Column> columns{{"batch", ""},
                                        {"activations", name},
                                        {"allocated", name},
                                        {"reserved", name},
                                        {"process", name},
                                        {"allocated is", "", report::Align::kLeft}};
    if (options_.gpu_memory_bytes) columns.push_back({"left", name});
    report::Table table(columns);
    const auto figure = [&](const std::optional<std::int64_t>& bytes) {
      return bytes ? report::in_unit(*bytes, unit) : std::string("-");
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> cells{format_count(options_.batches[i]),
                                     figure(rows[i].activations_peak_bytes),
                                     figure(rows[i].peak_allocated_bytes),
                                     figure(rows[i].peak_reserved_bytes),
                                     figure(rows[i].process_peak_bytes),
                                     label_of(rows[i])};
      if (options_.gpu_memory_bytes) {
        cells.push_back(
            figure(*options_.gpu_memory_bytes - memory::best_known_peak(rows[i]).bytes));
      }
      table.row(std::move(cells));
    }
    return table.text();
  }

  Answer sweep() {
    Steps steps(options_, context_);
    std::vector<std::string> outputs;
    for (const std::int64_t batch : options_.batches) {
      outputs.push_back(beside(fmt::format(".b{}.profile.json", batch)));
      context_.files().writes("--batch", outputs.back());
      check_output(outputs.back(), context_.overwrite(), /*flag=*/"");
    }
    std::vector<program::MemorySummary> rows;
    BatchNotes notes;
    Json batches = Json::array();
    bool all_fit = true;
    {
      auto progress = context_.progress();
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        progress->update(static_cast<double>(i) / static_cast<double>(outputs.size()),
                         fmt::format("captures a batch of {}", format_count(options_.batches[i])));
        const Steps::Step step = steps.capture(options_.batches[i]);
        for (const std::string& warning : step.warnings) notes.add(warning, options_.batches[i]);
        if (is_modelled(step.profile.memory)) {
          // Without the number of calls, which may differ where the reason does not.
          for (const std::string& reason : step.profile.memory.certainty->reasons) {
            notes.add("scratch memory is modelled: " + reason, options_.batches[i]);
          }
        }
        write_profile_to(outputs[i], step.profile);
        rows.push_back(step.profile.memory);
        Json entry = summary(step.profile, outputs[i]);
        entry["fits"] = nullptr;
        if (options_.gpu_memory_bytes) {
          const bool fits =
              memory::best_known_peak(rows.back()).bytes <= *options_.gpu_memory_bytes;
          entry["fits"] = fits;
          all_fit = all_fit && fits;
        }
        batches.push_back(std::move(entry));
      }
    }
    notes.tell(rows.size(), context_);
    context_.document() = {{"batches", std::move(batches)}, {"gpu_memory", nullptr}};
    context_.print(table_of(rows));
    for (const std::string& output : outputs) {
      context_.print(fmt::format("profile written to {}\n", output));
    }
    if (options_.gpu_memory_bytes) {
      // Checks the batch size that needs the most memory.
      const auto most =
          std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
            return memory::best_known_peak(a).bytes < memory::best_known_peak(b).bytes;
          });
      const memory::KnownPeak peak = memory::best_known_peak(*most);
      const std::int64_t batch = options_.batches[static_cast<std::size_t>(most - rows.begin())];
      context_.print("\n" + fmt::format("a batch of {}, which takes most, ", format_count(batch)) +
                     fit_text(peak, *options_.gpu_memory_bytes));
      const LargestBatchAnswer answer = largest(steps);
      context_.print(largest_text(answer));
      context_.document()["gpu_memory"] = to_json(peak, batch, *options_.gpu_memory_bytes, answer);
    }
    return all_fit ? Answer::kYes : Answer::kNo;
  }

  const ProfileOptions& options_;
  Context& context_;
};

}  // namespace

Answer run_profile(const ProfileOptions& options, Context& context) {
  return ProfileRun(options, context).run();
}

}  // namespace elixir::tools
