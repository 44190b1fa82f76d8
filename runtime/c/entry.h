// What each function of graphtree.h begins and ends with: the handles that it is given, and the
// error that it returns.
//
//   gt_error gt_stream_wait(gt_stream stream, gt_event event) noexcept {
//     return Within("gt_stream_wait", [&](Entry& entry) -> gt_error {
//       const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
//       const Ref<EventObject> point = entry.Get<EventObject>(event, "event");
//       if (!entry.ok()) return entry.Failed();
//       return entry.Return(on->stream().Wait(point->event()));
//     });
//   }
//
// The first thing that is wrong is what the error says. Where the library beneath finds no memory
// of the host's the process ends (own_memory.h). Cost where all is well: nothing of note.
#ifndef GRAPHTREE_RUNTIME_C_ENTRY_H_
#define GRAPHTREE_RUNTIME_C_ENTRY_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/c/errors.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/objects.h"
#include "runtime/c/own_memory.h"
#include "runtime/c/read_options.h"

namespace graphtree::c {

class Entry {
 public:
  explicit Entry(const char* call) : call_(call) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // The object, or what is wrong with the handle. `argument` is its name in the header.
  template <typename T, typename Pointer>
  Ref<T> Get(Pointer handle, const char* argument) {
    Ref<T> found = Find<T>(HandleOf(handle));
    if (!found) FailHandle(HandleOf(handle), T::kKind, argument);
    return found;
  }
  // The same for what one thread uses at a time: an error if another call uses it now.
  template <typename T, typename Pointer>
  Ref<T> GetAlone(Pointer handle, const char* argument) {
    Ref<T> found = Get<T>(handle, argument);
    if (found && !found.is_only()) FailShared(T::kKind, argument);
    return found;
  }
  void FailHandle(Handle handle, Kind wanted, absl::string_view argument);

  // An out-parameter that must be there. It is set to null or 0.
  template <typename T>
  bool Sets(T* out, const char* argument) {
    if (out == nullptr) {
      FailNull(argument);
      return false;
    }
    *out = T();
    return true;
  }
  // A pointer that must be there.
  bool Has(const void* pointer, const char* argument) {
    if (pointer == nullptr) FailNull(argument);
    return pointer != nullptr;
  }
  // No call takes more elements than that: a larger count is a mistake.
  static constexpr size_t kMostElements = size_t{1} << 20;
  // An array that may be null where it is empty.
  bool HasArray(const void* array, size_t count, const char* argument);

  template <typename Options>
  void Read(const Options* from, absl::string_view name, Options* into) {
    Fail(ReadOptions(from, name, into));
  }

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) {
    if (ok() && !status.ok()) status_ = std::move(status);
  }
  // Which input, and which function, the failure is about.
  void AtInput(size_t input) {
    if (ok()) input_ = static_cast<int64_t>(input);
  }
  void NoInput() {
    if (ok()) input_ = -1;
  }
  void InFunction(absl::string_view name) { function_ = name; }

  // REQUIRES: something has failed.
  gt_error Failed() const;
  gt_error Return() const { return ok() ? nullptr : Failed(); }
  gt_error Return(absl::Status status) {
    Fail(std::move(status));
    return Return();
  }
  // An object's handle for the caller; without memory, an error.
  template <typename Pointer, typename T>
  gt_error Give(std::unique_ptr<T> object, Pointer* out) {
    const Handle handle = Publish(std::move(object));
    if (handle == 0) return Return(NoHandle());
    *out = AsPointer<Pointer>(handle);
    return nullptr;
  }
  // Without words, as these would need memory: ErrorOf has them.
  static absl::Status NoHandle();
  // Makes something of the interface's own (TryOwn). False, and it has failed, without memory.
  bool Own(absl::FunctionRef<void()> make) {
    if (!ok()) return false;
    if (!TryOwn(make)) Fail(NoHandle());
    return ok();
  }

 private:
  void FailNull(const char* argument);
  void FailShared(Kind kind, const char* argument);

  const char* const call_;
  absl::Status status_;
  bool is_bad_handle_ = false;
  int64_t input_ = -1;
  absl::string_view function_;
};

// What a function of graphtree.h does; see above.
template <typename Act>
gt_error Within(const char* call, const Act& act) {
  return OrEnd(call, [&]() -> gt_error {
    Entry entry(call);
    return act(entry);
  });
}

// A number that must be one of an enum's, from 0 on.
absl::Status CheckEnum(absl::string_view what, int32_t number, int32_t last);

// A string of the caller's, which may be null.
inline absl::string_view WordOf(const char* word) { return word != nullptr ? word : ""; }

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_ENTRY_H_
