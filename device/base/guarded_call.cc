// The only file of the library that is compiled with exceptions.
#include "device/base/guarded_call.h"

#include <cxxabi.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace graphtree {

absl::Status Guarded(absl::FunctionRef<void()> call) { return GuardedBy("it", call); }

absl::Status GuardedBy(absl::string_view callback, absl::FunctionRef<void()> call) {
  try {
    call();
    return absl::OkStatus();
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& thrown) {
    return absl::UnknownError(absl::StrCat(callback, " threw an exception: ", thrown.what()));
  } catch (...) {
    return absl::UnknownError(
        absl::StrCat(callback, " threw an exception that is no std::exception"));
  }
}

std::exception_ptr Caught(absl::FunctionRef<void()> call) {
  try {
    call();
    return nullptr;
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return std::current_exception();
  }
}

void ThrowOn(std::exception_ptr thrown) {
  if (thrown != nullptr) std::rethrow_exception(std::move(thrown));
}

}  // namespace graphtree
