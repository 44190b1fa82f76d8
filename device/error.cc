// The table of codes, and the brackets in which a status carries its own.
#include "device/error.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "device/base/check.h"

namespace graphtree {
namespace {

// "[cudaErrorNotReady]", and "[cudaError 123]" for a code without a name here.
constexpr absl::string_view kOpens = "[";
constexpr absl::string_view kEnds = "]";
constexpr absl::string_view kPrefix = "cudaError";

struct CodeRow {
  ErrorCode code;
  const char* name;
  absl::StatusCode status;
  bool kills_device;
};

using absl::StatusCode;

constexpr CodeRow kCodes[] = {
    {ErrorCode::kInvalidValue, "cudaErrorInvalidValue", StatusCode::kInvalidArgument, false},
    {ErrorCode::kOutOfMemory, "cudaErrorMemoryAllocation", StatusCode::kResourceExhausted, false},
    {ErrorCode::kInvalidConfiguration, "cudaErrorInvalidConfiguration",
     StatusCode::kInvalidArgument, false},
    {ErrorCode::kInsufficientDriver, "cudaErrorInsufficientDriver",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kNoDevice, "cudaErrorNoDevice", StatusCode::kNotFound, false},
    {ErrorCode::kInvalidDevice, "cudaErrorInvalidDevice", StatusCode::kNotFound, false},
    {ErrorCode::kInvalidImage, "cudaErrorInvalidKernelImage", StatusCode::kInvalidArgument, false},
    {ErrorCode::kNoBinaryForGpu, "cudaErrorNoKernelImageForDevice",
     StatusCode::kInvalidArgument, false},
    {ErrorCode::kInvalidPtx, "cudaErrorInvalidPtx", StatusCode::kInvalidArgument, false},
    {ErrorCode::kInvalidHandle, "cudaErrorInvalidResourceHandle",
     StatusCode::kInvalidArgument, false},
    {ErrorCode::kIllegalState, "cudaErrorIllegalState", StatusCode::kFailedPrecondition, false},
    {ErrorCode::kNotFound, "cudaErrorSymbolNotFound", StatusCode::kNotFound, false},
    {ErrorCode::kNotReady, "cudaErrorNotReady", StatusCode::kUnavailable, false},
    {ErrorCode::kIllegalAddress, "cudaErrorIllegalAddress", StatusCode::kInternal, true},
    {ErrorCode::kLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     StatusCode::kInvalidArgument, false},
    {ErrorCode::kLaunchFailure, "cudaErrorLaunchFailure", StatusCode::kInternal, true},
    {ErrorCode::kNotPermitted, "cudaErrorNotPermitted", StatusCode::kFailedPrecondition, false},
    {ErrorCode::kNotSupported, "cudaErrorNotSupported", StatusCode::kUnimplemented, false},
    {ErrorCode::kCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureMerge, "cudaErrorStreamCaptureMerge",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCapturedEvent, "cudaErrorCapturedEvent", StatusCode::kFailedPrecondition, false},
    {ErrorCode::kCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     StatusCode::kFailedPrecondition, false},
    {ErrorCode::kUnknown, "cudaErrorUnknown", StatusCode::kUnknown, false},
};

// Codes that poison a CUDA context but that nothing here branches on.
bool KillsContextByNumber(int number) {
  switch (number) {
    case 214:  // uncorrectable ECC error
    case 220:  // NVLink uncorrectable
    case 702:  // launch timeout
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 710:  // assert
      return true;
    default:
      return false;
  }
}

const CodeRow* FindRow(ErrorCode code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

// kNone if that is no code's name.
ErrorCode CodeNamed(absl::string_view name) {
  for (const CodeRow& row : kCodes) {
    if (row.name == name) return row.code;
  }
  int number = 0;
  name.remove_prefix(kPrefix.size());
  const bool is_number = absl::ConsumePrefix(&name, " ") && absl::SimpleAtoi(name, &number);
  return is_number ? static_cast<ErrorCode>(number) : ErrorCode::kNone;
}

}  // namespace

std::string ErrorCodeName(ErrorCode code) {
  if (code == ErrorCode::kNone) return "cudaSuccess";
  const CodeRow* row = FindRow(code);
  return row != nullptr ? row->name : absl::StrCat(kPrefix, " ", static_cast<int>(code));
}

absl::Status DeviceError(ErrorCode code, absl::string_view message) {
  GRAPHTREE_CHECK(code != ErrorCode::kNone) << "an error needs a code: " << std::string(message);
  const CodeRow* row = FindRow(code);
  return absl::Status(row != nullptr ? row->status : StatusCode::kInternal,
                      absl::StrCat(message, " ", kOpens, ErrorCodeName(code), kEnds));
}

ErrorCode ErrorCodeOf(const absl::Status& status) {
  if (status.ok()) return ErrorCode::kNone;
  const std::string opening = absl::StrCat(kOpens, kPrefix);
  absl::string_view rest = status.message();
  for (size_t at = rest.find(opening); at != rest.npos; at = rest.find(opening)) {
    rest.remove_prefix(at + kOpens.size());
    const ErrorCode code = CodeNamed(rest.substr(0, rest.find(kEnds)));
    if (code != ErrorCode::kNone) return code;
  }
  return ErrorCode::kUnknown;
}

bool KillsDevice(ErrorCode code) {
  const CodeRow* row = FindRow(code);
  return row != nullptr ? row->kills_device : KillsContextByNumber(static_cast<int>(code));
}

}  // namespace graphtree
