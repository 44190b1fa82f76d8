// Random programs and steps against a model that goes element by element. What the model leaves
// alone must be unchanged to the last byte, in the slots, between them and around them; and it does
// not matter how many threads a block has, nor in which order blocks and threads run.
#include "runtime/slots/unpack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/kernel.h"
#include "graphs/random/random_source.h"
#include "gtest/gtest.h"
#include "runtime/slots/block_cursor.h"
#include "runtime/slots/naive_unpack.h"
#include "runtime/slots/step_block.h"
#include "runtime/slots/unpack_table.h"

namespace graphtree {
namespace {

using Random = std::mt19937_64;
using Bytes = std::vector<uint8_t>;

uint64_t Below(Random& random, uint64_t end) { return random() % end; }
bool OneIn(Random& random, uint64_t n) { return Below(random, n) == 0; }
uint8_t Number(DType type) { return static_cast<uint8_t>(type); }

void Scramble(Random& random, uint8_t* at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t eight = random();
    std::memcpy(at + i, &eight, std::min(bytes - i, sizeof(eight)));
  }
}

// Memory at a multiple of 256, with garbage before and after: a write beyond it is seen.
class Guarded {
 public:
  static constexpr uint64_t kGuard = 512;

  Guarded(Random& random, uint64_t bytes) : bytes_(bytes), all_(bytes + 3 * kGuard) {
    Scramble(random, all_.data(), all_.size());
  }
  uint8_t* data() { return all_.data() + start(); }
  uint64_t start() const {
    const uint64_t first = AddressOf(all_.data()) + kGuard;
    return (first + 255) / 256 * 256 - AddressOf(all_.data());
  }
  // Guards and all, as they are now.
  Bytes Copy() const {
    return Bytes(all_.begin() + start() - kGuard, all_.begin() + start() + bytes_ + kGuard);
  }
  void Restore(const Bytes& copy) {
    std::copy(copy.begin(), copy.end(), all_.begin() + start() - kGuard);
  }

 private:
  const uint64_t bytes_;
  Bytes all_;
};

// Blocks as in a ring. Of just so many bytes, so that sanitizers see reads beyond them, and without
// what an earlier step left there.
class Blocks {
 public:
  Blocks(Random& random, uint64_t bytes) : bytes_(nullptr, &std::free) {
    void* made = nullptr;
    EXPECT_EQ(posix_memalign(&made, unpack::kBlockAlignment, bytes), 0);
    bytes_.reset(made);
    Scramble(random, data(), bytes);
  }
  uint8_t* data() { return static_cast<uint8_t*>(bytes_.get()); }

 private:
  std::unique_ptr<void, decltype(&std::free)> bytes_;
};

double RandomValue(Random& random, DType type) {
  if (type == DType::kBool) return static_cast<double>(Below(random, 2));
  if (type == DType::kU8) return static_cast<double>(Below(random, 256));
  if (unpack::IsWhole(Number(type))) return static_cast<double>(static_cast<int32_t>(random()));
  return static_cast<double>(static_cast<int64_t>(random())) * 0x1p-50;
}

// Few slots are long enough for several blocks of the launch, so most programs are quick.
SlotSpec RandomSlot(Random& random, size_t number) {
  SlotSpec slot;
  slot.name = absl::StrCat("slot ", number);
  slot.type = static_cast<DType>(Below(random, 8));
  const bool is_long = OneIn(random, 16);
  for (uint64_t axes = Below(random, 4); axes > 0; --axes) {
    slot.sizes.push_back(1 + static_cast<int64_t>(Below(random, is_long ? 40 : 9)));
  }
  if (!slot.sizes.empty() && !OneIn(random, 5)) {
    slot.rows = OneIn(random, 2) ? KeyField::kTokens : KeyField::kRequests;
    slot.axis = static_cast<uint32_t>(Below(random, slot.sizes.size()));
    int64_t& rows = slot.sizes[slot.axis];
    if (is_long) rows += static_cast<int64_t>(Below(random, 200));
    slot.extra_rows = OneIn(random, 3) ? 1 : 0;
    rows += slot.extra_rows;
  }
  slot.pad = static_cast<PadRule>(Below(random, 5));
  slot.pad_value = RandomValue(random, slot.type);
  slot.may_be_left_out = OneIn(random, 4);
  return slot;
}

int32_t MostOf(const std::vector<SlotSpec>& slots, KeyField field) {
  int64_t most = 250;
  for (const SlotSpec& slot : slots) {
    if (slot.rows == field) most = std::min(most, GreatestRows(slot) - slot.extra_rows);
  }
  return static_cast<int32_t>(most);
}

DType RandomSourceType(Random& random, DType to) {
  for (;;) {
    const auto from = static_cast<DType>(Below(random, 8));
    if (unpack::Converts(Number(from), Number(to))) return from;
  }
}

// The rows of a caller's, with gaps between them or none.
struct Source {
  Bytes memory;
  uint8_t* data = nullptr;
  DType type = DType::kU8;
  int64_t rows = 0;
  int64_t row_stride = 0;    // as the caller says it: 0 for no gaps
  int64_t piece_stride = 0;  // likewise

