// The last launches of a rank, to find where ranks part before they hang.
//
// Ranks that share collectives must launch the same graphs in the same order. Every launch goes
// into a ring of the last 64 and into a rolling digest of 8 bytes; ranks compare count and digest,
// which is cheap enough for every step, and where these differ they exchange their rings:
//
//   rank 0   ... 41 decode/7   42 decode/7   43 prefill/2
//   rank 1   ... 41 decode/7   42 decode/8                     part at launch 42
//
// Each launch is kept with the digest before it, so a rank that is merely behind is told from one
// that went another way, and it is seen if the ranks parted before what is kept.
//
// A plain value of some 6 KiB, which may be copied as bytes to another process of the same build.
// Pure; no heap but in texts. Threads: one. Cost: recording a launch takes a few nanoseconds.
#ifndef GRAPHTREE_RUNTIME_SHAPES_LAUNCH_HISTORY_H_
#define GRAPHTREE_RUNTIME_SHAPES_LAUNCH_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mix.h"

namespace graphtree {

struct Launch {
  uint64_t program = 0;  // the same number on all ranks, such as a hash of its name
  uint64_t step = 0;
  uint32_t shape = 0;  // its index in the program's table; kNoShape: run eagerly
  Key key = {};        // padded

  friend bool operator==(const Launch&, const Launch&) = default;
};

class LaunchHistory {
 public:
  static constexpr uint64_t kKept = 64;

  void Record(const Launch& launch) {
    const KeyWords key = KeyWords::Of(launch.key);
    // Products that do not wait for each other; only the last one waits for the launch before.
    const uint64_t pairs = MixProduct(launch.program ^ kSalts[0], launch.step ^ kSalts[1]) +
                           MixProduct(key.words[0] ^ kSalts[2], key.words[1] ^ kSalts[3]) +
                           MixProduct(key.words[2] ^ kSalts[4], key.words[3] ^ kSalts[5]) +
                           MixProduct(key.words[4] ^ kSalts[6], launch.shape ^ kSalts[7]);
    Kept& kept = ring_[count_ % kKept];
    // One by one: the caller has just written some of them, and a wider copy would wait for that.
    kept.launch.program = launch.program;
    kept.launch.step = launch.step;
    kept.launch.shape = launch.shape;
    key.CopyTo(&kept.launch.key);
    kept.digest_before = digest_;
    digest_ = Mix(digest_, pairs);
    ++count_;
  }

  // How many launches there were; they are numbered from 0.
  uint64_t count() const { return count_; }
  // Of all launches in their order; 0 before the first.
  uint64_t digest() const { return digest_; }
  // The first launch that is still kept; count() if there was none.
  uint64_t first_kept() const { return count_ > kKept ? count_ - kKept : 0; }
  // REQUIRES: first_kept() <= number < count().
  const Launch& at(uint64_t number) const { return ring_[number % kKept].launch; }
  // The digest of the first `count` launches, where it is known: from first_kept() to count().
  std::optional<uint64_t> DigestAfter(uint64_t count) const;

 private:
  struct Kept {
    Launch launch;
    uint64_t digest_before = 0;
  };
  // Random and odd.
  static constexpr uint64_t kSalts[8] = {
      0x55b36554705355af, 0xf4370535fb6df609, 0x62f4207560c63b8b, 0xcb6a672105f47865,
      0x2014a0552333b733, 0x6daaa34d63c0ac81, 0x2a72e929b6b36583, 0x0fe0d5636597c9c1};

  uint64_t count_ = 0;
  uint64_t digest_ = 0;
  std::array<Kept, kKept> ring_ = {};
};
static_assert(std::is_trivially_copyable_v<LaunchHistory>);

struct Difference {
  enum class Kind : uint8_t {
    kNone,     // the same launches
    kBehind,   // the same as far as the one with fewer has come; `number` is its next launch
    kParted,   // launch `number` is the first that differs
    kEarlier,  // they parted before launch `number`, the first that both still keep
    kTooFar,   // one is so far ahead that no launch is kept by both, so nobody knows
  };
  Kind kind = Kind::kNone;
  uint64_t number = 0;
};

Difference FirstDifference(const LaunchHistory& a, const LaunchHistory& b);

// Both sides launch by launch, with a mark at the first that differs, and above them what was found
// in words.
std::string DumpBoth(absl::string_view name_a, const LaunchHistory& a, absl::string_view name_b,
                     const LaunchHistory& b);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_SHAPES_LAUNCH_HISTORY_H_
