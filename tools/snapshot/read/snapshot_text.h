// Small snapshots for tests, written as JSON.
//
//   SnapshotText text;
//   text.Segment(0x1000, 4096).Block(512, "active_allocated", "a.py").Block(3584, "inactive");
//   text.Entry("alloc", 0x1000, 512, "a.py");
//   auto snapshot = text.Parse();
//
// Times count up by one microsecond an entry. Everything lies on device 0 unless Device says so.
#ifndef GRAPHTREE_TOOLS_SNAPSHOT_READ_SNAPSHOT_TEXT_H_
#define GRAPHTREE_TOOLS_SNAPSHOT_READ_SNAPSHOT_TEXT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "allocator/snapshot/snapshot.h"
#include "device/base/check.h"
#include "tools/snapshot/read/read.h"

namespace graphtree::snapshot {

class SnapshotText {
 public:
  SnapshotText& Device(int64_t device) {
    device_ = device;
    return *this;
  }
  // Of the frames from here on; "f" before.
  SnapshotText& Function(absl::string_view name) {
    function_ = std::string(name);
    return *this;
  }
  // Extra keys as JSON: "\"stream\": 7".
  SnapshotText& Segment(uint64_t address, uint64_t size, absl::string_view more = "") {
    FinishSegment();
    head_ = absl::StrCat("{\"device\":", device_, ",\"address\":", address,
                         ",\"total_size\":", size, Also(more), ",\"blocks\":[");
    next_ = address;
    return *this;
  }
  // Follows the block before it. The stack is one frame, `file`:1; empty for none.
  SnapshotText& Block(uint64_t size, absl::string_view state, absl::string_view file = "",
                      absl::string_view more = "") {
    blocks_.push_back(absl::StrCat("{\"address\":", next_, ",\"size\":", size,
                                   ",\"requested_size\":", size, ",\"state\":\"", state,
                                   "\",\"frames\":", Frames(file), Also(more), "}"));
    next_ += size;
    return *this;
  }
  SnapshotText& Entry(absl::string_view action, uint64_t address, uint64_t size,
                      absl::string_view file = "", absl::string_view more = "") {
    const bool oom = action == "oom";
    std::vector<std::string>& trace = device_ < 0 ? host_entries_ : entries_[device_];
    trace.push_back(absl::StrCat("{\"action\":\"", action, "\",\"", oom ? "device_free" : "addr",
                                 "\":", address, ",\"size\":", size, ",\"stream\":0,\"time_us\":",
                                 ++time_, ",\"frames\":", Frames(file), Also(more), "}"));
    return *this;
  }
  SnapshotText& Root(absl::string_view more) {
    root_ = std::string(more);
    return *this;
  }

  std::string Json() {
    FinishSegment();
    std::vector<std::string> traces;
    const int64_t devices = entries_.empty() ? 0 : entries_.rbegin()->first + 1;
    for (int64_t device = 0; device < devices; ++device) {
      traces.push_back(absl::StrCat("[", absl::StrJoin(entries_[device], ","), "]"));
    }
    return absl::StrCat("{\"segments\":[", absl::StrJoin(segments_, ","), "],\"device_traces\":[",
                        absl::StrJoin(traces, ","), "],\"host_segments\":[",
                        absl::StrJoin(host_segments_, ","), "],\"host_traces\":[",
                        absl::StrJoin(host_entries_, ","), "]", Also(root_), "}");
  }
  std::unique_ptr<Snapshot> Parse() {
    const std::string json = Json();
    auto parsed = ParseSnapshot(json);
    GRAPHTREE_CHECK(parsed.ok()) << parsed.status().ToString() << " in " << json;
    return *std::move(parsed);
  }

 private:
  static std::string Also(absl::string_view more) {
    return more.empty() ? "" : absl::StrCat(",", more);
  }
  std::string Frames(absl::string_view file) const {
    if (file.empty()) return "[]";
    return absl::StrCat("[{\"name\":\"", function_, "\",\"filename\":\"", file,
                        "\",\"line\":1}]");
  }
  void FinishSegment() {
    if (head_.empty()) return;
    (device_of_head() < 0 ? host_segments_ : segments_)
        .push_back(absl::StrCat(head_, absl::StrJoin(blocks_, ","), "]}"));
    head_.clear();
    blocks_.clear();
  }
  int device_of_head() const { return head_.find("\"device\":-") == std::string::npos ? 0 : -1; }

  int64_t device_ = 0;
  uint64_t next_ = 0;
  int64_t time_ = 0;
  std::string function_ = "f";
  std::string head_;
  std::string root_;
  std::vector<std::string> blocks_, segments_, host_segments_, host_entries_;
  std::map<int64_t, std::vector<std::string>> entries_;
};

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_TOOLS_SNAPSHOT_READ_SNAPSHOT_TEXT_H_
