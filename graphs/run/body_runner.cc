// Calls the body through the guard that catches exceptions.
#include "graphs/run/body_runner.h"

#include "absl/strings/str_cat.h"
#include "device/base/guarded_call.h"
#include "graphs/history/stack_marks.h"

namespace graphtree {
namespace {

void CheckOutputs(const Function& function, const Values& outputs, Launcher* on) {
  if (outputs.size() > function.options.most_outputs) {
    on->Fail(absl::InvalidArgumentError(absl::StrCat("it returned ", outputs.size(),
                                                     " outputs and declared at most ",
                                                     function.options.most_outputs)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_tensor() && !outputs[i].layout()->possible()) {
      on->Fail(absl::InvalidArgumentError(
          absl::StrCat("it returned as output ", i, ": ", outputs[i].layout()->Check().message())));
    }
    const Storage* storage = outputs[i].storage();
    if (storage == nullptr || !storage->stale()) continue;
    on->Fail(absl::FailedPreconditionError(
        absl::StrCat("it returned as output ", i,
                     " what may not be used: ", storage->owner()->WhyStale(*storage))));
  }
}

}  // namespace

Values BodyRunner::Run(const Function& function, Launcher& on, Values& inputs) {
  on.means().workspaces = &ground_.workspaces;
  on.means().inputs = BodyInputs(inputs);
  Values outputs;
  {
    const Entrance::Running running(entrance_, function);
    CallbackMark callback;
    on.Fail(Guarded([&] {
      callback.Enter();
      outputs = function.body(on, inputs);
    }));
    on.JoinForks();
    on.memory().EndScratch();
  }
  CheckOutputs(function, outputs, &on);
  return outputs;
}

}  // namespace graphtree
