// Keeps one id for each GPU that was ever opened.
#include "graphs/memory/device_place.h"

#include <mutex>
#include <set>

namespace graphtree {

DevicePlace DevicePlaceOf(const Device& device) {
  const DeviceInfo& info = device.info();
  if (info.is_opened_anew) return {&device, info.name};
  static std::mutex* const mutex = new std::mutex();
  static std::set<std::string>* const identities = new std::set<std::string>();
  std::lock_guard<std::mutex> lock(*mutex);
  return {&*identities->insert(info.identity).first, info.name};
}

}  // namespace graphtree
