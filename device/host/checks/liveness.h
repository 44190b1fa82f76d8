// Which bytes an allocator above has handed out, and which it has taken back.
//
//   |  unknown  |==== live "x" ====|  unknown  |---- dead "freed x" ----|==== live "y" ====|
//
// An op is checked when it is issued, not when it runs: a block that a program frees after queueing
// work on it is dead when that work runs, and rightly used. Work that is issued on dead bytes is a
// use after free; a range that begins in a live block and goes on after its end runs into the red
// zone (whatever lies there). Bytes that no allocator spoke of may be used freely.
//
// Pure: no lock. Cost: a search in a tree per range.
#ifndef GRAPHTREE_DEVICE_HOST_CHECKS_LIVENESS_H_
#define GRAPHTREE_DEVICE_HOST_CHECKS_LIVENESS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/address.h"

namespace graphtree::host {

class Liveness {
 public:
  void SetLive(AddressRange range, absl::string_view label) { Set(range, true, label); }
  void SetDead(AddressRange range, absl::string_view reason) { Set(range, false, reason); }
  void Forget(AddressRange range);

  // Empty if an op may touch `range`; else what is wrong with it.
  std::string Check(AddressRange range) const;
  // The parts of `range` that ops may touch, in address order; no op may touch two of them at once.
  std::vector<AddressRange> UsableParts(AddressRange range) const;

 private:
  struct Note {
    AddressRange whole;  // as noted; later notes may cover parts of it
    Address end = 0;
    bool live = false;
    std::string text;
  };

  void Set(AddressRange range, bool live, absl::string_view text);
  void Split(Address at);

  std::map<Address, Note> notes_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_CHECKS_LIVENESS_H_
