// Signals end the loop, and the loop ends the server.
#include "tools/verbs/demo_serve.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/device.h"
#include "device/open.h"
#include "tools/cli/registry.h"
#include "tools/demo_model/report.h"
#include "tools/demo_model/serve.h"
#include "tools/verbs/cuda_environment.h"

namespace graphtree {
namespace {

std::atomic<bool> is_interrupted{false};

// While it lives the first signal is noted, and a second one ends the process. What the process
// leaves alone, as under nohup, it goes on to leave alone.
class Interrupts {
 public:
  Interrupts() {
    is_interrupted = false;
    struct sigaction action = {};
    action.sa_handler = [](int) { is_interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~Interrupts() {
    for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)] = {};
};

// The session's own folder where there is one.
std::string DefaultDoor() {
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  const bool is_there = folder != nullptr && *folder == '/' && access(folder, W_OK | X_OK) == 0;
  if (is_there) return absl::StrCat(folder, "/graphtree-demo.sock");
  return absl::StrCat("/tmp/graphtree-demo.", geteuid(), ".sock");
}

absl::StatusOr<demo::Served> ServeOn(const std::string& name, const demo::ServeOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                             OpenDevice(name, CudaOptionsOfEnvironment()));
  GRAPHTREE_ASSIGN_OR_RETURN(demo::Served served, demo::Serve(*device, options));
  GRAPHTREE_RETURN_IF_ERROR(device->Close());
  return served;
}

}  // namespace

int ServeUntilInterrupted(const std::string& device,
                          const std::function<std::vector<demo::Request>(int day)>& requests,
                          const demo::DemoOptions& options, cli::Console& console) {
  const std::string door = options.door.empty() ? DefaultDoor() : options.door;
  const Interrupts interrupts;
  const absl::StatusOr<demo::Served> served = ServeOn(
      device, {.requests = requests,
               .most_requests = options.most_requests,
               .budget_bytes = options.budget_bytes,
               .records_ahead = options.records_ahead,
               .records_idle = options.records_idle,
               .serving = options.serving,
               .door = door,
               .base = options.base,
               .is_open =
                   [&] {
                     console.out << "Serving on " << device
                                 << " until it is interrupted (Ctrl-C). To look in, in another "
                                    "terminal:\n\n  graphtree top "
                                 << door << "\n  graphtree explain " << door
                                 << "\n  graphtree memory watch " << door
                                 << "\n  curl --unix-socket " << door
                                 << " http://localhost/\n\n"
                                 << std::flush;
                   },
               .ends = [] { return is_interrupted.load(); }});
  if (!served.ok()) return cli::BadInput(console, "demo", served.status());
  console.out << "Served " << served->steps << " steps and " << served->tokens << " tokens in "
              << served->days << (served->days == 1 ? " day.\n" : " days.\n")
              << ToString(served->explanation) << demo::AdviceText(served->explanation);
  return cli::kFine;
}

}  // namespace graphtree
