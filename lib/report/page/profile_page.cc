// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/profile_page.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "elixir_config.h"
#include "memory/analysis/module_memory.h"
#include "memory/analysis/occupation.h"
#include "memory/analysis/operator_memory.h"
#include "program/names/labels.h"
#include "report/page/html.h"
#include "report/page/memory_chart.h"
#include "report/page/module_table.h"
#include "report/page/page_assets.h"
#include "report/profile/byte_unit.h"
#include "report/profile/layers.h"
#include "report/profile/live_tensors.h"
#include "report/profile/peak_basis.h"
#include "report/profile/recomputation.h"

namespace elixir::report {
namespace {

using program::Program;

constexpr std::size_t kTensorsShown = 40;
/// Tensors with a total below the peak divided by this are counted, not listed.
constexpr std::int64_t kLightestShare = 5000;
constexpr std::size_t kOperatorsShown = 25;
constexpr std::size_t kModulesOnPage = 2500;

std::string name(const std::string& text) {
  return escape_html(shortened(text));
}

class Page {
 public:
  Page(const program::Profile& profile,
       const memory::TrainingStep& step,
       const search::RecomputationSavings& savings)
      : profile_(profile),
        program_(profile.program),
        step_(step),
        savings_(savings),
        timeline_(step.timeline),
        unit_(unit_for(step.timeline.peak_bytes)) {}

  std::string html() {
    head();
    cards();
    chart();
    text_ += "<div class=\"columns\">";
    categories();
    tensors();
    text_ += "</div>";
    modules();
    operators();
    recomputation();
    meanings();
    foot();
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::string figure(std::int64_t bytes) const { return in_unit(bytes, unit_); }
  [[nodiscard]] std::string unit_note() const {
    return fmt::format("<small>{}</small>", unit_.name);
  }

  void head() {
    const std::string file = std::filesystem::path(profile_.model_path).filename().string();
    std::string inputs;
    for (const program::Input& input : program_.inputs) {
      inputs += fmt::format(
          " · {} <code>{}</code>", name(input.name), program::geometry_of(input.tensor));
    }
    text_ += fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<title>{0} – memory of a training step</title>\n<style>\n{1}</style></head><body>\n"
        "<header><h1>{0}</h1><p>Memory of one training step, forward and backward, as LibTorch's "
        "autograd runs it · target <code>{2}</code> · optimizer {3}{4}</p></header>\n",
        name(file),
        kPageStyle,
        program_.target.text(),
        name(profile_.optimizer_use().text()),
        inputs);
  }

  void card(const char* title,
            const std::string& value,
            std::string_view unit,
            const std::string& note) {
    text_ += fmt::format(
        "<div class=\"card{}\"><h3>{}</h3><p>{} <small>{}</small></p><small>{}</small></div>\n",
        value == "–" ? " unknown" : "",
        title,
        value,
        unit,
        note);
  }

  /// Matrix work of the whole step.
  [[nodiscard]] std::int64_t work() const {
    std::int64_t flops = 0;
    for (const program::Operator& op : program_.operators) flops += op.flops;
    return flops;
  }

  void cards() {
    const std::int64_t flops = work();
    const program::WorkUnit flop_unit = program::work_unit(flops);
    const auto bytes = [&](std::optional<std::int64_t> value) {
      return value ? figure(*value) : std::string("–");
    };
    const auto unit = [&](std::optional<std::int64_t> value) {
      return value ? unit_.name : std::string_view();
    };
    const program::MemorySummary& memory = profile_.memory;
    text_ += "<section class=\"cards\">\n";
    card("Peak allocated",
         figure(memory.peak_allocated_bytes),
         unit_.name,
         basis_of_allocated(step_));
    card("Peak reserved",
         bytes(memory.peak_reserved_bytes),
         unit(memory.peak_reserved_bytes),
         basis_of_reserved(memory));
    card("Process",
         bytes(memory.process_peak_bytes),
         unit(memory.process_peak_bytes),
         basis_of_process(memory, program_.target, step_));
    card("Parameters", format_count(program_.parameter_count()), "", "elements, tied ones once");
    card("Operator calls",
         format_count(static_cast<std::int64_t>(program_.operators.size())),
         "",
         "forward and backward");
    card("Work",
         escape_html(program::in_unit(flops, flop_unit)),
         flop_unit.name,
         "matrix work of one step");
    text_ += "</section>\n";
    if (!memory.certainty) return;
    for (const std::string& reason : memory.certainty->reasons) {
      text_ += fmt::format("<p class=\"hint\">{}</p>\n", escape_html(reason));
    }
  }

