// Lists that are replaced as a whole, and seats for those who read them.
#include "device/observer.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "device/base/guarded_call.h"

namespace graphtree {
namespace {

// Numbers of launches hold their tree's number, so that no two trees share one.
constexpr int kLaunchBits = 40;

}  // namespace

struct Observers::Member {
  Observer* observer = nullptr;
  uint64_t wishes = 0;
  uint64_t replay_in = 1;
  uint64_t joined = 0;            // its number among all that ever joined
  std::atomic<bool> gone{false};  // has left, and may be in a list that is still read
};

struct Observers::List {
  std::vector<std::shared_ptr<Member>> members;
};

// All lists of the process. Never destroyed: a tree may end after what is static.
struct Observers::Registry {
  std::mutex mutex;
  std::condition_variable nobody_waits;
  std::vector<Observers*> all;
  Observers* of_process = nullptr;
  uint64_t last_tree = 0;
  // Raised once all lists show the one that has joined.
  std::atomic<uint64_t> joined{0};
};

Observers::Registry& Observers::TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

Observers& Observers::OfProcess() {
  static Observers* const process = new Observers(Kind::kOfProcess);
  return *process;
}

Observers::Observers(Kind) : tree_(0), last_launch_(0) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.of_process = this;
  registry.all.push_back(this);
  Publish();
}

Observers::Observers()
    : tree_([] {
        OfProcess();
        const std::lock_guard<std::mutex> lock(TheRegistry().mutex);
        return ++TheRegistry().last_tree;
      }()),
      last_launch_(tree_ << kLaunchBits) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.all.push_back(this);
  Publish();
}

Observers::~Observers() {
  Registry& registry = TheRegistry();
  std::unique_lock<std::mutex> lock(registry.mutex);
  registry.all.erase(std::remove(registry.all.begin(), registry.all.end(), this),
                     registry.all.end());
  registry.nobody_waits.wait(lock, [this] { return waiting_ == 0; });
}

