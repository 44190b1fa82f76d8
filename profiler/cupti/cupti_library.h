// The real CUPTI, loaded at run time.
//
// Looked for where `library` says (the file, or its folder); else where the loader looks, then in
// the toolkit at `cuda_home`. A libcupti that the process has already is taken before all of these,
// since two of them would not know of each other. It is never unloaded: its threads may still run
// its code.
//
// The answer to a missing, old or blocked library is the reason in words, with every place that was
// tried; in a build without CUDA it is why there is none.
#ifndef GRAPHTREE_PROFILER_CUPTI_CUPTI_LIBRARY_H_
#define GRAPHTREE_PROFILER_CUPTI_CUPTI_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler/cupti/cupti_api.h"

namespace graphtree::cupti {

absl::StatusOr<std::unique_ptr<CuptiApi>> LoadCupti(const std::string& library,
                                                    const std::string& cuda_home);

}  // namespace graphtree::cupti

#endif  // GRAPHTREE_PROFILER_CUPTI_CUPTI_LIBRARY_H_
