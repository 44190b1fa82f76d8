// The machine that runs a host device's work: streams' queues, the scheduler, the checks.
//
//   issue -----> queues (one per stream) -----> ready set -----> run -----> done
//                  waits are resolved            the seed picks    unlocked,
//                  at a queue's front            one of them       guarded
//
// Seeded: nothing runs until someone waits (or a queue grows long), then the waiting thread itself
// picks ready ops of all streams until what it waits for is done. So with one thread the order is a
// function of the seed and the calls, and a missing event shows as wrong bytes. Several threads may
// wait, and run ops, at once. Host callbacks run on a thread of the engine's, and so do ops that a
// query of a stream or an event starts: a callback or kernel that blocks until the caller goes on
// does not block the caller.
//
// One lock guards everything but the bodies of ops, which run without it. Costs: see host_bench.
#ifndef GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_H_
#define GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "device/host/checks/checks.h"
#include "device/host/engine/stream_queue.h"
#include "device/host/engine/waiting_fills.h"
#include "device/host/graph/capture.h"
#include "device/host/host_options.h"
#include "device/host/work_watch.h"

namespace graphtree::host {

class Engine {
 public:
  using Lock = std::unique_lock<std::mutex>;

  explicit Engine(const HostOptions& options);
  ~Engine();

  // Every other call is made with this lock held; calls that take it as an argument may release it
  // meanwhile.
  Lock Guard() { return Lock(mutex_); }

  // OK, or why no call can work: the device is lost or closed.
  const absl::Status& health() const { return health_; }
  // OK, or why the calling thread may make no call: it is inside a kernel's body or a host call of
  // this device, where waiting for the work's own stream would never end. Or as health().
  const absl::Status& MayCall() const;
  void Lose(absl::Status why);

  Captures& captures() { return captures_; }
  Checks& checks() { return checks_; }

  // Null if nobody watches.
  HostWorkWatcher* watcher() const { return watcher_; }
  void Watch(HostWorkWatcher* watcher) { watcher_ = watcher; }

  // Streams. A queue that is given up runs until it is empty.
  StreamQueue* NewQueue(std::string prefix, bool ours);
  // The one that every device has.
  StreamQueue* LegacyQueue();
  bool IsLive(const void* queue) const;
  void GiveUp(StreamQueue& queue);

  // Issuing: take a unit, fill it in, issue it.
  Unit* NewUnit(UnitKind kind);
  void DropUnit(Unit* unit) { units_.Give(unit); }
  void Issue(Lock& lock, StreamQueue& queue, Unit* unit);
  void IssueWait(Lock& lock, StreamQueue& queue, Ticket ticket, const VectorClock& clock);
  // Sets the event to this point of the stream.
  void Record(Lock& lock, StreamQueue& queue, const std::shared_ptr<EventState>& event);

  // Waiting.
  bool IsDone(Ticket ticket) const {
    return queues_[ticket.slot]->completed >= ticket.sequence;
  }
  bool Poll(Lock& lock, Ticket ticket);
  void WaitFor(Lock& lock, Ticket ticket);
  void WaitForAll(Lock& lock) { RunDownTo(lock, 0); }
  // The host has seen that this work is done: everything that is issued from now on comes after it.
  void HostKnows(Ticket ticket, const VectorClock& clock);

  // Fills `range` once nothing that was issued before can touch it any more, but never after an op
  // that is issued later (waiting_fills.h).
  void FillInOrder(AddressRange range, uint8_t byte);

  // Ends the threads. REQUIRES: nothing is pending.
  void Stop();

 private:
  struct ReadyItem {
    StreamQueue* queue;
    uint32_t op;  // kWhole unless the front is a replay
  };
  static constexpr uint32_t kWhole = ~uint32_t{0};

  // engine_run.cc
  void Advance(StreamQueue& queue);
  bool AdvanceFront(StreamQueue& queue);
  void MakeReady(StreamQueue& queue);
  void CompleteFront(StreamQueue& queue);
  ReadyItem Pick();
  void RunOne(Lock& lock);
  void RunItem(Lock& lock, ReadyItem item);
  bool Admit(StreamQueue& queue, Unit& unit, uint32_t op, const Work& work);
  void LetWaitersOn(StreamQueue& queue);
  void NoteEventOp(const StreamQueue& queue, const EventOp& event_op);
  void TellWatcher(ReadyItem item, int64_t start_ns, const Op& op);
  void FinishItem(ReadyItem item);
  void LetOthersKnow();
  template <typename Done>
  void RunUntil(Lock& lock, const Done& done);
  void RunDownTo(Lock& lock, uint64_t pending);

  // engine_threads.cc
  void HandToCallbacks(Lock& lock, ReadyItem item);
  void CallbackLoop();
  void PollLoop();
  void WorkerLoop(StreamQueue* queue);

  // engine.cc
  StreamQueue* FreeSlot();
  void SetEvents(const StreamQueue& queue, const Unit& unit);
  void LearnFromHost(StreamQueue& queue);
  void AfterIssue(Lock& lock, StreamQueue& queue);
  bool Touches(Unit& unit, AddressRange range) const;
  void FillNow(const std::vector<ByteFill>& fills);

  const HostOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int sleepers_ = 0;
  absl::Status health_;
  bool stopping_ = false;
  HostWorkWatcher* watcher_ = nullptr;

  Captures captures_;
  Checks checks_;

  std::vector<std::unique_ptr<StreamQueue>> queues_;
  StreamQueue* legacy_ = nullptr;
  uint32_t streams_named_ = 0;
  UnitPool units_;
  uint64_t issued_ = 0;   // units, to all streams
  uint64_t pending_ = 0;  // units issued and not completed
  uint64_t taken_ = 0;    // items picked and not finished
  std::vector<ReadyItem> ready_;
  std::vector<uint32_t> ready_ops_;          // scratch
  std::vector<StreamQueue*> to_advance_;     // scratch
  uint64_t random_;

  VectorClock host_clock_;
  uint64_t host_version_ = 0;

  WaitingFills waiting_fills_;

  std::thread callback_thread_;
  std::deque<ReadyItem> callbacks_;
  uint64_t callbacks_handed_ = 0;
  uint64_t callbacks_done_ = 0;
  std::thread poll_thread_;
  int poll_steps_ = 0;
  bool polling_ = false;
};

}  // namespace graphtree::host

#endif  // GRAPHTREE_DEVICE_HOST_ENGINE_ENGINE_H_
