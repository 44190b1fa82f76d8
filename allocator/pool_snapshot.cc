// Writing a pool down.
#include "allocator/pool_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "allocator/history.h"
#include "allocator/ledger.h"
#include "allocator/piece_row.h"
#include "allocator/placement.h"
#include "allocator/snapshot/read.h"
#include "allocator/snapshot/write.h"
#include "device/base/json_writer.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

// Bytes [begin, end) of a region, all mapped or parked.
struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool parked = false;
};

std::vector<Extent> ExtentsOf(const PieceRow& row) {
  std::vector<Extent> extents;
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    if (!piece.is_mapped() && !piece.wake) continue;
    if (extents.empty() || extents.back().end != piece.offset) {
      extents.push_back({piece.offset, piece.offset, false});
    }
    extents.back().end = piece.offset + piece.bytes;
    extents.back().parked = extents.back().parked || !piece.is_mapped();
  }
  return extents;
}

int64_t DeviceIndex(const std::string& name) {
  int64_t index = 0;
  return absl::SimpleAtoi(absl::StripPrefix(name, "cuda:"), &index) ? index : 0;
}

class SnapshotWriter {
 public:
  SnapshotWriter(const Pool& pool, const PoolSnapshotOptions& options)
      : pool_(pool), options_(options), device_(DeviceIndex(pool.arena().device().info().name)) {
    if (options_.nodes == nullptr) return;
    for (const SnapshotNode& node : *options_.nodes) {
      for (BlockId block : node.blocks) node_of_.emplace(Packed(block), &node);
    }
  }

  std::string Write() {
    json_.BeginObject();
    json_.Key("segments").BeginArray();
    for (Region region : {Region::kStep, Region::kKept}) {
      for (const Extent& extent : ExtentsOf(pool_.row(region))) WriteSegment(region, extent);
    }
    json_.EndArray();
    json_.Key("device_traces").BeginArray();
    for (int64_t device = 0; device < device_; ++device) json_.BeginArray().EndArray();
    WriteTrace();
    json_.EndArray();
    WriteSettings();
    json_.Key("external_annotations").BeginArray().EndArray();
    json_.Key("host_segments").BeginArray().EndArray();
    json_.Key("host_traces").BeginArray().EndArray();
    WriteOwn();
    json_.EndObject();
    return json_.text();
  }

 private:
  struct Totals {
    uint64_t live = 0;
    uint64_t requested = 0;
  };

  void WriteSegment(Region region, const Extent& extent) {
    const Address base = pool_.row(region).addresses().base;
    const Totals totals = Sum(region, extent);
    json_.BeginObject().Key("device").Integer(device_);
    json_.Key("address").Unsigned(base + extent.begin);
    json_.Key("total_size").Unsigned(extent.end - extent.begin);
    json_.Key("allocated_size").Unsigned(totals.live).Key("active_size").Unsigned(totals.live);
    json_.Key("requested_size").Unsigned(totals.requested);
    json_.Key("stream").Integer(0).Key("segment_type").String("large");
    json_.Key("segment_pool_id");
    WritePoolId();
    json_.Key("is_expandable").Bool(true).Key("frames").BeginArray().EndArray();
    json_.Key("blocks").BeginArray();
    uint64_t at = extent.begin;
    ForRuns(region, extent, [&](const Run& run, uint64_t begin, uint64_t end) {
      WriteBlock(region, run, base, begin, end);
      at = end;
    });
    if (at < extent.end) WriteFree(base + at, extent.end - at);
    json_.EndArray();
    json_.Key("region").String(region == Region::kStep ? "step" : "kept");
    json_.Key("parked").Bool(extent.parked).EndObject();
  }

