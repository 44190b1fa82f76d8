// What a run of a body makes, with and without room, and whose scratch a storage is.
#include "graphs/body/run_memory.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "device/base/status_macros.h"
#include "device/base/status_matchers.h"
#include "device/host/host_device.h"
#include "graphs/layout.h"
#include "graphs/pad/pad_plan.h"
#include "graphs/storage.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

const Layout* Bytes(int64_t count) { return Layout::Of(DType::kU8, {count}); }

// Gives storages at made-up addresses, as long as there is memory.
class Allocator : public BodyAllocator, public StorageOwner {
 public:
  absl::StatusOr<Storage*> Allocate(uint64_t bytes, Stream&) override {
    return New(bytes, StorageState::kOwning);
  }
  absl::StatusOr<Storage*> Scratch(uint64_t bytes, Stream&) override {
    GRAPHTREE_ASSIGN_OR_RETURN(Storage* const storage, New(bytes, StorageState::kView));
    storage->output = kScratch;
    ++scratch;
    return storage;
  }
  void EndScratch(Storage* storage) override {
    storage->set_state(StorageState::kStale);
    --scratch;
  }
  absl::Status UseOn(Storage*, Stream&) override { return absl::OkStatus(); }
  void NoteUse(const Storage&, Stream&) override { ++uses; }
  void Unreferenced(Storage*) override {}
  std::string WhyStale(const Storage&) const override { return "stale"; }

  uint64_t left = 1 << 20;
  int scratch = 0;  // that has not ended
  int uses = 0;

 private:
  absl::StatusOr<Storage*> New(uint64_t bytes, StorageState state) {
    if (bytes > left) return absl::ResourceExhaustedError("no memory");
    left -= bytes;
    Storage& storage = storages_.emplace_back(this, AddressRange{next_, bytes}, state);
    storage.serial = storages_.size();
    next_ += bytes + 4096;
    return &storage;
  }

  Address next_ = 0x10000;
  std::deque<Storage> storages_;
};

class RunMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    device_ = *OpenHostDevice({});
    stream_ = *device_->NewStream();
  }
  void TearDown() override {
    stream_ = nullptr;
    EXPECT_THAT(device_->Close(), IsOk());
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  Allocator allocator_;
  PadCounts pads_;
};

TEST_F(RunMemoryTest, AllThatIsMadeIsCountedDeadOrAlive) {
  RunMemory run(allocator_, *stream_, &pads_);
  EXPECT_THAT(run.Make(Bytes(100)), IsOk());
  const Tensor made = *run.Make(Bytes(50));
  EXPECT_EQ(run.asked_bytes(), 150u);
  EXPECT_EQ(made.storage()->range().bytes, 50u);
  EXPECT_EQ(pads_.room_bytes, 0u);
  EXPECT_THAT(run.Make(Bytes(2 << 20)), FailsWith(absl::StatusCode::kResourceExhausted, "memory"));
}

// The first run's pad is a copy, from which the second run learns.
TEST_F(RunMemoryTest, TheNextRunHasTheRoomThatThePadsOfThisOneNeed) {
  LearnedRoom learned;
  for (const uint64_t room : {0u, 28u}) {
    RunMemory run(allocator_, *stream_, &pads_);
    run.UseRoom(&learned, 1000, /*learns=*/true);
    const Tensor made = *run.Make(Bytes(100));
    EXPECT_EQ(made.storage()->range().bytes, 100 + room);
    EXPECT_EQ(pads_.room_bytes, room);
    const PadPlan plan = *PlanPad(made.shape(), {128}, run.made().SourceOf(made));
    EXPECT_EQ(plan.way == PadWay::kInPlace, room > 0);
    if (room > 0) continue;
    const Tensor copy = *run.MakeCopy(made, plan);
    EXPECT_EQ(copy.layout()->extent_bytes(), 128u);
    EXPECT_EQ(run.asked_bytes(), 228u);
  }
}

TEST_F(RunMemoryTest, ScratchEndsWithItsOpOrItsRun) {
  Tensor scratch;
  {
    RunMemory run(allocator_, *stream_, &pads_);
    scratch = *run.MakeScratch(10, Bytes(10));
    EXPECT_THAT(run.MakeScratch(10, Bytes(10)), IsOk());
    EXPECT_EQ(allocator_.scratch, 2);
    run.EndScratch();
    EXPECT_EQ(allocator_.scratch, 0);
    EXPECT_TRUE(scratch.storage()->stale());
    scratch = *run.MakeScratch(10, Bytes(10));
    EXPECT_EQ(run.asked_bytes(), 0u);
  }
  EXPECT_EQ(allocator_.scratch, 0);
  EXPECT_TRUE(scratch.storage()->stale());
}

// A part of a part may use both parts' own scratch, and no replay has the body's.
TEST_F(RunMemoryTest, APartKnowsItsBodysScratch) {
  RunMemory body(allocator_, *stream_, &pads_);
  const Tensor of_body = *body.MakeScratch(10, Bytes(10));
  EXPECT_FALSE(body.IsBodysScratch(*of_body.storage()));
  RunMemory part(allocator_, *stream_, &pads_);
  part.BeginPart(nullptr);
  const Tensor of_part = *part.MakeScratch(10, Bytes(10));
  RunMemory inner(allocator_, *stream_, &pads_);
  inner.BeginPart(&part);
  const Tensor made = *inner.Make(Bytes(10));
  for (const RunMemory* run : {&part, &inner}) {
    EXPECT_TRUE(run->IsBodysScratch(*of_body.storage()));
    EXPECT_FALSE(run->IsBodysScratch(*of_part.storage()));
    EXPECT_FALSE(run->IsBodysScratch(*made.storage()));
  }
  body.EndScratch();
  EXPECT_FALSE(part.IsBodysScratch(*of_body.storage())) << "stale, and refused as such";
}

TEST_F(RunMemoryTest, OnlyMemoryOfATreeIsNotedAsUsed) {
  RunMemory run(allocator_, *stream_, &pads_);
  const Tensor made = *run.Make(Bytes(10));
  run.NoteUse(made);
  run.NoteUse(Tensor::Foreign(0x5000, Bytes(10)));
  EXPECT_EQ(allocator_.uses, 1);
}

TEST(UnmadeTest, HasTheShapeAndNoBytes) {
  EXPECT_EQ(Unmade(Bytes(10)).word(), 0u);
  EXPECT_EQ(Unmade(Bytes(10)).layout(), Bytes(10));
  const Layout* const huge = Layout::Of(DType::kU8, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(Unmade(huge).layout()->extent_bytes(), 0u);
}

}  // namespace
}  // namespace graphtree
