// Runs a program twice at once, on trees and on the model, and compares after every call:
//
//   action --+--> model: what every tensor must hold now --+--> Check: bytes, staleness, figures
//            |                                             |
//            +--> trees: Run, BeginStep, Park, ... --------+
//                 on a device of which any call may fail
//
// What must hold is what the public headers promise: a call that the model calls right is OK, one
// that it calls wrong is an error, an error takes nothing and changes nothing but what the body
// may have written, what is held keeps its bytes, budgets hold, and everything closes.
#ifndef GRAPHTREE_TESTS_OUTSIDER_WORLD_H_
#define GRAPHTREE_TESTS_OUTSIDER_WORLD_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "device/fault/fault_stream.h"
#include "graphs/reason.h"
#include "tests/outsider/mirror.h"
#include "tests/outsider/program.h"
#include "tests/outsider/rig.h"

namespace graphtree::outsider {

// What programs did, over many of them.
struct Coverage {
  std::array<uint64_t, kActCount> acts = {};
  std::array<uint64_t, kDoCount> done = {};
  std::array<uint64_t, kFromCount> froms = {};
  ReasonCounts reasons = {};
  uint64_t programs = 0, calls = 0, replays = 0, recordings = 0, warm_ups = 0, eager = 0;
  uint64_t parts = 0, sections = 0, copied = 0, patched = 0, spares = 0, again = 0, restores = 0;
  uint64_t wrong_calls = 0;     // that the model knew to be wrong
  uint64_t failed_calls = 0;    // for a fault, a budget or the like
  uint64_t faults = 0, lost = 0, kept_held = 0, stale_seen = 0, outlived = 0;

  void Add(const Coverage& other);
};

struct Verdict {
  std::string wrong;   // empty: all is well
  size_t action = 0;   // in which it was seen
  Coverage coverage;
};

Verdict RunProgram(const Program& program);

constexpr int kShelf = 16;
constexpr int kBlocks = 3;

class World {
 public:
  explicit World(const Program& program) : program_(program), rig_(program) {}

  Verdict Run();

 private:
  // A value that the caller holds, and what it must be.
  struct Held {
    Value value;
    Handle model;
  };
  // What a stream was asked to bring back, to be looked at once it is there.
  struct ReadBack {
    std::unique_ptr<HostBuffer> landing;
    std::vector<uint8_t> expected;
  };
  // How a call may end.
  struct Expected {
    bool must_fail = false;
    bool may_fail = false;
    std::string why = "";
  };
  struct Call {
    int function = 0;
    int tree = 0;
    Values inputs;
    std::vector<Handle> models;
    std::vector<int> places;      // shelf places that were moved from; -1 elsewhere
    std::vector<Handle> outputs;  // the model's
    std::vector<Handle> after;    // the model's inputs behind the body
    std::map<int, Handle> stored;
    Expected expected;
    bool lasting = false;  // beyond its step, whatever it made
    bool unsure = false;   // ... perhaps
    bool fault = false;    // fired meanwhile
    bool senseless = false;  // not to be made
    std::array<MirrorGenerator, kGenerators> generators;
  };

  // world.cc
  void SetUp();
  TreeOptions OptionsOf(int tree) const;
  void RegisterAll();
  FunctionId RegisterOne(size_t function);
  void Act(const Action& action);
  void Close();
  void CloseTree(int tree);
  void Wrong(std::string what);
  bool is_over() const { return !verdict_.wrong.empty() || lost_; }
  absl::Status SyncAll();
  Stream& StreamOf(int n) { return *rig_.streams[static_cast<size_t>(n < 0 ? -n : n) % kStreams]; }
  static Stream& Bare(Stream& stream) { return FaultStream::Unwrap(stream); }
  // The caller orders its own work, and trees among each other; one tree's calls order themselves.
  void OrderBehindLast(Stream& stream, int user);
  static int TreeOf(int n) { return n & 1; }
  Held& ShelfAt(int n) { return shelf_[static_cast<size_t>(n < 0 ? -n : n) % kShelf]; }
  // As the model has it, or, where it cannot know, as it is.
  bool IsStale(const Held& held) const {
    if (!held.model.is_tensor() || !held.model.bytes->mixed) return mirror_.IsStale(held.model);
    return IsStaleNow(held.value);
  }
  // Tensor::bytes fails where a pool is parked, too.
  static bool IsStaleNow(const Value& tensor) {
    return tensor.storage() != nullptr && tensor.storage()->stale();
  }
  // Whether its bytes may be looked at now.
  bool IsThere(const Bytes& bytes) const {
    return !bytes.gone && (bytes.pool < 0 || !parked_[bytes.pool]);
  }
  uint64_t fired() { return rig_.device->plan().fired(); }

  // world_calls.cc
  void RunCall(const Action& action);
  void TakeInput(const InputPlan& plan, Call* call);
  void TakeFromShelf(const InputPlan& plan, Call* call);
  void TakeMemory(const BytesPtr& bytes, Address base, uint64_t offset, const Layout* layout,
                  Call* call);
  void Foresee(Call* call);
  void ForeseeOptions(Call* call);
  void Succeeded(Call* call, Values outputs, int to);
  void CheckOutput(const Value& value, const Handle& model, size_t index);
  void CheckTaken(const Call& call);
  void Failed(Call* call, const absl::Status& status, bool fault);
  void PutBack(Call* call, bool may_be_gone);
  void LearnWritten();
  void ForgetLasting(int tree);
  bool IsHeld(const BytesPtr& bytes) const;

  // world_acts.cc
  void Write(const Action& action, bool from_host);
  void ReadBackOne(const Action& action);
  void Look(const Action& action);
  void ParkOrWake(const Action& action);
  void Trim(const Action& action);
  void Fault(const Action& action);
  void MoveWorkspace(const Action& action);
  void Block(const Action& action);
  void DropOnThread(const Action& action);
  void Unregister(const Action& action);

  // world_checks.cc
  void Check();
  void CheckHeld(const Held& held, const char* what);
  void CheckFigures(int tree);
  void LookAround(int tree);
  void CheckReadBacks();
  void CountCoverage(int tree);

  const Program& program_;
  Rig rig_;
  Mirror mirror_;
  std::array<Held, kShelf> shelf_;
  std::array<Address, kBlocks> blocks_ = {};
  std::array<BytesPtr, kBlocks> block_bytes_;
  std::array<std::unique_ptr<HostBuffer>, 6> workspace_memory_;
  uint64_t versions_ = 0;  // of the opaque objects that there are now, from here on
  std::vector<ReadBack> read_backs_;
  std::array<bool, kTrees> parked_ = {};
  std::array<bool, kTrees> tiny_ = {};
  Stream* last_stream_ = nullptr;
  int last_user_ = -1;   // a tree, or -1: the caller
  bool lost_ = false;    // the device, by a fault
  bool had_fault_ = false;
  size_t at_ = 0;
  Verdict verdict_;
};

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_WORLD_H_
