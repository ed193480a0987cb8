// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/safetensors.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/json.h"
#include "core/units.h"

namespace elixir::train {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little endian");

constexpr std::int64_t kLengthBytes = 8;                   // the header's length, stored before it
constexpr std::int64_t kMaximumHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostValues = 5'000'000;             // eight for each of 600,000 tensors
constexpr std::size_t kWritePieceBytes = std::size_t{8} << 20;

struct FileDType {
  const char* text;
  std::int64_t bytes;
  std::optional<program::DType> dtype;
};

constexpr FileDType kFileDTypes[] = {
    {"F64", 8, program::DType::kFloat64},
    {"F32", 4, program::DType::kFloat32},
    {"F16", 2, program::DType::kFloat16},
    {"BF16", 2, program::DType::kBFloat16},
    {"I64", 8, program::DType::kInt64},
    {"I32", 4, program::DType::kInt32},
    {"I16", 2, program::DType::kInt16},
    {"I8", 1, program::DType::kInt8},
    {"U8", 1, program::DType::kUInt8},
    {"BOOL", 1, program::DType::kBool},
    {"C64", 8, program::DType::kComplex64},
    {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},
    {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt},
    {"F8_E8M0", 1, std::nullopt},
};

const FileDType* file_dtype(const std::string& text) {
  const auto* found = std::find_if(std::begin(kFileDTypes),
                                   std::end(kFileDTypes),
                                   [&](const FileDType& each) { return text == each.text; });
  return found == std::end(kFileDTypes) ? nullptr : found;
}

std::string file_dtype_name(program::DType dtype) {
  for (const FileDType& each : kFileDTypes) {
    if (each.dtype == dtype) return each.text;
  }
  throw Error(
      ErrorCode::kBadSafetensors, "safetensors cannot hold {} tensors", program::name_of(dtype));
}

[[noreturn]] void bad(const std::string& path,
                      std::int64_t byte_offset,
                      const std::string& message,
                      const std::vector<std::string>& help = {}) {
  throw error_at_byte(ErrorCode::kBadSafetensors, path, byte_offset, "{}", message).help(help);
}

/// Turns errors of the JSON reader into errors of this file.
template <class Body>
void in_header(const std::string& path, Body body) {
  try {
    body();
  } catch (const Error& error) {
    ErrorInfo info = error.info();
    if (info.code != ErrorCode::kBadSafetensors) {
      info.code = ErrorCode::kBadSafetensors;
      info.message = "header of the safetensors file: " + info.message;
    }
    if (!info.where) info.where = SourcePos{};
    info.where->file = path;
    info.where->line.reset();
    info.where->byte_offset = kLengthBytes;
    throw Error(std::move(info));
  }
}

/// Reads the JSON text, with the checks that need no JSON.
std::string read_header(const InputFile& file) {
  const std::int64_t file_bytes = file.size_bytes();
  if (file_bytes < kLengthBytes) {
    bad(file.path(),
        0,
        fmt::format("not a safetensors file: {} bytes, but the header's length alone takes 8",
                    file_bytes));
  }
  std::uint64_t header_bytes = 0;
  file.read(0, &header_bytes, sizeof header_bytes);
  const std::int64_t most_bytes = std::min(kMaximumHeaderBytes, file_bytes - kLengthBytes);
  if (header_bytes > static_cast<std::uint64_t>(most_bytes)) {
    bad(file.path(),
        0,
        fmt::format("not a safetensors file, or a truncated one: it announces a header of {} bytes "
                    "and has {} bytes",
                    header_bytes,
                    file_bytes));
  }
  std::string header(header_bytes, '\0');
  file.read(kLengthBytes, header.data(), header.size());
  if (header.empty() || header.front() != '{') {
    bad(file.path(), kLengthBytes, "not a safetensors file: its header does not start with `{`");
  }
  return header;
}

std::vector<std::int64_t> read_shape(const JsonCursor& shape) {
  std::vector<std::int64_t> sizes;
  for (const JsonCursor& size : shape.items()) sizes.push_back(size.non_negative());
  return sizes;
}

/// The bytes of a tensor; 0 if one of its sizes is 0.
std::int64_t bytes_of(const std::vector<std::int64_t>& sizes,
                      std::int64_t element_bytes,
                      const JsonCursor& shape) {
  if (std::count(sizes.begin(), sizes.end(), 0) != 0) return 0;
  std::int64_t bytes = element_bytes;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      throw shape.error(ErrorCode::kBadSafetensors, "shape has too many elements");
    }
  }
  return bytes;
}

