// CuptiSession: comes and goes with CUPTI while graphs replay.
//
//   Attach    close the gate | subscribe, register buffers, enable launches, kernels, copies, fills
//             | open the gate
//   between   a launch: on its thread CUPTI tells the correlation, which is noted at the launch's
//             place; a full buffer: the feed reads it on a thread of its own
//   Detach    close the gate | flush, disable the kinds, read all that is there, finalize
//             | open the gate
//
// Why the gate: a launch beside cuptiFinalize ends in an illegal address. Why finalize: a
// subscriber that stays, with nothing enabled, makes launches twenty times slower. Why kernel-level
// records alone: graph-level ones fault with executables that were made before, and records of
// calls may end the process when CUPTI leaves. Work that is on a stream goes on meanwhile.
//
// Whatever fails on the way in, all that was done is undone, and CUPTI is finalized. Whatever fails
// on the way out, the rest is done all the same.
//
// Launches of others pass no gate; where they go on, it lingers (activity_source.h).
//
// Threads: as ActivitySource says. Two locks: `mutex_` for whoever comes and goes, `api_mutex_`
// shared by those who ask CUPTI something meanwhile.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_SESSION_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_SESSION_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/launch_gate.h"
#include "profiler/activity/activity.h"
#include "profiler/activity/activity_source.h"
#include "profiler/cupti/buffers.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/cupti/foreign_launches.h"
#include "profiler/cupti/record_decoder.h"
#include "profiler/cupti/record_feed.h"

namespace graphtree::cupti {

struct SessionOptions {
  bool finalizes = true;
  bool attaches_again = true;
  // How long launches of others must have rested before it leaves.
  std::chrono::nanoseconds quiet = std::chrono::milliseconds(200);
  StartThread start_thread = StartThreadOfSystem;
  std::function<ForeignLaunches::Time()> clock = [] { return std::chrono::steady_clock::now(); };
};

class CuptiSession final : public activity::ActivitySource, private CuptiEvents {
 public:
  CuptiSession(std::unique_ptr<CuptiApi> api, SessionOptions options,
               LaunchGate& gate = LaunchGate::OfProcess());
  // Detaches. If launches of others go on, CUPTI stays in the process without a user.
  ~CuptiSession() override;

  std::string name() const override { return api_->name(); }
  activity::SourceState state() const override { return state_.load(std::memory_order_acquire); }
  absl::Status Attach(activity::ActivityListener* listener,
                      const activity::AttachOptions& options) override;
  absl::Status Detach(const activity::DetachOptions& options) override;
  absl::Status Flush() override;
  activity::SourceState Poll() override;
  absl::StatusOr<int64_t> NowNs() override;
  uint32_t IdOf(const Executable& executable) override;
  int64_t IdOf(const Stream& stream) override;
  uint64_t CorrelationOf(const Executable& executable) const override;

 private:
  using State = activity::SourceState;

  // CuptiEvents.
  void GraphLaunch(const GraphLaunchCall& call) override;
  absl::Span<uint8_t> TakeBuffer() override { return buffers_.Take(); }
  void BufferFull(uint8_t* buffer, size_t valid_bytes, uint64_t dropped) override {
    feed_.Push(buffer, valid_bytes, dropped);
  }

  absl::Status MayAttach(State before) const;
  // With the gate closed:
  absl::Status BeginUse();
  absl::Status EnableKinds();
  absl::Status DisableKinds();
  absl::Status EndUse();

  absl::Status StopRecording();
  void TellRemarks(const DecodeCounts& counts, activity::ActivityListener& listener);
  std::string WhyItMayNotLeave(const activity::DetachOptions& options) const;
  absl::Status Linger(absl::string_view why, const absl::Status& trouble);
  void Listen(activity::ActivityListener* listener);
  void TellLaunch(const GraphLaunchCall& call, bool is_foreign);
  void Become(State state) { state_.store(state, std::memory_order_release); }

  const std::unique_ptr<CuptiApi> api_;
  const SessionOptions options_;
  LaunchGate& gate_;
  std::atomic<State> state_{State::kDetached};
  ForeignLaunches foreign_;
  Buffers buffers_;
  RecordFeed feed_;

  std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<RecordKind> enabled_;
  bool has_left_ = false;  // CUPTI was finalized

  mutable std::shared_mutex api_mutex_;
  bool is_in_use_ = false;  // guarded by api_mutex_: subscribed

  std::shared_mutex listener_mutex_;
  activity::ActivityListener* listener_ = nullptr;  // changed with both, read with either
};

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_SESSION_H_
