// Says what is wrong with what a function was given.
#include "runtime/c/entry.h"

#include "absl/strings/str_cat.h"

namespace graphtree::c {

void Entry::FailHandle(Handle handle, Kind wanted, absl::string_view argument) {
  if (!ok()) return;
  is_bad_handle_ = true;
  const absl::string_view name = KindName(wanted);
  const auto fail = [&](absl::string_view what) {
    Fail(absl::InvalidArgumentError(absl::StrCat(call_, ": ", argument, " ", what)));
  };
  switch (Table().Look(handle, wanted)) {
    case HandleState::kNull:
      return fail(absl::StrCat("is null, and a ", name, " is wanted"));
    case HandleState::kUnknown:
      return fail(absl::StrCat("is no handle of this library: a ", name,
                               " is wanted, and it is another copy's, or was never one"));
    case HandleState::kDangling:
      return fail(absl::StrCat("is the handle of a ", KindName(HandleTable::KindOf(handle)),
                               " that was released, or has ended with what it belonged to"));
    case HandleState::kWrongKind:
      return fail(absl::StrCat("is a ", KindName(HandleTable::KindOf(handle)), ", and a ", name,
                               " is wanted"));
    case HandleState::kTaken:
      return fail(absl::StrCat("is a ", name, " that another call uses now"));
    case HandleState::kGood:
      // It came to life between the two looks, or has as many users as can be counted.
      return fail(absl::StrCat("is a ", name, " that could not be used"));
  }
}

void Entry::FailNull(const char* argument) {
  Fail(absl::InvalidArgumentError(absl::StrCat(call_, ": ", argument, " is null")));
}

void Entry::FailShared(Kind kind, const char* argument) {
  Fail(absl::FailedPreconditionError(absl::StrCat(
      call_, ": ", argument, " is a ", KindName(kind), " that another call uses at this moment")));
}

bool Entry::HasArray(const void* array, size_t count, const char* argument) {
  if (count > kMostElements) {
    Fail(absl::InvalidArgumentError(absl::StrCat(call_, ": ", argument, " should have ", count,
                                                 " elements; ", kMostElements, " are the most")));
    return false;
  }
  if (array != nullptr || count == 0) return true;
  Fail(absl::InvalidArgumentError(
      absl::StrCat(call_, ": ", argument, " is null, and should have ", count)));
  return false;
}

gt_error Entry::Failed() const {
  ErrorParts parts = {.call = call_, .function = function_, .input = input_};
  if (!is_bad_handle_) return ErrorOf(status_, parts);
  parts.code = GT_BAD_HANDLE;
  parts.text = status_.message();
  return NewError(parts);
}

absl::Status Entry::NoHandle() {
  return absl::Status(absl::StatusCode::kResourceExhausted, "");
}

absl::Status CheckEnum(absl::string_view what, int32_t number, int32_t last) {
  if (number >= 0 && number <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", number, ", and there is none with that number"));
}

}  // namespace graphtree::c
