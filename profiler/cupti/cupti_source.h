// The door of this folder: CUPTI as an ActivitySource, loaded when it is asked for.
//
// Nothing links against CUPTI, and nobody who includes this sees its headers. Where the program was
// built without CUDA, or the library is missing, too old or blocked, the answer is the reason in
// words.
//
// CUPTI is one in a process, and has one user at a time: a second source may be opened, but only
// one of them can be attached, and who has it is named.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_SOURCE_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"

namespace graphtree::cupti {

struct CuptiOptions {
  // Where libcupti is looked for first: the file, or its folder ($GRAPHTREE_CUPTI). Empty: where
  // the loader looks, then $CUDA_HOME.
  std::string library = {};
  std::string cuda_home = {};
  // Whether detaching finalizes CUPTI, without which every launch of a graph stays some twenty
  // times slower.
  bool finalizes = true;
  // Whether it may attach again after it has been finalized.
  bool attaches_again = true;
};

// The options that the environment asks for, by value: GRAPHTREE_CUPTI, CUDA_HOME, and the two
// switches that PyTorch's profiler knows, TEARDOWN_CUPTI ("0": not finalized) and
// DISABLE_CUPTI_LAZY_REINIT ("1": not attached again). GRAPHTREE_CUPTI_TEARDOWN and
// GRAPHTREE_CUPTI_REINIT ("0" or "1") say it to this library alone, and win. `variable` returns
// null for what is not set; std::getenv fits.
CuptiOptions OptionsOf(absl::FunctionRef<const char*(const char*)> variable);

// Needs no device, nor a driver; attaching does.
absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenCuptiSource(
    const CuptiOptions& options = {});

// The same with the stand-in for CUPTI that tells of what these host devices run, through the same
// buffers and the same decoder. The devices must outlive it. Attaching fails if one of them is no
// host device, or is watched by somebody else.
absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenHostSource(
    std::vector<Device*> devices);

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_SOURCE_H_
