// Runtimes of graphtree.h: making them, their modes, dependencies, commits and lanes.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/c/entry.h"
#include "runtime/c/keys.h"
#include "runtime/c/program_options_of.h"
#include "runtime/c/runtime_objects.h"
#include "runtime/runtime.h"

namespace graphtree::c {
namespace {

// A function of one runtime.
template <typename Do>
gt_error OnRuntime(const char* call, gt_runtime runtime, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    return entry.ok() ? entry.Return(act(of->runtime())) : entry.Failed();
  });
}

template <typename Declare>
gt_error GiveDependency(Entry& entry, gt_runtime runtime, const char* name, gt_dependency* out,
                        const Declare& declare) {
  const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
  entry.Has(name, "name");
  if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
  const absl::StatusOr<DepId> id = declare(of->runtime());
  if (!id.ok()) return entry.Return(id.status());
  return GiveRuntimesOwn(entry, NewObject<DependencyObject>(of->opened(), *id), out);
}

}  // namespace
}  // namespace graphtree::c

using graphtree::Runtime;
using graphtree::c::DependencyObject;
using graphtree::c::DeviceObject;
using graphtree::c::Entry;
using graphtree::c::NewObject;
using graphtree::c::OnRuntime;
using graphtree::c::Ref;
using graphtree::c::RuntimeObject;
using graphtree::c::Within;

gt_error gt_runtime_new(const gt_device* devices, size_t count, const gt_runtime_options* options,
                        gt_runtime* out) noexcept {
  return Within("gt_runtime_new", [&](Entry& entry) -> gt_error {
    gt_runtime_options read;
    entry.Read(options, "gt_runtime_options", &read);
    const auto context = graphtree::c::HoldContext(read.context, read.destroy, &entry);
    std::vector<graphtree::Device*> over;
    std::vector<std::shared_ptr<graphtree::c::OpenedDevice>> opened;
    if (entry.HasArray(devices, count, "devices") && entry.Own([&] { over.reserve(count); }) &&
        entry.Own([&] { opened.reserve(count); })) {
      for (size_t i = 0; i < count; ++i) {
        const Ref<DeviceObject> device = entry.Get<DeviceObject>(devices[i], "a device");
        if (!device) return entry.Failed();
        over.push_back(&device->device());
        opened.push_back(device->opened());
      }
    }
    graphtree::RuntimeOptions made;
    const auto read_all = [&] { made = graphtree::c::RuntimeOptionsOf(read, context, &entry); };
    if (entry.ok() && !entry.Own(read_all) && context != nullptr) context->EndNow();
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<Runtime>> runtime = Runtime::Create(over, made);
    if (!runtime.ok()) return entry.Return(runtime.status());
    std::shared_ptr<graphtree::c::OpenedRuntime> whole;
    entry.Own([&] {
      whole = std::make_shared<graphtree::c::OpenedRuntime>(std::move(opened),
                                                            *std::move(runtime));
    });
    if (!entry.ok()) return entry.Failed();
    return entry.Give(NewObject<RuntimeObject>(std::move(whole)), out);
  });
}

gt_error gt_runtime_set_serving(gt_runtime runtime, const gt_serving_mode* mode) noexcept {
  return Within("gt_runtime_set_serving", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    const graphtree::ServingMode read = graphtree::c::ServingOf(mode, &entry);
    return entry.ok() ? entry.Return(of->runtime().SetServing(read)) : entry.Failed();
  });
}

gt_error gt_runtime_serving(gt_runtime runtime, gt_serving_mode* out) noexcept {
  static constexpr gt_serving kServings[] = {GT_SERVE_OFF, GT_SERVE_SHADOW, GT_SERVE_REPLAY,
                                             GT_SERVE_STRICT};
  return OnRuntime("gt_runtime_serving", runtime, [&](Runtime& of) {
    const graphtree::ServingMode mode = of.serving();
    const gt_serving_mode found = {.size = sizeof(gt_serving_mode),
                                   .serving = kServings[static_cast<int>(mode.serving)],
                                   .parity_every = mode.parity_every,
                                   .tolerance_absolute = mode.tolerance.absolute,
                                   .tolerance_relative = mode.tolerance.relative};
    return graphtree::c::WriteFigures(found, "gt_serving_mode", out);
  });
}

