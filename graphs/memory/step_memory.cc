// Makes storages over blocks of the pool, and frees the blocks again.
#include "graphs/memory/step_memory.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "allocator/memory/joined_ranges.h"
#include "allocator/placement/run.h"
#include "device/base/status_macros.h"
#include "device/stream.h"
#include "device/stream_life.h"
#include "graphs/memory/device_place.h"

namespace graphtree {

absl::StatusOr<std::unique_ptr<StepMemory>> StepMemory::Create(Device& device, PoolOptions options,
                                                               StorageHome::Explainer explain) {
  options.name = "tree";
  options.serves_recordings = true;
  GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Pool> made, Pool::Create(device, std::move(options)));
  std::shared_ptr<Pool> pool = std::move(made);
  auto caller = std::make_shared<Caller>();
  // The releaser holds the pool, so that it lives as long as the last output.
  const auto release = [pool, caller](uint64_t block, StorageHome::Dropped dropped) {
    const BlockId id = Unpack(block);
    const bool in_call =
        dropped == StorageHome::Dropped::kInCall ||
        caller->thread.load(std::memory_order_relaxed) == std::this_thread::get_id();
    // Outside of calls another thread may be using the pool.
    if (!in_call) return pool->FreeLater(id).IgnoreError();
    if (caller->records && !caller->fresh.contains(block)) return caller->waiting.push_back(id);
    // Describe makes this thread the pool's caller, so that Free frees at once: later, a replay
    // could write to bytes that the device has been told are dead.
    if (pool->Describe(id).ok()) pool->Free(id).IgnoreError();
  };
  const auto used = [pool, caller](const std::shared_ptr<StreamLife>& stream) {
    caller->others.Add(stream);
    pool->UsedLaterOn(stream);
  };
  const AddressRange step = pool->arena().range_of(Region::kStep);
  const auto is_parked = [pool] {
    return pool->deferred().is_parking() || pool->parking().has_parked();
  };
  const auto keep_awake = [pool](bool is_kept) {
    is_kept ? pool->deferred().ForbidParking() : pool->deferred().AllowParking();
  };
  StorageHome* home = StorageHome::Make(
      release, std::move(explain), {DevicePlaceOf(device), step, used, is_parked, keep_awake});
  return std::unique_ptr<StepMemory>(
      new StepMemory(std::move(pool), home, std::move(caller)));
}

// The pool itself lives as long as the last output: the releaser holds it.
StepMemory::~StepMemory() {
  pool_->streams().WaitAndForgetEnded().IgnoreError();
  home_->Close();
}

StepMemory::StaysAwake::StaysAwake(StepMemory& memory, absl::Span<const Value> inputs)
    : memory_(memory), no_parking_(memory.pool_->deferred()) {
  memory.KeepAwake(inputs);
}

StepMemory::StaysAwake::~StaysAwake() { memory_.caller_->awake.Clear(); }

void StepMemory::KeepAwake(absl::Span<const Value> used) {
  for (const Value& value : used) {
    if (value.storage() != nullptr) KeepAwake(*value.storage());
  }
}

StepMemory::Recording::Recording(StepMemory& memory) : memory_(memory) {
  memory_.caller_->records = true;
}

void StepMemory::Recording::End() {
  Caller& caller = *memory_.caller_;
  caller.records = false;
  caller.fresh.clear();
  for (const BlockId id : std::exchange(caller.waiting, {})) {
    if (memory_.pool_->Describe(id).ok()) memory_.pool_->Free(id).IgnoreError();
  }
}

absl::StatusOr<Storage*> StepMemory::Allocate(Region region, WordId tag, uint64_t bytes,
                                              Stream& stream, uint64_t alignment) {
  BlockOptions options;
  options.alignment = alignment;
  options.region = region;
  options.tag = tag;
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, pool_->Allocate(bytes, stream, options));
  if (caller_->records) caller_->fresh.insert(Pack(block.id));
  return home_->New(block.range, StorageState::kOwning, Pack(block.id));
}

