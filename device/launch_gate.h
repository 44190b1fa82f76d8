// LaunchGate: launches of graphs pass it; whoever must be alone closes it for some milliseconds.
//
//   thread A   Launch  | pass |----->            | waits at the gate |-- pass -->
//   thread B   Launch    | pass |--->              | waits          |-- pass -->
//   a profiler                      | Close ====== alone ====== open |
//                                     waits for those who are inside
//
// A tool that rewrites how the driver launches (CUPTI when it is finalized) breaks whatever launch
// is under way. So all that touches an executable passes: instantiating, launching, uploading,
// updating, patching, destroying. Work that is on a stream already goes on.
//
// Every executable has a LaunchPlace, and only the thread that uses the executable writes to it. So
// passing is one store, one load, one store, on no cache line that two threads write to: about 1
// ns. Closing pays for that: it sets the flag, has the kernel put a barrier into every thread of
// the process (membarrier), and walks over all places. Where the kernel has no such barrier a pass
// exchanges instead of storing.
//
// No launch starves: who waited while the gate was closed passes before it can be closed again. Nor
// does who closes: a gate that is to be closed lets nobody in. One thread has it at a time.
//
// The thread that has closed the gate passes it freely, so what it launches itself (or calls that
// do) blocks nobody; it is in no danger from itself. Do not close the gate inside of a pass, thus
// in a body that a device runs within Launch, nor while holding a lock that a launching thread may
// want: Close then finds the place taken until its patience ends, and fails in words.
//
// One gate serves all devices of the process, since what closes it concerns all of them.
//
// While it is watched (by a profiler that is told of launches by the driver, on the launching
// thread) passes also note which thread they are on, so that the profiler can tell a launch of this
// library from somebody else's: PassingHere. That costs some tens of ns.
//
// Threads: everything may be called on any thread; a LaunchPlace is used by one thread at a time.
#ifndef GRAPHTREE_DEVICE_LAUNCH_GATE_H_
#define GRAPHTREE_DEVICE_LAUNCH_GATE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphtree {

class LaunchGate;
class PassingThreads;

// Where one executable passes. Lives as long as the executable.
class LaunchPlace {
 public:
  // `executable` is the device's own handle, null for what is none yet.
  explicit LaunchPlace(const void* executable = nullptr);
  LaunchPlace(LaunchGate& gate, const void* executable);
  ~LaunchPlace();
  LaunchPlace(const LaunchPlace&) = delete;
  LaunchPlace& operator=(const LaunchPlace&) = delete;

  const void* executable() const { return executable_; }

  // The number by which a profiler knows the last launch; 0 if there is none. Noted by whoever
  // watches, inside of the launch.
  uint64_t correlation() const { return correlation_.load(std::memory_order_relaxed); }
  void NoteCorrelation(uint64_t correlation) {
    correlation_.store(correlation, std::memory_order_relaxed);
  }

 private:
  friend class LaunchGate;
  friend class LaunchPass;

  LaunchGate& gate_;
  const void* const executable_;
  const bool exchanges_;  // this kernel has no barrier for all threads
  std::atomic<bool> inside_{false};
  bool is_noted_ = false;  // among the passing threads
  std::atomic<uint64_t> correlation_{0};
  LaunchPlace* before_ = nullptr;  // in the gate's list
  LaunchPlace* after_ = nullptr;
};

class LaunchGate {
 public:
  // Closed for as long as this lives.
  class Closed {
   public:
    Closed() = default;
    Closed(Closed&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Closed& operator=(Closed&& other) noexcept {
      Open();
      gate_ = std::exchange(other.gate_, nullptr);
      return *this;
    }
    ~Closed() { Open(); }
    void Open() {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->Open();
    }

   private:
    friend class LaunchGate;
    explicit Closed(LaunchGate* gate) : gate_(gate) {}
    LaunchGate* gate_ = nullptr;
  };

  enum class Barrier : uint8_t { kOfKernelIfThere, kNone };

  explicit LaunchGate(Barrier barrier = Barrier::kOfKernelIfThere);
  ~LaunchGate();
  LaunchGate(const LaunchGate&) = delete;
  LaunchGate& operator=(const LaunchGate&) = delete;

  // The one that all devices pass.
  static LaunchGate& OfProcess();

  // Waits for its turn and for those who are inside, as long as `patience`. Afterwards nobody is
  // inside, and what they did happened before. DeadlineExceeded says who is in the way; the gate is
  // open then. REQUIRES: the calling thread has not closed this gate.
  absl::StatusOr<Closed> Close(std::chrono::nanoseconds patience = std::chrono::seconds(10));

  // Counted: as often as `true` was said, `false` must be. Passes that have begun are not noted.
  // When watching begins no place has a correlation.
  void Watch(bool watched);
  // The place at which the calling thread passes now; null if it does not, or began to before the
  // gate was watched.
  LaunchPlace* PassingHere() const;

  // How often somebody found the gate closed.
  uint64_t waits() const;

 private:
  friend class LaunchPass;
  friend class LaunchPlace;

  // Bits of state_.
  static constexpr uint32_t kClosed = 1;
  static constexpr uint32_t kWatched = 2;

  bool Enter(LaunchPlace& place);
  void Leave(LaunchPlace& place);
  void PassSlowly(LaunchPlace& place);
  void WaitUntilOpen(LaunchPlace& place);
  void Open();
  void OpenLocked();
  void Add(LaunchPlace& place);
  void Remove(LaunchPlace& place);
  int CountInside() const;
  absl::Status WaitForThoseInside(std::unique_lock<std::mutex>& lock,
                                  std::chrono::system_clock::time_point deadline);

  const bool exchanges_;
  std::atomic<uint32_t> state_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  LaunchPlace* places_ = nullptr;
  std::thread::id closer_;
  bool is_taken_ = false;   // somebody closes, or has closed
  uint64_t openings_ = 0;
  uint64_t waiting_ = 0;    // at the closed gate
  uint64_t owed_ = 0;       // of those who waited when it opened, who have not passed yet
  uint64_t waits_ = 0;
  int watchers_ = 0;
  std::unique_ptr<PassingThreads> passing_;
};

// Inside of the gate for as long as this lives.
//
//   const LaunchPass pass(place_);
//   return driver.GraphLaunch(...);
class LaunchPass {
 public:
  explicit LaunchPass(LaunchPlace& place) : place_(place) {
    if (__builtin_expect(!place.gate_.Enter(place), 0)) place.gate_.PassSlowly(place);
  }
  ~LaunchPass() {
    if (__builtin_expect(place_.is_noted_, 0)) place_.gate_.Leave(place_);
    place_.inside_.store(false, std::memory_order_release);
  }
  LaunchPass(const LaunchPass&) = delete;
  LaunchPass& operator=(const LaunchPass&) = delete;

 private:
  LaunchPlace& place_;
};

// True if the gate is open and nobody watches. The barrier of Close stands in for the one that is
// missing between the store and the load.
inline bool LaunchGate::Enter(LaunchPlace& place) {
  if (__builtin_expect(place.exchanges_, 0)) {
    place.inside_.exchange(true, std::memory_order_seq_cst);
    return state_.load(std::memory_order_seq_cst) == 0;
  }
  place.inside_.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return state_.load(std::memory_order_acquire) == 0;
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_LAUNCH_GATE_H_
