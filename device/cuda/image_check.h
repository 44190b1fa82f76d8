// Looks at a kernel image before the driver does: the driver takes no length and trusts what the
// image says about itself, so a file that was cut short or overwritten would make it read past the
// end.
//
//   cubin   ELF64 header -> section table -> sections: all must lie inside
//   fatbin  magic, header size, payload size: must lie inside
//   PTX     text with a .version line and no zero byte
//
// Pure; costs a walk over the section table.
#ifndef GRAPHTREE_DEVICE_CUDA_IMAGE_CHECK_H_
#define GRAPHTREE_DEVICE_CUDA_IMAGE_CHECK_H_

#include <string>

#include "absl/strings/string_view.h"

namespace graphtree {

bool IsPtx(absl::string_view bytes);

// What is wrong with the image, as the end of a sentence; empty if nothing shows.
std::string ImageFlaw(absl::string_view bytes);

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_CUDA_IMAGE_CHECK_H_
