// The fixture: one arena of device memory, one of host memory, and what is checked at the end.
#include "tests/conformance/conformance.h"

#include <cstring>
#include <utility>

#include "device/base/check.h"

namespace graphtree {
namespace {

constexpr uint64_t kArenaBytes = 1 << 20;
constexpr uint64_t kPinnedBytes = 1 << 18;
constexpr uint64_t kAlignment = 256;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

std::vector<uint32_t> Pattern(uint32_t seed, size_t words) {
  std::vector<uint32_t> pattern(words);
  for (size_t i = 0; i < words; ++i) pattern[i] = PatternWord(seed, static_cast<uint32_t>(i));
  return pattern;
}

uint64_t LogOf(const std::vector<uint64_t>& ids) {
  uint64_t log = 0;
  for (uint64_t id : ids) log = Appended(log, id);
  return log;
}

void ConformanceTest::SetUp() {
  absl::StatusOr<std::unique_ptr<Device>> device = GetParam().open();
  if (!device.ok() && GetParam().may_be_missing) {
    GTEST_SKIP() << GetParam().name << ": " << device.status().message();
  }
  ASSERT_THAT(device, IsOk());
  device_ = *std::move(device);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Stream> stream, device_->NewStream());
    streams_.push_back(std::move(stream));
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Event> event, device_->NewEvent({}));
    events_.push_back(std::move(event));
  }
  ASSERT_OK_AND_ASSIGN(transfer_stream_, device_->NewStream());
  ASSERT_OK_AND_ASSIGN(transfer_, memory().AllocateHost(kArenaBytes));
  ASSERT_OK_AND_ASSIGN(pinned_, memory().AllocateHost(kPinnedBytes));
  std::memset(pinned_->data(), 0, kPinnedBytes);
  MapArena();
}

void ConformanceTest::MapArena() {
  const uint64_t bytes = RoundUp(kArenaBytes, granularity());
  ASSERT_OK_AND_ASSIGN(arena_, memory().Reserve(bytes, {}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PhysicalMemory> physical, memory().Create(bytes));
  ASSERT_THAT(memory().Map(arena_.base, *physical), IsOk());
  ASSERT_THAT(memory().SetAccess(arena_, MemoryAccess::kReadWrite), IsOk());
}

void ConformanceTest::UnmapArena() {
  if (arena_.empty()) return;
  EXPECT_THAT(memory().Unmap(arena_), IsOk());
  EXPECT_THAT(memory().Release(arena_), IsOk());
}

void ConformanceTest::TearDown() {
  if (device_ == nullptr) return;
  EXPECT_EQ(device_->open_captures(), 0);
  for (const auto& stream : streams_) EXPECT_THAT(stream->Synchronize(), IsOk());
  EXPECT_THAT(device_->health(), IsOk());
  streams_.clear();
  events_.clear();
  transfer_stream_.reset();
  UnmapArena();
  transfer_.reset();
  pinned_.reset();
  EXPECT_THAT(device_->Close(), IsOk());
  EXPECT_THAT(device_->Close(), IsOk()) << "closing again";
}

AddressRange ConformanceTest::NewWords(size_t words) {
  const AddressRange range = {arena_.base + arena_used_, words * sizeof(uint32_t)};
  arena_used_ += RoundUp(range.bytes, kAlignment);
  GRAPHTREE_CHECK(arena_used_ <= arena_.bytes)
      << "this test wants more memory than the fixture has";
  return range;
}

AddressRange ConformanceTest::NewWordsWith(const std::vector<uint32_t>& words) {
  const AddressRange range = NewWords(words.size());
  Write(range, words);
  return range;
}

AddressRange ConformanceTest::NewHostWords(size_t words) {
  const AddressRange range = {pinned_->range().base + pinned_used_, words * sizeof(uint32_t)};
  pinned_used_ += RoundUp(range.bytes, kAlignment);
  GRAPHTREE_CHECK(pinned_used_ <= kPinnedBytes) << "this test wants more host memory than there is";
  return range;
}

std::vector<uint32_t> ConformanceTest::Read(AddressRange range) {
  if (range.empty()) return {};
  std::vector<uint32_t> words(range.bytes / sizeof(uint32_t));
  EXPECT_THAT(transfer_stream_->Copy(transfer_->range().base, range.base, range.bytes), IsOk());
  EXPECT_THAT(transfer_stream_->Synchronize(), IsOk());
  std::memcpy(words.data(), transfer_->data(), range.bytes);
  return words;
}

uint64_t ConformanceTest::ReadLog(AddressRange log) {
  const std::vector<uint32_t> words = Read({log.base, sizeof(uint64_t)});
  return words[0] | static_cast<uint64_t>(words[1]) << 32;
}

void ConformanceTest::Write(AddressRange range, const std::vector<uint32_t>& words) {
  std::memcpy(transfer_->data(), words.data(), range.bytes);
  EXPECT_THAT(transfer_stream_->Copy(range.base, transfer_->range().base, range.bytes), IsOk());
  EXPECT_THAT(transfer_stream_->Synchronize(), IsOk());
}

std::unique_ptr<Graph> ConformanceTest::CaptureOn(Stream& on, const std::function<void()>& record) {
  EXPECT_THAT(on.BeginCapture(CaptureMode::kThreadLocal), IsOk());
  record();
  absl::StatusOr<std::unique_ptr<Graph>> graph = on.EndCapture();
  EXPECT_THAT(graph, IsOk());
  return graph.ok() ? *std::move(graph) : nullptr;
}

std::unique_ptr<Executable> ConformanceTest::InstantiateOf(const Graph& graph) {
  absl::StatusOr<std::unique_ptr<Executable>> executable = graph.Instantiate();
  EXPECT_THAT(executable, IsOk());
  return executable.ok() ? *std::move(executable) : nullptr;
}

void ConformanceTest::Replay(Executable& executable) {
  EXPECT_THAT(executable.Launch(a()), IsOk());
  EXPECT_THAT(a().Synchronize(), IsOk());
}

}  // namespace graphtree
