// The graveyard holds recordings and executables that were evicted, and objects that the work of
// other runs needs, until they can be destroyed: the last launch must be over, and no capture may
// be open, since destroying a graph meanwhile can break the capture.
//
//   evicted --> waiting --event on the tree's last stream--> marked --event is done--> destroyed
//
// One event serves all: what is evicted while the event is under way waits for the next one.
//
// An executable may be taken out again before its end, to be updated to another graph: launches in
// flight stay as they are.
//
// The bodies of functions that were unregistered wait here, too, since queued work of their calls
// may use what they have captured. They are not destroyed but handed out (TakeBodies), as objects
// of theirs may call the tree at their end: that is for when nobody is in the tree any more.
//
// Threads: the tree's caller only.
#ifndef GRAPHTREE_GRAPHS_BUDGET_GRAVEYARD_H_
#define GRAPHTREE_GRAPHS_BUDGET_GRAVEYARD_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "graphs/function_options.h"
#include "graphs/recording/node.h"

namespace graphtree {

class Graveyard {
 public:
  explicit Graveyard(Device& device) : device_(device) {}
  Graveyard(const Graveyard&) = delete;
  Graveyard& operator=(const Graveyard&) = delete;

  void Add(std::unique_ptr<Node> node) { waiting_.nodes.push_back(std::move(node)); }
  void Add(std::unique_ptr<Executable> executable) {
    waiting_.executables.push_back(std::move(executable));
  }
  void Add(std::vector<std::shared_ptr<void>> objects) {
    for (std::shared_ptr<void>& object : objects) waiting_.objects.push_back(std::move(object));
  }
  void Add(Body body) { waiting_.bodies.push_back(std::move(body)); }
  // Takes the executable of so many ops out that was evicted last; null if there is none.
  std::unique_ptr<Executable> TakeExecutable(size_t ops);
  bool empty() const { return waiting_.empty() && marked_.empty() && done_.empty(); }
  size_t size() const { return waiting_.size() + marked_.size() + done_.size(); }

  // Destroys what may be destroyed by now. `last` is the stream with the tree's last work, or null.
  void Tidy(StreamLife* last);
  // REQUIRES: all work of the tree is over.
  void DestroyAll();
  // The bodies that no work needs any more.
  std::vector<Body> TakeBodies() { return std::exchange(done_, {}); }

 private:
  struct Plot {
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<std::unique_ptr<Executable>> executables;
    std::vector<std::shared_ptr<void>> objects;
    std::vector<Body> bodies;
    std::unique_ptr<Executable> TakeExecutable(size_t ops);
    bool empty() const { return size() == 0; }
    size_t size() const {
      return nodes.size() + executables.size() + objects.size() + bodies.size();
    }
  };

  bool Mark(StreamLife& last);
  void Destroy(Plot* plot);

  Device& device_;
  std::unique_ptr<Event> event_;
  Plot waiting_;
  Plot marked_;
  std::vector<Body> done_;
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BUDGET_GRAVEYARD_H_
