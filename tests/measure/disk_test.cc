// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/disk/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "core/units.h"
#include "fakes/error_of.h"
#include "measure/disk/direct_file.h"
#include "measure/measure.h"

namespace elixir::measure {
namespace {

using tests::error_of;

using ::testing::HasSubstr;

constexpr std::int64_t kBlock = 64_KiB;

class DiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The build directory is on a disk; /tmp may not be.
    directory_ = std::filesystem::current_path() / fmt::format("elixir-disk-{}", ::getpid());
    std::filesystem::create_directories(directory_);
    try {
      const DirectFile probe(directory_.string());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "a file stayed behind";
    std::filesystem::remove_all(directory_);
  }
  std::filesystem::path directory_;
};

/// Transfers every block once. What is read must be what was written.
void move_there_and_back(BlockEngine& engine, const std::filesystem::path& directory) {
  const DirectFile file(directory.string());
  const std::int64_t end = 37 * kBlock;
  engine.move(file.descriptor(), Transfer::kWrite, 0, end, [](std::int64_t at, void* block) {
    std::memset(block, static_cast<int>(at / kBlock + 1), kBlock);
  });
  // Threads may call for several blocks at once.
  std::array<std::atomic<int>, 37> seen{};
  engine.move(file.descriptor(), Transfer::kRead, 0, end, [&](std::int64_t at, void* block) {
    const auto* bytes = static_cast<const unsigned char*>(block);
    const auto expected = static_cast<unsigned char>(at / kBlock + 1);
    if (bytes[0] == expected && bytes[kBlock - 1] == expected) ++seen.at(at / kBlock);
  });
  for (const std::atomic<int>& count : seen) EXPECT_EQ(count.load(), 1);
  // A file that ends too early is an error, not a short measurement.
  EXPECT_EQ(error_of([&] {
              engine.move(file.descriptor(),
                          Transfer::kRead,
                          end - kBlock,
                          end + kBlock,
                          [](std::int64_t, void*) {});
            }).code,
            ErrorCode::kIoError);
  // An exception of the visitor ends the whole transfer.
  EXPECT_THROW(engine.move(file.descriptor(),
                           Transfer::kRead,
                           0,
                           end,
                           [](std::int64_t, void*) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  request_interrupt(2);
  EXPECT_THROW(engine.move(file.descriptor(), Transfer::kRead, 0, end, [](std::int64_t, void*) {}),
               Interrupted);
  clear_interrupt();
}

TEST_F(DiskTest, ThreadsMoveEveryBlockOnce) {
  move_there_and_back(*make_thread_engine(kBlock, 4), directory_);
}

TEST_F(DiskTest, TheRingMovesEveryBlockOnce) {
  const std::optional<std::string> reason = io_uring_unavailable();
  if (reason) GTEST_SKIP() << *reason;
  move_there_and_back(*make_io_uring_engine(kBlock, 8), directory_);
}

/// Damages the data that passes through it.
class Liar : public BlockEngine {
 public:
  [[nodiscard]] const char* name() const override { return "threads"; }
  void move(int descriptor,
            Transfer transfer,
            std::int64_t begin,
            std::int64_t end,
            const OnBlock& on_block) override {
    honest_->move(descriptor, transfer, begin, end, [&](std::int64_t at, void* block) {
      if (transfer == Transfer::kRead && at == 5 * kBlock) static_cast<char*>(block)[0] ^= 1;
      on_block(at, block);
    });
  }

 private:
  std::unique_ptr<BlockEngine> honest_ = make_thread_engine(kBlock, 2);
};

TEST_F(DiskTest, FiguresHaveSizesAndSamples) {
  const hardware::Disk disk = measure_disk(
      {directory_.string(), 4_MiB, 1_MiB, 60.0}, *make_thread_engine(kBlock, 4), kBlock, 4);
  EXPECT_EQ(disk.file_bytes, 4_MiB);
  EXPECT_EQ(disk.engine, "threads");
  EXPECT_EQ(disk.read_bytes_per_s.samples, 4);
  EXPECT_GT(disk.read_bytes_per_s.median, 0);
  EXPECT_GT(disk.write_bytes_per_s.median, 0);
}

TEST_F(DiskTest, DataThatChangedIsAnError) {
  Liar liar;
  const ErrorInfo info = error_of([&] {
    (void)measure_disk({directory_.string(), 4_MiB, 1_MiB, 60.0}, liar, kBlock, 2);
  });
  EXPECT_EQ(info.code, ErrorCode::kIoError);
  EXPECT_THAT(info.message, HasSubstr(fmt::format("at byte {}", 5 * kBlock)));
}

TEST_F(DiskTest, TooLittleRoomIsSaid) {
  const ErrorInfo info = error_of([&] {
    (void)measure_disk({directory_.string(), std::int64_t{1} << 60, std::int64_t{1} << 58, 1.0},
                       *make_thread_engine(kBlock, 2),
                       kBlock,
                       2);
  });
  EXPECT_EQ(info.code, ErrorCode::kMachineTooSmall);
  EXPECT_THAT(info.message, HasSubstr("free"));
}

TEST(DiskDirectory, MustExistAndBeWritable) {
  EXPECT_EQ(error_of([] { check_directory("/no/such/place"); }).code, ErrorCode::kOutputUnwritable);
  const ErrorInfo info = error_of([] { check_directory("/proc/self/status"); });
  EXPECT_EQ(info.code, ErrorCode::kOutputUnwritable);
  Request request;
  request.only = std::vector<std::string>{"disk"};
  request.device = DeviceChoice::kCpu;
  request.disk_directory = "/no/such/place";
  EXPECT_EQ(error_of([&] { (void)measure(request); }).code, ErrorCode::kOutputUnwritable);
}

TEST(Disk, IsWaivedUntilADirectoryIsNamed) {
  Request request;
  request.only = std::vector<std::string>{"disk"};
  request.device = DeviceChoice::kCpu;
  const hardware::HardwareProfile p = measure(request).profile;
  EXPECT_THAT(p.waived.at("disk"), HasSubstr("--disk DIR"));
  EXPECT_FALSE(p.disk);
}

}  // namespace
}  // namespace elixir::measure
