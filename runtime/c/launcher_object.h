// A launcher as an object of the C interface, for as long as its body runs, and the bodies that C
// programs give.
//
//   tree or runtime --Run--> LauncherObject { Launcher, what the body was given } --> the callback
//                     |          `-- handles that the body has got: storages, streams, errors
//                     `-- then all of these end, and the launcher's own handle
//
// Threads: the body's. Another one that calls is told so.
#ifndef GRAPHTREE_RUNTIME_C_LAUNCHER_OBJECT_H_
#define GRAPHTREE_RUNTIME_C_LAUNCHER_OBJECT_H_

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/values.h"
#include "runtime/program.h"

namespace graphtree::c {

// What a body is given beside its launcher; null where it has none.
struct BodyGiven {
  Values* inputs = nullptr;
  const ProgramInputs* program = nullptr;
  // Of the program.
  size_t slots = 0;
  size_t dependencies = 0;
};

class LauncherObject : public Object {
 public:
  static constexpr Kind kKind = c::kLauncher;
  LauncherObject(Launcher& on, std::shared_ptr<OpenedDevice> opened, const BodyGiven& given)
      : on_(on), opened_(std::move(opened)), given_(given) {}

  Launcher& on() { return on_; }
  const std::shared_ptr<OpenedDevice>& opened() const { return opened_; }
  const BodyGiven& given() const { return given_; }
  Values& outputs() { return outputs_; }
  bool is_bodys_thread() const { return std::this_thread::get_id() == thread_; }

  // Ends with the body. False, and it ends now, if there is no memory for that.
  [[nodiscard]] bool Own(Handle handle) {
    if (TryOwn([&] { owned_.push_back(handle); })) return true;
    EndHandle(handle);
    return false;
  }
  // Gives the body a value whose storage the launcher owns. If that fails the launcher has failed.
  void Give(Value&& value, gt_value* out);
  // The body's runs hold the kernel.
  void Keep(const std::shared_ptr<Kernel>& kernel);
  // The launcher's failure, as the body is told it: one error, until the body releases it.
  gt_error ErrorFor(const Entry& entry, const char* call);
  void EndOwned();

 private:
  Launcher& on_;
  const std::shared_ptr<OpenedDevice> opened_;
  const BodyGiven given_;
  const std::thread::id thread_ = std::this_thread::get_id();
  Values outputs_;
  std::vector<Handle> owned_;
  std::vector<const Kernel*> kept_;
  gt_error error_ = nullptr;
};

// Runs a callback with a launcher's handle, which ends with it, and carries its error on. Returns
// what the body has handed out.
Values RunCallback(Launcher& on, const std::shared_ptr<OpenedDevice>& opened,
                   const BodyGiven& given,
                   absl::FunctionRef<gt_error(LauncherObject&, gt_launcher)> callback);

// What each function of a launcher begins and ends with (entry.h).
class LauncherEntry {
 public:
  LauncherEntry(const char* call, gt_launcher on);

  // False: nothing is to be done but Done().
  bool ok() const { return bool{object_} && entry_.ok(); }
  explicit operator bool() const { return ok(); }
  LauncherObject& object() { return *object_; }
  Launcher* operator->() { return &object_->on(); }
  Launcher& on() { return object_->on(); }
  Entry& entry() { return entry_; }
  template <typename T>
  bool Sets(T* out, const char* argument) {
    return entry_.Sets(out, argument) && ok();
  }
  // A tensor of the caller's; undefined if there is none.
  Tensor TensorAt(const gt_value* value, const char* argument) {
    Tensor tensor;
    if (ok()) CopyTensor(value, argument, &entry_, &tensor);
    return tensor;
  }
  gt_error Done();

 private:
  const char* const call_;
  Entry entry_;
  Ref<LauncherObject> object_;
};

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_LAUNCHER_OBJECT_H_
