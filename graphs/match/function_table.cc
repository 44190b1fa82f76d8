// Adds functions, and takes those that leave out.
#include "graphs/match/function_table.h"

#include <algorithm>

#include "device/base/check.h"

namespace graphtree {

Function* FunctionTable::Add() {
  functions_.push_back(std::make_unique<Function>());
  functions_.back()->id = static_cast<FunctionId>(functions_.size() - 1);
  return functions_.back().get();
}

std::vector<Function*> FunctionTable::Registered() const {
  std::vector<Function*> registered;
  for (FunctionId id = 0; id < functions_.size(); ++id) {
    if (Function* function = Find(id)) registered.push_back(function);
  }
  return registered;
}

void FunctionTable::Retire(Function* function) {
  GRAPHTREE_CHECK(Find(function->id) == function) << "a function goes that is not there";
  function->is_retired = true;
  Leave(function);
}

void FunctionTable::Leave(Function* function) {
  if (std::find(leaving_.begin(), leaving_.end(), function) != leaving_.end()) return;
  leaving_.push_back(function);
}

void FunctionTable::Left(Function* function) {
  leaving_.erase(std::remove(leaving_.begin(), leaving_.end(), function), leaving_.end());
  if (function->is_retired) functions_[function->id] = nullptr;
}

}  // namespace graphtree
