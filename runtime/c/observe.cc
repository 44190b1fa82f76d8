// Observers and scopes of graphtree.h: who is told what trees do, and how stretches of launches are
// called in what they are told.
#include <memory>
#include <utility>

#include "device/observer.h"
#include "graphs/scope.h"
#include "graphs/tree.h"
#include "runtime/c/entry.h"
#include "runtime/c/launcher_object.h"
#include "runtime/c/observer_object.h"
#include "runtime/c/tree_objects.h"

namespace graphtree::c {
namespace {

Wishes WishesOf(const gt_observe_options& options) {
  return {.graphs = options.no_graphs == 0,
          .replays = options.no_replays == 0,
          .replay_in = options.replay_in != 0 ? options.replay_in : 1,
          .ops = options.ops != 0,
          .phases = options.phases != 0};
}

gt_error GiveObserver(Entry& entry, std::shared_ptr<OpenedTree> opened,
                      std::unique_ptr<Watcher> watcher, gt_observer* out) {
  const bool is_trees = opened != nullptr;
  auto object = NewObject<ObserverObject>(std::move(opened), std::move(watcher));
  return is_trees ? GiveTreesOwn(entry, std::move(object), out)
                  : entry.Give(std::move(object), out);
}

absl::Status Pop(ScopeStack& scopes) {
  if (scopes.empty()) return absl::FailedPreconditionError("no scope is open that could end");
  scopes.Pop();
  return absl::OkStatus();
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::CallerContext;
using graphtree::c::Entry;
using graphtree::c::GiveObserver;
using graphtree::c::LauncherEntry;
using graphtree::c::ObserverObject;
using graphtree::c::OrEnd;
using graphtree::c::Ref;
using graphtree::c::TreeObject;
using graphtree::c::Watcher;
using graphtree::c::Within;

gt_error gt_tree_observe(gt_tree tree, void (*saw)(void* context, const gt_graph_event* event),
                         void* context, void (*destroy)(void* context),
                         gt_observer* out) noexcept {
  return Within("gt_tree_observe", [&](Entry& entry) -> gt_error {
    CallerContext held(context, destroy);
    const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
    if (saw == nullptr) entry.Fail(absl::InvalidArgumentError("gt_tree_observe: saw is null"));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    auto watcher = std::make_unique<Watcher>(graphtree::c::WatcherCalls{.saw_graph = saw},
                                             graphtree::Wishes{}, std::move(held));
    return GiveObserver(entry, of->opened(), std::move(watcher), out);
  });
}

gt_error gt_observe(gt_tree tree, const gt_observe_options* options,
                    void (*saw)(void* context, const gt_observed* event), void* context,
                    void (*destroy)(void* context), gt_observer* out) noexcept {
  return Within("gt_observe", [&](Entry& entry) -> gt_error {
    CallerContext held(context, destroy);
    gt_observe_options read;
    entry.Read(options, "gt_observe_options", &read);
    std::shared_ptr<graphtree::c::OpenedTree> opened;
    if (tree != nullptr) {
      const Ref<TreeObject> of = entry.Get<TreeObject>(tree, "tree");
      if (of) opened = of->opened();
    }
    if (saw == nullptr) entry.Fail(absl::InvalidArgumentError("gt_observe: saw is null"));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    auto watcher = std::make_unique<Watcher>(graphtree::c::WatcherCalls{.saw = saw},
                                             graphtree::c::WishesOf(read), std::move(held));
    return GiveObserver(entry, std::move(opened), std::move(watcher), out);
  });
}

gt_error gt_observer_end(gt_observer observer) noexcept {
  return Within("gt_observer_end", [&](Entry& entry) -> gt_error {
    const Ref<ObserverObject> of = entry.Get<ObserverObject>(observer, "observer");
    if (!entry.ok()) return entry.Failed();
    of->Leave();
    return nullptr;
  });
}

gt_error gt_tree_push_scope(gt_tree tree, const char* name) noexcept {
  return Within("gt_tree_push_scope", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
    if (!entry.Has(name, "name") || !entry.ok()) return entry.Failed();
    in->tree().scopes().Push(name);
    return nullptr;
  });
}

gt_error gt_tree_pop_scope(gt_tree tree) noexcept {
  return Within("gt_tree_pop_scope", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
    return entry.ok() ? entry.Return(graphtree::c::Pop(in->tree().scopes())) : entry.Failed();
  });
}

gt_error gt_launcher_push_scope(gt_launcher on, const char* name) noexcept {
  return OrEnd("gt_launcher_push_scope", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_push_scope", on);
    entry.entry().Has(name, "name");
    if (entry) entry->scopes().Push(name);
    return entry.Done();
  });
}

gt_error gt_launcher_pop_scope(gt_launcher on) noexcept {
  return OrEnd("gt_launcher_pop_scope", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_pop_scope", on);
    if (entry) entry.entry().Fail(graphtree::c::Pop(entry->scopes()));
    return entry.Done();
  });
}