  NaiveStaged Naive(const unpack::Slot& slot) const {
    NaiveStaged staged;
    staged.kind = NaiveStaged::kRows;
    staged.data = data;
    staged.type = type;
    staged.rows = rows;
    staged.row_stride = row_stride != 0 ? row_stride : slot.row_elements;
    staged.piece_stride = piece_stride != 0 ? piece_stride : staged.row_stride * rows;
    return staged;
  }
};

// Whole numbers from the host are such that the slot holds them: those from 0 to 127, and as many
// others as both types have.
void MakeHeld(Random& random, const SlotSpec& spec, Source& source) {
  if (source.type == spec.type || !unpack::IsWhole(Number(spec.type))) return;
  const uint32_t size = BytesOf(source.type);
  for (uint8_t* at = source.data; at + size <= source.memory.data() + source.memory.size();
       at += size) {
    int64_t whole = static_cast<int64_t>(Below(random, 128));
    if (spec.type != DType::kU8 && source.type != DType::kU8)
      whole = static_cast<int32_t>(random());
    std::memcpy(at, &whole, size);
  }
}

Source RandomSource(Random& random, const SlotSpec& spec, const unpack::Slot& slot, bool on_host) {
  Source source;
  source.type = OneIn(random, 2) ? spec.type : RandomSourceType(random, spec.type);
  source.rows = static_cast<int64_t>(Below(random, slot.rows + 1));
  if (OneIn(random, 3)) source.rows = slot.rows;
  if (OneIn(random, 2)) {
    source.row_stride = slot.row_elements + static_cast<int64_t>(Below(random, 5));
  }
  const int64_t dense =
      (source.row_stride != 0 ? source.row_stride : slot.row_elements) * source.rows;
  if (OneIn(random, 2)) source.piece_stride = dense + static_cast<int64_t>(Below(random, 7));
  const int64_t piece = std::max(source.piece_stride, dense);
  const uint32_t size = BytesOf(source.type);
  // Host rows lie at any address, device rows at a multiple of their elements.
  const uint64_t offset = Below(random, 16) * (on_host ? 1 : size);
  source.memory.resize(offset + static_cast<uint64_t>(piece) * slot.pieces * size + 1);
  Scramble(random, source.memory.data(), source.memory.size());
  source.data = source.memory.data() + offset;
  if (on_host) MakeHeld(random, spec, source);
  return source;
}

// One program: its slots, its arena, and what the model says that the arena is.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed)
      : random_(seed),
        slots_(RandomSlots(random_)),
        arena_plan_(PlanArena(slots_)),
        arena_(random_, arena_plan_.bytes) {}

