// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Runs the opcodes of protocol 2 that LibTorch's pickler writes, on values without content. A
// pickle that the unpickler itself would refuse may pass. One that would crash it, or need
// excessive resources for its size, does not pass.
#include "capture/archive/pickle_check.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "capture/archive/pickle_values.h"

namespace elixir::capture {
namespace {

using Kind = PickledValue::Kind;

constexpr std::size_t kMostValues = std::size_t{1} << 24;
constexpr std::size_t kMostContainers = std::size_t{1} << 21;  // a dict takes 250 bytes
constexpr std::uint64_t kMostDepth = 1000;
constexpr std::uint64_t kMostVisits = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 60;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kLongestType = 16384;
constexpr int kDeepestType = 64;

struct StorageType {
  std::string_view name;
  std::uint32_t bytes;
};
constexpr std::array<StorageType, 22> kStorageTypes{{
    {"ByteStorage", 1},
    {"CharStorage", 1},
    {"ShortStorage", 2},
    {"IntStorage", 4},
    {"LongStorage", 8},
    {"HalfStorage", 2},
    {"FloatStorage", 4},
    {"DoubleStorage", 8},
    {"ComplexHalfStorage", 4},
    {"ComplexFloatStorage", 8},
    {"ComplexDoubleStorage", 16},
    {"BoolStorage", 1},
    {"BFloat16Storage", 2},
    {"UInt16Storage", 2},
    {"UInt32Storage", 4},
    {"UInt64Storage", 8},
    {"Float8_e5m2Storage", 1},
    {"Float8_e4m3fnStorage", 1},
    {"Float8_e5m2fnuzStorage", 1},
    {"Float8_e4m3fnuzStorage", 1},
    {"Float8_e8m0fnuStorage", 1},
    {"UntypedStorage", 1},
}};

/// Thrown and caught only in this file.
struct Refusal {
  std::string problem;
};

[[noreturn]] void refuse(std::string problem) {
  throw Refusal{std::move(problem)};
}

/// Limits names of types, because LibTorch's parser for them recurses.
void check_type_text(std::string_view text) {
  if (text.size() > kLongestType) refuse("the name of a type is too long");
  int depth = 0;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') refuse("the name of a type holds control characters");
    if (c == '[' || c == '(' || c == '{') ++depth;
    if (c == ']' || c == ')' || c == '}') --depth;
    if (depth > kDeepestType) refuse("the name of a type is nested too deeply");
  }
}

class Machine {
 public:
  explicit Machine(std::string_view pickle) : pickle_(pickle), values_(pickle) {}

  PickleCheck run() {
    PickleCheck result;
    try {
      if (pickle_.size() > std::numeric_limits<std::uint32_t>::max()) refuse("it is too large");
      while (step()) {
        if (values_.size() > kMostValues || values_.containers() > kMostContainers) {
          refuse("it holds more values than any model");
        }
      }
    } catch (Refusal& refusal) {
      result.problem = std::move(refusal.problem);
      result.offset = start_;
    }
    result.storages = std::move(storages_);
    return result;
  }

 private:
  // --- bytes ---

  std::uint64_t number(std::size_t bytes) {
    if (pickle_.size() - at_ < bytes) refuse("it ends inside a value");
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i > 0; --i) {
      value = value << 8 | static_cast<unsigned char>(pickle_[at_ + i - 1]);
    }
    at_ += bytes;
    return value;
  }
  std::string_view line() {
    const std::size_t end = pickle_.find('\n', at_);
    if (end == std::string_view::npos) refuse("it ends inside a name");
    const std::string_view text = pickle_.substr(at_, end - at_);
    if (text.size() > kLongestName) refuse("a name is too long");
    check_type_text(text);
    at_ = end + 1;
    return text;
  }

