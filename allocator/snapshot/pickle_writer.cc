// The format of TreeWriter that emits pickle opcodes.
#include "allocator/snapshot/pickle_writer.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "allocator/snapshot/pickle_opcodes.h"
#include "allocator/snapshot/tree_writer.h"

namespace graphtree::snapshot {
namespace {

using namespace pickle;  // NOLINT(google-build-using-namespace): the opcodes are this file's words

constexpr size_t kBatch = 1000;

class PickleFormat {
 public:
  PickleFormat(const Snapshot& snapshot, int protocol, ByteSink& sink)
      : snapshot_(snapshot),
        protocol_(protocol),
        sink_(sink),
        strings_(snapshot.strings.size(), kNoId),
        frames_(snapshot.frames.size(), kNoId),
        stacks_(snapshot.stacks.size(), kNoId) {
    Opcode(kProto);
    sink_.Byte(static_cast<char>(protocol));
  }
  void Stop() { Opcode(kStop); }

  void BeginDict(size_t) { Begin(kEmptyDict); }
  void EndDict() { End(kSetItems); }
  void BeginList(size_t) { Begin(kEmptyList); }
  void EndList() { End(kAppends); }
  void BeginTuple(size_t count) {
    if (count > 3) Opcode(kMark);
    open_.push_back({kTupleItems, 0});
  }
  void EndTuple(size_t count) {
    open_.pop_back();
    constexpr uint8_t kSmall[] = {kEmptyTuple, kTuple1, kTuple2, kTuple3};
    Opcode(count <= 3 ? kSmall[count] : uint8_t{kTuple});
  }
  absl::Status Key(Value key) {
    Next(kSetItems);
    switch (key.tag()) {
      case Value::kString: Text(key.id()); break;
      case Value::kInteger:
      case Value::kWideInteger: Integer(*snapshot_.values.AsInteger(key)); break;
      case Value::kWideUnsigned: Unsigned(snapshot_.values.wide_bits(key)); break;
      case Value::kBool: Bool(key.payload() != 0); break;
      case Value::kDouble: Double(snapshot_.values.AsDouble(key)); break;
      case Value::kNone: None(); break;
      case Value::kPair: Pool(key.id()); break;
      case Value::kBytes: return Bytes(key.id());
      case Value::kObject:
        if (snapshot_.values.object(key).kind == Object::kTuple) break;  // its items follow
        [[fallthrough]];
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("the file's unknown parts have a dictionary with a key that is ",
                         TypeName(snapshot_.values, key), ", which Python cannot hold"));
    }
    return absl::OkStatus();
  }
  bool NeedsPairs(const std::vector<DictItem>&) const { return false; }
  void BeginPairs() {}
  void EndPairs() {}
  void Item() {
    if (open_.back().filler == kAppends) Next(kAppends);
  }

  void None() { Opcode(kNone); }
  void Bool(bool value) { Opcode(value ? kNewTrue : kNewFalse); }
  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Double(double value);
  void Text(StringId id);
  absl::Status Bytes(StringId id);
  void Pool(PoolId id) {
    const auto [first, second] = snapshot_.Pool(id);
    Unsigned(first);
    Unsigned(second);
    Opcode(kTuple2);
  }

  bool FrameIsShared(FrameId id) { return Shared(frames_[id]); }
  void FrameDone(FrameId id) { Memoize(frames_[id]); }
  bool StackIsShared(StackId id) { return id != 0 && Shared(stacks_[id]); }
  void StackDone(StackId id) {
    if (id != 0) Memoize(stacks_[id]);
  }
  bool ObjectIsShared(Value value) {
    const auto found = objects_.find(value.id());
    return found != objects_.end() && Shared(found->second);
  }
  void ObjectBegun(Value value) { Memoize(objects_[value.id()]); }

 private:
  static constexpr uint8_t kTupleItems = 0;
  struct Container {
    uint8_t filler;  // the opcode that takes the items above the mark
    size_t items;    // above the mark; without one, 0
  };

  void Opcode(uint8_t opcode) { sink_.Byte(static_cast<char>(opcode)); }
  void Little(uint64_t value, int bytes) {
    char text[8];
    std::memcpy(text, &value, sizeof(text));
    sink_.Write({text, static_cast<size_t>(bytes)});
  }
  void Begin(uint8_t opcode) {
    Opcode(opcode);
    open_.push_back({static_cast<uint8_t>(opcode == kEmptyDict ? kSetItems : kAppends), 0});
  }
  void End(uint8_t filler) {
    if (open_.back().items != 0) Opcode(filler);
    open_.pop_back();
  }
  void Next(uint8_t filler) {
    Container& container = open_.back();
    if (container.items == kBatch) {
      Opcode(filler);
      container.items = 0;
    }
    if (container.items++ == 0) Opcode(kMark);
  }
  void Function(absl::string_view name, uint32_t& memo);
  void CallForBytes(absl::string_view bytes);
  bool Shared(uint32_t memo) {
    if (memo == kNoId) return false;
    Opcode(memo < 256 ? kBinGet : kLongBinGet);
    Little(memo, memo < 256 ? 1 : 4);
    return true;
  }
  void Memoize(uint32_t& memo) {
    memo = memo_size_++;
    if (protocol_ >= 4) return Opcode(kMemoize);
    Opcode(memo < 256 ? kBinPut : kLongBinPut);
    Little(memo, memo < 256 ? 1 : 4);
  }
  void Long(uint64_t low, int bytes, uint8_t ninth) {
    Opcode(kLong1);
    sink_.Byte(static_cast<char>(bytes));
    Little(low, bytes < 8 ? bytes : 8);
    if (bytes > 8) sink_.Byte(static_cast<char>(ninth));
  }

