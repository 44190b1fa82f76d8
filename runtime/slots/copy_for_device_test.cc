// Every length at every alignment, with nothing written beside it.
#include "runtime/slots/copy_for_device.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace graphtree {
namespace {

constexpr uint64_t kMost = 700;
constexpr uint64_t kGuard = 64;

void ExpectCopies(void (*copy)(uint8_t*, const uint8_t*, uint64_t)) {
  std::vector<uint8_t> from(kMost + 64);
  for (uint64_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(1 + i % 251);
  for (uint64_t to_at = 0; to_at < 64; to_at += 4) {
    for (uint64_t bytes = 0; bytes <= kMost; bytes += bytes < 200 ? 1 : 13) {
      const uint64_t from_at = bytes % 17;
      std::vector<uint8_t> to(kMost + 64 + 2 * kGuard);
      std::vector<uint8_t> expected = to;
      copy(to.data() + kGuard + to_at, from.data() + from_at, bytes);
      EndCopies();
      std::copy_n(from.begin() + from_at, bytes, expected.begin() + kGuard + to_at);
      ASSERT_EQ(to, expected) << bytes << " bytes to " << to_at;
    }
  }
}

TEST(CopyForDeviceTest, CopiesWhatItIsGiven) { ExpectCopies(CopyForDevice); }
TEST(CopyForDeviceTest, StreamsWhatItIsGiven) { ExpectCopies(StreamCopy); }

}  // namespace
}  // namespace graphtree
