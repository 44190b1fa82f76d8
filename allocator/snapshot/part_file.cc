// The table of parts, and what happens to one of them at its end.
#include "allocator/snapshot/part_file.h"

#include <errno.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace graphtree::snapshot {
namespace {

constexpr int kSlots = 16;
std::atomic<const char*> parts[kSlots];

}  // namespace

PartFile::PartFile(const std::string& whole)
    : whole_(whole),
      path_(std::make_unique<const std::string>(absl::StrCat(whole, ".part-", getpid()))) {
  for (int slot = 0; slot < kSlots && slot_ < 0; ++slot) {
    const char* none = nullptr;
    if (parts[slot].compare_exchange_strong(none, path_->c_str())) slot_ = slot;
  }
}

PartFile::~PartFile() {
  if (!moved_) unlink(path_->c_str());
  Forget();
}

void PartFile::Forget() {
  if (slot_ >= 0) parts[slot_].store(nullptr);
  slot_ = -1;
}

absl::Status PartFile::Move() {
  if (std::rename(path_->c_str(), whole_.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot put ", whole_, " into its place: ", std::strerror(errno)));
  }
  moved_ = true;
  Forget();
  return absl::OkStatus();
}

void PartFile::RemoveAll() {
  for (std::atomic<const char*>& part : parts) {
    const char* const path = part.load();
    if (path != nullptr) unlink(path);
  }
}

}  // namespace graphtree::snapshot
