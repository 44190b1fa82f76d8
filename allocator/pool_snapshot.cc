// A pool's rows, and the files that they go into.
#include "allocator/pool_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "allocator/books/ledger.h"
#include "allocator/memory/piece_row.h"
#include "allocator/placement/placement.h"
#include "allocator/reports/history.h"
#include "allocator/reports/snapshot_nodes_writer.h"
#include "allocator/snapshot/byte_sink.h"
#include "allocator/snapshot/dict_maker.h"
#include "allocator/snapshot/json_format.h"
#include "allocator/snapshot/pickle_writer.h"
#include "allocator/snapshot/words.h"
#include "allocator/snapshot/write.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"

namespace graphtree {
namespace {

namespace words = snapshot::words;
using snapshot::DictMaker;
using snapshot::Value;

constexpr int kPickleProtocol = 4;

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

class SnapshotMaker {
 public:
  SnapshotMaker(const Pool& pool, const PoolSnapshotOptions& options)
      : pool_(pool), options_(options), device_(DeviceIndex(pool.arena().device().info().name)) {
    if (options_.nodes == nullptr) return;
    for (const SnapshotNode& node : *options_.nodes) {
      for (BlockId block : node.blocks) node_of_.emplace(Packed(block), &node);
    }
  }

  std::unique_ptr<snapshot::Snapshot> Make() {
    for (Region region : {Region::kStep, Region::kLasting}) {
      for (const Extent& extent : ExtentsOf(pool_.row(region))) AddSegment(region, extent);
    }
    for (int64_t device = 0; device < device_; ++device) snapshot_.gpu.traces.push_back({device});
    AddTrace();
    snapshot_.host.traces.push_back({snapshot::kHostDevice});
    // None stands where the rows of the two sides go.
    snapshot_.root = DictMaker(snapshot_)
                         .Add("segments", Value())
                         .Add("device_traces", Value())
                         .Add("allocator_settings", Settings())
                         .Add("external_annotations", snapshot_.values.List(nullptr, 0))
                         .Add("host_segments", Value())
                         .Add("host_traces", Value())
                         .Add("graphtree", Own())
                         .items();
    return std::move(made_);
  }

 private:
  struct Totals {
    uint64_t live = 0;
    uint64_t requested = 0;
  };

