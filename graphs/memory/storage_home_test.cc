// Handles keep storages, the last one gives them back, and the home waits for them.
#include "graphs/memory/storage_home.h"

#include <thread>
#include <vector>

#include "graphs/tensor.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using Dropped = StorageHome::Dropped;

const Layout* Bytes(int64_t n) { return Layout::Of(DType::kU8, {n}); }

class StorageHomeTest : public testing::Test {
 protected:
  StorageHomeTest()
      : home_(StorageHome::Make(
            [this](uint64_t block, Dropped dropped) {
              freed_.push_back(block);
              dropped_.push_back(dropped);
            },
            [](const Storage&) { return std::string("made long ago"); })) {}
  Tensor MakeTensor(StorageState state, uint64_t block) {
    Storage* storage = home_->New({0x1000, 64}, state, block);
    return Tensor::Over(storage, Bytes(64), 0x1000);
  }

  std::vector<uint64_t> freed_;
  std::vector<Dropped> dropped_;
  StorageHome* home_;
};

TEST_F(StorageHomeTest, TheLastHandleFreesAnOwnedBlock) {
  Tensor tensor = MakeTensor(StorageState::kOwning, 7);
  Tensor copy = tensor;
  Tensor view = tensor.View(Bytes(8), 16);
  tensor = Tensor();
  copy = Tensor();
  EXPECT_TRUE(freed_.empty());
  EXPECT_EQ(home_->outstanding(), 1);
  view = Tensor();
  EXPECT_EQ(freed_, std::vector<uint64_t>{7});
  EXPECT_EQ(home_->outstanding(), 0);
  home_->Close();
}

TEST_F(StorageHomeTest, DroppingAViewFreesNothing) {
  MakeTensor(StorageState::kView, 7);
  EXPECT_TRUE(freed_.empty());
  EXPECT_EQ(home_->outstanding(), 0);
  home_->Close();
}

TEST_F(StorageHomeTest, AnInsideCountKeepsAStorageThatNobodyHolds) {
  Storage* storage = home_->New({0x1000, 64}, StorageState::kView, 0);
  storage->AddInside();
  Tensor::Over(storage, Bytes(64), 0x1000);
  EXPECT_FALSE(storage->held_outside());
  EXPECT_EQ(home_->outstanding(), 1);
  storage->DropInside();
  EXPECT_EQ(home_->outstanding(), 0);
  home_->Close();
}

TEST_F(StorageHomeTest, StoragesAreReused) {
  Storage* first = home_->New({0x1000, 64}, StorageState::kOwning, 1);
  { Tensor tensor = Tensor::Over(first, Bytes(64), 0x1000); }
  Storage* second = home_->New({0x2000, 64}, StorageState::kView, 2);
  EXPECT_EQ(first, second);
  EXPECT_EQ(second->state(), StorageState::kView);
  EXPECT_EQ(second->range().base, 0x2000u);
  { Tensor tensor = Tensor::Over(second, Bytes(64), 0x2000); }
  EXPECT_EQ(freed_, std::vector<uint64_t>{1});
  home_->Close();
}