/// Reads one member of the header: a tensor's dtype, shape and offsets, which must agree.
SafetensorsEntry read_entry(const std::string& name,
                            const JsonCursor& value,
                            std::int64_t data_begin,
                            std::int64_t file_bytes) {
  value.only_keys({"dtype", "shape", "data_offsets"});
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype_text = value.at("dtype").string();
  const FileDType* type = file_dtype(entry.dtype_text);
  if (type == nullptr) {
    throw value.at("dtype").error(
        ErrorCode::kBadSafetensors, "unknown dtype `{}`", entry.dtype_text);
  }
  entry.dtype = type->dtype;
  entry.sizes = read_shape(value.at("shape"));
  const std::int64_t expected_bytes = bytes_of(entry.sizes, type->bytes, value.at("shape"));
  const JsonCursor place = value.at("data_offsets");
  const auto offsets = place.items();
  if (offsets.size() != 2) throw place.error(ErrorCode::kBadSafetensors, "wants [begin, end]");
  const std::int64_t begin = offsets[0].non_negative();
  const std::int64_t end = offsets[1].non_negative();
  const std::int64_t data_bytes = file_bytes - data_begin;
  if (begin > end || end > data_bytes) {
    throw place.error(ErrorCode::kBadSafetensors,
                      "[{}, {}] is outside the file's {} bytes of data; is the file "
                      "truncated?",
                      begin,
                      end,
                      data_bytes);
  }
  if (end - begin != expected_bytes) {
    throw value.error(ErrorCode::kBadSafetensors,
                      "`{}` has {} bytes of data, its shape and dtype need {}",
                      name,
                      end - begin,
                      expected_bytes);
  }
  entry.offset_bytes = data_begin + begin;
  entry.bytes = end - begin;
  return entry;
}

/// Checks that `entries`, in the order of their data, cover every byte after the header exactly
/// once.
void check_coverage(const std::vector<SafetensorsEntry>& entries,
                    const std::string& path,
                    std::int64_t data_begin,
                    std::int64_t file_bytes) {
  std::int64_t covered = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.offset_bytes != covered) {
      bad(path,
          std::min(entry.offset_bytes, covered),
          fmt::format("data of `{}` {}",
                      entry.name,
                      entry.offset_bytes < covered ? "overlaps another tensor's"
                                                   : "leaves a hole before it"));
    }
    covered += entry.bytes;
  }
  if (covered != file_bytes) {
    bad(path,
        covered,
        fmt::format("{} bytes follow the last tensor and belong to no tensor",
                    file_bytes - covered));
  }
}

}  // namespace

std::shared_ptr<const Safetensors> Safetensors::open(const std::string& path) {
  return open(InputFile::open(path));
}

std::shared_ptr<const Safetensors> Safetensors::open(std::shared_ptr<const InputFile> file) {
  auto result = std::make_shared<Safetensors>();
  result->file_ = std::move(file);
  const std::string& path = result->file_->path();
  std::string header = read_header(*result->file_);
  const std::int64_t data_begin = kLengthBytes + static_cast<std::int64_t>(header.size());
  const std::int64_t file_bytes = result->file_->size_bytes();

  in_header(path, [&] {
    const auto document = JsonDocument::parse(std::move(header), path, {.values = kMostValues});
    for (const auto& [name, value] : document->root().members()) {
      if (name == "__metadata__") {
        for (const auto& entry : value.members()) {
          result->metadata_.emplace(entry.first, entry.second.string());
        }
      } else {
        result->entries_.push_back(read_entry(name, value, data_begin, file_bytes));
      }
    }
  });

  std::stable_sort(result->entries_.begin(),
                   result->entries_.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::pair(a.offset_bytes, a.bytes) < std::pair(b.offset_bytes, b.bytes);
                   });
  check_coverage(result->entries_, path, data_begin, file_bytes);
  for (std::size_t i = 0; i < result->entries_.size(); ++i) {
    result->by_name_.emplace(result->entries_[i].name, i);
  }
  return result;
}

