// Mixes the words of what is read.
#include "graphs/check/content_digest.h"

#include <algorithm>
#include <cstring>

#include "absl/types/span.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// No digest is of bytes of two pieces.
static_assert(PieceReader::kPieceBytes % kDigestedBytes == 0);

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
  GRAPHTREE_ASSIGN_OR_RETURN(PieceReader pieces, PieceReader::Make(device, stream));
  return ContentReader(std::move(pieces));
}

absl::StatusOr<ContentDigest> ContentReader::Read(AddressRange range) {
  ContentDigest digest;
  digest.reserve((range.bytes + kDigestedBytes - 1) / kDigestedBytes);
  GRAPHTREE_RETURN_IF_ERROR(pieces_.Read(range, [&](absl::Span<const uint8_t> piece) {
    for (uint64_t at = 0; at < piece.size(); at += kDigestedBytes) {
      digest.push_back(Digest(piece.data() + at, std::min(kDigestedBytes, piece.size() - at)));
    }
  }));
  return digest;
}

}  // namespace graphtree
