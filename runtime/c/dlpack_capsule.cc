// A tensor in a capsule of Python's that nobody has taken ends with the capsule.
//
//   PyCapsule_New(struct, name, gt_dlpack_end_capsule) --> taken, and renamed: nothing to do
//                                                      --> dropped: the struct's deleter
//
// In C, since a capsule is dropped also where an error of Python's is on its way up, which a
// callback in Python could neither bear nor leave in place. Python's functions are those of the
// process: the library knows no Python, and without one there is no capsule.
#include <dlfcn.h>

#include "runtime/c/dlpack_layout.h"
#include "runtime/c/graphtree.h"

namespace graphtree::c {
namespace {

struct Python {
  int (*is_valid)(void* capsule, const char* name);
  void* (*pointer)(void* capsule, const char* name);
  void (*fetch_error)(void** type, void** value, void** trace);
  void (*restore_error)(void* type, void* value, void* trace);
};

template <typename Function>
void Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

Python FindPython() {
  Python found = {};
  Find("PyCapsule_IsValid", &found.is_valid);
  Find("PyCapsule_GetPointer", &found.pointer);
  Find("PyErr_Fetch", &found.fetch_error);
  Find("PyErr_Restore", &found.restore_error);
  return found;
}

template <typename Struct>
bool EndIfNamed(const Python& python, void* capsule, const char* name) {
  if (python.is_valid(capsule, name) == 0) return false;
  auto* const managed = static_cast<Struct*>(python.pointer(capsule, name));
  managed->deleter(managed);
  return true;
}

}  // namespace
}  // namespace graphtree::c

void gt_dlpack_end_capsule(void* capsule) noexcept {
  using graphtree::c::EndIfNamed;
  static const graphtree::c::Python python = graphtree::c::FindPython();
  if (python.is_valid == nullptr || python.pointer == nullptr || python.fetch_error == nullptr ||
      python.restore_error == nullptr) {
    return;
  }
  // What ends with the tensor may call Python.
  void *type = nullptr, *value = nullptr, *trace = nullptr;
  python.fetch_error(&type, &value, &trace);
  if (!EndIfNamed<graphtree::c::dlpack::Managed>(python, capsule, "dltensor")) {
    EndIfNamed<graphtree::c::dlpack::VersionedManaged>(python, capsule, "dltensor_versioned");
  }
  python.restore_error(type, value, trace);
}
