// Makes the ground, and does what several of its members do together.
#include "graphs/run/ground.h"

#include <utility>

#include "device/base/status_macros.h"
#include "graphs/run/planted_bug.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<Ground>> Ground::Make(Device& device, const TreeOptions& options,
                                                     std::shared_ptr<StepHistory> history,
                                                     std::function<bool()> is_used_elsewhere) {
  auto giver = std::make_shared<MemoryGiver>();
  GRAPHTREE_ASSIGN_OR_RETURN(
      std::unique_ptr<StepMemory> memory,
      StepMemory::Create(
          device,
          {.limit_bytes = options.pool_bytes,
           .shared_bytes = options.shared_bytes,
           .initial_bytes = options.initial_bytes,
           .before_out_of_memory = [giver](const MemoryWanted& wanted) {
             return giver->Ask(wanted);
           }},
          [history](const Storage& storage) { return history->Explain(storage); }));
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> side, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Stream> capture_stream, device.NewStream());
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, device.NewEvent({}));
  return std::unique_ptr<Ground>(new Ground(device, options, std::move(history), std::move(giver),
                                            std::move(memory), std::move(side),
                                            std::move(capture_stream), std::move(event),
                                            std::move(is_used_elsewhere)));
}

Ground::Ground(Device& device, const TreeOptions& options, std::shared_ptr<StepHistory> history,
               std::shared_ptr<MemoryGiver> giver, std::unique_ptr<StepMemory> memory,
               std::unique_ptr<Stream> side, std::unique_ptr<Stream> capture_stream,
               std::unique_ptr<Event> event, std::function<bool()> is_used_elsewhere)
    : device(device),
      options(options),
      tells_device(device.info().checks_accesses),
      home(device),
      history(std::move(history)),
      giver(std::move(giver)),
      memory(std::move(memory)),
      foreign(ForeignMemory::Make(this->memory->shared_pool(), std::move(is_used_elsewhere))),
      side(std::move(side)),
      capture_stream(std::move(capture_stream)),
      order(std::move(event), this->side.get(), [this](Stream& stream) { NoteGoesOn(stream); }) {}

StepAllocator Ground::MemoryFor(const Function& function, Region region) {
  if (IsPlanted(PlantedBug::kIgnoresRegion)) region = Region::kStep;
  return StepAllocator(memory.get(), region, TagOf(function), function.id);
}

absl::Status Ground::ContinueOn(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(order.ContinueOn(stream));
  // Also where the stream is the same: the pool may have forgotten it, for a capture or for another
  // stream that has its number.
  NoteGoesOn(stream);
  return absl::OkStatus();
}

void Ground::NoteGoesOn(Stream& stream) {
  PoolStreams& streams = memory->pool().streams();
  if (streams.NoteContinuesOn(stream).ok()) return;
  // Foreign code on another thread may have been in the pool since before the call.
  foreign->AwaitAllocations();
  streams.NoteContinuesOn(stream).IgnoreError();
}

absl::Status Ground::SideAfter(Stream& stream) {
  GRAPHTREE_RETURN_IF_ERROR(ContinueOn(stream));
  return ContinueOn(*side);
}

absl::Status Ground::NoteWorkOn(Stream& stream) {
  const absl::Status noted = memory->pool().streams().NoteLaunch(stream);
  if (noted.ok()) return noted;
  // Foreign code on another thread may have been in the pool since before the call.
  foreign->AwaitAllocations();
  return memory->pool().streams().NoteLaunch(stream);
}

void Ground::Consume(const Call& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    Storage* const storage = call.inputs[i].storage();
    if (storage == nullptr || call.inputs[i].is_opaque()) continue;
    const bool is_ours = storage->owner() == memory->owner();
    if (!is_ours && !IsPlanted(PlantedBug::kForgetsOtherUsers)) {
      storage->owner()->NoteUsedOn(call.stream.life());
    }
    if (!call.function.IsStatic(i)) call.inputs[i] = Value::Consumed();
  }
}

void Ground::TellOwners(absl::Span<const Value> inputs, const Call& call) {
  if (IsPlanted(PlantedBug::kForgetsOtherUsers)) return;
  memory->TellOwners(inputs, call.stream);
  for (const auto& fork : memory->stray_forks().forks()) memory->TellOwners(inputs, fork);
}

void Ground::LetGo(Values* values) {
  if (values->empty()) return;
  const StepMemory::InCall in_call(*memory);
  values->clear();
}

}  // namespace graphtree
