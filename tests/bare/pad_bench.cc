// What padding in place saves: a replay whose only op pads a tensor by a sixteenth of its bytes, in
// place, beside the same with a copy. Both wait until the device is done.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "device/base/status_macros.h"
#include "graphs/launcher.h"
#include "graphs/tree.h"
#include "graphs/tree_stats.h"
#include "tests/bare/bench_device.h"
#include "tools/benching/row.h"

namespace graphtree {
namespace {

using bench::Measurement;
using bench::Outcome;
using bench::Skipped;

// A tree with one function, which pads.
class Padder {
 public:
  static absl::StatusOr<std::unique_ptr<Padder>> Make(BenchDevice& on, int64_t floats,
                                                      uint64_t room) {
    std::unique_ptr<Padder> padder(new Padder(on));
    TreeOptions options;
    options.pool_bytes = uint64_t{2} << 30;
    options.pad_room_bytes = room;
    GRAPHTREE_ASSIGN_OR_RETURN(padder->tree_, Tree::Create(on.device(), options));
    padder->tree_->Register("pads", {}, [floats](Launcher& on, Values&) {
      return Values{on.Pad(on.Empty(DType::kF32, {floats}), {floats + floats / 16}, 0)};
    });
    for (int i = 0; i < 4; ++i) GRAPHTREE_RETURN_IF_ERROR(padder->Step());
    return padder;
  }
  absl::Status Step() {
    tree_->BeginStep();
    GRAPHTREE_RETURN_IF_ERROR(tree_->Run(0, {}, on_.stream(), &outputs_));
    return on_.stream().Synchronize();
  }
  TreeStats stats() { return tree_->stats(); }

 private:
  explicit Padder(BenchDevice& on) : on_(on) {}

  BenchDevice& on_;
  std::unique_ptr<Tree> tree_;
  Values outputs_;
};

Outcome InPlaceBesideCopy(const char* device, int64_t bytes) {
  BenchDevice on;
  if (absl::Status opened = on.Open(device, 4096); !opened.ok()) {
    return Skipped(std::string(opened.message()));
  }
  const int64_t floats = bytes / 4;
  GRAPHTREE_ASSIGN_OR_RETURN(const auto in_place, Padder::Make(on, floats, bytes));
  GRAPHTREE_ASSIGN_OR_RETURN(const auto copies, Padder::Make(on, floats, 0));
  bench::TimingOptions options;
  options.most_calls = 16;
  options.batches = 51;
  absl::Status status;
  const Measurement pair = bench::ComparePair([&] { status.Update(in_place->Step()); },
                                              [&] { status.Update(copies->Step()); }, options);
  if (!status.ok()) return status;
  if (in_place->stats().pads_in_place != 1 || copies->stats().pads_in_place != 0) {
    return absl::InternalError("a pad did not go the way that is measured");
  }
  return pair;
}

struct Size {
  absl::string_view name;
  int64_t bytes;
  const char* on_cuda;  // goals
  const char* on_host;
};

bool RegisterAll() {
  constexpr int64_t kMiB = 1 << 20;
  constexpr Size kSizes[] = {{"64KiB", 64 << 10, "ratio <= 1.1", "ratio <= 0.5"},
                             {"1MiB", kMiB, "ratio <= 1.1", "ratio <= 0.25"},
                             {"16MiB", 16 * kMiB, "ratio <= 0.7", "ratio <= 0.25"},
                             {"256MiB", 256 * kMiB, "ratio <= 0.25", ""}};
  for (const absl::string_view device : {"host", "cuda"}) {
    for (const Size& size : kSizes) {
      if (device == "host" && size.bytes > 16 * kMiB) continue;
      bench::RegisterRow({.name = absl::StrCat("runtime.pad.", device, ".", size.name),
                          .ours = absl::StrCat("padding ", size.name, " in place, until done"),
                          .against = "the same with a copy",
                          .goal = device == "host" ? size.on_host : size.on_cuda},
                         [device, bytes = size.bytes] {
                           return InPlaceBesideCopy(device.data(), bytes);
                         });
    }
  }
  return true;
}

[[maybe_unused]] const bool registered = RegisterAll();

}  // namespace
}  // namespace graphtree
