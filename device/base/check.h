// GRAPHTREE_CHECK stops the process for a bug in our own code or a broken precondition, never for a
// failure of the world (no memory, a driver's error, a bad file): those are an absl::Status.
//
//   GRAPHTREE_CHECK(offset <= bytes_) << "offset " << offset << " in " << bytes_ << " bytes";
//
// A check that passes costs one compare and a branch that is predicted. GRAPHTREE_DCHECK is for
// loops that are too hot even for that; it is on in every build but the optimised one.
#ifndef GRAPHTREE_DEVICE_BASE_CHECK_H_
#define GRAPHTREE_DEVICE_BASE_CHECK_H_

#include <sstream>

namespace graphtree::check_internal {

// Collects the message and, when the statement ends, prints it and aborts.
class Failure {
 public:
  Failure(const char* file, int line, const char* condition);
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
  [[noreturn]] ~Failure();
  std::ostream& stream() { return message_; }

 private:
  std::ostringstream message_;
};

// Gives both arms of the ?: below the type void; & binds weaker than << and tighter than ?:.
struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace graphtree::check_internal

#define GRAPHTREE_CHECK(condition)                        \
  (__builtin_expect(static_cast<bool>(condition), 1))     \
      ? static_cast<void>(0)                              \
      : ::graphtree::check_internal::Voidify() &          \
            ::graphtree::check_internal::Failure(__FILE__, __LINE__, #condition).stream()

#ifdef NDEBUG
#define GRAPHTREE_DCHECK(condition) GRAPHTREE_CHECK(true || (condition))
#else
#define GRAPHTREE_DCHECK(condition) GRAPHTREE_CHECK(condition)
#endif

#endif  // GRAPHTREE_DEVICE_BASE_CHECK_H_
