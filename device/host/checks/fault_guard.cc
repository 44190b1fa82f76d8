// The signal handler, the way back, and the chain to whoever handled faults before.
#include "device/host/checks/fault_guard.h"

#include <pthread.h>
#include <ucontext.h>

#include <csetjmp>
#include <csignal>
#include <mutex>

#include "absl/strings/str_format.h"

namespace graphtree::host {
namespace {

struct Frame {
  sigjmp_buf back;
  Fault fault;
  sigset_t mask;  // as it was before the fault
  const void* owner;
  Frame* outer;
};

thread_local Frame* volatile innermost = nullptr;

struct sigaction previous_segv;
struct sigaction previous_bus;

void Chain(const struct sigaction& previous, int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    // Returning runs the faulting instruction again, now without us.
    sigaction(signal, &previous, nullptr);
  } else {
    previous.sa_handler(signal);
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  Frame* frame = innermost;
  if (frame == nullptr) {
    Chain(signal == SIGBUS ? previous_bus : previous_segv, signal, info, context);
    return;
  }
  frame->fault.happened = true;
  frame->fault.has_address = info->si_code != SI_KERNEL;
  frame->fault.address = AddressOf(info->si_addr);
  frame->mask = static_cast<const ucontext_t*>(context)->uc_sigmask;
  siglongjmp(frame->back, 1);
}

}  // namespace

void InstallFaultHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
  });
}

std::string PlaceOf(const Fault& fault) {
  if (!fault.has_address) return "an address that no memory can have, such as a poisoned pointer";
  return absl::StrFormat("%#x, where no accessible memory is", fault.address);
}

bool IsInside(const void* owner) {
  for (const Frame* frame = innermost; frame != nullptr; frame = frame->outer) {
    if (frame->owner == owner) return true;
  }
  return false;
}

Fault RunGuarded(void (*function)(void*), void* argument, const void* owner) {
  Frame frame;
  frame.owner = owner;
  frame.outer = innermost;
  if (sigsetjmp(frame.back, 0) != 0) {
    innermost = frame.outer;
    // The handler was left without returning, so what it blocked is still blocked. Saving the mask
    // with every jump point would cost each op a system call.
    pthread_sigmask(SIG_SETMASK, &frame.mask, nullptr);
    return frame.fault;
  }
  innermost = &frame;
  function(argument);
  innermost = frame.outer;
  return {};
}

}  // namespace graphtree::host
