// Copies host data into page-locked memory that the device reads next.
//
// A processor keeps what it writes in its caches. When the device then reads these lines over the
// bus, some processors share them, and the next step that writes there has to ask for each line
// again:
//
//   plain      | wait for line | write | wait for line | write | ...     32 KiB: 3.2 us
//   streamed   | write line, around the caches | write line | ...        32 KiB: 0.8 us
//
// (Zen 4, with another core as the reader.) Streamed stores of whole lines ask for nothing. Others
// keep lines that the bus only reads, and stream slowly: there a plain copy is the best.
//
// Cost: small copies are plain everywhere.
#ifndef GRAPHTREE_RUNTIME_SLOTS_COPY_FOR_DEVICE_H_
#define GRAPHTREE_RUNTIME_SLOTS_COPY_FOR_DEVICE_H_

#include <cstdint>
#include <cstring>

namespace graphtree {

// From so many bytes on it can pay to go around the caches.
constexpr uint64_t kLeastStreamed = 512;

// Whether it does on this machine.
bool StreamsToDevice();

// Copies around the caches what fills whole lines.
void StreamCopy(uint8_t* to, const uint8_t* from, uint64_t bytes);

// `streams` is what StreamsToDevice says.
inline void CopyForDevice(uint8_t* to, const uint8_t* from, uint64_t bytes, bool streams) {
  if (bytes >= kLeastStreamed && streams) return StreamCopy(to, from, bytes);
  std::memcpy(to, from, bytes);
}
inline void CopyForDevice(uint8_t* to, const uint8_t* from, uint64_t bytes) {
  CopyForDevice(to, from, bytes, bytes >= kLeastStreamed && StreamsToDevice());
}

// What was copied is seen by whoever is told of it after this.
void EndCopies();

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SLOTS_COPY_FOR_DEVICE_H_
