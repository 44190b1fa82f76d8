// Gives each Why its name and its sentence.
#include "runtime/why.h"

namespace graphtree {
namespace {

struct Row {
  Why why;
  const char* name;
  const char* sentence;
};

constexpr Row kRows[] = {
    {Why::kHit, "hit", "a shape of exactly its key serves it"},
    {Why::kCover, "cover", "a larger shape serves it, with padding"},
    {Why::kAboveCeiling, "above_ceiling",
     "it is larger than every shape that could serve it; add a larger shape, or split the call"},
    {Why::kUncovered, "uncovered",
     "no shape of the program could ever serve it, because a field that must be equal is so in "
     "none; add a shape with that value or with any, or relax the rule"},
    {Why::kPadding, "padding",
     "a larger shape would serve it with more padding than the rules allow; add a shape between, "
     "or allow more padding"},
    {Why::kMode, "mode",
     "the shapes that serve it were made for modes that are not allowed at this call"},
    {Why::kNotRecorded, "not_recorded", "the shape that serves it is not recorded yet"},
    {Why::kNotCommitted, "not_committed",
     "the graph of the shape that serves it belongs to an epoch that is not committed yet"},
    {Why::kStaleDependency, "stale_dependency",
     "the graph of the shape that serves it was recorded with something that has been touched "
     "since; it is recorded again"},
    {Why::kVotedDown, "voted_down",
     "another rank runs eagerly, or brought what no common graph serves"},
    {Why::kNoMemory, "no_memory",
     "there was no memory, or no budget, to record the shape that serves it"},
    {Why::kExcluded, "excluded", "the shape that serves it was excluded by the caller"},
    {Why::kFailed, "failed",
     "it failed and its error says why, or the recording of the shape that serves it did, and a "
     "warning or the error of Record said why"},
    {Why::kWarmingUp, "warming_up",
     "the shape that serves it is being warmed up, and is recorded next"},
    {Why::kEvicted, "evicted",
     "the recording of the shape that serves it had to make room for others, and is made again; "
     "allow more nodes or shapes (TreeBudget)"},
    {Why::kOff, "off", "the runtime is switched off, and every step runs eagerly"},
    {Why::kShadow, "shadow",
     "the runtime is in mode shadow: it counts what graphs would serve, and every step runs "
     "eagerly"},
};

// The table has one row for each Why, in the order of the enum.
constexpr bool IsInOrder() {
  for (size_t i = 0; i < kWhyCount; ++i) {
    if (kRows[i].why != static_cast<Why>(i)) return false;
  }
  return true;
}
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kWhyCount);
static_assert(IsInOrder());

// A number that is no Why, as one that was read from elsewhere.
constexpr Row kUnknown = {Why::kHit, "unknown", "there is no reason with its number"};

const Row& RowOf(Why why) {
  const size_t index = static_cast<size_t>(why);
  return index < kWhyCount ? kRows[index] : kUnknown;
}

}  // namespace

const char* WhyName(Why why) { return RowOf(why).name; }
const char* WhySentence(Why why) { return RowOf(why).sentence; }

}  // namespace graphtree
