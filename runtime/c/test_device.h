// The device that tests of the C interface run on. Which one it is, the linker says.
#ifndef GRAPHTREE_RUNTIME_C_TEST_DEVICE_H_
#define GRAPHTREE_RUNTIME_C_TEST_DEVICE_H_

namespace graphtree::c {

extern const char* const kTestDevice;

}  // namespace graphtree::c

#endif  // GRAPHTREE_RUNTIME_C_TEST_DEVICE_H_
