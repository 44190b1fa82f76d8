// A reader whose wait fails leaves no copy behind that reaches memory which is gone.
#include "graphs/check/piece_reader.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "device/base/status_matchers.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using testing::Not;

class PieceReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    source_ = *device_.memory().AllocateHost(64);
    std::memset(source_->data(), 3, 64);
    reader_ = *PieceReader::Make(device_, *stream_);
  }
  absl::Status Read() {
    return reader_->Read(source_->range(), [this](absl::Span<const uint8_t> piece) {
      for (const uint8_t byte : piece) sum_ += byte;
    });
  }
  void FailWaits() {
    for (const char* wait : {"Stream.Synchronize", "Event.Synchronize"}) {
      device_.plan().FailEveryCallOf(wait, ErrorCode::kInvalidValue);
    }
  }

  FaultDevice device_{*OpenHostDevice()};
  std::unique_ptr<Stream> stream_ = *device_.NewStream();
  std::unique_ptr<HostBuffer> source_;
  std::optional<PieceReader> reader_;
  int sum_ = 0;
};

TEST_F(PieceReaderTest, ACopyThatNobodyCouldAwaitHasItsBuffer) {
  FailWaits();
  EXPECT_THAT(Read(), Not(IsOk()));
  reader_.reset();
  device_.plan().Clear();
  EXPECT_THAT(stream_->Synchronize(), IsOk());
  EXPECT_THAT(device_.health(), IsOk());
  EXPECT_EQ(sum_, 0);
}

TEST_F(PieceReaderTest, TheBufferGoesOnceTheCopyIsOver) {
  FailWaits();
  EXPECT_THAT(Read(), Not(IsOk()));
  reader_.reset();
  EXPECT_THAT(device_.GiveBackLeftovers(), Not(IsOk()));
  device_.plan().Clear();
  stream_.reset();
  EXPECT_THAT(device_.GiveBackLeftovers(), IsOk());
  source_.reset();
  EXPECT_THAT(device_.Close(), IsOk());
}

TEST_F(PieceReaderTest, ReadsAfterAWaitThatFailed) {
  FailWaits();
  EXPECT_THAT(Read(), Not(IsOk()));
  device_.plan().Clear();
  EXPECT_THAT(Read(), IsOk());
  EXPECT_EQ(sum_, 3 * 64);
}

TEST_F(PieceReaderTest, WhatIsDeadIsAnErrorAndIsNotTouched) {
  AddressRange middle = source_->range();
  middle.base += 16;
  middle.bytes = 16;
  device_.memory().NoteLive(source_->range(), "all of it");
  std::memset(source_->data(), 3, 64);
  device_.memory().NoteDead(middle, "for the test");
  EXPECT_THAT(Read(), Not(IsOk()));
  EXPECT_EQ(sum_, 0);
  EXPECT_THAT(device_.health(), IsOk());
  device_.memory().NoteRevived(source_->range(), "all of it");
  EXPECT_THAT(Read(), IsOk());
  source_.reset();
}

}  // namespace
}  // namespace graphtree