  void RunStep() {
    const Key key = {
        .tokens = static_cast<int32_t>(Below(random_, MostOf(slots_, KeyField::kTokens) + 1)),
        .requests = static_cast<int32_t>(Below(random_, MostOf(slots_, KeyField::kRequests) + 1))};
    SCOPED_TRACE(testing::Message() << ToString(key));
    ASSERT_THAT(CheckSlots(slots_), IsOk());
    const absl::StatusOr<ShapePlan> plan = PlanShape(slots_, arena_plan_, key);
    ASSERT_THAT(plan, IsOk());
    // The ring has two such blocks, and the step is in the second one.
    const uint64_t room = uint64_t{unpack::BlockUnitsFor(plan->block_bytes)} * unpack::kUnitBytes;
    Blocks ring(random_, room + plan->block_bytes);
    uint8_t* const block = ring.data() + room;
    StepBlock step;
    step.Begin(slots_, *plan, block);
    sources_.clear();
    Guarded expected = arena_;
    expected.Restore(arena_.Copy());
    for (SlotId slot : Shuffled(slots_.size())) {
      const NaiveStaged staged = StageRandomly(step, *plan, slot);
      UnpackNaively(slots_[slot], plan->slots[slot].rows, staged,
                    expected.data() + arena_plan_.offsets[slot]);
      if (testing::Test::HasFailure()) return;
    }
    ASSERT_THAT(step.Finish(), IsOk());
    ForgetHostRows();
    const Bytes before = arena_.Copy();
    for (const uint32_t threads : {0u, 1u, 7u, 256u}) {
      SCOPED_TRACE(testing::Message() << threads << " threads, 0 for the host body");
      arena_.Restore(before);
      if (threads == 0) {
        UnpackByHostBody(*plan, ring.data());
      } else {
        Unpack(*plan, block, threads);
      }
      ExpectSame(arena_.Copy(), expected.Copy());
    }
  }

 private:
  static std::vector<SlotSpec> RandomSlots(Random& random) {
    std::vector<SlotSpec> slots;
    for (uint64_t count = Below(random, kMostSlots + 1); count > 0; --count) {
      slots.push_back(RandomSlot(random, slots.size()));
    }
    return slots;
  }

  std::vector<uint32_t> Shuffled(size_t count) {
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  NaiveStaged StageRandomly(StepBlock& step, const ShapePlan& plan, SlotId slot) {
    const SlotSpec& spec = slots_[slot];
    NaiveStaged staged;
    if (spec.may_be_left_out && OneIn(random_, 2)) return staged;
    if (OneIn(random_, 5)) {
      staged.kind = NaiveStaged::kValue;
      staged.value = RandomValue(random_, spec.type);
      EXPECT_THAT(step.Stage(slot, staged.value), IsOk());
      return staged;
    }
    const bool on_host = OneIn(random_, 2);
    sources_.push_back({RandomSource(random_, spec, plan.slots[slot], on_host), on_host});
    const Source& from = sources_.back().first;
    if (on_host) {
      EXPECT_THAT(step.Stage(slot, HostRows{from.data, from.type, from.rows, from.row_stride,
                                            from.piece_stride}),
                  IsOk());
    } else {
      EXPECT_THAT(step.Stage(slot, DeviceRows{AddressOf(from.data), from.type, from.rows,
                                              from.row_stride, from.piece_stride}),
                  IsOk());
    }
    return from.Naive(plan.slots[slot]);
  }

  // What lay on the host is copied by now.
  void ForgetHostRows() {
    for (auto& [source, on_host] : sources_) {
      if (on_host) Scramble(random_, source.memory.data(), source.memory.size());
    }
  }

  // Blocks in any order, and in each of them any thread first.
  void Unpack(const ShapePlan& plan, const uint8_t* block, uint32_t threads) {
    for (const uint32_t launch_block : Shuffled(plan.launch_blocks)) {
      const auto first = static_cast<uint32_t>(Below(random_, threads));
      for (uint32_t i = 0; i < threads; ++i) {
        unpack::UnpackThread(plan.slots.data(), static_cast<uint32_t>(plan.slots.size()), block,
                             arena_.data(), launch_block, (first + i) % threads, threads);
      }
    }
  }

  // With any kernel whose table is large enough; told where the block is, or not. The cursor is put
  // back to what garbage it was.
  void UnpackByHostBody(const ShapePlan& plan, const uint8_t* start) {
    if (plan.launch_blocks == 0) return;
    unpack::Table<kMostSlots> table;
    const uint32_t units = unpack::BlockUnitsFor(plan.block_bytes);
    table.ring.first_unit = AddressOf(start) / unpack::kUnitBytes;
    table.ring.block_units = units;
    table.ring.segment_units = 2 * units + static_cast<uint32_t>(Below(random_, units));
    table.ring.cursor_unit = static_cast<uint32_t>(arena_plan_.cursor / unpack::kUnitBytes);
    unpack::Cursor* const cursor = unpack::CursorIn(table.ring, arena_.data());
    const unpack::Cursor garbage = *cursor;
    const bool is_told = OneIn(random_, 2);
    if (!is_told) cursor->after = {0, units};
    const uint8_t* const block = is_told ? start + units * unpack::kUnitBytes
                                         : start + unpack::kByCursor;
    table.count = static_cast<uint32_t>(plan.slots.size());
    std::copy(plan.slots.begin(), plan.slots.end(), table.slots);
    const size_t least = plan.slots.size() <= 8 ? 0 : plan.slots.size() <= 16 ? 1 : 2;
    const Kernel& kernel = *UnpackKernels()[least + Below(random_, 3 - least)];
    uint8_t* const arena = arena_.data();
    const void* const arguments[] = {&block, &arena, &table};
    kernel.host()(HostCall({.grid = {plan.launch_blocks}}, arguments));
    EXPECT_EQ(cursor->after, (unpack::Place{0, 2 * units}));
    *cursor = garbage;
  }

  void ExpectSame(const Bytes& found, const Bytes& expected) {
    if (found == expected) return;
    uint64_t at = 0;
    while (found[at] == expected[at]) ++at;
    std::string where = "around the arena";
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
      const uint64_t first = arena_plan_.offsets[slot] + Guarded::kGuard;
      if (at < first || at >= first + GreatestBytes(slots_[slot])) continue;
      where = absl::StrCat("byte ", at - first, " of ", slots_[slot].name, " of ",
                           DTypeName(slots_[slot].type), ", ", PadRuleName(slots_[slot].pad));
    }
    ADD_FAILURE() << where << " is " << +found[at] << ", and not " << +expected[at];
  }

