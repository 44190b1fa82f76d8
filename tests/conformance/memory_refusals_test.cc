// Memory calls that are refused: the code, a sentence with both sides, and nothing changed.
#include "absl/strings/str_format.h"
#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class MemoryRefusalsTest : public ConformanceTest {
 protected:
  // Four granules reserved; the second and third hold one mapping of two granules.
  void SetUp() override {
    ConformanceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_OK_AND_ASSIGN(range_, memory().Reserve(4 * granularity(), {}));
    ASSERT_OK_AND_ASSIGN(physical_, memory().Create(2 * granularity()));
    ASSERT_THAT(memory().Map(mapped().base, *physical_), IsOk());
    ASSERT_THAT(memory().SetAccess(mapped(), MemoryAccess::kReadWrite), IsOk());
    Write({mapped().base, 256}, Pattern(1, 64));
  }
  void TearDown() override {
    if (physical_ != nullptr) {
      EXPECT_EQ(Read({mapped().base, 256}), Pattern(1, 64)) << "a refused call changed the bytes";
      EXPECT_THAT(memory().Unmap(mapped()), IsOk()) << "a refused call changed the mapping";
      EXPECT_THAT(memory().Release(range_), IsOk());
      physical_.reset();
    }
    ConformanceTest::TearDown();
  }
  AddressRange mapped() { return {range_.base + granularity(), 2 * granularity()}; }
  static std::string Hex(Address address) { return absl::StrFormat("%#x", address); }

  AddressRange range_;
  std::unique_ptr<PhysicalMemory> physical_;
};
GRAPHTREE_ON_EVERY_DEVICE(MemoryRefusalsTest);

TEST_P(MemoryRefusalsTest, MappingOverAMapping) {
  ASSERT_OK_AND_ASSIGN(const auto other, memory().Create(2 * granularity()));
  const Address at = range_.base + 2 * granularity();
  const absl::Status status = memory().Map(at, *other);
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, Hex(at)));
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, Hex(mapped().base)));
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, "already mapped"));
}

TEST_P(MemoryRefusalsTest, MappingBeyondTheReservation) {
  ASSERT_OK_AND_ASSIGN(const auto other, memory().Create(2 * granularity()));
  const Address at = range_.base + 3 * granularity();
  EXPECT_THAT(memory().Map(at, *other), HasError(ErrorCode::kInvalidValue, Hex(at)));
}

TEST_P(MemoryRefusalsTest, MappingOffTheGranularity) {
  ASSERT_OK_AND_ASSIGN(const auto other, memory().Create(granularity()));
  ASSERT_OK_AND_ASSIGN(const AddressRange free, memory().Reserve(2 * granularity(), {}));
  EXPECT_THAT(memory().Map(free.base + 256, *other),
              HasError(ErrorCode::kInvalidValue, std::to_string(granularity())));
  EXPECT_THAT(memory().Release(free), IsOk());
}

TEST_P(MemoryRefusalsTest, UnmappingPartOfAMapping) {
  const AddressRange part = {mapped().base, granularity()};
  const absl::Status status = memory().Unmap(part);
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, Hex(part.base)));
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, std::to_string(2 * granularity())));
}

TEST_P(MemoryRefusalsTest, UnmappingAGap) {
  EXPECT_THAT(memory().Unmap(range_),
              HasError(ErrorCode::kInvalidValue, "nothing is mapped at " + Hex(range_.base)));
}

TEST_P(MemoryRefusalsTest, UnmappingTwice) {
  ASSERT_OK_AND_ASSIGN(const auto other, memory().Create(granularity()));
  ASSERT_THAT(memory().Map(range_.base, *other), IsOk());
  const AddressRange first = {range_.base, granularity()};
  ASSERT_THAT(memory().Unmap(first), IsOk());
  EXPECT_THAT(memory().Unmap(first), HasError(ErrorCode::kInvalidValue, Hex(first.base)));
}

TEST_P(MemoryRefusalsTest, ReleasingWhatIsStillMapped) {
  const absl::Status status = memory().Release(range_);
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, Hex(range_.base)));
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, Hex(mapped().base)));
  EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, "still mapped"));
}

TEST_P(MemoryRefusalsTest, ReleasingPartOfAReservation) {
  const AddressRange part = {range_.base, granularity()};
  EXPECT_THAT(memory().Release(part), HasError(ErrorCode::kInvalidValue, Hex(range_.base)));
}

