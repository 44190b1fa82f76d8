// Knows which addresses lie on the tree's device. The caller's own memory does not say where it
// lies, so the device is asked once for each page and the answer is remembered (home_pages.h).
//
// Threads: the tree's caller. Cost: two loads for an address whose page is known.
#ifndef GRAPHTREE_GRAPHS_RUN_HOME_H_
#define GRAPHTREE_GRAPHS_RUN_HOME_H_

#include <string>

#include "absl/status/status.h"
#include "device/device.h"
#include "graphs/memory/device_place.h"
#include "graphs/memory/home_pages.h"
#include "graphs/run/call.h"

namespace graphtree {

class Home {
 public:
  explicit Home(Device& device);

  const DevicePlace& place() const { return place_; }

  // To be called before IsKnown, once for a group of questions.
  void BeginQuestions() { pages_.ForgetIfAnyMoved(); }
  // True if the address is known to be at home. If false, OtherHomeOf must be asked.
  bool IsKnown(Address address) const { return pages_.Knows(address); }
  // The name of the device that the address lies on, if it is another one; asks the device where it
  // must. Empty for an address that is at home.
  std::string OtherHomeOf(Address address);
  // The same for a tensor: its maker says where it lies; of the caller's memory the device does.
  std::string OtherHomeOf(const Value& tensor);
  // An error that names the input and both devices, if the input lies on another one.
  absl::Status CheckInput(const Call& call, size_t input);

 private:
  Device& device_;
  const DevicePlace place_;
  HomePages pages_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_RUN_HOME_H_
