// Coming, going, and what is told between.
#include "profiler/cupti/cupti_session.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"

namespace graphtree::cupti {
namespace {

using activity::ActivityListener;
using activity::AttachOptions;
using activity::DetachHow;
using activity::DetachOptions;

constexpr absl::string_view kCostOfStaying =
    "until CUPTI leaves, each launch of a graph takes some 20 us more";

constexpr uint64_t kLeastBytes = 1024;

// The first error counts; what failed after it is added to its words.
void Add(absl::Status& first, const absl::Status& next) {
  if (next.ok()) return;
  if (first.ok()) {
    first = next;
    return;
  }
  first = absl::Status(first.code(), absl::StrCat(first.message(), "; then ",
                                                  next.message()));
}

}  // namespace

CuptiSession::CuptiSession(std::unique_ptr<CuptiApi> api, SessionOptions options, LaunchGate& gate)
    : api_(std::move(api)),
      options_(std::move(options)),
      gate_(gate),
      feed_(*api_, buffers_, options_.start_thread) {}

CuptiSession::~CuptiSession() {
  if (state() == State::kAttached) Detach({}).IgnoreError();
  if (Poll() != State::kLingering) return;
  const std::unique_lock<std::shared_mutex> api(api_mutex_);
  api_->EnableLaunches(false).IgnoreError();
  api_->Unsubscribe().IgnoreError();
  gate_.Watch(false);
}

absl::Status CuptiSession::MayAttach(State before) const {
  if (before == State::kAttached) {
    return absl::FailedPreconditionError(
        absl::StrCat("attaching ", name(), ": it is attached already, with another listener"));
  }
  if (before == State::kDetached && has_left_ && !options_.attaches_again) {
    return absl::FailedPreconditionError(absl::StrCat(
        "attaching ", name(), " again after it has left: the environment forbids that "
        "(GRAPHTREE_CUPTI_REINIT=0 or DISABLE_CUPTI_LAZY_REINIT=1)"));
  }
  return absl::OkStatus();
}

absl::Status CuptiSession::Attach(ActivityListener* listener, const AttachOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const State before = state();
  GRAPHTREE_RETURN_IF_ERROR(MayAttach(before));
  if (listener == nullptr || options.buffer_bytes < kLeastBytes || options.most_buffers == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attaching ", name(), listener == nullptr ? " without a listener, " : " ", "with ",
        options.most_buffers, " buffers of ", options.buffer_bytes, " bytes"));
  }
  absl::StatusOr<LaunchGate::Closed> closed = gate_.Close(options.patience);
  if (!closed.ok()) return closed.status();
  Become(State::kAttaching);
  if (before == State::kDetached) {
    buffers_.Reset(options.buffer_bytes, options.most_buffers);
    foreign_.Reset();
  }
  absl::Status status = feed_.Start(listener);
  Listen(listener);
  if (status.ok() && before == State::kDetached) status = BeginUse();
  if (status.ok()) status = EnableKinds();
  if (status.ok()) {
    Become(State::kAttached);
    return status;
  }
  Add(status, DisableKinds());
  if (before == State::kDetached) Add(status, EndUse());
  Listen(nullptr);
  feed_.Stop();
  Become(before);
  return absl::Status(status.code(), absl::StrCat("attaching ", name(), ": ",
                                                  status.message()));
}

absl::Status CuptiSession::BeginUse() {
  const std::unique_lock<std::shared_mutex> api(api_mutex_);
  GRAPHTREE_RETURN_IF_ERROR(api_->Subscribe(this));
  is_in_use_ = true;
  gate_.Watch(true);
  GRAPHTREE_RETURN_IF_ERROR(api_->RegisterBuffers());
  return api_->EnableLaunches(true);
}

absl::Status CuptiSession::EnableKinds() {
  for (RecordKind kind : {RecordKind::kKernel, RecordKind::kCopy, RecordKind::kFill}) {
    GRAPHTREE_RETURN_IF_ERROR(api_->EnableKind(kind));
    enabled_.push_back(kind);
  }
  return absl::OkStatus();
}

absl::Status CuptiSession::DisableKinds() {
  absl::Status status;
  for (RecordKind kind : std::exchange(enabled_, {})) Add(status, api_->DisableKind(kind));
  return status;
}

// CUPTI leaves; if it cannot, or is not to, nobody uses it at least.
absl::Status CuptiSession::EndUse() {
  const std::unique_lock<std::shared_mutex> api(api_mutex_);
  if (!is_in_use_) return absl::OkStatus();
  is_in_use_ = false;
  gate_.Watch(false);
  absl::Status status;
  if (options_.finalizes) {
    status = api_->Finalize();
    if (status.ok()) {
      has_left_ = true;
      return status;
    }
  }
  Add(status, api_->EnableLaunches(false));
  Add(status, api_->Unsubscribe());
  return status;
}

// Afterwards the listener hears nothing more, and has heard all.
absl::Status CuptiSession::StopRecording() {
  ActivityListener* const listener = listener_;  // changed with mutex_ held alone
  absl::Status status = api_->Flush(/*all=*/true);
  Add(status, DisableKinds());
  const DecodeCounts counts = feed_.Stop();
  const uint64_t dropped = api_->TakeDropped();
  if (dropped > 0) listener->Dropped(dropped);
  TellRemarks(counts, *listener);
  Listen(nullptr);
  return status;
}

