// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/operator_cost.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "core/units.h"
#include "hardware/rate_dtypes.h"
#include "operators/operator_key.h"
#include "operators/own.h"

namespace elixir::hardware {
namespace {

using program::DType;
using program::Operator;
using program::TensorRef;

constexpr double kNsPerSecond = 1e9;
constexpr std::int64_t kCpuScratchBytesPerThread = 2_MiB;

// Of the matrix products' rate: a call that is slower than this waits for memory, and draws less
// power.
constexpr double kBusyShare = 0.4;

using View = std::tuple<program::StorageId, std::int64_t, std::vector<std::int64_t>>;

/// Calls `visit` for every tensor argument, and for every output whose storage is not an
/// argument's. Visits each view once.
template <class Visit>
void for_each_distinct(const Operator& op, Visit visit) {
  std::set<program::StorageId> read;
  std::set<View> seen;
  program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
    read.insert(tensor.storage);
    if (seen.emplace(tensor.storage, tensor.offset, tensor.sizes).second) visit(tensor);
  });
  program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
    if (read.count(tensor.storage) == 0 &&
        seen.emplace(tensor.storage, tensor.offset, tensor.sizes).second) {
      visit(tensor);
    }
  });
}

/// Calls that read and write element by element, and need no extra memory when all tensors have one
/// dtype.
bool is_pointwise(std::string_view name) {
  static const std::set<std::string_view> kNames = {
      "aten::add",           "aten::add_",
      "aten::addcdiv_",      "aten::addcmul_",
      "aten::bernoulli_",    "aten::clone",
      "aten::copy_",         "aten::div",
      "aten::div_",          "aten::empty",
      "aten::empty_like",    "aten::empty_strided",
      "aten::exp",           "aten::fill_",
      "aten::full",          "aten::full_like",
      "aten::gelu",          "aten::gelu_backward",
      "aten::mul",           "aten::mul_",
      "aten::neg",           "aten::new_zeros",
      "aten::ones",          "aten::ones_like",
      "aten::pow",           "aten::relu",
      "aten::relu_",         "aten::rsqrt",
      "aten::sigmoid",       "aten::sigmoid_backward",
      "aten::silu",          "aten::silu_backward",
      "aten::sqrt",          "aten::sub",
      "aten::sub_",          "aten::tanh",
      "aten::tanh_backward", "aten::threshold_backward",
      "aten::zero_",         "aten::zeros",
      "aten::zeros_like",
  };
  return kNames.count(name) != 0;
}

bool is_matrix_product(std::string_view name) {
  return name == "aten::mm" || name == "aten::addmm" || name == "aten::bmm" ||
         name == "aten::baddbmm" || name == "aten::_grouped_mm";
}

bool one_dtype(const Operator& op) {
  std::set<DType> dtypes;
  const auto collect = [&](const TensorRef& tensor) {
    if (!tensor.wrapped_number) dtypes.insert(tensor.dtype);
  };
  program::for_each_tensor(op.arguments, collect);
  program::for_each_tensor(op.outputs, collect);
  return dtypes.size() <= 1;
}

std::string rate_name(DType dtype) {
  const std::string_view name = kRateDTypes.name_of(dtype);
  return std::string(name.empty() ? kRateDTypes.name_of(DType::kFloat32) : name);
}

/// The rate of `dtype`. If it was not measured, the rate of a dtype with the same width, or any
/// rate.
std::optional<double> rate_of(const std::map<std::string, double>& rates, DType dtype) {
  const DType as_wide = dtype == DType::kFloat16 ? DType::kBFloat16 : dtype;
  for (const DType wanted : {dtype, as_wide, DType::kFloat32}) {
    const auto found = rates.find(rate_name(wanted));
    if (found != rates.end()) return found->second;
  }
  if (rates.empty()) return std::nullopt;
  return rates.begin()->second;
}

DType compute_dtype(const Operator& op) {
  DType dtype = DType::kFloat32;
  bool found = false;
  const auto look = [&](const TensorRef& tensor) {
    if (!found && program::is_floating(tensor.dtype)) {
      dtype = tensor.dtype;
      found = true;
    }
  };
  program::for_each_tensor(op.arguments, look);
  program::for_each_tensor(op.outputs, look);
  return dtype;
}

}  // namespace

OperatorWork work_of(const Operator& op) {
  return {operator_bytes(op), std::max<std::int64_t>(0, op.flops), compute_dtype(op)};
}

