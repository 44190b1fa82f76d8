// What slots hold before the first step, and that no failing call leaves anything behind.
#include "runtime/slots/slot_memory.h"

#include <cstring>
#include <memory>
#include <vector>

#include "device/address.h"
#include "device/base/status_matchers.h"
#include "device/fault/every_call.h"
#include "device/fault/fault_device.h"
#include "device/host/host_device.h"
#include "device/open.h"
#include "gtest/gtest.h"
#include "runtime/parking.h"

namespace graphtree {
namespace {

std::unique_ptr<Device> Host() { return OpenDevice("host").value(); }

// One slot of each type that is filled once, among slots that are not. The last two take more than
// one piece of page-locked memory, and not a whole number of pieces.
std::vector<SlotSpec> Slots() {
  std::vector<SlotSpec> slots;
  for (int type = 0; type < 8; ++type) {
    slots.push_back({.name = "zero", .type = static_cast<DType>(type), .sizes = {5}});
    slots.push_back({.name = "filled",
                     .type = static_cast<DType>(type),
                     .sizes = {3, 7},
                     .pad = PadRule::kFillOnce,
                     .pad_value = 1});
  }
  slots.push_back({.name = "value", .sizes = {9}, .pad = PadRule::kValue, .pad_value = 5});
  slots.push_back({.name = "minus one",
                   .type = DType::kI64,
                   .sizes = {2, 5, 2051},
                   .rows = KeyField::kTokens,
                   .axis = 1,
                   .pad = PadRule::kFillOnce,
                   .pad_value = -1});
  slots.push_back({.name = "minus nothing",
                   .type = DType::kF64,
                   .sizes = {20001},
                   .pad = PadRule::kFillOnce,
                   .pad_value = -0.0});
  return slots;
}

void ExpectFilled(const std::vector<SlotSpec>& slots, const ArenaPlan& plan,
                  const SlotMemory& memory) {
  EXPECT_EQ(memory.range().bytes, plan.bytes);
  std::vector<uint8_t> expected(plan.bytes);
  const uint64_t ones[] = {1, 1, 1, 1, 0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000};
  const auto fill = [&](size_t slot, uint64_t elements, uint64_t bits, uint32_t size) {
    for (uint64_t i = 0; i < elements; ++i) {
      std::memcpy(expected.data() + plan.offsets[slot] + i * size, &bits, size);
    }
  };
  const uint32_t sizes[] = {1, 1, 4, 8, 2, 2, 4, 8};
  for (size_t type = 0; type < 8; ++type) fill(2 * type + 1, 21, ones[type], sizes[type]);
  fill(17, 2 * 5 * 2051, ~uint64_t{0}, 8);
  fill(18, 20001, uint64_t{1} << 63, 8);
  const auto* const found = PointerTo<uint8_t>(memory.range().base);
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const uint64_t end = slot + 1 < slots.size() ? plan.offsets[slot + 1] : plan.bytes;
    EXPECT_EQ(std::memcmp(found + plan.offsets[slot], expected.data() + plan.offsets[slot],
                          end - plan.offsets[slot]),
              0)
        << slots[slot].name << " of " << DTypeName(slots[slot].type);
  }
}

TEST(SlotMemoryTest, HoldsPadValuesOrZeros) {
  const std::vector<SlotSpec> slots = Slots();
  const ArenaPlan plan = PlanArena(slots);
  const std::unique_ptr<Device> device = Host();
  {
    auto memory = SlotMemory::Create(*device, slots, plan);
    ASSERT_THAT(memory, IsOk());
    EXPECT_EQ((*memory)->range().base % 256, 0u);
    ExpectFilled(slots, plan, **memory);
  }
  EXPECT_THAT(device->Close(), IsOk());
}

void Overwrite(const SlotMemory& memory, uint8_t byte) {
  std::memset(PointerTo<uint8_t>(memory.range().base), byte, memory.range().bytes);
}

TEST(SlotMemoryTest, WhatIsDroppedIsFilledAnewAndWhatIsKeptComesBack) {
  const std::vector<SlotSpec> slots = Slots();
  const ArenaPlan plan = PlanArena(slots);
  const std::unique_ptr<Device> device = Host();
  {
    auto made = SlotMemory::Create(*device, slots, plan);
    ASSERT_THAT(made, IsOk());
    SlotMemory& memory = **made;
    Overwrite(memory, 77);
    ASSERT_THAT(memory.Park(Contents::kKeep), IsOk());
    EXPECT_EQ(memory.mapped_bytes(), 0u);
    ASSERT_THAT(memory.Wake(slots, plan), IsOk());
    EXPECT_THAT(memory.Check(), IsOk());
    const auto* const found = PointerTo<uint8_t>(memory.range().base);
    for (uint64_t i = 0; i < plan.bytes; ++i) ASSERT_EQ(found[i], 77) << i;
    ASSERT_THAT(memory.Park(Contents::kDrop), IsOk());
    ASSERT_THAT(memory.Wake(slots, plan), IsOk());
    EXPECT_THAT(memory.Check(), IsOk());
    ExpectFilled(slots, plan, memory);
    for (const bool is_woken : {false, true}) {
      Overwrite(memory, 78);
      ASSERT_THAT(memory.Park(Contents::kKeep), IsOk());
      if (is_woken) {
        ASSERT_THAT(memory.Wake(slots, plan), IsOk());
      }
      ASSERT_THAT(memory.DropContents(slots, plan), IsOk());
      ASSERT_THAT(memory.Wake(slots, plan), IsOk());
      EXPECT_THAT(memory.Check(), IsOk());
      ExpectFilled(slots, plan, memory);
    }
  }
  EXPECT_THAT(device->Close(), IsOk());
}

TEST(SlotMemoryTest, NoSlotsTakeNoMemory) {
  const std::unique_ptr<Device> device = Host();
  {
    auto memory = SlotMemory::Create(*device, {}, PlanArena({}));
    ASSERT_THAT(memory, IsOk());
    EXPECT_TRUE((*memory)->range().empty());
    for (const Contents contents : {Contents::kKeep, Contents::kDrop, Contents::kPinned}) {
      ASSERT_THAT((*memory)->Park(contents), IsOk());
      ASSERT_THAT((*memory)->Wake({}, PlanArena({})), IsOk());
      EXPECT_THAT((*memory)->Check(), IsOk());
    }
  }
  EXPECT_THAT(device->Close(), IsOk());
}

// Runs what was left on any stream. Work that was issued to memory which is gone loses the device.
void RunWhatIsLeft(Device& device) {
  const auto stream = device.NewStream();
  ASSERT_THAT(stream, IsOk());
  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT((*stream)->CallHost([] {}), IsOk());
  }
  EXPECT_THAT((*stream)->Synchronize(), IsOk());
  EXPECT_THAT(device.health(), IsOk());
}

