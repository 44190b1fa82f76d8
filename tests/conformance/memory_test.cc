// Memory: what comes back, what may be done with it, and that bytes stay with the physical memory.
#include "absl/strings/str_format.h"
#include "tests/conformance/conformance.h"

namespace graphtree {
namespace {

class MemoryTest : public ConformanceTest {
 protected:
  // One reservation of `pieces` granules, nothing mapped.
  AddressRange ReservePieces(uint64_t pieces) {
    auto range = memory().Reserve(pieces * granularity(), {});
    EXPECT_THAT(range, IsOk());
    return range.value_or(AddressRange{});
  }
  std::unique_ptr<PhysicalMemory> CreatePieces(uint64_t pieces) {
    auto physical = memory().Create(pieces * granularity());
    EXPECT_THAT(physical, IsOk());
    return physical.ok() ? *std::move(physical) : nullptr;
  }
  AddressRange Piece(AddressRange range, uint64_t index, uint64_t count = 1) {
    return {range.base + index * granularity(), count * granularity()};
  }
  void MapForUse(AddressRange at, const PhysicalMemory& physical) {
    EXPECT_THAT(memory().Map(at.base, physical), IsOk());
    EXPECT_THAT(memory().SetAccess(at, MemoryAccess::kReadWrite), IsOk());
  }
  AddressRange FirstWords(AddressRange range) { return {range.base, 256}; }
};
GRAPHTREE_ON_EVERY_DEVICE(MemoryTest);

TEST_P(MemoryTest, GranularityIsAPowerOfTwo) {
  EXPECT_GE(granularity(), 4096u);
  EXPECT_EQ(granularity() & (granularity() - 1), 0u);
}

TEST_P(MemoryTest, InfoIsConsistentWithTheDevice) {
  ASSERT_OK_AND_ASSIGN(const MemoryInfo info, memory().Info());
  EXPECT_GT(info.total_bytes, 0u);
  EXPECT_GT(info.free_bytes, 0u);
  EXPECT_LE(info.free_bytes, info.total_bytes);
  EXPECT_GE(device().info().total_bytes, info.total_bytes);
}

TEST_P(MemoryTest, CreatingTakesFreeBytesAndDestroyingGivesThemBack) {
  constexpr uint64_t kBytes = 256 << 20;
  ASSERT_OK_AND_ASSIGN(const MemoryInfo before, memory().Info());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PhysicalMemory> physical, memory().Create(kBytes));
  EXPECT_EQ(physical->bytes(), kBytes);
  ASSERT_OK_AND_ASSIGN(const MemoryInfo during, memory().Info());
  EXPECT_GE(before.free_bytes - during.free_bytes, kBytes);
  physical.reset();
  ASSERT_OK_AND_ASSIGN(const MemoryInfo after, memory().Info());
  EXPECT_GE(after.free_bytes, during.free_bytes + kBytes);
}

TEST_P(MemoryTest, ReservedRangesAreAlignedAndApart) {
  const AddressRange one = ReservePieces(3);
  const AddressRange two = ReservePieces(3);
  EXPECT_EQ(one.base % granularity(), 0u);
  EXPECT_EQ(one.bytes, 3 * granularity());
  EXPECT_FALSE(one.Overlaps(two));
  EXPECT_THAT(memory().Release(one), IsOk());
  EXPECT_THAT(memory().Release(two), IsOk());
}

TEST_P(MemoryTest, AWishedAlignmentIsKept) {
  const uint64_t alignment = 16 * granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range,
                       memory().Reserve(granularity(), {.alignment = alignment}));
  EXPECT_EQ(range.base % alignment, 0u);
  EXPECT_THAT(memory().Release(range), IsOk());
}

