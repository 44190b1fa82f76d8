// All checks that an op has to pass on the host device.
//
//   when it is issued       its bytes are live                      (liveness.h)
//   before it runs          its bytes are mapped and accessible     (access_table.h)
//                           no unordered op touches the same bytes  (race_check.h)
//
// What an op touches is what its launch declared. Bytes that an undeclared pointer reaches are not
// seen here; if they are not mapped the fault guard catches the op in the act.
//
// Guarded by the engine's lock.
#ifndef GRAPHTREE_DEVICE_HOST_CHECKS_CHECKS_H_
#define GRAPHTREE_DEVICE_HOST_CHECKS_CHECKS_H_

#include <string>
#include <unordered_set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "device/address.h"
#include "device/host/checks/access_table.h"
#include "device/host/checks/liveness.h"
#include "device/host/checks/race_check.h"
#include "device/host/host_options.h"
#include "device/host/ops/work.h"

namespace graphtree::host {

class Checks {
 public:
  explicit Checks(const HostOptions& options)
      : check_races_(options.check_races), poison_(options.poison) {}

  AccessTable& access() { return access_; }
  Liveness& liveness() { return liveness_; }
  RaceCheck& races() { return races_; }
  bool poison() const { return poison_; }

  // Messages call the stream in `slot` by this name.
  void NameSlot(uint32_t slot, const std::string& name);

  // The op is issued now.
  absl::Status Issue(Work& work);
  // Marks work as opaque whose plain values may hold pointers to the device's memory.
  void FindLoosePointers(Work& work) const;
  // The op runs now. `now` comes without the op's name.
  absl::Status Run(const Work& work, Moment now);

  // Fills those parts of `range` that may be written.
  void Fill(AddressRange range, uint8_t byte) const;

 private:
  absl::Status RunRaces(const Work& work, Moment now);
  absl::Status RaceError(const Work& work, const Footprint& print, const Race& race,
                         const Moment& now) const;
  const std::string* Interned(const Work& work);

  const bool check_races_;
  const bool poison_;
  AccessTable access_;
  Liveness liveness_;
  RaceCheck races_;
  std::vector<std::string> slot_names_;
  // Histories outlive kernels, so names are kept here. A kernel's address may be used again.
  std::unordered_set<std::string> names_;
  absl::flat_hash_map<const Kernel*, const std::string*> kernel_names_;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_CHECKS_CHECKS_H_
