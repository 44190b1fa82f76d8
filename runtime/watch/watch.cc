// Lists under a mutex.
#include "runtime/watch/watch.h"

#include <algorithm>

namespace graphtree {

void Watch::AddLane(WatchedLane lane) {
  const std::lock_guard<std::mutex> lock(mutex_);
  lanes_.push_back(std::move(lane));
}

void Watch::AddProgram(uint32_t number, std::shared_ptr<const ProgramWatch> program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string name = program->name;
  programs_.push_back({number, std::move(name), std::move(program)});
}

void Watch::RemoveProgram(uint32_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t removed = 0;
  for (WatchedProgram& program : programs_) {
    if (program.number == number) program.watch = nullptr;
    removed += program.watch == nullptr;
  }
  if (removed <= kMostRemoved) return;
  programs_.erase(std::find_if(
      programs_.begin(), programs_.end(),
      [](const WatchedProgram& program) { return program.watch == nullptr; }));
}

void Watch::AddTag(std::shared_ptr<const TagWatch> tag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tags_.push_back(std::move(tag));
}

void Watch::RemoveTag(const TagWatch* tag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(tags_, [tag](const auto& one) { return one.get() == tag; });
}

std::vector<std::shared_ptr<const TagWatch>> Watch::tags() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tags_;
}

void Watch::SetLaunchCosts(std::vector<LaunchCost> costs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  launch_costs_ = std::move(costs);
}

std::vector<LaunchCost> Watch::launch_costs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return launch_costs_;
}

void Watch::SetPlan(const PlanResult& plan, std::map<uint32_t, DriverModel> drivers) {
  auto shown = std::make_shared<const PlanResult>(plan);
  const std::lock_guard<std::mutex> lock(mutex_);
  plan_ = std::move(shown);
  drivers_ = std::move(drivers);
}

std::shared_ptr<const PlanResult> Watch::plan() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return plan_;
}

std::map<uint32_t, DriverModel> Watch::drivers() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return drivers_;
}

std::vector<WatchedLane> Watch::lanes() const {
  std::vector<WatchedLane> lanes;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lanes = lanes_;
  }
  const bool is_in_call = std::any_of(lanes.begin(), lanes.end(), [](const WatchedLane& lane) {
    return lane.tree->IsInside();
  });
  for (WatchedLane& lane : lanes) {
    lane.may_wait = !is_in_call || lane.tree->IsInside() || !lane.tree->IsOthers();
  }
  return lanes;
}

std::vector<WatchedProgram> Watch::programs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return programs_;
}

}  // namespace graphtree
