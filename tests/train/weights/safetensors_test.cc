// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/weights/safetensors.h"

#include <cstring>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include "train/support.h"

namespace elixir::train {
namespace {

using test::content_of;
using test::error_of;
using test::TemporaryDirectory;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

std::string valid_file() {
  return file_of(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[1,2],"data_offsets":[8,10]}})",
      std::string(10, '\1'));
}

TEST(Safetensors, GivesBackWhatWasWritten) {
  const TemporaryDirectory directory;
  const at::Tensor floats = at::arange(6, at::TensorOptions().dtype(at::kFloat)).view({2, 3});
  const at::Tensor halves = at::ones({3}, at::TensorOptions().dtype(at::kBFloat16));
  const at::Tensor scalar = at::full({}, 7, at::TensorOptions().dtype(at::kLong));
  const std::string path = directory.file("t.safetensors");
  write_safetensors(path,
                    {{"h", program::DType::kBFloat16, {3}, [&] { return halves; }},
                     {"f", program::DType::kFloat32, {2, 3}, [&] { return floats; }},
                     {"quote\"\\name", program::DType::kInt64, {}, [&] { return scalar; }},
                     {"empty",
                      program::DType::kFloat32,
                      {0, 4},
                      [&] {
                        return at::ones({0, 4}, at::TensorOptions().dtype(at::kFloat));
                      }}},
                    {{"k", "v"}},
                    Overwrite::kRefuse);
  const auto file = Safetensors::open(path);
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_TRUE(at::equal(file->tensor(*file->find("f")), floats));
  EXPECT_TRUE(at::equal(file->tensor(*file->find("h")), halves));
  EXPECT_TRUE(at::equal(file->tensor(*file->find("quote\"\\name")), scalar));
  EXPECT_EQ(file->tensor(*file->find("empty")).sizes(), at::IntArrayRef({0, 4}));
  EXPECT_EQ(file->find("absent"), nullptr);
}

TEST(Safetensors, TransposedTensorsAreWrittenInTheirLogicalOrder) {
  const TemporaryDirectory directory;
  const at::Tensor transposed =
      at::arange(6, at::TensorOptions().dtype(at::kFloat)).view({2, 3}).t();
  const std::string path = directory.file("t.safetensors");
  write_safetensors(path,
                    {{"t", program::DType::kFloat32, {3, 2}, [&] { return transposed; }}},
                    {},
                    Overwrite::kRefuse);
  const auto file = Safetensors::open(path);
  EXPECT_TRUE(at::equal(file->tensor(*file->find("t")), transposed));
}

TEST(Safetensors, SameTensorsGiveTheSameBytesInAnyOrder) {
  const TemporaryDirectory directory;
  const at::Tensor one = at::ones({4}, at::TensorOptions().dtype(at::kFloat));
  const SafetensorsSource a{"a", program::DType::kFloat32, {4}, [&] { return one; }};
  const SafetensorsSource b{"b", program::DType::kFloat32, {4}, [&] { return one; }};
  write_safetensors(directory.file("1"), {a, b}, {}, Overwrite::kRefuse);
  write_safetensors(directory.file("2"), {b, a}, {}, Overwrite::kRefuse);
  EXPECT_EQ(content_of(directory.file("1")), content_of(directory.file("2")));
}

TEST(Safetensors, TensorsOutliveTheFileObject) {
  const TemporaryDirectory directory;
  auto file = Safetensors::open(directory.write("t", valid_file()));
  const at::Tensor b = file->tensor(*file->find("b"));
  file.reset();
  EXPECT_EQ(b.sum().item<std::int64_t>(), 2);
}

TEST(Safetensors, RowsAreReadAlone) {
  const TemporaryDirectory directory;
  const at::Tensor all = at::arange(12, at::TensorOptions().dtype(at::kLong)).view({4, 3});
  write_safetensors(directory.file("t"),
                    {{"x", program::DType::kInt64, {4, 3}, [&] { return all; }}},
                    {},
                    Overwrite::kRefuse);
  const auto file = Safetensors::open(directory.file("t"));
  EXPECT_TRUE(at::equal(file->rows(*file->find("x"), 1, 2), all.slice(0, 1, 3)));
}

TEST(Safetensors, AFileThatWasCutSinceIsAnErrorOfReading) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("t", valid_file());
  const auto file = Safetensors::open(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_EQ(error_of([&] {
              for (const SafetensorsEntry& entry : file->entries()) (void)file->tensor(entry);
            }).code,
            ErrorCode::kIoError);
}

