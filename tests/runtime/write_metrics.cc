// Serves a few steps on the host device, records a plan, and writes a page of what is known then:
// "metrics" and "memory" for a scraper, or "json". For metrics_text_test.py and dashboard_test.py.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "device/base/check.h"
#include "device/host/host_device.h"
#include "graphs/launcher.h"
#include "graphs/tensor.h"
#include "runtime/ledger_text.h"
#include "runtime/runtime.h"
#include "tests/kernels/kernels.h"
#include "tests/kernels/launches.h"

namespace graphtree {
namespace {

Values Body(Launcher& on, const ProgramInputs& in) {
  const Tensor out = on.Empty(DType::kI32, {in.key().tokens});
  if (!on.ok()) return {};
  on.Launch(AddKernel(), TestShape(),
            {Out(out), In(in.slot(0)), In(in.slot(0)),
             Val(static_cast<uint32_t>(in.key().tokens))});
  return {out};
}

void Serve(Runtime& runtime, Stream& stream) {
  // Names that a text format may stumble over: quotes, line ends, bytes that are no UTF-8, nothing
  // that looks like a name.
  const std::string names[] = {"decode", "say \"hi\" \\ n",        "two\nlines\r\tand more",
                               "{}=,#",  "\xff\xfe no utf-8 \xc3"};
  for (const std::string& name : names) {
    ProgramOptions options;
    options.name = name;
    options.slots = {
        {.name = "ids", .type = DType::kI32, .sizes = {64}, .rows = KeyField::kTokens}};
    options.body = Body;
    options.tag = "graphs, \"all\"\n";
    const ProgramId program = runtime.AddProgram(std::move(options)).value();
    GRAPHTREE_CHECK(runtime.AddShapes(program, {{.tokens = 4}, {.tokens = 16}}).ok());
    for (const int32_t tokens : {4, 4, 4, 3, 16, 16, 9, 60, 33}) {
      Step step = runtime.Begin(program, {.tokens = tokens}, stream).value();
      GRAPHTREE_CHECK(step.Stage(0, 1.0).ok());
      Values outputs;
      GRAPHTREE_CHECK(step.Run(&outputs).ok());
    }
  }
}

// It is awake again where the page is written.
void Park(Runtime& runtime) {
  GRAPHTREE_CHECK(runtime.AddMemory({.tag = "kv_cache", .name = "cache", .bytes = 4096}).ok());
  for (const char* const tag : {"kv_cache", "graphs, \"all\"\n"}) {
    GRAPHTREE_CHECK(runtime.Park(tag, Contents::kKeep).ok());
    GRAPHTREE_CHECK(runtime.Wake(tag).ok());
  }
}

// Some shapes are recorded already, and the estimate is learned from these.
void RecordPlan(Runtime& runtime, Stream& stream) {
  const RecordingPlan plan = runtime.Plan({}, 0).value();
  GRAPHTREE_CHECK(runtime.RecordPlan(plan, stream).ok());
}

int Main(absl::string_view page) {
  const std::unique_ptr<Device> device = *OpenHostDevice();
  const std::unique_ptr<Stream> stream = *device->NewStream();
  RuntimeOptions options;
  options.tree.pool_bytes = 16 << 20;
  const std::unique_ptr<Runtime> runtime = *Runtime::Create(*device, options);
  Serve(*runtime, *stream);
  RecordPlan(*runtime, *stream);
  Park(*runtime);
  if (page != "json" && page != "memory") std::cout << MetricsAsPrometheus(runtime->metrics());
  if (page == "memory") std::cout << LedgerAsPrometheus(runtime->ledger());
  if (page == "json") std::cout << runtime->DebugJson() << "\n";
  return 0;
}

}  // namespace
}  // namespace graphtree

int main(int argc, char** argv) { return graphtree::Main(argc > 1 ? argv[1] : ""); }
