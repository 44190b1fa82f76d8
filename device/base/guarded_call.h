// Somebody else's code, called where an exception ends.
//
//   const absl::Status status = Guarded([&] { outputs = body(on, inputs); });
//   if (!status.ok()) ...   // "it threw an exception: out of luck"
//
//   caller's code   throws --+          compiled with exceptions
//   our frames               |          compiled without: they would be skipped, and with them what
//                            v          their destructors undo
//   Guarded         catches, and says   compiled with exceptions, alone of all that is ours
//
// So between the callback and Guarded stand only frames that have nothing to undo: the closure that
// is passed here calls the callback and does nothing else.
//
// Threads: any. Cost: where nothing is thrown, a call.
#ifndef GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_
#define GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_

#include <exception>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace graphtree {

// Unknown, with what() where there is one, if `call` threw.
absl::Status Guarded(absl::FunctionRef<void()> call);

// The same for a callback that is its caller's own business: the exception goes on where everything
// of ours is done.
//
//   std::exception_ptr thrown = Caught(look);
//   ...                                          // leave locks
//   ThrowOn(std::move(thrown));                  // the last thing; nothing if null
std::exception_ptr Caught(absl::FunctionRef<void()> call);
void ThrowOn(std::exception_ptr thrown);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_