namespace {

/// Sizes in documents may have any value, so sums are capped here instead of overflowing.
constexpr std::int64_t kMostOperatorBytes = std::int64_t{1} << 60;

std::int64_t capped_sum(std::int64_t a, std::int64_t b) {
  return std::min(kMostOperatorBytes,
                  std::min(kMostOperatorBytes, a) + std::min(kMostOperatorBytes, b));
}

}  // namespace

std::int64_t operator_bytes(const Operator& op) {
  std::int64_t bytes = 0;
  for_each_distinct(
      op, [&](const TensorRef& tensor) { bytes = capped_sum(bytes, tensor.touched_bytes()); });
  return bytes;
}

std::int64_t workspace_bound(const Operator& op, bool on_cuda, int threads) {
  if (is_pointwise(op.name) && one_dtype(op)) return 0;
  if (on_cuda && is_matrix_product(op.name)) return 0;
  if (operators::is_own(op.name)) return 0;
  std::int64_t bytes = 0;
  for_each_distinct(op, [&](const TensorRef& tensor) {
    const std::int64_t width = std::max<std::int64_t>(4, program::element_bytes(tensor.dtype));
    bytes = capped_sum(bytes, rounded_allocation(tensor.numel() * width));
  });
  return bytes + (on_cuda ? 0 : threads * kCpuScratchBytesPerThread);
}

namespace {

/// None for the plain form: its rate, of one rank, is among the others.
std::optional<AdamForm> form_of(const AdamFormRate& rate) {
  const auto gradient = kRateDTypes.named(rate.gradient);
  const auto moments = kRateDTypes.named(rate.moments);
  if (!gradient || !moments) return std::nullopt;
  const AdamForm form{.gradient = *gradient,
                      .split = rate.master == "split",
                      .moments = *moments,
                      .writes = rate.writes};
  if (form == AdamForm{.gradient = *gradient}) return std::nullopt;
  return form;
}

/// That a pass moves for each parameter.
double adam_bytes(const AdamForm& form) {
  const std::int64_t gradient = program::element_bytes(form.gradient);
  const std::int64_t moments = 2 * program::element_bytes(form.moments);  // read, or written
  if (form.writes == AdamWrites::kMoments) return static_cast<double>(2 * moments + gradient);
  const bool in_fp32 = form.gradient == DType::kFloat32 && !form.split;
  const std::int64_t parameter = in_fp32 ? 0 : 2;              // written
  const std::int64_t master = form.split ? 4 + parameter : 8;  // read and written
  const std::int64_t written = form.writes == AdamWrites::kAll ? moments : 0;
  return static_cast<double>(master + parameter + moments + written + gradient);
}

/// The slowdown with as many GPUs as were measured at once, at most `gpus`.
double slowdown(const HardwareProfile& profile,
                const std::string& work,
                const std::string& beside,
                int gpus = 1) {
  const Contention* best = nullptr;
  for (const Contention& cell : profile.contention) {
    if (cell.work != work || cell.beside != beside || cell.gpus > gpus) continue;
    if (best == nullptr || cell.gpus > best->gpus) best = &cell;
  }
  return best == nullptr ? 1 : std::max(1.0, best->slowdown.median);
}

/// In documents that lack passes that write a part, the whole pass stands for them.
std::string contending_adam(const HardwareProfile& profile, AdamWrites writes) {
  const std::string_view name = kContendingAdam.name_of(writes);
  const bool known = std::any_of(profile.contention.begin(),
                                 profile.contention.end(),
                                 [&](const Contention& cell) { return cell.work == name; });
  return std::string(known ? name : kContendingAdam.name_of(AdamWrites::kAll));
}

HostContention host_contention_of(const HardwareProfile& profile, AdamWrites writes, int gpus) {
  const std::string adam = contending_adam(profile, writes);
  const auto beside =
      [&](const std::string& work, const std::string& first, const std::string& second) {
        HostContention::Beside found{.first = slowdown(profile, work, first, gpus),
                                     .second = slowdown(profile, work, second, gpus)};
        const std::string both = fmt::format("{}+{}", first, second);
        // Older documents lack it.
        found.both = std::max({slowdown(profile, work, both, gpus), found.first, found.second});
        return found;
      };
  return {.to_device = beside("host_to_device", "device_to_host", adam),
          .to_host = beside("device_to_host", "host_to_device", adam),
          .cpu = beside(adam, "host_to_device", "device_to_host")};
}

GpuContention gpu_contention_of(const HardwareProfile& profile, bool copies) {
  const auto pair = [&](const char* other) {
    return GpuContention::Pair{.compute = slowdown(profile, "matmul", other),
                               .other = slowdown(profile, other, "matmul")};
  };
  return {.collective = pair(copies ? "peer_copy" : "all_gather"),
          .nccl = pair("all_gather"),
          .sums = pair("rank_sum"),
          .compute_beside_to_device = slowdown(profile, "matmul", "host_to_device"),
          .compute_beside_to_host = slowdown(profile, "matmul", "device_to_host")};
}

}  // namespace

