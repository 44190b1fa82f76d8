// Calls a function for every tensor that a body declares to write, before the op is launched.
#ifndef GRAPHTREE_GRAPHS_LISTEN_WRITE_LOG_H_
#define GRAPHTREE_GRAPHS_LISTEN_WRITE_LOG_H_

#include <functional>
#include <utility>

#include "graphs/launcher.h"
#include "graphs/listen/passing_observer.h"
#include "graphs/tensor.h"

namespace graphtree {

class WriteLog : public PassingObserver {
 public:
  using Sink = std::function<void(const Tensor&)>;

  WriteLog(AccessObserver* next, Sink sink) : PassingObserver(next), sink_(std::move(sink)) {}

  void Accessed(Access access, const Tensor& tensor, int argument) override {
    const bool writes = access == Access::kWrite || access == Access::kReadWrite;
    if (writes) sink_(tensor);
    PassingObserver::Accessed(access, tensor, argument);
  }

 private:
  const Sink sink_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_LISTEN_WRITE_LOG_H_
