// Looking at blocks: streams, notes, counts, and what debugging adds.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/pool.h"
#include "device/base/guarded_call.h"
#include "device/base/status_macros.h"

namespace graphtree {

Block Pool::BlockOf(BlockId id) const {
  const BlockRecord& record = ledger_.record(id.index);
  return {id, {AddressOfQuantum(record.user_offset()), record.requested_bytes()}};
}

// With canaries the guards are written by ops too, so the device must take them for live.
AddressRange Pool::ToldRange(const BlockRecord& record) const {
  if (options_.debug.canaries) return WholeRange(record);
  const uint64_t bytes = uint64_t{record.length - record.guards()} * kQuantum;
  return {AddressOfQuantum(record.user_offset()), bytes};
}

absl::StatusOr<Block> Pool::Find(Address address) const {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  if (reserved_.Contains(address)) {
    const uint32_t quantum = static_cast<uint32_t>((address - reserved_.base) / kQuantum);
    const BlockId id = ledger_.Find(quantum);
    // A guard belongs to nobody.
    if (id.index != kNoId && ledger_.record(id.index).IsInside(quantum)) return BlockOf(id);
  }
  return absl::NotFoundError(absl::StrCat("no live block of pool \"", options_.name,
                                          "\" covers address ", address));
}

absl::StatusOr<Block> Pool::Describe(BlockId id) const {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  const FreeOutcome outcome = ledger_.Check(id);
  if (outcome != FreeOutcome::kFreed) return WhyNotFreed(id, outcome);
  return BlockOf(id);
}

absl::Status Pool::UseOn(BlockId id, Stream& stream) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  const FreeOutcome outcome = ledger_.Check(id);
  if (outcome != FreeOutcome::kFreed) return WhyNotFreed(id, outcome);
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
  ledger_.mutable_record(id.index).streams |= 1u << streams_.NumberOf(stream);
  return absl::OkStatus();
}

absl::Status Pool::CheckStream(const Stream& stream) const {
  if (&stream.device() == &device_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pool \"", options_.name, "\" lies on device ", device_.info().name,
                   ", and the stream is one of device ", stream.device().info().name,
                   " that was opened apart from it"));
}

absl::Status Pool::ForgetStream(Stream& stream) {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  return streams_.Forget(stream);
}

void Pool::ForgetStream(std::unique_ptr<Stream> stream) {
  const ThreadGuard::Entry entry(guard_);
  if (entry.ok() && streams_.Forget(*stream).ok()) return;
  {
    const std::lock_guard<std::mutex> lock(queue_mutex_);
    guests_.push_back(std::move(stream));
  }
  if (!entry.ok() || !entry.is_outermost()) return;
  deferred_.Do("forget a stream", [this] { return ForgetGuests(); }).IgnoreError();
}

absl::Status Pool::ForgetGuests() {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  absl::Status first;
  std::vector<std::unique_ptr<Stream>> left;
  for (std::unique_ptr<Stream>& guest : guests_) {
    const absl::Status status = streams_.Forget(*guest);
    if (!status.ok()) left.push_back(std::move(guest));
    first.Update(status);
  }
  guests_ = std::move(left);
  return first;
}

absl::Status Pool::WaitForStreams() {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  return Quiesce();
}

absl::Status Pool::WaitAndForgetStreams() {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  const absl::Status status = streams_.SynchronizeAndForget();
  const absl::Status copied = copy_stream_ == nullptr ? status : copy_stream_->Synchronize();
  return status.ok() ? copied : status;
}

absl::Status Pool::NoteLaunch(Stream& stream) {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  if (closed_ || closing_) return IsClosed();
  if (parked_) return UsedWhileParked("a graph's launch");
  if (!streams_.IsLast(stream)) GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
  streams_.UsedEverywhereOn(streams_.NumberOf(stream));
  return absl::OkStatus();
}

bool Pool::IsRefused(const ThreadGuard::Entry& entry, absl::string_view call) {
  if (entry.ok()) return false;
  const absl::Status why = ThreadGuard::Entry::TwoThreads();
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (first_refused_call_.ok()) {
    first_refused_call_ = absl::Status(why.code(), absl::StrCat(call, ": ", why.message()));
  }
  return true;
}

absl::Status Pool::first_refused_call() const {
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  return first_refused_call_;
}

void Pool::Shield(AddressRange range) {
  const ThreadGuard::Entry entry(guard_);
  if (!IsRefused(entry, "Shield")) shielded_.push_back(range);
}

void Pool::Unshield() {
  const ThreadGuard::Entry entry(guard_);
  if (!IsRefused(entry, "Unshield")) shielded_.clear();
}

