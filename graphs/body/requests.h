// What one run of a body asks of the tree that runs it, beside its launches. The launcher collects
// it, and the tree reads it when the body has returned.
//
//   warm_up      the body is not settled yet (a tuner has more to try): warm up again at the next
//                call, before anything is recorded
//   keep_alive   objects that its launched work needs: a recording's node holds them for as long as
//                it may be replayed; those of any other run are let go when its work is done
//   workspaces   memory of libraries that it pointed kernels to
//   pads         not asked for, but counted on the way: what its pads came to
#ifndef GRAPHTREE_GRAPHS_BODY_REQUESTS_H_
#define GRAPHTREE_GRAPHS_BODY_REQUESTS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graphs/pad/room.h"
#include "graphs/workspaces.h"

namespace graphtree {

struct BodyRequests {
  std::string warm_up;  // why it asks; empty if it does not
  std::vector<std::shared_ptr<void>> keep_alive;
  std::vector<WorkspaceUse> workspaces;
  PadCounts pads;

  // Adds what an eager part asked for, but for workspaces: a part looks these up in every run.
  void AddOfPart(BodyRequests part) {
    if (warm_up.empty()) warm_up = std::move(part.warm_up);
    for (std::shared_ptr<void>& object : part.keep_alive) keep_alive.push_back(std::move(object));
    pads.Add(part.pads);
  }
};

}  // namespace graphtree

#endif  // GRAPHTREE_GRAPHS_BODY_REQUESTS_H_
