// Launches of graphs that do not pass the gate: of another library, or of the program itself. CUPTI
// may not leave beside one.
//
//   foreign   |--|  |--|  |--|                         |--|
//             begins, ends: not at rest   | quiet for long enough: at rest
//
// That they rest now says nothing of the next moment, so leaving beside somebody who launches now
// and then stays a small risk; the longer they have rested, the smaller it is.
//
// A call of the runtime makes one of the driver inside of it; both are told, and count as one.
//
// Threads: all calls are safe from several. The time is passed in.
#ifndef GRAPHTREE_PROFILER_CUPTI_FOREIGN_LAUNCHES_H_
#define GRAPHTREE_PROFILER_CUPTI_FOREIGN_LAUNCHES_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace graphtree::cupti {

class ForeignLaunches {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void Reset();
  // False if the thread is inside of one already.
  bool Begin(std::thread::id thread, Time now);
  void End(std::thread::id thread, Time now);

  // Nobody is inside, and the last one ended `quiet` ago or earlier.
  bool AtRest(Time now, std::chrono::nanoseconds quiet) const;
  uint64_t count() const;
  // "12 launches of graphs by others than this library, 1 of them under way".
  std::string Words() const;

 private:
  struct Inside {
    std::thread::id thread;
    int depth;
  };

  mutable std::mutex mutex_;
  std::vector<Inside> inside_;
  uint64_t count_ = 0;
  Time last_;
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_FOREIGN_LAUNCHES_H_
