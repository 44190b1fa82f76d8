// Labels nest, are told as phases, and end for whoever heard their begin.
#include "device/request_labels.h"

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "device/base/status_matchers.h"
#include "device/observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace graphtree {
namespace {

using ::testing::ElementsAre;

class Listening : public Observer {
 public:
  Wishes wishes() const override {
    return {.graphs = false, .replays = false, .phases = true};
  }
  void Saw(const GraphEvent&) override {}
  void SawPhase(const PhaseEvent& event) override {
    told.push_back(absl::StrCat(event.begins ? "+" : event.ok ? "-" : "failed ",
                                PhaseName(event.phase), " ", event.function));
  }
  std::vector<std::string> told;
};

TEST(RequestLabelsTest, TheyNestAndAreToldAsPhases) {
  Listening listening;
  Observers::OfProcess().Join(&listening);
  {
    const RequestLabel outer("request 81");
    const RequestLabel inner("decode");
  }
  Observers::OfProcess().Leave(&listening);
  EXPECT_THAT(listening.told, ElementsAre("+request request 81", "+request decode",
                                          "-request decode", "-request request 81"));
}

TEST(RequestLabelsTest, EachThreadHasItsOwn) {
  RequestLabels& labels = RequestLabels::OfProcess();
  ASSERT_THAT(labels.Push("mine"), IsOk());
  std::thread other([&] {
    EXPECT_THAT(labels.Pop(), FailsWith(absl::StatusCode::kFailedPrecondition, "has no label"));
    EXPECT_THAT(labels.Push("theirs"), IsOk());
    EXPECT_THAT(labels.Pop(), IsOk());
  });
  other.join();
  EXPECT_THAT(labels.Pop(), IsOk());
  EXPECT_THAT(labels.Pop(), FailsWith(absl::StatusCode::kFailedPrecondition, "has no label"));
  EXPECT_THAT(labels.Push(""), FailsWith(absl::StatusCode::kInvalidArgument, "is empty"));
}

TEST(RequestLabelsTest, WhoCameMeanwhileHearsNoEnd) {
  Listening listening;
  {
    const RequestLabel label("request 82");
    Observers::OfProcess().Join(&listening);
  }
  EXPECT_TRUE(listening.told.empty());
  Observers::OfProcess().Leave(&listening);
}

}  // namespace
}  // namespace graphtree
