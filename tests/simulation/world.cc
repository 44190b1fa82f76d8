// The caller of a program.
#include "tests/simulation/world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/match.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "tests/kernels/kernels.h"
#include "tests/simulation/crash_note.h"

namespace graphtree::simulation {
namespace {

constexpr size_t kThings = 2;
constexpr size_t kMostStale = 8;
constexpr size_t kMostHoarded = 3;
constexpr uint64_t kWarmUpLimit = 4;

}  // namespace

World::World(Device& device, FaultPlan* plan, const Program& program, TreeOptions options)
    : device_(device),
      plan_(plan),
      program_(program),
      options_(std::move(options)),
      witnesses_(device),
      bodies_(device, program.elements),
      memory_(device, program.elements),
      runs_(program.functions.size(), 0),
      loads_(program.Has(OpSpecKind::kLoad)) {
  options_.check = program.checked;
  options_.warm_up_limit = kWarmUpLimit;
  options_.warn = [this](const std::string& text) {
    if (!absl::StrContains(text, "without declaring it")) return;
    for (size_t f = 0; f < program_.functions.size(); ++f) {
      const bool named = absl::StrContains(text, absl::StrCat("'f", f, "'"));
      if (named && program_.functions[f].Has(OpSpecKind::kSecret)) return;
    }
    false_alarm_ = text;
  };
}

World::~World() {
  TearDown().IgnoreError();
  tree_ = nullptr;  // before the streams that it ran on, also where tearing down failed
}

void World::set_between(std::function<void(size_t action)> actions,
                        std::function<void()> ops) {
  between_ = std::move(actions);
  bodies_.set_between(std::move(ops));
  witnesses_.MindCaptures(true);
}

absl::Status World::Intrude() {
  Values none;
  // A function that is not there: one that is let in is told so, and nothing runs.
  const auto nobody = static_cast<FunctionId>(program_.functions.size());
  const absl::Status status = tree_->Run(nobody, absl::MakeSpan(none), *streams_[0], &none);
  const bool refused = absl::IsFailedPrecondition(status) &&
                       absl::StrContains(status.message(), "a second thread entered");
  if (refused) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("a second caller was let in: ", status.ToString()));
}

absl::Status World::SetUp() {
  for (auto& stream : streams_) {
    GRAPHTREE_ASSIGN_OR_RETURN(stream, device_.NewStream());
  }
  GRAPHTREE_RETURN_IF_ERROR(bodies_.Open());
  GRAPHTREE_RETURN_IF_ERROR(memory_.Open(*streams_[0]));
  for (uint32_t i = 0; i < kThings; ++i) {
    things_.emplace_back();
    RenewThing(i, i);
  }
  GRAPHTREE_ASSIGN_OR_RETURN(tree_, Tree::Create(device_, options_));
  bodies_.UseForeign(&tree_->foreign_allocator());
  if (program_.watched) tree_->observers().Join(&watcher_);
  RegisterFunctions();
  return absl::OkStatus();
}

void World::RegisterFunctions() {
  for (uint32_t f = 0; f < program_.functions.size(); ++f) {
    const FunctionSpec& spec = program_.functions[f];
    FunctionOptions options;
    options.moving = spec.moving;
    options.kept_outputs = spec.kept;
    for (uint32_t p : spec.aligned) options.alignments.push_back({p, kAligned});
    for (uint32_t p = 0; p < spec.params.size(); ++p) {
      if (spec.params[p] == ParamKind::kStatic) options.static_inputs.push_back(p);
    }
    tree_->Register(absl::StrCat("f", f), options, [this, &spec, f](Launcher& on, Values& inputs) {
      const uint32_t run = runs_[f]++;
      on.KeepAlive(witnesses_.Next());
      last_body_asked_ = spec.Asks(run);
      if (last_body_asked_) on.WarmUpAgain(absl::StrCat("run ", run, " tries another way"));
      return RunBody(on, inputs);
    });
  }
}

absl::Status World::Synchronize() {
  for (auto& stream : streams_) {
    if (stream != nullptr) GRAPHTREE_RETURN_IF_ERROR(stream->Synchronize());
  }
  return bodies_.Synchronize();
}

absl::Status World::TearDown() {
  live_.clear();
  stale_.clear();
  // What bodies have stored goes before the tree or behind it.
  const bool outlives = program_.seed % 2 == 1;
  if (!outlives) bodies_.shelf().Clear();
  GRAPHTREE_RETURN_IF_ERROR(Synchronize());
  // Foreign code holds its blocks until the tree is gone, or gives them back before.
  if (program_.seed % 2 == 0) GRAPHTREE_RETURN_IF_ERROR(GiveForeignBack());
  // What a tree still has goes with it, whoever captures.
  witnesses_.MindCaptures(false);
  tree_ = nullptr;
  const absl::Status stored = done_ ? absl::OkStatus() : CheckShelf();
  bodies_.shelf().Clear();
  GRAPHTREE_RETURN_IF_ERROR(stored);
  GRAPHTREE_RETURN_IF_ERROR(GiveForeignBack());
  GRAPHTREE_RETURN_IF_ERROR(memory_.Close());
  GRAPHTREE_RETURN_IF_ERROR(CheckWitnesses());
  if (watcher_.wrong().empty() && watcher_.executables() == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "when the tree was gone, ", watcher_.executables(), " executables were left; ",
      watcher_.wrong()));
}

// Nothing is called behind the last block: the allocator goes with it.
absl::Status World::GiveForeignBack() {
  if (tree_ == nullptr && hoard_.empty() && !bodies_.library_holds()) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(bodies_.CleanLibrary(*streams_[0]));
  for (const Seen& seen : std::exchange(hoard_, {})) {
    GRAPHTREE_RETURN_IF_ERROR(bodies_.foreign().Free(seen.handle.word(), *streams_[0]));
  }
  return absl::OkStatus();
}

