// A tree's memory in graphtree.h: budgets, parking, the pool, foreign code's blocks.
#include <string>
#include <utility>

#include "allocator/foreign.h"
#include "allocator/pool.h"
#include "device/base/status_macros.h"
#include "graphs/tree.h"
#include "runtime/c/entry.h"
#include "runtime/c/observer_object.h"
#include "runtime/c/stats_of.h"
#include "runtime/c/shared_bytes_object.h"
#include "runtime/c/tree_objects.h"

namespace graphtree::c {
namespace {

// Calls `act` with the pool while nobody calls the tree.
template <typename Act>
absl::Status InPool(Tree& tree, const Act& act) {
  absl::Status status;
  tree.Inspect([&] { status = act(tree.pool()); });
  return status;
}

absl::Status Park(Pool& pool, gt_contents contents) {
  GRAPHTREE_RETURN_IF_ERROR(pool.FreeQueued());
  GRAPHTREE_RETURN_IF_ERROR(pool.streams().Wait());
  return pool.parking().Park(contents == GT_KEEP ? ParkContents::kToHost : ParkContents::kDrop);
}

// A function of one tree.
template <typename Do>
gt_error OnTree(const char* call, gt_tree tree, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    return entry.ok() ? entry.Return(act(of->tree())) : entry.Failed();
  });
}

}  // namespace
}  // namespace graphtree::c

using graphtree::Pool;
using graphtree::Tree;
using graphtree::c::Entry;
using graphtree::c::OnTree;
using graphtree::c::OrEnd;
using graphtree::c::Ref;
using graphtree::c::SharedBytesObject;
using graphtree::c::TreeObject;
using graphtree::c::Within;

gt_error gt_budget_new(uint64_t nodes, uint64_t executables, uint64_t executable_bytes,
                       gt_budget* out) noexcept {
  return Within("gt_budget_new", [&](Entry& entry) -> gt_error {
    if (!entry.Sets(out, "out")) return entry.Failed();
    std::shared_ptr<graphtree::SharedBudget> made;
    entry.Own([&] {
      made = std::make_shared<graphtree::SharedBudget>(
          graphtree::Share{nodes, executables, executable_bytes});
    });
    if (!entry.ok()) return entry.Failed();
    return entry.Give(graphtree::c::NewObject<graphtree::c::BudgetObject>(std::move(made)), out);
  });
}

gt_error gt_shared_bytes_new(uint64_t limit, gt_shared_bytes* out) noexcept {
  return Within("gt_shared_bytes_new", [&](Entry& entry) -> gt_error {
    if (!entry.Sets(out, "out")) return entry.Failed();
    return entry.Give(graphtree::c::NewObject<SharedBytesObject>(limit), out);
  });
}

gt_error gt_shared_bytes_look(gt_shared_bytes shared, uint64_t* limit, uint64_t* taken) noexcept {
  return Within("gt_shared_bytes_look", [&](Entry& entry) -> gt_error {
    const Ref<SharedBytesObject> of = entry.Get<SharedBytesObject>(shared, "shared");
    if (!entry.Sets(limit, "limit") || !entry.Sets(taken, "taken") || !entry.ok()) {
      return entry.Failed();
    }
    *limit = of->bytes()->limit();
    *taken = of->bytes()->taken();
    return nullptr;
  });
}

gt_error gt_tree_give_up(gt_tree tree, uint64_t nodes, uint64_t executables,
                         uint64_t executable_bytes) noexcept {
  return OnTree("gt_tree_give_up", tree, [&](Tree& of) {
    of.GiveUp({nodes, executables, executable_bytes});
    return absl::OkStatus();
  });
}

gt_error gt_tree_give_memory(gt_tree tree, uint64_t bytes, const char* for_whom,
                             uint64_t* unmapped) noexcept {
  return OnTree("gt_tree_give_memory", tree, [&](Tree& of) {
    const uint64_t given =
        of.GiveMemory(bytes, std::string(graphtree::c::WordOf(for_whom)));
    if (unmapped != nullptr) *unmapped = given;
    return absl::OkStatus();
  });
}

gt_error gt_function_end_pause(gt_function function) noexcept {
  return Within("gt_function_end_pause", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<graphtree::c::FunctionObject>(function, "function");
    if (!entry.ok()) return entry.Failed();
    of->tree().EndPause(of->id());
    return nullptr;
  });
}

