// What torch's front end calls for one compiled graph: torch's own wrapper at first, and from then
// on the tree's function, if all inputs are aligned as the wrapper would have them.
//
//   call(list) --known, aligned--> Function
//             `--else-----------> torch's wrapper: keys, alignment, the first call
//
// Threads: Python's lock. Cost: a load and a compare for each input that is looked at.
#ifndef GRAPHTREE_RUNTIME_TORCH_FRONT_H_
#define GRAPHTREE_RUNTIME_TORCH_FRONT_H_

#include <Python.h>

#include <cstdint>
#include <vector>

namespace graphtree::torch_adaptor {

// The type, ready; null with an error of Python's.
PyTypeObject* FrontType();
// A new reference; null with an error of Python's.
PyObject* NewFront(PyObject* slow, std::vector<uint32_t> aligned);
bool SetFast(PyObject* front, PyObject* function);

}  // namespace graphtree::torch_adaptor

#endif  // GRAPHTREE_RUNTIME_TORCH_FRONT_H_
