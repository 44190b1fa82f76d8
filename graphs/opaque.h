// An opaque value is an object that a function is handed and no kernel reads: a process group, a
// mesh, a plan.
//
//   Value   | holder* | opaque           | 0       |   any object: never compared
//           | holder* | versioned opaque | version |   part of a call's key, as an integer is
//
// The value keeps the object alive. (A destructor of the object that throws ends the process.) A
// recording is made from what the object was, so an object whose contents matter has a version, and
// another version is another recording. A call that brings another object under a version that is
// known is an error, as one of the two versions is wrong.
//
// Threads: values may be dropped on any thread.
#ifndef GRAPHTREE_GRAPHS_OPAQUE_H_
#define GRAPHTREE_GRAPHS_OPAQUE_H_

#include <memory>
#include <string>
#include <utility>

#include "graphs/storage.h"

namespace graphtree {

// Lives until the last value that refers to it is gone.
class OpaqueHolder : public StorageOwner {
 public:
  // The storage has no handle yet.
  static Storage* Make(std::shared_ptr<const void> object) {
    return &(new OpaqueHolder(std::move(object)))->storage_;
  }
  static const void* ObjectOf(const Storage& storage) {
    return static_cast<const OpaqueHolder*>(storage.owner())->object_.get();
  }

  void Unreferenced(Storage*) override { const std::unique_ptr<OpaqueHolder> last(this); }
  std::string WhyStale(const Storage&) const override { return "an opaque value is never stale"; }

 private:
  explicit OpaqueHolder(std::shared_ptr<const void> object)
      : storage_(this, {}, StorageState::kForeign), object_(std::move(object)) {}

  Storage storage_;
  const std::shared_ptr<const void> object_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_OPAQUE_H_
