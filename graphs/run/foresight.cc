// Finds the recording that a call would get.
#include "graphs/run/foresight.h"

#include "allocator/pool.h"
#include "graphs/run/check_call.h"
#include "graphs/run/executables.h"

namespace graphtree {

const Node* Foresight::Find(FunctionId id, absl::Span<Value> inputs, Stream& stream,
                            bool begins_step) {
  const Entrance::Pass pass(entrance_);
  if (!pass.entered() || entrance_.has_pending_error()) return nullptr;
  Function* const function = functions_.Find(id);
  if (function == nullptr || ground_.memory->pool().parking().has_parked_or_will()) return nullptr;
  if (functions_.IsLeaving(*function) || !Functions::MayBeCalled(*function)) return nullptr;
  Call call{*function, nullptr, inputs, stream, nullptr};
  if (ground_.device.open_captures() > 0 && !CheckStream(ground_, call).ok()) return nullptr;
  if (begins_step) return FindAtRoot(call);
  const Node* const hit = matcher_.FindHit(call);
  return hit != nullptr ? hit : FindBeyond(call);
}

Node* Foresight::FindAtRoot(Call& call) {
  Path fresh(&books_.root());
  return Matcher(ground_, fresh).FindHit(call);
}

Node* Foresight::FindBeyond(Call& call) {
  const bool is_dead = !books_.path().empty() && books_.path().CountAlive() == 0;
  return is_dead ? FindAtRoot(call) : nullptr;
}

bool Foresight::WouldReplayFirst(FunctionId id, absl::Span<Value> inputs, Stream& stream) {
  const Node* const hit = Find(id, inputs, stream, /*begins_step=*/true);
  if (hit == nullptr || !hit->cuts.empty() || !hit->section.ingest.empty()) return false;
  // Where there is no room for its executable, or for what it keeps, the body runs at once.
  if (IsEvicted(*hit) || !hit->kept.empty()) return false;
  // Checked mode runs the body before the first replay.
  return hit->replays > 0 || !ground_.options.compare_replays;
}

}  // namespace graphtree
