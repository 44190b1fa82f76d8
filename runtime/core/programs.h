// A runtime's programs, by the ids that their callers have.
//
//   id     0          1             2
//        decode    (removed)     prefill      an id is given once; a name may come again
//
// Thread rule: like a container.
#ifndef GRAPHTREE_RUNTIME_CORE_PROGRAMS_H_
#define GRAPHTREE_RUNTIME_CORE_PROGRAMS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/core/program_state.h"
#include "runtime/program.h"

namespace graphtree {

class Programs {
 public:
  // `runtime` is in every id, so that one of another runtime is told from one of this.
  explicit Programs(uint32_t runtime) : runtime_(runtime) {}
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  // An error that says why there is none.
  absl::StatusOr<ProgramState*> Find(ProgramId id) const;
  // An error if a program has that name.
  absl::Status CheckName(absl::string_view name) const;
  // An error, with its name, if another program lies in this one's lane.
  absl::Status CheckAlone(const ProgramState& program) const;
  ProgramId Add(std::unique_ptr<ProgramState> program);
  // Takes a program that is there out: nobody finds it any more, also who is called while it leaves
  // its tree. PutBack is for one that could not leave.
  std::unique_ptr<ProgramState> Take(ProgramId id) { return std::move(rows_[id.index].program); }
  void PutBack(ProgramId id, std::unique_ptr<ProgramState> program) {
    rows_[id.index].program = std::move(program);
  }
  // Calls with each program's id, and the program.
  template <typename Call>
  void ForEach(const Call& call) const {
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].program != nullptr) call(ProgramId{runtime_, i}, *rows_[i].program);
    }
  }

  // For the runtime's end. While a capture is open nobody may wait, nor unmap memory: what programs
  // have on such a device is left for later. REQUIRES: the trees are closed.
  void LeaveBehind();

 private:
  struct Row {
    std::string name;
    std::unique_ptr<ProgramState> program;  // null: removed
  };

  const uint32_t runtime_;
  std::vector<Row> rows_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_CORE_PROGRAMS_H_
