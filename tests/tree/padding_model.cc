// Random bodies that pad, against a model that always copies: whichever way a pad goes, the bytes
// are the same, and nothing else of memory changes. Each body runs eagerly, as a warm-up, as a
// recording and in replays, with what others hold lying around it.
//
//   seed --> Program --> Machine over a Launcher    real tensors, padded where there is room
//                  \---> Machine over Model         every padded tensor has bytes of its own
//
// GRAPHTREE_SEED is the first seed; a failure prints the seed and the program.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graphs/launcher.h"
#include "graphs/layout.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"
#include "tests/kernels/kernels.h"
#include "tests/simulation/seeds.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {
namespace {

using Sizes = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;

constexpr size_t kSlots = 6;

enum class LineKind : uint8_t {
  kMake,   // slot = new bytes, with room for `more`
  kInput,  // slot = an input, by its number
  kView,   // slot = the elements of `from` that begin at `first`
  kDrop,   // slot = nothing
  kPad,    // slot = `from`, padded to `more`; handed over, or not
  kBump,   // adds 1 to every word of the slot
  kPart,   // slot = new bytes of a part, which pads them to `more`
};

struct Line {
  LineKind kind = LineKind::kDrop;
  size_t slot = 0;
  size_t from = 0;
  bool hands_over = false;
  bool asks_for_room = false;
  DType type = DType::kU8;
  Sizes sizes;  // also of a view
  Sizes first;
  Sizes more;
  uint32_t seed = 0;
  int value = 0;
};

std::string ToString(const std::vector<Line>& program) {
  constexpr const char* kNames[] = {"make", "input", "view", "drop", "pad", "bump", "part"};
  std::string text;
  for (const Line& line : program) {
    absl::StrAppend(&text, "  ", line.slot, " = ", kNames[static_cast<int>(line.kind)], " ",
                    DTypeName(line.type), "[", absl::StrJoin(line.sizes, ","), "] of ", line.from,
                    " at [", absl::StrJoin(line.first, ","), "] to [",
                    absl::StrJoin(line.more, ","), "]", line.hands_over ? ", handed over" : "",
                    line.asks_for_room ? ", asks for room" : "", "\n");
  }
  return text;
}

// Writes programs, and knows of every slot what is in it.
class Writer {
 public:
  Writer(uint64_t seed, const Layout* input) : random_(seed) {
    slots_.resize(kSlots);
    for (size_t number = 0; number < 2; ++number) {
      Line line;
      line.kind = LineKind::kInput;
      line.slot = line.from = number;
      program_.push_back(line);
      slots_[number] = {true, false, input->type(), Sizes(input->sizes().begin(),
                                                          input->sizes().end())};
    }
  }
  std::vector<Line> Write() {
    const int64_t lines = 4 + Below(16);
    while (static_cast<int64_t>(program_.size()) < lines) AddLine();
    return std::move(program_);
  }

 private:
  struct Slot {
    bool used = false;
    bool may_bump = false;  // dense, whole words, and no input
    DType type = DType::kU8;
    Sizes sizes;
  };

  int64_t Below(uint64_t limit) { return static_cast<int64_t>(random_() % limit); }
  size_t AnySlot() { return Below(kSlots); }

  void AddLine() {
    Line line;
    line.slot = AnySlot();
    line.from = AnySlot();
    line.seed = static_cast<uint32_t>(random_());
    switch (Below(10)) {
      case 0:
      case 1: return AddNew(LineKind::kMake, line);
      case 2: return AddView(line);
      case 3: return Add(line, {});
      case 4: return AddBump(line);
      case 5: return AddNew(LineKind::kPart, line);
      default: return AddPad(line);
    }
  }
  void Add(const Line& line, const Slot& slot) {
    program_.push_back(line);
    if (line.kind == LineKind::kPad && line.hands_over) slots_[line.from] = {};
    slots_[line.slot] = slot;
  }
  Sizes Larger(const Sizes& sizes) {
    Sizes more = sizes;
    const bool only_at_the_end = Below(2) == 0;
    for (size_t i = 0; i < more.size(); ++i) {
      if (i == 0 || (!only_at_the_end && Below(2) == 0)) more[i] += Below(5);
    }
    return more;
  }
  // Whole words, so that the fills of the test's kernels reach every byte.
  void AddNew(LineKind kind, Line line) {
    line.kind = kind;
    line.type = static_cast<DType>(Below(8));
    const int64_t unit = std::max<int64_t>(4 / BytesOf(line.type), 1);
    line.sizes.resize(1 + Below(3));
    for (int64_t& size : line.sizes) size = Below(6);
    line.sizes.back() = unit * Below(5);
    line.more = Larger(line.sizes);
    line.more.back() = (line.more.back() + unit - 1) / unit * unit;
    line.asks_for_room = Below(2) == 0;
    line.value = Below(2);
    const bool is_dense = kind == LineKind::kPart || !line.asks_for_room;
    Add(line, {true, is_dense, line.type, kind == LineKind::kPart ? line.more : line.sizes});
  }
  void AddView(Line line) {
    const Slot& from = slots_[line.from];
    if (!from.used) return;
    line.kind = LineKind::kView;
    line.type = from.type;
    for (const int64_t size : from.sizes) {
      line.first.push_back(Below(3) == 0 ? Below(size + 1) : 0);
      line.sizes.push_back(Below(size - line.first.back() + 1));
      if (Below(2) == 0) line.sizes.back() = size - line.first.back();
    }
    Add(line, {true, false, line.type, line.sizes});
  }
  void AddBump(Line line) {
    if (!slots_[line.slot].may_bump) return;
    line.kind = LineKind::kBump;
    Add(line, Slot(slots_[line.slot]));
  }
  void AddPad(Line line) {
    const Slot& from = slots_[line.from];
    if (!from.used) return;
    line.kind = LineKind::kPad;
    line.type = from.type;
    line.sizes = from.sizes;
    line.more = Larger(from.sizes);
    line.hands_over = Below(4) != 0;
    line.value = Below(2);
    // A dense tensor that grows at its end stays dense, in place or not.
    const bool stays = from.may_bump && std::equal(line.sizes.begin() + 1, line.sizes.end(),
                                                   line.more.begin() + 1);
    Add(line, {true, stays, line.type, line.more});
  }