// Also calls that fail while the memory goes. Closing the device finds what is left.
TEST(SlotMemoryTest, AFailingCallLeavesNothingBehind) {
  const std::vector<SlotSpec> slots = Slots();
  const ArenaPlan plan = PlanArena(slots);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto make = [seed] {
      HostOptions options;
      options.seed = seed;
      return OpenHostDevice(options).value();
    };
    const uint64_t calls = ForEveryFailingCall(make, [&](FaultDevice& device) {
      {
        auto memory = SlotMemory::Create(device, slots, plan);
        EXPECT_EQ(memory.ok(), device.plan().fired() == 0);
        if (memory.ok()) ExpectFilled(slots, plan, **memory);
      }
      RunWhatIsLeft(device.wrapped());
    });
    EXPECT_GT(calls, 20u);
  }
}

TEST(SlotMemoryTest, TheErrorSaysWhatTheMemoryWasFor) {
  const std::vector<SlotSpec> slots = {{.name = "ids", .sizes = {100}}};
  FaultDevice device(Host());
  device.plan().FailCallOf("Memory.Create", 1, ErrorCode::kOutOfMemory);
  EXPECT_THAT(SlotMemory::Create(device, slots, PlanArena(slots)),
              FailsWith(absl::StatusCode::kResourceExhausted, "making 768 bytes for slots: "));
  EXPECT_THAT(device.Close(), IsOk());
}

}  // namespace
}  // namespace graphtree
