// Trees, and what goes with one, as objects of the C interface.
//
//   gt_tree     --> TreeObject -----+
//   gt_function --> FunctionObject -+--> OpenedTree { Tree, handles of what goes with it }
//   gt_observer, gt_workspace ------+
//
// Releasing the tree ends the handles of all that goes with it. The Tree itself ends with the last
// call that is in one of these.
#ifndef GRAPHTREE_RUNTIME_C_TREE_OBJECTS_H_
#define GRAPHTREE_RUNTIME_C_TREE_OBJECTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "graphs/random/generator.h"
#include "graphs/shared_budget.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "graphs/workspaces.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/objects.h"
#include "runtime/c/values.h"

namespace graphtree::c {

// Handles that end when what they belong to is released. Threads: any.
class Belongings {
 public:
  // An error, and the handle is ended, if its owner was released meanwhile, or there is no memory.
  absl::Status Add(Handle handle);
  void Forget(Handle handle);
  void EndAll();

 private:
  std::mutex mutex_;
  bool is_over_ = false;                // guarded by mutex_
  std::unordered_set<Handle> handles_;  // guarded by mutex_
};

class OpenedTree {
 public:
  OpenedTree(std::shared_ptr<OpenedDevice> opened, std::unique_ptr<Tree> tree)
      : opened_(std::move(opened)), owned_(std::move(tree)), tree_(*owned_) {}
  // A tree of a runtime's, which `keeps` holds.
  OpenedTree(std::shared_ptr<OpenedDevice> opened, Tree& tree, std::shared_ptr<void> keeps)
      : opened_(std::move(opened)), keeps_(std::move(keeps)), tree_(tree) {}

  Tree& tree() const { return tree_; }
  const std::shared_ptr<OpenedDevice>& opened() const { return opened_; }
  Belongings& belongings() { return belongings_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::shared_ptr<void> keeps_;
  const std::unique_ptr<Tree> owned_;
  Tree& tree_;
  Belongings belongings_;
};

class TreeObject : public Object {
 public:
  static constexpr Kind kKind = c::kTree;
  explicit TreeObject(std::shared_ptr<OpenedTree> opened) : opened_(std::move(opened)) {}
  Tree& tree() const { return opened_->tree(); }
  const std::shared_ptr<OpenedTree>& opened() const { return opened_; }
  // The foreign callbacks of these device numbers come to this tree.
  void NoteInstalled(int device);
  void Retired() override;

 private:
  const std::shared_ptr<OpenedTree> opened_;
  std::mutex mutex_;
  std::vector<int> installed_;  // guarded by mutex_
};

// What goes with a tree: it is forgotten there when it ends.
class TreesOwn : public Object {
 public:
  ~TreesOwn() override { opened_->belongings().Forget(handle_); }
  Tree& tree() const { return opened_->tree(); }
  const std::shared_ptr<OpenedTree>& opened() const { return opened_; }
  void SetHandle(Handle handle) { handle_ = handle; }

 protected:
  explicit TreesOwn(std::shared_ptr<OpenedTree> opened) : opened_(std::move(opened)) {}

 private:
  const std::shared_ptr<OpenedTree> opened_;
  Handle handle_ = 0;
};

// Vectors that calls use again, so that a hit takes nothing from the heap.
struct CallScratch {
  CallScratch() = default;
  ~CallScratch() {
    for (const Output& output : known) Table().LeaveHome(output.home);
  }
  CallScratch(const CallScratch&) = delete;
  CallScratch& operator=(const CallScratch&) = delete;

  // What is kept of an output from one call to the next.
  struct Output {
    KnownLayout layout;
    HandleTable::Slot* home = nullptr;
  };

  // For so many inputs. False, and nothing has changed, without memory.
  bool MakeRoom(size_t count) {
    if (layouts.size() < count || taken.size() < count) {
      if (!TryOwn([&] { layouts.resize(count); }) || !TryOwn([&] { taken.resize(count); })) {
        return false;
      }
    }
    if (inputs.size() == count) return true;
    return TryOwn([&] { inputs.resize(count); });
  }

  Values inputs;
  Values outputs;
  std::vector<KnownLayout> layouts;       // of the inputs, as they came last
  std::vector<HandleTable::Slot*> taken;  // by input: the slot that it was taken out of, or null
  std::vector<Output> known;
};

// Where a call's outputs go.
struct CallOutputs {
  gt_value* values;
  size_t capacity;
  size_t* count;  // may be null
};
// The scratch's outputs become the caller's; those beyond the capacity are dropped.
absl::Status HandOut(CallScratch* scratch, const CallOutputs& out);

class FunctionObject : public TreesOwn {
 public:
  static constexpr Kind kKind = c::kFunction;
  FunctionObject(std::shared_ptr<OpenedTree> opened, FunctionId id, std::string name,
                 std::vector<uint32_t> static_inputs)
      : TreesOwn(std::move(opened)),
        id_(id),
        name_(std::move(name)),
        static_inputs_(std::move(static_inputs)) {
    std::sort(static_inputs_.begin(), static_inputs_.end());
  }
  FunctionId id() const { return id_; }
  const std::string& name() const { return name_; }
  // Whether calls leave the input as it is.
  bool IsStatic(size_t input) const {
    return std::binary_search(static_inputs_.begin(), static_inputs_.end(), input);
  }
  // For a call that alone uses the function.
  CallScratch& scratch() { return scratch_; }
  absl::Status MayEnd() override { return tree().Unregister(id_); }

 private:
  const FunctionId id_;
  const std::string name_;
  std::vector<uint32_t> static_inputs_;  // in order
  CallScratch scratch_;
};

class WorkspaceObject : public TreesOwn {
 public:
  static constexpr Kind kKind = c::kWorkspace;
  WorkspaceObject(std::shared_ptr<OpenedTree> opened, WorkspaceId id)
      : TreesOwn(std::move(opened)), id_(id) {}
  WorkspaceId id() const { return id_; }

 private:
  const WorkspaceId id_;
};

class GeneratorObject : public Object {
 public:
  static constexpr Kind kKind = c::kGenerator;
  explicit GeneratorObject(std::shared_ptr<Generator> generator)
      : generator_(std::move(generator)) {}
  const std::shared_ptr<Generator>& generator() const { return generator_; }

 private:
  const std::shared_ptr<Generator> generator_;
};

class BudgetObject : public Object {
 public:
  static constexpr Kind kKind = c::kBudget;
  explicit BudgetObject(std::shared_ptr<SharedBudget> budget) : budget_(std::move(budget)) {}
  const std::shared_ptr<SharedBudget>& budget() const { return budget_; }

 private:
  const std::shared_ptr<SharedBudget> budget_;
};

// A handle for what goes with the tree.
template <typename Pointer, typename T>
gt_error GiveTreesOwn(Entry& entry, std::unique_ptr<T> object, Pointer* out) {
  T* const made = object.get();
  const std::shared_ptr<OpenedTree> opened = made != nullptr ? made->opened() : nullptr;
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

#endif  // GRAPHTREE_RUNTIME_C_TREE_OBJECTS_H_
