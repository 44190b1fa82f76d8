// A search in three steps: ill-formed texts, then the rows that show them, then unknown parts.
#include "tools/snapshot/read/ill_formed.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/fields.h"
#include "device/base/json_writer.h"

namespace graphtree::snapshot {
namespace {

// Halves of surrogate pairs apart, which JSON has an escape for.
bool JsonKeeps(absl::string_view text) {
  size_t begin = 0;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] != '\xed' || (text[i + 1] & 0xe0) != 0xa0 || (text[i + 2] & 0xc0) != 0x80) continue;
    if (!IsUtf8(text.substr(begin, i - begin))) return false;
    begin = i + 3;
    i += 2;
  }
  return IsUtf8(text.substr(begin));
}

class Search {
 public:
  explicit Search(const Snapshot& snapshot) : snapshot_(snapshot) {}

  IllFormedTexts Run() {
    if (!FindTexts()) return {};
    FindStacks();
    WalkSide(snapshot_.gpu, "segments", "device_traces");
    WalkSide(snapshot_.host, "host_segments", "host_traces");
    WalkUnknownParts();
    return found_;
  }

 private:
  bool FindTexts() {
    ill_formed_.resize(snapshot_.strings.size());
    bool any = false;
    for (StringId id = 0; id < ill_formed_.size(); ++id) {
      ill_formed_[id] = !JsonKeeps(snapshot_.Text(id));
      any |= ill_formed_[id];
    }
    return any;
  }

  // The texts that a frame shows.
  template <typename Visit>
  void VisitFrame(FrameId id, Visit visit) const {
    const Frame& frame = snapshot_.frames[id];
    VisitFields(snapshot_, frame, [&](StringId key, const Field& field) {
      visit(key, key);
      if (field.kind == Field::kString) visit(key, static_cast<StringId>(field.number));
      if (field.value.is(Value::kString)) visit(key, field.value.id());
    });
  }

  void FindStacks() {
    std::vector<bool> frames(snapshot_.frames.size());
    for (FrameId id = 0; id < frames.size(); ++id) {
      VisitFrame(id, [&](StringId, StringId text) {
        if (ill_formed_[text]) frames[id] = true;
      });
    }
    shows_.resize(snapshot_.stacks.size());
    for (StackId id = 0; id < shows_.size(); ++id) {
      for (FrameId frame : snapshot_.stacks[id]) shows_[id] = shows_[id] || frames[frame];
    }
  }

  // Each text counts where it is first met. `place` makes the words for where that is.
  template <typename Place>
  void Meet(StringId text, Place place) {
    if (!ill_formed_[text]) return;
    ill_formed_[text] = false;
    if (found_.count++ == 0) found_.first = place();
  }

  template <typename Place>
  void MeetStack(StackId stack, Place place) {
    if (!shows_[stack]) return;
    shows_[stack] = false;
    for (size_t i = 0; i < snapshot_.stacks[stack].size(); ++i) {
      VisitFrame(snapshot_.stacks[stack][i], [&](StringId key, StringId text) {
        Meet(text, [&] { return absl::StrCat(place(), "[", i, "].", snapshot_.Text(key)); });
      });
    }
  }

  template <typename Row, typename Place>
  void WalkRow(const Row& row, Place place) {
    VisitFields(snapshot_, row, [&](StringId key, const Field& field) {
      const auto here = [&] { return absl::StrCat(place(), ".", snapshot_.Text(key)); };
      Meet(key, here);
      if (field.kind == Field::kString) Meet(static_cast<StringId>(field.number), here);
      if (field.kind == Field::kStack) MeetStack(static_cast<StackId>(field.number), here);
      if (field.value.is(Value::kString)) Meet(field.value.id(), here);
    });
  }

  void WalkSide(const Side& side, const char* segments, const char* traces) {
    for (size_t i = 0; i < side.segments.size(); ++i) {
      const Segment& segment = side.segments[i];
      const auto place = [&] { return absl::StrCat(segments, "[", i, "]"); };
      WalkRow(segment, place);
      const auto blocks = snapshot_.BlocksOf(segment);
      for (size_t j = 0; j < blocks.size(); ++j) {
        WalkRow(blocks[j], [&] { return absl::StrCat(place(), ".blocks[", j, "]"); });
      }
    }
    for (size_t i = 0; i < side.traces.size(); ++i) {
      const auto entries = snapshot_.EntriesOf(side.traces[i]);
      for (size_t j = 0; j < entries.size(); ++j) {
        WalkRow(entries[j], [&] { return absl::StrCat(traces, "[", i, "][", j, "]"); });
      }
    }
  }

  void MeetValue(Value value, const char* place) {
    if (value.is(Value::kString)) Meet(value.id(), [&] { return place; });
  }

  // Whatever is in no row: the outermost keys, and what lies below them or below a row's extras.
  void WalkUnknownParts() {
    for (const DictItem& item : snapshot_.root) {
      MeetValue(item.key, "a key of the outermost dictionary");
      MeetValue(item.value, "the outermost dictionary");
    }
    constexpr const char* kDeep = "a part that this program does not know";
    for (size_t i = 0; i < snapshot_.values.object_count(); ++i) {
      const Value value(Value::kObject, i);
      if (const std::vector<DictItem>* dict = snapshot_.values.DictItems(value)) {
        for (const DictItem& item : *dict) {
          MeetValue(item.key, kDeep);
          MeetValue(item.value, kDeep);
        }
      } else if (const std::vector<Value>* list = snapshot_.values.ListItems(value)) {
        for (Value item : *list) MeetValue(item, kDeep);
      }
    }
  }

  const Snapshot& snapshot_;
  std::vector<bool> ill_formed_;  // by text, and not met yet
  std::vector<bool> shows_;       // by stack: one of its frames shows such a text
  IllFormedTexts found_;
};

}  // namespace

IllFormedTexts FindIllFormedTexts(const Snapshot& snapshot) { return Search(snapshot).Run(); }

}  // namespace graphtree::snapshot
