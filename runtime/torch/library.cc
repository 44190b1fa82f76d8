// Finds the functions, and turns errors into torch's exceptions.
#include "runtime/torch/library.h"

#include <dlfcn.h>

#include <c10/util/Exception.h>

namespace graphtree::torch_adaptor {
namespace {

Library& Functions() {
  static Library functions;
  return functions;
}

void Raise(gt_code code, const std::string& text) {
  TORCH_CHECK_WITH(OutOfMemoryError, code != GT_RESOURCE_EXHAUSTED, "graphtree: ", text);
  TORCH_CHECK(false, "graphtree: ", text);
}

}  // namespace

const Library& Gt() { return Functions(); }

std::string Load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  Library found;
#define GRAPHTREE_TORCH_FIND(name)                                            \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, #name)); \
  if (found.name == nullptr) return std::string(path) + " has no " #name;
  GRAPHTREE_TORCH_FUNCTIONS(GRAPHTREE_TORCH_FIND)
#undef GRAPHTREE_TORCH_FIND
  Functions() = found;
  return "";
}

void Check(gt_error error) {
  if (error == nullptr) return;
  const gt_error_info* const info = Gt().gt_error_look(error);
  const gt_code code = info->code;
  const std::string text = info->text;
  Gt().gt_release(error);
  Raise(code, text);
}

void CheckLauncher(gt_error error) {
  if (error == nullptr) return;
  const gt_error_info* const info = Gt().gt_error_look(error);
  Raise(info->code, info->text);
}

void Ignore(gt_error error) {
  if (error != nullptr) Gt().gt_release(error);
}

}  // namespace graphtree::torch_adaptor
