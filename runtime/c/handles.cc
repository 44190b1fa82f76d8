// Releasing, texts, versions: what is about handles of any kind, or of none.
#include <string>

#include "absl/strings/str_cat.h"
#include "device/base/version.h"
#include "runtime/c/entry.h"
#include "runtime/c/texts.h"

namespace graphtree::c {
namespace {

#define GRAPHTREE_C_TEXT(number) #number
#define GRAPHTREE_C_NUMBER(number) GRAPHTREE_C_TEXT(number)
constexpr absl::string_view kHeaderVersion = GRAPHTREE_C_NUMBER(GT_VERSION_MAJOR) "."
    GRAPHTREE_C_NUMBER(GT_VERSION_MINOR) "." GRAPHTREE_C_NUMBER(GT_VERSION_PATCH);
static_assert(kHeaderVersion == absl::string_view(kVersion), "the header and the library differ");

// Layouts are for ever, and the error of no memory is nobody's.
bool NeverEnds(Handle handle) {
  if (HandleTable::KindOf(handle) == kLayout) return Table().Find(handle, kLayout) != nullptr;
  return HandleTable::KindOf(handle) == kError &&
         gt_error_look(AsPointer<gt_error>(handle))->code == GT_RESOURCE_EXHAUSTED &&
         Table().KindIfGood(handle) == 0;
}

gt_error NotReleased(Handle handle) {
  Entry entry("gt_release");
  entry.FailHandle(handle, HandleTable::KindOf(handle), "handle");
  return entry.Failed();
}

gt_error ReleaseObject(Handle handle) {
  const Kind kind = HandleTable::KindOf(handle);
  HandleTable::Slot* const slot =
      Table().KindIfGood(handle) != 0 ? Table().Pin(handle, kind) : nullptr;
  if (slot == nullptr) return NotReleased(handle);
  Entry entry("gt_release");
  Object* const object = ObjectIn(*slot);
  entry.Fail(object->MayEnd());
  HandleTable::Slot* ends = nullptr;
  // Two releases at once: one of them finds the handle gone.
  if (entry.ok() && Table().Retire(handle, &ends)) object->Retired();
  if (Table().Unpin(slot)) EndSlot(slot, kind);
  return entry.Return();
}

}  // namespace
}  // namespace graphtree::c

using graphtree::c::Entry;
using graphtree::c::Handle;
using graphtree::c::HandleOf;
using graphtree::c::HandleTable;
using graphtree::c::OrEnd;
using graphtree::c::Table;
using graphtree::c::TextObject;
using graphtree::c::Within;

gt_error gt_release(void* pointer) noexcept {
  return OrEnd("gt_release", [&]() -> gt_error {
    const Handle handle = HandleOf(pointer);
    if (HandleTable::KindOf(handle) == graphtree::c::kStorage) {
      HandleTable::Slot* ends = nullptr;
      if (!Table().Retire(handle, &ends)) return graphtree::c::NotReleased(handle);
      if (ends != nullptr) graphtree::c::EndSlot(ends, graphtree::c::kStorage);
      return nullptr;
    }
    if (handle == 0 || graphtree::c::NeverEnds(handle)) return nullptr;
    return graphtree::c::ReleaseObject(handle);
  });
}

size_t gt_live_handles() noexcept { return Table().CountLive(graphtree::c::kLayout); }

const char* gt_text_chars(gt_text text, size_t* bytes) noexcept {
  const auto found = graphtree::c::Find<TextObject>(HandleOf(text));
  if (bytes != nullptr) *bytes = found ? found->words().size() : 0;
  return found ? found->words().c_str() : "";
}

const char* gt_version_string() noexcept { return graphtree::kVersion; }

void gt_version(int32_t* major, int32_t* minor, int32_t* patch) noexcept {
  if (major != nullptr) *major = GT_VERSION_MAJOR;
  if (minor != nullptr) *minor = GT_VERSION_MINOR;
  if (patch != nullptr) *patch = GT_VERSION_PATCH;
}

gt_error gt_version_check(int32_t major, int32_t minor) noexcept {
  if (major == GT_VERSION_MAJOR && minor >= 0 && minor <= GT_VERSION_MINOR) return nullptr;
  return Within("gt_version_check", [&](Entry& entry) -> gt_error {
    return entry.Return(absl::FailedPreconditionError(absl::StrCat(
        "the caller was compiled with graphtree.h of version ", major, ".", minor,
        ", and this library is ", gt_version_string(), ": ",
        major != GT_VERSION_MAJOR ? "they do not fit together"
                                  : "what was added in between is not here")));
  });
}
