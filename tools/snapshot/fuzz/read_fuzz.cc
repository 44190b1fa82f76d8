// What a fuzzer calls with any bytes: reading them ends with a snapshot or a reason, and a snapshot
// that was read can be written, in a protocol that the input's size chooses, and read again with
// the same rows.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/pickle_writer.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/check.h"
#include "tools/snapshot/fuzz/fuzz_checks.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {
namespace {

constexpr int kOldestProtocol = 2;
constexpr size_t kProtocols = 4;

}  // namespace
}  // namespace graphtree::snapshot

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace graphtree::snapshot;  // NOLINT(google-build-using-namespace)
  const auto read = ParseSnapshot({reinterpret_cast<const char*>(data), size});
  if (!read.ok()) return 0;
  std::string text;
  const std::unique_ptr<ByteSink> sink = ByteSink::To(&text);
  // Unknown parts may hold what cannot be written: keys that are lists, or themselves.
  const int protocol = kOldestProtocol + static_cast<int>(size % kProtocols);
  if (!WritePickle(**read, protocol, *sink).ok() || !sink->Commit().ok()) return 0;
  const auto again = ParseSnapshot(text);
  GRAPHTREE_CHECK(again.ok()) << again.status().ToString();
  CheckSameRows(**read, **again);
  return 0;
}
