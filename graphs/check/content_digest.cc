// Copies pieces to the host and mixes their words.
#include "graphs/check/content_digest.h"

#include <algorithm>
#include <cstring>

#include "device/base/status_macros.h"

namespace graphtree {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

uint64_t Digest(const unsigned char* bytes, uint64_t count) {
  uint64_t digest = count * 0x9e3779b97f4a7c15u;
  for (uint64_t at = 0; at < count; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, std::min<uint64_t>(sizeof(word), count - at));
    digest = (digest ^ word) * 0xff51afd7ed558ccdu;
    digest ^= digest >> 32;
  }
  return digest;
}

}  // namespace

absl::StatusOr<ContentReader> ContentReader::Make(Device& device, Stream& stream) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<HostBuffer> buffer,
                             device.memory().AllocateHost(kPieceBytes));
  return ContentReader(&stream, std::move(buffer));
}

absl::StatusOr<ContentDigest> ContentReader::Read(AddressRange range) {
  ContentDigest digest;
  digest.reserve((range.bytes + kDigestedBytes - 1) / kDigestedBytes);
  const auto* copied = static_cast<const unsigned char*>(buffer_->data());
  for (uint64_t piece = 0; piece < range.bytes; piece += kPieceBytes) {
    const uint64_t bytes = std::min(kPieceBytes, range.bytes - piece);
    GRAPHTREE_RETURN_IF_ERROR(stream_->Copy(buffer_->range().base, range.base + piece, bytes));
    if (absl::Status done = stream_->Synchronize(); !done.ok()) {
      // The copy may still be under way, and the buffer is freed with its reader: so the copy must
      // be waited for. A wait that failed may work the next time.
      constexpr int kAttempts = 3;
      for (int i = 0; i < kAttempts && !stream_->Synchronize().ok(); ++i) {
      }
      return done;
    }
    for (uint64_t at = 0; at < bytes; at += kDigestedBytes) {
      digest.push_back(Digest(copied + at, std::min(kDigestedBytes, bytes - at)));
    }
  }
  return digest;
}

}  // namespace graphtree
