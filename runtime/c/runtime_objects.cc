// Begins and ends steps.
#include "runtime/c/runtime_objects.h"

namespace graphtree::c {

LaneMark* OpenedRuntime::MarkOf(uint32_t device, uint32_t lane) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return &marks_[{device, lane}];
}

void OpenedRuntime::Know(ProgramId program, Handle handle) {
  const std::lock_guard<std::mutex> lock(mutex_);
  programs_[program.index] = handle;
}

Handle OpenedRuntime::HandleOfProgram(ProgramId program) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = programs_.find(program.index);
  return found == programs_.end() ? 0 : found->second;
}

StepObject::StepObject() = default;
StepObject::~StepObject() { Table().LeaveHome(home_); }

Handle StepObject::Open(const Step& step, Ref<ProgramObject> program, Ref<StreamObject> stream,
                        uint64_t number) {
  step_ = step;
  number_ = number;
  HandleTable::Slot* slot = Table().SlotOfHome(&home_);
  if (slot == nullptr) slot = Table().NewSlot();
  if (slot == nullptr) {
    step_->Cancel();
    return 0;
  }
  program_ = std::move(program);
  stream_ = std::move(stream);
  is_free_.store(false, std::memory_order_release);
  slot->payload[0] = HandleOf(static_cast<Object*>(this));
  return Table().Publish(slot, kKind);
}

bool StepObject::is_last() const {
  return program_->mark().begun.load(std::memory_order_relaxed) == number_;
}

void StepObject::End() {
  step_->Cancel();
  // The program may go with this reference to it, and the step with the program.
  const Ref<StreamObject> stream = std::move(stream_);
  const Ref<ProgramObject> program = std::move(program_);
  is_free_.store(true, std::memory_order_release);
}

}  // namespace graphtree::c
