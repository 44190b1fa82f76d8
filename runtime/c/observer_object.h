// Observers as objects of the C interface: callbacks that are told what trees do.
//
//   gt_observer --> ObserverObject --> Watcher, in the list of one tree or of the process
//   a tree acts --> Observers --> Watcher --> the callback, on a thread that is noted meanwhile
//
// Whoever ends an observer waits for its calls on other threads; within a call of an observer's
// nobody can, as two could wait for each other. So the handle is released outside of such calls. An
// object that ends within one all the same, with its tree, leaves its watcher to the next one that
// begins or ends outside.
//
// Threads: any. Cost of an event: two locks, and the callback.
#ifndef GRAPHTREE_RUNTIME_C_OBSERVER_OBJECT_H_
#define GRAPHTREE_RUNTIME_C_OBSERVER_OBJECT_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/observer.h"
#include "graphs/tree.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/objects.h"
#include "runtime/c/tree_objects.h"

namespace graphtree::c {

// Whether this thread is in a call of an observer's.
bool IsToldNow();
// An error, if it is, of what would wait for observers.
absl::Status CheckNotTold(absl::string_view what);

// The same of what would change a tree in the middle of the call that tells the observer; other
// trees may be changed there.
absl::Status CheckNotToldBy(const Tree& tree, absl::string_view what);

// One of the two is null.
struct WatcherCalls {
  void (*saw_graph)(void* context, const gt_graph_event* event) = nullptr;
  void (*saw)(void* context, const gt_observed* event) = nullptr;
};

class Watcher : public Observer {
 public:
  Watcher(const WatcherCalls& calls, const Wishes& wishes, CallerContext context)
      : calls_(calls), wishes_(wishes), context_(std::move(context)) {}
  Wishes wishes() const override { return wishes_; }
  void Saw(const GraphEvent& event) override;
  void SawOp(const OpEvent& event) override;
  void SawPhase(const PhaseEvent& event) override;

 private:
  void Tell(const gt_observed& event);

  const WatcherCalls calls_;
  const Wishes wishes_;
  const CallerContext context_;
};

class ObserverObject : public Object {
 public:
  static constexpr Kind kKind = c::kObserver;
  // Of all trees, if `opened` is null.
  ObserverObject(std::shared_ptr<OpenedTree> opened, std::unique_ptr<Watcher> watcher);
  ~ObserverObject() override;
  const std::shared_ptr<OpenedTree>& opened() const { return opened_; }
  void SetHandle(Handle handle) { handle_ = handle; }
  absl::Status MayEnd() override { return CheckNotTold("an observer is released"); }
  // It hears nothing more.
  void Leave() { of_.Leave(watcher_.get()); }

 private:
  const std::shared_ptr<OpenedTree> opened_;
  Observers& of_;
  std::unique_ptr<Watcher> watcher_;
  Handle handle_ = 0;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_OBSERVER_OBJECT_H_