gt_error gt_tree_park(gt_tree tree, gt_contents contents) noexcept {
  return OnTree("gt_tree_park", tree, [&](Tree& of) -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(graphtree::c::CheckEnum("contents", contents, GT_KEEP));
    GRAPHTREE_RETURN_IF_ERROR(graphtree::c::CheckNotToldBy(of, "a tree is parked"));
    return graphtree::c::InPool(
        of, [&](Pool& pool) { return graphtree::c::Park(pool, contents); });
  });
}

gt_error gt_tree_wake(gt_tree tree) noexcept {
  return OnTree("gt_tree_wake", tree, [](Tree& of) -> absl::Status {
    GRAPHTREE_RETURN_IF_ERROR(graphtree::c::CheckNotToldBy(of, "a tree is woken"));
    return graphtree::c::InPool(of, [](Pool& pool) { return pool.parking().Wake(); });
  });
}

gt_error gt_tree_pool_look(gt_tree tree, gt_pool_stats* out) noexcept {
  return OnTree("gt_tree_pool_look", tree, [&](Tree& of) {
    graphtree::PoolStats stats;
    of.Inspect([&] { stats = of.pool().Stats(); });
    return graphtree::c::WriteFigures(graphtree::c::StatsOf(stats), "gt_pool_stats", out);
  });
}

gt_error gt_tree_trim(gt_tree tree, uint64_t goal_bytes, uint64_t* released) noexcept {
  return OnTree("gt_tree_trim", tree, [&](Tree& of) {
    return graphtree::c::InPool(of, [&](Pool& pool) {
      const absl::StatusOr<uint64_t> went = pool.memory().Trim(goal_bytes);
      if (went.ok() && released != nullptr) *released = *went;
      return went.status();
    });
  });
}

gt_error gt_tree_set_limit(gt_tree tree, uint64_t bytes) noexcept {
  return OnTree("gt_tree_set_limit", tree, [&](Tree& of) {
    return graphtree::c::InPool(of, [&](Pool& pool) { return pool.memory().SetLimit(bytes); });
  });
}

gt_error gt_foreign_allocate(gt_tree tree, uint64_t bytes, void* native,
                             uint64_t* address) noexcept {
  return Within("gt_foreign_allocate", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (!entry.Sets(address, "address") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::Address> block =
        of->tree().foreign_allocator().Allocate(bytes, native);
    if (!block.ok()) return entry.Return(block.status());
    *address = *block;
    return nullptr;
  });
}

gt_error gt_foreign_give_back(gt_tree tree, uint64_t address, void* native) noexcept {
  return OnTree("gt_foreign_give_back", tree, [&](Tree& of) {
    return of.foreign_allocator().Free(graphtree::Address{address}, native);
  });
}

gt_error gt_foreign_use_on(gt_tree tree, uint64_t address, void* native) noexcept {
  return OnTree("gt_foreign_use_on", tree, [&](Tree& of) {
    return of.foreign_allocator().UseOn(graphtree::Address{address}, native);
  });
}

gt_error gt_foreign_install(int32_t device, gt_tree tree) noexcept {
  return Within("gt_foreign_install", [&](Entry& entry) -> gt_error {
    if (tree == nullptr) {
      return entry.Return(graphtree::ForeignAllocator::Install(device, nullptr));
    }
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (!entry.ok()) return entry.Failed();
    of->NoteInstalled(device);
    return entry.Return(
        graphtree::ForeignAllocator::Install(device, &of->tree().foreign_allocator()));
  });
}

void* gt_foreign_malloc(int64_t bytes, int device, void* native) noexcept {
  return OrEnd("gt_foreign_malloc", [&] {
    return graphtree_foreign_malloc(bytes, device, native);
  });
}

void gt_foreign_free(void* address, int64_t bytes, int device, void* native) noexcept {
  graphtree::c::ActOrEnd("gt_foreign_free", [&] {
    graphtree_foreign_free(address, bytes, device, native);
  });
}

void gt_foreign_record_stream(void* address, int device, void* native) noexcept {
  graphtree::c::ActOrEnd("gt_foreign_record_stream", [&] {
    graphtree_foreign_record_stream(address, device, native);
  });
}
