// The signal handler, the way back, and the chain to whoever handled faults before.
#include "device/host/fault_guard.h"

#include <pthread.h>
#include <ucontext.h>

#include <csetjmp>
#include <csignal>
#include <mutex>

namespace graphtree::host {
namespace {

struct Frame {
  sigjmp_buf back;
  Address address;
  sigset_t mask;  // as it was before the fault
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
  frame->address = AddressOf(info->si_addr);
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

Fault RunGuarded(void (*function)(void*), void* argument) {
  Frame frame;
  frame.address = 0;
  if (sigsetjmp(frame.back, 0) != 0) {
    innermost = nullptr;
    // The handler was left without returning, so what it blocked is still blocked. Saving the mask
    // with every jump point would cost each op a system call.
    pthread_sigmask(SIG_SETMASK, &frame.mask, nullptr);
    return {true, frame.address};
  }
  innermost = &frame;
  function(argument);
  innermost = nullptr;
  return {};
}

}  // namespace graphtree::host
