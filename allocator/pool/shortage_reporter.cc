// Filling in the parts of an out-of-memory report.
#include "allocator/pool/shortage_reporter.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "allocator/placement/placement.h"

namespace graphtree {
namespace {

const char* NameOfRegion(Region region) { return region == Region::kStep ? "step" : "lasting"; }

}  // namespace

ShortageReporter::ShortageReporter(const Arena& arena, Door& door, const Ledger& ledger,
                                   const Growth& growth, Journal& journal, Tally& tally)
    : arena_(arena),
      door_(door),
      ledger_(ledger),
      growth_(growth),
      journal_(journal),
      tally_(tally) {}

absl::Status ShortageReporter::Report(const BlockRequest& request, absl::string_view why,
                                      uint64_t missing, const absl::Status& cause) {
  OomReport report;
  report.pool = arena_.name();
  report.region = NameOfRegion(request.region);
  report.why = std::string(why);
  report.cause = std::string(cause.message());
  report.requested = request.bytes;
  report.missing = missing;
  FillBooks(request, &report);
  FillFree(request.region, &report);
  FillDevice(&report);
  Advise(&report);
  ++tally_.counts().out_of_memory;
  journal_.LogRange(HistoryAction::kOutOfMemory, {report.device_free, request.bytes});
  last_ = std::move(report);
  return absl::ResourceExhaustedError(last_.Text());
}

void ShortageReporter::FillBooks(const BlockRequest& request, OomReport* report) const {
  report->live = tally_.counts().live_bytes;
  report->mapped = growth_.mapped_bytes();
  report->limit = growth_.LimitNow();
  report->addresses = arena_.region_bytes();
  report->addresses_used = uint64_t{ledger_.placement(request.region).end()} * kQuantum;
  for (BlockId id : door_.waiting().frees().blocks()) {
    if (ledger_.Check(id) != HandleState::kLive) continue;
    report->free.queued_frees += uint64_t{ledger_.record(id.index).length} * kQuantum;
  }
  report->holders = Holders();
}

void ShortageReporter::FillFree(Region region, OomReport* report) const {
  const Placement& placement = ledger_.placement(region);
  const PieceRow& row = growth_.row(region);
  for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
    const Run& run = placement.run(id);
    if (run.is_live()) continue;
    const uint64_t begin = uint64_t{run.offset} * kQuantum;
    const uint64_t bytes = uint64_t{run.length} * kQuantum;
    report->free.between_blocks += row.MappedIn(begin, begin + bytes);
    report->free.largest_run = std::max(report->free.largest_run, bytes);
  }
  const std::vector<uint8_t> uses = growth_.PieceUses(region);
  const uint64_t end_of_live = uint64_t{placement.end()} * kQuantum;
  for (uint32_t i = 0; i < row.count(); ++i) {
    const Piece& piece = row.piece(i);
    if (!piece.is_mapped()) {
      if ((uses[i] & Growth::kUsedByLive) != 0) report->free.parked += piece.bytes;
      continue;
    }
    const uint64_t end = piece.offset + piece.bytes;
    if (end > end_of_live) report->free.behind_blocks += end - std::max(end_of_live, piece.offset);
    if (uses[i] == Growth::kUsedByCheckpoint) report->free.held_by_checkpoints += piece.bytes;
  }
  const Region other = region == Region::kStep ? Region::kLasting : Region::kStep;
  const uint64_t mapped = growth_.row(other).mapped_bytes();
  report->free.other_region =
      mapped - std::min(mapped, uint64_t{ledger_.placement(other).live_length()} * kQuantum);
}

void ShortageReporter::FillDevice(OomReport* report) const {
  const auto info = arena_.memory().Info();
  if (!info.ok()) return;
  report->device_total = info->total_bytes;
  report->device_free = info->free_bytes;
  const uint64_t used = info->total_bytes - std::min(info->free_bytes, info->total_bytes);
  report->held_by_others = used - std::min(used, report->mapped);
}

std::vector<OomReport::Holder> ShortageReporter::Holders() const {
  std::map<std::string, OomReport::Holder> by_tag;
  for (Region region : {Region::kStep, Region::kLasting}) {
    const Placement& placement = ledger_.placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      const Run& run = placement.run(id);
      if (!run.is_live()) continue;
      const std::string tag(journal_.Text(ledger_.record(run.owner()).tag));
      OomReport::Holder& holder = by_tag[tag];
      holder.tag = tag;
      holder.bytes += uint64_t{run.length} * kQuantum;
      ++holder.blocks;
    }
  }
  std::vector<OomReport::Holder> holders;
  for (auto& [tag, holder] : by_tag) holders.push_back(std::move(holder));
  std::stable_sort(holders.begin(), holders.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  constexpr size_t kMostHolders = 10;
  if (holders.size() > kMostHolders) holders.resize(kMostHolders);
  return holders;
}

}  // namespace graphtree