  [[nodiscard]] std::string place_of_peak() const {
    if (timeline_.peak_operator < 0) {
      return "while the optimizer updates parameters, after the last operator";
    }
    const program::Operator& op =
        program_.operators[static_cast<std::size_t>(timeline_.peak_operator)];
    return fmt::format("at operator {}, <code>{}</code> in <code>{}</code> ({})",
                       format_count(op.id),
                       name(op.name),
                       name(program::module_label(program_, op)),
                       program::label_of(op.phase));
  }

  void chart() {
    text_ += "<section><h2>Allocated memory over the step</h2>\n";
    if (program_.operators.empty()) {
      text_ += "<p>The program has no operators.</p></section>\n";
      return;
    }
    text_ += fmt::format("<p>The peak of <strong>{} {}</strong> is reached {}.</p>\n",
                         figure(timeline_.peak_bytes),
                         unit_.name,
                         place_of_peak());
    const MemoryChart chart(program_, timeline_, unit_);
    text_ += "<div class=\"legend\" id=\"legend\">";
    for (const Layer layer : chart.layers()) {
      text_ += fmt::format(
          "<button data-category=\"{0}\" aria-pressed=\"true\"><i class=\"c-{0}\"></i>{1}</button>",
          layer_key(layer),
          layer_label(layer));
    }
    text_ +=
        "<span class=\"space\"></span><button id=\"whole\" hidden>whole step</button><button "
        "id=\"only-step\" aria-pressed=\"false\" hidden>only what the step makes</button>"
        "</div>\n<figure id=\"figure\">" +
        chart.svg() +
        "<div id=\"tip\" hidden></div></figure>\n"
        "<p class=\"hint\" id=\"hint\" hidden>Point for values, drag over a range to enlarge it, "
        "click categories to leave them out. Keys: ← → (with Shift faster), Home, End, P the peak, "
        "+ − 0 enlarge and back.</p>\n"
        "<p id=\"said\" class=\"said\" aria-live=\"polite\"></p></section>\n"
        "<script type=\"application/json\" id=\"data\">" +
        script_json(chart.data()) + "</script>\n";
  }

  void categories() {
    text_ += "<section><h2>By category " + unit_note() +
             "</h2>\n<table><thead><tr><th>category</th><th>at the peak</th><th>most</th></tr>"
             "</thead><tbody>\n";
    for (const Layer layer : kLayers) {
      const std::int64_t most = layer_most(timeline_, layer);
      if (most == 0) continue;
      text_ +=
          fmt::format("<tr><td><i class=\"swatch c-{}\"></i>{}</td><td>{}</td><td>{}</td></tr>\n",
                      layer_key(layer),
                      layer_label(layer),
                      figure(layer_at_peak(timeline_, layer)),
                      figure(most));
    }
    text_ += fmt::format(
        "</tbody><tfoot><tr><td>together</td><td>{}</td><td>{}</td></tr></tfoot></table>\n",
        figure(timeline_.peak_bytes),
        figure(timeline_.peak_bytes));
    const memory::Occupation found = memory::occupation(program_);
    text_ += fmt::format(
        "<h2>As Elixir's <code>cuda_memory_profiling</code> counts <small>bytes</small></h2>\n"
        "<table><tbody><tr><td>param_occ</td><td>{}</td></tr><tr><td>buffer_occ</td><td>{}</td>"
        "</tr><tr><td>grad_occ</td><td>{}</td></tr><tr><td>activation_occ</td><td>{}</td></tr>"
        "</tbody></table></section>\n",
        format_count(found.param_occ),
        format_count(found.buffer_occ),
        format_count(found.grad_occ),
        format_count(found.activation_occ));
  }

