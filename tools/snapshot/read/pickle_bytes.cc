// Bytes as protocol 2 writes them: the call of a function, recognised by its name and done here.
#include <string>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/pickle_opcodes.h"
#include "tools/snapshot/read/pickle_machine.h"

namespace graphtree::snapshot {
namespace {

constexpr absl::string_view kEncode = "_codecs.encode";
constexpr absl::string_view kBytes2 = "__builtin__.bytes";
constexpr absl::string_view kBytes3 = "builtins.bytes";

}  // namespace

bool PickleMachine::Global() {
  const std::string wanted = WantedImport(pickle::kGlobal);
  if (wanted == kEncode) {
    stack_.Push(Value(kFunctionTag, kEncodeFunction));
  } else if (wanted == kBytes2 || wanted == kBytes3) {
    stack_.Push(Value(kFunctionTag, kBytesFunction));
  } else {
    return status_.ok() && RefuseImport(wanted, "GLOBAL");
  }
  return true;
}

// Such a name in a list, a dictionary or a tuple is an import like any other.
bool PickleMachine::RefuseFunction(Value function) {
  return RefuseImport(std::string(function.payload() == kEncodeFunction ? kEncode : kBytes3),
                      "GLOBAL, used as data");
}

bool PickleMachine::Reduce() {
  if (above_mark() < 2 || !IsFunction(stack_.end()[-2])) return Refuse(pickle::kReduce);
  const Value function = stack_.end()[-2];
  const Value arguments = stack_.back();
  std::string bytes;
  if (function.payload() == kEncodeFunction) {
    if (!EncodedBytes(arguments, bytes)) return false;
  } else {
    const std::vector<Value>* none = snapshot_.values.ListItems(arguments);
    if (none == nullptr || !none->empty()) return Refuse(pickle::kReduce);
  }
  stack_.Truncate(stack_.size() - 2);
  stack_.Push(Value(Value::kBytes, snapshot_.strings.Intern(bytes)));
  return true;
}

// (text, "latin1"): each character of the text is a byte.
bool PickleMachine::EncodedBytes(Value arguments, std::string& bytes) {
  const std::vector<Value>* items = snapshot_.values.ListItems(arguments);
  if (items == nullptr || items->size() != 2 || !(*items)[0].is(Value::kString) ||
      !(*items)[1].is(Value::kString) || snapshot_.strings[(*items)[1].id()] != "latin1") {
    return Fail("_codecs.encode is called with something else than a text and \"latin1\"");
  }
  const absl::string_view text = snapshot_.strings[(*items)[0].id()];
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    const bool two = (c & 0xfc) == 0xc0 && i + 1 < text.size();  // U+0080 to U+00FF
    if (c >= 0x80 && !two) return Fail("bytes that hold a character beyond 255");
    const auto low = static_cast<uint8_t>(two ? text[++i] : 0) & 0x3f;
    bytes.push_back(static_cast<char>(two ? (c << 6) | low : c));
  }
  return true;
}

}  // namespace graphtree::snapshot
