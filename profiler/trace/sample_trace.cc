// The sample, record by record.
#include "profiler/trace/sample_trace.h"

#include "absl/strings/str_cat.h"

namespace graphtree::trace {
namespace {

constexpr int64_t kProcess = 4711;
constexpr int64_t kThread = 12;
constexpr uint32_t kStream = 3;
constexpr uint32_t kSideStream = 4;
constexpr int64_t kUs = 1000;

struct Sample {
  IdentityId norm, attend, copy;
};

Sample Identities(TraceTables& tables) {
  Identity norm = {.tree_node = 5,
                   .bytes_read = 4096,
                   .bytes_written = 4096,
                   .name = tables.Text("norm<bf16>"),
                   .function = tables.Text("decode"),
                   .program = tables.Text("llama \"8B\""),
                   .shape = tables.Text("batch 4"),
                   .scope = tables.Text("attention;layer 3"),
                   .backend = tables.Text("triton"),
                   .file = tables.Text("kernels/norm.py"),
                   .hash = tables.Text("cgna3x7xk3ff"),
                   .arguments = tables.Text("XBLOCK=256"),
                   .input_dims = tables.Text("[[4, 512], []]"),
                   .input_types = tables.Text("[\"bfloat16\", \"Scalar\"]"),
                   .shared_memory = 1024,
                   .grid = {4, 1, 1},
                   .block = {128, 1, 1}};
  Identity attend = norm;
  attend.name = tables.Text("attend");
  attend.scope = tables.Text("attention");
  attend.grid = {8, 4, 1};
  const Identity copy = {.tree_node = 5,
                         .name = tables.Text("Memcpy HtoD (Pinned -> Device)"),
                         .function = norm.function};
  return {tables.Intern(norm), tables.Intern(attend), tables.Intern(copy)};
}

HostSpan SpanOf(TraceTables& tables, absl::string_view name, SpanKind kind, int64_t start_us,
                int64_t duration_us) {
  return {.start_ns = kSampleBase + start_us * kUs,
          .duration_ns = duration_us * kUs,
          .process = kProcess,
          .thread = kThread,
          .name = tables.Text(name),
          .kind = kind};
}

void PlayReplay(TraceTables& tables, TraceListener& listener, const Sample& ids, int64_t at_us,
                uint64_t correlation, int64_t attend_us) {
  HostSpan launch = SpanOf(tables, "cudaGraphLaunch", SpanKind::kLaunch, at_us, 4);
  launch.correlation = correlation;
  launch.is_graph = true;
  launch.stream = kStream;
  listener.Span(launch);
  DeviceOp op = {.start_ns = kSampleBase + (at_us + 6) * kUs,
                 .duration_ns = 1 * kUs,
                 .correlation = correlation,
                 .graph_node = PackedNode(kSampleGraph, 1),
                 .graph = kSampleGraph,
                 .identity = ids.copy,
                 .bytes = 65536,
                 .stream = kStream,
                 .context = 1,
                 .kind = OpKind::kCopy};
  listener.Op(op);
  op.kind = OpKind::kKernel;
  op.bytes = kUnknown;
  op.start_ns += 1500;
  op.duration_ns = 2 * kUs;
  op.identity = ids.norm;
  op.graph_node = PackedNode(kSampleGraph, 2);
  op.stream = kSideStream;
  listener.Op(op);
  op.duration_ns = attend_us * kUs;
  op.identity = ids.attend;
  op.graph_node = PackedNode(kSampleGraph, 3);
  op.stream = kStream;
  op.extras = "\"priority\":0";
  listener.Op(op);
}

}  // namespace

void PlaySample(TraceTables& tables, TraceListener& listener) {
  listener.Begin({.base_ns = kSampleBase,
                  .made_by = "graphtree sample",
                  .devices = "[{\"id\":0,\"name\":\"a card\"}]",
                  .extras = {{"cuda_driver_version", "13000"}}});
  listener.Lane({.process = kProcess, .name = tables.Text("server")});
  listener.Lane({.process = kProcess, .thread = kThread, .name = tables.Text("lane 0")});
  const Sample ids = Identities(tables);
  listener.Instant({.time_ns = kSampleBase,
                    .name = tables.Text("window begins"),
                    .process = kProcess,
                    .thread = kThread});
  HostSpan request = SpanOf(tables, "request 81", SpanKind::kRequest, 1, 100);
  request.external = 81;
  listener.Span(request);
  listener.Span(SpanOf(tables, "decode", SpanKind::kRecord, 2, 8));
  HostSpan alone = SpanOf(tables, "cuLaunchKernel", SpanKind::kLaunch, 12, 3);
  alone.correlation = 6;
  alone.identity = ids.norm;
  alone.stream = kStream;
  alone.external = 81;
  listener.Span(alone);
  listener.Op({.start_ns = kSampleBase + 17 * kUs,
               .duration_ns = 2 * kUs + 1,
               .correlation = 6,
               .external = 81,
               .identity = ids.norm,
               .stream = kStream,
               .context = 1});
  listener.Counter({.time_ns = kSampleBase + 20 * kUs,
                    .name = tables.Text("pool bytes"),
                    .series = tables.Text("live"),
                    .value = 1 << 20,
                    .process = 0});
  listener.Span(SpanOf(tables, "patch", SpanKind::kPatch, 29, 1));
  PlayReplay(tables, listener, ids, 30, 7, 3);
  PlayReplay(tables, listener, ids, 60, 8, 9);
  listener.End({.dropped_records = 2, .drift_ppm = 1.5, .remarks = {"light until 3 us"}});
}

void PlayReplays(const PlainReplays& plan, TraceTables& tables, TraceListener& listener) {
  listener.Begin({.base_ns = kSampleBase, .made_by = "graphtree sample"});
  std::vector<IdentityId> ids;
  for (int op = 0; op < plan.ops; ++op) {
    ids.push_back(tables.Intern({.tree_node = 5,
                                 .name = tables.Text(absl::StrCat("kernel_", op)),
                                 .function = tables.Text("decode"),
                                 .shape = tables.Text("batch 4"),
                                 .backend = tables.Text("cuda"),
                                 .file = tables.Text("kernels/decode.cu"),
                                 .hash = tables.Text("cgna3x7xk3ffvmb6i3gnvvbluftb5jn5iuxcx5vlay"),
                                 .arguments = tables.Text("rows=4, columns=512"),
                                 .grid = {static_cast<uint32_t>(op) + 1, 1, 1},
                                 .block = {128, 1, 1}}));
  }
  const TextId call = tables.Text("cudaGraphLaunch");
  int64_t now = kSampleBase + plan.pause_ns;
  for (int replay = 0; replay < plan.replays; ++replay) {
    const uint64_t correlation = static_cast<uint64_t>(replay) + 1;
    listener.Span({.start_ns = now,
                   .duration_ns = plan.launch_ns,
                   .correlation = correlation,
                   .process = kProcess,
                   .thread = kThread,
                   .name = call,
                   .stream = kStream,
                   .kind = SpanKind::kLaunch,
                   .is_graph = true});
    now += plan.latency_ns;
    for (int op = 0; op < plan.ops; ++op) {
      const int64_t plain = plan.op_ns + op + (plan.noise == nullptr ? 0 : plan.noise(replay, op));
      const int64_t duration = replay == plan.slow_replay ? 2 * plain : plain;
      listener.Op({.start_ns = now,
                   .duration_ns = duration,
                   .correlation = correlation,
                   .graph_node = PackedNode(kSampleGraph, static_cast<uint32_t>(op) + 1),
                   .graph = kSampleGraph,
                   .identity = ids[static_cast<size_t>(op)],
                   .stream = kStream,
                   .context = 1});
      now += duration + (op + 1 < plan.ops ? plan.gap_ns : 0);
    }
    now += plan.pause_ns;
  }
  listener.End({});
}

}  // namespace graphtree::trace