absl::Status StepMemory::MayKeep(uint64_t bytes, uint64_t limit) const {
  const uint64_t held = home_->kept_bytes();
  if (limit == 0 || held + bytes <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "an output of ", bytes, " bytes is to be kept, but ", held, " bytes are kept already and ",
      "the limit is ", limit, " (TreeOptions::kept_bytes); drop kept outputs, or raise it"));
}

absl::Status StepMemory::CountAsKept(Storage* storage, uint64_t limit) {
  if (storage->kept) return absl::OkStatus();
  GRAPHTREE_RETURN_IF_ERROR(MayKeep(storage->range().bytes, limit));
  home_->CountAsKept(storage);
  return absl::OkStatus();
}

absl::StatusOr<Storage*> StepMemory::AllocateKept(WordId tag, uint64_t bytes, Stream& stream,
                                                  uint64_t limit) {
  GRAPHTREE_RETURN_IF_ERROR(MayKeep(bytes, limit));
  BlockOptions options;
  options.region = Region::kLasting;
  options.tag = tag;
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, pool_->Allocate(bytes, stream, options));
  if (caller_->records) caller_->fresh.insert(Pack(block.id));
  return home_->NewKept(block.range, Pack(block.id));
}

absl::StatusOr<CheckpointId> StepMemory::Take() { return pool_->checkpoints().Take(); }

absl::Status StepMemory::Restore(CheckpointId checkpoint, absl::Span<const BlockId> dying) {
  RestoreOptions options;
  options.dying = dying;
  return pool_->checkpoints().Restore(checkpoint, options);
}

// The pool may have dropped the checkpoint itself.
void StepMemory::Drop(CheckpointId checkpoint) {
  pool_->checkpoints().Drop(checkpoint).IgnoreError();
}

InputRole StepMemory::RoleOf(const Value& input, bool is_static) const {
  if (input.is_none()) return InputRole::kNone;
  if (input.is_integer()) return InputRole::kInteger;
  if (input.is_opaque()) return InputRole::kOpaque;
  if (is_static) return InputRole::kStatic;
  const bool on_path = input.storage() != nullptr && InStepRegion(input.storage()->range());
  return on_path ? InputRole::kManaged : InputRole::kCopied;
}

absl::StatusOr<Storage*> StepAllocator::Place(uint64_t bytes, uint64_t room, uint64_t alignment,
                                              Stream& stream) {
  if (make_room_) make_room_();
  absl::StatusOr<Storage*> storage =
      memory_->Allocate(region_, tag_, bytes + room, stream, alignment);
  if (!storage.ok() && room > 0) {
    storage = memory_->Allocate(region_, tag_, bytes, stream, alignment);
  }
  if (storage.ok()) used_.push_back((*storage)->range());
  if (!storage.ok() && region_ != Region::kLasting) {
    storage = memory_->Allocate(Region::kLasting, tag_, bytes, stream, alignment);
    spilled_.push_back(storage.ok() ? (*storage)->range() : AddressRange());
  }
  if (storage.ok() && paint_.has_value()) {
    const AddressRange range = (*storage)->range();
    stream.Fill(range.base, *paint_, 1, range.bytes).IgnoreError();
  }
  return storage;
}

absl::StatusOr<Storage*> StepAllocator::Make(uint64_t bytes, uint64_t room, uint64_t alignment,
                                             Stream& stream) {
  absl::StatusOr<Storage*> storage = Place(bytes, room, alignment, stream);
  if (storage.ok()) made_.push_back({*storage, (*storage)->serial});
  return storage;
}

// The storage is a view, so that its block is freed when the op is launched, and not when a handle
// goes.
absl::StatusOr<Storage*> StepAllocator::Scratch(uint64_t bytes, Stream& stream) {
  absl::StatusOr<Storage*> storage = Place(bytes, 0, 0, stream);
  if (!storage.ok()) return storage;
  (*storage)->set_state(StorageState::kView);
  (*storage)->producer = function_;
  (*storage)->output = kScratch;
  return storage;
}

// The block may be gone already, if a capture's scope was rolled back meanwhile.
void StepAllocator::EndScratch(Storage* scratch) {
  scratch->set_state(StorageState::kStale);
  memory_->pool().Free(Unpack(scratch->block)).IgnoreError();
}

