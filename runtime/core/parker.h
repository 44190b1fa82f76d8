// Parks what has a tag, and wakes it (parking.h).
//
//   Park    takes the lanes ---- awaits their work ---- pools ---- slots ---- memory
//   Wake    takes the lanes ---- makes room ----------- pools ---- slots ---- memory ---- checks
//
// Then it gives the lanes back. A lane is taken as a step takes it, so a step and a park refuse
// each other, and what is of a lane is the thread's that has it. Lanes are taken if a program there
// has the tag, or needs it.
//
// A park that fails wakes what it has parked. If that fails, too, the tag is parked, in part, and
// says so; a wake that fails goes on where it was when it is called again.
//
// Threads: any. Programs are not added or removed meanwhile.
#ifndef GRAPHTREE_RUNTIME_CORE_PARKER_H_
#define GRAPHTREE_RUNTIME_CORE_PARKER_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "device/address.h"
#include "runtime/core/lanes.h"
#include "runtime/core/parked_pool.h"
#include "runtime/core/program_state.h"
#include "runtime/core/programs.h"
#include "runtime/park/parkable_memory.h"
#include "runtime/parking.h"
#include "runtime/program.h"
#include "runtime/runtime_options.h"
#include "runtime/watch/tag_watch.h"
#include "runtime/watch/watch.h"

namespace graphtree {

class Parker {
 public:
  // All of them outlive it.
  Parker(Lanes& lanes, const Programs& programs, Watch& watch, const RuntimeOptions& options)
      : lanes_(lanes), programs_(programs), watch_(watch), options_(options) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  absl::Status Park(absl::string_view tag, Contents contents);
  absl::Status Wake(absl::string_view tag);
  absl::StatusOr<AddressRange> AddMemory(const MemoryOptions& options);
  absl::Status RemoveMemory(absl::string_view name);
  // An error if no program with this tag may lie in the lane, or if it is parked.
  absl::Status CheckProgram(const ProgramOptions& options) const;
  // For the runtime's end, as Programs::LeaveBehind. REQUIRES: the trees are closed.
  void LeaveBehind();

 private:
  struct TaggedMemory {
    uint32_t device = 0;
    std::optional<Contents> contents;
    std::unique_ptr<ParkableMemory> memory;
  };
  struct Tag {
    std::shared_ptr<TagWatch> watch;
    std::vector<TaggedMemory> memory = {};
    bool is_parked = false;
    Contents contents = Contents::kDrop;
    std::vector<ParkedPool> pools = {};  // of the lanes that were parked
    absl::Status damage = absl::OkStatus();  // what came back wrong
  };
  // The lanes of a tag, for as long as they are needed.
  class Taken;
  using Tags = std::map<std::string, Tag, std::less<>>;

  // The tag; an error that lists those there are if nothing has it.
  absl::StatusOr<Tag*> Find(absl::string_view tag);
  Tag& Make(absl::string_view tag);
  bool IsUsed(absl::string_view tag) const;
  // A tag that nothing has or needs any more goes, with what was counted of it.
  void ForgetIfUnused(const std::string& tag);
  absl::Status CheckNotInBody(absl::string_view tag, absl::string_view what) const;
  absl::Status CheckAllSayThatTheyNeed(absl::string_view name, const Tag& tag) const;
  static absl::Status AwaitTree(Tree& tree);
  absl::Status CheckMayPark(absl::string_view name, const Tag& tag, const Taken& taken) const;
  absl::Status ParkAll(Tag& tag, const Taken& taken);
  absl::Status WakeAll(Tag& tag, const Taken& taken);
  absl::Status WakePool(ParkedPool& pool);
  static absl::Status CheckAll(Tag& tag, const Taken& taken);
  // What came back wrong is given up.
  static absl::Status GiveUpContents(Tag& tag, const Taken& taken);
  static void SetParked(const std::string& name, Tag& tag, const Taken& taken, bool is_parked);
  static void TellWatch(Tag& tag, const Taken& taken);

  Lanes& lanes_;
  const Programs& programs_;
  Watch& watch_;
  const RuntimeOptions& options_;
  mutable std::mutex mutex_;
  Tags tags_;  // guarded by mutex_
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PARKER_H_
