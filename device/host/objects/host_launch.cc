// Launching an executable, and updating it from another graph.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_macros.h"
#include "device/error.h"
#include "device/host/objects/host_graph.h"
#include "device/host/objects/queued_stream.h"

namespace graphtree::host {
namespace {

bool SameTopology(const std::vector<Op>& a, const std::vector<Op>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != b[i].kind || a[i].dependencies != b[i].dependencies) return false;
  }
  return true;
}

}  // namespace

absl::Status HostExecutable::MayUse(Stream& stream, absl::string_view what) const {
  if (&stream.device() != core_->device) {
    return DeviceError(ErrorCode::kInvalidHandle,
                       absl::StrCat(what, " an executable on a stream of another device"));
  }
  return absl::OkStatus();
}

absl::Status HostExecutable::Launch(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(MayUse(stream, "launching"));
  const LaunchPass pass(place_);
  StreamQueue& queue = static_cast<QueuedStream&>(stream).queue();
  Engine& engine = core_->engine;
  Engine::Lock lock = engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(engine.MayCall());
  GRAPHTREE_RETURN_IF_ERROR(engine.captures().MayWaitFor(queue.part, "launching an executable on"));
  Unit* const unit = engine.NewUnit(UnitKind::kReplay);
  unit->replay = replay_;
  HostWorkWatcher* const watcher = engine.watcher();
  unit->launch = watcher == nullptr ? 0 : watcher->Launching(replay_.get());
  engine.Issue(lock, queue, unit);
  if (watcher != nullptr && engine.watcher() == watcher) watcher->Launched(replay_.get());
  return absl::OkStatus();
}

// Nothing is left to do: a launch on the host needs no set-up.
absl::Status HostExecutable::Upload(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(MayUse(stream, "uploading"));
  StreamQueue& queue = static_cast<QueuedStream&>(stream).queue();
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
  return core_->engine.captures().MayWaitFor(queue.part, "uploading an executable on");
}

absl::StatusOr<UpdateResult> HostExecutable::Update(const Graph& graph) {
  if (&graph.device() != core_->device) {
    return DeviceError(ErrorCode::kInvalidHandle,
                       "updating an executable from a graph of another device");
  }
  const auto& from = static_cast<const HostGraph&>(graph);
  std::vector<std::shared_ptr<const void>> unneeded;  // goes after the lock
  const Engine::Lock lock = core_->engine.Guard();
  GRAPHTREE_RETURN_IF_ERROR(core_->engine.MayCall());
  if (!SameTopology(replay_->ops(), from.ops())) return UpdateResult::kTopologyDiffers;
  unneeded = replay_->PatchAll(from.works());
  return UpdateResult::kUpdated;
}

}  // namespace graphtree::host
