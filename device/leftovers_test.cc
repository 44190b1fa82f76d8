// Leftovers that leave others behind when they are given back, that fail, and that a capture holds
// up on the way.
#include "device/leftovers.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "device/base/status_matchers.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

// Does `gives_back` when it is given back, and `ends` when it is destroyed.
class Told : public Leftover {
 public:
  Told(std::function<absl::Status()> gives_back, std::function<void()> ends)
      : gives_back_(std::move(gives_back)), ends_(std::move(ends)) {}
  ~Told() override { ends_(); }
  absl::Status GiveBack() override { return gives_back_(); }

 private:
  const std::function<absl::Status()> gives_back_;
  const std::function<void()> ends_;
};

class LeftoversTest : public testing::Test {
 protected:
  // One that says its name when it is given back, and does `ends` at its end.
  void Add(const std::string& name, std::function<void()> ends = [] {}) {
    leftovers_.Add(std::make_unique<Told>(
        [this, name] {
          said_ += name;
          return absl::OkStatus();
        },
        std::move(ends)));
  }
  absl::Status GiveBack() {
    return leftovers_.GiveBack([] { return true; });
  }

  Leftovers leftovers_;
  std::string said_;
};

TEST_F(LeftoversTest, AreGivenBackInTheirOrder) {
  for (const char* const name : {"a", "b", "c"}) Add(name);
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(said_, "abc");
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(said_, "abc");
}

TEST_F(LeftoversTest, WhatOneLeavesBehindIsGivenBackToo) {
  Add("a", [this] { Add("b", [this] { Add("c"); }); });
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(said_, "abc");
}

// The inner call would go one level deeper for each of them.
TEST_F(LeftoversTest, OneThatAsksForTheOthersIsAtItsEndBeforeThem) {
  Add("a", [this] {
    EXPECT_THAT(GiveBack(), IsOk());
    said_ += "(a ends)";
  });
  Add("b");
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(said_, "a(a ends)b");
}

TEST_F(LeftoversTest, OneThatFailsStaysAndStopsNobody) {
  int calls = 0;
  const auto fails_once = [&calls] {
    return ++calls == 1 ? absl::InternalError("the first time") : absl::OkStatus();
  };
  leftovers_.Add(std::make_unique<Told>(fails_once, [] {}));
  Add("b");
  EXPECT_THAT(GiveBack(), FailsWith(absl::StatusCode::kInternal, "the first time"));
  EXPECT_EQ(said_, "b");
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(GiveBack(), IsOk());
  EXPECT_EQ(calls, 2);
}

TEST_F(LeftoversTest, ACaptureThatBeginsHoldsUpTheRest) {
  bool captures = false;
  const auto may = [&captures] { return !captures; };
  Add("a", [&captures] { captures = true; });
  Add("b");
  EXPECT_THAT(leftovers_.GiveBack(may), IsOk());
  EXPECT_EQ(said_, "a");
  captures = false;
  EXPECT_THAT(leftovers_.GiveBack(may), IsOk());
  EXPECT_EQ(said_, "ab");
}

TEST_F(LeftoversTest, DropDestroysWhatTheyLeaveBehind) {
  bool is_gone = false;
  Add("a", [&] { Add("b", [&is_gone] { is_gone = true; }); });
  leftovers_.Drop();
  EXPECT_TRUE(is_gone);
  EXPECT_EQ(said_, "");
}

}  // namespace
}  // namespace graphtree