  // The runs that reach into the extent, clipped to it.
  template <typename Visit>
  void ForRuns(Region region, const Extent& extent, Visit visit) const {
    const Placement& placement = pool_.ledger().placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      const Run& run = placement.run(id);
      const uint64_t begin = std::max(uint64_t{run.offset} * kQuantum, extent.begin);
      const uint64_t end = std::min(uint64_t{run.end()} * kQuantum, extent.end);
      if (begin < end) visit(run, begin, end);
    }
  }

  Totals Sum(Region region, const Extent& extent) const {
    Totals totals;
    ForRuns(region, extent, [&](const Run& run, uint64_t begin, uint64_t end) {
      if (!run.is_live()) return;
      totals.live += end - begin;
      totals.requested += pool_.ledger().record(run.owner()).requested_bytes();
    });
    return totals;
  }

  void WriteFree(Address address, uint64_t bytes) {
    json_.BeginObject().Key("address").Unsigned(address).Key("size").Unsigned(bytes);
    json_.Key("requested_size").Integer(0).Key("state").String("inactive");
    json_.Key("frames").BeginArray().EndArray().EndObject();
  }

  void WriteBlock(Region region, const Run& run, Address base, uint64_t begin, uint64_t end) {
    if (!run.is_live()) return WriteFree(base + begin, end - begin);
    const BlockRecord& record = pool_.ledger().record(run.owner());
    json_.BeginObject().Key("address").Unsigned(base + begin).Key("size").Unsigned(end - begin);
    json_.Key("requested_size").Unsigned(record.requested_bytes());
    json_.Key("state").String("active_allocated");
    WriteFrames(record.tag, record.note);
    json_.Key("tag")
        .String(pool_.journal().Text(record.tag))
        .Key("note")
        .String(pool_.journal().Text(record.note));
    json_.Key("kept").Bool(region == Region::kKept || record.keep);
    WriteOrigin(pool_.ledger().IdOf(run.owner()));
    json_.EndObject();
  }

  void WriteOrigin(BlockId block) {
    const auto node = node_of_.find(Packed(block));
    if (node != node_of_.end()) {
      json_.Key("node").Unsigned(node->second->id);
      json_.Key("function").String(node->second->function);
    } else if (options_.origin != nullptr) {
      BlockOrigin origin;
      Guarded([&] { origin = options_.origin(*pool_.Describe(block)); }).IgnoreError();
      if (!origin.node.empty()) json_.Key("node").String(origin.node);
      if (!origin.function.empty()) json_.Key("function").String(origin.function);
    }
  }

  // PyTorch's viewers group by stack: a tag is its only frame, a note the file's name.
  void WriteFrames(WordId tag, WordId note) {
    json_.Key("frames").BeginArray();
    if (tag != 0 || note != 0) {
      json_.BeginObject().Key("name").String(pool_.journal().Text(tag));
      json_.Key("filename").String(pool_.journal().Text(note)).Key("line").Integer(0).EndObject();
    }
    json_.EndArray();
  }

  void WritePoolId() {
    json_.BeginArray().Integer(0).Unsigned(pool_.arena().serial()).EndArray();
  }

  void WriteTrace() {
    json_.BeginArray();
    if (options_.with_history) {
      for (const HistoryEntry& entry : pool_.journal().history().Entries()) {
        if (entry.action == HistoryAction::kRestoreGone) {
          gone_.push_back({entry.address, entry.bytes});
        } else if (entry.action == HistoryAction::kRestoreBack) {
          back_.push_back({entry.address, entry.bytes});
        } else {
          WriteEntry(entry);
        }
      }
    }
    json_.EndArray();
  }

  // A restore is one entry, which names the blocks that went and came by it.
  void WriteMoved(absl::string_view key, std::vector<AddressRange>& moved) {
    json_.Key(key).BeginArray();
    for (const AddressRange& block : moved) {
      json_.BeginArray().Unsigned(block.base).Unsigned(block.bytes).EndArray();
    }
    json_.EndArray();
    moved.clear();
  }

  void WriteEntry(const HistoryEntry& entry) {
    const bool is_note = entry.action == HistoryAction::kNote;
    json_.BeginObject().Key("action").String(HistoryActionName(entry.action));
    json_.Key(entry.action == HistoryAction::kOutOfMemory ? "device_free" : "addr");
    json_.Unsigned(entry.address).Key("size").Unsigned(entry.bytes);
    json_.Key("stream").Integer(entry.stream);
    // The counter's rate is measured anew for each entry; time must not run backwards for that.
    last_us_ = std::max(last_us_, pool_.journal().history().MicrosecondsOf(entry.ticks));
    json_.Key("time_us").Integer(last_us_);
    json_.Key("compile_context").String("N/A");
    json_.Key("user_metadata").String(pool_.journal().Text(is_note ? entry.note : entry.context));
    if (entry.internal == kAtAddressMark)
      json_.Key("internal_metadata").String("mallocWithAddress");
    json_.Key("pool_id");
    WritePoolId();
    WriteFrames(entry.tag, entry.note);
    if (entry.action == HistoryAction::kCheckpointRestore) {
      WriteMoved("gone", gone_);
      WriteMoved("back", back_);
    }
    json_.EndObject();
  }

  void WriteSettings() {
    json_.Key("allocator_settings").BeginObject();
    json_.Key("PYTORCH_CUDA_ALLOC_CONF").String("").Key("max_split_size").Integer(-1);
    json_.Key("garbage_collection_threshold").Raw("0.0");
    json_.Key("expandable_segments").Bool(true).Key("pinned_num_register_threads").Integer(1);
    json_.Key("release_lock_on_cudamalloc").Bool(false);
    json_.Key("pinned_use_cuda_host_register").Bool(false);
    json_.Key("graph_capture_record_stream_reuse").Bool(true);
    json_.Key("roundup_power2_divisions").BeginObject();
    for (int power = 0; power < 16; ++power) json_.Key(absl::StrCat(1 << power)).Integer(0);
    json_.EndObject();
    json_.Key("max_round_threshold").Integer(-1).Key("max_cached_size").Integer(-1).EndObject();
  }

  void WriteOwn() {
    const PoolStats stats = pool_.Stats();
    json_.Key("graphtree").BeginObject().Key("pool").String(pool_.arena().name());
    json_.Key("base").Unsigned(pool_.arena().base()).Key("parked").Bool(pool_.is_parked());
    json_.Key("limit_bytes").Unsigned(stats.limit_bytes);
    json_.Key("address_bytes").Unsigned(stats.address_bytes);
    json_.Key("allocations").Unsigned(stats.allocations).Key("frees").Unsigned(stats.frees);
    json_.Key("peak_live_bytes").Unsigned(stats.peak_live_bytes);
    json_.Key("peak_requested_bytes").Unsigned(stats.peak_requested_bytes);
    json_.Key("peak_mapped_bytes").Unsigned(stats.peak_mapped_bytes);
    json_.Key("checkpoints").Unsigned(stats.checkpoints).Key("restores").Unsigned(stats.restores);
    json_.Key("out_of_memory").Unsigned(stats.out_of_memory);
    json_.Key("history_lost").Unsigned(pool_.journal().history().lost());
    WriteParked();
    if (options_.nodes != nullptr) {
      json_.Key("nodes");
      WriteSnapshotNodes(*options_.nodes, [this](const SnapshotOutput& output) {
        return NoteOf(output.block);
      }, json_);
    }
    json_.EndObject();
  }

  // To the byte: a segment is marked as parked if a part of it is.
  void WriteParked() {
    json_.Key("parked_ranges").BeginArray();
    for (Region region : {Region::kStep, Region::kKept}) {
      const PieceRow& row = pool_.row(region);
      for (uint32_t i = 0; i < row.count(); ++i) {
        const Piece& piece = row.piece(i);
        if (piece.is_mapped() || !piece.wake) continue;
        json_.BeginArray().Unsigned(row.addresses().base + piece.offset);
        json_.Unsigned(piece.bytes).EndArray();
      }
    }
    json_.EndArray();
  }

  // Also of a block that is dead in the books, which replays do not change.
  std::string NoteOf(BlockId block) const {
    const FreeOutcome known = pool_.ledger().Check(block);
    if (known != FreeOutcome::kFreed && known != FreeOutcome::kAlreadyFree) return "";
    return std::string(pool_.journal().Text(pool_.ledger().record(block.index).note));
  }

  static uint64_t Packed(BlockId block) {
    return uint64_t{block.generation} << 32 | block.index;
  }

  const Pool& pool_;
  const PoolSnapshotOptions& options_;
  const int64_t device_;
  absl::flat_hash_map<uint64_t, const SnapshotNode*> node_of_;
  int64_t last_us_ = 0;
  std::vector<AddressRange> gone_, back_;  // by the restore that comes next
  JsonWriter json_;
};

}  // namespace

absl::StatusOr<std::string> PoolSnapshotJson(Pool& pool, const PoolSnapshotOptions& options) {
  std::string json;
  GRAPHTREE_RETURN_IF_ERROR(
      pool.NoteSnapshot([&] { json = SnapshotWriter(pool, options).Write(); }));
  return json;
}

absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> TakePoolSnapshot(
    Pool& pool, const PoolSnapshotOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::string json, PoolSnapshotJson(pool, options));
  return snapshot::ParseSnapshot(json);
}

absl::Status WritePoolSnapshot(Pool& pool, const std::string& path,
                               const PoolSnapshotOptions& options) {
  const std::optional<snapshot::FileKind> kind = snapshot::FileKindOf(path);
  if (!kind.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", path, "\": a snapshot's file ends in .pickle, .json or .sqlite"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const auto snapshot, TakePoolSnapshot(pool, options));
  constexpr int kProtocol = 4;
  return snapshot::WriteSnapshot(*snapshot, *kind, kProtocol, path);
}

}  // namespace graphtree