  Random random_;
  const std::vector<SlotSpec> slots_;
  const ArenaPlan arena_plan_;
  Guarded arena_;
  std::vector<std::pair<Source, bool>> sources_;  // true: on the host
};

TEST(UnpackTest, RandomProgramsDoWhatTheModelDoes) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomProgram program(seed);
    for (int step = 0; step < 3; ++step) {
      program.RunStep();
      ASSERT_FALSE(testing::Test::HasFailure()) << "in step " << step;
    }
  }
}

// Shapes of one slot that meet every edge of a unit: any number of rows, of elements and of pieces
// about 16 bytes.
TEST(UnpackTest, EveryEdgeOfAUnit) {
  Random random(5);
  for (const DType type : {DType::kU8, DType::kF16, DType::kI32, DType::kI64}) {
    for (int64_t rows = 1; rows <= 18; ++rows) {
      for (int64_t came = 0; came <= rows; ++came) {
        const SlotSpec spec = {.name = "x",
                               .type = type,
                               .sizes = {2, 19, 1 + rows % 3},
                               .rows = KeyField::kTokens,
                               .axis = 1,
                               .pad = PadRule::kLastRow};
        const std::vector<SlotSpec> slots = {spec};
        const ArenaPlan arena_plan = PlanArena(slots);
        const ShapePlan plan =
            PlanShape(slots, arena_plan, {.tokens = static_cast<int32_t>(rows)}).value();
        Bytes source(2 * 19 * 3 * 8);
        Scramble(random, source.data(), source.size());
        Bytes block(plan.block_bytes);
        StepBlock step;
        step.Begin(slots, plan, block.data());
        ASSERT_THAT(step.Stage(0, HostRows{source.data(), type, came}), IsOk());
        ASSERT_THAT(step.Finish(), IsOk());
        Guarded arena(random, arena_plan.bytes);
        Guarded expected = arena;
        expected.Restore(arena.Copy());
        const int64_t columns = plan.slots[0].row_elements;
        UnpackNaively(spec, rows,
                      {NaiveStaged::kRows, 0, source.data(), type, came, columns, columns * came},
                      expected.data());
        for (uint32_t thread = 0; thread < 256; ++thread) {
          unpack::UnpackThread(plan.slots.data(), 1, block.data(), arena.data(), 0, thread, 256);
        }
        ASSERT_EQ(arena.Copy(), expected.Copy())
            << DTypeName(type) << ", " << came << " of " << rows << " rows";
      }
    }
  }
}

TEST(UnpackTest, ThereIsAKernelForEachSizeOfTable) {
  ASSERT_EQ(UnpackKernels().size(), 3u);
  const uint32_t slots[] = {8, 16, 32};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(UnpackKernels()[i]->name(), absl::StrCat("graphtree_unpack_", slots[i]));
    EXPECT_EQ(UnpackKernels()[i]->parameter_bytes()[2], 32 + slots[i] * sizeof(unpack::Slot));
  }
}

}  // namespace
}  // namespace graphtree
