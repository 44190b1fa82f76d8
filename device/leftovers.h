// What its owner could not give back to the device, as a capture was open: nothing may be unmapped,
// waited for or destroyed then.
//
//   ~Tree, ~Pool, a capture is open --> the leftover waits with its device --> given back once no
//                                                                              capture is open
//
// Giving one back may leave more behind, or ask for all to be given back once more: a tree's
// leftover may hold the last tensor of another pool, which goes then. So they are taken one by one
// until none is left, and a thread that is at it already goes on with what comes.
//
// Threads: safe from several.
#ifndef GRAPHTREE_DEVICE_LEFTOVERS_H_
#define GRAPHTREE_DEVICE_LEFTOVERS_H_

#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace graphtree {

class Leftover {
 public:
  virtual ~Leftover() = default;
  // What fails may be called again, and goes on where it failed.
  virtual absl::Status GiveBack() = 0;
};

class Leftovers {
 public:
  void Add(std::unique_ptr<Leftover> leftover);
  // Gives back one after the other for as long as `may` returns true. Those that fail stay; the
  // first error is returned. Called while this thread gives back, it leaves that to the outer call.
  absl::Status GiveBack(absl::FunctionRef<bool()> may);
  // Destroys them, and what they leave behind.
  void Drop();

 private:
  // Null if there is none.
  std::unique_ptr<Leftover> TakeFirst();
  // False if this thread gives back already.
  bool Enter();
  void Leave(std::vector<std::unique_ptr<Leftover>> failed);

  std::mutex mutex_;
  std::deque<std::unique_ptr<Leftover>> waiting_;  // guarded by mutex_
  std::vector<std::thread::id> givers_;            // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_LEFTOVERS_H_
