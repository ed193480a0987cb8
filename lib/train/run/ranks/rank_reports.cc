// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_reports.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::train {
namespace {

/// All ranks run the same binary. Longer texts are cut.
struct ReportOnWire {
  std::int64_t bytes = 0;
  std::int32_t code = 0;  ///< of the error; 0: there is none
  std::array<char, 65> digest{};
  std::array<char, 256> host{};
  std::array<char, 4096> file{};
  std::array<char, 4096> message{};
};

template <std::size_t kBytes>
void put(std::array<char, kBytes>& to, std::string_view text) {
  std::memcpy(to.data(), text.data(), std::min(text.size(), kBytes - 1));
}

void put_error(ReportOnWire& report, const ErrorInfo& error) {
  report.code = static_cast<std::int32_t>(error.code);
  put(report.message, error.message);
  if (error.where) put(report.file, error.where->file);
}

void throw_of_another(const std::vector<ReportOnWire>& all, const std::string& help) {
  const auto failed = std::find_if(
      all.begin(), all.end(), [](const ReportOnWire& report) { return report.code != 0; });
  if (failed == all.end()) return;
  ErrorInfo info;
  info.code = static_cast<ErrorCode>(failed->code);
  info.message = fmt::format("rank {} of {} on {}: {}",
                             failed - all.begin(),
                             all.size(),
                             failed->host.data(),
                             failed->message.data());
  if (failed->file[0] != '\0') {
    info.where = SourcePos{failed->file.data(), "", std::nullopt, std::nullopt};
  }
  info.help = {help};
  throw Error(std::move(info));
}

}  // namespace

std::vector<RankReport> work_together(runtime::Communicator& control,
                                      const std::function<RankReport()>& work,
                                      const std::string& help) {
  ReportOnWire own;
  put(own.host, runtime::host_name());
  std::optional<Error> failure;
  try {
    const RankReport report = work();
    own.bytes = report.bytes;
    put(own.digest, report.digest);
  } catch (const Error& error) {
    put_error(own, error.info());
    failure = error;
  }
  std::vector<ReportOnWire> all(static_cast<std::size_t>(control.world()));
  control.all_gather(all.data(), &own, sizeof own);
  if (failure) throw Error(*failure);
  if (control.rank() == 0) throw_of_another(all, help);
  std::vector<RankReport> reports;
  reports.reserve(all.size());
  for (const ReportOnWire& report : all) {
    reports.push_back({report.host.data(), report.bytes, report.digest.data()});
  }
  return reports;
}

}  // namespace elixir::train
