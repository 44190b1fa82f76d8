// Another framework allocates from a pool of ours, through its allocator callbacks.
//
//   PyTorch's pluggable allocator   looks up three functions by name in the shared library:
//                                   graphtree_foreign_malloc, graphtree_foreign_free and
//                                   graphtree_foreign_record_stream
//   anything else                   calls ForeignAllocator's methods
//
// The callbacks carry no context, so the device's number says which ForeignAllocator is meant. A
// block goes back to the one that has given it, also where another one is installed, or none.
// Streams are the caller's native ones; each is adopted at its first use, until the allocator is
// destroyed. A stream that is captured at that moment goes to the pool, which holds the adopted
// stream until the capture has ended: the native stream has to live as long.
//
// Threads: callbacks may come from any thread; one lock makes them take turns. Nobody but the
// ForeignAllocator may call its pool, unless a class derived from it lends the pool to somebody
// else, who then waits by IsVisited and the lock before each use.
#ifndef GRAPHTREE_ALLOCATOR_FOREIGN_H_
#define GRAPHTREE_ALLOCATOR_FOREIGN_H_

#include <atomic>
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
  // The pool outlives the allocator.
  explicit ForeignAllocator(Pool* pool);
  virtual ~ForeignAllocator();
  ForeignAllocator(const ForeignAllocator&) = delete;
  ForeignAllocator& operator=(const ForeignAllocator&) = delete;

  // An address for use on `stream`.
  absl::StatusOr<Address> Allocate(uint64_t bytes, NativeStream stream);
  // `stream` has the last work on the block. Address 0 is fine, and does nothing.
  absl::Status Free(Address address, NativeStream stream);
  // Work on `stream` uses the block at `address` too.
  absl::Status UseOn(Address address, NativeStream stream);

  // The same with a stream of ours.
  absl::StatusOr<Address> Allocate(uint64_t bytes, Stream& stream);
  absl::Status Free(Address address, Stream& stream);
  absl::Status UseOn(Address address, Stream& stream);
  // `stream` is `native`, which is not adopted then. `stream` outlives the allocator, or another
  // call names another stream for `native` before it goes.
  void Know(NativeStream native, Stream& stream);

  // The last failure of a call, as callbacks can only return null; OK if none has failed.
  absl::Status last_error() const;

  // From here on `allocator` gets the callbacks for device number `device`; null: nobody gets them.
  // Fails, and changes nothing, if no device can have that number.
  static absl::Status Install(int device, ForeignAllocator* allocator);
  static ForeignAllocator* Installed(int device);
  // Of all that there are the one whose memory this is; else the one that is installed for the
  // device, or null.
  static ForeignAllocator* OwnerOf(Address address, int device);
  // A block of the one that is installed, which stays meanwhile, whoever closes its tree.
  static absl::StatusOr<Address> AllocateFromInstalled(uint64_t bytes, int device,
                                                       NativeStream stream);

 protected:
  // Where the memory comes from and goes to. Called with the lock held.
  virtual absl::StatusOr<Address> Take(uint64_t bytes, Stream& stream);
  virtual absl::Status GiveBack(Address address, Stream& stream);
  // From here on no callback finds the allocator. Returns when the callbacks that had found it have
  // ended. A derived class calls this first in its destructor, while its own members are there.
  // Never called inside of Take.
  void AwaitCallers();
  // Whether nobody will call the allocator again. Asked after each GiveBack, with the lock held; on
  // a yes Leave is called, without the lock, and may delete the allocator.
  virtual bool IsOver() const { return false; }
  // Whether this thread may use the pool now. Called with the lock held.
  virtual absl::Status MayUsePool() const { return absl::OkStatus(); }
  virtual void Leave() {}

  // A thread that uses the pool. Whoever is about to use the pool otherwise looks at the count, and
  // needs the lock only if somebody is there: the count goes up before the thread asks whether it
  // may use the pool, so one of the two sees the other. The lock goes last: whoever frees the last
  // block deletes the allocator as soon as it has the lock.
  class Visit {
   public:
    explicit Visit(const ForeignAllocator& at) : at_(at) {
      at_.visits_.fetch_add(1);
      at_.mutex_.lock();
    }
    ~Visit() {
      at_.visits_.fetch_sub(1);
      at_.mutex_.unlock();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    const ForeignAllocator& at_;
  };
  // A full fence, whatever the answer.
  bool IsVisited() const { return visits_.fetch_add(0) > 0; }

  Pool& pool_;
  mutable std::atomic<uint32_t> visits_{0};
  // Callbacks that have found the allocator by its device's number and are not through. One that
  // brings a block back needs no such count: the block keeps its allocator.
  std::atomic<uint32_t> callers_{0};
  // Recursive: a server that the pool asks for memory, inside of an Allocate, calls Free.
  mutable std::recursive_mutex mutex_;

 private:
  absl::StatusOr<Stream*> Adopt(NativeStream native);
  // Notes a failure as the last error, and returns it.
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
