// The header as a C++ program sees it.
// Some programs include C headers so.
extern "C" {
#include "runtime/c/graphtree.h"
}

gt_error GraphtreeHeaderAsCpp(gt_stream stream, gt_kernel kernel, const gt_launch_shape* shape);

gt_error GraphtreeHeaderAsCpp(gt_stream stream, gt_kernel kernel, const gt_launch_shape* shape) {
  uint32_t by = 1;
  gt_value x = gt_nothing();
  gt_device_info info = GT_INIT(gt_device_info);
  gt_arg args[] = {GT_OUT(&x), GT_IN(&x), GT_VAL(by), GT_NUM(info.size)};
  return gt_stream_launch(stream, kernel, shape, args, sizeof(args) / sizeof(args[0]));
}
