// Holds contexts of callbacks.
#include "runtime/c/device_objects.h"

namespace graphtree::c {

std::shared_ptr<CallerContext> HoldContext(void* context, void (*destroy)(void*), Entry* entry) {
  std::shared_ptr<CallerContext> held;
  if (TryOwn([&] { held = std::make_shared<CallerContext>(context, destroy); })) return held;
  CallerContext(context, destroy).EndNow();
  entry->Fail(Entry::NoHandle());
  return nullptr;
}

}  // namespace graphtree::c
