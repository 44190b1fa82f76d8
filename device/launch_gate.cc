// Closing and opening, waiting at the gate, and who passes on which thread.
#include "device/launch_gate.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"

namespace graphtree {
namespace {

using Clock = std::chrono::system_clock;

int Membarrier(int command) {
  return static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
}

bool HasBarrier() {
  static const bool has = Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return has;
}

}  // namespace

// A few short lists: which thread passes where. A thread that passes inside of a pass, as where one
// device wraps another, is on its list twice, the inner one last.
class PassingThreads {
 public:
  void Add(LaunchPlace* place) {
    List& list = ListOf(std::this_thread::get_id());
    const std::lock_guard<std::mutex> lock(list.mutex);
    list.entries.push_back({std::this_thread::get_id(), place});
  }
  void Remove(const LaunchPlace* place) {
    List& list = ListOf(std::this_thread::get_id());
    const std::lock_guard<std::mutex> lock(list.mutex);
    const auto found = std::find_if(list.entries.begin(), list.entries.end(),
                                    [&](const Entry& entry) { return entry.place == place; });
    if (found != list.entries.end()) list.entries.erase(found);
  }
  LaunchPlace* Here() {
    List& list = ListOf(std::this_thread::get_id());
    const std::lock_guard<std::mutex> lock(list.mutex);
    const auto found = std::find_if(
        list.entries.rbegin(), list.entries.rend(),
        [](const Entry& entry) { return entry.thread == std::this_thread::get_id(); });
    return found != list.entries.rend() ? found->place : nullptr;
  }

 private:
  struct Entry {
    std::thread::id thread;
    LaunchPlace* place;
  };
  struct alignas(64) List {
    std::mutex mutex;
    std::vector<Entry> entries;
  };

  // Ids are addresses of the threads' stacks, so the low bits are alike.
  List& ListOf(std::thread::id thread) {
    const uint64_t mixed = std::hash<std::thread::id>()(thread) * 0x9e3779b97f4a7c15u;
    return lists_[mixed >> 60];
  }

  std::array<List, 16> lists_;
};

LaunchPlace::LaunchPlace(const void* executable)
    : LaunchPlace(LaunchGate::OfProcess(), executable) {}

LaunchPlace::LaunchPlace(LaunchGate& gate, const void* executable)
    : gate_(gate), executable_(executable), exchanges_(gate.exchanges_) {
  gate_.Add(*this);
}

LaunchPlace::~LaunchPlace() { gate_.Remove(*this); }

LaunchGate::LaunchGate(Barrier barrier)
    : exchanges_(barrier == Barrier::kNone || !HasBarrier()),
      passing_(std::make_unique<PassingThreads>()) {}

LaunchGate::~LaunchGate() {
  GRAPHTREE_CHECK(places_ == nullptr && !is_taken_) << "a launch gate that is still in use goes";
}

LaunchGate& LaunchGate::OfProcess() {
  static auto* const gate = new LaunchGate;  // executables may outlive everything else
  return *gate;
}

void LaunchGate::Add(LaunchPlace& place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  place.after_ = places_;
  if (places_ != nullptr) places_->before_ = &place;
  places_ = &place;
}

void LaunchGate::Remove(LaunchPlace& place) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (place.before_ != nullptr ? place.before_->after_ : places_) = place.after_;
  if (place.after_ != nullptr) place.after_->before_ = place.before_;
}

int LaunchGate::CountInside() const {
  int inside = 0;
  for (const LaunchPlace* place = places_; place != nullptr; place = place->after_) {
    if (place->inside_.load(exchanges_ ? std::memory_order_seq_cst : std::memory_order_acquire)) {
      ++inside;
    }
  }
  return inside;
}

absl::Status LaunchGate::WaitForThoseInside(std::unique_lock<std::mutex>& lock,
                                            Clock::time_point deadline) {
  std::chrono::microseconds pause{10};
  for (int inside = CountInside(); inside > 0; inside = CountInside()) {
    if (Clock::now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("closing the launch gate: ", inside, " calls that use a graph's executable "
                       "do not end"));
    }
    lock.unlock();
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(500));
    lock.lock();
  }
  return absl::OkStatus();
}

absl::StatusOr<LaunchGate::Closed> LaunchGate::Close(std::chrono::nanoseconds patience) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
  std::unique_lock<std::mutex> lock(mutex_);
  GRAPHTREE_CHECK(closer_ != std::this_thread::get_id())
      << "a thread closes a launch gate that it has closed";
  if (!changed_.wait_until(lock, deadline, [this] { return !is_taken_ && owed_ == 0; })) {
    return absl::DeadlineExceededError(
        is_taken_ ? "closing the launch gate: another thread keeps it closed"
                  : absl::StrCat("closing the launch gate: ", owed_, " calls that waited at it "
                                 "have not gone on yet"));
  }
  is_taken_ = true;
  closer_ = std::this_thread::get_id();
  state_.fetch_or(kClosed, std::memory_order_seq_cst);
  absl::Status status;
  if (!exchanges_ && Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    status = absl::InternalError(absl::StrCat(
        "closing the launch gate: the kernel refuses a barrier of all threads, error ", errno));
  }
  if (status.ok()) status = WaitForThoseInside(lock, deadline);
  if (!status.ok()) {
    OpenLocked();
    return status;
  }
  return Closed(this);
}

void LaunchGate::Open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  OpenLocked();
}

void LaunchGate::OpenLocked() {
  state_.fetch_and(~kClosed, std::memory_order_release);
  closer_ = {};
  is_taken_ = false;
  owed_ = waiting_;
  waiting_ = 0;
  ++openings_;
  changed_.notify_all();
}

void LaunchGate::PassSlowly(LaunchPlace& place) {
  place.correlation_.store(0, std::memory_order_relaxed);
  if (state_.load(std::memory_order_acquire) & kClosed) WaitUntilOpen(place);
  if (state_.load(std::memory_order_acquire) & kWatched) {
    passing_->Add(&place);
    place.is_noted_ = true;
  }
}

// Whoever closes next waits for those who are owed, and looks at places with the lock held.
void LaunchGate::WaitUntilOpen(LaunchPlace& place) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!(state_.load(std::memory_order_relaxed) & kClosed)) return;
  if (closer_ == std::this_thread::get_id()) return;
  place.inside_.store(false, std::memory_order_release);
  ++waiting_;
  ++waits_;
  const uint64_t opening = openings_;
  changed_.wait(lock, [&] { return openings_ != opening; });
  place.inside_.store(true, std::memory_order_relaxed);
  if (--owed_ == 0) changed_.notify_all();
}

void LaunchGate::Leave(LaunchPlace& place) {
  passing_->Remove(&place);
  place.is_noted_ = false;
}

void LaunchGate::Watch(bool watched) {
  const std::lock_guard<std::mutex> lock(mutex_);
  watchers_ += watched ? 1 : -1;
  GRAPHTREE_CHECK(watchers_ >= 0) << "a launch gate is watched by " << watchers_;
  if (watched && watchers_ == 1) {
    // A launch that was made unwatched must not pass for an earlier one.
    for (LaunchPlace* place = places_; place != nullptr; place = place->after_) {
      place->NoteCorrelation(0);
    }
  }
  if (watchers_ > 0) {
    state_.fetch_or(kWatched, std::memory_order_relaxed);
  } else {
    state_.fetch_and(~kWatched, std::memory_order_relaxed);
  }
}

LaunchPlace* LaunchGate::PassingHere() const { return passing_->Here(); }

uint64_t LaunchGate::waits() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return waits_;
}

}  // namespace graphtree
