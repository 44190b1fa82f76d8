// Threads, their turns and their faults.
#include "tests/simulation/run_together.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "tests/simulation/baton.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

class Worlds {
 public:
  Worlds(FaultDevice& device, const Together& together)
      : device_(device),
        together_(together),
        baton_(together.programs.size()),
        threads_(together.programs.size()) {
    for (uint32_t t = 0; t < threads_.size(); ++t) {
      const Program& program = together.programs[t];
      threads_[t].world =
          std::make_unique<World>(device, &threads_[t].plan, program, OptionsFor(program));
      threads_[t].world->SetBesideOthers();
    }
  }

  std::string Run() {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < threads_.size(); ++t) {
      threads.emplace_back([this, t] { together_.in_turns ? RunInTurns(t) : RunOne(t); });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < threads_.size(); ++t) {
      const absl::Status& status = threads_[t].status;
      if (!status.ok()) return absl::StrCat("thread ", t, ": ", status.ToString());
    }
    return "";
  }

  // What a fault has kept from being given back.
  bool Leaks() const {
    for (const Thread& thread : threads_) {
      if (thread.plan.fired_in() == "Memory.Release") return true;
    }
    return false;
  }
  const std::vector<Moment>& order() const { return order_; }

 private:
  struct Thread {
    FaultPlan plan;
    std::unique_ptr<World> world;
    absl::Status status;
    // The rest is read and written by whose turn it is.
    bool in_body = false;
    Moment at = {};
    const Action* action = nullptr;
  };

  void RunOne(uint32_t t) {
    const FaultPlan::OnThisThread own(device_.plan(), threads_[t].plan);
    threads_[t].status.Update(threads_[t].world->Run());
    threads_[t].world = nullptr;
  }
  void RunInTurns(uint32_t t) {
    baton_.Await(t);
    threads_[t].world->set_between([this, t](size_t action) { BetweenActions(t, action); },
                                   [this, t] { BetweenOps(t); });
    RunOne(t);
    baton_.Leave(t);
  }
  void BetweenActions(uint32_t t, size_t action) {
    threads_[t].action = &together_.programs[t].actions[action];
    threads_[t].at = {t, action, 0};
    HandOn(t);
    for (const Thread& other : threads_) {
      if (other.in_body) threads_[t].status.Update(other.world->Intrude());
    }
  }
  void BetweenOps(uint32_t t) {
    threads_[t].in_body = true;
    ++threads_[t].at.op;
    HandOn(t);
    threads_[t].in_body = false;
  }
  // As the action says; behind what it says nobody else goes on.
  void HandOn(uint32_t t) {
    const std::vector<uint32_t>& turns = threads_[t].action->turns;
    const size_t op = threads_[t].at.op;
    baton_.Pass(t, op < turns.size() ? turns[op] : t);
    order_.push_back(threads_[t].at);
  }

  FaultDevice& device_;
  const Together& together_;
  Baton baton_;
  std::vector<Thread> threads_;
  std::vector<Moment> order_;
};

}  // namespace

std::string FailureOf(const Together& together, std::vector<Moment>* order) {
  const CrashNote note(RerunOf("tests/simulation/together_test", together.seed),
                       [&together] { return ToString(together); });
  HostOptions options;
  options.seed = together.seed;
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice(options);
  if (!host.ok()) return host.status().ToString();
  FaultDevice device(*std::move(host));
  Worlds worlds(device, together);
  std::string failure = worlds.Run();
  if (order != nullptr) *order = worlds.order();
  if (!failure.empty()) return failure;
  const absl::Status closed = device.Close();
  return closed.ok() || worlds.Leaks() ? "" : closed.ToString();
}

}  // namespace graphtree::simulation
