// Streams and events of graphtree.h.
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/cuda/cuda_device.h"
#include "runtime/c/arguments.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"

using graphtree::c::DeviceObject;
using graphtree::c::Entry;
using graphtree::c::EventObject;
using graphtree::c::KernelObject;
using graphtree::c::NewObject;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::Within;

namespace graphtree::c {
namespace {

template <typename Make>
gt_error GiveStream(Entry& entry, gt_device device, gt_stream* out, const Make& make) {
  const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
  if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
  absl::StatusOr<std::unique_ptr<Stream>> stream = make(of->device());
  if (!stream.ok()) return entry.Return(stream.status());
  return entry.Give(NewObject<StreamObject>(of->opened(), *std::move(stream)), out);
}

// A function of one stream.
template <typename Do>
gt_error OnStream(const char* call, gt_stream stream, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    return entry.ok() ? entry.Return(act(on->stream())) : entry.Failed();
  });
}

template <typename Do>
gt_error OnStreamAndEvent(const char* call, gt_stream stream, gt_event event, const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    const Ref<EventObject> point = entry.Get<EventObject>(event, "event");
    return entry.ok() ? entry.Return(act(on->stream(), point->event())) : entry.Failed();
  });
}

gt_error GiveAnswer(Entry& entry, const absl::StatusOr<bool>& answer, int32_t* out) {
  if (!answer.ok()) return entry.Return(answer.status());
  *out = *answer ? 1 : 0;
  return nullptr;
}

}  // namespace
}  // namespace graphtree::c

gt_error gt_stream_new(gt_device device, gt_stream* out) noexcept {
  return Within("gt_stream_new", [&](Entry& entry) -> gt_error {
    return graphtree::c::GiveStream(entry, device, out,
                                    [](graphtree::Device& on) { return on.NewStream(); });
  });
}

gt_error gt_stream_adopt(gt_device device, void* native, gt_stream* out) noexcept {
  return Within("gt_stream_adopt", [&](Entry& entry) -> gt_error {
    return graphtree::c::GiveStream(
        entry, device, out, [native](graphtree::Device& on) { return on.AdoptStream(native); });
  });
}

gt_error gt_stream_native(gt_stream stream, void** out) noexcept {
  return Within("gt_stream_native", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::NativeStream> native = graphtree::NativeStreamOf(on->stream());
    if (!native.ok()) return entry.Return(native.status());
    *out = *native;
    return nullptr;
  });
}

gt_error gt_stream_launch(gt_stream stream, gt_kernel kernel, const gt_launch_shape* shape,
                          const gt_arg* args, size_t count) noexcept {
  return Within("gt_stream_launch", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    const Ref<KernelObject> what = entry.Get<KernelObject>(kernel, "kernel");
    graphtree::c::StreamArguments read;
    if (!entry.Has(shape, "shape") || !entry.ok() || !read.Read(args, count, &entry)) {
      return entry.Failed();
    }
    on->opened().Hold(what->kernel(), &entry);
    if (!entry.ok()) return entry.Failed();
    return entry.Return(
        on->stream().Launch(*what->kernel(), graphtree::c::ShapeOf(*shape), read.args()));
  });
}

gt_error gt_stream_copy(gt_stream stream, uint64_t target, uint64_t source,
                        uint64_t bytes) noexcept {
  return graphtree::c::OnStream("gt_stream_copy", stream, [&](graphtree::Stream& on) {
    return on.Copy(target, source, bytes);
  });
}

gt_error gt_stream_fill(gt_stream stream, uint64_t target, uint32_t value, uint32_t width,
                        uint64_t count) noexcept {
  return graphtree::c::OnStream("gt_stream_fill", stream, [&](graphtree::Stream& on) {
    return on.Fill(target, value, width, count);
  });
}

gt_error gt_stream_call_host(gt_stream stream, void (*function)(void*), void* context) noexcept {
  return Within("gt_stream_call_host", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.ok()) return entry.Failed();
    if (function == nullptr) {
      return entry.Return(absl::InvalidArgumentError("gt_stream_call_host: function is null"));
    }
    return entry.Return(on->stream().CallHost([function, context] { function(context); }));
  });
}

gt_error gt_stream_record(gt_stream stream, gt_event event) noexcept {
  return graphtree::c::OnStreamAndEvent(
      "gt_stream_record", stream, event,
      [](graphtree::Stream& on, graphtree::Event& point) { return on.Record(point); });
}

gt_error gt_stream_wait(gt_stream stream, gt_event event) noexcept {
  return graphtree::c::OnStreamAndEvent(
      "gt_stream_wait", stream, event,
      [](graphtree::Stream& on, graphtree::Event& point) { return on.Wait(point); });
}

gt_error gt_stream_is_done(gt_stream stream, int32_t* out) noexcept {
  return Within("gt_stream_is_done", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    return graphtree::c::GiveAnswer(entry, on->stream().IsDone(), out);
  });
}

gt_error gt_stream_synchronize(gt_stream stream) noexcept {
  return graphtree::c::OnStream("gt_stream_synchronize", stream,
                                [](graphtree::Stream& on) { return on.Synchronize(); });
}

gt_error gt_event_new(gt_device device, int32_t timing, gt_event* out) noexcept {
  return Within("gt_event_new", [&](Entry& entry) -> gt_error {
    const Ref<DeviceObject> of = entry.Get<DeviceObject>(device, "device");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<graphtree::Event>> event =
        of->device().NewEvent({.timing = timing != 0});
    if (!event.ok()) return entry.Return(event.status());
    return entry.Give(NewObject<EventObject>(of->opened(), *std::move(event)), out);
  });
}

gt_error gt_event_is_done(gt_event event, int32_t* out) noexcept {
  return Within("gt_event_is_done", [&](Entry& entry) -> gt_error {
    const Ref<EventObject> point = entry.Get<EventObject>(event, "event");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    return graphtree::c::GiveAnswer(entry, point->event().IsDone(), out);
  });
}

gt_error gt_event_synchronize(gt_event event) noexcept {
  return Within("gt_event_synchronize", [&](Entry& entry) -> gt_error {
    const Ref<EventObject> point = entry.Get<EventObject>(event, "event");
    return entry.ok() ? entry.Return(point->event().Synchronize()) : entry.Failed();
  });
}

gt_error gt_event_elapsed(gt_event start, gt_event end, double* nanoseconds) noexcept {
  return Within("gt_event_elapsed", [&](Entry& entry) -> gt_error {
    const Ref<EventObject> from = entry.Get<EventObject>(start, "start");
    const Ref<EventObject> to = entry.Get<EventObject>(end, "end");
    if (!entry.Sets(nanoseconds, "nanoseconds") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<double> took = to->event().NanosecondsSince(from->event());
    if (!took.ok()) return entry.Return(took.status());
    *nanoseconds = *took;
    return nullptr;
  });
}
