// Digests of memory on the host device: every changed byte is seen, and where.
#include "graphs/check/content_digest.h"

#include <cstring>
#include <random>

#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class ContentDigestTest : public testing::Test {
 protected:
  static constexpr uint64_t kBytes = (3 << 20) + 77;  // several pieces, and an odd end

  void SetUp() override {
    device_ = *OpenHostDevice();
    stream_ = *device_->NewStream();
    buffer_ = *device_->memory().AllocateHost(kBytes);
    std::memset(buffer_->data(), 1, kBytes);
  }
  uint8_t& Byte(uint64_t at) { return static_cast<uint8_t*>(buffer_->data())[at]; }
  ContentDigest Read(AddressRange range) {
    auto reader = ContentReader::Make(*device_, *stream_);
    EXPECT_THAT(reader, IsOk());
    auto digest = reader->Read(range);
    EXPECT_THAT(digest, IsOk());
    return *digest;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<HostBuffer> buffer_;
};

TEST_F(ContentDigestTest, AnyChangedByteShowsInItsWord) {
  const AddressRange range = buffer_->range();
  const ContentDigest before = Read(range);
  EXPECT_EQ(before.size(), (kBytes + 255) / 256);
  EXPECT_EQ(before, Read(range));
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    const uint64_t at = i == 0 ? kBytes - 1 : i == 1 ? 1 << 20 : random() % kBytes;
    Byte(at) ^= 1 << random() % 8;
    ContentDigest after = Read(range);
    EXPECT_NE(after[at / kDigestedBytes], before[at / kDigestedBytes]) << "byte " << at;
    after[at / kDigestedBytes] = before[at / kDigestedBytes];
    EXPECT_EQ(after, before) << "byte " << at << " changed another word";
    Byte(at) = 1;
  }
}

TEST_F(ContentDigestTest, WordsThatChangePlacesAreSeen) {
  Byte(0) = 9;
  const ContentDigest before = Read({buffer_->range().base, 64});
  Byte(0) = 1;
  Byte(8) = 9;
  EXPECT_NE(before, Read({buffer_->range().base, 64}));
  EXPECT_TRUE(Read({buffer_->range().base, 0}).empty());
}

}  // namespace
}  // namespace graphtree
