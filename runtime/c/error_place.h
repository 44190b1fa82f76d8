// Where an error says that it happened: which input of a call, which op of a body. Every message of
// the library says it in the same words, which people and programs read alike (device/error.h does
// so with CUDA's code):
//
//   input 2 of 'decode' may not be used: ...                    input 2
//   ... at op 3 of its body ('attend'): ...                     op 3, 'attend'
//
// Pure.
#ifndef GRAPHTREE_RUNTIME_C_ERROR_PLACE_H_
#define GRAPHTREE_RUNTIME_C_ERROR_PLACE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace graphtree::c {

struct ErrorPlace {
  int64_t input = -1;  // from 0 on; -1: none is named
  int64_t op = -1;     // likewise
  absl::string_view op_name = "";  // in the message
};

// The first input and the first op that the message names.
ErrorPlace PlaceIn(absl::string_view message);

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_ERROR_PLACE_H_
