// Where libcupti is looked for.
#include "profiler/cupti/cupti_functions.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "device/base/loaded_library.h"
#include "device/base/status_macros.h"
#include "profiler/cupti/cupti_words.h"

namespace graphtree::cupti {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so"};

struct Loaded {
  void* library;
  std::string path;
};

bool IsFolder(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

void AddFolder(const std::string& folder, std::vector<std::string>& places) {
  for (const char* name : kNames) places.push_back(absl::StrCat(folder, "/", name));
}

std::vector<std::string> Places(const std::string& library, const std::string& cuda_home) {
  std::vector<std::string> places;
  if (!library.empty()) {
    if (IsFolder(library)) {
      AddFolder(library, places);
    } else {
      places.push_back(library);
    }
    return places;
  }
  places.assign(std::begin(kNames), std::end(kNames));
  if (!cuda_home.empty()) {
    for (const char* folder : {"/extras/CUPTI/lib64", "/lib64", "/lib"}) {
      AddFolder(cuda_home + folder, places);
    }
  }
  AddFolder(GRAPHTREE_CUDA_LIB, places);  // the toolkit that this was built with
  return places;
}

absl::StatusOr<Loaded> Load(const std::string& library, const std::string& cuda_home) {
  for (const char* name : kNames) {
    void* const loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (loaded != nullptr) return Loaded{loaded, name};
  }
  std::vector<std::string> refusals;
  for (const std::string& place : Places(library, cuda_home)) {
    void* const loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded != nullptr) return Loaded{loaded, place};
    refusals.push_back(LoaderWords());
  }
  return absl::NotFoundError(absl::StrCat(
      "loading CUPTI: it was found nowhere; name the file or its folder in GRAPHTREE_CUPTI. ",
      absl::StrJoin(refusals, "; ")));
}

}  // namespace

absl::StatusOr<CuptiFunctions> FindCupti(const std::string& library,
                                         const std::string& cuda_home) {
  GRAPHTREE_ASSIGN_OR_RETURN(const Loaded loaded, Load(library, cuda_home));
  CuptiFunctions functions;
  functions.path = loaded.path;
  const char* missing = nullptr;
#define GRAPHTREE_CUPTI_FIND(name)                                          \
  if (!FindSymbol(loaded.library, "cupti" #name, &functions.name) && missing == nullptr) { \
    missing = "cupti" #name;                                                \
  }
  GRAPHTREE_CUPTI_FUNCTIONS(GRAPHTREE_CUPTI_FIND)
#undef GRAPHTREE_CUPTI_FIND
#if CUPTI_API_VERSION >= 130000
  FindSymbol(loaded.library, "cuptiSubscribe_v2", &functions.Subscribe_v2);
#endif
  if (functions.GetVersion != nullptr) functions.GetVersion(&functions.version);
  GRAPHTREE_RETURN_IF_ERROR(CheckVersion(functions.version, loaded.path));
  if (missing == nullptr) return functions;
  return absl::FailedPreconditionError(
      absl::StrCat("loading CUPTI: ", loaded.path, " has no ", missing));
}

}  // namespace graphtree::cupti
