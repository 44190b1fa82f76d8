// A function that comes in many shapes, each a chain of small kernels; and beside it the same
// chains by bare calls, which on the host device are its own.
//
//   shape i    x_i -> out = x_i + x_i; out += 1; out += 2; ...      kernels in all
//
// x_i has 256 x (i + 1) words. It is a static input, so both sides run the same kernels.
//
// Or in shapes of one size, that differ in so many kernels, by what those add.
#ifndef GRAPHTREE_TESTS_BARE_SHAPES_WORLD_H_
#define GRAPHTREE_TESTS_BARE_SHAPES_WORLD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bare_graph.h"
#include "tests/bare/bare_new.h"
#include "tools/demo_model/device_block.h"

namespace graphtree {

class ShapesWorld {
 public:
  // `differ`: the shapes are of one size and differ in so many kernels.
  static absl::StatusOr<std::unique_ptr<ShapesWorld>> Make(
      const std::string& device, uint32_t shapes, uint32_t kernels,
      std::optional<uint32_t> differ = std::nullopt);
  ~ShapesWorld();

  // A fresh tree.
  absl::Status OpenTree(const TreeBudget& budget);
  // A step with one call of the shape.
  absl::Status Call(uint32_t shape);
  absl::Status Drain();
  // The tree and all that was made bare go.
  void Forget();
  TreeStats stats() { return tree_->stats(); }

  // One eager run of the shape, then capture, instantiate and launch.
  absl::Status MeetBare(uint32_t shape);
  // The same without the eager run.
  absl::Status RecordBare(uint32_t shape);
  // What was made bare goes; the tree stays.
  void ForgetBare();
  // The executable that was made last goes; the graph of the `met`-th MeetBare or RecordBare since
  // Forget is instantiated again, and launched.
  absl::Status BackBare(size_t met);

 private:
  struct Chain {
    const Layout* layout = nullptr;
    Address in = 0;
    Address out = 0;
    uint32_t count = 0;
    LaunchShape shape;
    std::vector<uint32_t> by;        // what each kernel adds
    std::vector<BareLaunch> bare;    // refers to the above
  };
  struct Met {
    std::unique_ptr<Graph> graph;
    std::unique_ptr<Executable> executable;
  };

  ShapesWorld() = default;
  absl::Status SetUp(const std::string& device, uint32_t shapes, uint32_t kernels,
                     std::optional<uint32_t> differ);
  // Of `sizes` x 256 words. Its first `differ` kernels add `more` more than those of others.
  void AddChain(uint32_t sizes, uint32_t kernels, uint32_t differ, uint32_t more, Address in,
                Address out);
  absl::Status LaunchAll(const Chain& chain);
  absl::Status LaunchOnHost(Met* met);

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<demo::DeviceBlock> block_;
  std::vector<std::unique_ptr<Chain>> chains_;
  std::unique_ptr<Tree> tree_;
  FunctionId function_ = 0;
  Values outputs_;
  std::unique_ptr<BareNew> bare_;  // on CUDA
  std::vector<Met> met_;           // on the host
  size_t last_met_ = 0;
};

}  // namespace graphtree

#endif  // GRAPHTREE_TESTS_BARE_SHAPES_WORLD_H_
