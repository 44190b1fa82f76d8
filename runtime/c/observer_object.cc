// Notes which threads are told, and turns events into structs of C.
#include "runtime/c/observer_object.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "device/op_identity.h"

namespace graphtree::c {
namespace {

// Never destroyed: a tree may end after what is static.
struct Told {
  std::mutex mutex;
  std::vector<std::thread::id> threads;                  // guarded by mutex; once for each call
  std::vector<std::unique_ptr<const Watcher>> leftover;  // guarded by mutex

  static Told& All() {
    static Told* const told = new Told;
    return *told;
  }
};

// What the callback throws goes on to whoever counts it, after the thread's note has gone.
void Noting(absl::FunctionRef<void()> callback) {
  Told& told = Told::All();
  const std::thread::id self = std::this_thread::get_id();
  {
    const std::lock_guard<std::mutex> lock(told.mutex);
    told.threads.push_back(self);
  }
  std::exception_ptr thrown = Caught(callback);
  {
    const std::lock_guard<std::mutex> lock(told.mutex);
    told.threads.erase(std::find(told.threads.begin(), told.threads.end(), self));
  }
  ThrowOn(std::move(thrown));
}

// REQUIRES: this thread is not told now.
void EndLeftover() {
  std::vector<std::unique_ptr<const Watcher>> leftover;
  {
    const std::lock_guard<std::mutex> lock(Told::All().mutex);
    leftover.swap(Told::All().leftover);
  }
  // They have left their lists. This waits for the calls that had begun before.
  Watcher nobody({}, {}, CallerContext(nullptr, nullptr));
  if (!leftover.empty()) Observers::OfProcess().Leave(&nobody);
}

gt_observed Empty(gt_observed_kind kind) {
  gt_observed told = GT_INIT(gt_observed);
  told.kind = kind;
  told.ok = 1;
  told.recording = kNoRecording;
  return told;
}

void SetFunction(absl::string_view name, gt_observed* told) {
  told->function = name.data();
  told->function_bytes = name.size();
}

}  // namespace

bool IsToldNow() {
  Told& told = Told::All();
  const std::lock_guard<std::mutex> lock(told.mutex);
  return std::count(told.threads.begin(), told.threads.end(), std::this_thread::get_id()) > 0;
}

absl::Status CheckNotTold(absl::string_view what) {
  if (!IsToldNow()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      what, " within a call of an observer's, where nobody can wait for others: "
      "gt_observer_end ends an observer there, and the rest is for later"));
}

absl::Status CheckNotToldBy(const Tree& tree, absl::string_view what) {
  if (!tree.IsInside() || !IsToldNow()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      what, " within a call of an observer's, in the middle of a call of that tree: that is for "
      "later"));
}

void Watcher::Tell(const gt_observed& event) {
  Noting([&] { calls_.saw(context_.get(), &event); });
}

void Watcher::Saw(const GraphEvent& event) {
  if (calls_.saw_graph != nullptr) {
    const gt_graph_event told = {.size = sizeof(gt_graph_event),
                                 .moment = static_cast<gt_moment>(event.moment),
                                 .ok = event.ok ? 1 : 0,
                                 .function = event.function.data(),
                                 .function_bytes = event.function.size(),
                                 .recording = event.recording,
                                 .section = event.section};
    Noting([&] { calls_.saw_graph(context_.get(), &told); });
    return;
  }
  gt_observed told = Empty(GT_SAW_GRAPH);
  SetFunction(event.function, &told);
  told.moment = static_cast<gt_moment>(event.moment);
  told.run = static_cast<gt_run_kind>(event.run);
  told.ok = event.ok ? 1 : 0;
  told.recording = event.recording;
  told.section = event.section;
  told.tree = event.tree;
  told.launch = event.launch;
  if (event.identity != nullptr && *event.identity != nullptr) {
    told.op_count = (*event.identity)->op_count;
  }
  Tell(told);
}

void Watcher::SawOp(const OpEvent& event) {
  gt_observed told = Empty(event.begins ? GT_SAW_OP_BEGIN : GT_SAW_OP_END);
  SetFunction(event.function, &told);
  told.run = static_cast<gt_run_kind>(event.run);
  told.ok = event.ok ? 1 : 0;
  told.op = event.op.data();
  told.op_bytes = event.op.size();
  told.tree = event.tree;
  told.launch = event.launch;
  Tell(told);
}

void Watcher::SawPhase(const PhaseEvent& event) {
  gt_observed told = Empty(event.begins ? GT_SAW_PHASE_BEGIN : GT_SAW_PHASE_END);
  SetFunction(event.function, &told);
  told.phase = static_cast<gt_phase>(event.phase);
  told.ok = event.ok ? 1 : 0;
  told.recording = event.recording;
  told.tree = event.tree;
  Tell(told);
}

ObserverObject::ObserverObject(std::shared_ptr<OpenedTree> opened,
                               std::unique_ptr<Watcher> watcher)
    : opened_(std::move(opened)),
      of_(opened_ != nullptr ? opened_->tree().observers() : Observers::OfProcess()),
      watcher_(std::move(watcher)) {
  if (!IsToldNow()) EndLeftover();
  of_.Join(watcher_.get());
}

ObserverObject::~ObserverObject() {
  Leave();
  if (opened_ != nullptr) opened_->belongings().Forget(handle_);
  if (!IsToldNow()) {
    EndLeftover();
    return;
  }
  const std::lock_guard<std::mutex> lock(Told::All().mutex);
  Told::All().leftover.push_back(std::move(watcher_));
}

}  // namespace graphtree::c
