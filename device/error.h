// How a device says that something failed.
//
// Every failure is an absl::Status. After its sentence it carries the code that the CUDA Runtime
// uses for that failure, on the host device too: a program tested without a GPU sees the codes that
// it will meet on one. The absl code is derived from the device's code, so callers may branch on
// either.
//
//   absl::Status status = stream->Synchronize();
//   if (ErrorCodeOf(status) == ErrorCode::kCaptureUnsupported) ...
//
// The code stands in the message by its name, in brackets, and nowhere else: people and programs
// read the same, and code that adds where a failure happened, or passes the message on, passes the
// code on with it. (A payload would be no better: absl prints every payload after the message.)
//
// A code that kills the device's context (KillsDevice) is sticky: the device is lost, every later
// call returns that first status, and closing still works.
#ifndef GRAPHTREE_DEVICE_ERROR_H_
#define GRAPHTREE_DEVICE_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace graphtree {

// The numbers are those of cudaError_t. Other numbers of CUDA's are legal values too.
enum class ErrorCode : int {
  kNone = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInsufficientDriver = 35,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchFailure = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
};

// The name of a code as CUDA spells it ("cudaErrorStreamCaptureUnjoined"), or "cudaError 123".
std::string ErrorCodeName(ErrorCode code);

// A status that carries `code`. REQUIRES: code is not kNone.
absl::Status DeviceError(ErrorCode code, absl::string_view message);

// The code that a status carries, the first one if its message tells of several failures; kNone for
// an OK status, kUnknown for a status without a code.
ErrorCode ErrorCodeOf(const absl::Status& status);

// True if no call on the device can work after this error.
bool KillsDevice(ErrorCode code);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_ERROR_H_
