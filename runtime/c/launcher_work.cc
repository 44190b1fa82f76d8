// Launchers of graphtree.h: events, random numbers, workspaces, opaque work, forks.
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/cuda_device.h"
#include "runtime/c/launcher_object.h"
#include "runtime/c/tree_objects.h"

using graphtree::Tensor;
using graphtree::c::EventObject;
using graphtree::c::GeneratorObject;
using graphtree::c::LauncherEntry;
using graphtree::c::OrEnd;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::WorkspaceObject;

gt_error gt_launcher_set_event(gt_launcher on, gt_event event) noexcept {
  return OrEnd("gt_launcher_set_event", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_set_event", on);
    const Ref<EventObject> point = entry.entry().Get<EventObject>(event, "event");
    if (entry) entry->SetEvent(point->event());
    return entry.Done();
  });
}

gt_error gt_launcher_random(gt_launcher on, gt_generator generator, uint64_t count,
                            gt_random_state* out) noexcept {
  static_assert(sizeof(gt_random_state) == sizeof(graphtree::RandomState));
  return OrEnd("gt_launcher_random", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_random", on);
    const Ref<GeneratorObject> from = entry.entry().Get<GeneratorObject>(generator, "generator");
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::RandomState state = entry->Random(from->generator(), count);
    *out = {state.words, state.seed, state.offset};
    return entry.Done();
  });
}

gt_error gt_launcher_workspace(gt_launcher on, gt_workspace workspace, gt_range* out) noexcept {
  return OrEnd("gt_launcher_workspace", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_workspace", on);
    const Ref<WorkspaceObject> of = entry.entry().Get<WorkspaceObject>(workspace, "workspace");
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::AddressRange range = entry->Workspace(of->id());
    *out = {range.base, range.bytes};
    return entry.Done();
  });
}

gt_error gt_launcher_warm_up_again(gt_launcher on, const char* why) noexcept {
  return OrEnd("gt_launcher_warm_up_again", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_warm_up_again", on);
    if (entry) entry->WarmUpAgain(std::string(graphtree::c::WordOf(why)));
    return entry.Done();
  });
}

gt_error gt_launcher_keep_alive(gt_launcher on, void* object,
                                void (*destroy)(void* object)) noexcept {
  return OrEnd("gt_launcher_keep_alive", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_keep_alive", on);
    const auto held = graphtree::c::HoldContext(object, destroy, &entry.entry());
    if (entry) entry->KeepAlive(held);
    return entry.Done();
  });
}

gt_error gt_launcher_reads(gt_launcher on, const gt_value* tensor) noexcept {
  return OrEnd("gt_launcher_reads", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_reads", on);
    const Tensor read = entry.TensorAt(tensor, "tensor");
    if (entry) entry->Reads(read);
    return entry.Done();
  });
}

gt_error gt_launcher_writes(gt_launcher on, const gt_value* tensor) noexcept {
  return OrEnd("gt_launcher_writes", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_writes", on);
    const Tensor written = entry.TensorAt(tensor, "tensor");
    if (entry) entry->Writes(written);
    return entry.Done();
  });
}

gt_error gt_launcher_stream(gt_launcher on, gt_stream* out) noexcept {
  return OrEnd("gt_launcher_stream", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_stream", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const graphtree::c::Handle handle = graphtree::c::Publish(
        graphtree::c::NewObject<StreamObject>(entry.object().opened(), entry->stream()));
    if (handle == 0) {
      entry.entry().Fail(graphtree::c::Entry::NoHandle());
    } else if (entry.object().Own(handle)) {
      *out = graphtree::c::AsPointer<gt_stream>(handle);
    } else {
      entry.entry().Fail(graphtree::c::Entry::NoHandle());
    }
    return entry.Done();
  });
}

gt_error gt_launcher_native_stream(gt_launcher on, void** out) noexcept {
  return OrEnd("gt_launcher_native_stream", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_native_stream", on);
    if (!entry.Sets(out, "out")) return entry.Done();
    const absl::StatusOr<graphtree::NativeStream> native =
        graphtree::NativeStreamOf(entry->stream());
    entry.entry().Fail(native.status());
    if (native.ok()) *out = *native;
    return entry.Done();
  });
}

gt_error gt_launcher_fork(gt_launcher on, gt_stream side) noexcept {
  return OrEnd("gt_launcher_fork", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_fork", on);
    const Ref<StreamObject> to = entry.entry().Get<StreamObject>(side, "side");
    if (entry) entry->Fork(to->stream());
    return entry.Done();
  });
}

gt_error gt_launcher_join_forks(gt_launcher on) noexcept {
  return OrEnd("gt_launcher_join_forks", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_join_forks", on);
    if (entry) entry->JoinForks();
    return entry.Done();
  });
}

gt_error gt_launcher_used_on(gt_launcher on, const gt_value* tensor, gt_stream side) noexcept {
  return OrEnd("gt_launcher_used_on", [&]() -> gt_error {
    LauncherEntry entry("gt_launcher_used_on", on);
    const Ref<StreamObject> to = entry.entry().Get<StreamObject>(side, "side");
    const Tensor used = entry.TensorAt(tensor, "tensor");
    if (entry) entry->UsedOn(used, to->stream());
    return entry.Done();
  });
}
