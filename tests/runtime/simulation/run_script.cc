// Opens, runs, closes; shrinks.
#include "tests/runtime/simulation/run_script.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "tests/simulation/crash_note.h"
#include "tests/simulation/drop_runs.h"

namespace graphtree::runtime_simulation {
namespace {

constexpr const char* kTest = "tests/runtime/simulation/simulation_test";

std::string FailureOn(Device& device, FaultPlan* plan, const Script& script, Reached* reached) {
  const simulation::CrashNote note(simulation::RerunOf(kTest, script.seed),
                                   [&script] { return ToString(script); });
  absl::Status status = World(device, plan, script, reached).Run();
  // What the device did not take back stays: nobody asks it twice.
  const bool leaks = plan != nullptr && plan->fired_in() == "Memory.Release";
  const absl::Status closed = device.Close();
  if (status.ok() && !leaks) status = closed;
  return status.ok() ? "" : status.ToString();
}

// Keeps a change of the script that makes it another one, if it fails still.
bool Attempt(Script* script, const std::function<bool(const Script&)>& fails, int* tries,
             const std::function<void(Script&)>& change) {
  if (*tries <= 0) return false;
  Script simpler = *script;
  change(simpler);
  if (ToString(simpler) == ToString(*script)) return false;
  --*tries;
  if (!fails(simpler)) return false;
  *script = std::move(simpler);
  return true;
}

// A step's oddities go one by one.
bool Simplify(Script* script, const std::function<bool(const Script&)>& fails, int* tries) {
  bool any = false;
  const auto attempt = [&](const std::function<void(Action&)>& change, size_t at) {
    any |= Attempt(script, fails, tries, [&](Script& simpler) { change(simpler.actions[at]); });
  };
  for (size_t at = 0; at < script->actions.size(); ++at) {
    attempt([](Action& action) { action.fail_at = 0; }, at);
    for (size_t s = 0; s < script->actions[at].steps.size(); ++s) {
      attempt([s](Action& action) { action.steps[s].mistake = Mistake::kNone; }, at);
      attempt([s](Action& action) { action.steps[s].continues = false; }, at);
      attempt([s](Action& action) { action.steps[s].body_fails = false; }, at);
      attempt([s](Action& action) { action.steps[s].moves_dep = false; }, at);
      attempt([s](Action& action) { action.steps[s].stream = 0; }, at);
      attempt([s](Action& action) { action.steps[s].holds = false; }, at);
      attempt([s](Action& action) { action.steps[s].fills = 0; }, at);
      attempt([s](Action& action) { action.steps[s].rewrites = false; }, at);
    }
  }
  return any;
}

bool DropOps(Script* script, const std::function<bool(const Script&)>& fails, int* tries) {
  bool any = false;
  for (size_t p = 0; p < script->programs.size(); ++p) {
    for (size_t at = script->programs[p].ops.size(); at-- > 0;) {
      any |= Attempt(script, fails, tries, [p, at](Script& smaller) {
        ProgramSpec& spec = smaller.programs[p];
        spec.ops.erase(spec.ops.begin() + at);
        std::vector<uint32_t> kept;
        for (uint32_t output : spec.kept) {
          if (output < spec.outputs()) kept.push_back(output);
        }
        spec.kept = std::move(kept);
      });
    }
  }
  return any;
}

// What programs have but their ops.
bool SimplifyPrograms(Script* script, const std::function<bool(const Script&)>& fails,
                      int* tries) {
  bool any = false;
  const auto attempt = [&](const std::function<void(ProgramSpec&)>& change, size_t at) {
    any |= Attempt(script, fails, tries, [&](Script& simpler) { change(simpler.programs[at]); });
  };
  for (size_t p = 0; p < script->programs.size(); ++p) {
    attempt([](ProgramSpec& spec) { spec.tells_when_free = false; }, p);
    attempt([](ProgramSpec& spec) { spec.says_when_free = false; }, p);
    attempt([](ProgramSpec& spec) { spec.plans = false; }, p);
    for (size_t at = script->programs[p].deps.size(); at-- > 0;) {
      attempt([at](ProgramSpec& spec) { spec.deps.erase(spec.deps.begin() + at); }, p);
    }
  }
  return any;
}

}  // namespace

std::string FailureOnHost(const Script& script, Reached* reached) {
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice({.seed = script.seed});
  if (!host.ok()) return host.status().ToString();
  FaultDevice device(*std::move(host));
  return FailureOn(device, &device.plan(), script, reached);
}

std::string FailureTogether(std::vector<Script> scripts) {
  absl::StatusOr<std::unique_ptr<Device>> host = OpenHostDevice({.seed = scripts[0].seed});
  if (!host.ok()) return host.status().ToString();
  std::vector<absl::Status> said(scripts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < scripts.size(); ++i) {
    scripts[i].shares_device = true;
    threads.emplace_back([&device = **host, &script = scripts[i], &status = said[i]] {
      status = World(device, nullptr, script, nullptr).Run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  absl::Status status;
  for (const absl::Status& one : said) status.Update(one);
  status.Update((*host)->Close());
  return status.ok() ? "" : status.ToString();
}

std::string FailureOnGpu(const Script& script) {
  absl::StatusOr<std::unique_ptr<Device>> gpu = OpenDevice("cuda:0");
  return gpu.ok() ? FailureOn(**gpu, nullptr, script, nullptr) : gpu.status().ToString();
}

Script Shrink(Script script, const std::function<bool(const Script&)>& fails, int tries) {
  while (tries > 0) {
    bool any = simulation::DropRuns(&script, &Script::actions, fails, &tries);
    any |= Simplify(&script, fails, &tries);
    any |= DropOps(&script, fails, &tries);
    any |= SimplifyPrograms(&script, fails, &tries);
    if (!any) break;
  }
  return script;
}

}  // namespace graphtree::runtime_simulation
