// The door's page /profile: a window of the running server as a trace, in the JSON of PyTorch's
// profiler, which `graphtree profile attach` fetches.
//
//   /profile?mode=full&replays=100&ms=1000&force=0
//
// With force=1 CUPTI leaves at the end also beside launches of graphs by others, which may break
// their work; else it stays until these rest, which makes launches slower, and the trace says so.
// The server goes on meanwhile. Where the full mode cannot be had, the trace is a light one and
// says why. The trace is put together in memory, up to a limit; what is beyond is counted in its
// notes.
#ifndef GRAPHTREE_RUNTIME_PROFILE_PAGE_H_
#define GRAPHTREE_RUNTIME_PROFILE_PAGE_H_

#include <functional>

#include "device/device.h"
#include "runtime/door/http.h"
#include "runtime/metrics.h"

namespace graphtree {

// `device` is the one that is timed; `metrics` is asked now and then for the pools' bytes.
HttpResponse ProfilePage(Device& device, const std::function<Metrics()>& metrics,
                         const HttpRequest& request);

}  // namespace graphtree

#endif  // GRAPHTREE_RUNTIME_PROFILE_PAGE_H_