  std::mt19937_64 random_;
  std::vector<Line> program_;
  std::vector<Slot> slots_;
};

uint64_t OffsetOf(const Layout& layout, const Sizes& index) {
  uint64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * layout.strides()[i];
  return offset * BytesOf(layout.type());
}

// Bytes from the first element of the layout to each element of a tensor of `sizes`.
std::vector<uint64_t> Offsets(const Layout& layout, absl::Span<const int64_t> sizes) {
  std::vector<uint64_t> offsets;
  Sizes index(sizes.size(), 0);
  if (Layout::Of(layout.type(), sizes)->elements() == 0) return offsets;
  for (;;) {
    offsets.push_back(OffsetOf(layout, index));
    size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return offsets;
  }
}

const Layout* LayoutOfView(const Layout& from, const Line& line) {
  return Layout::Strided(from.type(), line.sizes, from.strides());
}

// The model. Views share bytes; nothing else does.
struct Modelled {
  std::shared_ptr<Bytes> bytes;
  const Layout* layout = nullptr;
  uint64_t at = 0;
};

Modelled NewModelled(const Layout* layout, uint32_t seed) {
  Modelled made = {std::make_shared<Bytes>(layout->extent_bytes()), layout, 0};
  for (size_t i = 0; i + 4 <= made.bytes->size(); i += 4) {
    const uint32_t word = PatternWord(seed, i / 4);
    std::memcpy(made.bytes->data() + i, &word, 4);
  }
  return made;
}

uint64_t BitsOf(DType type, int value) { return *PadValue(value).BitsAs(type); }

// Bytes of the elements, one after the other.
Bytes ElementsOf(const Bytes& bytes, uint64_t first, const Layout& layout) {
  const uint64_t element = BytesOf(layout.type());
  Bytes elements;
  for (const uint64_t offset : Offsets(layout, layout.sizes())) {
    const uint8_t* const at = bytes.data() + first + offset;
    elements.insert(elements.end(), at, at + element);
  }
  return elements;
}

Modelled PaddedCopy(const Modelled& from, const Sizes& sizes, int value) {
  const Layout* const layout = Layout::Of(from.layout->type(), sizes);
  const uint64_t element = BytesOf(layout->type()), bits = BitsOf(layout->type(), value);
  Modelled made = {std::make_shared<Bytes>(layout->extent_bytes()), layout, 0};
  for (const uint64_t offset : Offsets(*layout, sizes)) {
    std::memcpy(made.bytes->data() + offset, &bits, element);
  }
  const std::vector<uint64_t> reads = Offsets(*from.layout, from.layout->sizes());
  const std::vector<uint64_t> writes = Offsets(*layout, from.layout->sizes());
  for (size_t i = 0; i < reads.size(); ++i) {
    std::memcpy(made.bytes->data() + writes[i], from.bytes->data() + from.at + reads[i], element);
  }
  return made;
}

std::vector<Modelled> RunModel(const std::vector<Line>& program,
                               const std::vector<Modelled>& inputs) {
  std::vector<Modelled> slots(kSlots);
  for (const Line& line : program) {
    const Modelled from = slots[line.from];
    if (line.kind == LineKind::kPad && line.hands_over) slots[line.from] = {};
    Modelled& slot = slots[line.slot];
    switch (line.kind) {
      case LineKind::kMake:
        slot = NewModelled(Layout::Of(line.type, line.sizes), line.seed);
        break;
      case LineKind::kInput: slot = inputs[line.from]; break;
      case LineKind::kView:
        slot = {from.bytes, LayoutOfView(*from.layout, line),
                from.at + OffsetOf(*from.layout, line.first)};
        break;
      case LineKind::kDrop: slot = {}; break;
      case LineKind::kPad:  // the same sizes are the same tensor
        slot = line.more == line.sizes ? from : PaddedCopy(from, line.more, line.value);
        break;
      case LineKind::kBump:
        for (size_t i = 0; i + 4 <= slot.layout->extent_bytes(); i += 4) {
          uint32_t word;
          std::memcpy(&word, slot.bytes->data() + slot.at + i, 4);
          ++word;
          std::memcpy(slot.bytes->data() + slot.at + i, &word, 4);
        }
        break;
      case LineKind::kPart:
        slot = PaddedCopy(NewModelled(Layout::Of(line.type, line.sizes), line.seed), line.more,
                          line.value);
        break;
    }
  }
  return slots;
}

// The real thing.
Tensor WordsIn(const Tensor& tensor) {
  return tensor.View(WordsLayout(tensor.shape().extent_bytes() / 4), 0);
}

// The pattern is written to a dense tensor first: a kernel for strides is not needed then.
Tensor NewTensor(Launcher& on, const Line& line) {
  const Layout* const dense = Layout::Of(line.type, line.sizes);
  const uint32_t words = dense->extent_bytes() / 4;
  Tensor made = line.asks_for_room ? on.Empty(line.type, line.sizes, line.more) : on.Empty(dense);
  if (words == 0) return made;
  if (made.shape().dense()) {
    on.Launch(FillPatternKernel(), TestShape(), {Out(WordsIn(made)), Val(line.seed), Val(words)});
    return made;
  }
  const Tensor source = on.Empty(dense);
  on.Launch(FillPatternKernel(), TestShape(), {Out(WordsIn(source)), Val(line.seed), Val(words)});
  // Row by row.
  const int64_t row = line.sizes.back();
  const Layout* const bytes = Layout::Of(DType::kU8, {row * BytesOf(line.type)});
  Sizes outer(line.sizes.begin(), line.sizes.end());
  outer.back() = 1;
  const std::vector<uint64_t> to = Offsets(made.shape(), outer), from = Offsets(*dense, outer);
  for (size_t i = 0; i < to.size(); ++i) {
    on.Copy(made.View(bytes, to[i]), source.View(bytes, from[i]));
  }
  return made;
}

Tensor PartTensor(Launcher& on, const Line& line) {
  const Tensor out = on.Empty(line.type, line.more);
  on.Break("pads", {Out(out)}, [line](Launcher& part, absl::Span<const Tensor> tensors) {
    const Tensor padded = part.Pad(NewTensor(part, line), line.more, line.value);
    if (!tensors[0].raw_bytes().empty()) part.Copy(tensors[0], padded);
  });
  return out;
}

Values RunReal(const std::vector<Line>& program, Launcher& on, const Values& inputs) {
  std::vector<Tensor> slots(kSlots);
  for (const Line& line : program) {
    if (!on.ok()) return {};
    Tensor& slot = slots[line.slot];
    switch (line.kind) {
      case LineKind::kMake:
        slot = Tensor();
        slot = NewTensor(on, line);
        break;
      case LineKind::kInput: slot = Tensor::From(inputs[line.from]); break;
      case LineKind::kView: {
        const Tensor& from = slots[line.from];
        slot = from.View(LayoutOfView(from.shape(), line), OffsetOf(from.shape(), line.first));
        break;
      }
      case LineKind::kDrop: slot = Tensor(); break;
      case LineKind::kPad: {
        Tensor given = line.hands_over ? std::move(slots[line.from]) : slots[line.from];
        slot = on.Pad(std::move(given), line.more, line.value);
        break;
      }
      case LineKind::kBump: {
        const uint32_t words = slot.shape().extent_bytes() / 4, by = 1;
        if (words == 0) break;
        on.Launch(IncrementKernel(), TestShape(), {InOut(WordsIn(slot)), Val(by), Val(words)});
        break;
      }
      case LineKind::kPart: slot = PartTensor(on, line); break;
    }
  }
  return Values(slots.begin(), slots.end());
}

class PaddingModelTest : public TreeTest {
 protected:
  static constexpr int kSteps = 5;

