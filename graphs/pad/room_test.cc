// What a run knows of the memory that it has made, and what the next run has learned.
#include "graphs/pad/room.h"

#include <cstdint>
#include <deque>
#include <string>

#include "graphs/layout.h"
#include "graphs/storage.h"
#include "graphs/tensor.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

const Layout* Bytes(int64_t count) { return Layout::Of(DType::kU8, {count}); }

// Storages at made-up addresses.
class Owner : public StorageOwner {
 public:
  Storage* New(uint64_t bytes) {
    Storage& storage = storages_.emplace_back(this, AddressRange{next_, bytes},
                                              StorageState::kOwning);
    storage.serial = storages_.size();
    next_ += (bytes + 4095) / 4096 * 4096 + 4096;
    return &storage;
  }
  void Unreferenced(Storage*) override {}
  std::string WhyStale(const Storage&) const override { return "stale"; }

 private:
  Address next_ = 0x10000;
  std::deque<Storage> storages_;
};

class RoomTest : public testing::Test {
 protected:
  // An allocation of a run, as its launcher makes it.
  Tensor Made(MadeMemory& run, int64_t bytes) {
    Storage* const storage = owner_.New(bytes + run.RoomFor(bytes));
    run.Add(*storage, bytes);
    return Tensor::Over(storage, Bytes(bytes), storage->range().base);
  }
  // A pad to so many bytes. Returns whether it was in place.
  bool Pad(MadeMemory& run, Tensor* tensor, int64_t bytes) {
    const absl::StatusOr<PadPlan> plan =
        PlanPad(tensor->shape(), {bytes}, run.SourceOf(*tensor));
    EXPECT_TRUE(plan.ok());
    if (plan->way == PadWay::kInPlace) {
      run.Padded(*tensor, *plan->layout);
      *tensor = tensor->View(plan->layout, 0);
      return true;
    }
    Storage* const storage = owner_.New(bytes + run.RoomFor(bytes));
    run.AddCopy(*storage, *tensor, *plan);
    *tensor = Tensor::Over(storage, plan->layout, storage->range().base);
    return false;
  }

  Owner owner_;
};

TEST_F(RoomTest, OnlyWhatTheRunHasMadeIsItsOwn) {
  MadeMemory run;
  const Tensor made = Made(run, 100);
  EXPECT_TRUE(run.SourceOf(made).made);
  EXPECT_TRUE(run.SourceOf(made).alone);
  EXPECT_EQ(run.SourceOf(made.View(Bytes(10), 20)).offset, 20u);
  EXPECT_FALSE(MadeMemory().SourceOf(made).made);
  EXPECT_FALSE(run.SourceOf(Tensor::Foreign(made.word(), Bytes(10))).made);
  run.Forget();
  EXPECT_FALSE(run.SourceOf(made).made);
}

TEST_F(RoomTest, AStorageThatServesAgainIsNotTheRunsAnyMore) {
  MadeMemory run;
  const Tensor made = Made(run, 100);
  made.storage()->serial = 1000;
  EXPECT_FALSE(run.SourceOf(made).made);
  run.Add(*made.storage(), 50);  // and if it is the run's once more, only as that
  EXPECT_EQ(run.SourceOf(made).asked, 50u);
}

TEST_F(RoomTest, AnyOtherHandleIsSeen) {
  MadeMemory run;
  const Tensor made = Made(run, 100);
  {
    const Tensor view = made.View(Bytes(1), 0);
    EXPECT_FALSE(run.SourceOf(made).alone);
  }
  EXPECT_TRUE(run.SourceOf(made).alone);
  made.storage()->AddInside();
  EXPECT_FALSE(run.SourceOf(made).alone);
  made.storage()->DropInside();
  EXPECT_TRUE(run.SourceOf(made).alone);
  run.NoteBeside(made.storage());
  EXPECT_FALSE(run.SourceOf(made).alone);
}