TEST(Safetensors, UnalignedDataIsReadable) {
  const TemporaryDirectory directory;
  std::string header = R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                       R"("y":{"dtype":"I64","shape":[1],"data_offsets":[1,9]}})";
  std::string data(9, '\0');
  data[1] = 5;
  const auto file = Safetensors::open(directory.write("t", file_of(header, data)));
  EXPECT_EQ(file->tensor(*file->find("y")).item<std::int64_t>(), 5);
}

TEST(Safetensors, DtypesThatProgramsLackAreListedButNotRead) {
  const TemporaryDirectory directory;
  const auto file = Safetensors::open(directory.write(
      "t", file_of(R"({"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", "ab")));
  ASSERT_NE(file->find("x"), nullptr);
  EXPECT_EQ(error_of([&] { (void)file->tensor(*file->find("x")); }).code,
            ErrorCode::kBadSafetensors);
}

struct Hostile {
  const char* name;
  std::string bytes;
  const char* says;
};

class HostileSafetensors : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileSafetensors, IsRefusedWithAPlace) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("bad.safetensors", GetParam().bytes);
  const ErrorInfo info = error_of([&] { (void)Safetensors::open(path); });
  EXPECT_EQ(info.code, ErrorCode::kBadSafetensors);
  ASSERT_TRUE(info.where.has_value());
  EXPECT_EQ(info.where->file, path);
  EXPECT_TRUE(info.where->byte_offset.has_value());
  EXPECT_NE(info.message.find(GetParam().says), std::string::npos) << info.message;
}

INSTANTIATE_TEST_SUITE_P(
    All,
    HostileSafetensors,
    ::testing::Values(
        Hostile{"Empty", "", "0 bytes"},
        Hostile{"Short", "abc", "3 bytes"},
        Hostile{"LengthBeyondFile", std::string("\xff\0\0\0\0\0\0\0{}", 10), "truncated"},
        Hostile{"LengthHuge", std::string(8, '\xff') + "{}", "truncated"},
        Hostile{"NotJson", file_of("{nope", ""), "header"},
        Hostile{"NotAnObject", file_of("[]", ""), "start with"},
        Hostile{"EmptyHeader", file_of("", "x"), "start with"},
        Hostile{"DuplicateName",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                        R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                        "xy"),
                "header"},
        Hostile{"UnknownDtype",
                file_of(R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}})", "x"),
                "unknown dtype"},
        Hostile{"UnknownKey",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", "x"),
                "header"},
        Hostile{"NegativeSize",
                file_of(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x"),
                "header"},
        Hostile{"OverflowingShape",
                file_of(R"({"a":{"dtype":"F64","shape":[4294967296,4294967296,2],)"
                        R"("data_offsets":[0,1]}})",
                        "x"),
                "too many elements"},
        Hostile{"OffsetsBeyondFile",
                file_of(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "x"),
                "outside"},
        Hostile{"OffsetsBackwards",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", "x"),
                "outside"},
        Hostile{"ThreeOffsets",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,1]}})", "x"),
                "[begin, end]"},
        Hostile{"SizeAgainstShape",
                file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "abcd"),
                "need 8"},
        Hostile{"Overlap",
                file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                        R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                        "xyz"),
                "overlaps"},
        Hostile{"Hole",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                        R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                        "xyz"),
                "hole"},
        Hostile{"BytesAfterTheLast",
                file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "xy"),
                "belong to no tensor"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Safetensors, EveryPrefixAndEveryFlippedByteIsReadOrRefused) {
  const TemporaryDirectory directory;
  const std::string whole = valid_file();
  const auto try_bytes = [&](const std::string& bytes) {
    const std::string path = directory.write("t", bytes);
    try {
      const auto file = Safetensors::open(path);
      for (const SafetensorsEntry& entry : file->entries()) {
        if (entry.dtype) (void)file->tensor(entry).sum();
      }
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kBadSafetensors) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(try_bytes(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(try_bytes(whole.substr(0, length))) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      (void)try_bytes(changed);
    }
  }
}

TEST(Safetensors, MissingFileIsNotFound) {
  EXPECT_EQ(error_of([] { (void)Safetensors::open("/nonexistent/x.safetensors"); }).code,
            ErrorCode::kFileNotFound);
}

}  // namespace
}  // namespace elixir::train
