// Where contents are sampled, so that waking them can be checked: all bytes where these are few,
// else small places spread over all ranges.
//
//   ranges    |aaaaaaaaaaaaaaaaaaaaaaaa|   |b|   |cccccccccccccccc|
//   places    |##|      |##|        |##|   |#|   |##|          |##|
//
// A piece of memory leaves and comes back as a whole, so a piece that did not come back is found by
// any place in it: each 2 MiB of a range have one, as long as there are no more than `most`.
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_PARK_SAMPLE_PLACES_H_
#define GRAPHTREE_RUNTIME_PARK_SAMPLE_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "device/address.h"

namespace graphtree {

// Each place that is a sample, and not all of its range, has so many bytes at most.
inline constexpr uint64_t kSampleBytes = 64;
// Up to so many bytes in all are taken whole.
inline constexpr uint64_t kTakenWhole = 64 << 10;
// One sample for each.
inline constexpr uint64_t kSampleStride = 2 << 20;

// In the order of the ranges, of which some may be empty. Not more than `most` places, unless all
// is taken whole.
inline std::vector<AddressRange> PlacesToSample(absl::Span<const AddressRange> ranges,
                                                size_t most) {
  uint64_t bytes = 0;
  std::vector<AddressRange> places;
  for (const AddressRange& range : ranges) {
    bytes += range.bytes;
    if (!range.empty()) places.push_back(range);
  }
  if (bytes <= kTakenWhole && places.size() <= most) return places;
  std::vector<AddressRange> samples;
  for (const AddressRange& range : places) {
    const uint64_t sample = std::min(range.bytes, kSampleBytes);
    for (uint64_t at = 0; at + sample <= range.bytes; at += kSampleStride) {
      samples.push_back({range.base + at, sample});
    }
    const uint64_t last = range.bytes - sample;
    if (last % kSampleStride != 0) samples.push_back({range.base + last, sample});
  }
  if (samples.size() <= most) return samples;
  std::vector<AddressRange> chosen;
  for (size_t i = 0; i < most; ++i) {
    chosen.push_back(samples[most == 1 ? 0 : i * (samples.size() - 1) / (most - 1)]);
  }
  return chosen;
}

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PARK_SAMPLE_PLACES_H_