// A storage that owns no block needs nothing: the owner of the memory orders the work. Another
// tree's storage is given away by that tree, which is told of the work so far: in the recording
// that follows the body forks the same stream off, and it captures.
absl::Status StepAllocator::UseOn(Storage* storage, Stream& stream) {
  if (storage == nullptr) return absl::OkStatus();
  if (memory_->IsOthers(*storage)) {
    GRAPHTREE_ASSIGN_OR_RETURN(const CaptureInfo capture, AskCapture(stream));
    if (capture.state != CaptureState::kNone) return absl::OkStatus();
    GRAPHTREE_ASSIGN_OR_RETURN(std::unique_ptr<Event> event, stream.device().NewEvent({}));
    GRAPHTREE_ASSIGN_OR_RETURN(const std::shared_ptr<StreamLife> work,
                               StreamLife::OfWorkSoFar(stream, std::move(event)));
    storage->owner()->NoteUsedOn(work);
    return absl::OkStatus();
  }
  if (storage->state() != StorageState::kOwning) return absl::OkStatus();
  return memory_->pool().UseOn(Unpack(storage->block), stream);
}

void StepMemory::HoldOfOthers(const Tensor& tensor, Values* held) const {
  const Storage* const storage = tensor.storage();
  if (storage == nullptr || !IsOthers(*storage)) return;
  if (HandlesIn(*held, storage) == 0) held->push_back(tensor);
}

void StepMemory::TellOwners(absl::Span<const Value> values,
                            const std::shared_ptr<StreamLife>& stream) const {
  if (values.empty()) return;  // of most parts
  const StorageOwner* told = home_;
  for (const Value& value : values) {
    if (!value.is_tensor() || value.storage() == nullptr) continue;
    StorageOwner* const owner = value.storage()->owner();
    if (owner == told || owner == home_) continue;
    owner->NoteUsedOn(stream);
    told = owner;
  }
}

// Does nothing under capture: the recording holds such tensors, and the captured stream is not the
// one that the graph will run on. Where the stream cannot say, the end of the run tells the owner,
// as it does of all runs that are no captures.
void StepAllocator::NoteUse(const Storage& storage, Stream& stream) {
  if (!memory_->IsOthers(storage)) return;
  const absl::StatusOr<CaptureInfo> capture = AskCapture(stream);
  if (!capture.ok() || capture->state != CaptureState::kNone) return;
  storage.owner()->NoteUsedOn(stream.life());
}

void StepAllocator::LeftBeside(const std::shared_ptr<StreamLife>& fork, const absl::Status& why) {
  memory_->stray_forks().Add(fork, why);
  memory_->TellOwners(held_, fork);
}

absl::Status StepAllocator::Pin(const Tensor& tensor) {
  const AddressRange range = tensor.raw_bytes();
  if (range.empty()) return absl::OkStatus();
  if (tensor.storage() != nullptr && memory_->IsOthers(*tensor.storage())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pinning ", range.bytes, " bytes of another tree's memory; let that tree's function pin "
        "them"));
  }
  if (!memory_->IsOwn(range)) return absl::OkStatus();
  return memory_->pool().memory().PinForGood(range);
}

StorageHolds StepAllocator::Held() const {
  StorageHolds held;
  for (const Made& made : made_) {
    if (made.storage->serial == made.serial) held.Add(made.storage);
  }
  return held;
}

bool StepAllocator::HasMade(AddressRange range) const {
  const auto has = [range](AddressRange made) { return made.Contains(range); };
  return absl::c_any_of(used_, has) || absl::c_any_of(spilled_, has);
}

std::vector<AddressRange> StepAllocator::Used() const {
  std::vector<AddressRange> blocks = used_;
  for (AddressRange& range : blocks) {
    // A block of no bytes has a quantum, too.
    range.bytes = std::max<uint64_t>(1, (range.bytes + kQuantum - 1) / kQuantum) * kQuantum;
  }
  std::vector<AddressRange> joined = JoinedRanges(std::move(blocks));
  joined.shrink_to_fit();
  return joined;
}

}  // namespace graphtree
