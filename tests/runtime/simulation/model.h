// What a program of a script holds and computes, on host memory. The model knows slots, keys and
// what was declared; it knows no recordings but for what a server can tell of them: which shapes
// are there, and what Record and the reasons of steps have said of each.
//
//   Begin   which of the choices that are possible (naive_shapes.h)
//   Run     slots of the key, padded  ->  outputs, the program's log and sum
//
// Where budgets are small or device calls fail the model does not know what became of a shape: then
// it has a set of possible reasons, and any of them is right.
#ifndef GRAPHTREE_TESTS_RUNTIME_SIMULATION_MODEL_H_
#define GRAPHTREE_TESTS_RUNTIME_SIMULATION_MODEL_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/shapes/key.h"
#include "runtime/shapes/mode.h"
#include "runtime/shapes/shape_table.h"
#include "runtime/slots/naive_unpack.h"
#include "runtime/why.h"
#include "tests/runtime/simulation/script.h"

namespace graphtree::runtime_simulation {

constexpr uint32_t kDepWords = 16;
constexpr uint32_t kSumWords = 16;
constexpr uint32_t kPartWords = 8;
constexpr uint32_t kLeastRoom = 4;  // words of a workspace for each lane

using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

// What a body computes from a key.
uint64_t HashOf(const Key& key);
uint32_t PatternWordsOf(const Key& key);
// How many bytes of a slot its front has.
uint64_t FrontBytes(const SlotSpec& slot, const Key& key);
// How many words of each of its workspaces the body needs, and how much room one that grows gets.
uint32_t NeedOf(const Key& key);
uint32_t RoomFor(uint32_t words);
// Behind so many of its ops the body reads no slot any more: more than it has where it returns one.
size_t OpsThatReadSlots(const ProgramSpec& spec);
// Whether the dependency is a workspace, and its number as such.
inline bool IsWorkspace(uint32_t dep) { return dep >= kDeps; }
inline uint32_t WorkspaceOf(uint32_t dep) { return dep - kDeps; }
// An op that names a slot or a dependency where the program has none does something else.
Op Resolved(const ProgramSpec& spec, Op op);

struct ShapeModel {
  Key key;
  Mode mode = Mode::kFull;
  bool is_excluded = false;
  bool is_warm = false;
  bool is_recorded = false;
  bool is_waiting = false;                 // recorded, and not committed yet
  std::vector<uint64_t> generations = {};  // of the program's dependencies, when it was recorded
  bool is_unsure = false;                  // what becomes of it next is not known
  std::vector<Why> usable = {};            // any of them, each once

  // Any of these as well.
  void MayBe(std::initializer_list<Why> whys);
};

enum class Verdict : uint8_t { kPossible, kImpossible, kNotLooked };

struct Effects {
  std::vector<Bytes> outputs;
  uint64_t log = 0;
  Words sum;
};

class ProgramModel {
 public:
  ProgramModel(const ProgramSpec& spec, bool records_while_serving);

  const ProgramSpec& spec() const { return spec_; }
  std::vector<Bytes>& slots() { return slots_; }
  std::vector<ShapeModel>& shapes() { return shapes_; }
  uint64_t slot_bytes() const;
  // As they are when the program was added.
  void ResetSlots();

  // Whether AddShapes has to take them.
  bool MayAdd(absl::Span<const Key> keys, Mode mode) const;
  void Add(absl::Span<const Key> keys, Mode mode);
  // False: it has no such shape.
  bool Exclude(const Key& key, bool excluded);

  // The shape was recorded: a commit may have to come before it serves. `is_sure`: there was
  // memory, and no device call failed.
  void NoteRecorded(ShapeModel* shape, bool is_sure);
  // The epoch of all recordings so far is committed.
  void Commit();

  // Whether the choice is one that is possible, unless that is too much to look at.
  Verdict MayChoose(const Key& call, Modes allowed, const Choice& choice) const;
  // By a choice's index.
  ShapeModel& ShapeAt(uint32_t index);
  // Whether the slots can hold the key.
  bool Fits(const Key& key) const;

  // The step brings this into the slots.
  void Unpack(const Key& padded, absl::Span<const NaiveStaged> staged);
  // What Record brings.
  void UnpackPadding(const Key& shape);
  // What the body makes of the slots as they are. `deps` by number; of workspaces the heads.
  Effects Compute(const Key& key, absl::Span<const Words> deps, uint64_t log,
                  const Words& sum) const;

 private:
  Bytes Shown(uint32_t slot, const Key& key) const;
  Bytes FrontOf(uint32_t slot, const Key& key) const;
  Bytes PaddedBy(uint32_t at, const Key& key, absl::Span<const Words> deps) const;

  const ProgramSpec& spec_;
  const bool records_while_serving_;
  std::vector<Bytes> slots_;  // whole
  std::vector<ShapeModel> shapes_;
};

}  // namespace graphtree::runtime_simulation

#endif  // GRAPHTREE_TESTS_RUNTIME_SIMULATION_MODEL_H_