  const Snapshot& snapshot_;
  const int protocol_;
  ByteSink& sink_;
  std::vector<Container> open_;
  uint32_t memo_size_ = 0;
  std::vector<uint32_t> strings_;  // memo numbers
  std::vector<uint32_t> frames_;
  std::vector<uint32_t> stacks_;
  uint32_t encode_function_ = kNoId;
  uint32_t bytes_function_ = kNoId;
  absl::flat_hash_map<uint32_t, uint32_t> objects_;
};

void PickleFormat::Integer(int64_t value) {
  if (value >= 0 && value < 0x10000) {
    Opcode(value < 0x100 ? kBinInt1 : kBinInt2);
    return Little(static_cast<uint64_t>(value), value < 0x100 ? 1 : 2);
  }
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<int32_t>::max()) {
    Opcode(kBinInt);
    return Little(static_cast<uint64_t>(value), 4);
  }
  int bytes = 8;  // as few as keep the sign
  while (bytes > 1) {
    const int64_t shorter = value >> (8 * (bytes - 1) - 1);
    if (shorter != 0 && shorter != -1) break;
    --bytes;
  }
  Long(static_cast<uint64_t>(value), bytes, 0);
}

void PickleFormat::Unsigned(uint64_t value) {
  if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Integer(static_cast<int64_t>(value));
  }
  Long(value, 9, 0);
}

void PickleFormat::Double(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Opcode(kBinFloat);
  Little(__builtin_bswap64(bits), 8);
}

void PickleFormat::Text(StringId id) {
  if (Shared(strings_[id])) return;
  const absl::string_view text = snapshot_.strings[id];
  if (protocol_ >= 4 && text.size() < 256) {
    Opcode(kShortBinUnicode);
    Little(text.size(), 1);
  } else if (text.size() <= std::numeric_limits<uint32_t>::max()) {
    Opcode(kBinUnicode);
    Little(text.size(), 4);
  } else {
    Opcode(kBinUnicode8);
    Little(text.size(), 8);
  }
  sink_.Write(text);
  Memoize(strings_[id]);
}

// A name that Python imports, as "module\nname\n".
void PickleFormat::Function(absl::string_view name, uint32_t& memo) {
  if (Shared(memo)) return;
  Opcode(kGlobal);
  sink_.Write(name);
  Memoize(memo);
}

// Protocol 2 has no opcode for bytes. Python itself writes them there as a text whose characters
// are the bytes, and a call that turns it back; pickle_bytes.cc reads that form as data.
void PickleFormat::CallForBytes(absl::string_view bytes) {
  constexpr absl::string_view kEncoding = "latin1";
  if (bytes.empty()) {
    Function("__builtin__\nbytes\n", bytes_function_);
    Opcode(kEmptyTuple);
    return Opcode(kReduce);
  }
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80) text.push_back(static_cast<char>(0xc0 | (byte >> 6)));
    text.push_back(static_cast<char>(byte < 0x80 ? byte : 0x80 | (byte & 0x3f)));
  }
  Function("_codecs\nencode\n", encode_function_);
  for (const absl::string_view argument : {absl::string_view(text), kEncoding}) {
    Opcode(kBinUnicode);
    Little(argument.size(), 4);
    sink_.Write(argument);
  }
  Opcode(kTuple2);
  Opcode(kReduce);
}

absl::Status PickleFormat::Bytes(StringId id) {
  const absl::string_view bytes = snapshot_.strings[id];
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (bytes.size() > (protocol_ < 3 ? kMost / 2 : kMost)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the snapshot holds ", bytes.size(), " raw bytes in one piece, which a "
                     "pickle of protocol ", protocol_, " cannot hold"));
  }
  if (protocol_ < 3) {
    CallForBytes(bytes);
    return absl::OkStatus();
  }
  Opcode(kBinBytes);
  Little(bytes.size(), 4);
  sink_.Write(bytes);
  return absl::OkStatus();
}

}  // namespace

absl::Status WritePickle(const Snapshot& snapshot, int protocol, ByteSink& sink) {
  if (protocol < 2 || protocol > 5) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write a pickle of protocol ", protocol, "; 2 to 5 are known"));
  }
  PickleFormat format(snapshot, protocol, sink);
  const absl::Status status = TreeWriter<PickleFormat>(snapshot, format).WriteSnapshot();
  format.Stop();
  return status;
}

}  // namespace graphtree::snapshot