// A base that was granted before is one that this process can have; a fixed number need not be.
TEST_P(MemoryTest, AWishedBaseIsTakenIfItIsFreeAndAgainAfterARelease) {
  const uint64_t bytes = 8 * granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange found, memory().Reserve(bytes, {}));
  ASSERT_THAT(memory().Release(found), IsOk());
  ReserveOptions options;
  options.wished_base = found.base;
  ASSERT_OK_AND_ASSIGN(const AddressRange first, memory().Reserve(bytes, options));
  EXPECT_EQ(first.base, options.wished_base);
  ASSERT_OK_AND_ASSIGN(const AddressRange second, memory().Reserve(bytes, options));
  EXPECT_FALSE(first.Overlaps(second));
  ASSERT_THAT(memory().Release(first), IsOk());
  ASSERT_OK_AND_ASSIGN(const AddressRange third, memory().Reserve(bytes, options));
  EXPECT_EQ(third.base, options.wished_base);
  EXPECT_THAT(memory().Release(second), IsOk());
  EXPECT_THAT(memory().Release(third), IsOk());
}

TEST_P(MemoryTest, AReservationLargerThanTheDeviceTakesNoMemory) {
  ASSERT_OK_AND_ASSIGN(const MemoryInfo before, memory().Info());
  const uint64_t bytes = (2 * before.total_bytes) / granularity() * granularity();
  ASSERT_OK_AND_ASSIGN(const AddressRange range, memory().Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(const MemoryInfo after, memory().Info());
  EXPECT_NEAR(static_cast<double>(after.free_bytes), static_cast<double>(before.free_bytes),
              64 << 20);
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, BytesStayWithThePhysicalMemoryWhenItIsMappedElsewhere) {
  const AddressRange range = ReservePieces(4);
  const std::unique_ptr<PhysicalMemory> physical = CreatePieces(1);
  ASSERT_NE(physical, nullptr);
  MapForUse(Piece(range, 0), *physical);
  Write(FirstWords(Piece(range, 0)), Pattern(1, 64));
  ASSERT_THAT(memory().Unmap(Piece(range, 0)), IsOk());
  MapForUse(Piece(range, 3), *physical);
  EXPECT_EQ(Read(FirstWords(Piece(range, 3))), Pattern(1, 64));
  EXPECT_THAT(memory().Unmap(Piece(range, 3)), IsOk());
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, PhysicalMemoryMappedTwiceIsTheSameBytes) {
  const AddressRange range = ReservePieces(2);
  const std::unique_ptr<PhysicalMemory> physical = CreatePieces(1);
  ASSERT_NE(physical, nullptr);
  MapForUse(Piece(range, 0), *physical);
  MapForUse(Piece(range, 1), *physical);
  Write(FirstWords(Piece(range, 0)), Pattern(2, 64));
  EXPECT_EQ(Read(FirstWords(Piece(range, 1))), Pattern(2, 64));
  EXPECT_THAT(memory().Unmap(range), IsOk());
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, AMappingOutlivesTheOwnerOfItsPhysicalMemory) {
  const AddressRange range = ReservePieces(1);
  std::unique_ptr<PhysicalMemory> physical = CreatePieces(1);
  ASSERT_NE(physical, nullptr);
  MapForUse(range, *physical);
  physical.reset();
  Write(FirstWords(range), Pattern(3, 64));
  EXPECT_EQ(Read(FirstWords(range)), Pattern(3, 64));
  EXPECT_THAT(memory().Unmap(range), IsOk());
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, SeveralWholeMappingsAreUnmappedInOneCall) {
  const AddressRange range = ReservePieces(3);
  const std::unique_ptr<PhysicalMemory> one = CreatePieces(1);
  const std::unique_ptr<PhysicalMemory> two = CreatePieces(2);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  ASSERT_THAT(memory().Map(Piece(range, 0).base, *one), IsOk());
  ASSERT_THAT(memory().Map(Piece(range, 1).base, *two), IsOk());
  ASSERT_THAT(memory().SetAccess(range, MemoryAccess::kReadWrite), IsOk());
  Write({Piece(range, 1).base - 128, 256}, Pattern(4, 64));
  EXPECT_EQ(Read({Piece(range, 1).base - 128, 256}), Pattern(4, 64)) << "across two mappings";
  EXPECT_THAT(memory().Unmap(range), IsOk());
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, NewMemoryUnderAnExecutableIsWhatItsReplaysSee) {
  const AddressRange range = ReservePieces(1);
  MapForUse(range, *CreatePieces(1));
  const AddressRange words = FirstWords(range);
  const std::unique_ptr<Graph> graph =
      CaptureOn(a(), [&] { EXPECT_THAT(Increment(a(), words, 5), IsOk()); });
  ASSERT_NE(graph, nullptr);
  const std::unique_ptr<Executable> executable = InstantiateOf(*graph);
  Write(words, std::vector<uint32_t>(64, 1));
  Replay(*executable);
  EXPECT_EQ(Read(words), std::vector<uint32_t>(64, 6));
  ASSERT_THAT(memory().Unmap(range), IsOk());
  MapForUse(range, *CreatePieces(1));
  Write(words, std::vector<uint32_t>(64, 100));
  Replay(*executable);
  EXPECT_EQ(Read(words), std::vector<uint32_t>(64, 105));
  EXPECT_THAT(memory().Unmap(range), IsOk());
  EXPECT_THAT(memory().Release(range), IsOk());
}

TEST_P(MemoryTest, HostBuffersAreWritableAndOfTheAskedSize) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<HostBuffer> buffer, memory().AllocateHost(1000));
  EXPECT_EQ(buffer->bytes(), 1000u);
  auto* bytes = static_cast<uint8_t*>(buffer->data());
  for (int i = 0; i < 1000; ++i) bytes[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(bytes[999], static_cast<uint8_t>(999));
}