  struct Sums {
    uint64_t in_place = 0;
    uint64_t copied = 0;
    uint64_t room = 0;
    uint64_t replays = 0;
  };

  // The elements, one after the other.
  Bytes Elements(const Value& value) {
    const Tensor tensor = Tensor::From(value);
    const AddressRange range = tensor.raw_bytes();
    if (range.empty()) return {};
    Bytes bytes(range.bytes);
    EXPECT_THAT(a().Copy(AddressOf(bytes.data()), range.base, range.bytes), IsOk());
    EXPECT_THAT(a().Synchronize(), IsOk());
    return ElementsOf(bytes, 0, tensor.shape());
  }
  void ExpectSame(const Values& real, const std::vector<Modelled>& modelled) {
    ASSERT_EQ(real.size(), modelled.size());
    ASSERT_THAT(a().Synchronize(), IsOk());
    for (size_t i = 0; i < real.size(); ++i) {
      ASSERT_EQ(real[i].is_tensor(), modelled[i].layout != nullptr) << "slot " << i;
      if (!real[i].is_tensor()) continue;
      const Modelled& model = modelled[i];
      ASSERT_EQ(Elements(real[i]), ElementsOf(*model.bytes, model.at, *model.layout))
          << "slot " << i << ", " << Description(real[i]);
    }
  }
  void RunProgram(uint64_t seed) {
    const Layout* const input = WordsLayout(kWords);
    const std::vector<Line> program = Writer(seed, input).Write();
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", ToString(program)));
    const FunctionId function =
        Register(absl::StrCat("f", seed), {}, [&program](Launcher& on, Values& inputs) {
          return RunReal(program, on, inputs);
        });
    const Tensor given = Given(0);
    for (int step = 0; step < kSteps && !HasFailure(); ++step) {
      NewStep();
      const Values before = Call(before_, {given});
      const Values apart = Call(eagerly_, {given});
      ASSERT_THAT(a().Synchronize(), IsOk());
      Write(given.raw_bytes(), PatternOf(step));
      const Values out = Call(function, {given, before[0]});
      const Values after = Call(before_, {given});
      ExpectSame(out, RunModel(program, {NewModelled(input, step), Model(before[0])}));
      ExpectSame({given, after[0]},
                 {NewModelled(input, step), NewModelledTwice(input, step)});
      const uint32_t last = step == 0 ? 0 : step - 1;
      ExpectSame({before[0], apart[0]},
                 {NewModelledTwice(input, last), NewModelledTwice(input, last)});
    }
    ASSERT_THAT(tree().Unregister(function), IsOk());
  }
  // As it is now.
  Modelled Model(const Value& value) {
    EXPECT_THAT(a().Synchronize(), IsOk());
    return {std::make_shared<Bytes>(Elements(value)), value.layout(), 0};
  }
  static Modelled NewModelledTwice(const Layout* layout, uint32_t seed) {
    Modelled made = NewModelled(layout, seed);
    for (size_t i = 0; i < made.bytes->size(); i += 4) {
      const uint32_t word = 2 * PatternWord(seed, i / 4);
      std::memcpy(made.bytes->data() + i, &word, 4);
    }
    return made;
  }
  Sums RunPrograms(TreeOptions options, int programs) {
    OpenTree(std::move(options));
    before_ = Register("before", {}, Twice);
    eagerly_ = Register("eagerly", {.exclude = true}, Twice);
    for (int i = 0; i < programs && !HasFailure(); ++i) RunProgram(first_ + i);
    const TreeStats stats = tree().stats();
    return {stats.pads_in_place, stats.pads_copied, stats.pad_room_bytes, stats.replays};
  }

