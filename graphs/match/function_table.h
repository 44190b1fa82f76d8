// The functions of a tree, by id. Ids count up and none is given twice, so that an id of a function
// that was unregistered is never another one's.
//
//   Add --> registered --Retire--> leaving --Left--> gone
//                      --Leave---> leaving --Left--> registered
//
// A function that leaves is not recorded any more, and its recordings go as soon as the path does
// not need them: the tree asks for who is leaving whenever a path ends. What stays of one that has
// gone is a word here and its name with the step history.
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
  // Null if there is none of that id, or none any more.
  Function* Find(FunctionId id) const {
    if (id >= functions_.size()) return nullptr;
    Function* function = functions_[id].get();
    return function != nullptr && !function->is_retired ? function : nullptr;
  }
  bool WasRegistered(FunctionId id) const { return id < functions_.size(); }
  std::vector<Function*> Registered() const;
  // Ids ever given.
  size_t ids() const { return functions_.size(); }

  // REQUIRES: it is registered.
  void Retire(Function* function);
  void Leave(Function* function);
  const std::vector<Function*>& leaving() const { return leaving_; }
  // Nothing refers to it or its variants; destroyed if it was retired.
  void Left(Function* function);

 private:
  std::vector<std::unique_ptr<Function>> functions_;  // null where one has gone
  std::vector<Function*> leaving_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_MATCH_FUNCTION_TABLE_H_
