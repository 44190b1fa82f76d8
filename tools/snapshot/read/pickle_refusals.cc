// How a pickle begins, and every way in which it is turned away.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/pickle_opcodes.h"
#include "tools/snapshot/read/pickle_machine.h"

namespace graphtree::snapshot {
namespace {

constexpr int kOldestProtocol = 2;
constexpr int kNewestProtocol = 5;
constexpr size_t kMaxNameLength = 200;  // of an import, in a message

std::string Printable(absl::string_view text) {
  std::string result;
  for (char c : text.substr(0, kMaxNameLength)) {
    result.push_back(c >= ' ' && c < 0x7f ? c : '?');
  }
  return result;
}

}  // namespace

bool PickleMachine::Fail(const std::string& what) {
  status_ = absl::InvalidArgumentError(
      absl::StrCat("not a snapshot, or damaged, at byte ", source_.Offset(opcode_at_), ": ", what));
  return false;
}

bool PickleMachine::Truncated() {
  const uint64_t size = std::max(source_.total(), source_.Offset(end_));
  status_ = absl::InvalidArgumentError(
      absl::StrCat("the file is cut off: it ends after ", size,
                   " bytes, in the middle of its pickle (at byte ", source_.Offset(opcode_at_),
                   "); write or copy the snapshot again"));
  return false;
}

bool PickleMachine::Underflow() { return Fail("an opcode uses more values than there are"); }

bool PickleMachine::Start() {
  if (!Need(2)) return false;
  p_ += 1;  // PROTO, by which the file was recognised
  const int protocol = static_cast<uint8_t>(*p_++);
  if (protocol < kOldestProtocol || protocol > kNewestProtocol) {
    status_ = absl::InvalidArgumentError(
        absl::StrCat("this is a pickle of protocol ", protocol, "; protocols ", kOldestProtocol,
                     " to ", kNewestProtocol,
                     " are known. Write it again with pickle.dump(snapshot, file, protocol=4)"));
    return false;
  }
  snapshot_.pickle_protocol = protocol;
  return true;
}

// Text up to the end of the line, for the opcodes that name their import that way.
std::string PickleMachine::Line() {
  std::string line;
  while (line.size() < kMaxNameLength && Need(1) && *p_ != '\n') line.push_back(*p_++);
  if (p_ < end_ && *p_ == '\n') ++p_;
  return line;
}

std::string PickleMachine::WantedImport(uint8_t opcode) {
  if (opcode == pickle::kGlobal || opcode == pickle::kInst) {
    const std::string module = Line();
    return absl::StrCat(Printable(module), ".", Printable(Line()));
  }
  if (opcode == pickle::kStackGlobal && above_mark() >= 2) {
    const Value* names = stack_.end() - 2;
    if (names[0].is(Value::kString) && names[1].is(Value::kString)) {
      return absl::StrCat(Printable(snapshot_.strings[names[0].id()]), ".",
                          Printable(snapshot_.strings[names[1].id()]));
    }
  }
  return "";
}

bool PickleMachine::RefuseImport(const std::string& wanted, const char* opcode) {
  status_ = absl::PermissionDeniedError(absl::StrCat(
      "the pickle wants to import ", wanted.empty() ? "something" : wanted, " (", opcode,
      " at byte ", source_.Offset(opcode_at_),
      "). A snapshot holds data only; nothing was imported or run"));
  return false;
}

bool PickleMachine::Refuse(uint8_t opcode) {
  const uint64_t at = source_.Offset(opcode_at_);
  const char* name = pickle::RefusedName(opcode);
  if (name == nullptr)
    return Fail(absl::StrCat("byte ", static_cast<int>(opcode), " is no opcode"));
  const bool imports = opcode == pickle::kGlobal || opcode == pickle::kStackGlobal ||
                       opcode == pickle::kInst;
  if (imports) {
    return RefuseImport(WantedImport(opcode), name);
  }
  const bool calls = opcode == 'R' || opcode == 'o' || opcode == 'b' || opcode == 0x81 ||
                     opcode == 0x92 || (opcode >= 0x82 && opcode <= 0x84) || opcode == 'P' ||
                     opcode == 'Q';
  if (calls) {
    status_ = absl::PermissionDeniedError(
        absl::StrCat("the pickle wants to call something (", name, " at byte ", at,
                     "). A snapshot holds data only; nothing was imported or run"));
    return false;
  }
  return Fail(absl::StrCat("opcode ", name, ", which no snapshot needs"));
}

}  // namespace graphtree::snapshot