  const uint64_t first_ = simulation::RandomSeed();
  const testing::ScopedTrace trace_{__FILE__, __LINE__, absl::StrCat("first seed ", first_)};
  FunctionId before_ = 0;
  FunctionId eagerly_ = 0;
};
GRAPHTREE_ON_EVERY_DEVICE(PaddingModelTest);

TEST_P(PaddingModelTest, WithLearnedRoom) {
  const Sums sums = RunPrograms({}, 40);
  EXPECT_GT(sums.in_place, 20u);
  EXPECT_GT(sums.copied, 20u);
  EXPECT_GT(sums.room, 0u);
  EXPECT_GT(sums.replays, 100u);
}

TEST_P(PaddingModelTest, WithTheRoomThatIsAskedFor) {
  const Sums sums = RunPrograms({.pad_room_bytes = 0}, 20);
  EXPECT_GT(sums.in_place, 5u);
  EXPECT_EQ(sums.room, 0u);
}

TEST_P(PaddingModelTest, Eagerly) {
  const Sums sums = RunPrograms({.enabled = false}, 20);
  EXPECT_GT(sums.in_place, 20u);
  EXPECT_EQ(sums.replays, 0u);
}

TEST_P(PaddingModelTest, InCheckedMode) {
  const Sums sums = RunPrograms({.strict = true, .check = true, .compare_replays = true}, 20);
  EXPECT_GT(sums.in_place, 10u);
}

}  // namespace
}  // namespace graphtree
