// In checked mode an error says from where: who made what is stale and who wrote over it, which
// line of a body launched the op, which call it was.
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/debugging/symbolize.h"
#include "absl/types/span.h"
#include "device/address.h"
#include "device/device.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"
#include "tests/tree/fleeting_memory.h"
#include "tests/tree/tree_fixture.h"

namespace graphtree {

// Places to be found in stacks: never inlined, and with work after the call, so that they keep
// their frames. None is like another, or a compiler would make one of two.
[[gnu::noinline]] absl::Status CallsHere(Tree& tree, FunctionId function, Values inputs,
                                         Stream& stream, Values* outputs) {
  absl::Status status = tree.Run(function, absl::MakeSpan(inputs), stream, outputs);
  asm volatile("# calls here");
  return status;
}
[[gnu::noinline]] absl::Status CallsThere(Tree& tree, FunctionId function, Values inputs,
                                          Stream& stream, Values* outputs) {
  absl::Status status = tree.Run(function, absl::MakeSpan(inputs), stream, outputs);
  asm volatile("# calls there");
  return status;
}
[[gnu::noinline]] void BeginsStepHere(Tree& tree) {
  tree.BeginStep();
  asm volatile("# begins a step");
}
[[gnu::noinline]] void BumpsHere(Launcher& on, const Value& target) {
  BumpInSecret(on, target, 5);
  asm volatile("# bumps");
}
[[gnu::noinline]] Tensor AddsHere(Launcher& on, const Value& x, const Tensor& y) {
  const Tensor sum = Sum(on, x, y);
  asm volatile("# adds");
  return sum;
}

namespace {

using testing::HasSubstr;
using testing::Not;

// A stripped binary names none of its functions, and shows offsets in their place.
bool NamesItsFunctions() {
  char name[256];
  return absl::Symbolize(reinterpret_cast<const void*>(&BeginsStepHere), name, sizeof(name));
}

// Where the places above begin, as offsets in this binary, and which they are.
const std::map<uint64_t, std::string>& Places() {
  static const auto* places = [] {
    auto* found = new std::map<uint64_t, std::string>;
    const auto add = [found](const void* begin, std::string name) {
      Dl_info info = {};
      ASSERT_NE(dladdr(begin, &info), 0);
      (*found)[AddressOf(begin) - AddressOf(info.dli_fbase)] = std::move(name);
    };
    add(reinterpret_cast<const void*>(&CallsHere), "CallsHere");
    add(reinterpret_cast<const void*>(&CallsThere), "CallsThere");
    add(reinterpret_cast<const void*>(&BeginsStepHere), "BeginsStepHere");
    add(reinterpret_cast<const void*>(&BumpsHere), "BumpsHere");
    add(reinterpret_cast<const void*>(&AddsHere), "AddsHere");
    return found;
  }();
  return *places;
}

// The places among the frames of a stack, told by the offsets alone: "(server+0x40d78)".
std::set<std::string> PlacesIn(const std::string& lines) {
  constexpr uint64_t kLongestPlace = 1024;
  std::set<std::string> found;
  for (size_t at = lines.find("+0x"); at != std::string::npos; at = lines.find("+0x", at + 1)) {
    const uint64_t offset = std::strtoull(lines.c_str() + at + 3, nullptr, 16);
    auto place = Places().upper_bound(offset);
    if (place == Places().begin()) continue;
    --place;
    if (offset - place->first < kLongestPlace) found.insert(place->second);
  }
  return found;
}

// The lines below a heading, as far as the next one.
std::string Below(const std::string& heading, const std::string& text) {
  const size_t at = text.find(heading);
  if (at == std::string::npos) return "";
  size_t end = at + heading.size();
  while (text.compare(end, 5, "\n    ") == 0) end = std::min(text.find('\n', end + 1), text.size());
  return text.substr(at + heading.size(), end - at - heading.size());
}

class StacksTest : public TreeTest {
 protected:
  void SetUp() override {
    TreeTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    TreeOptions options;
    options.check = true;
    OpenTree(options);
  }
  Values MadeHere(FunctionId function, Values inputs) {
    Values outputs;
    EXPECT_THAT(CallsHere(tree(), function, std::move(inputs), a(), &outputs), IsOk());
    return outputs;
  }
  Values MadeThere(FunctionId function, Values inputs) {
    Values outputs;
    EXPECT_THAT(CallsThere(tree(), function, std::move(inputs), a(), &outputs), IsOk());
    return outputs;
  }
  std::string Refused(FunctionId function, Values inputs) {
    Values outputs;
    const absl::Status status = CallsThere(tree(), function, std::move(inputs), a(), &outputs);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  }
  void ExpectPlace(const std::string& text, const std::string& heading, const std::string& place,
                   const std::string& other) {
    const std::string lines = Below(heading, text);
    const std::set<std::string> places = PlacesIn(lines);
    EXPECT_EQ(places.count(place), 1u) << place << " below " << heading << text;
    EXPECT_EQ(places.count(other), 0u) << other << " below " << heading << text;
    if (!NamesItsFunctions()) return;
    EXPECT_THAT(lines, HasSubstr(place)) << heading << text;
    EXPECT_THAT(lines, Not(HasSubstr(other))) << heading << text;
  }
  // All that a stale output of 'make' is told with.
  void ExpectBothStacks(const std::string& text) {
    EXPECT_THAT(text, HasSubstr("output 0 of 'make' was made in step "));
    ExpectPlace(text, "it was made by the call at:", "CallsHere", "CallsThere");
    ExpectPlace(text, "its step was ended at:", "BeginsStepHere", "CallsHere");
    EXPECT_THAT(text, HasSubstr("its bytes were given to 'other' in step "));
    const size_t over = text.find("its bytes were given to 'other'");
    ASSERT_NE(over, std::string::npos) << text;
    ExpectPlace(text.substr(over), " by the call at:", "CallsThere", "CallsHere");
  }
  static Values MakeTwo(Launcher& on, Values& inputs) {
    return {Sum(on, inputs[0], inputs[0]), Sum(on, inputs[0], inputs[0])};
  }
};
GRAPHTREE_ON_EVERY_DEVICE(StacksTest);

// Round 0 makes it in a warm-up, round 1 by a recording, the others by replays; likewise what is
// written over it.
TEST_P(StacksTest, AStaleOutputHasBothStacksInEveryState) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId other = Register("other", {}, MakeTwo);
  const FunctionId use = Register("use", {}, Twice);
  const Tensor x = Given(1);
  for (int round = 0; round < 5; ++round) {
    NewStep();
    const Values made = MadeHere(make, {x});
    const uint64_t replayed = replays();
    BeginsStepHere(tree());
    const Values over = MadeThere(other, {x});
    EXPECT_EQ(replays() - replayed, round < 2 ? 0u : 1u);
    const auto bytes = Tensor::From(made[0]).bytes();
    ASSERT_FALSE(bytes.ok());
    ExpectBothStacks(std::string(bytes.status().message()));
    const std::string refused = Refused(use, {made[0]});
    EXPECT_THAT(refused, HasSubstr("input 0 of 'use' may not be used"));
    ExpectBothStacks(refused);
  }
  EXPECT_GE(replays(), 6u);
}

// An argument of a call that would else be a replay.
TEST_P(StacksTest, SoHasOneThatComesToARecordedFunction) {
  const FunctionId make = Register("make", {}, Twice);
  const FunctionId other = Register("other", {}, MakeTwo);
  const FunctionId use = Register("use", {}, ConsumeTwice);
  const Tensor x = Given(1);
  for (int round = 0; round < 4; ++round) {
    NewStep();
    MadeThere(use, MadeHere(make, {x}));
  }
  for (int round = 0; round < 3; ++round) {
    NewStep();
    const Values made = MadeHere(make, {x});
    BeginsStepHere(tree());
    MadeThere(other, {x});
    NewStep();
    MadeHere(make, {x});
    ASSERT_STREQ(tree().state(), "replaying");
    const std::string refused = Refused(use, {made[0]});
    ExpectPlace(refused, "it was made by the call at:", "CallsHere", "CallsThere");
    ExpectPlace(refused, "its step was ended at:", "BeginsStepHere", "CallsHere");
    // The replay that makes it anew is what wrote over it last.
    EXPECT_THAT(refused, HasSubstr("its bytes were given to 'make' in step "));
  }
}

TEST_P(StacksTest, NobodyWroteOverItYet) {
  const FunctionId make = Register("make", {}, Twice);
  const Tensor x = Given(1);
  for (int round = 0; round < 4; ++round) {
    NewStep();
    const Values made = MadeHere(make, {x});
    BeginsStepHere(tree());
    const std::string refused = Refused(make, {made[0]});
    ExpectPlace(refused, "it was made by the call at:", "CallsHere", "CallsThere");
    EXPECT_THAT(refused, HasSubstr("no checked call has been given its bytes since"));
  }
}

TEST_P(StacksTest, UncheckedTheErrorSaysHowToGetThem) {
  OpenTree({});
  const FunctionId make = Register("make", {}, Twice);
  for (int round = 0; round < 4; ++round) {
    NewStep();
    const Values made = MadeHere(make, {Given(1)});
    BeginsStepHere(tree());
    const std::string refused = Refused(make, {made[0]});
    EXPECT_THAT(refused, HasSubstr("(TreeOptions::check tells from where each was called)"));
    EXPECT_THAT(refused, Not(HasSubstr("\n")));
  }
}

TEST_P(StacksTest, AnUndeclaredWriteHasItsLaunchAndItsCall) {
  const FunctionId sly = Register("sly", {}, [](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    BumpsHere(on, inputs[0]);
    return Values{twice};
  });
  NewStep();
  MadeHere(sly, {Given(1)});
  ASSERT_EQ(warnings().size(), 1u);
  ExpectPlace(warnings()[0], "'increment' was launched at:", "BumpsHere", "CallsThere");
  ExpectPlace(warnings()[0], "'increment' was launched at:", "CallsHere", "CallsThere");
  ExpectPlace(warnings()[0], "'sly' was called at:", "CallsHere", "BumpsHere");
}

// Frames of the library's inside that would be there if nothing were hidden: the doors, the rooms,
// and what callbacks are called through.
void ExpectNothingInside(const std::string& text) {
  EXPECT_THAT(text, HasSubstr("\n    "));
  for (const char* inside :
       {"graphtree::Tree::", "graphtree::TreeCore", "graphtree::Launcher::", "Runner", "Guarded",
        "absl::", "Capture", "Record", "Replay", "PartsInPlace", "Log::", "BodyCheck", "Watch",
        "CallStacks", "CheckedMode", "Entrance", "Journal"}) {
    EXPECT_THAT(text, Not(HasSubstr(inside))) << "of the inside";
  }
}

// In a body, in a part, and in a part of a part; in a run at once, and in a recording.
TEST_P(StacksTest, NoFrameOfTheLibrarysInsideIsShown) {
  const FunctionId sly = Register("sly", {.static_inputs = {0}}, [](Launcher& on, Values& inputs) {
    BumpsHere(on, inputs[0]);
    return Values{};
  });
  NewStep();
  MadeHere(sly, {Given(1)});
  ASSERT_EQ(warnings().size(), 1u);
  ExpectNothingInside(warnings()[0]);
  ExpectPlace(warnings()[0], "'increment' was launched at:", "BumpsHere", "CallsThere");
  ExpectPlace(warnings()[0], "'increment' was launched at:", "CallsHere", "CallsThere");
}

// A tree that is called by a part of another one's body: both trees' insides are left out, and what
// the program has between them is there.
TEST_P(StacksTest, TheInsideOfATreeAroundIsNotShown) {
  std::vector<std::string> told;
  TreeOptions options;
  options.check = true;
  options.warn = [&told](const std::string& text) { told.push_back(text); };
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> inner, Tree::Create(device(), options));
  const FunctionId sly = inner->Register("sly", {}, [](Launcher& on, Values& inputs) {
    BumpsHere(on, inputs[0]);
    return Values{};
  });
  const Tensor x = Given(1);
  const FunctionId outer = Register("outer", {}, [&](Launcher& on, Values&) {
    on.Break("calls", {InOut(x)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      Values outputs;
      part.Fail(CallsThere(*inner, sly, {tensors[0]}, part.stream(), &outputs));
    });
    return Values{};
  });
  for (int step = 0; step < 3; ++step) {
    NewStep();
    MadeHere(outer, {});
  }
  ASSERT_EQ(told.size(), 1u);
  ExpectNothingInside(told[0]);
  for (const char* place : {"BumpsHere", "CallsThere", "CallsHere"}) {
    EXPECT_EQ(PlacesIn(told[0]).count(place), 1u) << place << " in " << told[0];
  }
}

