// Takes blocks of the lasting region, and notes who holds each.
#include "graphs/memory/foreign_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "device/base/check.h"
#include "device/base/insist.h"
#include "device/base/status_macros.h"
#include "graphs/inputs/pointer_slots.h"

namespace graphtree {

struct ForeignMemory::Holding {
  ForeignMemory* memory;
  std::vector<Address> pieces;
  ~Holding() { memory->LetGo(pieces); }
};

ForeignMemory::Ptr ForeignMemory::Make(std::shared_ptr<Pool> pool,
                                       std::function<bool()> is_anothers) {
  return std::unique_ptr<ForeignMemory, Closer>(
      new ForeignMemory(std::move(pool), std::move(is_anothers)));
}

ForeignMemory::ForeignMemory(std::shared_ptr<Pool> pool, std::function<bool()> is_anothers)
    : ForeignAllocator(pool.get()),
      owner_(std::move(pool)),
      is_anothers_(std::move(is_anothers)),
      tag_(owner_->journal().Word("foreign")) {}

absl::Status ForeignMemory::MayUsePool() const {
  if (has_stopped_ || !is_anothers_()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "foreign code on one thread asks for memory of a tree while a call of it runs on another: "
      "let it take its memory between calls, or from an allocator of its own");
}

void ForeignMemory::Close() {
  bool is_over = false;
  {
    const std::lock_guard<std::recursive_mutex> lock(mutex_);
    has_stopped_ = true;
    closed_ = true;
    is_over = IsOver();
  }
  if (is_over) Leave();
}

// Only the thread that let go last comes here. The pool goes after everything else, as adopted
// streams leave it.
void ForeignMemory::Leave() {
  const std::shared_ptr<Pool> pool = owner_;
  const std::unique_ptr<ForeignMemory> self(this);
}

void ForeignMemory::BeginRecording() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  recording_ = true;
}

std::shared_ptr<void> ForeignMemory::Commit(const std::vector<const Graph*>& graphs) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  recording_ = false;
  if (pieces_.empty()) return nullptr;
  for (const Graph* graph : graphs) NotePointedTo(*graph);
  if (open_.empty()) return nullptr;
  for (Address address : open_) {
    Piece& piece = pieces_[address];
    piece.fresh = false;
    ++piece.recordings;
  }
  return std::shared_ptr<Holding>(new Holding{this, std::exchange(open_, {})});
}

// Notes the blocks that the graph's ops may point to. An op that does not show what it touches may
// point to all.
void ForeignMemory::NotePointedTo(const Graph& graph) {
  std::vector<Address> addresses;
  std::vector<InputRange> ranges;
  for (const auto& [address, piece] : pieces_) {
    if (piece.lost) continue;
    ranges.push_back({static_cast<uint32_t>(ranges.size()), piece.range});
    addresses.push_back(address);
  }
  const std::vector<uint32_t> found = HiddenPointers(graph.ops(), {}, {}, ranges);
  graph.ForgetOps();
  for (uint32_t i : found) NoteOpen(addresses[i]);
}

void ForeignMemory::NoteOpen(Address address) {
  if (std::find(open_.begin(), open_.end(), address) == open_.end()) open_.push_back(address);
}

absl::Status ForeignMemory::RolledBack(Stream& stream) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  if (!recording_) return absl::OkStatus();
  recording_ = false;
  absl::Status first;
  const std::vector<Address> open = std::exchange(open_, {});
  // Blocks are taken again before others are freed, so that nothing changes at their addresses.
  for (Address address : open) {
    Piece& piece = pieces_[address];
    if (!piece.fresh) continue;
    piece.fresh = false;
    if (piece.in_use) {
      first.Update(Retake(&piece, stream));
    } else {
      pieces_.erase(address);
    }
  }
  for (Address address : open) {
    const auto found = pieces_.find(address);
    if (found == pieces_.end() || found->second.in_use) continue;
    if (!found->second.lost) first.Update(UseAgain(found->second));
    first.Update(Release(address));
  }
  return first;
}

absl::Status ForeignMemory::GivenUp() {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  recording_ = false;
  absl::Status first;
  for (Address address : std::exchange(open_, {})) {
    Piece& piece = pieces_[address];
    // The pool may still roll back later, and then frees the block.
    piece.lost |= std::exchange(piece.fresh, false);
    first.Update(Release(address));
  }
  return first;
}

// Tells the pool that the piece's stream uses the block. It knows of a stream that is gone already.
absl::Status ForeignMemory::UseAgain(const Piece& piece) {
  if (piece.stream->has_ended()) return absl::OkStatus();
  return Insist([&] {
    return piece.stream->Use([&](Stream& stream) { return pool_.UseOn(piece.id, stream); });
  });
}

