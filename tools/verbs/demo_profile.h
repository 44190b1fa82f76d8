// What `graphtree demo --profile` does: a profile of Graphtree's day, into a file.
#ifndef GRAPHTREE_TOOLS_VERBS_DEMO_PROFILE_H_
#define GRAPHTREE_TOOLS_VERBS_DEMO_PROFILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "device/device.h"
#include "profiler/activity/activity_source.h"
#include "profiler/profile.h"
#include "profiler/profile_file.h"
#include "profiler/profile_options.h"
#include "runtime/runtime.h"

namespace graphtree {

class DemoProfile {
 public:
  // Nothing is made before Begin.
  DemoProfile(std::string path, ProfileMode mode) : path_(std::move(path)), mode_(mode) {}

  // The runtime is open, and has done no step.
  absl::Status Begin(Device& device, const Runtime& runtime);
  // REQUIRES: the runtime is still open.
  absl::Status End();
  // "profile  full: 812 launches, 9003 ops; graphtree profile show FILE". Empty before End.
  const std::string& sentence() const { return sentence_; }

 private:
  const std::string path_;
  const ProfileMode mode_;
  std::string sentence_;
  Device* device_ = nullptr;
  std::unique_ptr<ProfileFile> file_;
  std::unique_ptr<activity::ActivitySource> source_;
  std::unique_ptr<Profile> profile_;  // goes first
};

}  // namespace graphtree

#endif  // GRAPHTREE_TOOLS_VERBS_DEMO_PROFILE_H_
