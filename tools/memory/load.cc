// How far the reading has come, on a line of its own.
#include "tools/memory/load.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/cli/progress.h"
#include "tools/memory/text.h"
#include "tools/snapshot/read/ill_formed.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::memory {
namespace {

constexpr uint64_t kQuietBytes = 32 << 20;
constexpr uint64_t kStepBytes = 16 << 20;

void NoteIllFormedTexts(const std::string& path, const snapshot::Snapshot& snapshot,
                        cli::Console& console) {
  const snapshot::IllFormedTexts texts = snapshot::FindIllFormedTexts(snapshot);
  if (texts.count == 0) return;
  console.err << "graphtree: note: " << path << " has " << Plural(texts.count, "text", "texts")
              << " that " << (texts.count == 1 ? "is" : "are") << " not UTF-8, the first in "
              << texts.first << ": JSON and the page show U+FFFD for what is ill-formed, a pickle "
              << "keeps it\n";
}

}  // namespace

absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> Load(const std::string& path,
                                                         cli::Console& console) {
  cli::ProgressLine line(console.err);
  uint64_t shown = 0;
  snapshot::ByteSource::Progress progress = [&](uint64_t done, uint64_t total) {
    const bool large = total == 0 ? done > kQuietBytes : total > kQuietBytes;
    if (!large || done < shown + kStepBytes) return;
    shown = done;
    const std::string share =
        total == 0 ? "" : absl::StrFormat(" of %s (%d %%)", Bytes(total), 100 * done / total);
    line.Show(absl::StrCat("reading ", path, ": ", Bytes(done), share));
  };
  auto loaded = snapshot::ReadSnapshot(path, progress);
  line.Clear();
  if (!loaded.ok()) {
    return absl::Status(loaded.status().code(),
                        absl::StrCat(path, ": ", loaded.status().message()));
  }
  if ((*loaded)->trailing_bytes != 0) {
    console.err << "graphtree: note: " << path << " goes on for "
                << Plural((*loaded)->trailing_bytes, "byte", "bytes")
                << " after the end of its pickle; they were not read\n";
  }
  NoteIllFormedTexts(path, **loaded, console);
  return loaded;
}

cli::Operand SnapshotOperand() {
  return {.name = "FILE",
          .help = "A snapshot: a pickle written by torch.cuda.memory._dump_snapshot or by "
                  "Graphtree, its JSON, or an SQLite file of `graphtree memory convert`; - reads "
                  "the standard input."};
}

bool StandardInputOnce(const std::vector<std::string>& paths, absl::string_view verb,
                       cli::Console& console) {
  if (std::count(paths.begin(), paths.end(), "-") <= 1) return true;
  console.err << "graphtree " << verb
              << ": only one snapshot can come through the standard input: name a file for the "
                 "others\n";
  return false;
}

}  // namespace graphtree::memory
