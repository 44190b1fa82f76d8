// Calls somebody else's code, and catches what it throws.
//
//   const absl::Status status = Guarded([&] { outputs = body(on, inputs); });
//   if (!status.ok()) ...   // "it threw an exception: out of luck"
//
//   caller's code   throws --+          compiled with exceptions
//   our frames               |          compiled without: an exception skips their destructors
//                            v
//   Guarded         catches, and says   compiled with exceptions, alone of all our files
//
// So between the callback and Guarded stand only frames that have nothing to undo: the closure that
// is passed here calls the callback and does nothing else.
//
// A thread that is cancelled or exits within the callback is let through: it ends, and what it
// holds of ours stays held. An interpreter that shuts down ends its daemon threads so.
//
// Threads: any. Cost: where nothing is thrown, a call.
#ifndef GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_
#define GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_

#include <exception>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphtree {

// Returns an Unknown error, with the exception's what() if it has one, if `call` threw.
absl::Status Guarded(absl::FunctionRef<void()> call);
// The same, and the error names who was called: "Options::clock threw an exception: out of luck".
absl::Status GuardedBy(absl::string_view callback, absl::FunctionRef<void()> call);

// The same for a callback whose exception its caller should get: Caught keeps the exception, and
// ThrowOn throws it again where nothing of ours is left to do.
//
//   std::exception_ptr thrown = Caught(look);
//   ...                                          // leave locks
//   ThrowOn(std::move(thrown));                  // the last thing; nothing if null
std::exception_ptr Caught(absl::FunctionRef<void()> call);
void ThrowOn(std::exception_ptr thrown);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_GUARDED_CALL_H_