absl::Status Pool::SetKept(BlockId id, bool kept) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  const FreeOutcome outcome = ledger_.Check(id);
  if (outcome != FreeOutcome::kFreed) return WhyNotFreed(id, outcome);
  if (ledger_.record(id.index).region == Region::kStep) {
    ledger_.SetKeep(id, kept);
    return absl::OkStatus();
  }
  if (kept) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      NameOf(ledger_.record(id.index)), " lies in the kept region of pool \"", options_.name,
      "\", which no restore touches: only a block of the step region can be declared otherwise."));
}

WordId Pool::Word(absl::string_view text) {
  const ThreadGuard::Entry entry(guard_);
  WordId word = 0;
  if (IsRefused(entry, "Word")) return word;
  if (words_.Find(text, &word)) return word;
  if (words_.is_full()) words_.Collect(NamedWords());
  return words_.Add(text);
}

WordId Pool::WordAgain(WordId before, absl::string_view text) {
  return words_[before] == text ? before : Word(text);
}

void Pool::SetContext(WordId word) {
  const ThreadGuard::Entry entry(guard_);
  if (!IsRefused(entry, "SetContext")) context_ = word;
}

std::vector<WordId> Pool::NamedWords() const {
  std::vector<WordId> named = {context_, scratch_word_};
  for (uint32_t index = 0; index < ledger_.record_count(); ++index) {
    const BlockRecord& record = ledger_.record(index);
    if (record.in_use) named.insert(named.end(), {record.tag, record.note});
  }
  for (const HistoryEntry& entry : history_.Entries()) {
    named.insert(named.end(), {entry.tag, entry.note, entry.context});
  }
  return named;
}

absl::Status Pool::Annotate(BlockId id, absl::string_view note) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  const FreeOutcome outcome = ledger_.Check(id);
  if (outcome != FreeOutcome::kFreed) return WhyNotFreed(id, outcome);
  BlockRecord& record = ledger_.mutable_record(id.index);
  record.note = Word(note);
  Log(HistoryAction::kNote, record);
  return absl::OkStatus();
}

void Pool::LogEvent(HistoryAction action, uint64_t address, uint64_t bytes,
                     const BlockRecord* record) {
  if (!history_.is_on()) return;
  HistoryEntry entry;
  entry.action = action;
  entry.address = address;
  entry.bytes = bytes;
  entry.context = context_;
  entry.internal = internal_mark_;
  if (record != nullptr) {
    entry.tag = record->tag;
    entry.note = record->note;
    entry.stream = static_cast<uint8_t>(record->streams == 0 ? 0 : __builtin_ctz(record->streams));
  }
  history_.Add(entry);
}

absl::Status Pool::NoteSnapshot(const std::function<void()>& look) {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return ThreadGuard::Entry::TwoThreads();
  LogEvent(HistoryAction::kSnapshot, 0, stats_.live_bytes, nullptr);
  return Guarded(look);
}

PoolStats Pool::Stats() const {
  const ThreadGuard::Entry entry(guard_);
  if (!entry.ok()) return {.is_busy = true};
  PoolStats stats = stats_;
  stats.mapped_bytes = mapped_bytes();
  stats.kept_bytes = uint64_t{ledger_.placement(Region::kKept).live_length()} * kQuantum;
  stats.parked_bytes = parked_bytes();
  stats.limit_bytes = limit_bytes_;
  stats.checkpoints = ledger_.checkpoints().count();
  stats.queued_frees = queued_.blocks().size();
  stats.deferred = deferred_.size();
  stats.bookkeeping_bytes = ledger_.bookkeeping_bytes();
  stats.forgotten_words = words_.forgotten();
  return stats;
}

void Pool::FillHolders(OomReport* report) const {
  std::map<std::string, OomReport::Holder> by_tag;
  for (Region region : {Region::kStep, Region::kKept}) {
    const Placement& placement = ledger_.placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      const Run& run = placement.run(id);
      if (!run.is_live()) continue;
      const std::string tag(words_[ledger_.record(run.owner()).tag]);
      OomReport::Holder& holder = by_tag[tag];
      holder.tag = tag;
      holder.bytes += uint64_t{run.length} * kQuantum;
      ++holder.blocks;
    }
  }
  for (auto& [tag, holder] : by_tag) report->holders.push_back(std::move(holder));
  std::stable_sort(report->holders.begin(), report->holders.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  constexpr size_t kMostHolders = 10;
  if (report->holders.size() > kMostHolders) report->holders.resize(kMostHolders);
}

std::string Pool::NameOf(const BlockRecord& record) const {
  const absl::string_view tag = words_[record.tag];
  return absl::StrCat("block ", tag.empty() ? "" : absl::StrCat("\"", tag, "\" "), "at ",
                      AddressOfQuantum(record.user_offset()), " (", record.requested_bytes(),
                      " bytes)");
}

absl::Status Pool::DebugAllocated(const BlockRecord& record, Stream& stream) {
  if (!debugger_.modes().canaries || record.guard == 0) return absl::OkStatus();
  TellOfLife(record);
  return WriteGuards(record, stream);
}