const SafetensorsEntry* Safetensors::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

at::Tensor Safetensors::read(const SafetensorsEntry& entry,
                             const std::vector<std::int64_t>& sizes,
                             std::int64_t skipped_bytes) const {
  if (!entry.dtype) {
    bad(path(),
        entry.offset_bytes,
        fmt::format(
            "`{}` is of dtype {}, which Elixir does not read", entry.name, entry.dtype_text),
        {"convert it to float32, bfloat16 or float16"});
  }
  at::Tensor tensor =
      at::empty(sizes, at::TensorOptions().dtype(capture::scalar_type(*entry.dtype)));
  file_->read(entry.offset_bytes + skipped_bytes, tensor.mutable_data_ptr(), tensor.nbytes());
  return tensor;
}

at::Tensor Safetensors::tensor(const SafetensorsEntry& entry) const {
  return read(entry, entry.sizes, 0);
}

at::Tensor Safetensors::rows(const SafetensorsEntry& entry,
                             std::int64_t first,
                             std::int64_t count) const {
  require(!entry.sizes.empty() && first >= 0 && first + count <= entry.sizes[0],
          "rows beyond a tensor's");
  std::vector<std::int64_t> sizes = entry.sizes;
  sizes[0] = count;
  return read(entry, sizes, entry.sizes[0] == 0 ? 0 : entry.bytes / entry.sizes[0] * first);
}

void Safetensors::read_elements(const SafetensorsEntry& entry,
                                std::int64_t first,
                                const at::Tensor& into) const {
  const auto width = static_cast<std::int64_t>(into.element_size());
  const auto bytes = static_cast<std::int64_t>(into.nbytes());
  require(entry.dtype && into.scalar_type() == capture::scalar_type(*entry.dtype) &&
              into.is_contiguous() && first >= 0 && first * width + bytes <= entry.bytes,
          "elements that a safetensors entry does not have");
  file_->read(entry.offset_bytes + first * width, into.mutable_data_ptr(), into.nbytes());
}

std::function<void(const Sink&)> safetensors_content(
    std::vector<SafetensorsSource> tensors, const std::map<std::string, std::string>& metadata) {
  std::stable_sort(
      tensors.begin(), tensors.end(), [](const SafetensorsSource& a, const SafetensorsSource& b) {
        const auto wide_a = program::element_bytes(a.dtype);
        const auto wide_b = program::element_bytes(b.dtype);
        return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
      });
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t begin = 0;
  for (const SafetensorsSource& tensor : tensors) {
    std::int64_t bytes = program::element_bytes(tensor.dtype);
    for (const std::int64_t size : tensor.sizes) bytes *= size;
    require(!header.contains(tensor.name), "two tensors of one name in a safetensors file");
    header[tensor.name] = {{"dtype", file_dtype_name(tensor.dtype)},
                           {"shape", tensor.sizes},
                           {"data_offsets", {begin, begin + bytes}}};
    begin += bytes;
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append(static_cast<std::size_t>(round_up(std::int64_t(text.size()), 8)) - text.size(), ' ');
  return [text = std::move(text), tensors = std::move(tensors)](const Sink& sink) {
    const std::uint64_t header_bytes = text.size();
    sink({reinterpret_cast<const char*>(&header_bytes), 8});
    sink(text);
    for (const SafetensorsSource& source : tensors) {
      const at::Tensor tensor = source.read().contiguous();
      require(tensor.scalar_type() == capture::scalar_type(source.dtype) &&
                  tensor.sizes() == at::IntArrayRef(source.sizes) && tensor.device().is_cpu(),
              "a tensor differs from what the safetensors header says");
      std::string_view rest{static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
      while (!rest.empty()) {
        const std::string_view piece = rest.substr(0, kWritePieceBytes);
        sink(piece);
        rest.remove_prefix(piece.size());
      }
    }
  };
}

void write_safetensors(const std::string& path,
                       std::vector<SafetensorsSource> tensors,
                       const std::map<std::string, std::string>& metadata,
                       Overwrite overwrite) {
  write_file_streamed(path, overwrite, safetensors_content(std::move(tensors), metadata));
}

}  // namespace elixir::train
