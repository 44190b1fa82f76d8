// Opens, runs, closes.
#include "tests/simulation/run_program.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "device/device.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "graphs/budget.h"
#include "graphs/tree.h"
#include "tests/simulation/baton.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/world.h"

namespace graphtree::simulation {
namespace {

// Every third seed has little room, so that what it recorded goes and comes back.
TreeBudget BudgetFor(uint32_t seed) {
  if (seed % 3 != 0) return {};
  return {.nodes = 4 + seed % 4,
          .executables = 1 + seed / 3 % 4,
          .executable_bytes = uint64_t{400} << 10,
          .siblings = 1 + seed % 2,
          .shapes_of_function = 1 + seed % 2,
          .shapes = 3,
          .half_life = 8,
          .retry_after = 4};
}

TreeOptions OptionsFor(const Program& program) {
  TreeOptions options;
  options.pool_bytes = 64 << 20;
  options.budget = BudgetFor(program.seed);
  if (program.patches_all) options.patch_bytes = 1;
  // Executables take turns as soon as they can.
  options.spare_after = program.seed % 4 == 1 ? 2 : 1;
  return options;
}

std::string FailureOn(Device& device, FaultPlan* plan, const Program& program,
                      TreeStats* stats) {
  absl::Status status;
  {
    World world(device, plan, program, OptionsFor(program));
    status = world.Run();
    if (stats != nullptr) *stats = world.stats();
  }
  const bool leaks = plan != nullptr && plan->fired_in() == "Memory.Release";
  const absl::Status closed = device.Close();
  if (status.ok() && !leaks) status = closed;
  return status.ok() ? "" : status.ToString();
}

// Worlds on threads. While one of them is in the middle of a body, the others try to get in.
class Together {
 public:
  Together(Device& device, const std::vector<Program>& programs, uint32_t seed)
      : programs_(programs), baton_(seed, programs.size()), in_body_(programs.size(), false) {
    for (const Program& program : programs) {
      worlds_.push_back(std::make_unique<World>(device, nullptr, program, OptionsFor(program)));
    }
    statuses_.resize(programs.size());
  }

  std::string Run(bool in_turns) {
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < programs_.size(); ++t) {
      threads.emplace_back([this, t, in_turns] { in_turns ? RunInTurns(t) : RunOne(t); });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < statuses_.size(); ++t) {
      if (!statuses_[t].ok()) return absl::StrCat("thread ", t, ": ", statuses_[t].ToString());
    }
    return "";
  }

 private:
  void RunOne(uint32_t t) {
    statuses_[t].Update(worlds_[t]->Run());
    worlds_[t] = nullptr;
  }
  void RunInTurns(uint32_t t) {
    baton_.Await(t);
    worlds_[t]->set_between(
        [this, t] {
          baton_.Pass(t);
          for (uint32_t other = 0; other < worlds_.size(); ++other) {
            if (in_body_[other]) statuses_[t].Update(worlds_[other]->Intrude());
          }
        },
        [this, t] {
          in_body_[t] = true;
          baton_.Pass(t);
          in_body_[t] = false;
        });
    RunOne(t);
    baton_.Leave(t);
  }

  const std::vector<Program>& programs_;
  Baton baton_;
  std::vector<std::unique_ptr<World>> worlds_;
  std::vector<absl::Status> statuses_;
  std::vector<char> in_body_;  // by thread; read and written by whose turn it is
};

}  // namespace

std::string FailureOnHost(const Program& program, TreeStats* stats) {
  const CrashNote note(RerunOf("tests/simulation/simulation_test", program.seed),
                       ToString(program));
  HostOptions options;
  options.seed = program.seed;
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice(options);
  if (!host.ok()) return host.status().ToString();
  FaultDevice device(*std::move(host));
  return FailureOn(device, &device.plan(), program, stats);
}

std::string FailureTogether(const std::vector<Program>& programs, uint32_t seed, bool in_turns) {
  std::string text;
  for (const Program& program : programs) text += ToString(program);
  const CrashNote note(RerunOf("tests/simulation/together_test", seed), text);
  HostOptions options;
  options.seed = seed;
  absl::StatusOr<std::unique_ptr<Device>> device = OpenHostDevice(options);
  if (!device.ok()) return device.status().ToString();
  Together together(**device, programs, seed);
  const std::string failure = together.Run(in_turns);
  if (!failure.empty()) return failure;
  const absl::Status closed = (*device)->Close();
  return closed.ok() ? "" : closed.ToString();
}

std::string FailureOnGpu(const Program& program) {
  const CrashNote note(RerunOf("tests/simulation/simulation_test", program.seed),
                       ToString(program));
  absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice("cuda:0");
  return gpu.ok() ? FailureOn(**gpu, nullptr, program, nullptr) : gpu.status().ToString();
}

}  // namespace graphtree::simulation