TEST_P(MemoryRefusalsTest, ReleasingTwice) {
  ASSERT_OK_AND_ASSIGN(const AddressRange other, memory().Reserve(granularity(), {}));
  ASSERT_THAT(memory().Release(other), IsOk());
  EXPECT_THAT(memory().Release(other), HasError(ErrorCode::kInvalidValue, Hex(other.base)));
}

TEST_P(MemoryRefusalsTest, ReservingNothingOrOffTheGranularity) {
  EXPECT_THAT(memory().Reserve(0, {}), HasError(ErrorCode::kInvalidValue, "0"));
  EXPECT_THAT(memory().Reserve(granularity() + 1, {}),
              HasError(ErrorCode::kInvalidValue, std::to_string(granularity() + 1)));
}

TEST_P(MemoryRefusalsTest, ReservingWithAnAlignmentThatIsNoPowerOfTwo) {
  const uint64_t alignment = 3 * granularity();
  EXPECT_THAT(memory().Reserve(granularity(), {.alignment = alignment}),
              HasError(ErrorCode::kInvalidValue, std::to_string(alignment)));
}

TEST_P(MemoryRefusalsTest, ReservingMoreThanThereAreAddresses) {
  const uint64_t bytes = uint64_t{1} << 62;
  EXPECT_THAT(memory().Reserve(bytes, {}),
              HasError(ErrorCode::kOutOfMemory, std::to_string(bytes)));
}

TEST_P(MemoryRefusalsTest, CreatingNothingOrOffTheGranularity) {
  EXPECT_THAT(memory().Create(0), HasError(ErrorCode::kInvalidValue, "0"));
  EXPECT_THAT(memory().Create(granularity() / 2),
              HasError(ErrorCode::kInvalidValue, std::to_string(granularity() / 2)));
}

TEST_P(MemoryRefusalsTest, CreatingMoreThanThereIs) {
  ASSERT_OK_AND_ASSIGN(const MemoryInfo info, memory().Info());
  const uint64_t bytes = (info.total_bytes / granularity() + 1) * granularity();
  EXPECT_THAT(memory().Create(bytes), HasError(ErrorCode::kOutOfMemory, std::to_string(bytes)));
  ASSERT_OK_AND_ASSIGN(const auto small, memory().Create(granularity()));
}

TEST_P(MemoryRefusalsTest, AccessToWhatIsNotMapped) {
  EXPECT_THAT(memory().SetAccess(range_, MemoryAccess::kReadWrite),
              HasError(ErrorCode::kInvalidValue, Hex(range_.base)));
}

TEST_P(MemoryRefusalsTest, AccessToAPartOfAMapping) {
  const AddressRange half = {mapped().base, mapped().bytes / 2};
  EXPECT_THAT(memory().SetAccess(half, MemoryAccess::kNone),
              HasError(ErrorCode::kInvalidValue, "part of the mapping"));
}

TEST_P(MemoryRefusalsTest, HostMemoryOfNoBytes) {
  EXPECT_THAT(memory().AllocateHost(0), HasError(ErrorCode::kInvalidValue, "0"));
}

TEST_P(MemoryRefusalsTest, MoreHostMemoryThanThereIs) {
  const uint64_t bytes = uint64_t{1} << 60;
  EXPECT_THAT(memory().AllocateHost(bytes),
              HasError(ErrorCode::kOutOfMemory, std::to_string(bytes)));
}

TEST_P(MemoryRefusalsTest, MappingAnotherDevicesMemory) {
  auto opened = GetParam().open();
  ASSERT_THAT(opened, IsOk());
  const std::unique_ptr<Device> other = *std::move(opened);
  {
    ASSERT_OK_AND_ASSIGN(const auto foreign, other->memory().Create(granularity()));
    EXPECT_THAT(memory().Map(range_.base, *foreign),
                HasError(ErrorCode::kInvalidValue, "another device"));
  }
  EXPECT_THAT(other->Close(), IsOk());
}

TEST_P(MemoryRefusalsTest, AnAccessThatIsNone) {
  EXPECT_THAT(memory().SetAccess(mapped(), static_cast<MemoryAccess>(9)),
              HasError(ErrorCode::kInvalidValue,
                       "setting access 9, and there is none with that number, on "));
}

}  // namespace
}  // namespace graphtree
