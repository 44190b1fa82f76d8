// Streams on x86; copies plainly elsewhere.
#include "runtime/slots/copy_for_device.h"

#include <algorithm>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace graphtree {

#if defined(__x86_64__)

namespace {

constexpr uint64_t kLine = 64;

void StreamLine(uint8_t* to, const uint8_t* from) {
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  auto* const target = reinterpret_cast<__m128i*>(to);
  __m128i words[4];
  for (int i = 0; i < 4; ++i) words[i] = _mm_loadu_si128(source + i);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, words[i]);
}

}  // namespace

bool StreamsToDevice() {
  static const bool streams = __builtin_cpu_is("amd");
  return streams;
}

void StreamCopy(uint8_t* to, const uint8_t* from, uint64_t bytes) {
  const uint64_t head = std::min<uint64_t>(bytes, -reinterpret_cast<uint64_t>(to) % kLine);
  std::memcpy(to, from, head);
  uint64_t at = head;
  for (; at + kLine <= bytes; at += kLine) StreamLine(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
}

void EndCopies() { _mm_sfence(); }

#else

bool StreamsToDevice() { return false; }

void StreamCopy(uint8_t* to, const uint8_t* from, uint64_t bytes) { std::memcpy(to, from, bytes); }

void EndCopies() {}

#endif

}  // namespace graphtree
