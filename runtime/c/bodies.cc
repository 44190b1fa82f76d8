// Each body is a closure over its context.
#include "runtime/c/bodies.h"

#include <utility>
#include <vector>

#include "runtime/c/launcher_object.h"

namespace graphtree::c {

Body BodyOf(gt_body body, SharedContext context, std::weak_ptr<OpenedDevice> opened) {
  return [body, context = std::move(context), opened = std::move(opened)](Launcher& on,
                                                                          Values& inputs) {
    const BodyGiven given = {.inputs = &inputs};
    return RunCallback(on, opened.lock(), given, [&](LauncherObject&, gt_launcher handle) {
      return body(context->get(), handle);
    });
  };
}

EagerPart PartOf(gt_part part, SharedContext context, std::weak_ptr<OpenedDevice> opened) {
  return [part, context = std::move(context), opened = std::move(opened)](
             Launcher& on, absl::Span<const Tensor> tensors) {
    std::vector<gt_value> values(tensors.size());
    RunCallback(on, opened.lock(), {}, [&](LauncherObject& object, gt_launcher handle) {
      for (size_t i = 0; i < tensors.size(); ++i) object.Give(Value(tensors[i]), &values[i]);
      return part(context->get(), handle, values.data(), values.size());
    });
  };
}

}  // namespace graphtree::c