// Memory of the caller's that is taken away under the tree's hands.
class DeadMemoryStacksTest : public StacksTest {
 protected:
  void TearDown() override {
    CloseTree();
    fleeting_.Close();
    StacksTest::TearDown();
  }
  Tensor Fleeting() {
    fleeting_.Open(memory());
    const Tensor tensor = Tensor::Foreign(fleeting_.base(), WordsLayout(kWords));
    Write(tensor.raw_bytes(), PatternOf(2));
    return tensor;
  }

  FleetingMemory fleeting_;
};
GRAPHTREE_ON_EVERY_DEVICE(DeadMemoryStacksTest);

TEST_P(DeadMemoryStacksTest, ADeadInputHasItsCallAndTheLastOneThatFoundItAlive) {
  const FunctionId weigh = Register("weigh", {.static_inputs = {1}}, AddBoth);
  const Tensor x = Given(1), weight = Fleeting();
  for (int round = 0; round < 3; ++round) {
    NewStep();
    MadeHere(weigh, {x, weight});
  }
  fleeting_.Unmap();
  NewStep();
  const std::string refused = Refused(weigh, {x, weight});
  EXPECT_THAT(refused, HasSubstr("input 1 of 'weigh', a static one, is dead memory"));
  ExpectPlace(refused, "'weigh' was called at:", "CallsThere", "CallsHere");
  ExpectPlace(refused, "when a call of 'weigh' brought it at:", "CallsHere", "CallsThere");
}

TEST_P(DeadMemoryStacksTest, DeadMemoryOfTheBodysHasItsLaunchAndItsCall) {
  const Tensor table = Fleeting();
  const FunctionId look_up = Register("look_up", {}, [table](Launcher& on, Values& inputs) {
    return Values{AddsHere(on, inputs[0], table)};
  });
  const Tensor x = Given(1);
  for (int round = 0; round < 3; ++round) {
    NewStep();
    MadeHere(look_up, {x});
  }
  fleeting_.Unmap();
  NewStep();
  const std::string refused = Refused(look_up, {x});
  EXPECT_THAT(refused, HasSubstr("'look_up' was not launched"));
  ExpectPlace(refused, "'add' was launched at:", "AddsHere", "CallsThere");
  ExpectPlace(refused, "'add' was launched at:", "CallsHere", "CallsThere");
  ExpectPlace(refused, "'look_up' was called at:", "CallsThere", "CallsHere");
}

}  // namespace
}  // namespace graphtree
