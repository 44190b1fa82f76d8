// The real side of a world: a device whose calls may fail, streams, buffers, trees and what else a
// program has in hand, and the machine that runs bodies on them through a Launcher.
#ifndef GRAPHTREE_TESTS_OUTSIDER_RIG_H_
#define GRAPHTREE_TESTS_OUTSIDER_RIG_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "allocator/foreign.h"
#include "device/device.h"
#include "device/fault/fault_device.h"
#include "device/fault/fault_stream.h"
#include "device/memory.h"
#include "device/observer.h"
#include "device/stream.h"
#include "graphs/launcher.h"
#include "graphs/random/generator.h"
#include "graphs/tensor.h"
#include "graphs/tree.h"
#include "tests/outsider/body.h"
#include "tests/outsider/mirror.h"
#include "tests/outsider/program.h"

namespace graphtree::outsider {

constexpr int kStreams = 3;
constexpr int kObjects = 3;
// So that the same program has inputs of the same alignments in every run.
constexpr uint64_t kBufferAlignment = 4096;

// Counts what becomes of graphs: what is made must be destroyed.
class GraphCounter : public Observer {
 public:
  void Saw(const GraphEvent& event) override {
    if (event.moment == GraphMoment::kInstantiate && event.ok) ++made;
    if (event.moment == GraphMoment::kDestroy) ++destroyed;
    if (event.moment == GraphMoment::kReplayBegin) ++begun;
    if (event.moment == GraphMoment::kReplayEnd) ++ended;
  }
  uint64_t made = 0, destroyed = 0, begun = 0, ended = 0;
};

struct Rig {
  explicit Rig(const Program& of) : program(of) {}

  const Program& program;
  std::unique_ptr<FaultDevice> device;
  std::array<std::unique_ptr<Stream>, kStreams> streams;
  std::unique_ptr<Stream> side;
  std::unique_ptr<Event> forked, joined, ordered;
  std::array<std::unique_ptr<HostBuffer>, kBuffers> buffers;
  std::array<Address, kBuffers> bases = {};  // in them, at multiples of kBufferAlignment
  std::unique_ptr<HostBuffer> junk;
  std::array<std::unique_ptr<Tree>, kTrees> trees;
  std::vector<FunctionId> functions;  // by place in the program
  std::array<std::shared_ptr<Generator>, kGenerators> generators;
  std::array<std::shared_ptr<int>, kObjects> objects;
  std::array<std::array<Address, kLasting>, kTrees> held = {};  // foreign code's, between calls
  std::array<std::array<WorkspaceId, kLasting>, kTrees> workspaces = {};
  std::array<Value, kStashes> stash;
  std::array<bool, kStashes> stashed_now = {};
  std::map<const void*, int> asked;  // warm-ups, by line
  std::array<GraphCounter, kTrees> counters;
  // One for each object that a body had kept alive; 0 when that is gone.
  std::deque<uint8_t> cells;
  std::vector<std::shared_ptr<void>> young;  // objects of work that may still be under way
  std::string wrong;  // what a body has seen

  // What bodies did, for the coverage.
  std::array<uint64_t, kDoCount> done = {};
  uint64_t bodies = 0;  // runs of any body, this call
  uint64_t parts = 0;

  Values RunBody(int function, Launcher& on, Values& inputs);
};

class RealMachine {
 public:
  using V = Value;
  RealMachine(Rig& rig, Launcher& on, int tree) : rig_(rig), on_(on), tree_(tree) {}

  // For the coverage: a line that is run.
  void Note(Do what) { ++rig_.done[static_cast<size_t>(what)]; }

  bool IsTensor(const V& value) const { return value.is_tensor(); }
  const Layout* LayoutOf(const V& value) const { return value.layout(); }
  V View(const V& of, const Layout* layout, uint64_t offset) {
    return Tensor::From(of).View(layout, offset);
  }
  V Integer(int64_t value) { return Value::Integer(value); }
  V Empty(const Layout* layout) { return on_.Empty(layout); }
  V Unused(uint64_t bytes) { return on_.Empty(DType::kU8, {static_cast<int64_t>(bytes)}); }
  V Closure(int buffer, int offset, const Layout* layout);
  bool Overlap(const V& a, const V& b) const { return RangeOf(a).Overlaps(RangeOf(b)); }

  void Mix(const V& target, const V& source, int by);
  void Bump(const V& target, int by);
  void Join(const V& target, const V& source, const V& more, int by);
  void Elements(const V& target, const V& source, int by);
  void Fill(const V& target, int byte);
  void Copy(const V& target, const V& source);
  void RawFill(const V& target, int byte);
  void RawMix(const V& target, const V& source, int by);
  void RawCopy(const V& target, const V& source);
  void Fork(const V& target, const V& source, int by, int style);
  void Unjoined(int by);
  void Random(int generator, const V& target, int count);
  void Sync();
  void HostSees(const V& target, const V& source);
  void ScratchFill(int bytes);
  void Scratch(const V& target, const V& source, int bytes, int by);
  void ForeignTemp(const V& target, const V& source, int bytes, int by);
  void Lasting(Do what, int place, const V& target, const V& source, int by);
  void Break(const FunctionPlan& function, const Statement& line,
             const std::vector<std::pair<V*, Access>>& given, const std::vector<int64_t>& integers);
  void KeepAlive(const V& target);
  void WarmUpAgain(const void* line, int times);
  void Nested(int function, const V& target, const V& source);
  void Stash(int place, const V& value);
  void Aligned(const V& target, const V& input, int alignment);
  void ScratchPart(const V& target, const V& source, int bytes, int by);
  void Fail();
  void Throw(int what);
  void Reenter(int how);

 private:
  void SayClosures(const std::vector<Statement>& lines);
  // The rest of the raw work is left out once something has failed.
  void Raw(const absl::Status& status) {
    if (!status.ok()) on_.Fail(status);
  }
  void LaunchOn(Stream& stream, const Tensor& target, const Tensor& source, int by);

  Rig& rig_;
  Launcher& on_;
  const int tree_;
};

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_RIG_H_
