// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/rank_reports.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/error_code.h"
#include "runtime/ranks/communicator_messages.h"
#include "runtime/ranks/tcp_socket.h"

namespace elixir::train {
namespace {

constexpr std::size_t kMostDigest = 64, kMostName = 255, kMostPath = 4096, kMostText = 4096;

void throw_of_another(const std::vector<RankReport>& all, const std::string& help) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const RankReport& report = all[rank];
    if (!report.failure) continue;
    ErrorInfo info;
    info.code = *report.failure;
    info.message =
        fmt::format("rank {} of {} on {}: {}", rank, all.size(), report.host, report.message);
    if (!report.file.empty()) info.where = SourcePos{report.file, "", std::nullopt, std::nullopt};
    info.help = {help};
    throw Error(std::move(info));
  }
}

}  // namespace

std::string encode(const RankReport& report) {
  return runtime::MessageWriter()
      .number(report.bytes)
      .number(static_cast<std::int32_t>(report.failure ? static_cast<int>(*report.failure) : 0))
      .text(report.digest, kMostDigest)
      .text(report.host, kMostName)
      .text(report.file, kMostPath)
      .text(report.message, kMostText)
      .take();
}

std::optional<RankReport> decode_report(std::string_view payload) {
  runtime::MessageReader reader(payload);
  RankReport report;
  report.bytes = reader.number<std::int64_t>();
  if (const auto code = reader.number<std::int32_t>(); code != 0) {
    report.failure = error_code_of(code);
    if (!report.failure) reader.wrong();
  }
  report.digest = reader.text(kMostDigest);
  report.host = reader.text(kMostName);
  report.file = reader.text(kMostPath);
  report.message = reader.text(kMostText);
  if (report.bytes < 0) reader.wrong();
  return reader.whole() ? std::optional(std::move(report)) : std::nullopt;
}

std::vector<RankReport> work_together(runtime::Communicator& control,
                                      const std::function<RankReport()>& work,
                                      const std::string& help) {
  RankReport own;
  std::optional<Error> failure;
  try {
    own = work();
  } catch (const Error& error) {
    const ErrorInfo& info = error.info();
    own = {.failure = info.code, .message = info.message};
    if (info.where) own.file = info.where->file;
    failure = error;
  }
  own.host = runtime::host_name();
  const std::vector<std::string> all =
      runtime::gather_messages(control, runtime::MessageType::kReport, encode(own));
  if (failure) throw Error(*failure);
  std::vector<RankReport> reports;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    auto report = decode_report(all[rank]);
    if (!report) runtime::throw_no_rank_sends(control, static_cast<int>(rank));
    reports.push_back(std::move(*report));
  }
  if (control.rank() == 0) throw_of_another(reports, help);
  return reports;
}

}  // namespace elixir::train