absl::Status World::Hoard(const Action& action) {
  Stream& stream = *streams_[stream_];
  if (hoard_.size() >= kMostHoarded) {
    const size_t which = action.picks[0] % hoard_.size();
    const Address address = hoard_[which].handle.word();
    hoard_.erase(hoard_.begin() + which);
    return bodies_.foreign().Free(address, stream);
  }
  const uint64_t bytes = program_.elements * sizeof(uint32_t);
  const absl::StatusOr<Address> address = bodies_.foreign().Allocate(bytes, stream);
  // Outside of a run the pool takes nothing from recordings.
  if (!address.ok() && MayLackMemory(address.status())) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(address.status());
  const Layout* layout = Layout::Of(DType::kI32, {program_.elements});
  hoard_.push_back(
      {Tensor::Foreign(*address, layout), std::make_shared<Cell>(program_.elements)});
  return memory_.Rewrite(hoard_.back(), action.picks[1], stream);
}

absl::Status World::Run() {
  GRAPHTREE_RETURN_IF_ERROR(SetUp());
  for (size_t i = 0; i < program_.actions.size() && !done_; ++i) {
    between_(i);
    CrashNote::AtAction(i);
    absl::Status status = Act(program_.actions[i]);
    if (status.ok()) status = CheckInvariants();
    if (status.ok() && program_.actions[i].look && !done_) status = CheckAll();
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("action ", i, ": ", status.message()));
    }
  }
  stats_ = tree_->stats();
  return TearDown();
}

absl::Status World::Act(const Action& action) {
  switch (action.kind) {
    case ActionKind::kCall: return Call(action);
    case ActionKind::kDrop:
      if (!live_.empty()) live_.erase(live_.begin() + action.picks[0] % live_.size());
      return absl::OkStatus();
    case ActionKind::kStep:
      tree_->BeginStep();
      ++step_;
      return ForgetStale();
    case ActionKind::kRestream: stream_ ^= 1; return absl::OkStatus();
    case ActionKind::kRenew:
      RenewThing(action.picks[0], action.picks[1]);
      return absl::OkStatus();
    case ActionKind::kUnstore: bodies_.shelf().at(action.picks[0]) = {}; return absl::OkStatus();
    case ActionKind::kHoard: return Hoard(action);
    case ActionKind::kClean:
      GRAPHTREE_RETURN_IF_ERROR(Synchronize());
      return bodies_.CleanLibrary(*streams_[stream_]);
    case ActionKind::kRewrite:
    case ActionKind::kKill: break;
  }
  GRAPHTREE_RETURN_IF_ERROR(Synchronize());
  const Seen& seen = memory_.foreign()[action.picks[0] % memory_.foreign().size()];
  if (action.kind == ActionKind::kRewrite) {
    if (memory_.IsDead(seen.handle)) return absl::OkStatus();
    return memory_.Rewrite(seen, action.picks[1], *streams_[stream_]);
  }
  // Only a device that checks knows that memory is gone, and only where it is gone for all.
  if (device_.info().architecture != "host") return absl::OkStatus();
  live_.erase(std::remove_if(live_.begin(), live_.end(),
                             [&](const Seen& held) { return held.cell == seen.cell; }),
              live_.end());
  return memory_.Kill(seen, *streams_[stream_]);
}

// A stale tensor is an error to use; the caller holds on to some.
absl::Status World::ForgetStale() {
  auto stale = [](const Seen& seen) {
    return seen.handle.storage() != nullptr && seen.handle.storage()->stale();
  };
  for (const Seen& seen : live_) {
    if (seen.kept && stale(seen)) return absl::InternalError("a kept output went stale");
    if (stale(seen)) stale_.push_back(seen);
  }
  if (stale_.size() > kMostStale) stale_.erase(stale_.begin(), stale_.end() - kMostStale);
  live_.erase(std::remove_if(live_.begin(), live_.end(), stale), live_.end());
  return absl::OkStatus();
}

void World::RenewThing(uint32_t which, uint32_t content) {
  things_[which % things_.size()] = {std::make_shared<const Thing>(Thing{content}),
                                     ++last_version_};
}

Seen World::PickStatic(size_t param, uint32_t pick) const {
  const std::vector<Seen>& statics = memory_.statics();
  // Mostly the same one, but for a restless program.
  const bool other = pick % (program_.restless ? 2 : 10) == 0;
  return statics[(other ? pick / 10 : param) % statics.size()];
}

Seen World::PickTensor(uint32_t pick, bool foreign_too, Brought* brought) {
  if (pick >= 980 && !stale_.empty()) {
    brought->stale = true;
    return stale_[pick % stale_.size()];
  }
  const std::vector<Seen>& foreign = memory_.foreign();
  const size_t at = pick % (live_.size() + (foreign_too ? foreign.size() : 0));
  return at < live_.size() ? live_[at] : foreign[at - live_.size()];
}

Seen World::PickThing(uint32_t pick, Brought* brought) {
  const VersionedThing& honest = things_[pick % things_.size()];
  std::shared_ptr<const Thing> thing = honest.thing;
  if (pick / 10 % 10 == 9) {
    thing = std::make_shared<const Thing>(Thing{thing->content + 1000});
    lied_about_.insert(honest.version);
  }
  brought->lie |= lied_about_.count(honest.version) > 0;
  return {Value::Opaque(thing, honest.version), nullptr};
}

}  // namespace graphtree::simulation