// A thread's seat, from its first event until the outermost one has been told.
class Observers::Telling {
 public:
  explicit Telling(Observers& observers) : thread_(std::this_thread::get_id()) {
    while (!TakeSeat(observers)) std::this_thread::yield();
    list_ = observers.list_.load(std::memory_order_seq_cst);
  }
  ~Telling() {
    if (seat_ == nullptr) return;
    seat_->thread.store({}, std::memory_order_relaxed);
    seat_->turn.store(turn_ + 1, std::memory_order_release);
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  const List& list() const { return *list_; }

 private:
  // True also where this thread has one already.
  bool TakeSeat(Observers& observers) {
    for (Seat& seat : observers.seats_) {
      uint64_t turn = seat.turn.load(std::memory_order_relaxed);
      const bool is_free = turn % 2 == 0;
      if (is_free && seat.turn.compare_exchange_strong(turn, turn + 1)) {
        seat.thread.store(thread_, std::memory_order_relaxed);
        turn_ = turn + 1;
        seat_ = &seat;
        return true;
      }
      if (seat.thread.load(std::memory_order_relaxed) == thread_) return true;
    }
    return false;
  }

  const std::thread::id thread_;
  Seat* seat_ = nullptr;  // null: an event that the thread tells further out has it
  uint64_t turn_ = 0;
  const List* list_ = nullptr;
};

void Observers::Publish() {
  Registry& registry = TheRegistry();
  auto list = std::make_unique<List>();
  list->members = members_;
  if (this != registry.of_process) {
    const std::vector<std::shared_ptr<Member>>& all = registry.of_process->members_;
    list->members.insert(list->members.end(), all.begin(), all.end());
  }
  uint64_t wanted = 0;
  uint64_t sample = 0;
  for (const std::shared_ptr<Member>& member : list->members) {
    wanted |= member->wishes;
    if ((member->wishes & kReplays) != 0) sample = std::gcd(sample, member->replay_in);
  }
  list_.store(list.get(), std::memory_order_seq_cst);
  lists_.push_back(std::move(list));
  wanted_.store(wanted | sample << kSampleShift, std::memory_order_release);
  DropOldLists();
}

// Whoever takes a seat from here on reads the list that is in force.
void Observers::DropOldLists() {
  for (const Seat& seat : seats_) {
    if (seat.turn.load(std::memory_order_seq_cst) % 2 == 1) return;
  }
  lists_.erase(lists_.begin(), lists_.end() - 1);
}

bool Observers::IsToldBy(std::thread::id thread) const {
  return std::any_of(seats_.begin(), seats_.end(), [thread](const Seat& seat) {
    return seat.thread.load(std::memory_order_relaxed) == thread;
  });
}

void Observers::Join(Observer* observer) {
  if (observer == nullptr) return;
  const Wishes wishes = observer->wishes();
  constexpr uint64_t kMostSampled = ~uint64_t{0} >> kSampleShift;
  auto member = std::make_shared<Member>();
  member->observer = observer;
  if (wishes.graphs) member->wishes |= kGraphs;
  if (wishes.replays) member->wishes |= kReplays;
  if (wishes.ops) member->wishes |= kOps;
  if (wishes.phases) member->wishes |= kPhases;
  member->replay_in = std::clamp(wishes.replay_in, uint64_t{1}, kMostSampled);
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  member->joined = registry.joined.load(std::memory_order_relaxed) + 1;
  members_.push_back(std::move(member));
  for (Observers* one : registry.all) {
    if (one == this || this == registry.of_process) one->Publish();
  }
  registry.joined.fetch_add(1, std::memory_order_release);
}

void Observers::Leave(Observer* observer) {
  Registry& registry = TheRegistry();
  std::vector<Observers*> told;
  {
    const std::lock_guard<std::mutex> lock(registry.mutex);
    const auto left = std::stable_partition(
        members_.begin(), members_.end(),
        [observer](const std::shared_ptr<Member>& one) { return one->observer != observer; });
    for (auto member = left; member != members_.end(); ++member) (*member)->gone.store(true);
    members_.erase(left, members_.end());
    bool is_inside = false;
    for (Observers* one : registry.all) {
      is_inside |= one->IsToldBy(std::this_thread::get_id());
      if (one != this && this != registry.of_process) continue;
      one->Publish();
      told.push_back(one);
    }
    if (is_inside) return;
    for (Observers* one : told) ++one->waiting_;
  }
  for (const Observers* one : told) one->AwaitTellers();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  for (Observers* one : told) {
    --one->waiting_;
    one->DropOldLists();
  }
  registry.nobody_waits.notify_all();
}

void Observers::AwaitTellers() const {
  for (const Seat& seat : seats_) {
    const uint64_t turn = seat.turn.load(std::memory_order_seq_cst);
    for (int looks = 0; turn % 2 == 1; ++looks) {
      if (seat.turn.load(std::memory_order_acquire) != turn) break;
      if (looks < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }
}

Audience Observers::Now() {
  return {TheRegistry().joined.load(std::memory_order_acquire)};
}

uint64_t Observers::NextReplay() {
  const uint64_t number = replays_++;
  const uint64_t sample = wanted() >> kSampleShift;
  if (sample > 1 && number % sample != 0) return 0;
  return NextLaunch();
}

absl::Status Observers::TellAll(Wish wish, Audience audience,
                                absl::FunctionRef<void(Observer&)> say) {
  const Telling telling(*this);
  absl::Status first;
  for (const std::shared_ptr<Member>& member : telling.list().members) {
    if ((member->wishes & wish) == 0 || member->joined > audience.joined_by) continue;
    const bool samples = wish == kReplays && member->replay_in > 1;
    if (samples && (replays_ - 1) % member->replay_in != 0) continue;
    if (member->gone.load(std::memory_order_relaxed)) continue;
    absl::Status said = Guarded([&] { say(*member->observer); });
    if (said.ok()) continue;
    thrown_.fetch_add(1, std::memory_order_relaxed);
    first.Update(std::move(said));
  }
  return first;
}

absl::Status Observers::Tell(const GraphEvent& event, Audience audience) {
  const bool is_replay =
      event.moment == GraphMoment::kReplayBegin || event.moment == GraphMoment::kReplayEnd;
  return TellAll(is_replay ? kReplays : kGraphs, audience,
                 [&event](Observer& observer) { observer.Saw(event); });
}

absl::Status Observers::Tell(const OpEvent& event, Audience audience) {
  return TellAll(kOps, audience, [&event](Observer& observer) { observer.SawOp(event); });
}

absl::Status Observers::Tell(const PhaseEvent& event, Audience audience) {
  return TellAll(kPhases, audience, [&event](Observer& observer) { observer.SawPhase(event); });
}

void ToldPhase::Begin(Phase phase, absl::string_view function, uint64_t recording) {
  event_.phase = phase;
  event_.function = function;
  event_.recording = recording;
  event_.tree = observers_->tree();
  audience_ = Observers::Now();
  observers_->Tell(event_, audience_).IgnoreError();
}

void ToldPhase::End() {
  event_.begins = false;
  event_.ok = ok_;
  observers_->Tell(event_, audience_).IgnoreError();
}

}  // namespace graphtree
