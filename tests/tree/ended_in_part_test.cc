// A part of one tree ends the step of another, whose output it was given.
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graphs/tree_options.h"
#include "tests/tree/bodies.h"
#include "tests/tree/other_trees_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class EndedInPartTest : public OtherTreesFixture {};
GRAPHTREE_ON_EVERY_DEVICE(EndedInPartTest);

// Using the output before that is right; afterwards it is an error, in the part and in what comes
// after it, in every kind of run that has no copy of it.
TEST_P(EndedInPartTest, APartThatEndsTheStepOfWhatItWasGiven) {
  enum class Uses { kBefore, kInThePart, kInTheOthersCall, kAfterThePart };
  const FunctionId makes = other().Register("makes", {}, Twice);
  const FunctionId takes = other().Register("takes", {}, Twice);
  bool ends = false;
  // A call that ends the other tree's step within its part.
  const auto call = [&](FunctionId breaks) {
    NewStep();
    other().BeginStep();
    Values inputs = {FromOther(makes, 1)}, outputs;
    const absl::Status status = tree().Run(breaks, absl::MakeSpan(inputs), a(), &outputs);
    if (status.ok()) {
      EXPECT_EQ(Read(outputs[0]), Times(PatternOf(1), 2));
    }
    EXPECT_THAT(device().health(), IsOk());
    return status;
  };
  for (const Uses uses :
       {Uses::kBefore, Uses::kInThePart, Uses::kInTheOthersCall, Uses::kAfterThePart}) {
    const auto part = [this, uses, takes, &ends](Launcher& on, absl::Span<const Tensor> given) {
      if (uses == Uses::kBefore) on.Copy(given[1], given[0]);
      if (ends) other().BeginStep();
      if (uses == Uses::kInThePart) on.Copy(given[1], given[0]);
      if (uses != Uses::kInTheOthersCall) return;
      Values inputs = {given[0]}, outputs;
      on.Fail(other().Run(takes, absl::MakeSpan(inputs), on.stream(), &outputs));
      on.Copy(given[1], given[0]);
    };
    for (const bool copies : {false, true}) {
      for (const int first_end : {0, 1, 3}) {
        OpenTree({.patch_bytes = copies ? kDefaultPatchBytes : 1});
        const FunctionId breaks = Register("breaks", {}, [&](Launcher& on, Values& inputs) {
          const Tensor out = on.Empty(inputs[0].layout());
          if (!on.ok()) return Values{};
          on.Break("ends", {In(Tensor::From(inputs[0])), Out(out)}, part);
          if (uses == Uses::kAfterThePart) on.Copy(out, Tensor::From(inputs[0]));
          return Values{out};
        });
        for (int step = 0; step < first_end + 2; ++step) {
          SCOPED_TRACE(absl::StrCat("use ", static_cast<int>(uses), ", step ", step));
          ends = step >= first_end;
          const absl::Status status = call(breaks);
          if (!ends || uses == Uses::kBefore || (copies && status.ok())) {
            EXPECT_THAT(status, IsOk());
          } else {
            EXPECT_THAT(status, FailsWith(StatusCode::kFailedPrecondition, "output 0 of 'makes'"));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace graphtree
