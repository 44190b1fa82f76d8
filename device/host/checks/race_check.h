// Finds two ops that touch the same bytes, one of them writing, with nothing that orders them.
//
//   bytes      |-----------------|--------|--------------------|
//   who wrote    copy, a's 4       none     scale, b's 9           last writer of every byte
//   who read     -                 sum, a   norm, b; sum, a's 7    readers since
//
// For every byte the checker knows its last writer and who has read it since. An op that writes
// must be ordered after all of them, one that reads after the last writer: by its stream, by
// events, by the host having waited, or by the edges of its graph. The order in which the ops
// happen to run does not matter, so one run finds a race that a thousand comparisons of the
// resulting bytes might miss.
//
// Bytes that are always touched by the same ranges cost one search in a tree and no allocation.
// Pure: no lock.
#ifndef GRAPHTREE_DEVICE_HOST_CHECKS_RACE_CHECK_H_
#define GRAPHTREE_DEVICE_HOST_CHECKS_RACE_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/inlined_vector.h"
#include "device/address.h"
#include "device/host/ops/vector_clock.h"

namespace graphtree::host {

// Where in a graph an op stands: ops of one chain follow each other, and `before` says for every
// chain how many of its ops come before this one.
struct GraphPlace {
  uint32_t chain = 0;
  uint32_t index = 0;
  const uint32_t* before = nullptr;  // null for an op that was launched by itself
};

// An op that is about to run, and what comes before it.
struct Moment {
  Ticket ticket;
  const VectorClock* clock = nullptr;  // of its stream
  GraphPlace place;
  const std::string* op = nullptr;
};

struct Race {
  AddressRange bytes;
  std::string earlier_op;
  uint32_t earlier_slot = 0;
  bool earlier_wrote = false;
};

class RaceCheck {
 public:
  // The op touches `range`. Returns the first bytes with a race, if there are any.
  std::optional<Race> Touch(AddressRange range, bool write, const Moment& now);
  // Forgets who touched `range`: its addresses mean other memory from now on.
  void Forget(AddressRange range);
  // Drops the history of ops up to `done`, as every later op comes after these anyway. Cheap unless
  // much has gathered.
  void Prune(const VectorClock& done);

  size_t size() const { return runs_.size(); }

 private:
  struct Touched {
    Ticket ticket;  // sequence 0: nobody
    uint32_t chain = 0;
    uint32_t index = 0;
    const std::string* op = nullptr;
  };
  struct History {
    Touched writer;
    absl::InlinedVector<Touched, 1> readers;
  };
  struct Run {
    Address end = 0;
    uint32_t history = 0;
  };
  using Runs = absl::btree_map<Address, Run>;

  static bool Before(const Touched& earlier, const Moment& now);
  static const Touched* FirstUnordered(const History& history, bool write, const Moment& now);
  static Touched TouchOf(const Moment& now);
  void Apply(History& history, bool write, const Moment& now);
  std::optional<Race> TouchRuns(AddressRange range, bool write, const Moment& now);
  // Makes `at` a border between runs.
  void Split(Address at);
  // Covers the gaps of `range` with empty runs. REQUIRES: its ends are borders.
  void FillGaps(AddressRange range);
  uint32_t NewHistory();

  Runs runs_;
  std::vector<History> histories_;
  std::vector<uint32_t> free_histories_;
  size_t prune_above_ = 4096;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_CHECKS_RACE_CHECK_H_