// A handle outside may be dropped while the tree runs elsewhere; one inside is the tree's own.
TEST_F(StorageHomeTest, WhoeverFreesIsToldWhoLetGoLast) {
  MakeTensor(StorageState::kOwning, 1);
  Storage* storage = home_->New({0x1000, 64}, StorageState::kOwning, 2);
  storage->AddInside();
  { Tensor tensor = Tensor::Over(storage, Bytes(64), 0x1000); }
  storage->DropInside();
  EXPECT_EQ(freed_, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(dropped_, (std::vector<Dropped>{Dropped::kAnywhere, Dropped::kInCall}));
  home_->Close();
}

TEST_F(StorageHomeTest, UsingAStaleTensorIsAnErrorThatExplains) {
  Tensor tensor = MakeTensor(StorageState::kView, 0);
  EXPECT_TRUE(tensor.bytes().ok());
  tensor.storage()->set_state(StorageState::kStale);
  EXPECT_EQ(tensor.bytes().status().message(), "made long ago");
  tensor = Tensor();
  home_->Close();
}

// Bytes in the step region, and of a storage without a block, are another's after their step.
TEST(StorageHomeGroundTest, SaysWhatEndsWithAStepAndWhetherItIsParked) {
  bool parked = false;
  StorageHome::Ground ground;
  ground.step = {0x1000, 0x1000};
  ground.is_parked = [&parked] { return parked; };
  StorageHome* home = StorageHome::Make([](uint64_t, Dropped) {},
                                        [](const Storage&) { return std::string(); }, ground);
  const auto made = [home](Address at, StorageState state) {
    return Tensor::Over(home->New({at, 64}, state, 1), Bytes(64), at);
  };
  {
    const Tensor steps = made(0x1000, StorageState::kOwning);
    const Tensor lasting = made(0x2000, StorageState::kOwning);
    const Tensor view = made(0x2000, StorageState::kView);
    EXPECT_TRUE(home->EndsWithStep(*steps.storage()));
    EXPECT_FALSE(home->EndsWithStep(*lasting.storage()));
    EXPECT_TRUE(home->EndsWithStep(*view.storage()));
    EXPECT_TRUE(lasting.bytes().ok());
    parked = true;
    EXPECT_EQ(lasting.bytes().status().message(),
              "its 64 bytes lie in memory of a tree that is parked; wake that tree's memory first");
    EXPECT_EQ(lasting.View(Bytes(8), 16).bytes().status().message(),
              "its 8 bytes lie in memory of a tree that is parked; wake that tree's memory first");
    parked = false;
    EXPECT_TRUE(lasting.bytes().ok());
  }
  home->Close();
}

// A part of the recording's replay, and a call of another tree in it, whose replay runs a part.
TEST_F(StorageHomeTest, IsNotStaleForAPartThatHasItsBytesRemade) {
  const Tensor tensor = MakeTensor(StorageState::kOwning, 3);
  tensor.storage()->set_state(StorageState::kStale);
  tensor.storage()->remade_by = 7;
  const Tensor other = MakeTensor(StorageState::kOwning, 4);
  other.storage()->set_state(StorageState::kStale);
  EXPECT_TRUE(tensor.storage()->stale());
  {
    const RemadeNow remade(7);
    EXPECT_FALSE(tensor.storage()->stale());
    EXPECT_TRUE(tensor.bytes().ok());
    EXPECT_TRUE(other.storage()->stale());
    const RemadeNow by_other(8), by_nobody(0);
    EXPECT_FALSE(tensor.storage()->stale());
    EXPECT_TRUE(other.storage()->stale()) << "no recording makes it";
    std::thread([&tensor] { EXPECT_TRUE(tensor.storage()->stale()); }).join();
  }
  EXPECT_TRUE(tensor.storage()->stale());
  home_->Close();
}

TEST_F(StorageHomeTest, HandlesMayOutliveTheHomesOwner) {
  Tensor tensor = MakeTensor(StorageState::kOwning, 3);
  home_->Close();
  tensor = Tensor();
  EXPECT_EQ(freed_, std::vector<uint64_t>{3});
}

TEST(StorageHomeThreadTest, HandlesMayBeDroppedOnAnyThread) {
  std::atomic<int> freed{0};
  StorageHome* home = StorageHome::Make([&](uint64_t, Dropped) { ++freed; },
                                        [](const Storage&) { return std::string(); });
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    Tensor tensor = Tensor::Over(home->New({0x1000, 64}, StorageState::kOwning, 1), Bytes(64), 0);
    std::thread other([copy = tensor]() mutable { copy = Tensor(); });
    tensor = Tensor();
    other.join();
  }
  EXPECT_EQ(freed, kRounds);
  EXPECT_EQ(home->outstanding(), 0);
  home->Close();
}

}  // namespace
}  // namespace graphtree
