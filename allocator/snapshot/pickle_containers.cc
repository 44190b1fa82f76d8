// The opcodes that fill lists and dictionaries.
#include <string>

#include "absl/strings/str_cat.h"
#include "allocator/snapshot/pickle_machine.h"

namespace graphtree::snapshot {

bool PickleMachine::Target(Object::Kind fresh, Object::Kind filled, Value*& target) {
  target = &stack_[floor_ - 1];
  if (target->is(Value::kObject)) {
    const Object::Kind kind = snapshot_.values.object(*target).kind;
    if (kind == fresh || kind == filled) return true;
    // A list of frames is a list, too; the builder knows when it may still grow.
    if (fresh == Object::kNewList && (kind == Object::kStack || kind == Object::kUsedStack)) {
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
  Value* dict = nullptr;
  const bool found = Target(Object::kNewDict, Object::kDict, dict);
  if (found) {
    snapshot_.values.AddItem(snapshot_.values.object(*dict), stack_[floor_], stack_[floor_ + 1]);
  }
  stack_.Truncate(floor_);
  floor_ = outer;
  return found;
}

bool PickleMachine::SetItems() {
  if (marks_.empty() || floor_ <= marks_.back()) return Underflow();
  if (above_mark() % 2 != 0) return Fail("a dictionary with a key and no value");
  Value* dict = nullptr;
  if (!Target(Object::kNewDict, Object::kDict, dict)) return false;
  Object& object = snapshot_.values.object(*dict);
  const size_t pairs = above_mark() / 2;
  const Value* items = stack_.data() + floor_;
  if (object.kind == Object::kNewDict && pairs != 0) {
    const uint32_t memo_slot = object.index;
    const Value filled = builder_.FillDict(*dict, items, pairs);
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