int ranks_on_one_host(const HardwareProfile& profile, const Ranks& ranks) {
  // Without GPUs the ranks share the cores that there are.
  if (profile.device_kind == program::DeviceKind::kCpu) return ranks.per_node;
  const int gpus = std::max(1, static_cast<int>(profile.gpus.size()));
  return std::min(gpus, ranks.per_node);
}

CostModel::CostModel(const HardwareProfile& profile, const Ranks& ranks)
    : name_(profile.name),
      device_kind_(profile.device_kind),
      threads_(std::max(1, profile.machine.threads)),
      collectives_(profile, ranks),
      host_share_(1.0 / ranks_on_one_host(profile, ranks)) {
  const auto link = [&](const std::vector<LinkRate>& rates) -> std::optional<LinkLine> {
    std::optional<LinkLine> line;
    int most = 0;
    for (const LinkRate& rate : rates) {
      if (rate.gpus > ranks.per_node || rate.gpus <= most) continue;
      most = rate.gpus;
      line = LinkLine{rate.bytes_per_s.median / most, rate.latency_ns.median};
    }
    return line;
  };
  for (const auto& pass : kContendingAdam.entries) {
    host_contentions_[static_cast<std::size_t>(pass.value)] =
        host_contention_of(profile, pass.value, ranks.per_node);
  }
  gpu_contention_ = gpu_contention_of(profile, collectives_.copies());
  sustained_clock_ = SustainedClock(profile.sustained);
  host_to_device_ = link(profile.links.host_to_device);
  device_to_host_ = link(profile.links.device_to_host);
  if (profile.device_copy_bytes_per_s) {
    device_copy_bytes_per_s_ = profile.device_copy_bytes_per_s->median;
  }
  if (profile.host_copy_bytes_per_s) {
    host_copy_bytes_per_s_ = profile.host_copy_bytes_per_s->median;
  }
  if (profile.launch_ns) launch_ns_ = profile.launch_ns->median;
  const auto keep = [](std::map<std::string, double>& rates, const std::vector<AdamRate>& from) {
    for (const AdamRate& rate : from) {
      if (rate.ranks == 1) rates[rate.dtype] = rate.params_per_s.median;
    }
  };
  keep(adam_gpu_params_per_s_, profile.adam_gpu);
  std::map<std::string, double> of_one, together;  // the second over the first
  keep(of_one, profile.adam_cpu);
  int most_ranks = 1;
  for (const AdamRate& rate : profile.adam_cpu) {
    const auto one = of_one.find(rate.dtype);
    if (rate.ranks < most_ranks || rate.ranks > ranks.per_node || one == of_one.end()) continue;
    if (std::exchange(most_ranks, rate.ranks) < rate.ranks) together.clear();
    together[rate.dtype] = rate.params_per_s.median / one->second;
  }
  for (const auto& [dtype, rate] : of_one) {
    const auto factor = together.find(dtype);
    adam_cpu_params_per_s_[dtype] = factor == together.end() ? rate : rate * factor->second;
  }
  // The most ranks, then the largest pass: smaller ones may fit a cache.
  using RanksAndSize = std::pair<int, std::int64_t>;
  std::map<AdamForm, RanksAndSize> cpu_best, gpu_best;
  for (const AdamFormRate& rate : profile.adam_forms) {
    const auto form = form_of(rate);
    if (!form || (rate.ranks > 1 && rate.ranks != most_ranks)) continue;
    const bool on_cpu = rate.device == "cpu";
    RanksAndSize& best = (on_cpu ? cpu_best : gpu_best)[*form];
    const RanksAndSize it(rate.ranks, rate.parameters);
    if (it <= best) continue;
    best = it;
    const bool of_one_rank = on_cpu && rate.ranks == 1;
    const double factor = of_one_rank ? rate_of(together, form->gradient).value_or(1) : 1;
    (on_cpu ? adam_cpu_forms_ : adam_gpu_forms_)[*form] = rate.params_per_s.median * factor;
  }
  for (const ComputeRate& rate : profile.compute) {
    matmul_flop_per_s_[rate.dtype] = rate.matmul_flop_per_s.median;
  }
  for (const OperatorTime& time : profile.operators) {
    // One sample that other programs disturbed is no measurement.
    if (time.time_ns.disturbed && time.time_ns.samples < 2) continue;
    // On the CPU the measured time is that of the whole call. On a GPU it is that of the kernels,
    // and the host needs at least one launch time per call.
    const double host_ns = time.host_ns ? time.host_ns->median : launch_ns_;
    const double ns = device_kind_ == program::DeviceKind::kCuda
                          ? std::max(time.time_ns.median, host_ns)
                          : time.time_ns.median;
    measured_[time.key] = {
        ns, time.time_ns.median, time.workspace_bytes, OperatorCost::Source::kMeasured};
    table_.add(time);
  }
  if (device_copy_bytes_per_s_ && !matmul_flop_per_s_.empty()) {
    table_.fit([this](const OperatorWork& work) { return roofline_ns(work); });
  }
}

