// Draws sessions, prints them, runs them.
#include "tests/outsider/serving/session.h"

#include <memory>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "tests/outsider/serving/rank.h"
#include "tests/simulation/crash_note.h"

namespace graphtree::outsider {
namespace {

constexpr const char* kNames[] = {"decode", "again",  "prefill", "draft", "swap",
                                  "forget", "shape",  "record",  "warm",  "leave", "sleep"};
static_assert(sizeof(kNames) / sizeof(kNames[0]) == kDeeds);
constexpr uint32_t kActs = 80;

// Both ranks, which vote before each decoding.
class Serving {
 public:
  Serving(const Session& session, Tally* tally)
      : session_(session), tally_(tally), device_(*OpenHostDevice({.seed = session.seed})) {}

  std::string Run() {
    absl::Status status = Open();
    for (size_t i = 0; i < session_.acts.size() && status.ok() && !is_over_; ++i) {
      simulation::CrashNote::AtAction(i);
      status = Do(session_.acts[i], static_cast<uint32_t>(i));
      if (!status.ok()) {
        status = absl::InternalError(absl::StrCat("act ", i, ": ", status.message()));
      }
    }
    for (const auto& rank : ranks_) {
      if (status.ok() && !is_over_) status = rank->CheckAtTheEnd();
      rank->Tell(tally_);
    }
    device_.plan().Clear();
    for (const auto& rank : ranks_) {
      const absl::Status closed = rank->Close();
      if (!is_over_) status.Update(closed);
    }
    ranks_.clear();
    const bool leaves = is_over_ || device_.plan().fired_in() == "Memory.Release";
    const absl::Status closed = device_.Close();
    if (!leaves) status.Update(closed);
    return status.ok() ? "" : status.ToString();
  }

 private:
  absl::Status Open() {
    for (uint32_t number = 0; number < 2; ++number) {
      ranks_.push_back(std::make_unique<Rank>(device_, session_));
      GRAPHTREE_RETURN_IF_ERROR(ranks_.back()->Open());
    }
    return absl::OkStatus();
  }

  absl::Status Do(const Act& act, uint32_t epoch) {
    const uint64_t fired = device_.plan().fired();
    if (act.fault != 0) device_.plan().FailCall(act.fault, ErrorCode::kOutOfMemory);
    absl::Status status = Act1(act, epoch);
    device_.plan().Clear();
    if (device_.plan().fired() == fired) return status;
    ++(*tally_)["faults"];
    if (status.ok()) return status;
    // The step that failed is given up, with the sequences that were in it. What could not be put
    // into an order may still run.
    const std::string where = device_.plan().fired_in();
    is_over_ = where == "Stream.Record" || where == "Stream.Wait";
    if (is_over_) return absl::OkStatus();
    // A step that says that it went well shows right rows, whatever failed in it.
    if (absl::IsDataLoss(status)) return status;
    ++(*tally_)["steps given up"];
    for (const auto& rank : ranks_) GRAPHTREE_RETURN_IF_ERROR(rank->ForgetAll());
    return absl::OkStatus();
  }

  absl::Status Act1(const Act& act, uint32_t epoch) {
    if (act.deed == Deed::kDecode || act.deed == Deed::kAgain) return Decode(act, epoch);
    for (uint32_t number = 0; number < 2; ++number) {
      GRAPHTREE_RETURN_IF_ERROR(
          ranks_[number]->Do(act.deed, number == 0 ? act.what : act.other, act.what));
    }
    return absl::OkStatus();
  }

  absl::Status Decode(const Act& act, uint32_t epoch) {
    const uint32_t what[] = {act.what, act.other};
    std::vector<Vote> votes(2);
    for (uint32_t i = 0; i < 2; ++i) {
      ranks_[i]->Pick(act.deed == Deed::kAgain, what[i]);
      GRAPHTREE_ASSIGN_OR_RETURN(votes[i], ranks_[i]->MakeVote(epoch));
    }
    bool replayed[2] = {};
    for (uint32_t i = 0; i < 2; ++i) {
      GRAPHTREE_RETURN_IF_ERROR(ranks_[i]->Decode(votes, epoch, &replayed[i]));
    }
    // Where budgets are small, or after faults, a rank may have lost what the other one has.
    const bool may_differ = session_.is_small || device_.plan().fired() > 0;
    if (replayed[0] == replayed[1] || may_differ) return absl::OkStatus();
    return absl::InternalError("one rank replayed, and the other one did not");
  }

  const Session& session_;
  Tally* const tally_;
  FaultDevice device_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  bool is_over_ = false;
};

}  // namespace

Session MakeSession(uint32_t seed, bool has_faults) {
  std::mt19937 random(seed);
  Session session;
  session.seed = seed;
  session.records_while_serving = seed % 3 != 0;
  session.is_small = seed % 4 == 1;
  session.is_checked = seed % 9 == 5;
  while (session.acts.size() < kActs) {
    Act act;
    const uint32_t kind = random() % 24;
    act.deed = kind < kDrawnDeeds ? static_cast<Deed>(kind)
               : kind < 18        ? Deed::kDecode
                                  : Deed::kAgain;
    act.what = random();
    act.other = random();
    // Takes no draw, so that sessions stay as they are.
    if (act.deed == Deed::kDecode && act.other % 8 == 0) act.deed = Deed::kSleep;
    if (has_faults && random() % 10 == 0) act.fault = 1 + random() % 40;
    session.acts.push_back(act);
  }
  return session;
}

std::string TextOf(const Session& session) {
  std::string text = absl::StrCat(
      "seed ", session.seed, session.records_while_serving ? "" : ", records ahead only",
      session.is_small ? ", small" : "", session.is_checked ? ", checked" : "", "\n");
  for (const Act& act : session.acts) {
    absl::StrAppend(&text, kNames[static_cast<int>(act.deed)], " ", act.what, " ", act.other);
    if (act.fault != 0) absl::StrAppend(&text, ", device call ", act.fault, " fails");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string WrongOf(const Session& session, Tally* tally) { return Serving(session, tally).Run(); }

}  // namespace graphtree::outsider