  void tensors() {
    text_ += "<section><h2>Largest at the peak " + unit_note() +
             "</h2>\n<div class=\"scroll\"><table><thead><tr><th>category</th><th>each</th>"
             "<th>times</th><th>together</th><th class=\"text\">tensor</th><th "
             "class=\"text\">of</th></tr></thead><tbody>\n";
    std::size_t shown = 0;
    std::map<Layer, LiveTensors> rest;
    for (const LiveTensors& live : live_tensors(program_, timeline_)) {
      const bool light = live.together_bytes < timeline_.peak_bytes / kLightestShare;
      if (shown == kTensorsShown || light) {
        LiveTensors& tail = rest[live.layer];
        tail.count += live.count;
        tail.together_bytes += live.together_bytes;
        continue;
      }
      ++shown;
      text_ += fmt::format(
          "<tr><td><i class=\"swatch c-{}\"></i>{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td class=\"text\"><code>{}</code></td><td class=\"text\">{}{}</td></tr>\n",
          layer_key(live.layer),
          layer_label(live.layer),
          figure(live.bytes),
          live.count > 1 ? "×&thinsp;" + format_count(live.count) : "",
          figure(live.together_bytes),
          name(live.tensor),
          name(live.origin),
          live.count > 1 ? ", …" : "");
    }
    for (const auto& [layer, tail] : rest) {
      text_ += fmt::format(
          "<tr class=\"more\"><td><i class=\"swatch c-{}\"></i>{}</td><td></td><td>×&thinsp;{}</td>"
          "<td>{}</td><td class=\"text\" colspan=\"2\">… {} more</td></tr>\n",
          layer_key(layer),
          layer_label(layer),
          format_count(tail.count),
          figure(tail.together_bytes),
          format_count(tail.count));
    }
    text_ += "</tbody></table></div></section>\n";
  }

  void modules() {
    text_ +=
        "<section><h2>Modules " + unit_note() +
        "</h2>\n<p class=\"tools\" id=\"tree-tools\" hidden><button id=\"open-all\">open "
        "all</button> <button id=\"close-all\">close all</button></p>\n<div class=\"scroll\">" +
        module_table(memory::module_memory(program_, timeline_), unit_, kModulesOnPage) +
        "</div></section>\n";
  }

  void operators() {
    const program::WorkUnit flop_unit = program::work_unit(work());
    text_ += "<section><h2>Operators " + unit_note() +
             "</h2>\n<div class=\"scroll\"><table><thead><tr><th>operator</th><th>calls</th>"
             "<th>made in all</th><th>activations made</th><th>peak while one runs</th>"
             "<th>" +
             std::string(flop_unit.name) + "</th></tr></thead><tbody>\n";
    memory::OperatorMemory rest;
    std::int64_t left_out = 0;
    const auto row = [&](const std::string& label, const memory::OperatorMemory& of) {
      text_ += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          label,
          format_count(of.calls),
          figure(of.made_bytes),
          figure(of.activations_bytes),
          figure(of.peak_bytes),
          escape_html(program::in_unit(of.flops, flop_unit)));
    };
    std::size_t shown = 0;
    for (const memory::OperatorMemory& of : memory::operator_memory(program_, timeline_)) {
      if (shown < kOperatorsShown) {
        row("<code>" + name(of.name) + "</code>", of);
        ++shown;
        continue;
      }
      ++left_out;
      rest.calls += of.calls;
      rest.made_bytes += of.made_bytes;
      rest.activations_bytes += of.activations_bytes;
      rest.peak_bytes = std::max(rest.peak_bytes, of.peak_bytes);
      rest.flops += of.flops;
    }
    if (left_out > 0) row(fmt::format("… {} more", format_count(left_out)), rest);
    text_ += "</tbody></table></div></section>\n";
  }