TEST_P(MemoryTest, NotesDoNotChangeWhatLiveBytesHold) {
  const AddressRange words = NewWordsWith(Pattern(5, 64));
  memory().NoteLive(words, "a block");
  Write(words, Pattern(6, 64));
  EXPECT_EQ(Read(words), Pattern(6, 64));
  memory().NoteDead(words, "freed");
  memory().NoteLive(words, "another block");
  Write(words, Pattern(7, 64));
  EXPECT_EQ(Read(words), Pattern(7, 64));
}

TEST_P(MemoryTest, MemoryIsLiveWhileItIsMapped) {
  const AddressRange range = ReservePieces(3);
  const std::unique_ptr<PhysicalMemory> physical = CreatePieces(1);
  const AddressRange piece = Piece(range, 1);
  const auto is_dead = HasError(ErrorCode::kInvalidValue, absl::StrFormat("%#x", piece.base));
  EXPECT_THAT(memory().CheckLive(piece), is_dead);
  MapForUse(piece, *physical);
  EXPECT_THAT(memory().CheckLive(piece), IsOk());
  EXPECT_THAT(memory().CheckLive({piece.base + 100, 200}), IsOk());
  EXPECT_THAT(memory().CheckLive({piece.base, 0}), IsOk());
  EXPECT_FALSE(memory().CheckLive(range).ok()) << "the pieces beside it are not mapped";
  EXPECT_FALSE(memory().CheckLive(Piece(range, 1, 2)).ok());
  EXPECT_THAT(memory().Unmap(piece), IsOk());
  EXPECT_THAT(memory().CheckLive(piece), is_dead);
  EXPECT_THAT(memory().Release(range), IsOk());
  EXPECT_THAT(memory().CheckLive(piece), is_dead);
  EXPECT_THAT(memory().CheckLive(NewHostWords(4)), IsOk());
}

TEST_P(MemoryTest, ADeviceThatIsToldKnowsWhatWasGivenBack) {
  const AddressRange words = NewWords(64);
  EXPECT_THAT(memory().CheckLive(words), IsOk());
  memory().NoteDead(words, "freed by a test");
  const absl::Status status = memory().CheckLive(words);
  if (!status.ok()) {
    EXPECT_THAT(status, HasError(ErrorCode::kInvalidValue, "freed by a test"));
  } else {
    EXPECT_NE(device().info().architecture, "host") << "the host device is told and remembers";
  }
  memory().NoteLive(words, "live again");
  EXPECT_THAT(memory().CheckLive(words), IsOk());
}

}  // namespace
}  // namespace graphtree
