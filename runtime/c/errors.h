// Errors as objects of the C interface, from statuses and back.
//
//   absl::Status --ErrorOf--> gt_error, the caller's        code, CUDA's code, text, place
//   a callback's gt_error --TakeError--> absl::Status    the text goes on, with CUDA's code in it
//
// Where there is no memory for an error there is one that is always there, and says so.
#ifndef GRAPHTREE_RUNTIME_C_ERRORS_H_
#define GRAPHTREE_RUNTIME_C_ERRORS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/c/graphtree.h"
#include "runtime/c/objects.h"

namespace graphtree::c {

struct ErrorParts {
  gt_code code = GT_UNKNOWN;
  int32_t cuda_code = 0;
  absl::string_view text = "";
  const char* call = "";  // lives as long as the library
  absl::string_view function = "";
  int64_t input = -1;
  int64_t op = -1;
  absl::string_view op_name = "";
};

// One allocation: the words stand behind the object.
class ErrorObject : public Object {
 public:
  static constexpr Kind kKind = kError;
  explicit ErrorObject(const gt_error_info& info) : info_(info) {}
  const gt_error_info& info() const { return info_; }

 private:
  const gt_error_info info_;
};

// The one that is always there.
gt_error NoMemoryError();
gt_error NewError(const ErrorParts& parts);
inline constexpr char kNoMemoryWords[] =
    "the host has no memory for an object of the C interface";
// Where the words of the status name an input or an op, and `parts` does not, these are the
// error's. REQUIRES: it is not OK.
gt_error ErrorOf(const absl::Status& status, ErrorParts parts);
// The same status; for one of no memory, with words, which wander through the library.
absl::Status WithWords(absl::Status status);
// The caller's error is released. A null error is OK; a handle that is none is an error, too.
absl::Status TakeError(gt_error error);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_ERRORS_H_
