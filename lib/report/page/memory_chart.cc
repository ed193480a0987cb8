// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/memory_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "program/names/labels.h"
#include "report/page/html.h"

namespace elixir::report {
namespace {

using memory::TimelineBucket;

/// The plot's position in the chart, in the chart's units.
constexpr double kWidth = 1200, kHeight = 440;
constexpr double kLeft = 76, kTop = 40, kPlotWidth = 1110, kPlotHeight = 352;
/// Room above the peak for its label.
constexpr double kHeadroom = 1.06;
constexpr int kTicksWanted = 6, kOperatorTicksWanted = 10;

/// One digit after the decimal point, or none if it is zero, because charts contain very many
/// coordinates.
std::string coordinate(double value) {
  const auto tenths = static_cast<long long>(std::llround(value * 10));
  return tenths % 10 == 0 ? fmt::format("{}", tenths / 10)
                          : fmt::format("{}.{}", tenths / 10, std::abs(tenths % 10));
}

/// 1, 2 or 5 times a power of ten, for about `wanted` ticks in `range`.
double tick_step(double range, int wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string number(double value) {
  std::string text = fmt::format("{:.10g}", value);
  const std::size_t point = std::min(text.find('.'), text.size());
  for (std::size_t at = point; at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

/// A table of names. New names are added.
class Names {
 public:
  std::size_t position(const std::string& name) {
    const auto [found, fresh] = positions_.try_emplace(name, names_.size());
    if (fresh) names_.push_back(name);
    return found->second;
  }
  [[nodiscard]] Json take() { return Json(std::move(names_)); }

 private:
  std::map<std::string, std::size_t> positions_;
  std::vector<std::string> names_;
};

}  // namespace

MemoryChart::MemoryChart(const program::Program& program,
                         const memory::Timeline& timeline,
                         const ByteUnit& unit)
    : program_(program),
      timeline_(timeline),
      unit_(unit),
      buckets_(memory::timeline_buckets(program, timeline, kMostBuckets)) {
  require(!buckets_.empty(), "a chart of a program without operators");
  for (const Layer layer : kLayers) {
    const auto has_bytes = [&](const TimelineBucket& bucket) {
      return bytes_at(bucket, layer) > 0;
    };
    if (std::any_of(buckets_.begin(), buckets_.end(), has_bytes)) layers_.push_back(layer);
  }
  const auto peak = static_cast<double>(std::max<std::int64_t>(timeline.peak_bytes, 1));
  top_bytes_ = static_cast<std::int64_t>(std::ceil(peak * kHeadroom));
}

std::int64_t MemoryChart::bytes_at(const TimelineBucket& bucket, Layer layer) const {
  return layer_bytes(timeline_, bucket.shown, layer);
}

double MemoryChart::x_of(double op) const {
  return kLeft + kPlotWidth * op / static_cast<double>(program_.operators.size());
}

double MemoryChart::y_of(std::int64_t bytes) const {
  return kTop + kPlotHeight * (1 - static_cast<double>(bytes) / static_cast<double>(top_bytes_));
}

/// The outline of one category's band: its upper edge to the right, its lower edge back, in steps.
std::string MemoryChart::area(std::size_t layer) const {
  std::vector<double> lower;
  std::vector<double> upper;
  for (const TimelineBucket& bucket : buckets_) {
    std::int64_t below = 0;
    for (std::size_t i = 0; i < layer; ++i) below += bytes_at(bucket, layers_[i]);
    lower.push_back(y_of(below));
    upper.push_back(y_of(below + bytes_at(bucket, layers_[layer])));
  }
  std::string path = fmt::format("M{} {}", coordinate(kLeft), coordinate(upper.front()));
  std::string last = coordinate(upper.front());
  const auto step = [&](double x, double y) {
    const std::string next = coordinate(y);
    if (next == last) return;
    path += fmt::format("H{}V{}", coordinate(x), next);
    last = next;
  };
  for (std::size_t i = 1; i < buckets_.size(); ++i) step(x_of(buckets_[i].first), upper[i]);
  path += fmt::format("H{}V{}", coordinate(kLeft + kPlotWidth), coordinate(lower.back()));
  last = coordinate(lower.back());
  for (std::size_t i = buckets_.size() - 1; i-- > 0;) step(x_of(buckets_[i].end), lower[i]);
  return path + fmt::format("H{}Z", coordinate(kLeft));
}

std::string MemoryChart::axes() const {
  std::string text = "<g id=\"y-axis\" class=\"axis\">";
  const double top = static_cast<double>(top_bytes_) / static_cast<double>(unit_.bytes);
  const double step = tick_step(top, kTicksWanted);
  for (int i = 0; i * step <= top; ++i) {
    const std::string y = coordinate(kTop + kPlotHeight * (1 - i * step / top));
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/><text x=\"{3}\" y=\"{2}\" dy=\"4\" "
        "text-anchor=\"end\">{4}</text>",
        kLeft,
        kLeft + kPlotWidth,
        y,
        kLeft - 8,
        number(i * step));
  }
  text += "</g><g id=\"x-axis\" class=\"axis\">";
  const auto operators = static_cast<double>(program_.operators.size());
  const double wide = std::max(1.0, tick_step(operators, kOperatorTicksWanted));
  for (int i = 0; i * wide <= operators; ++i) {
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                        coordinate(x_of(i * wide)),
                        kTop + kPlotHeight + 18,
                        number(i * wide));
  }
  text += fmt::format(
      "</g><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">operator calls, in order</text><text "
      "x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
      kLeft + kPlotWidth / 2,
      kTop + kPlotHeight + 38,
      kLeft - 8,
      kTop - 14,
      unit_.name);
  return text + phases();
}

std::string MemoryChart::phases() const {
  const auto operators = static_cast<double>(program_.operators.size());
  const double backward = memory::first_backward(program_);
  const auto phase = [&](double from, double to, program::Phase which) {
    return fmt::format(
        "<text id=\"{0}\" class=\"phase\" x=\"{1}\" y=\"{2}\" text-anchor=\"middle\"{3}>{0}"
        "</text>",
        program::label_of(which),
        coordinate((x_of(from) + x_of(to)) / 2),
        kTop - 14,
        to > from ? "" : " visibility=\"hidden\"");
  };
  return phase(0, backward, program::Phase::kForward) +
         phase(backward, operators, program::Phase::kBackward) +
         fmt::format("<line id=\"boundary\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"{3}/>",
                     coordinate(x_of(backward)),
                     kTop - 26,
                     kTop + kPlotHeight,
                     backward > 0 && backward < operators ? "" : " visibility=\"hidden\"");
}

std::string MemoryChart::peak() const {
  const auto at = std::find_if(buckets_.begin(), buckets_.end(), [&](const TimelineBucket& bucket) {
    return bucket.shown == timeline_.peak_operator;
  });
  // That of the optimizer's update comes after the last operator.
  const bool in_update = timeline_.peak_operator < 0;
  require(in_update || at != buckets_.end(), "the peak is in no bucket");
  const double x = in_update ? kLeft + kPlotWidth : (x_of(at->first) + x_of(at->end)) / 2;
  const double y = y_of(timeline_.peak_bytes);
  const bool right_half = x > kLeft + kPlotWidth / 2;
  return fmt::format(
      "<g id=\"peak\"><line x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/><circle cx=\"{0}\" "
      "cy=\"{1}\" r=\"4\"/><text x=\"{3}\" y=\"{4}\" text-anchor=\"{5}\">peak {6} {7}</text></g>",
      coordinate(x),
      coordinate(y),
      kTop + kPlotHeight,
      coordinate(right_half ? x - 9 : x + 9),
      coordinate(y - 6),
      right_half ? "end" : "start",
      in_unit(timeline_.peak_bytes, unit_),
      unit_.name);
}

std::string MemoryChart::svg() const {
  std::string text = fmt::format(
      "<svg id=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" tabindex=\"0\" "
      "aria-label=\"Memory by category over the operators of one training step, at most {} {}\">",
      kWidth,
      kHeight,
      in_unit(timeline_.peak_bytes, unit_),
      unit_.name);
  text += fmt::format(
      "<clipPath id=\"plot\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>"
      "<g id=\"areas\" clip-path=\"url(#plot)\">",
      kLeft,
      kTop,
      kPlotWidth,
      kPlotHeight);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    text += fmt::format("<path class=\"c-{}\" d=\"{}\"><title>{}</title></path>",
                        layer_key(layers_[layer]),
                        area(layer),
                        layer_label(layers_[layer]));
  }
  text += "</g>" + axes() + peak();
  return text + fmt::format(
                    "<line id=\"cursor\" y1=\"{}\" y2=\"{}\" x1=\"0\" x2=\"0\" "
                    "visibility=\"hidden\"/><rect id=\"selection\" y=\"{}\" height=\"{}\" "
                    "visibility=\"hidden\"/></svg>",
                    kTop,
                    kTop + kPlotHeight,
                    kTop,
                    kPlotHeight);
}

Json MemoryChart::data() const {
  Names names;
  Names modules;
  Json first = Json::array();
  Json shown = Json::array();
  Json name = Json::array();
  Json module = Json::array();
  for (const TimelineBucket& bucket : buckets_) {
    const program::Operator& op = program_.operators[static_cast<std::size_t>(bucket.shown)];
    first.push_back(bucket.first);
    shown.push_back(bucket.shown);
    name.push_back(names.position(shortened(op.name)));
    module.push_back(modules.position(shortened(program::module_label(program_, op))));
  }
  Json categories = Json::array();
  for (const Layer layer : layers_) {
    Json bytes = Json::array();
    for (const TimelineBucket& bucket : buckets_) bytes.push_back(bytes_at(bucket, layer));
    categories.push_back(
        {{"key", layer_key(layer)}, {"label", layer_label(layer)}, {"bytes", std::move(bytes)}});
  }
  return {{"left", kLeft},
          {"top", kTop},
          {"width", kPlotWidth},
          {"height", kPlotHeight},
          {"headroom", kHeadroom},
          {"ticks", kTicksWanted},
          {"operator_ticks", kOperatorTicksWanted},
          {"unit", {{"name", unit_.name}, {"bytes", unit_.bytes}, {"digits", unit_.digits}}},
          {"operators", program_.operators.size()},
          {"backward", memory::first_backward(program_)},
          {"first", std::move(first)},
          {"shown", std::move(shown)},
          {"name", std::move(name)},
          {"module", std::move(module)},
          {"names", names.take()},
          {"modules", modules.take()},
          {"categories", std::move(categories)}};
}

}  // namespace elixir::report