  // --- stack ---

  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickledId pop() {
    if (stack_.size() <= floor()) refuse("it takes a value that is not there");
    const PickledId top = stack_.back();
    stack_.pop_back();
    return top;
  }
  [[nodiscard]] PickledId top() const {
    if (stack_.size() <= floor()) refuse("it takes a value that is not there");
    return stack_.back();
  }
  void push(PickledValue value) { stack_.push_back(values_.add(value)); }
  void push_number(std::int64_t value) { push({.kind = Kind::kNumber, .number = value}); }
  void push_tuple(std::size_t count) {
    if (stack_.size() - floor() < count) refuse("it takes a value that is not there");
    const PickledId made = values_.add_tuple(stack_.data() + stack_.size() - count, count);
    stack_.resize(stack_.size() - count);
    stack_.push_back(made);
  }
  /// Removes the last mark and returns the values after it.
  std::vector<PickledId> pop_to_mark() {
    if (marks_.empty()) refuse("it takes a mark that is not there");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickledId> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }
  void put(std::uint64_t index) {
    // The memo has an entry for each lower index, so the index must be below the size of the
    // pickle.
    if (index >= pickle_.size()) refuse(fmt::format("it numbers a value {}", index));
    if (index >= memo_.size()) memo_.resize(index + 1, kUnset);
    memo_[index] = top();
  }
  void get(std::uint64_t index) {
    if (index >= memo_.size() || memo_[index] == kUnset) {
      refuse(fmt::format("it asks for value {}, which it has not numbered", index));
    }
    stack_.push_back(memo_[index]);
  }
  void join_all(PickledId whole, const std::vector<PickledId>& parts) {
    for (const PickledId part : parts) values_.join(whole, part);
  }

  // --- opcodes ---

  /// Returns false after the last opcode.
  bool step() {
    start_ = at_;
    const auto opcode = static_cast<unsigned char>(number(1));
    if (start_ == 0 && opcode != 0x80) refuse("it is not a pickle");
    switch (opcode) {
      case 0x80:
        if (start_ != 0 || number(1) != 2) refuse("it is not a pickle of protocol 2");
        return true;
      case '.':
        finish();
        return false;
      case 'q':
        put(number(1));
        return true;
      case 'r':
        put(number(4));
        return true;
      case 'h':
        get(number(1));
        return true;
      case 'j':
        get(number(4));
        return true;
      default:
        if (!scalar(opcode) && !container(opcode) && !call(opcode)) {
          refuse(fmt::format("opcode 0x{:02x} is unknown", opcode));
        }
        return true;
    }
  }

  bool scalar(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        push({.kind = Kind::kNone});
        return true;
      case 0x88:
      case 0x89:
        push_number(opcode == 0x88 ? 1 : 0);
        return true;
      case 'K':
        push_number(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':
        push_number(static_cast<std::int64_t>(number(2)));
        return true;
      case 'J':
        push_number(static_cast<std::int32_t>(number(4)));
        return true;
      case 0x8a:
        if (number(1) != 8) refuse("a long integer does not have 8 bytes");
        push_number(static_cast<std::int64_t>(number(8)));
        return true;
      case 'G':
        number(8);
        push({.kind = Kind::kFloat});
        return true;
      case 'X': {
        const std::uint64_t length = number(4);
        if (pickle_.size() - at_ < length) refuse(fmt::format("a text claims {} bytes", length));
        push({.kind = Kind::kText,
              .begin = static_cast<std::uint32_t>(at_),
              .count = static_cast<std::uint32_t>(length)});
        at_ += length;
        return true;
      }
      default:
        return false;
    }
  }

