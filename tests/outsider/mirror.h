// The model's side of a world: the same buffers, generators and steps, and the machine that runs
// bodies on them.
#ifndef GRAPHTREE_TESTS_OUTSIDER_MIRROR_H_
#define GRAPHTREE_TESTS_OUTSIDER_MIRROR_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "device/kernel.h"
#include "tests/outsider/body.h"
#include "tests/outsider/model.h"
#include "tests/outsider/program.h"

namespace graphtree::outsider {

constexpr int kTrees = 2;
constexpr int kBuffers = 4;
constexpr int kGenerators = 2;
constexpr int kStashes = 3;
constexpr uint64_t kBufferBytes[kBuffers] = {8192, 8192, 8192, 81920};

// Where in a buffer a tensor lies, for any numbers.
struct Place {
  int buffer;
  uint64_t offset;
  const Layout* layout;
};
Place PlaceIn(int buffer, int offset, const Layout* layout);

struct MirrorGenerator {
  uint64_t seed = 0;
  uint64_t offset = 0;
};

struct Mirror {
  std::array<BytesPtr, kBuffers> buffers;
  std::array<MirrorGenerator, kGenerators> generators;
  std::array<uint64_t, kTrees> steps = {};
  std::array<Handle, kStashes> stash;
  Journal journal;
  bool senseless = false;  // the call that runs does what no body may
  uint64_t call = 0;

  // A handle is stale when the step that made its bytes is over.
  bool IsStale(const Handle& handle) const {
    if (!handle.is_tensor()) return false;
    const Bytes& bytes = *handle.bytes;
    return bytes.tree >= 0 && !bytes.kept && bytes.step != steps[bytes.tree];
  }
};

class ModelMachine {
 public:
  using V = Handle;
  ModelMachine(const Program& program, Mirror& mirror, int tree)
      : program_(program), mirror_(mirror), tree_(tree) {}

  // The whole of a function. What it stores is in stored() until the call is known to be good.
  std::vector<Handle> RunFunction(const FunctionPlan& function, std::vector<Handle>& inputs);
  bool failed() const { return failed_; }
  const std::map<int, Handle>& stored() const { return stored_; }

  void Note(Do) {}
  bool IsTensor(const V& value) const { return value.is_tensor(); }
  const Layout* LayoutOf(const V& value) const { return value.layout; }
  V View(const V& of, const Layout* layout, uint64_t offset) {
    return Handle::Tensor(of.bytes, of.at + offset, layout);
  }
  V Integer(int64_t value) { return Handle::Integer(value); }
  V Empty(const Layout* layout);
  V Unused(uint64_t) { return {}; }
  V Closure(int buffer, int offset, const Layout* layout);
  // Bodies may not depend on which inputs share bytes: a call where they would is not made.
  bool Overlap(const V& a, const V& b);

  void Mix(const V& target, const V& source, int by);
  void Bump(const V& target, int by);
  void Join(const V& target, const V& source, const V& more, int by);
  void Elements(const V& target, const V& source, int by);
  void Fill(const V& target, int byte);
  void Copy(const V& target, const V& source);
  void RawFill(const V& target, int byte) { Fill(target, byte); }
  void RawMix(const V& target, const V& source, int by) { Mix(target, source, by); }
  void RawCopy(const V& target, const V& source) { Copy(target, source); }
  void Fork(const V& target, const V& source, int by, int style);
  void Unjoined(int) {}
  void Random(int generator, const V& target, int count);
  void Sync() {}
  void HostSees(const V& target, const V& source);
  void ScratchFill(int) {}
  void Scratch(const V& target, const V& source, int bytes, int by);
  void ForeignTemp(const V& target, const V& source, int bytes, int by);
  void Lasting(Do what, int place, const V& target, const V& source, int by);
  void Break(const FunctionPlan& function, const Statement& line,
             const std::vector<std::pair<V*, Access>>& given, const std::vector<int64_t>& integers);
  void KeepAlive(const V& target);
  void WarmUpAgain(const void*, int) {}
  void Nested(int function, const V& target, const V& source);
  void Stash(int place, const V& value) { stored_[place % kStashes] = value; }
  void Aligned(const V& target, const V& input, int alignment);
  void ScratchPart(const V& target, const V& source, int bytes, int by) {
    Scratch(target, source, bytes, by);
  }
  void Fail() { failed_ = true; }
  void Throw(int) { failed_ = true; }
  void Reenter(int) {}

 private:
  const Program& program_;
  Mirror& mirror_;
  const int tree_;
  bool failed_ = false;
  std::map<int, Handle> stored_;
};

// Functions of one tree, by their place among the program's; -1 if it has none.
int FunctionOf(const Program& program, int tree, int n);
// The integers that a body may look at; see BodyRun.
std::vector<int64_t> IntegersOf(const std::vector<Handle>& inputs);
// How large what lasts between calls is.
constexpr uint64_t LastingBytes(int place) { return 256 + 512 * static_cast<uint64_t>(place); }
constexpr int kLasting = 3;

}  // namespace graphtree::outsider

#endif  // GRAPHTREE_TESTS_OUTSIDER_MIRROR_H_
