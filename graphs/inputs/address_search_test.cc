// What is found at launches, beside what a search of the listed graph finds.
#include "graphs/inputs/address_search.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr AddressRange kFirst = {0x7f0000001000, 0x100};
constexpr AddressRange kSecond = {0x7f0000001080, 0x200};  // shares bytes with the first

AddressSearch ForBoth() { return AddressSearch({{4, kFirst}, {9, kSecond}}); }

TEST(AddressSearch, FindsAnAddressThatNoSlotHas) {
  AddressSearch search = ForBoth();
  const Argument arguments[] = {Argument::Value(7u), Argument::In({kFirst.base + 0x40, 8})};
  search.Launched(arguments, {});
  EXPECT_THAT(search.hidden(), ElementsAre(4u));
}

TEST(AddressSearch, LetsSlotsBe) {
  AddressSearch search = ForBoth();
  const Argument arguments[] = {Argument::Value(7u), Argument::In({kFirst.base + 0x90, 8})};
  const PointerSlot slot = {4, 1, 0x90};
  search.Launched(arguments, {&slot, 1});
  EXPECT_THAT(search.hidden(), IsEmpty());
  search.Copied({.target = kFirst.base, .source = 8, .bytes = 1}, {&slot, 1});
  EXPECT_THAT(search.hidden(), ElementsAre(4u)) << "the slot is the copy's other argument";
}

TEST(AddressSearch, LooksIntoStructures) {
  struct Packed {
    uint32_t count;
    uint32_t low, high;  // an address at four bytes
  };
  AddressSearch search = ForBoth();
  const Packed packed = {3, static_cast<uint32_t>(kSecond.base + 0x180), 0x7f00};
  const Argument argument = Argument::Value(packed);
  search.Launched({&argument, 1}, {});
  EXPECT_THAT(search.hidden(), ElementsAre(9u));
}

TEST(AddressSearch, FindsTheHalvesOfAnAddressInTwoArguments) {
  AddressSearch search = ForBoth();
  const Argument halves[] = {Argument::Value(static_cast<uint32_t>(kFirst.base)),
                             Argument::Value(uint32_t{0x7f00})};
  search.Launched(halves, {});
  EXPECT_THAT(search.hidden(), ElementsAre(4u));
}

TEST(AddressSearch, BytesBesideARangeAreNotIts) {
  AddressSearch search = ForBoth();
  for (const Address other : {kFirst.base - 1, kSecond.end()}) {
    search.Filled({other, 0, 1, 1}, {});
    search.Copied({.target = 8, .source = other, .bytes = 1}, {});
    const Argument argument = Argument::Value(other);
    search.Launched({&argument, 1}, {});
  }
  EXPECT_THAT(search.hidden(), IsEmpty());
}

TEST(AddressSearch, KnowsWhetherAllOpsWereTold) {
  AddressSearch search = ForBoth();
  search.Launched({}, {});
  search.SetEvent();
  search.Copied({.target = 8, .source = 16, .bytes = 0}, {});  // captures nothing
  search.Filled({8, 0, 1, 0}, {});                             // likewise
  EXPECT_TRUE(search.EndSection(/*ops=*/3, /*own=*/1));
  search.Filled({8, 0, 1, 4}, {});
  EXPECT_FALSE(search.EndSection(/*ops=*/2, /*own=*/0)) << "a library has launched one";
  EXPECT_TRUE(search.EndSection(/*ops=*/0, /*own=*/0)) << "each section is counted anew";
}

// The arguments as the driver would lay them out, aligned to their own size up to eight bytes.
Op AsListed(const std::vector<Argument>& arguments) {
  Op op;
  op.kind = OpKind::kKernel;
  for (const Argument& argument : arguments) {
    const uint32_t alignment = argument.bytes() % 8 == 0 ? 8 : 4;
    while (op.argument_bytes.size() % alignment != 0) op.argument_bytes.push_back(0);
    op.parameters.push_back({static_cast<uint32_t>(op.argument_bytes.size()), argument.bytes()});
    const auto* bytes = static_cast<const uint8_t*>(argument.data());
    op.argument_bytes.insert(op.argument_bytes.end(), bytes, bytes + argument.bytes());
  }
  return op;
}

TEST(AddressSearch, FindsWhatASearchOfTheListedOpFinds) {
  std::mt19937_64 random(1);
  const std::vector<InputRange> ranges = {{4, kFirst}, {9, kSecond}};
  size_t found = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::vector<uint32_t>> values(1 + random() % 5);
    std::vector<Argument> arguments;
    for (std::vector<uint32_t>& value : values) {
      value.resize(1 + random() % 5);
      for (uint32_t& half : value) half = static_cast<uint32_t>(random() % 3);
      if (value.size() > 1 && random() % 4 == 0) {
        const uint64_t address = kFirst.base - 8 + random() % 0x300;
        std::memcpy(value.data() + random() % (value.size() - 1), &address, sizeof(address));
      }
      arguments.push_back(
          Argument::Bytes(value.data(), static_cast<uint32_t>(value.size() * sizeof(uint32_t))));
    }
    AddressSearch search(ranges);
    search.Launched(arguments, {});
    const std::vector<uint32_t> listed =
        HiddenPointers({AsListed(arguments)}, {}, {}, ranges);
    EXPECT_THAT(search.hidden(), UnorderedElementsAreArray(listed)) << "round " << round;
    found += listed.size();
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace graphtree