  void recomputation() {
    const std::vector<RecomputationRow> rows = recomputation_rows(savings_, unit_);
    const bool timed = savings_.operators_ns.has_value();
    text_ += "<section><h2>What recomputing saves " + unit_note() + "</h2>\n";
    if (!rows.empty()) {
      text_ += fmt::format(
          "<table><thead><tr><th>recomputing</th><th>saved</th>{}<th>kept</th>"
          "<th>peak allocated</th></tr></thead><tbody>\n",
          timed ? "<th>time, modelled, %</th>" : "");
    }
    for (const RecomputationRow& row : rows) {
      text_ += fmt::format("<tr><td>{}</td><td>{}</td>{}<td>{}</td><td>{}</td></tr>\n",
                           escape_html(row.choice),
                           row.saved,
                           timed ? "<td>" + row.time + "</td>" : "",
                           row.kept,
                           row.peak);
    }
    if (!rows.empty()) text_ += "</tbody></table>\n";
    for (const std::string& note : recomputation_notes(savings_, program_.target, unit_)) {
      text_ += "<p>" + escape_html(note) + "</p>\n";
    }
    text_ += "</section>\n";
  }

  void meanings() {
    struct Meaning {
      const char* term;
      const char* text;
    };
    constexpr std::array<Meaning, 9> kMeanings{{
        {"allocated",
         "bytes of the blocks that LibTorch's caching allocator has handed out, each tensor "
         "rounded up to 512 bytes: what <code>torch.cuda.max_memory_allocated()</code> reports."},
        {"reserved",
         "what that allocator holds from the driver, handed out or not: "
         "<code>torch.cuda.max_memory_reserved()</code>."},
        {"process",
         "reserved memory, the CUDA context and what libraries hold: what <code>nvidia-smi</code> "
         "shows. A GPU must have this much."},
        {"activation", "made in forward, still there when backward begins."},
        {"temporary", "made and released on the way."},
        {"workspace",
         "scratch memory that kernels and libraries ask for beside the program's tensors: kept by "
         "cuBLAS, or released when its call is over. Known for CUDA targets."},
        {"most", "the most that the category reaches at any time, wherever the peak is."},
        {"peak inside",
         "the most that is allocated on the device, by anyone, while an operator of the module "
         "runs."},
        {"×",
         "tensors of one geometry and kind, listed once with the name of the first. Each: the "
         "largest of their blocks; the allocator may give equal tensors blocks that differ."},
    }};
    text_ += "<section><h2>What the numbers mean</h2><dl>\n";
    for (const Meaning& meaning : kMeanings) {
      text_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", meaning.term, meaning.text);
    }
    text_ += "</dl>\n";
    if (profile_.unattributed_operators > 0) {
      text_ += fmt::format("<p>{} operator calls could not be attributed to a module.</p>\n",
                           format_count(profile_.unattributed_operators));
    }
    text_ += "</section>\n";
  }

  void foot() {
    text_ += fmt::format(
        "<footer>elixir-profile {} · program {} · KiB, MiB and GiB are powers of 1024</footer>\n"
        "<script>\n{}</script>\n</body></html>\n",
        ELIXIR_VERSION,
        program::fingerprint(program_),
        kPageScript);
  }

  const program::Profile& profile_;
  const Program& program_;
  const memory::TrainingStep& step_;
  const search::RecomputationSavings& savings_;
  const memory::Timeline& timeline_;
  ByteUnit unit_;
  std::string text_;
};

}  // namespace

std::string profile_page(const program::Profile& profile,
                         const memory::TrainingStep& step,
                         const search::RecomputationSavings& savings) {
  return Page(profile, step, savings).html();
}

}  // namespace elixir::report
