// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/attempts.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::train {
namespace {

/// nullptr: none of them.
const Attempt* attempt_of(const std::vector<Attempt>& attempts, const std::string& id) {
  const auto found = std::find_if(
      attempts.begin(), attempts.end(), [&](const Attempt& each) { return each.id == id; });
  return found == attempts.end() ? nullptr : &*found;
}

}  // namespace

std::string draw_id() {
  std::array<unsigned char, 16> bytes{};
  require(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "the system gives no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Json to_json(const Attempt& attempt) {
  Json record = Json::object();
  record["id"] = attempt.id;
  record["parent"] = nullptr;
  if (attempt.parent) {
    record["parent"] = {{"id", attempt.parent->id}, {"step", attempt.parent->step}};
  }
  return record;
}

Attempt read_attempt(const JsonCursor& record) {
  record.only_keys({"id", "parent"});
  Attempt attempt;
  attempt.id = record.at("id").string();
  if (const auto parent = record.nullable("parent")) {
    parent->only_keys({"id", "step"});
    attempt.parent = {parent->at("id").string(), parent->at("step").non_negative()};
  }
  return attempt;
}

Json to_json(const std::vector<Attempt>& attempts) {
  Json list = Json::array();
  for (const Attempt& each : attempts) list.push_back(to_json(each));
  return list;
}

std::vector<Attempt> read_attempts(const JsonCursor& list) {
  std::vector<Attempt> attempts;
  for (const JsonCursor& item : list.items()) {
    Attempt attempt = read_attempt(item);
    if (attempt_of(attempts, attempt.id) != nullptr) {
      throw item.at("id").error(ErrorCode::kJsonBadValue, "two attempts have this id");
    }
    if (attempt.parent && attempt_of(attempts, attempt.parent->id) == nullptr) {
      throw item.at("parent").error(ErrorCode::kJsonBadValue, "no attempt before has this id");
    }
    attempts.push_back(std::move(attempt));
  }
  return attempts;
}

bool is_on_branch(const std::vector<Attempt>& attempts, const Attempt& attempt, std::int64_t step) {
  if (attempts.empty()) return false;
  const Attempt* each = &attempts.back();
  std::int64_t newest = std::numeric_limits<std::int64_t>::max();
  while (each != nullptr && each->id != attempt.id) {
    if (!each->parent) return false;
    newest = std::min(newest, each->parent->step);
    each = attempt_of(attempts, each->parent->id);
  }
  return each != nullptr && *each == attempt && step <= newest;
}

}  // namespace elixir::train