  void AddSegment(Region region, const Extent& extent) {
    const Address base = pool_.row(region).addresses().base;
    const Totals totals = Sum(region, extent);
    snapshot::Segment segment;
    segment.device = device_;
    segment.address = base + extent.begin;
    segment.total_size = extent.end - extent.begin;
    segment.allocated_size = segment.active_size = totals.live;
    segment.requested_size = totals.requested;
    segment.stream = snapshot_.values.Integer(0);
    segment.type = words::kLarge;
    segment.pool = PoolOf();
    segment.expandable = true;
    DictMaker(snapshot_)
        .Columns({words::kDevice, words::kAddress, words::kTotalSize, words::kAllocatedSize,
                  words::kActiveSize, words::kRequestedSize, words::kStream, words::kSegmentType,
                  words::kSegmentPoolId, words::kIsExpandable, words::kFrames, words::kBlocks})
        .Text("region", region == Region::kStep ? "step" : "kept")
        .Bool("parked", extent.parked)
        .KeysInto(segment);
    segment.first_block = snapshot_.blocks.size();
    uint64_t at = extent.begin;
    ForRuns(region, extent, [&](const Run& run, uint64_t begin, uint64_t end) {
      AddBlock(region, run, base, begin, end);
      at = end;
    });
    if (at < extent.end) AddFree(base + at, extent.end - at);
    segment.block_count = snapshot_.blocks.size() - segment.first_block;
    snapshot_.gpu.segments.push_back(segment);
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

  DictMaker BlockKeys() {
    return DictMaker(snapshot_).Columns(
        {words::kAddress, words::kSize, words::kRequestedSize, words::kState, words::kFrames});
  }

  void AddFree(Address address, uint64_t bytes) {
    snapshot::Block block{.address = address, .size = bytes, .state = words::kInactive};
    BlockKeys().KeysInto(block);
    snapshot_.blocks.Push(block);
  }

  void AddBlock(Region region, const Run& run, Address base, uint64_t begin, uint64_t end) {
    if (!run.is_live()) return AddFree(base + begin, end - begin);
    const BlockRecord& record = pool_.ledger().record(run.owner());
    snapshot::Block block{.address = base + begin,
                          .size = end - begin,
                          .requested_size = record.requested_bytes(),
                          .state = words::kActiveAllocated,
                          .stack = StackOf(record.tag, record.note)};
    DictMaker keys = BlockKeys();
    keys.Text("tag", pool_.journal().Text(record.tag))
        .Text("note", pool_.journal().Text(record.note));
    keys.Bool("kept", region == Region::kLasting);
    AddOrigin(pool_.ledger().IdOf(run.owner()), keys);
    keys.KeysInto(block);
    snapshot_.blocks.Push(block);
  }

  void AddOrigin(BlockId block, DictMaker& keys) {
    const auto node = node_of_.find(Packed(block));
    if (node != node_of_.end()) {
      keys.Unsigned("node", node->second->id).Text("function", node->second->function);
    } else if (options_.origin != nullptr) {
      BlockOrigin origin;
      Guarded([&] { origin = options_.origin(*pool_.Describe(block)); }).IgnoreError();
      if (!origin.node.empty()) keys.Text("node", origin.node);
      if (!origin.function.empty()) keys.Text("function", origin.function);
    }
  }

  // PyTorch's viewers group by stack: a tag is its only frame, a note the file's name.
  snapshot::StackId StackOf(WordId tag, WordId note) {
    if (tag == 0 && note == 0) return 0;
    snapshot::Frame frame;
    frame.name = snapshot::InternText(snapshot_, pool_.journal().Text(tag));
    frame.filename = snapshot::InternText(snapshot_, pool_.journal().Text(note));
    DictMaker(snapshot_).Columns({words::kName, words::kFilename, words::kLine}).KeysInto(frame);
    return snapshot_.stacks.Intern({snapshot_.frames.Intern(frame)});
  }

  snapshot::PoolId PoolOf() { return snapshot_.values.Pair(0, pool_.arena().serial()).id(); }

  void AddTrace() {
    std::vector<AddressRange> gone, back;  // by the restore that comes next
    if (options_.with_history) {
      for (const HistoryEntry& entry : pool_.journal().history().Entries()) {
        if (entry.action == HistoryAction::kRestoreGone) {
          gone.push_back({entry.address, entry.bytes});
        } else if (entry.action == HistoryAction::kRestoreBack) {
          back.push_back({entry.address, entry.bytes});
        } else if (entry.action == HistoryAction::kCheckpointRestore) {
          // A restore is one entry, which names the blocks that went and came by it.
          AddEntry(entry, [&](DictMaker& keys) {
            keys.Add("gone", ListOfRanges(std::exchange(gone, {}), snapshot_));
            keys.Add("back", ListOfRanges(std::exchange(back, {}), snapshot_));
          });
        } else {
          AddEntry(entry, [](DictMaker&) {});
        }
      }
    }
    snapshot_.gpu.traces.push_back({device_, 0, snapshot_.entries.size()});
  }

  template <typename AddMore>
  void AddEntry(const HistoryEntry& entry, const AddMore& add_more) {
    const bool is_note = entry.action == HistoryAction::kNote;
    // The counter's rate is measured anew for each entry; time must not run backwards for that.
    last_us_ = std::max(last_us_, pool_.journal().history().MicrosecondsOf(entry.ticks));
    snapshot::TraceEntry row;
    row.addr = entry.address;
    row.size = entry.bytes;
    row.time_us = last_us_;
    row.action = snapshot_.strings.Intern(HistoryActionName(entry.action));
    row.stack = StackOf(entry.tag, entry.note);
    row.compile_context = words::kNotAvailable;
    row.user_metadata =
        snapshot::InternText(snapshot_, pool_.journal().Text(is_note ? entry.note : entry.context));
    row.pool = PoolOf();
    snapshot::EntryDetails details;
    details.stream = snapshot_.values.Integer(entry.stream);
    DictMaker keys(snapshot_);
    keys.Columns({words::kAction,
                  entry.action == HistoryAction::kOutOfMemory ? words::kDeviceFree : words::kAddr,
                  words::kSize, words::kStream, words::kTimeUs, words::kCompileContext,
                  words::kUserMetadata});
    if (entry.internal == kAtAddressMark) {
      details.internal_metadata = words::kMallocWithAddress;
      keys.Columns({words::kInternalMetadata});
    }
    keys.Columns({words::kPoolId, words::kFrames});
    add_more(keys);
    keys.KeysInto(details);
    row.details = snapshot_.details.Intern(details);
    snapshot_.entries.Push(row);
  }

  Value Settings() {
    DictMaker powers(snapshot_);
    for (int power = 0; power < 16; ++power) powers.Integer(absl::StrCat(1 << power), 0);
    return DictMaker(snapshot_)
        .Text("PYTORCH_CUDA_ALLOC_CONF", "")
        .Integer("max_split_size", -1)
        .Add("garbage_collection_threshold", snapshot_.values.Double(0))
        .Bool("expandable_segments", true)
        .Integer("pinned_num_register_threads", 1)
        .Bool("release_lock_on_cudamalloc", false)
        .Bool("pinned_use_cuda_host_register", false)
        .Bool("graph_capture_record_stream_reuse", true)
        .Add("roundup_power2_divisions", powers.Dict())
        .Integer("max_round_threshold", -1)
        .Integer("max_cached_size", -1)
        .Dict();
  }

  Value Own() {
    const PoolStats stats = pool_.Stats();
    DictMaker own(snapshot_);
    own.Text("pool", pool_.arena().name())
        .Unsigned("base", pool_.arena().base())
        .Bool("parked", pool_.parking().is_parked())
        .Unsigned("limit_bytes", stats.limit_bytes)
        .Unsigned("address_bytes", stats.address_bytes)
        .Unsigned("allocations", stats.allocations)
        .Unsigned("frees", stats.frees)
        .Unsigned("peak_live_bytes", stats.peak_live_bytes)
        .Unsigned("peak_requested_bytes", stats.peak_requested_bytes)
        .Unsigned("peak_mapped_bytes", stats.peak_mapped_bytes)
        .Unsigned("checkpoints", stats.checkpoints)
        .Unsigned("restores", stats.restores)
        .Unsigned("out_of_memory", stats.out_of_memory)
        .Unsigned("history_lost", pool_.journal().history().lost())
        .Add("parked_ranges", ListOfRanges(ParkedRanges(), snapshot_));
    if (options_.nodes != nullptr) {
      const auto holder = [this](const SnapshotOutput& output) { return NoteOf(output.block); };
      own.Add("nodes", ListOfNodes(*options_.nodes, holder, snapshot_));
    }
    return own.Dict();
  }

  // To the byte: a segment is marked as parked if a part of it is.
  std::vector<AddressRange> ParkedRanges() const {
    std::vector<AddressRange> ranges;
    for (Region region : {Region::kStep, Region::kLasting}) {
      const PieceRow& row = pool_.row(region);
      for (uint32_t i = 0; i < row.count(); ++i) {
        const Piece& piece = row.piece(i);
        if (piece.is_mapped() || !piece.wake) continue;
        ranges.push_back({row.addresses().base + piece.offset, piece.bytes});
      }
    }
    return ranges;
  }

  // Also of a block that is dead in the books, which replays do not change.
  std::string NoteOf(BlockId block) const {
    const HandleState known = pool_.ledger().Check(block);
    if (known != HandleState::kLive && known != HandleState::kAlreadyFree) return "";
    return std::string(pool_.journal().Text(pool_.ledger().record(block.index).note));
  }

  static uint64_t Packed(BlockId block) { return uint64_t{block.generation} << 32 | block.index; }

  const Pool& pool_;
  const PoolSnapshotOptions& options_;
  const int64_t device_;
  absl::flat_hash_map<uint64_t, const SnapshotNode*> node_of_;
  int64_t last_us_ = 0;
  std::unique_ptr<snapshot::Snapshot> made_ = std::make_unique<snapshot::Snapshot>();
  snapshot::Snapshot& snapshot_ = *made_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<snapshot::Snapshot>> TakePoolSnapshot(
    Pool& pool, const PoolSnapshotOptions& options) {
  std::unique_ptr<snapshot::Snapshot> snapshot;
  GRAPHTREE_RETURN_IF_ERROR(
      pool.NoteSnapshot([&] { snapshot = SnapshotMaker(pool, options).Make(); }));
  return snapshot;
}

absl::StatusOr<std::string> PoolSnapshotJson(Pool& pool, const PoolSnapshotOptions& options) {
  GRAPHTREE_ASSIGN_OR_RETURN(const auto snapshot, TakePoolSnapshot(pool, options));
  std::string json;
  const std::unique_ptr<snapshot::ByteSink> sink = snapshot::ByteSink::To(&json);
  GRAPHTREE_RETURN_IF_ERROR(snapshot::WriteJson(*snapshot, *sink));
  GRAPHTREE_RETURN_IF_ERROR(sink->Commit());
  return json;
}

absl::StatusOr<std::string> PoolSnapshotPickle(const snapshot::Snapshot& rows) {
  std::string bytes;
  const std::unique_ptr<snapshot::ByteSink> sink = snapshot::ByteSink::To(&bytes);
  GRAPHTREE_RETURN_IF_ERROR(snapshot::WritePickle(rows, kPickleProtocol, *sink));
  GRAPHTREE_RETURN_IF_ERROR(sink->Commit());
  return bytes;
}

absl::Status WritePoolSnapshot(Pool& pool, const std::string& path,
                               const PoolSnapshotOptions& options) {
  const std::optional<snapshot::FileKind> kind = snapshot::FileKindOf(path);
  if (!kind.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\": a snapshot's file ends in .pickle, .json or .sqlite"));
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const auto snapshot, TakePoolSnapshot(pool, options));
  return snapshot::WriteSnapshot(*snapshot, *kind, kPickleProtocol, path);
}

}  // namespace graphtree
