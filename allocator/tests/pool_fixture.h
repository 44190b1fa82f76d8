// What the pool's tests share: a host device, a stream, a pool, and the bytes of a block.
//
//   class PoolParkTest : public PoolFixture {};
//   class PoolTest : public PoolFixture { PoolTest() : PoolFixture(uint64_t{1} << 30) {} };
//
// For tests only.
#ifndef GRAPHTREE_ALLOCATOR_TESTS_POOL_FIXTURE_H_
#define GRAPHTREE_ALLOCATOR_TESTS_POOL_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "allocator/pool.h"
#include "allocator/pool_types.h"
#include "device/base/status_matchers.h"
#include "device/device.h"
#include "device/host/host_device.h"
#include "device/memory.h"
#include "device/stream.h"
#include "gtest/gtest.h"

namespace graphtree {

// The byte that all of the block's bytes are once the stream is done; -1 if they differ.
inline int ByteOf(const Block& block, Device& device, Stream& stream) {
  auto host = *device.memory().AllocateHost(block.range.bytes);
  EXPECT_THAT(stream.Copy(host->range().base, block.range.base, block.range.bytes), IsOk());
  EXPECT_THAT(stream.Synchronize(), IsOk());
  const uint8_t* bytes = static_cast<const uint8_t*>(host->data());
  for (uint64_t i = 0; i < block.range.bytes; ++i) {
    if (bytes[i] != bytes[0]) return -1;
  }
  return bytes[0];
}

class PoolFixture : public testing::Test {
 protected:
  explicit PoolFixture(uint64_t device_bytes = uint64_t{256} << 20)
      : device_bytes_(device_bytes) {}

  void SetUp() override {
    device_ = *OpenHostDevice({.memory_bytes = device_bytes_});
    stream_ = *device_->NewStream();
    Open({});
  }
  void TearDown() override {
    pool_.reset();
    stream_.reset();
    EXPECT_THAT(device_->Close(), IsOk());
  }
  void Open(PoolOptions options) {
    pool_.reset();
    pool_ = *Pool::Create(*device_, std::move(options));
  }
  Block Allocate(uint64_t bytes, const BlockOptions& options = {}) {
    absl::StatusOr<Block> block = pool_->Allocate(bytes, *stream_, options);
    EXPECT_THAT(block, IsOk());
    return block.ok() ? *block : Block{};
  }
  void Write(const Block& block, uint8_t byte) {
    EXPECT_THAT(stream_->Fill(block.range.base, byte, 1, block.range.bytes), IsOk());
  }
  int Read(const Block& block) { return ByteOf(block, *device_, *stream_); }
  uint64_t mapped() { return pool_->Stats().mapped_bytes; }

  const uint64_t device_bytes_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_ALLOCATOR_TESTS_POOL_FIXTURE_H_