TEST_F(RoomTest, TheNextRunHasTheRoomThatThisOneLacked) {
  LearnedRoom learned;
  for (int number = 0; number < 3; ++number) {
    MadeMemory run;
    run.UseRoom(&learned, 1000, true);
    const Tensor other = Made(run, 100);
    Tensor tensor = Made(run, 100);
    EXPECT_EQ(Pad(run, &tensor, 300), number > 0) << number;
    EXPECT_EQ(other.storage()->range().bytes, 100u);
  }
  EXPECT_EQ(learned.WantedBy(0), 0u);
  EXPECT_EQ(learned.WantedBy(1), 300u);
}

TEST_F(RoomTest, PadsOfPadsAndOfViewsWantRoomOfTheFirstBlock) {
  LearnedRoom learned;
  for (int number = 0; number < 3; ++number) {
    MadeMemory run;
    run.UseRoom(&learned, 1000, true);
    Tensor tensor = Made(run, 100);
    tensor = tensor.View(Bytes(60), 40);
    EXPECT_EQ(Pad(run, &tensor, 80), number > 0) << number;
    tensor = tensor.View(Bytes(70), 10);
    EXPECT_EQ(Pad(run, &tensor, 200), number > 0) << number;
    EXPECT_EQ(Pad(run, &tensor, 201), number > 0) << number;
  }
  EXPECT_EQ(learned.WantedBy(0), 40u + 10 + 201);
}

// A pad in place makes nothing, and one that copies does.
TEST_F(RoomTest, WhatIsMadeAfterAPadHasItsNumberWhicheverWayThatWent) {
  LearnedRoom learned;
  for (int number = 0; number < 3; ++number) {
    MadeMemory run;
    run.UseRoom(&learned, 1000, true);
    Tensor first = Made(run, 100);
    EXPECT_EQ(Pad(run, &first, 150), number > 0) << number;
    Tensor second = Made(run, 100);
    EXPECT_EQ(Pad(run, &second, 170), number > 0) << number;
    EXPECT_EQ(Pad(run, &first, 180), number > 0) << number;
    EXPECT_EQ(Made(run, 10).storage()->range().bytes, 10u);
  }
}

// Else the layouts of later pads could differ between runs that have learned and those that have
// not.
TEST_F(RoomTest, WhatWasPaddedCountsAsAskedFor) {
  LearnedRoom learned;
  for (int number = 0; number < 2; ++number) {
    MadeMemory run;
    run.UseRoom(&learned, 1000, true);
    Tensor tensor = Made(run, 100);
    Pad(run, &tensor, 300);
    EXPECT_EQ(run.SourceOf(tensor).asked, 300u);
  }
}

TEST_F(RoomTest, TheBudgetIsForAllOfARunsRoomTogether) {
  LearnedRoom learned;
  learned.Learn(0, 150);
  learned.Learn(1, 160);
  learned.Learn(2, 110);
  MadeMemory run;
  run.UseRoom(&learned, 100, true);
  EXPECT_EQ(Made(run, 100).storage()->range().bytes, 150u);
  EXPECT_EQ(Made(run, 100).storage()->range().bytes, 100u);  // 60 more would be 110
  EXPECT_EQ(Made(run, 100).storage()->range().bytes, 110u);
  MadeMemory without;
  without.UseRoom(&learned, 0, true);
  EXPECT_EQ(without.RoomFor(100), 0u);
}

TEST_F(RoomTest, ACapturedRunUsesWhatIsKnownAndLearnsNothing) {
  LearnedRoom learned;
  learned.Learn(0, 150);
  MadeMemory run;
  run.UseRoom(&learned, 1000, false);
  Tensor first = Made(run, 100), second = Made(run, 100);
  EXPECT_TRUE(Pad(run, &first, 150));
  EXPECT_FALSE(Pad(run, &second, 150));
  EXPECT_EQ(learned.WantedBy(1), 0u);
}

TEST_F(RoomTest, WhatWasGivenUpIsNotLearnedAgain) {
  LearnedRoom learned;
  learned.GiveUp();  // of nothing
  learned.Learn(0, 150);
  EXPECT_EQ(learned.WantedBy(0), 150u);
  learned.GiveUp();
  learned.Learn(0, 150);
  EXPECT_EQ(learned.WantedBy(0), 0u);
}

}  // namespace
}  // namespace graphtree
