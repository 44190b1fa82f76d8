// The functions of a tree, by id. Ids count up and none is given twice, so that an id of a function
// that was unregistered is never another one's.
//
//   Add --> registered --Retire--> leaving --Left--> gone
//                      --Leave---> leaving --Left--> registered
//
// A function that leaves is not recorded any more, and its recordings go as soon as the path does
// not need them: whenever a path ends the tree asks which functions are leaving. Of a function that
// has gone a null pointer stays here, and its name in the step history.
//
// Thread rule: like a container. Cost: finding one is a look into an array.
#ifndef GRAPHTREE_GRAPHS_MATCH_FUNCTION_TABLE_H_
#define GRAPHTREE_GRAPHS_MATCH_FUNCTION_TABLE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "graphs/match/function.h"

namespace graphtree {

class FunctionTable {
 public:
  Function* Add();
  // Null if no function has this id, or if the one that had it was unregistered.
  Function* Find(FunctionId id) const {
    if (id >= functions_.size()) return nullptr;
    Function* function = functions_[id].get();
    return function != nullptr && !function->is_retired ? function : nullptr;
  }
  bool WasRegistered(FunctionId id) const { return id < functions_.size(); }
  std::vector<Function*> Registered() const;
  // How many ids were ever given.
  size_t ids() const { return functions_.size(); }

  // REQUIRES: the function is registered.
  void Retire(Function* function);
  void Leave(Function* function);
  const std::vector<Function*>& leaving() const { return leaving_; }
  // Destroys the function if it was retired. REQUIRES: nothing refers to it or its variants.
  void Left(Function* function);

 private:
  std::vector<std::unique_ptr<Function>> functions_;  // null where one has gone
  std::vector<Function*> leaving_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_FUNCTION_TABLE_H_
