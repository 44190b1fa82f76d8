// Policy: an allocator reduced to its decisions, for running a recorded history through it.
//
// A policy hands out no memory. It keeps account of what it would have taken from the driver, given
// a limit, so that "would it have fitted with other settings" is an experiment and not a guess.
// Memory that was freed becomes free for the policy when the recording says that no stream uses it
// any more.
//
// Policies are deterministic and not safe for concurrent use.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_POLICY_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace graphtree::snapshot {

struct PolicyRequest {
  uint32_t key = 0;     // names the allocation
  uint64_t size = 0;    // as requested, in bytes
  uint32_t stream = 0;  // small numbers: 0 is the first stream seen
  uint32_t pool = 0;    // 0 is the default pool
  // Where the driver put a segment for this very request in the recording; 0: it did not. Among
  // equal holes the lowest address is taken, so it can matter.
  uint64_t segment_address = 0;
};

class Policy {
 public:
  // `limit` on what may be taken from the driver, in bytes; 0: none.
  explicit Policy(uint64_t limit) : limit_(limit) {}
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;
  virtual ~Policy() = default;

  virtual std::string name() const = 0;
  // False where it does not fit under the limit, after all that can be given back was.
  virtual bool Allocate(const PolicyRequest& request) = 0;
  // REQUIRES: allocated and not freed.
  virtual void Free(uint32_t key) = 0;
  // Gives back to the driver what lies unused, as the application asked for.
  virtual void Trim() = 0;
  // The longest hole in what was taken from the driver.
  virtual uint64_t LargestHole() const = 0;

  uint64_t reserved() const { return reserved_; }
  // Bytes of blocks, rounding included.
  uint64_t held() const { return held_; }
  uint64_t driver_calls() const { return driver_calls_; }

 protected:
  uint64_t limit() const { return limit_; }
  bool FitsUnderLimit(uint64_t more) const { return limit_ == 0 || reserved_ + more <= limit_; }
  void Take(uint64_t bytes) {
    reserved_ += bytes;
    ++driver_calls_;
  }
  void GiveBack(uint64_t bytes) {
    reserved_ -= bytes;
    ++driver_calls_;
  }
  void Hold(uint64_t bytes) { held_ += bytes; }
  void Release(uint64_t bytes) { held_ -= bytes; }

 private:
  const uint64_t limit_;
  uint64_t reserved_ = 0;
  uint64_t held_ = 0;
  uint64_t driver_calls_ = 0;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_REPLAY_POLICY_H_
