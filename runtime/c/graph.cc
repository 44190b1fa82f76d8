// Captures, graphs and executables of graphtree.h.
#include "device/graph.h"

#include <memory>
#include <utility>

#include "graphs/reports/graph_export.h"
#include "runtime/c/arguments.h"
#include "runtime/c/device_objects.h"
#include "runtime/c/entry.h"
#include "runtime/c/texts.h"

namespace graphtree::c {
namespace {

class GraphObject : public Object {
 public:
  static constexpr Kind kKind = c::kGraph;
  GraphObject(std::shared_ptr<OpenedDevice> opened, std::unique_ptr<Graph> graph)
      : opened_(std::move(opened)), graph_(std::move(graph)) {}
  const std::shared_ptr<OpenedDevice>& opened() const { return opened_; }
  const Graph& graph() const { return *graph_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::unique_ptr<Graph> graph_;
};

class ExecutableObject : public Object {
 public:
  static constexpr Kind kKind = c::kExecutable;
  ExecutableObject(std::shared_ptr<OpenedDevice> opened, std::unique_ptr<Executable> executable)
      : opened_(std::move(opened)), executable_(std::move(executable)) {}
  OpenedDevice& opened() const { return *opened_; }
  Executable& executable() const { return *executable_; }

 private:
  const std::shared_ptr<OpenedDevice> opened_;
  const std::unique_ptr<Executable> executable_;
};

// A function of one executable and a stream.
template <typename Do>
gt_error OnExecutable(const char* call, gt_executable executable, gt_stream stream,
                      const Do& act) {
  return Within(call, [&](Entry& entry) -> gt_error {
    const Ref<ExecutableObject> of = entry.GetAlone<ExecutableObject>(executable, "executable");
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    return entry.ok() ? entry.Return(act(of->executable(), on->stream())) : entry.Failed();
  });
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::ExecutableObject;
using graphtree::c::GraphObject;
using graphtree::c::NewObject;
using graphtree::c::OnExecutable;
using graphtree::c::Ref;
using graphtree::c::StreamObject;
using graphtree::c::Within;

gt_error gt_stream_begin_capture(gt_stream stream, gt_capture_mode mode) noexcept {
  return Within("gt_stream_begin_capture", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    entry.Fail(graphtree::c::CheckEnum("mode", mode, GT_CAPTURE_RELAXED));
    if (!entry.ok()) return entry.Failed();
    return entry.Return(on->stream().BeginCapture(static_cast<graphtree::CaptureMode>(mode)));
  });
}

gt_error gt_stream_end_capture(gt_stream stream, gt_graph* out) noexcept {
  return Within("gt_stream_end_capture", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<graphtree::Graph>> graph = on->stream().EndCapture();
    if (!graph.ok()) return entry.Return(graph.status());
    return entry.Give(NewObject<GraphObject>(on->opened().shared_from_this(), *std::move(graph)),
                      out);
  });
}

gt_error gt_stream_record_external(gt_stream stream, gt_event event) noexcept {
  return Within("gt_stream_record_external", [&](Entry& entry) -> gt_error {
    const Ref<StreamObject> on = entry.Get<StreamObject>(stream, "stream");
    const auto point = entry.Get<graphtree::c::EventObject>(event, "event");
    return entry.ok() ? entry.Return(on->stream().RecordExternal(point->event())) : entry.Failed();
  });
}

gt_error gt_graph_describe(gt_graph graph, gt_ops_text form, size_t* count,
                           gt_text* text) noexcept {
  return Within("gt_graph_describe", [&](Entry& entry) -> gt_error {
    const Ref<GraphObject> of = entry.Get<GraphObject>(graph, "graph");
    entry.Fail(graphtree::c::CheckEnum("form", form, GT_OPS_GRAPHVIZ));
    if (text != nullptr) *text = nullptr;
    if (!entry.ok()) return entry.Failed();
    if (count != nullptr) *count = of->graph().op_count();
    if (text == nullptr) return nullptr;
    return graphtree::c::GiveText(entry,
                                  form == GT_OPS_JSON
                                      ? graphtree::OpsAsJson("graph", of->graph().ops())
                                      : graphtree::OpsAsGraphviz("graph", of->graph().ops()),
                                  text);
  });
}

gt_error gt_graph_instantiate(gt_graph graph, gt_executable* out) noexcept {
  return Within("gt_graph_instantiate", [&](Entry& entry) -> gt_error {
    const Ref<GraphObject> of = entry.Get<GraphObject>(graph, "graph");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<graphtree::Executable>> made = of->graph().Instantiate();
    if (!made.ok()) return entry.Return(made.status());
    return entry.Give(NewObject<ExecutableObject>(of->opened(), *std::move(made)), out);
  });
}

gt_error gt_executable_launch(gt_executable executable, gt_stream stream) noexcept {
  return OnExecutable(
      "gt_executable_launch", executable, stream,
      [](graphtree::Executable& of, graphtree::Stream& on) { return of.Launch(on); });
}

gt_error gt_executable_upload(gt_executable executable, gt_stream stream) noexcept {
  return OnExecutable(
      "gt_executable_upload", executable, stream,
      [](graphtree::Executable& of, graphtree::Stream& on) { return of.Upload(on); });
}

gt_error gt_executable_update(gt_executable executable, gt_graph graph,
                              gt_update_result* out) noexcept {
  return Within("gt_executable_update", [&](Entry& entry) -> gt_error {
    const Ref<ExecutableObject> of = entry.GetAlone<ExecutableObject>(executable, "executable");
    const Ref<GraphObject> to = entry.Get<GraphObject>(graph, "graph");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const absl::StatusOr<graphtree::UpdateResult> result = of->executable().Update(to->graph());
    if (!result.ok()) return entry.Return(result.status());
    *out = static_cast<gt_update_result>(*result);
    return nullptr;
  });
}

gt_error gt_executable_patch_kernel(gt_executable executable, uint32_t op, gt_kernel kernel,
                                    const gt_launch_shape* shape, const gt_arg* args,
                                    size_t count) noexcept {
  return Within("gt_executable_patch_kernel", [&](Entry& entry) -> gt_error {
    const Ref<ExecutableObject> of = entry.GetAlone<ExecutableObject>(executable, "executable");
    const auto what = entry.Get<graphtree::c::KernelObject>(kernel, "kernel");
    graphtree::c::StreamArguments read;
    if (!entry.Has(shape, "shape") || !entry.ok() || !read.Read(args, count, &entry)) {
      return entry.Failed();
    }
    of->opened().Hold(what->kernel(), &entry);
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->executable().PatchKernel(
        op, *what->kernel(), graphtree::c::ShapeOf(*shape), read.args()));
  });
}

gt_error gt_executable_patch_copy(gt_executable executable, uint32_t op, uint64_t target,
                                  uint64_t source, uint64_t bytes) noexcept {
  return Within("gt_executable_patch_copy", [&](Entry& entry) -> gt_error {
    const Ref<ExecutableObject> of = entry.GetAlone<ExecutableObject>(executable, "executable");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->executable().PatchCopy(op, {target, source, bytes}));
  });
}

gt_error gt_executable_patch_fill(gt_executable executable, uint32_t op, uint64_t target,
                                  uint32_t value, uint32_t width, uint64_t count) noexcept {
  return Within("gt_executable_patch_fill", [&](Entry& entry) -> gt_error {
    const Ref<ExecutableObject> of = entry.GetAlone<ExecutableObject>(executable, "executable");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->executable().PatchFill(op, {target, value, width, count}));
  });
}