absl::Status Pool::WriteGuards(const BlockRecord& record, Stream& stream) {
  const AddressRange whole = WholeRange(record);
  const Address user = AddressOfQuantum(record.user_offset());
  GRAPHTREE_RETURN_IF_ERROR(
      debugger_.WriteCanary({whole.base, user - whole.base}, stream));
  return debugger_.WriteCanary({whole.end() - kQuantum, kQuantum}, stream);
}

// While a block was dead its guards may have been other blocks' bytes. What cannot be written now,
// because it would go into somebody's capture, is written by the next check.
void Pool::GuardAgain(const std::vector<uint32_t>& blocks) {
  if (!debugger_.modes().canaries) return;
  for (uint32_t index : blocks) {
    BlockRecord& record = ledger_.mutable_record(index);
    if (record.guard == 0) continue;
    record.unguarded = true;
    if (deferred_.must_wait() || !IsReady(ExtentOf(record))) continue;
    const absl::Status status =
        BehindItsUsers(record, [&](Stream& stream) { return WriteGuards(record, stream); });
    record.unguarded = !status.ok();
  }
}

// Best effort: a block is free whether or not its bytes could be written over.
void Pool::DebugFreed(BlockId id, const BlockRecord& record) {
  if (debugger_.modes().remember_frees) {
    debugger_.RememberFree(id, absl::StrCat("as the ", stats_.frees + 1, "th free of the pool, ",
                                            NameOf(record), ", while the context was \"",
                                            words_[context_], "\""));
  }
  // What is parked has no bytes to poison.
  if (!debugger_.modes().poison_on_free || !IsReady(ExtentOf(record))) return;
  const absl::Status poisoned = BehindItsUsers(
      record, [&](Stream& stream) { return debugger_.Poison(ToldRange(record), stream); });
  if (!poisoned.ok()) ++stats_.unpoisoned_frees;
}

// On one of the streams that used the block: in a capture not each of them can wait for the others.
absl::Status Pool::BehindItsUsers(const BlockRecord& record,
                                  const std::function<absl::Status(Stream&)>& work) {
  absl::Status status =
      absl::FailedPreconditionError("all streams that used the block were forgotten or are gone");
  const LastUse use = {record.streams, streams_.now()};
  for (uint32_t bits = record.streams; bits != 0; bits &= bits - 1) {
    const std::shared_ptr<StreamLife> user = streams_.AnyOf(bits & -bits);
    if (user == nullptr) continue;
    bool is_ordered = false;
    status = user->Use([&](Stream& stream) {
      const uint32_t number = streams_.NumberOf(stream);
      uint32_t users = 0;
      if (streams_.MustOrder(number, use)) {
        GRAPHTREE_RETURN_IF_ERROR(streams_.Order(number, stream, use, &users));
      }
      is_ordered = true;
      return work(stream);
    });
    if (is_ordered) return status;
  }
  return status;
}

absl::Status Pool::CheckCanaries(Stream& stream) {
  const ThreadGuard::Entry entry(guard_);
  if (IsUnusual(entry)) GRAPHTREE_RETURN_IF_ERROR(EnterSlow(entry.kind()));
  if (parked_) return UsedWhileParked("checking canaries");
  if (deferred_.must_wait()) {
    return absl::FailedPreconditionError("canaries are checked by waiting for a kernel; a capture "
                                         "is open. Check after it.");
  }
  if (!debugger_.modes().canaries) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(CheckStream(stream));
  GRAPHTREE_RETURN_IF_ERROR(Quiesce());  // guards are written on their blocks' streams
  std::vector<PoolDebugger::Guard> guards;
  absl::Status status = ListGuards(stream, &guards);
  if (status.ok()) status = debugger_.CheckCanaries(guards, stream);
  // What fails may leave work there that touches guards.
  if (!status.ok()) streams_.UsedEverywhereOn(streams_.NumberOf(stream));
  return status;
}

// Writes those, too, of blocks that came back and could not have them written then.
absl::Status Pool::ListGuards(Stream& stream, std::vector<PoolDebugger::Guard>* guards) {
  for (Region region : {Region::kStep, Region::kKept}) {
    const Placement& placement = ledger_.placement(region);
    for (RunId id = placement.first(); id != kNoId; id = placement.run(id).next) {
      if (!placement.run(id).is_live()) continue;
      BlockRecord& record = ledger_.mutable_record(placement.run(id).owner());
      if (record.guard == 0 || !IsReady(ExtentOf(record))) continue;
      if (record.unguarded) GRAPHTREE_RETURN_IF_ERROR(WriteGuards(record, stream));
      record.unguarded = false;
      const AddressRange whole = WholeRange(record);
      const Address user = AddressOfQuantum(record.user_offset());
      guards->push_back({{whole.base, user - whole.base}, NameOf(record), true});
      guards->push_back({{whole.end() - kQuantum, kQuantum}, NameOf(record), false});
    }
  }
  return absl::OkStatus();
}

}  // namespace graphtree