OperatorCost CostModel::cost(const Operator& op) const {
  OperatorCost cost = known_or_estimated(op);
  if (device_kind_ == program::DeviceKind::kCpu) {
    cost.time_ns /= host_share_;
    cost.kernel_ns /= host_share_;
  }
  if (op.flops > 0 && device_kind_ == program::DeviceKind::kCuda) {
    const auto rate = rate_of(matmul_flop_per_s_, compute_dtype(op));
    const double least_ns = rate ? static_cast<double>(op.flops) / *rate * kNsPerSecond : 0;
    if (least_ns >= kBusyShare * cost.kernel_ns) cost.product_ns = cost.kernel_ns;
  }
  return cost;
}

OperatorCost CostModel::known_or_estimated(const Operator& op) const {
  // Without a kernel there is nothing to measure: the copy is a task of its own.
  if (operators::movement_of(op.name) != operators::Movement::kNone) {
    return {.source = OperatorCost::Source::kMeasured};
  }
  if (measured_.empty()) return estimated(op, {});
  const std::string key = operators::operator_key(op);
  const auto found = measured_.find(key);
  return found != measured_.end() ? found->second : estimated(op, key);
}

OperatorCost CostModel::estimated(const Operator& op, const std::string& key) const {
  const OperatorWork work = work_of(op);
  const auto prior = [this](const OperatorWork& of) { return roofline_ns(of); };
  const bool on_cuda = device_kind_ == program::DeviceKind::kCuda;
  const OperatorTable::Estimate estimate = table_.estimate(key, work, prior);
  return {on_cuda ? std::max(estimate.time_ns, launch_ns_) : estimate.time_ns,
          estimate.time_ns,
          workspace_bound(op, on_cuda, threads_),
          estimate.interpolated ? OperatorCost::Source::kInterpolated
                                : OperatorCost::Source::kRoofline};
}

double CostModel::roofline_ns(const OperatorWork& work) const {
  const double bandwidth = need(device_copy_bytes_per_s_, "device-copy");
  double ns = static_cast<double>(work.touched_bytes) / bandwidth * kNsPerSecond;
  if (work.flops > 0) {
    const double rate = need(rate_of(matmul_flop_per_s_, work.dtype), "matmul");
    ns = std::max(ns, static_cast<double>(work.flops) / rate * kNsPerSecond);
  }
  return device_kind_ == program::DeviceKind::kCuda ? ns : ns + launch_ns_;
}

double CostModel::host_to_device_ns(std::int64_t bytes) const {
  return link_ns(host_to_device_, "host-to-device", bytes);
}
double CostModel::device_to_host_ns(std::int64_t bytes) const {
  return link_ns(device_to_host_, "device-to-host", bytes);
}
double CostModel::link_ns(const std::optional<LinkLine>& link,
                          const char* what,
                          std::int64_t bytes) const {
  if (bytes == 0) return 0;
  if (!link) missing(what);
  const bool on_cpu = device_kind_ == program::DeviceKind::kCpu;  // a copy by the cores
  const double bytes_per_s = link->bytes_per_s * (on_cpu ? host_share_ : 1);
  return link->latency_ns + static_cast<double>(bytes) / bytes_per_s * kNsPerSecond;
}

