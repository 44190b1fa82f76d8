// A build without CUDA's toolkit, and so without CUPTI's headers.
#include "profiler/cupti/cupti_library.h"

#include "absl/strings/str_cat.h"

namespace graphtree::cupti {

absl::StatusOr<std::unique_ptr<CuptiApi>> LoadCupti(const std::string& library,
                                                    const std::string& cuda_home) {
  return absl::UnimplementedError(
      absl::StrCat("loading CUPTI: this program has none: ", GRAPHTREE_CUPTI_MISSING));
}

}  // namespace graphtree::cupti
