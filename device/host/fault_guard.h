// Runs a function and survives it touching memory that is not there.
//
//   Fault fault = RunGuarded([&] { work.Run(); });
//   if (fault.happened) ...   // fault.address is where
//
// A SIGSEGV or SIGBUS on a thread that is inside RunGuarded ends the function there and then: the
// thread jumps back, and destructors of the function's own frames do not run. That is the price of
// naming the op instead of dying; the device is lost afterwards. A fault on any other thread goes
// to the handler that was there before.
//
// Cost: one sigsetjmp without the signal mask, a few nanoseconds. Safe from several threads.
#ifndef GRAPHTREE_DEVICE_HOST_FAULT_GUARD_H_
#define GRAPHTREE_DEVICE_HOST_FAULT_GUARD_H_

#include "device/address.h"

namespace graphtree::host {

struct Fault {
  bool happened = false;
  Address address = 0;
};

// Puts the handler in place; once for the process, later calls do nothing.
void InstallFaultHandler();

// REQUIRES: InstallFaultHandler was called. Calls do not nest on one thread.
Fault RunGuarded(void (*function)(void*), void* argument);

template <typename Function>
Fault RunGuarded(Function&& function) {
  return RunGuarded([](void* argument) { (*static_cast<Function*>(argument))(); }, &function);
}

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_FAULT_GUARD_H_
