// An Observer is told what becomes of graphs, of single ops that run now, and of what a tree does
// in between (observer_events.h). Whoever watches implements it (a profiler, a log, a test); the
// tree, which knows what each graph is for, calls it.
//
// Observers is the list of who watches one tree; OfProcess() is the list of who watches all trees,
// those that are made later, too.
//
//   OfProcess   o1            Join and Leave write a new list into every tree
//   tree 1      o1 o2  <----- an event reads one list, its tree's
//   tree 2      o1
//
// An observer says what it wants to hear when it joins (Wishes). What anybody in a tree's list
// wants stands in one word, so an event that nobody wants costs one load, and is not even put
// together. A teller takes a seat, reads the list and gives the seat back: one atomic operation and
// no lock. Whoever leaves waits for the seats that were taken before.
//
// Of a begin and its end both are told to the same observers: who joins between the two hears
// neither.
//
// Observers are told on the thread that acts, one event after the other; one that watches several
// trees is told by the threads of all of them, at once. An observer must not call a tree that tells
// it: such a call is an error. An exception from one of them is caught and counted: the others are
// told all the same, and the call goes on.
//
// Threads: join and leave on any thread. After Leave the observer hears nothing more, and no call
// of it runs, with one exception: a Leave from inside of an observer's own call waits for nobody.
// Calls of it on other threads can then still be under way; a second Leave, from elsewhere, waits
// for these.
#ifndef GRAPHTREE_DEVICE_OBSERVER_H_
#define GRAPHTREE_DEVICE_OBSERVER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "device/observer_events.h"

namespace graphtree {

// What an observer wants to hear. Asked once, when it joins.
struct Wishes {
  bool graphs = true;   // all moments but those of replays
  bool replays = true;
  uint64_t replay_in = 1;  // of a tree's launches of graphs the 1st of so many; 0 is taken as 1
  bool ops = false;
  bool phases = false;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual Wishes wishes() const { return {}; }
  virtual void Saw(const GraphEvent& event) = 0;
  virtual void SawOp(const OpEvent& event) {}
  virtual void SawPhase(const PhaseEvent& event) {}
};

// Who has joined by some moment: both events of a pair are told to these alone.
struct Audience {
  uint64_t joined_by = ~uint64_t{0};
};

class Observers {
 public:
  // Of one tree. Those of the process watch it from the start.
  Observers();
  // REQUIRES: nobody tells, joins or leaves any more.
  ~Observers();
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;

  static Observers& OfProcess();

  // `observer` must leave before it is destroyed. Null joins nobody.
  void Join(Observer* observer);
  void Leave(Observer* observer);

  bool any() const { return wanted() != 0; }
  bool wants_graphs() const { return (wanted() & kGraphs) != 0; }
  bool wants_replays() const { return (wanted() & kReplays) != 0; }
  bool wants_ops() const { return (wanted() & kOps) != 0; }
  bool wants_phases() const { return (wanted() & kPhases) != 0; }

  // The tree's number in this process; 0 of OfProcess.
  uint64_t tree() const { return tree_; }
  // A number for a launch that is told. For the tree's caller.
  uint64_t NextLaunch() { return ++last_launch_; }
  // The number of a replay that is about to begin, or 0 if no observer has this one in its sample.
  // What is told next of replays is told to those who have. REQUIRES: wants_replays(). For the
  // tree's caller.
  uint64_t NextReplay();

  static Audience Now();

  // Tells those who wish to hear it. Returns the first exception as an error, and counts each.
  absl::Status Tell(const GraphEvent& event, Audience audience = {});
  absl::Status Tell(const OpEvent& event, Audience audience = {});
  absl::Status Tell(const PhaseEvent& event, Audience audience = {});

  // Exceptions of observers so far.
  uint64_t thrown() const { return thrown_.load(std::memory_order_relaxed); }

 private:
  // Bits of wanted(); above them stands in how many replays somebody wants one.
  enum Wish : uint64_t { kGraphs = 1, kReplays = 2, kOps = 4, kPhases = 8 };
  static constexpr int kSampleShift = 8;
  static constexpr size_t kSeats = 8;

  // One that has joined.
  struct Member;
  // Who is told: never changed, and replaced as a whole.
  struct List;
  // A thread that tells, while `turn` is odd.
  struct Seat {
    std::atomic<uint64_t> turn{0};
    std::atomic<std::thread::id> thread{};  // for that thread alone, to know itself
  };
  struct Registry;
  class Telling;
  enum class Kind : uint8_t { kOfProcess };

  explicit Observers(Kind kind);
  static Registry& TheRegistry();

  uint64_t wanted() const { return wanted_.load(std::memory_order_relaxed); }
  absl::Status TellAll(Wish wish, Audience audience, absl::FunctionRef<void(Observer&)> say);
  // These want the registry's lock.
  void Publish();
  void DropOldLists();
  bool IsToldBy(std::thread::id thread) const;
  // Waits, without that lock, until all are done who tell now.
  void AwaitTellers() const;

  const uint64_t tree_;
  std::atomic<uint64_t> wanted_{0};
  std::atomic<const List*> list_{nullptr};
  uint64_t last_launch_;
  uint64_t replays_ = 0;  // since somebody wants them
  std::atomic<uint64_t> thrown_{0};
  std::array<Seat, kSeats> seats_;
  // Under the registry's lock:
  std::vector<std::shared_ptr<Member>> members_;     // that have joined this list itself
  std::vector<std::unique_ptr<const List>> lists_;   // the last one is in force
  int waiting_ = 0;                                  // threads in AwaitTellers
};

// Tells that a phase begins, and, when it goes, that it has ended. Where nobody wants to hear of
// phases it costs one load.
//
//   ToldPhase told(observers, Phase::kPark, "");
//   return told.Ended(Park());
class ToldPhase {
 public:
  // `observers` and what `function` shows outlive it.
  ToldPhase(Observers& observers, Phase phase, absl::string_view function,
            uint64_t recording = kNoRecording)
      : observers_(observers.wants_phases() ? &observers : nullptr) {
    if (observers_ != nullptr) Begin(phase, function, recording);
  }
  ~ToldPhase() {
    if (observers_ != nullptr) End();
  }
  ToldPhase(const ToldPhase&) = delete;
  ToldPhase& operator=(const ToldPhase&) = delete;

  // The end says that the phase went well only if this was called with an OK. Returns the status.
  absl::Status Ended(absl::Status status) {
    ok_ = status.ok();
    return status;
  }

 private:
  void Begin(Phase phase, absl::string_view function, uint64_t recording);
  void End();

  Observers* const observers_;
  Audience audience_;
  bool ok_ = false;
  PhaseEvent event_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_OBSERVER_H_
