// The opcodes that fill lists and dictionaries.
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/snapshot/read/pickle_machine.h"

namespace graphtree::snapshot {

bool PickleMachine::Target(Object::Kind fresh, Object::Kind filled, Value*& target) {
  target = &stack_[floor_ - 1];
  if (IsFunction(*target)) return RefuseFunction(*target);
  if (target->is(Value::kObject)) {
    const Object::Kind kind = snapshot_.values.object(*target).kind;
    if (kind == fresh || kind == filled) return true;
    // Lists of frames and of rows are lists, too; the builder knows when they may still grow.
    if (fresh == Object::kNewList &&
        (kind == Object::kStack || kind == Object::kUsedStack || kind == Object::kRun)) {
      return true;
    }
  }
  return Fail(absl::StrCat("items are put into ", TypeName(snapshot_.values, *target),
                           ", or into something that was finished before"));
}

bool PickleMachine::Append() {
  if (above_mark() < 2) return Underflow();
  const size_t outer = floor_;
  floor_ = stack_.size() - 1;
  Value* list = nullptr;
  const bool found = Target(Object::kNewList, Object::kList, list);
  if (IsFunction(stack_.back())) return RefuseFunction(stack_.back());
  if (found && !builder_.FillList(*list, stack_.end() - 1, 1)) {
    return Fail("a list of frames is changed after it was used");
  }
  stack_.Truncate(floor_);
  floor_ = outer;
  return found;
}

bool PickleMachine::Appends() {
  if (marks_.empty() || floor_ <= marks_.back()) return Underflow();
  Value* list = nullptr;
  if (!Target(Object::kNewList, Object::kList, list)) return false;
  for (const Value* item = stack_.data() + floor_; item != stack_.end(); ++item) {
    if (IsFunction(*item)) return RefuseFunction(*item);
  }
  if (above_mark() != 0 && !builder_.FillList(*list, stack_.data() + floor_, above_mark())) {
    return Fail("a list of frames is changed after it was used");
  }
  DropToMark();
  return true;
}

bool PickleMachine::SetItem() {
  if (above_mark() < 3) return Underflow();
  const size_t outer = floor_;
  floor_ = stack_.size() - 2;
  if (!Settle(2)) return false;
  Value* dict = nullptr;
  const bool found = Target(Object::kNewDict, Object::kDict, dict);
  if (found) {
    snapshot_.values.AddItem(snapshot_.values.object(*dict), stack_[floor_], stack_[floor_ + 1]);
  }
  stack_.Truncate(floor_);
  floor_ = outer;
  return found;
}

// What stands for a dictionary that has just become a row, so that lists of rows stay runs.
Value PickleMachine::Bare(Value filled) const {
  if (!filled.is(Value::kObject)) return filled;
  const Object& object = snapshot_.values.object(filled);
  const bool is_row = object.kind == Object::kBlock || object.kind == Object::kEntry ||
                      object.kind == Object::kSegment;
  return is_row ? BareRow(object.kind, object.index) : filled;
}

bool PickleMachine::SetItems() {
  if (marks_.empty() || floor_ <= marks_.back()) return Underflow();
  if (above_mark() % 2 != 0) return Fail("a dictionary with a key and no value");
  Value* dict = nullptr;
  if (!Target(Object::kNewDict, Object::kDict, dict)) return false;
  if (!Settle(above_mark())) return false;
  Object& object = snapshot_.values.object(*dict);
  const size_t pairs = above_mark() / 2;
  const Value* items = stack_.data() + floor_;
  if (object.kind == Object::kNewDict && pairs != 0) {
    const uint32_t memo_slot = object.index;
    const Value filled = Bare(builder_.FillDict(*dict, items, pairs));
    if (memo_slot != 0 && memo_[memo_slot - 1] == *dict) memo_[memo_slot - 1] = filled;
    *dict = filled;
  } else {
    for (size_t i = 0; i < pairs; ++i) {
      snapshot_.values.AddItem(object, items[2 * i], items[2 * i + 1]);
    }
  }
  DropToMark();
  return true;
}

}  // namespace graphtree::snapshot