absl::Status ForeignMemory::Retake(Piece* piece, Stream& other) {
  BlockOptions options;
  options.tag = tag_;
  const auto retake = [&](Stream& stream) {
    const absl::StatusOr<Block> block =
        pool_.AllocateAt(piece->range.base, piece->range.bytes, stream, options);
    if (block.ok()) piece->id = block->id;
    return block.status();
  };
  absl::Status retaken = Insist([&] { return piece->stream->Use(retake); });
  if (!retaken.ok() && piece->stream->has_ended()) {
    retaken = AwaitOnHost(*piece->stream, other.device());
    if (retaken.ok()) retaken = Insist([&] { return retake(other); });
    piece->stream = other.life();
  }
  if (retaken.ok()) return retaken;
  piece->lost = true;
  return absl::Status(retaken.code(),
                      absl::StrCat("foreign code holds ", piece->range.bytes,
                                   " bytes of a recording that failed, and they cannot be taken "
                                   "again: ", retaken.message()));
}

uint64_t ForeignMemory::held_bytes() const {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [address, piece] : pieces_) {
    if (piece.recordings > 0) bytes += piece.range.bytes;
  }
  return bytes;
}

absl::StatusOr<Block> ForeignMemory::NewBlock(uint64_t bytes, Stream& stream) {
  BlockOptions options;
  options.region = Region::kLasting;
  options.tag = tag_;
  return pool_.Allocate(bytes, stream, options);
}

// Takes freed memory of the same recording again if it is no more than twice as large.
absl::StatusOr<Address> ForeignMemory::Take(uint64_t bytes, Stream& stream) {
  if (has_stopped_) {
    return absl::FailedPreconditionError(
        absl::StrCat("foreign code asks for ", bytes, " bytes of a tree that is closed or lost"));
  }
  GRAPHTREE_RETURN_IF_ERROR(MayUsePool());
  for (Address address : open_) {
    Piece& piece = pieces_[address];
    if (piece.in_use || piece.stream != stream.life()) continue;
    if (piece.range.bytes < bytes || piece.range.bytes / 2 > bytes) continue;
    piece.in_use = true;
    return address;
  }
  GRAPHTREE_ASSIGN_OR_RETURN(const Block block, NewBlock(bytes, stream));
  const Address address = block.range.base;
  pieces_[address] = {.id = block.id, .range = block.range, .stream = stream.life(),
                      .fresh = recording_};
  if (recording_) open_.push_back(address);
  return address;
}

absl::Status ForeignMemory::AwaitOnHost(StreamLife& stream, Device& device) {
  GRAPHTREE_ASSIGN_OR_RETURN(const std::unique_ptr<Event> event, device.NewEvent({}));
  return stream.AwaitOnHost(*event);
}

absl::Status ForeignMemory::GiveBack(Address address, Stream& stream) {
  const auto found = pieces_.find(address);
  if (found == pieces_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("foreign code frees ", address, ", which is not where a block begins"));
  }
  Piece& piece = found->second;
  if (!piece.in_use) return absl::FailedPreconditionError("the foreign block was freed already");
  const bool elsewhere = piece.stream != stream.life();
  if (elsewhere && !recording_ && !has_stopped_ && !piece.lost) {
    // The pool is in the hands of another thread's call and cannot be told of the stream.
    GRAPHTREE_RETURN_IF_ERROR(is_anothers_() ? AwaitOnHost(*stream.life(), stream.device())
                                             : pool_.UseOn(piece.id, stream));
  }
  // The pool of a closed tree knows no stream any more: the memory would go without waiting.
  if (has_stopped_) AwaitOnHost(*stream.life(), stream.device()).IgnoreError();
  piece.in_use = false;
  piece.stream = stream.life();
  if (!recording_) return Release(address);
  NoteOpen(address);
  return absl::OkStatus();
}

absl::Status ForeignMemory::Release(Address address) {
  const Piece& piece = pieces_[address];
  if (piece.in_use || piece.recordings > 0) return absl::OkStatus();
  const BlockId id = piece.id;
  const bool lost = piece.lost;
  pieces_.erase(address);
  // This may be any thread, while another one uses the pool.
  return lost ? absl::OkStatus() : pool_.FreeLater(id);
}

void ForeignMemory::LetGo(const std::vector<Address>& pieces) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  for (Address address : pieces) {
    Piece& piece = pieces_[address];
    GRAPHTREE_CHECK(piece.recordings > 0) << "a foreign block was let go twice";
    --piece.recordings;
    Release(address).IgnoreError();
  }
}

}  // namespace graphtree