double CostModel::device_copy_ns(std::int64_t bytes) const {
  if (bytes == 0) return 0;
  const double rate = need(device_copy_bytes_per_s_, "device-copy");
  return launch_ns_ + 2.0 * static_cast<double>(bytes) / rate * kNsPerSecond;
}
double CostModel::all_gather_ns(std::int64_t bytes) const {
  if (device_kind_ == program::DeviceKind::kCpu) return host_copy_ns(bytes);
  need_collectives();
  return collectives_.all_gather_ns(bytes);
}
double CostModel::all_to_all_ns(std::int64_t bytes) const {
  if (device_kind_ == program::DeviceKind::kCpu) return host_copy_ns(bytes);
  need_collectives();
  return collectives_.all_to_all_ns(bytes);
}
double CostModel::reduce_scatter_ns(std::int64_t bytes) const {
  if (device_kind_ == program::DeviceKind::kCpu) return host_copy_ns(bytes);
  need_collectives();
  return collectives_.reduce_scatter_ns(bytes);
}
double CostModel::share_parts_ns(std::int64_t bytes) const {
  if (device_kind_ == program::DeviceKind::kCpu) return host_copy_ns(bytes);
  need_collectives();
  return collectives_.share_parts_ns(bytes);
}
double CostModel::broadcast_ns(std::int64_t bytes) const {
  if (device_kind_ == program::DeviceKind::kCpu) return host_copy_ns(bytes);
  need_collectives();
  return collectives_.broadcast_ns(bytes);
}
double CostModel::host_copy_ns(std::int64_t bytes) const {
  if (bytes == 0) return 0;
  const double rate = host_share_ * need(host_copy_bytes_per_s_, "host-copy");
  return 2.0 * static_cast<double>(bytes) / rate * kNsPerSecond;
}
double CostModel::adam_cpu_ns(std::int64_t elements, const AdamForm& form) const {
  if (elements == 0) return 0;
  const double rate = host_share_ * adam_rate(form, /*on_cpu=*/true);
  return static_cast<double>(elements) / rate * kNsPerSecond;
}
double CostModel::adam_gpu_ns(std::int64_t elements, const AdamForm& form) const {
  // The CPU device's compute stream runs on the same cores as the host's AdamW.
  if (device_kind_ == program::DeviceKind::kCpu) return adam_cpu_ns(elements, form);
  if (elements == 0) return 0;
  return launch_ns_ +
         static_cast<double>(elements) / adam_rate(form, /*on_cpu=*/false) * kNsPerSecond;
}

double CostModel::adam_rate(const AdamForm& form, bool on_cpu) const {
  const std::map<AdamForm, double>& forms = on_cpu ? adam_cpu_forms_ : adam_gpu_forms_;
  if (const auto found = forms.find(form); found != forms.end()) return found->second;
  if (form.writes == AdamWrites::kMoments && form.split) {  // does not touch the master
    AdamForm separate = form;
    separate.split = false;
    if (const auto found = forms.find(separate); found != forms.end()) return found->second;
  }
  if (form.writes != AdamWrites::kAll) {
    AdamForm all = form;
    all.writes = AdamWrites::kAll;
    return adam_rate(all, on_cpu) * adam_bytes(all) / adam_bytes(form);
  }
  const auto& plain = on_cpu ? adam_cpu_params_per_s_ : adam_gpu_params_per_s_;
  const double rate = need(rate_of(plain, form.gradient), on_cpu ? "adam-cpu" : "adam-gpu");
  return rate * adam_bytes({.gradient = form.gradient}) / adam_bytes(form);
}

void CostModel::need_collectives() const {
  if (collectives_.known()) return;
  throw Error(ErrorCode::kJsonMissingKey,
              "hardware profile `{}` lacks the measurement collectives, which takes several GPUs",
              name_)
      .help("on a machine with several: elixir-bench --only collectives --into FILE")
      .help("or plan for one that was measured: --hardware h200-x2");
}

double CostModel::need(std::optional<double> figure, const char* measurement) const {
  if (!figure) missing(measurement);
  return *figure;
}

void CostModel::missing(const char* measurement) const {
  throw Error(ErrorCode::kJsonMissingKey,
              "hardware profile `{}` lacks the measurement {}",
              name_,
              measurement)
      .help("measure it: elixir-bench --only {} --into FILE", measurement);
}

}  // namespace elixir::hardware
