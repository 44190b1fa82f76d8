// The one place that throws.
#include "runtime/torch/python_errors.h"

#include <torch/csrc/Exceptions.h>

namespace graphtree::torch_adaptor {

void RaisePythonError() { throw python_error(); }

}  // namespace graphtree::torch_adaptor