  bool container(unsigned char opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ']':
        push({.kind = Kind::kList});
        return true;
      case '}':
        push({.kind = Kind::kDict});
        return true;
      case ')':
        push_tuple(0);
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push_tuple(static_cast<std::size_t>(opcode - 0x84));
        return true;
      case 't': {
        const std::vector<PickledId> parts = pop_to_mark();
        stack_.push_back(values_.add_tuple(parts.data(), parts.size()));
        return true;
      }
      case 'e':
      case 'l': {
        const std::vector<PickledId> parts = pop_to_mark();
        if (opcode == 'l') push({.kind = Kind::kList});
        if (!values_.is(top(), Kind::kList)) refuse("it appends to something that is not a list");
        join_all(top(), parts);
        return true;
      }
      case 'u':
      case 'd': {
        const std::vector<PickledId> parts = pop_to_mark();
        if (opcode == 'd') push({.kind = Kind::kDict});
        if (parts.size() % 2 != 0) refuse("a key is without value");
        if (!values_.is(top(), Kind::kDict))
          refuse("it sets items of something that is not a dict");
        join_all(top(), parts);
        return true;
      }
      case 's': {
        const PickledId value = pop();
        const PickledId key = pop();
        if (!values_.is(top(), Kind::kDict))
          refuse("it sets an item of something that is not a dict");
        join_all(top(), {key, value});
        return true;
      }
      default:
        return false;
    }
  }

  bool call(unsigned char opcode) {
    switch (opcode) {
      case 'c':
        global();
        return true;
      case 0x81:  // the global below stays, because BUILD calls it
        if (!values_.is(pop(), Kind::kTuple) || !values_.is(top(), Kind::kGlobal)) {
          refuse("it makes an object of something that is not a class");
        }
        return true;
      case 'R':
      case 'b': {
        const PickledId argument = pop();
        const PickledId function = pop();
        if (!values_.is(function, Kind::kGlobal))
          refuse("it calls something that is not a function");
        stack_.push_back(result_of(values_.text(function), argument));
        return true;
      }
      case 'Q':
        storage(pop());
        return true;
      default:
        return false;
    }
  }

  void global() {
    const std::size_t begin = at_;
    const std::string_view module = line();
    const std::string_view name = line();
    // The unpickler trusts these, and no model that can be captured needs them.
    if (module == "__main__" || module == "torch._tensor" || module == "torch.distributed.rpc" ||
        (module == "torch._utils" && name != "_rebuild_tensor_v2")) {
      refuse(fmt::format("it needs {}.{}, which Elixir does not read", module, name));
    }
    push({.kind = Kind::kGlobal,
          .begin = static_cast<std::uint32_t>(begin),
          .count = static_cast<std::uint32_t>(at_ - begin)});
  }

  [[nodiscard]] PickledId argument_at(PickledId tuple, std::size_t position) const {
    if (!values_.is(tuple, Kind::kTuple) || position >= values_.at(tuple).count) {
      refuse("a function lacks an argument");
    }
    return values_.part(tuple, position);
  }

  PickledId result_of(std::string_view function, PickledId argument) {
    if (function == "torch._utils\n_rebuild_tensor_v2\n") {
      tensor(argument);
      return values_.add({.kind = Kind::kOther});
    }
    if (function == "torch.jit._pickle\nrestore_type_tag\n") {
      const PickledId type = argument_at(argument, 1);
      if (!values_.is(type, Kind::kText)) refuse("the name of a type is not a text");
      check_type_text(values_.text(type));
      return argument_at(argument, 0);
    }
    if (function.substr(0, 18) == "torch.jit._pickle\n") return argument_at(argument, 0);
    if (function == "collections\nOrderedDict\n") return values_.add({.kind = Kind::kNone});
    if (function.substr(0, 6) == "torch\n" && function != "torch\ndevice\n") {
      refuse("it calls something that is not a function");
    }
    const PickledId made = values_.add({.kind = Kind::kOther});
    values_.join(made, argument);
    return made;
  }

  // --- tensors ---

  void storage(PickledId tuple) {
    const PickledId kind = argument_at(tuple, 0);
    const PickledId type = argument_at(tuple, 1);
    const PickledId key = argument_at(tuple, 2);
    const PickledId device = argument_at(tuple, 3);
    const PickledId elements = argument_at(tuple, 4);
    if (!values_.is(kind, Kind::kText) || values_.text(kind) != "storage" ||
        !values_.is(type, Kind::kGlobal) || !values_.is(key, Kind::kText) ||
        !values_.is(device, Kind::kText) || !values_.is(elements, Kind::kNumber)) {
      refuse("a storage is not described as LibTorch does");
    }
    std::string_view name = values_.text(type);
    if (name.substr(0, 6) != "torch\n") refuse("a storage is of an unknown type");
    name = name.substr(6, name.size() - 7);
    const auto* known = std::find_if(kStorageTypes.begin(),
                                     kStorageTypes.end(),
                                     [&](const StorageType& each) { return each.name == name; });
    if (known == kStorageTypes.end()) {
      refuse(fmt::format("a storage is of type {}, which Elixir does not read", name));
    }
    const std::int64_t count = values_.at(elements).number;
    if (count < 0 || static_cast<std::uint64_t>(count) > kMostTensorBytes / known->bytes) {
      refuse(fmt::format("a storage claims {} elements", count));
    }
    storages_.push_back({.key = std::string(values_.text(key)),
                         .bytes = static_cast<std::uint64_t>(count) * known->bytes});
    push({.kind = Kind::kStorage, .begin = known->bytes, .number = count});
  }

  /// The numbers of a tuple. They must not be negative.
  [[nodiscard]] std::vector<std::uint64_t> counts(PickledId tuple) const {
    if (!values_.is(tuple, Kind::kTuple)) refuse("the sizes of a tensor are not a tuple");
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < values_.at(tuple).count; ++i) {
      const PickledValue& value = values_.at(values_.part(tuple, i));
      if (value.kind != Kind::kNumber || value.number < 0) {
        refuse("a tensor has a negative size or stride, or one that is not a number");
      }
      numbers.push_back(static_cast<std::uint64_t>(value.number));
    }
    return numbers;
  }

  void tensor(PickledId arguments) const {
    const PickledId storage = argument_at(arguments, 0);
    const PickledId offset = argument_at(arguments, 1);
    if (!values_.is(storage, Kind::kStorage) || !values_.is(offset, Kind::kNumber) ||
        values_.at(offset).number < 0) {
      refuse("a tensor is without storage, or begins before it");
    }
    const std::vector<std::uint64_t> sizes = counts(argument_at(arguments, 2));
    const std::vector<std::uint64_t> strides = counts(argument_at(arguments, 3));
    static_cast<void>(argument_at(arguments, 5));
    if (sizes.size() != strides.size()) refuse("a tensor has more sizes than strides, or fewer");
    std::uint64_t bytes = values_.at(storage).begin;
    std::uint64_t last = static_cast<std::uint64_t>(values_.at(offset).number);
    bool empty = false;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      empty = empty || sizes[i] == 0;
      const std::uint64_t steps = sizes[i] == 0 ? 0 : sizes[i] - 1;
      std::uint64_t reach = 0;
      if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(1, sizes[i]), &bytes) ||
          bytes > kMostTensorBytes || __builtin_mul_overflow(steps, strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        refuse("a tensor is larger than any memory");
      }
    }
    if (!empty && last >= static_cast<std::uint64_t>(values_.at(storage).number)) {
      refuse("a tensor reaches beyond its storage");
    }
  }

  // --- end ---

  void finish() {
    if (stack_.size() != 1 || !marks_.empty()) refuse("it does not end with one value");
    const PickledValues::Extent extent = values_.extent_of(stack_.front());
    if (extent.cyclic) refuse("a value holds itself");
    if (extent.depth > kMostDepth) {
      refuse(fmt::format("its values are nested {} deep; at most {}", extent.depth, kMostDepth));
    }
    if (extent.visits > std::max<std::uint64_t>(kMostVisits, 2 * pickle_.size())) {
      refuse("it repeats its values too often");
    }
  }

  static constexpr PickledId kUnset = std::numeric_limits<PickledId>::max();

  std::string_view pickle_;
  std::size_t at_ = 0, start_ = 0;
  PickledValues values_;
  std::vector<PickledId> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickledId> memo_;
  std::vector<PickledStorage> storages_;
};

}  // namespace

PickleCheck check_pickle(std::string_view pickle) {
  return Machine(pickle).run();
}

}  // namespace elixir::capture
