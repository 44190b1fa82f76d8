// On the host device, which tells of every byte that is used while it is away.
#include "runtime/park/parkable_memory.h"

#include <memory>
#include <utility>

#include "absl/strings/str_format.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Device> MakeHost() { return *OpenHostDevice(); }

// Bytes that tell their place.
uint8_t ByteAt(uint64_t at, uint8_t seed) { return static_cast<uint8_t>(at * 31 + seed); }

class Bytes {
 public:
  explicit Bytes(Device& device) : device_(device), stream_(*device.NewStream()) {}
  void Write(AddressRange range, uint8_t seed) {
    const auto buffer = *device_.memory().AllocateHost(range.bytes);
    auto* const data = static_cast<uint8_t*>(buffer->data());
    for (uint64_t i = 0; i < range.bytes; ++i) data[i] = ByteAt(i, seed);
    ASSERT_THAT(stream_->Copy(range.base, buffer->range().base, range.bytes), IsOk());
    ASSERT_THAT(stream_->Synchronize(), IsOk());
  }
  bool Has(AddressRange range, uint8_t seed) {
    const auto buffer = *device_.memory().AllocateHost(range.bytes);
    EXPECT_THAT(stream_->Copy(buffer->range().base, range.base, range.bytes), IsOk());
    EXPECT_THAT(stream_->Synchronize(), IsOk());
    const auto* const data = static_cast<const uint8_t*>(buffer->data());
    for (uint64_t i = 0; i < range.bytes; ++i) {
      if (data[i] != ByteAt(i, seed)) return false;
    }
    return true;
  }

 private:
  Device& device_;
  const std::unique_ptr<Stream> stream_;
};

class ParkableMemoryTest : public testing::Test {
 protected:
  uint64_t free_bytes() { return device_->memory().Info()->free_bytes; }
  std::unique_ptr<ParkableMemory> Make(uint64_t bytes) {
    return *ParkableMemory::Create(*device_, bytes, "weights");
  }

  const std::unique_ptr<Device> device_ = MakeHost();
  Bytes bytes_{*device_};
};

TEST_F(ParkableMemoryTest, KeptBytesComeBackAtTheirAddress) {
  const auto memory = Make(100000);
  const AddressRange range = memory->range();
  EXPECT_EQ(range.bytes, 100000u);
  bytes_.Write(range, 3);
  const uint64_t free = free_bytes(), mapped = memory->mapped_bytes();
  for (int round = 0; round < 3; ++round) {
    ASSERT_THAT(memory->Park(Contents::kKeep), IsOk());
    EXPECT_EQ(free_bytes(), free + mapped);
    EXPECT_EQ(memory->mapped_bytes(), 0u);
    EXPECT_EQ(memory->parked_bytes(), mapped);
    EXPECT_EQ(memory->saved_bytes(), 100000u);
    ASSERT_THAT(memory->Wake(), IsOk());
    EXPECT_THAT(memory->Check(), IsOk());
    EXPECT_EQ(memory->range(), range);
    EXPECT_EQ(memory->saved_bytes(), 0u);
    EXPECT_TRUE(bytes_.Has(range, 3));
  }
}

TEST_F(ParkableMemoryTest, DroppedBytesAreGoneAndNothingIsSaved) {
  const auto memory = Make(5000);
  bytes_.Write(memory->range(), 3);
  ASSERT_THAT(memory->Park(Contents::kDrop), IsOk());
  EXPECT_TRUE(memory->is_parked());
  EXPECT_EQ(memory->saved_bytes(), 0u);
  ASSERT_THAT(memory->Wake(), IsOk());
  EXPECT_FALSE(memory->is_parked());
  EXPECT_THAT(memory->Check(), IsOk());
  EXPECT_FALSE(bytes_.Has(memory->range(), 3)) << "or the host device poisons nothing";
}

TEST_F(ParkableMemoryTest, PinnedBytesStayAndAreWatched) {
  const auto memory = Make(5000);
  bytes_.Write(memory->range(), 3);
  const uint64_t free = free_bytes();
  ASSERT_THAT(memory->Park(Contents::kPinned), IsOk());
  EXPECT_TRUE(memory->is_parked());
  EXPECT_EQ(free_bytes(), free);
  ASSERT_THAT(memory->Wake(), IsOk());
  EXPECT_THAT(memory->Check(), IsOk());
  ASSERT_THAT(memory->Park(Contents::kPinned), IsOk());
  bytes_.Write({memory->range().base + 4000, 8}, 77);
  ASSERT_THAT(memory->Wake(), IsOk());
  EXPECT_THAT(memory->Check(), FailsWith(StatusCode::kDataLoss, "has other bytes"));
}

TEST_F(ParkableMemoryTest, BytesThatComeBackWrongAreNamed) {
  const auto memory = Make(5000);
  bytes_.Write(memory->range(), 3);
  ASSERT_THAT(memory->Park(Contents::kKeep), IsOk());
  static_cast<uint8_t*>(memory->saved())[1234] ^= 1;
  ASSERT_THAT(memory->Wake(), IsOk());
  const absl::Status wrong = memory->Check();
  EXPECT_THAT(wrong, FailsWith(StatusCode::kDataLoss, "has other bytes"));
  EXPECT_THAT(wrong.message(),
              AllOf(HasSubstr("weights has other bytes than before it was parked"),
                    HasSubstr(absl::StrFormat("at %#x of", memory->range().base + 1234))));
  memory->GiveUpContents();
  EXPECT_THAT(memory->Check(), IsOk());
}

TEST_F(ParkableMemoryTest, WakingWithoutMemoryLeavesItParked) {
  const auto memory = Make(64 << 10);
  bytes_.Write(memory->range(), 3);
  ASSERT_THAT(memory->Park(Contents::kKeep), IsOk());
  {
    const uint64_t granularity = device_->memory().granularity();
    const auto all = *device_->memory().Create(free_bytes() / granularity * granularity);
    EXPECT_THAT(memory->Wake(), FailsWith(StatusCode::kResourceExhausted, ""));
    EXPECT_TRUE(memory->is_parked());
    EXPECT_EQ(memory->saved_bytes(), uint64_t{64} << 10);
  }
  ASSERT_THAT(memory->Wake(), IsOk());
  EXPECT_THAT(memory->Check(), IsOk());
  EXPECT_TRUE(bytes_.Has(memory->range(), 3));
}

// A call that fails changes nothing, and works when it is called again.
TEST(ParkableMemoryFaultTest, AnyCallMayFail) {
  for (const Contents contents : {Contents::kKeep, Contents::kDrop, Contents::kPinned}) {
    ForEveryFailingCall(MakeHost, [contents](FaultDevice& device) {
      const auto again = [&](const auto& call) {
        absl::Status status = call();
        if (!status.ok()) status = call();
        ASSERT_THAT(status, IsOk());
      };
      auto made = ParkableMemory::Create(device, 9000, "cache");
      if (!made.ok()) made = ParkableMemory::Create(device, 9000, "cache");
      ASSERT_THAT(made, IsOk());
      ParkableMemory& memory = **made;
      const auto stream = device.wrapped().NewStream();
      ASSERT_THAT(stream, IsOk());
      ASSERT_THAT((*stream)->Fill(memory.range().base, 7, 1, 9000), IsOk());
      ASSERT_THAT((*stream)->Synchronize(), IsOk());
      for (int round = 0; round < 2; ++round) {
        again([&] { return memory.Park(contents); });
        EXPECT_TRUE(memory.is_parked());
        again([&] { return memory.Wake(); });
        again([&] { return memory.Check(); });
      }
    });
  }
}

}  // namespace
}  // namespace graphtree
