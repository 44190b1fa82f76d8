// Makes errors, and the functions of graphtree.h that look into them.
#include "runtime/c/errors.h"

#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "device/error.h"
#include "runtime/c/error_place.h"

namespace graphtree::c {
namespace {

// No slot of the table: its index is beyond all chunks that there could be memory for.
constexpr Handle kNoMemoryError = (Handle{kError} << 24) | 0xFFFFFF;

constexpr gt_error_info kNoMemory = {
    sizeof(gt_error_info), GT_RESOURCE_EXHAUSTED, 0, kNoMemoryWords, "", "", -1, -1, ""};
constexpr gt_error_info kNothing = {sizeof(gt_error_info), GT_OK, 0, "", "", "", -1, -1, ""};
constexpr gt_error_info kNoError = {sizeof(gt_error_info), GT_BAD_HANDLE, 0,
                                    "this is no error's handle, or the error was released", "", "",
                                    -1, -1, ""};

struct CodeName {
  gt_code code;
  const char* name;
};
constexpr CodeName kCodeNames[] = {
    {GT_OK, "GT_OK"},
    {GT_CANCELLED, "GT_CANCELLED"},
    {GT_UNKNOWN, "GT_UNKNOWN"},
    {GT_INVALID_ARGUMENT, "GT_INVALID_ARGUMENT"},
    {GT_DEADLINE_EXCEEDED, "GT_DEADLINE_EXCEEDED"},
    {GT_NOT_FOUND, "GT_NOT_FOUND"},
    {GT_ALREADY_EXISTS, "GT_ALREADY_EXISTS"},
    {GT_PERMISSION_DENIED, "GT_PERMISSION_DENIED"},
    {GT_RESOURCE_EXHAUSTED, "GT_RESOURCE_EXHAUSTED"},
    {GT_FAILED_PRECONDITION, "GT_FAILED_PRECONDITION"},
    {GT_ABORTED, "GT_ABORTED"},
    {GT_OUT_OF_RANGE, "GT_OUT_OF_RANGE"},
    {GT_UNIMPLEMENTED, "GT_UNIMPLEMENTED"},
    {GT_INTERNAL, "GT_INTERNAL"},
    {GT_UNAVAILABLE, "GT_UNAVAILABLE"},
    {GT_DATA_LOSS, "GT_DATA_LOSS"},
    {GT_BAD_HANDLE, "GT_BAD_HANDLE"},
};

const CodeName* FindCode(gt_code code) {
  for (const CodeName& row : kCodeNames) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

// Copies words one behind another, each with a 0 at its end.
class WordsAt {
 public:
  explicit WordsAt(char* at) : at_(at) {}
  const char* Add(absl::string_view word) {
    char* const begin = at_;
    if (!word.empty()) std::memcpy(begin, word.data(), word.size());
    begin[word.size()] = '\0';
    at_ += word.size() + 1;
    return begin;
  }

 private:
  char* at_;
};

}  // namespace

gt_error NoMemoryError() { return AsPointer<gt_error>(kNoMemoryError); }

gt_error NewError(const ErrorParts& parts) {
  const size_t words = parts.text.size() + parts.function.size() + parts.op_name.size() + 3;
  void* const memory = NewHostMemory(sizeof(ErrorObject) + words);
  if (memory == nullptr) return NoMemoryError();
  WordsAt at(static_cast<char*>(memory) + sizeof(ErrorObject));
  const gt_error_info info = {.size = sizeof(gt_error_info),
                              .code = FindCode(parts.code) != nullptr ? parts.code : GT_UNKNOWN,
                              .cuda_code = parts.cuda_code,
                              .text = at.Add(parts.text),
                              .call = parts.call,
                              .function = at.Add(parts.function),
                              .input = parts.input,
                              .op = parts.op,
                              .op_name = at.Add(parts.op_name)};
  const Handle handle = Publish(std::unique_ptr<ErrorObject>(new (memory) ErrorObject(info)));
  return AsPointer<gt_error>(handle != 0 ? handle : kNoMemoryError);
}

gt_error ErrorOf(const absl::Status& status, ErrorParts parts) {
  parts.code = static_cast<gt_code>(status.code());
  if (absl::IsResourceExhausted(status) && status.message().empty()) {
    parts.text = kNoMemoryWords;
    return NewError(parts);
  }
  const ErrorCode device_code = ErrorCodeOf(status);
  // kUnknown stands for a status without a code; CUDA's own has the name in its text.
  const bool is_devices = device_code != ErrorCode::kUnknown ||
                          absl::StrContains(status.message(), ErrorCodeName(device_code));
  const ErrorPlace place = PlaceIn(status.message());
  parts.cuda_code = is_devices ? static_cast<int32_t>(device_code) : 0;
  parts.text = status.message();
  if (parts.input < 0) parts.input = place.input;
  if (parts.op < 0) {
    parts.op = place.op;
    parts.op_name = place.op_name;
  }
  return NewError(parts);
}

absl::Status WithWords(absl::Status status) {
  const bool lacks = absl::IsResourceExhausted(status) && status.message().empty();
  return lacks ? absl::ResourceExhaustedError(kNoMemoryWords) : status;
}

absl::Status TakeError(gt_error error) {
  if (error == nullptr) return absl::OkStatus();
  const gt_error_info& info = *gt_error_look(error);
  const bool is_status = info.code > GT_OK && info.code <= GT_DATA_LOSS;
  const absl::StatusCode code = is_status ? static_cast<absl::StatusCode>(info.code)
                                          : absl::StatusCode::kInvalidArgument;
  absl::Status status(code, info.text);
  EndHandle(HandleOf(error));
  return status;
}

}  // namespace graphtree::c

using graphtree::c::ErrorObject;

const gt_error_info* gt_error_look(gt_error error) noexcept {
  const graphtree::c::Handle handle = graphtree::c::HandleOf(error);
  if (handle == 0) return &graphtree::c::kNothing;
  if (handle == graphtree::c::kNoMemoryError) return &graphtree::c::kNoMemory;
  const graphtree::c::Ref<ErrorObject> found = graphtree::c::Find<ErrorObject>(handle);
  return found ? &found->info() : &graphtree::c::kNoError;
}

gt_error gt_error_new(gt_code code, const char* text) noexcept {
  return graphtree::c::NewError({.code = code, .text = text != nullptr ? text : ""});
}

const char* gt_code_name(gt_code code) noexcept {
  const graphtree::c::CodeName* const row = graphtree::c::FindCode(code);
  return row != nullptr ? row->name : "GT_UNKNOWN";
}
