// A signal handler, which may call next to nothing.
#include "tests/simulation/crash_note.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree::simulation {
namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

std::atomic<const std::string*> current{nullptr};
std::atomic<uint64_t> action{0};
std::atomic<void (*)(uint64_t)> hook{nullptr};
bool is_installed = false;

void Put(const char* text, size_t length) {
  while (length > 0) {
    const ssize_t put = write(STDERR_FILENO, text, length);
    if (put <= 0) return;
    text += put;
    length -= static_cast<size_t>(put);
  }
}

void Put(const char* text) { Put(text, std::strlen(text)); }

void PutNumber(uint64_t number) {
  char digits[20];
  size_t at = sizeof(digits);
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  Put(digits + at, sizeof(digits) - at);
}

// The signal comes again when this returns, or is sent again, and finds nobody.
void OnCrash(int signal) {
  if (const std::string* text = current.exchange(nullptr)) {
    Put("\nthe simulation crashed in action ");
    PutNumber(action.load());
    Put(" of:\n");
    Put(text->data(), text->size());
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void InstallCrashHandler() {
  if (std::exchange(is_installed, true)) return;
  // A stack of its own: a fault may be that there is no more stack.
  static char stack[1 << 16];
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof(stack);
  sigaltstack(&alternate, nullptr);
  struct sigaction crash = {};
  crash.sa_handler = OnCrash;
  crash.sa_flags = SA_ONSTACK;
  sigemptyset(&crash.sa_mask);
  for (const int signal : kCrashes) sigaction(signal, &crash, nullptr);
}

std::string RerunOf(const std::string& test, uint32_t from) {
  return absl::StrCat("GRAPHTREE_SIMULATION_FROM=", from, " GRAPHTREE_SIMULATION_SEEDS=1 ", test);
}

CrashNote::CrashNote(const std::string& rerun, const std::function<std::string()>& program)
    : text_(is_installed ? absl::StrCat(program(), "which runs again with ", rerun, "\n") : "") {
  action.store(0);
  current.store(&text_);
}

CrashNote::~CrashNote() {
  const std::string* mine = &text_;
  current.compare_exchange_strong(mine, nullptr);
}

void CrashNote::AtAction(uint64_t number) {
  action.store(number, std::memory_order_relaxed);
  if (const auto call = hook.load(std::memory_order_relaxed)) call(number);
}

void CrashNote::set_at_action(void (*call)(uint64_t)) { hook.store(call); }

}  // namespace graphtree::simulation
