// Runtimes, and what goes with one, as objects of the C interface.
//
//   gt_runtime --> RuntimeObject --+
//   gt_program --> ProgramObject --+--> OpenedRuntime { Runtime, handles of what goes with it }
//   gt_step    --> StepObject -----'      a program has one, which serves all of its steps
//
// A step that was begun holds its program and its stream until its handle is released, or the next
// step of the program begins.
#ifndef GRAPHTREE_RUNTIME_C_RUNTIME_OBJECTS_H_
#define GRAPHTREE_RUNTIME_C_RUNTIME_OBJECTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/objects.h"
#include "runtime/c/tree_objects.h"
#include "runtime/program.h"
#include "runtime/recording_plan.h"
#include "runtime/runtime.h"

namespace graphtree::c {

// Counts the steps that were begun in one lane: a step that is not the last one tells nothing more.
struct LaneMark {
  std::atomic<uint64_t> begun{0};
};

class OpenedRuntime {
 public:
  OpenedRuntime(std::vector<std::shared_ptr<OpenedDevice>> devices,
                std::unique_ptr<Runtime> runtime)
      : devices_(std::move(devices)), runtime_(std::move(runtime)) {}

  Runtime& runtime() const { return *runtime_; }
  const std::vector<std::shared_ptr<OpenedDevice>>& devices() const { return devices_; }
  Belongings& belongings() { return belongings_; }
  // Stays where it is.
  LaneMark* MarkOf(uint32_t device, uint32_t lane);
  // Which handle a program has.
  void Know(ProgramId program, Handle handle);
  Handle HandleOfProgram(ProgramId program);

 private:
  const std::vector<std::shared_ptr<OpenedDevice>> devices_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint32_t>, LaneMark> marks_;  // guarded by mutex_
  std::map<uint32_t, Handle> programs_;                      // guarded by mutex_
  Belongings belongings_;
  const std::unique_ptr<Runtime> runtime_;
};

class RuntimeObject : public Object {
 public:
  static constexpr Kind kKind = c::kRuntime;
  explicit RuntimeObject(std::shared_ptr<OpenedRuntime> opened) : opened_(std::move(opened)) {}
  Runtime& runtime() const { return opened_->runtime(); }
  const std::shared_ptr<OpenedRuntime>& opened() const { return opened_; }
  void Retired() override { opened_->belongings().EndAll(); }

 private:
  const std::shared_ptr<OpenedRuntime> opened_;
};

class RuntimesOwn : public Object {
 public:
  ~RuntimesOwn() override { opened_->belongings().Forget(handle_); }
  Runtime& runtime() const { return opened_->runtime(); }
  const std::shared_ptr<OpenedRuntime>& opened() const { return opened_; }
  void SetHandle(Handle handle) { handle_ = handle; }

 protected:
  explicit RuntimesOwn(std::shared_ptr<OpenedRuntime> opened) : opened_(std::move(opened)) {}

 private:
  const std::shared_ptr<OpenedRuntime> opened_;
  Handle handle_ = 0;
};

class ProgramObject;

class StepObject : public Object {
 public:
  static constexpr Kind kKind = c::kStep;
  StepObject();
  ~StepObject() override;

  // A handle for the step, which holds the program and the stream. 0, and the step is canceled, if
  // there is none.
  Handle Open(const Step& step, Ref<ProgramObject> program, Ref<StreamObject> stream,
              uint64_t number);
  // Whether no handle is there.
  bool is_free() const { return is_free_.load(std::memory_order_acquire); }
  Step& step() { return *step_; }
  ProgramObject& program() const;
  // Its work was launched: the stream is its owner's again.
  void LetStreamGo() { stream_ = Ref<StreamObject>(); }
  // Whether no later step was begun in its lane.
  bool is_last() const;
  void End() override;

 private:
  std::optional<Step> step_;
  Ref<ProgramObject> program_;
  Ref<StreamObject> stream_;
  uint64_t number_ = 0;
  HandleTable::Slot* home_ = nullptr;
  std::atomic<bool> is_free_{true};
};

class ProgramObject : public RuntimesOwn {
 public:
  static constexpr Kind kKind = c::kProgram;
  ProgramObject(std::shared_ptr<OpenedRuntime> opened, ProgramId id, std::string name,
                uint32_t device, uint32_t lane)
      : RuntimesOwn(std::move(opened)),
        id_(id),
        name_(std::move(name)),
        device_(device),
        mark_(*this->opened()->MarkOf(device, lane)) {}

  ProgramId id() const { return id_; }
  const std::string& name() const { return name_; }
  const std::shared_ptr<OpenedDevice>& device() const { return opened()->devices()[device_]; }
  LaneMark& mark() const { return mark_; }
  CallScratch& scratch() { return scratch_; }
  StepObject& step() { return step_; }
  // Of the step that was begun last; 0: none.
  std::atomic<Handle>& step_handle() { return step_handle_; }
  // Set while a thread begins a step.
  std::atomic<bool>& is_beginning() { return is_beginning_; }

  absl::Status MayEnd() override { return runtime().RemoveProgram(id_); }
  void Retired() override { EndHandle(step_handle_.exchange(0)); }

 private:
  const ProgramId id_;
  const std::string name_;
  const uint32_t device_;
  LaneMark& mark_;
  CallScratch scratch_;
  StepObject step_;
  std::atomic<Handle> step_handle_{0};
  std::atomic<bool> is_beginning_{false};
};

inline ProgramObject& StepObject::program() const { return *program_; }

class DependencyObject : public RuntimesOwn {
 public:
  static constexpr Kind kKind = c::kDependency;
  DependencyObject(std::shared_ptr<OpenedRuntime> opened, DepId id)
      : RuntimesOwn(std::move(opened)), id_(id) {}
  DepId id() const { return id_; }

 private:
  const DepId id_;
};

class PlanObject : public RuntimesOwn {
 public:
  static constexpr Kind kKind = c::kPlan;
  PlanObject(std::shared_ptr<OpenedRuntime> opened, RecordingPlan plan)
      : RuntimesOwn(std::move(opened)), plan_(std::move(plan)) {}
  const RecordingPlan& plan() const { return plan_; }

 private:
  const RecordingPlan plan_;
};

// A handle for what goes with the runtime.
template <typename Pointer, typename T>
gt_error GiveRuntimesOwn(Entry& entry, std::unique_ptr<T> object, Pointer* out) {
  T* const made = object.get();
  const std::shared_ptr<OpenedRuntime> opened = made != nullptr ? made->opened() : nullptr;
  const Handle handle = Publish(std::move(object));
  if (handle == 0) return entry.Return(Entry::NoHandle());
  // Nobody has the handle yet, so the object is there.
  made->SetHandle(handle);
  entry.Fail(opened->belongings().Add(handle));
  if (!entry.ok()) return entry.Failed();
  *out = AsPointer<Pointer>(handle);
  return nullptr;
}

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_RUNTIME_OBJECTS_H_
