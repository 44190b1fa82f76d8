// Tables of codes and versions.
#include "profiler/cupti/cupti_words.h"

#include "absl/strings/str_cat.h"

namespace graphtree::cupti {
namespace {

// From here on a buffer may be refused without harm, and launches of graphs survive that CUPTI
// leaves.
constexpr uint32_t kOldest = 27;

absl::string_view MeaningOf(int code) {
  switch (code) {
    case 14: return "another use of CUPTI in this process excludes it";
    case 15: return "CUPTI could not begin: there is no driver, or the driver does not fit it";
    case 26: return "another tool, such as DCGM, has the hardware";
    case 27: return "this device or driver does not support it";
    case 33: return "not on a virtual device";
    case 35:
      return "the process lacks the right: run as root, with CAP_SYS_ADMIN or CAP_PERFMON, or load "
             "the driver with NVreg_RestrictProfilingToAdminUsers=0";
    case 40:
    case 41:
    case 42:
    case 43:
    case 44:
    case 45: return "not in this environment (a virtual GPU, confidential computing, MIG, WSL)";
    case 999: return "CUPTI does not say why, as it does where there is no driver that fits it";
    default: return "";
  }
}

}  // namespace

absl::Status CuptiError(absl::string_view call, int code, absl::string_view name) {
  if (code == 0) return absl::OkStatus();
  if (code == kMultipleSubscribers) return HeldError(call, "");
  const absl::string_view meaning = MeaningOf(code);
  const std::string words = absl::StrCat(call, ": ", meaning.empty() ? "it failed" : meaning,
                                         " (CUPTI's code ", code, ", ", name, ")");
  if (code == 35) return absl::PermissionDeniedError(words);
  return meaning.empty() ? absl::InternalError(words) : absl::FailedPreconditionError(words);
}

absl::Status HeldError(absl::string_view call, absl::string_view holder) {
  return absl::FailedPreconditionError(absl::StrCat(
      call, ": CUPTI has one user at a time, and ",
      holder.empty() ? "another tool is it (a profiler in this process, or one that it was started "
                       "under, such as nsys or a debugger)"
                     : absl::StrCat("that is \"", holder, "\""),
      ": end that one first (CUPTI's code ", kMultipleSubscribers, ")"));
}

std::string VersionWords(uint32_t api_version) {
  if (api_version >= 100000) {
    return absl::StrCat(api_version / 10000, ".", api_version / 100 % 100);
  }
  switch (api_version) {
    case 28:
    case 27: return "12.9";
    case 26: return "12.8";
    case 24: return "12.6";
    case 23: return "12.5";
    case 22: return "12.4";
    case 21: return "12.3";
    case 20: return "12.2";
    case 19: return "12.0";
    default: return api_version < 19 ? "before 12.0" : "12";
  }
}

absl::Status CheckVersion(uint32_t api_version, absl::string_view library) {
  if (api_version >= kOldest) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      library, " is of CUDA ", VersionWords(api_version), " (version ", api_version,
      " of its interface), and CUPTI can leave a process that launches graphs from CUDA ",
      VersionWords(kOldest), " on: install a newer one, or name it in GRAPHTREE_CUPTI"));
}

}  // namespace graphtree::cupti
