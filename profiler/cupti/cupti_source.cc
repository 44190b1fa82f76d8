// Puts a session over the real library, or over the host's stand-in.
#include "profiler/cupti/cupti_source.h"

#include <initializer_list>
#include <utility>

#include "absl/strings/string_view.h"
#include "device/base/status_macros.h"
#include "profiler/cupti/cupti_library.h"
#include "profiler/cupti/cupti_session.h"
#include "profiler/cupti/host_cupti.h"

namespace graphtree::cupti {
namespace {

// The first that is set to something, or empty.
std::string FirstOf(absl::FunctionRef<const char*(const char*)> variable,
                    std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* const value = variable(name);
    if (value != nullptr && value[0] != '\0') return value;
  }
  return "";
}

}  // namespace

CuptiOptions OptionsOf(absl::FunctionRef<const char*(const char*)> variable) {
  CuptiOptions options;
  options.library = FirstOf(variable, {"GRAPHTREE_CUPTI"});
  options.cuda_home = FirstOf(variable, {"CUDA_HOME"});
  options.finalizes = FirstOf(variable, {"GRAPHTREE_CUPTI_TEARDOWN", "TEARDOWN_CUPTI"}) != "0";
  const std::string own = FirstOf(variable, {"GRAPHTREE_CUPTI_REINIT"});
  const std::string theirs = FirstOf(variable, {"DISABLE_CUPTI_LAZY_REINIT"});
  options.attaches_again = own.empty() ? theirs.empty() || theirs == "0" : own != "0";
  return options;
}

absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenCuptiSource(
    const CuptiOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<CuptiApi> api,
                             LoadCupti(options.library, options.cuda_home));
  SessionOptions session;
  session.finalizes = options.finalizes;
  session.attaches_again = options.attaches_again;
  return std::make_unique<CuptiSession>(std::move(api), std::move(session));
}

absl::StatusOr<std::unique_ptr<activity::ActivitySource>> OpenHostSource(
    std::vector<Device*> devices) {
  return std::make_unique<CuptiSession>(std::make_unique<HostCupti>(std::move(devices)),
                                        SessionOptions());
}

}  // namespace graphtree::cupti
