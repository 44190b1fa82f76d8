// Where an error of Python's becomes an exception of C++, for code that torch's macros surround.
#ifndef GRAPHTREE_RUNTIME_TORCH_PYTHON_ERRORS_H_
#define GRAPHTREE_RUNTIME_TORCH_PYTHON_ERRORS_H_

namespace graphtree::torch_adaptor {

// REQUIRES: an error of Python's is set, and HANDLE_TH_ERRORS is around.
[[noreturn]] void RaisePythonError();

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_PYTHON_ERRORS_H_
