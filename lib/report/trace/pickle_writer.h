// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes Python's pickle format, protocol 2, for documents of dictionaries, lists and scalars. It
// uses only the opcodes that PyTorch's memory viewer knows, because that reads pickles in
// JavaScript. A string is written once and then referred to. Other values can be, too (`remember`).
//
//   PickleWriter pickle(sink);
//   pickle.begin_dict();
//   pickle.text("sizes");                            // keys and values in turn
//   pickle.begin_list();
//   pickle.integer(3);
//   pickle.end_list();
//   pickle.end_dict();
//   pickle.finish();

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/files.h"

namespace elixir::report {

class PickleWriter {
 public:
  explicit PickleWriter(const Sink& sink);

  void begin_list();
  void end_list();
  /// Begins a dict. Write keys and values in turn.
  void begin_dict();
  void end_dict();

  void none();
  void boolean(bool value);
  void integer(std::int64_t value);
  void real(double value);
  /// Bytes that are not UTF-8 become U+FFFD, because Python refuses them.
  void text(std::string_view value);

  /// Remembers the value just written (after its end_…); `again` writes it again. In Python both
  /// are one object.
  [[nodiscard]] std::uint32_t remember();
  void again(std::uint32_t name);

  /// Ends the document. Exactly one value must have been written.
  void finish();

 private:
  struct Container {
    bool dict = false;
    std::int64_t values = 0;
  };
  void begin_value();
  void end_container(bool dict);
  void opcode(char code) { pending_ += code; }
  void little_endian(std::uint64_t value, int bytes);
  void flush();

  const Sink& sink_;
  std::string pending_;
  std::vector<Container> open_;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::uint32_t names_ = 0;
  bool has_value_ = false, finished_ = false;
};

}  // namespace elixir::report
