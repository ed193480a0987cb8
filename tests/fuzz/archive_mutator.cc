// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "archive_mutator.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <string_view>

#include <caffe2/serialize/inline_container.h>

#include "capture/archive/zip_directory.h"
#include "core/crc32.h"

namespace elixir::fuzz {
namespace {

constexpr const char* kRoot = "m/";

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

/// Writes the fields that a record's header and its directory entry share.
void put_description(std::string& out, const std::string& name, const std::string& content) {
  put(out, 0, 2);  // flags
  put(out, 0, 2);  // stored
  put(out, 0, 4);  // time and date
  put(out, crc32(0, content.data(), content.size()), 4);
  put(out, content.size(), 4);
  put(out, content.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2);  // extra
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// A word of TorchScript, which random bytes hardly ever form.
std::string_view word(std::uint32_t number) {
  constexpr std::string_view kWords[] = {"None",
                                         "True",
                                         "[]",
                                         "()",
                                         "{}",
                                         "-9223372036854775808",
                                         "1e999",
                                         "self",
                                         "self.weight",
                                         "torch.",
                                         "ops.aten.",
                                         "annotate(List[int], [])",
                                         "unchecked_cast(Tensor, ",
                                         "uninitialized(Tensor)",
                                         "CONSTANTS.c0",
                                         "Optional[",
                                         "Tensor",
                                         "int",
                                         "str",
                                         "\n    ",
                                         "\n  if True:\n    pass\n",
                                         "\n  while True:\n    ",
                                         "\nclass A(Module):\n  __parameters__ = []\n",
                                         "\ndef f(self: int) -> Tensor:\n  return self\n",
                                         "lambda x: x",
                                         "fork(",
                                         "@",
                                         "\\",
                                         "\"\"\"",
                                         "*"};
  return kWords[number % std::size(kWords)];
}

}  // namespace

Records read_records(const std::string& file) {
  Records records;
  try {
    std::istringstream stream(file);
    caffe2::serialize::PyTorchStreamReader reader(&stream);
    for (const std::string& name : reader.getAllRecords()) {
      const auto [content, bytes] = reader.getRecord(name);
      records.emplace_back(name, std::string(static_cast<const char*>(content.get()), bytes));
    }
  } catch (const std::exception&) {
    records.clear();
  }
  return records;
}

std::string write_records(const Records& records) {
  std::string out;
  std::string directory;
  for (const auto& [plain, content] : records) {
    const std::string name = kRoot + plain;
    const std::size_t offset = out.size();
    out += "PK\3\4";
    put(out, 20, 2);
    put_description(out, name, content);
    out += name + content;
    directory += "PK\1\2";
    put(directory, 20, 2);
    put(directory, 20, 2);
    put_description(directory, name, content);
    put(directory, 0, 2);  // comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 6);  // attributes
    put(directory, offset, 4);
    directory += name;
  }
  const std::size_t at = out.size();
  out += directory + "PK\5\6";
  put(out, 0, 4);
  put(out, records.size(), 2);
  put(out, records.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);
  return out;
}

void mutate_records(Records& records,
                    std::uint32_t seed,
                    const std::function<void(std::string&)>& mutate) {
  if (records.empty()) return;
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t end) { return random() % end; };
  auto& [name, content] = records[below(records.size())];
  switch (below(12)) {
    case 0:
      mutate(name);
      break;
    case 1:
      content = records[below(records.size())].second;
      break;
    case 2:
      records.erase(records.begin() + static_cast<std::ptrdiff_t>(below(records.size())));
      break;
    case 3:
      records.push_back(records[below(records.size())]);
      break;
    case 4:
      name = records[below(records.size())].first;
      break;
    default: {
      const bool code = ends_with(name, ".py");
      for (std::size_t n = 1 + below(3); n > 0; --n) {
        if (code && below(2) == 0) {
          content.insert(below(content.size() + 1), word(static_cast<std::uint32_t>(random())));
        } else {
          mutate(content);
        }
      }
    }
  }
}

}  // namespace elixir::fuzz
