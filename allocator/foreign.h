// Hooks for another framework's allocator callbacks: its memory comes from a pool of ours.
//
//   PyTorch's pluggable allocator   graphtree_foreign_malloc, graphtree_foreign_free by name from
//   the
//                                   shared library, graphtree_foreign_record_stream
//   anything else                   ForeignAllocator's methods
//
// The callbacks carry no context, so the pool is looked up by the device's number. Streams are the
// caller's native ones; each is adopted once and stays so until the allocator is gone. One that
// captures then is kept by the pool until its capture has ended, and has to live as long.
//
// Threads: callbacks may come from any thread; they take turns. The pool then belongs to the
// ForeignAllocator alone.
#ifndef GRAPHTREE_ALLOCATOR_FOREIGN_H_
#define GRAPHTREE_ALLOCATOR_FOREIGN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/pool.h"
#include "device/device.h"

namespace graphtree {

class ForeignAllocator {
 public:
  // The pool outlives it.
  explicit ForeignAllocator(Pool* pool) : pool_(*pool) {}
  virtual ~ForeignAllocator();
  ForeignAllocator(const ForeignAllocator&) = delete;
  ForeignAllocator& operator=(const ForeignAllocator&) = delete;

  // An address for use on `stream`.
  absl::StatusOr<Address> Allocate(uint64_t bytes, NativeStream stream);
  // In the order of `stream`. 0 is fine.
  absl::Status Free(Address address, NativeStream stream);
  // Work on `stream` uses the block at `address` too.
  absl::Status UseOn(Address address, NativeStream stream);

  // The same with a stream of ours; and `native` is that stream, so it need not be adopted. The
  // stream outlives the allocator or is named again with another.
  absl::StatusOr<Address> Allocate(uint64_t bytes, Stream& stream);
  absl::Status Free(Address address, Stream& stream);
  absl::Status UseOn(Address address, Stream& stream);
  void Know(NativeStream native, Stream& stream);

  // What went wrong last; callbacks can only return null.
  absl::Status last_error() const;

  // Callbacks for device number `device` go to `allocator` from here on; null: to nobody. An error,
  // and nothing changed, if no device has such a number.
  static absl::Status Install(int device, ForeignAllocator* allocator);
  static ForeignAllocator* Installed(int device);

 protected:
  // Where the memory comes from and goes to; called with the lock held.
  virtual absl::StatusOr<Address> Take(uint64_t bytes, Stream& stream);
  virtual absl::Status GiveBack(Address address, Stream& stream);
  // Called with the lock held, behind GiveBack: whether that was the last thing that anybody wants
  // of the allocator. Then one Leave follows, with the lock let go: it may delete itself there.
  virtual bool IsOver() const { return false; }
  // Whether this thread may use the pool now; called with the lock held.
  virtual absl::Status MayUsePool() const { return absl::OkStatus(); }
  virtual void Leave() {}

  Pool& pool_;
  // Recursive: a server that is asked for memory frees through here, inside of its own call.
  mutable std::recursive_mutex mutex_;

 private:
  absl::StatusOr<Stream*> Adopt(NativeStream native);
  // Keeps what went wrong.
  absl::Status Noted(absl::Status status);

  std::unordered_map<NativeStream, std::unique_ptr<Stream>> streams_;  // guarded by mutex_
  std::unordered_map<NativeStream, Stream*> known_;                    // guarded by mutex_
  absl::Status last_error_;                                            // guarded by mutex_
};

}  // namespace graphtree

extern "C" {
// Null if no pool is installed for the device, or there is no memory.
void* graphtree_foreign_malloc(int64_t bytes, int device, void* stream);
void graphtree_foreign_free(void* address, int64_t bytes, int device, void* stream);
void graphtree_foreign_record_stream(void* address, int device, void* stream);
}

#endif  // GRAPHTREE_ALLOCATOR_FOREIGN_H_
