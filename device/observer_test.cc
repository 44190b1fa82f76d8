// Observers that come and go while all are told.
#include "device/observer.h"

#include <functional>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

class Counting : public Observer {
 public:
  void Saw(const GraphEvent&) override {
    ++heard;
    if (does) does();
  }
  int heard = 0;
  std::function<void()> does;
};

TEST(ObserverTest, OneThatLeavesWhileItIsToldHidesNothingFromTheOthers) {
  Observers observers;
  Counting first, leaves, last;
  leaves.does = [&] { observers.Leave(&leaves); };
  for (Observer* observer : {&first, &leaves, &last}) observers.Join(observer);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_EQ(first.heard, 3);
  EXPECT_EQ(leaves.heard, 1);
  EXPECT_EQ(last.heard, 3);
}

TEST(ObserverTest, OneThatSendsTheNextAwayIsTheLastToBeTold) {
  Observers observers;
  Counting sends, sent;
  sends.does = [&] { observers.Leave(&sent); };
  observers.Join(&sends);
  observers.Join(&sent);
  EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_EQ(sent.heard, 0);
  EXPECT_TRUE(observers.any());
  observers.Leave(&sends);
  EXPECT_FALSE(observers.any());
}

TEST(ObserverTest, OneThatComesWhileAllAreTold) {
  Observers observers;
  Counting asks, late;
  asks.does = [&] {
    if (asks.heard == 1) observers.Join(&late);
  };
  observers.Join(&asks);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(observers.Tell(GraphEvent()), IsOk());
  EXPECT_GE(late.heard, 1);
}

}  // namespace
}  // namespace graphtree
