// Symbols of a library that was loaded at run time, and the loader's message when it cannot load.
#ifndef GRAPHTREE_DEVICE_BASE_LOADED_LIBRARY_H_
#define GRAPHTREE_DEVICE_BASE_LOADED_LIBRARY_H_

#include <dlfcn.h>

#include <string>

namespace graphtree {

// False, with null in `function`, if the library has no such symbol.
template <typename Function>
bool FindSymbol(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

// Why the dlopen before it failed.
inline std::string LoaderWords() {
  const char* words = dlerror();
  return words != nullptr ? words : "unknown reason";
}

}  // namespace graphtree

#endif  // GRAPHTREE_DEVICE_BASE_LOADED_LIBRARY_H_