gt_error gt_runtime_tree(gt_runtime runtime, uint32_t lane, uint32_t device,
                         gt_tree* out) noexcept {
  return Within("gt_runtime_tree", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    graphtree::Tree* const tree = of->runtime().tree(lane, device);
    if (tree == nullptr) {
      return entry.Return(absl::NotFoundError(
          absl::StrCat("no program lies in lane ", lane, " of device ", device)));
    }
    std::shared_ptr<graphtree::c::OpenedTree> opened;
    entry.Own([&] {
      opened = std::make_shared<graphtree::c::OpenedTree>(of->opened()->devices()[device], *tree,
                                                          of->opened());
    });
    if (!entry.ok()) return entry.Failed();
    gt_tree made = nullptr;
    const gt_error error =
        entry.Give(NewObject<graphtree::c::TreeObject>(std::move(opened)), &made);
    if (error != nullptr) return error;
    entry.Fail(of->opened()->belongings().Add(graphtree::c::HandleOf(made)));
    if (!entry.ok()) return entry.Failed();
    *out = made;
    return nullptr;
  });
}

gt_error gt_dependency_new(gt_runtime runtime, const char* name, gt_dependency* out) noexcept {
  return Within("gt_dependency_new", [&](Entry& entry) -> gt_error {
    return graphtree::c::GiveDependency(entry, runtime, name, out,
                                        [&](Runtime& of) { return of.DeclareDep(name); });
  });
}

gt_error gt_dependency_new_workspace(gt_runtime runtime, const char* name, gt_range memory,
                                     gt_dependency* out) noexcept {
  return Within("gt_dependency_new_workspace", [&](Entry& entry) -> gt_error {
    return graphtree::c::GiveDependency(entry, runtime, name, out, [&](Runtime& of) {
      return of.DeclareWorkspace(name, {memory.address, memory.bytes});
    });
  });
}

gt_error gt_dependency_touch(gt_dependency dependency) noexcept {
  return Within("gt_dependency_touch", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<DependencyObject>(dependency, "dependency");
    return entry.ok() ? entry.Return(of->runtime().Touch(of->id())) : entry.Failed();
  });
}

gt_error gt_dependency_move(gt_dependency dependency, gt_range memory) noexcept {
  return Within("gt_dependency_move", [&](Entry& entry) -> gt_error {
    const auto of = entry.Get<DependencyObject>(dependency, "dependency");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->runtime().MoveWorkspace(of->id(), {memory.address, memory.bytes}));
  });
}

gt_error gt_lane_history(gt_runtime runtime, uint32_t lane, uint32_t device, uint64_t* count,
                         uint64_t* digest) noexcept {
  return Within("gt_lane_history", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    entry.Sets(count, "count");
    if (!entry.Sets(digest, "digest") || !entry.ok()) return entry.Failed();
    const graphtree::LaunchHistory& history = of->runtime().history(lane, device);
    *count = history.count();
    *digest = history.digest();
    return nullptr;
  });
}

gt_error gt_lane_cancel_step(gt_runtime runtime, uint32_t lane, uint32_t device,
                             int32_t* was_open) noexcept {
  return OnRuntime("gt_lane_cancel_step", runtime, [&](Runtime& of) {
    const bool was = of.CancelStep(lane, device);
    if (was_open != nullptr) *was_open = was ? 1 : 0;
    return absl::OkStatus();
  });
}

gt_error gt_runtime_epoch(gt_runtime runtime, uint64_t* out) noexcept {
  return Within("gt_runtime_epoch", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    *out = of->runtime().epoch();
    return nullptr;
  });
}

gt_error gt_runtime_uncommitted(gt_runtime runtime, gt_shape* shapes, size_t capacity,
                                size_t* count) noexcept {
  return Within("gt_runtime_uncommitted", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    entry.HasArray(shapes, capacity, "shapes");
    if (!entry.Sets(count, "count") || !entry.ok()) return entry.Failed();
    const std::vector<graphtree::UncommittedShape> found = of->runtime().Uncommitted();
    *count = found.size();
    for (size_t i = 0; i < std::min(capacity, found.size()); ++i) {
      const graphtree::c::Handle program = of->opened()->HandleOfProgram(found[i].program);
      shapes[i] = {graphtree::c::AsPointer<gt_program>(program), graphtree::c::KeyOf(found[i].key),
                   GT_FULL, 0};
    }
    return nullptr;
  });
}

gt_error gt_runtime_commit(gt_runtime runtime, uint64_t epoch) noexcept {
  return OnRuntime("gt_runtime_commit", runtime, [&](Runtime& of) { return of.Commit(epoch); });
}

gt_error gt_runtime_open_door(gt_runtime runtime, const char* path) noexcept {
  return Within("gt_runtime_open_door", [&](Entry& entry) -> gt_error {
    const Ref<RuntimeObject> of = entry.Get<RuntimeObject>(runtime, "runtime");
    if (!entry.Has(path, "path") || !entry.ok()) return entry.Failed();
    return entry.Return(of->runtime().OpenDoor(path));
  });
}

gt_error gt_runtime_close_door(gt_runtime runtime) noexcept {
  return OnRuntime("gt_runtime_close_door", runtime, [](Runtime& of) { return of.CloseDoor(); });
}
