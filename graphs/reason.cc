// Gives each reason its name and its sentence.
#include "graphs/reason.h"

namespace graphtree {
namespace {

struct Row {
  Reason reason;
  const char* name;
  const char* sentence;
};

constexpr Row kRows[] = {
    {Reason::kExcluded, "excluded", "the function was excluded from recording by its options"},
    {Reason::kTreeOff, "tree_off", "the tree is switched off"},
    {Reason::kMutatedInput, "mutated_input",
     "it writes to an input that is neither static nor made on this path, which cannot be patched "
     "into the recording, and a recording would write to its own copy; declare the input static, "
     "pass an output of this step, launch what takes it through the launcher, or pass it aligned "
     "as declared"},
    {Reason::kOverlappingInputs, "overlapping_inputs",
     "two inputs share bytes and the function writes to one of them"},
    {Reason::kRerecordLimit, "rerecord_limit",
     "it was recorded too often after the same function, because its inputs or what is alive keep "
     "changing; keep addresses stable or raise TreeOptions::rerecord_limit"},
    {Reason::kRecordFailed, "record_failed", "its recording failed"},
    {Reason::kForbiddenCall, "forbidden_call",
     "it waits for the device, or allocates outside of the tree's pool, while it is recorded"},
    {Reason::kUnjoinedFork, "unjoined_fork",
     "it forked work to another stream and did not join it before it returned or broke"},
    {Reason::kOutOfPool, "out_of_pool", "the tree's pool had no memory for it"},
    {Reason::kOutOfDevice, "out_of_device",
     "the device could not make what its recording needed beside the pool's memory: a stream, an "
     "event, an executable"},
    {Reason::kInputMoves, "input_moves",
     "an input that was recorded at one address comes at others, and the function's options ask "
     "for an eager run then"},
    {Reason::kSizeNotListed, "size_not_listed",
     "its options list the sizes to record, and this is none of them"},
    {Reason::kSizesVary, "sizes_vary",
     "its sizes vary, and functions whose sizes vary are not to be recorded "
     "(skip_varying_sizes in its options or the tree's)"},
    {Reason::kShapeLimit, "shape_limit",
     "it came in more shapes than may be recorded, and the others are used more; pad inputs to "
     "fewer sizes, or raise TreeBudget::shapes_of_function or TreeBudget::shapes"},
    {Reason::kOverBudget, "over_budget", "the tree's budget has no room for it"},
    {Reason::kPaused, "paused",
     "its recording has failed, and is tried again after some more runs of it"},
    {Reason::kGivenUp, "given_up",
     "its recording was given up, as another run lacked the memory that it held, and is made again "
     "after some more runs of it"},
    {Reason::kRecordedApart, "recorded_apart",
     "its options say that Tree::Record alone records it, and no recording serves the call; call "
     "Tree::Record"},
    {Reason::kStaticMoved, "static_moved", "a static input came at another address"},
    {Reason::kManagedMoved, "managed_moved",
     "an input made earlier on this path came at another address"},
    {Reason::kAlignmentDiffers, "alignment_differs",
     "an input whose ops are patched came less aligned than when it was recorded"},
    {Reason::kLivenessDiffers, "liveness_differs",
     "an output that was dead when the function was recorded is still held"},
    {Reason::kConsumerDiffers, "consumer_differs",
     "an input that died inside the function when it was recorded is held by somebody else"},
    {Reason::kNodeEvicted, "node_evicted",
     "a recording went to make room for another, because the tree had as many as "
     "TreeBudget::nodes allows"},
    {Reason::kSiblingEvicted, "sibling_evicted",
     "a recording went to make room for another of the same function and shape at the same place, "
     "because there were as many as TreeBudget::siblings allows"},
    {Reason::kShapeEvicted, "shape_evicted",
     "a shape that was used less lost its place to another one, and its recordings with it"},
    {Reason::kExecutableEvicted, "executable_evicted",
     "an executable went to make room for another, because the tree had as many as "
     "TreeBudget::executables allows; its recording stays"},
    {Reason::kBytesEvicted, "bytes_evicted",
     "an executable went to make room for another, because the tree's executables took as much "
     "device memory as TreeBudget::executable_bytes allows; its recording stays"},
    {Reason::kMemoryEvicted, "memory_evicted",
     "a recording went, as a run lacked the pool's memory that it held"},
    {Reason::kFunctionEvicted, "function_evicted",
     "a recording went because its function, or the one that it came after, was unregistered or is "
     "not recorded any more"},
    {Reason::kSpareDropped, "spare_dropped",
     "the second executable of a recording, which spares it patches where addresses alternate, "
     "went to make room for others or could not be made; the first one is patched again"},
    {Reason::kWorkspaceMoved, "workspace_moved",
     "a library's workspace that it was recorded with has other memory now"},
    {Reason::kCaptureBroken, "capture_broken",
     "a call that no capture allows spoiled its recording: an allocation outside of the pool, a "
     "wait, or another thread's use of the legacy stream"},
    {Reason::kWarmUpAsked, "warm_up_asked", "it asked to be warmed up once more"},
    {Reason::kWarmUpForEver, "warm_up_for_ever",
     "it keeps asking to be warmed up again"},
    {Reason::kLongStep, "long_step",
     "outputs of a step are held that does not end, and while they are nothing of it is replayed; "
     "call BeginStep where a pass of the loop begins, or let go of the outputs"},
    {Reason::kUndeclaredWrite, "undeclared_write",
     "it writes to an input that it did not declare as written"},
    {Reason::kWorksElsewhere, "works_elsewhere",
     "its recording lacks work that it put on another stream than Launcher::stream()"},
    {Reason::kReplayDiffers, "replay_differs",
     "a replay of it leaves other bytes than a run of its body does"},
    {Reason::kHostValue, "host_value",
     "its body computes a value on the host that is not the same in every run, and a replay goes "
     "on with the recorded one; pass it as an input, or compute it in a kernel"},
    {Reason::kBreak, "break", "parts of it run eagerly, and its recording is cut there"},
};

// A number that is no reason, as one that was read from elsewhere.
constexpr Row kUnknown = {Reason::kExcluded, "unknown", "there is no reason with its number"};

// The table has one row for each reason, in the order of the enum.
constexpr bool IsInOrder() {
  for (size_t i = 0; i < kReasonCount; ++i) {
    if (kRows[i].reason != static_cast<Reason>(i)) return false;
  }
  return true;
}
static_assert(sizeof(kRows) / sizeof(kRows[0]) == kReasonCount);
static_assert(IsInOrder());

const Row& RowOf(Reason reason) {
  const size_t index = static_cast<size_t>(reason);
  return index < kReasonCount ? kRows[index] : kUnknown;
}

}  // namespace

const char* ReasonName(Reason reason) { return RowOf(reason).name; }
const char* ReasonSentence(Reason reason) { return RowOf(reason).sentence; }

}  // namespace graphtree
