// The tests run on the host device.
#include "runtime/c/test_device.h"

namespace graphtree::c {

const char* const kTestDevice = "host";

}  // namespace graphtree::c
