// An observer that knows in which order a tree's events must come.
//
//   capture begin, capture end        one after the other, of one recording
//   instantiate ... destroy           of one executable, once each
//   replay begin, replay end          one after the other, of an executable that is there
#ifndef GRAPHTREE_TESTS_SIMULATION_WATCHER_H_
#define GRAPHTREE_TESTS_SIMULATION_WATCHER_H_

#include <cstdint>
#include <set>
#include <string>

#include "device/graph.h"
#include "device/observer.h"

namespace graphtree::simulation {

class Watcher : public Observer {
 public:
  void Saw(const GraphEvent& event) override;

  // The first thing that was wrong; empty if nothing was.
  const std::string& wrong() const { return wrong_; }
  // Executables that are there.
  size_t executables() const { return executables_.size(); }
  // Launches that worked.
  uint64_t launches() const { return launches_; }

 private:
  void Expect(bool right, const GraphEvent& event);

  static constexpr uint64_t kNobody = ~uint64_t{0};

  uint64_t captured_ = kNobody;
  uint64_t replayed_ = kNobody;
  uint64_t launches_ = 0;
  std::set<const Executable*> executables_;
  std::string wrong_;
};

}  // namespace graphtree::simulation

#endif  // GRAPHTREE_TESTS_SIMULATION_WATCHER_H_
