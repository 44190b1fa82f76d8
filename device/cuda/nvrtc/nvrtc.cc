// Loading NVRTC, and one compilation.
#include "device/cuda/nvrtc/nvrtc.h"

#include <dirent.h>
#include <dlfcn.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "device/base/loaded_library.h"
#include "device/error.h"

namespace graphtree {
namespace {

constexpr char kLibrary[] = "libnvrtc.so.13";
constexpr char kBuiltins[] = "libnvrtc-builtins.so";

using Program = void*;
using Result = int;  // 0 is success

// Makes the builtins of a folder known to the loader under their own name. A failure shows later,
// when the compiler cannot find them.
void LoadBuiltins(const std::string& folder) {
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (absl::StartsWith(entry->d_name, kBuiltins)) {
      dlopen(absl::StrCat(folder, "/", entry->d_name).c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
  }
  closedir(directory);
}

}  // namespace

struct Nvrtc::Api {
  Result (*version)(int*, int*);
  const char* (*error_string)(Result);
  Result (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Result (*destroy)(Program*);
  Result (*compile)(Program, int, const char* const*);
  Result (*cubin_size)(Program, size_t*);
  Result (*cubin)(Program, char*);
  Result (*log_size)(Program, size_t*);
  Result (*log)(Program, char*);
  Result (*add_name)(Program, const char*);
  Result (*lowered_name)(Program, const char*, const char**);

  bool FindAll(void* library) {
    return FindSymbol(library, "nvrtcVersion", &version) &&
           FindSymbol(library, "nvrtcGetErrorString", &error_string) &&
           FindSymbol(library, "nvrtcCreateProgram", &create) &&
           FindSymbol(library, "nvrtcDestroyProgram", &destroy) &&
           FindSymbol(library, "nvrtcCompileProgram", &compile) &&
           FindSymbol(library, "nvrtcGetCUBINSize", &cubin_size) &&
           FindSymbol(library, "nvrtcGetCUBIN", &cubin) &&
           FindSymbol(library, "nvrtcGetProgramLogSize", &log_size) &&
           FindSymbol(library, "nvrtcGetProgramLog", &log) &&
           FindSymbol(library, "nvrtcAddNameExpression", &add_name) &&
           FindSymbol(library, "nvrtcGetLoweredName", &lowered_name);
  }

  std::string Log(Program program) const {
    size_t bytes = 0;
    if (log_size(program, &bytes) != 0 || bytes <= 1) return "";
    std::string text(bytes, '\0');
    if (log(program, text.data()) != 0) return "";
    text.resize(text.find('\0') == std::string::npos ? bytes : text.find('\0'));
    return std::string(absl::StripTrailingAsciiWhitespace(text));
  }
};

absl::StatusOr<std::unique_ptr<Nvrtc>> Nvrtc::Load(const std::vector<std::string>& folders) {
  std::vector<std::string> tried;
  for (const std::string& folder : folders) {
    const std::string path = folder.empty() ? kLibrary : absl::StrCat(folder, "/", kLibrary);
    if (!folder.empty()) LoadBuiltins(folder);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: it keeps threads
    if (library == nullptr) {
      tried.push_back(LoaderWords());
      continue;
    }
    auto api = std::make_unique<Api>();
    int major = 0;
    int minor = 0;
    if (!api->FindAll(library) || api->version(&major, &minor) != 0) {
      tried.push_back(absl::StrCat(path, " lacks an entry point"));
      continue;
    }
    return std::unique_ptr<Nvrtc>(
        new Nvrtc(std::move(api), absl::StrCat(major, ".", minor), path));
  }
  return DeviceError(
      ErrorCode::kNotSupported,
      absl::StrCat("NVRTC cannot be loaded: ", absl::StrJoin(tried, "; "),
                   ". Install the package nvidia-cuda-nvrtc (13.0 or newer) and name "
                   "the folder of ",
                   kLibrary));
}

Nvrtc::Nvrtc(std::unique_ptr<Api> api, std::string version, std::string path)
    : api_(std::move(api)), version_(std::move(version)), path_(std::move(path)) {}

Nvrtc::~Nvrtc() = default;

absl::StatusOr<Nvrtc::Compiled> Nvrtc::Compile(const std::string& name, const std::string& text,
                                               const std::string& entry,
                                               const std::string& architecture,
                                               const std::vector<std::string>& options) const {
  const std::string file = absl::StrCat(name, ".cu");
  const auto failure = [&](const char* step, Result result, const std::string& log) {
    return DeviceError(ErrorCode::kInvalidImage,
                       absl::StrCat("NVRTC ", version_, " could not ", step, " ", entry, " of ",
                                    file, " for ", architecture, " with options [",
                                    absl::StrJoin(options, " "), "]: ",
                                    api_->error_string(result), log.empty() ? "" : "\n", log));
  };
  Program program = nullptr;
  Result result = api_->create(&program, text.c_str(), file.c_str(), 0, nullptr, nullptr);
  if (result != 0) return failure("open", result, "");
  struct Closer {
    const Api& api;
    Program& program;
    ~Closer() { api.destroy(&program); }
  } closer{*api_, program};

  result = api_->add_name(program, entry.c_str());
  if (result != 0) return failure("look for", result, "");
  const std::string target = absl::StrCat("--gpu-architecture=", architecture);
  std::vector<const char*> arguments = {target.c_str()};
  for (const std::string& option : options) arguments.push_back(option.c_str());
  result = api_->compile(program, static_cast<int>(arguments.size()), arguments.data());
  Compiled compiled;
  compiled.log = api_->Log(program);
  if (result != 0) return failure("compile", result, compiled.log);

  const char* lowered = nullptr;
  result = api_->lowered_name(program, entry.c_str(), &lowered);
  if (result != 0) return failure("find", result, compiled.log);
  compiled.lowered_name = lowered;
  size_t bytes = 0;
  result = api_->cubin_size(program, &bytes);
  if (result == 0) {
    compiled.cubin.resize(bytes);
    result = api_->cubin(program, compiled.cubin.data());
  }
  if (result != 0) return failure("make machine code of", result, compiled.log);
  return compiled;
}

}  // namespace graphtree