void CuptiSession::TellRemarks(const DecodeCounts& counts, ActivityListener& listener) {
  const std::string words = WordsOf(counts);
  if (!words.empty()) listener.Note(words);
  if (buffers_.refused() > 0) {
    listener.Note(absl::StrCat("records came faster than they were read: all ",
                                 buffers_.allocated(), " buffers were full ", buffers_.refused(),
                                 " times"));
  }
  if (foreign_.count() > 0) listener.Note(foreign_.Words());
  if (!options_.finalizes) {
    listener.Note(absl::StrCat("CUPTI stays, as the environment asks (TEARDOWN_CUPTI=0): ",
                                 kCostOfStaying));
  }
}

std::string CuptiSession::WhyItMayNotLeave(const DetachOptions& options) const {
  if (!options_.finalizes || options.how == DetachHow::kForce) return "";
  if (foreign_.AtRest(options_.clock(), options_.quiet)) return "";
  return absl::StrCat(foreign_.Words(), ", which leaving beside could break");
}

absl::Status CuptiSession::Linger(absl::string_view why, const absl::Status& trouble) {
  Become(State::kLingering);
  absl::Status status = absl::UnavailableError(
      absl::StrCat("detaching ", name(), " is put off: ", why, "; ", kCostOfStaying));
  Add(status, trouble);
  return status;
}

absl::Status CuptiSession::Detach(const DetachOptions& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const State before = state();
  if (before == State::kDetached) {
    return absl::FailedPreconditionError(
        absl::StrCat("detaching ", name(), ": it is not attached"));
  }
  Become(State::kDetaching);
  const absl::StatusOr<LaunchGate::Closed> closed = gate_.Close(options.patience);
  absl::Status trouble;
  if (before == State::kAttached) trouble = StopRecording();
  if (!closed.ok()) return Linger(closed.status().message(), trouble);
  const std::string why_not = WhyItMayNotLeave(options);
  if (!why_not.empty()) return Linger(why_not, trouble);
  Add(trouble, EndUse());
  Become(State::kDetached);
  if (trouble.ok()) return trouble;
  return absl::Status(trouble.code(), absl::StrCat("detaching ", name(), ": ",
                                                   trouble.message()));
}

activity::SourceState CuptiSession::Poll() {
  if (state() != State::kLingering) return state();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state() != State::kLingering || !WhyItMayNotLeave({}).empty()) return state();
  const absl::StatusOr<LaunchGate::Closed> closed = gate_.Close();
  // Somebody may have launched meanwhile.
  if (!closed.ok() || !WhyItMayNotLeave({}).empty()) return state();
  EndUse().IgnoreError();
  Become(State::kDetached);
  return state();
}

absl::Status CuptiSession::Flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state() != State::kAttached) {
    return absl::FailedPreconditionError(absl::StrCat("flushing ", name(), ": it is ",
                                                      activity::NameOf(state())));
  }
  const absl::Status status = api_->Flush(/*all=*/false);
  feed_.Drain();
  return status;
}

absl::StatusOr<int64_t> CuptiSession::NowNs() {
  const std::shared_lock<std::shared_mutex> api(api_mutex_);
  if (is_in_use_) return api_->NowNs();
  return absl::FailedPreconditionError(
      absl::StrCat("asking the time of ", name(), ": it is not attached"));
}

uint32_t CuptiSession::IdOf(const Executable& executable) {
  const LaunchPlace* const place = executable.launch_place();
  if (place == nullptr || place->executable() == nullptr) return 0;
  const std::shared_lock<std::shared_mutex> api(api_mutex_);
  return is_in_use_ ? api_->IdOf(place->executable()).value_or(0) : 0;
}

int64_t CuptiSession::IdOf(const Stream& stream) {
  const std::shared_lock<std::shared_mutex> api(api_mutex_);
  if (!is_in_use_) return -1;
  const absl::StatusOr<uint32_t> id = api_->IdOf(stream);
  return id.ok() ? int64_t{*id} : -1;
}

uint64_t CuptiSession::CorrelationOf(const Executable& executable) const {
  const LaunchPlace* const place = executable.launch_place();
  return place != nullptr && state() == State::kAttached ? place->correlation() : 0;
}

void CuptiSession::Listen(ActivityListener* listener) {
  const std::unique_lock<std::shared_mutex> lock(listener_mutex_);
  listener_ = listener;
}

void CuptiSession::TellLaunch(const GraphLaunchCall& call, bool is_foreign) {
  const std::shared_lock<std::shared_mutex> lock(listener_mutex_);
  if (listener_ != nullptr) listener_->Launched({call.correlation, call.executable, is_foreign});
}

void CuptiSession::GraphLaunch(const GraphLaunchCall& call) {
  LaunchPlace* const place = gate_.PassingHere();
  if (place != nullptr && place->executable() == call.executable) {
    if (!call.begins || state() != State::kAttached) return;
    place->NoteCorrelation(call.correlation);
    return TellLaunch(call, /*is_foreign=*/false);
  }
  const std::thread::id thread = std::this_thread::get_id();
  if (!call.begins) {
    foreign_.End(thread, options_.clock());
  } else if (foreign_.Begin(thread, options_.clock())) {
    TellLaunch(call, /*is_foreign=*/true);
  }
}

}  // namespace graphtree::cupti
