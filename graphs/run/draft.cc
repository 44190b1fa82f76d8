// Finds the reason that belongs to a failure.
#include "graphs/run/draft.h"

#include "device/error.h"

namespace graphtree {

Reason ReasonOf(const absl::Status& status) {
  switch (ErrorCodeOf(status)) {
    case ErrorCode::kCaptureUnsupported:
    case ErrorCode::kCapturedEvent:
      return Reason::kForbiddenCall;
    case ErrorCode::kCaptureImplicit:
    case ErrorCode::kCaptureInvalidated:
      return Reason::kCaptureBroken;
    case ErrorCode::kCaptureUnjoined:
      return Reason::kUnjoinedFork;
    case ErrorCode::kOutOfMemory:
      return Reason::kOutOfDevice;
    default:
      return Reason::kRecordFailed;
  }
}

}  // namespace graphtree
