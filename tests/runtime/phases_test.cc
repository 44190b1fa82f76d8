// What observers of a runtime's trees hear of the runtime itself.
#include <string>
#include <utility>
#include <vector>

#include "device/observer.h"
#include "gmock/gmock.h"
#include "graphs/tree.h"
#include "runtime/parking.h"
#include "tests/runtime/runtime_fixture.h"

namespace graphtree {
namespace {

using testing::Contains;
using testing::ElementsAre;

class Phases : public Observer {
 public:
  Wishes wishes() const override { return {.graphs = false, .replays = false, .phases = true}; }
  void Saw(const GraphEvent&) override {}
  void SawPhase(const PhaseEvent& event) override {
    open += event.begins ? 1 : -1;
    EXPECT_GE(open, 0);
    if (event.begins) {
      begun.push_back(PhaseName(event.phase));
    } else if (!event.ok) {
      failed.push_back(PhaseName(event.phase));
    }
  }
  std::vector<std::string> begun, failed;
  int open = 0;
};

class PhasesTest : public RuntimeTest {};
GRAPHTREE_ON_EVERY_DEVICE(PhasesTest);

TEST_P(PhasesTest, StepsStagingPlansAndParksAreTold) {
  ProgramOptions options = DoubleOptions();
  options.tag = "memory";
  const ProgramId program = Add(std::move(options), KeysOf({8}));
  Phases phases;
  runtime().tree()->observers().Join(&phases);
  const absl::StatusOr<RecordingPlan> plan = runtime().Plan({}, 0);
  ASSERT_THAT(plan, IsOk());
  ASSERT_THAT(runtime().RecordPlan(*plan, a()), IsOk());
  EXPECT_THAT(phases.begun, Contains("plan"));
  EXPECT_THAT(phases.begun, Contains("record"));
  phases.begun.clear();
  EXPECT_EQ(StepWith(program, IdsFrom(1, 8)), Why::kHit);
  EXPECT_THAT(phases.begun, Contains("stage"));
  EXPECT_THAT(phases.begun, Contains("step"));
  phases.begun.clear();
  ASSERT_THAT(runtime().Park("memory", Contents::kKeep), IsOk());
  ASSERT_THAT(runtime().Wake("memory"), IsOk());
  EXPECT_THAT(phases.begun, ElementsAre("park", "park"));
  EXPECT_TRUE(phases.failed.empty());
  EXPECT_EQ(phases.open, 0);
  runtime().tree()->observers().Leave(&phases);
  EXPECT_EQ(StepWith(program, IdsFrom(2, 8)), Why::kHit);
}

}  // namespace
}  // namespace graphtree
