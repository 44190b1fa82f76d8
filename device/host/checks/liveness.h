// Which bytes an allocator above has handed out, and which it has taken back.
//
//   |  unknown  |==== live "x" ====|  unknown  |---- dead "freed x" ----|==== live "y" ====|
//
// An op is held to this where it is issued, not where it runs: a block that a program frees after
// queueing work on it is dead when that work runs, and rightly used. Work that is issued on dead
// bytes is a use after free; a range that begins in a live block and goes on behind it runs into
// the red zone (whatever lies there). Bytes that nobody ever spoke of may be used freely.
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
  // What an op may touch of `range`, cut where one op may not go on: in address order.
  std::vector<AddressRange> UsableParts(AddressRange range) const;

 private:
  struct Note {
    AddressRange whole;  // as it was noted; part of it may be covered by later notes
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
