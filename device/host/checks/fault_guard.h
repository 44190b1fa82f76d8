// Runs a function and survives it touching memory that is not there.
//
//   Fault fault = RunGuarded([&] { work.Run(); }, this);
//   if (fault.happened) ...   // PlaceOf(fault) says where
//
//   thread   ---- run for A [ ---- run for B [ ---- fault! ] ---- ] ----
//                           IsInside(A)      IsInside(A), (B)
//
// A SIGSEGV or SIGBUS on a thread that is inside RunGuarded ends the function there and then: the
// thread jumps back, and destructors of the function's own frames do not run. That is the price of
// naming the op instead of dying; the device is lost afterwards. A fault on any other thread goes
// to the handler that was there before. Calls nest: work of one device may use another one.
//
// Cost: one sigsetjmp without the signal mask, a few nanoseconds. Safe from several threads.
#ifndef GRAPHTREE_DEVICE_HOST_CHECKS_FAULT_GUARD_H_
#define GRAPHTREE_DEVICE_HOST_CHECKS_FAULT_GUARD_H_

#include <string>
#include <type_traits>

#include "device/address.h"

namespace graphtree::host {

struct Fault {
  bool happened = false;
  // False if no memory can ever have the address: the processor does not say which it was then.
  bool has_address = false;
  Address address = 0;
};

// "0x7f00, where no accessible memory is".
std::string PlaceOf(const Fault& fault);

// Puts the handler in place; once for the process, later calls do nothing.
void InstallFaultHandler();

// `owner` says for whom the function runs, for IsInside. REQUIRES: InstallFaultHandler was called.
Fault RunGuarded(void (*function)(void*), void* argument, const void* owner);

template <typename Function>
Fault RunGuarded(Function&& function, const void* owner = nullptr) {
  return RunGuarded(
      [](void* argument) { (*static_cast<std::remove_reference_t<Function>*>(argument))(); },
      &function, owner);
}

// Whether this thread is inside a function that RunGuarded runs for `owner`.
bool IsInside(const void* owner);

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_CHECKS_FAULT_GUARD_H_
